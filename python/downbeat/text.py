"""Converts between text and lists, numbers, units, durations and typed values."""

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
    """Returns the words of a list; commas within (nested) parentheses belong to a word: `my_op(a,f(x,y)),bcast`.

    Words are stripped; empty words are kept, for the caller to refuse.
    """
    words = [""]
    depth = 0  # number of open parentheses
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return [word.strip() for word in words]


def name_of(word: str) -> str:
    """Returns the name of a word without parameters: `reduce` for `reduce(root=1)`."""
    return word.partition("(")[0]


KEPT_CONTROLS = "\n\t"  # control characters that `printable` does not change


def printable(text: str) -> str:
    r"""Returns a text with control characters made visible: an escape becomes `\x1b`. Line breaks and tabs are kept.

    Control characters are those that terminals obey, that XML forbids, or that reverse the order of letters.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # the usual case, fast
        return text
    return "".join(character if is_harmless(character) else escaped(character) for character in text)


def is_harmless(character: str) -> bool:
    """Returns true if a character is displayed unchanged. `isprintable` accepts only one kind of space."""
    return character.isprintable() or character in KEPT_CONTROLS or unicodedata.category(character) == "Zs"


def escaped(character: str) -> str:
    r"""Returns a character as an escape of a Python string, e.g. `\x1b`."""
    return character.encode("unicode_escape").decode("ascii")


def one_line(text: str) -> str:
    """Returns a text in one line, with line breaks replaced by spaces, and `printable`."""
    return printable(re.sub(r"\s*\n\s*", " ", text.strip()))


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 launch`, `12 launches`."""
    plural = f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


# Factors for output.
MICROSECONDS = 1e6  # per second
NANOSECONDS = 1e9  # per second
PERCENT = 100.0


class Units(dict[str, str]):
    """Name of a column -> unit: the value of `attrs["units"]` of a frame. It is never changed, so copies share it.

    pandas deep-copies attributes whenever it slices a frame, which would take longer than slicing.
    """

    def __deepcopy__(self, memo: object) -> Units:
        return self


def bytes_text(size: float) -> str:
    """Returns a message size in bytes in the notation of command lines: 65536 is 64K."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{int(size) // factor}{letter}"
    return f"{size:g}"


# Unit -> seconds.
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """The seconds of a duration such as `30m`, `1.5h`, `50us` or a plain number; NaN if the text is no duration."""
    match = re.fullmatch(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-z]*)", text)
    if not match or match[2] not in ("", *TIMES):
        return math.nan
    try:
        # Rounding removes the error of the multiplication: 0.3us is 3e-7.
        return float(f"{float(match[1]) * TIMES.get(match[2], 1.0):.12g}")
    except ValueError:
        return math.nan


def duration_word(seconds: float) -> str:
    """Returns a duration in the notation of command lines, the inverse of `seconds_of`: 1800 is 30m."""
    for unit in ("h", "m"):
        if seconds >= TIMES[unit] and seconds % TIMES[unit] == 0:
            return f"{seconds / TIMES[unit]:g}{unit}"
    return f"{seconds:g}s"


def duration_text(seconds: float) -> str:
    """Returns a duration as text for users."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def microseconds(seconds: float) -> str:
    """Returns a time in us: three decimals below 10 us, two above; three digits below 0.01 us; `-` for NaN."""
    if math.isnan(seconds):
        return "-"
    value = seconds * MICROSECONDS
    decimals = 3 if abs(value) < 10 else 2
    if 0 < abs(value) < 0.01:
        decimals = min(2 - math.floor(math.log10(abs(value))), 5)
    return f"{value:.{decimals}f}"


MAX_NAMED = 8  # names in a list; the other names of a longer list are only counted


def listed(names: Iterable[object]) -> str:
    """Names as a list in a sentence: `a, b and c`; "" without names."""
    texts = [str(name) for name in names]
    if len(texts) > MAX_NAMED:
        return f"{', '.join(texts[:MAX_NAMED])} and {len(texts) - MAX_NAMED} more"
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def time_text(seconds: float) -> str:
    """Returns a time in us, with its unit."""
    return f"{microseconds(seconds)} us"


def exact_microseconds(ns: int) -> bytes:
    """Returns a time in ns as text in us, without rounding: 1234567 is 1234.567."""
    digits = b"%04d" % abs(ns)
    return b"%s%s.%s" % (b"-" if ns < 0 else b"", digits[:-3], digits[-3:])


def shared_units(names: pd.Index, *frames: pd.DataFrame) -> Units:
    """Returns the units of the columns `names`, as far as the attributes of `frames` have them."""
    units = {name: unit for frame in frames for name, unit in frame.attrs.get("units", {}).items()}
    return Units({name: unit for name, unit in units.items() if name in names})


def evenly(numbers: Sequence[int], max_count: int) -> list[int]:
    """Chooses at most `max_count` numbers, evenly spaced, with the first and the last; for `max_count` 1, the last."""
    if len(numbers) <= max_count:
        return list(numbers)
    if max_count == 1:
        return [numbers[-1]]
    step = (len(numbers) - 1) / (max_count - 1)
    return [numbers[round(index * step)] for index in range(max_count)]


def drawn_of(ranks: int, max_drawn: int) -> str:
    """Returns the sentence of a caption on the number of drawn ranks; "" if all ranks are drawn."""
    return f" Of {ranks} ranks {max_drawn} are drawn, evenly spaced." if ranks > max_drawn else ""


T = TypeVar("T")
# Type -> its name in errors.
JSON_NAMES = {str: "a text", int: "a whole number", float: "a number", tuple: "a list", Mapping: "an object"}


def typed(kind: type[T], value: object, name: str = "it") -> T:
    """Converts a value of JSON to a type: a dataclass, str, int, float, or a tuple, Mapping or Literal of these.

    Args:
        kind: the type, as `typing.get_type_hints` returns it.
        value: value of JSON: lists for tuples, dictionaries for dataclasses, which may lack fields with defaults.
        name: name of the value in errors.

    Raises:
        ValueError: the value has another type, lacks a field, or has an unknown field.
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
        return typing.cast(T, tuple(typed(inner, item, f"{name}[{index}]") for index, item in enumerate(value)))
    elif origin is Mapping and isinstance(value, dict):
        return typing.cast(T, {key: typed(arguments[1], item, f"{name}.{key}") for key, item in value.items()})
    elif origin is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        result = float(value) if fits and isinstance(value, int | float) else value
    else:
        fits = isinstance(origin, type) and isinstance(value, origin) and not isinstance(value, bool)
    if isinstance(value, str):
        value.encode()  # raises a ValueError for lone surrogates, which JSON can have but no file can store
    if not fits:
        valid = JSON_NAMES.get(origin, f"one of {', '.join(map(str, arguments))}")
        raise ValueError(f"{name} is not {valid}")
    return typing.cast(T, result)


def typed_dataclass(kind: type[T], value: object, name: str) -> T:
    """Converts an object of JSON to a dataclass, like `typed`."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(typing.cast(Any, kind))}
    unknown = [key for key in value if key not in fields]
    missing = [
        field.name
        for field in fields.values()
        if field.name not in value and field.default is field.default_factory is dataclasses.MISSING
    ]
    if unknown:
        raise ValueError(f"{name} has an unknown {unknown[0]}")
    if missing:
        raise ValueError(f"{name} has no {missing[0]}")
    return kind(**{key: typed(hints[key], value[key], key) for key in value})
