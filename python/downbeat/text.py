"""Lists, numbers, units and names as text."""

from __future__ import annotations

import dataclasses
import math
import re
import typing
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd


def split_list(text: str) -> list[str]:
    """Returns the words of a list; commas within parentheses, however deep, belong to a word: `my_op(a,f(x,y)),bcast`.

    Words are stripped; empty ones are kept for the caller to refuse.
    """
    words = [""]
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return [word.strip() for word in words]


def name_of(word: str) -> str:
    """Returns the name of a word of a list, without its parameters: that of `reduce(root=1)` is `reduce`."""
    return word.partition("(")[0]


KEPT_CONTROLS = "\n\t"


def printable(text: str) -> str:
    r"""Returns a text whose control characters are visible: an escape becomes `\x1b`. Lines and tabs are kept.

    These are the characters that terminals obey, that XML forbids, and that reverse the order of letters.
    """
    quick = text.replace("\n", "").replace("\t", "")
    return text if quick.isprintable() else "".join(one if harmless(one) else escaped(one) for one in text)


def harmless(character: str) -> bool:
    """Whether a character is shown as it is. `isprintable` accepts one kind of space only."""
    return character.isprintable() or character in KEPT_CONTROLS or unicodedata.category(character) == "Zs"


def one_line(text: str) -> str:
    """Returns a printable text in one line."""
    return printable(re.sub(r"\s*\n\s*", " ", text.strip()))


def escaped(character: str) -> str:
    """Returns a character as Python writes it in a string."""
    return character.encode("unicode_escape").decode("ascii")


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 launch`, `12 launches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


MICROSECONDS = 1e6  # per second
NANOSECONDS = 1e9
PERCENT = 100.0


class Units(dict[str, str]):
    """The units of a frame's columns, its `attrs["units"]`; never changed once made.

    pandas copies attributes deeply whenever it slices a frame. That took more time than the slices themselves.
    """

    def __deepcopy__(self, memo: object) -> Units:
        return self


def bytes_text(size: float) -> str:
    """Returns a message size as it is written on command lines: 65536 is 64K."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{int(size) // factor}{letter}"
    return f"{size:g}"


TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Returns the seconds of a duration such as `30m`, `1.5h` or `50us`, or of a number alone; NaN of what is none."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-z]*)", text)
    if not found or found[2] not in ("", *TIMES):
        return math.nan
    try:
        return float(f"{float(found[1]) * TIMES.get(found[2], 1.0):.12g}")  # as it is written
    except ValueError:
        return math.nan


def duration_word(seconds: float) -> str:
    """Returns a duration as it is written on command lines, `seconds_of`: 1800 is 30m."""
    for unit in ("h", "m"):
        if seconds >= TIMES[unit] and seconds % TIMES[unit] == 0:
            return f"{seconds / TIMES[unit]:g}{unit}"
    return f"{seconds:g}s"


def duration_text(seconds: float) -> str:
    """Returns a duration for people."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def microseconds(seconds: float) -> str:
    """Returns a time in us: three decimals below 10 us, two above; three digits below 0.01 us; `-` for none."""
    if math.isnan(seconds):
        return "-"
    value = seconds * MICROSECONDS
    if 0 < abs(value) < 0.01:
        return f"{value:.{min(2 - math.floor(math.log10(abs(value))), 5)}f}"
    return f"{value:.{3 if abs(value) < 10 else 2}f}"


MOST_NAMED = 8  # a longer list is cut; the rest is counted


def listed(names: Iterable[object]) -> str:
    """Names as a list in a sentence: `a, b and c`."""
    texts = [str(name) for name in names]
    if len(texts) > MOST_NAMED:
        return f"{', '.join(texts[:MOST_NAMED])} and {len(texts) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def time_text(seconds: float) -> str:
    """A time in us, with its unit."""
    return f"{microseconds(seconds)} us"


def exact_microseconds(ns: int) -> bytes:
    """Returns a time in ns as us, exactly."""
    digits = b"%04d" % abs(ns)
    return b"%s%s.%s" % (b"-" if ns < 0 else b"", digits[:-3], digits[-3:])


def named_with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame whose columns say their units, as downbeat-bench's CSV: `makespan_median_s`, `size_byte`."""
    return frame.rename(columns={name: f"{name}_{unit}" for name, unit in frame.attrs["units"].items()})


def shared_units(names: pd.Index, *frames: pd.DataFrame) -> Units:
    """Returns the units of columns, of those that are also in other frames, which know them."""
    known = {name: unit for frame in frames for name, unit in frame.attrs.get("units", {}).items()}
    return Units({name: unit for name, unit in known.items() if name in names})


def evenly(numbers: Sequence[int], most: int) -> list[int]:
    """Returns at most so many of some numbers, evenly spaced, with the first and the last; of one, the last."""
    if len(numbers) <= most:
        return list(numbers)
    if most == 1:
        return [numbers[-1]]
    step = (len(numbers) - 1) / (most - 1)
    return [numbers[round(position * step)] for position in range(most)]


def drawn_of(ranks: int, most: int) -> str:
    """Says for a caption which ranks are drawn; empty: all."""
    return f" Of {ranks} ranks {most} are drawn, evenly spaced." if ranks > most else ""


T = TypeVar("T")
# What the types of fields are called in JSON.
JSON_NAMES = {str: "a text", int: "a whole number", float: "a number", tuple: "a list", Mapping: "an object"}


def typed(kind: type[T], value: object, name: str = "it") -> T:
    """Returns a value as the type of a field: a dataclass, str, int, float, or a tuple, Mapping or Literal of these.

    Args:
        kind: the type, as `typing.get_type_hints` has it.
        value: as JSON has it: lists for tuples, dictionaries for dataclasses, which may lack fields with defaults.
        name: of the value, for the error.

    Raises:
        ValueError: the value is of another type, or lacks a field, or has an unknown one.
    """
    if dataclasses.is_dataclass(kind):
        return typed_dataclass(kind, value, name)
    origin = typing.get_origin(kind) or kind
    arguments = typing.get_args(kind)
    result: Any = value
    if origin is typing.Literal:
        fits = value in arguments
    elif origin is tuple and isinstance(value, list):
        inner = arguments[0]
        return typing.cast(T, tuple(typed(inner, one, f"{name}[{place}]") for place, one in enumerate(value)))
    elif origin is Mapping and isinstance(value, dict):
        return typing.cast(T, {key: typed(arguments[1], one, f"{name}.{key}") for key, one in value.items()})
    elif origin is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        result = float(value) if fits and isinstance(value, int | float) else value
    else:
        fits = isinstance(origin, type) and isinstance(value, origin) and not isinstance(value, bool)
    if isinstance(value, str):
        value.encode()  # JSON can escape lone surrogates, which nothing could write
    if not fits:
        wanted = JSON_NAMES.get(origin, f"one of {', '.join(map(str, arguments))}")
        raise ValueError(f"{name} is not {wanted}")
    return typing.cast(T, result)


def typed_dataclass(kind: type[T], value: object, name: str) -> T:
    """Returns a dataclass made of an object of JSON."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    hints = typing.get_type_hints(kind)
    fields = {one.name: one for one in dataclasses.fields(typing.cast(Any, kind))}
    unknown = [one for one in value if one not in fields]
    missing = [
        one.name
        for one in fields.values()
        if one.name not in value and one.default is one.default_factory is dataclasses.MISSING
    ]
    if unknown or missing:
        raise ValueError(f"{name} has {f'an unknown {unknown[0]}' if unknown else f'no {missing[0]}'}")
    return kind(**{one: typed(hints[one], value[one], one) for one in value})


def number_text(value: float, form: str) -> str:
    """A number as text; "" for NaN."""
    return "" if value != value else format(value, form)
