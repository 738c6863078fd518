"""How the contexts of launches, or of two sides, differ."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from downbeat.data.attributes import ATTRIBUTES, Attribute, Origin
from downbeat.run.libraries import short_version
from downbeat.run.machine import settings_of
from downbeat.run.simulation import without_seed
from downbeat.text import NANOSECONDS

ENVIRONMENT, RESOLUTION = "environment", "clock_resolution"
LIBRARY_SETTING = "clock_"  # begins the names of libdownbeat's settings; they need no row
LIBRARY_CHECK = "clock_check"  # begins the names of what the end of the run found of the clocks
COARSER = 2.0  # a step that is another one
LONGEST_VALUE = 60


def attribute_of(name: str) -> Attribute:
    """The row of an attribute; libdownbeat's settings, and attributes of newer versions of the bench, need none."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    label = name.replace("_", " ")
    if name.startswith(LIBRARY_CHECK):
        return Attribute("", "", label, origin=Origin.MEASURED)
    return Attribute("", "", label, f"settings '{label}'" if name.startswith(LIBRARY_SETTING) else "")


def compared_attributes(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Attributes in which launches may differ: properties, then settings, those that launches should share last."""
    present = {name for context in contexts for name in context}
    declared = [name for name in ATTRIBUTES if name in present]
    rows = [(name, attribute_of(name)) for name in (*declared, *sorted(present - set(declared)))]
    rows.sort(key=lambda row: (row[0] not in ATTRIBUTES, row[1].origin is Origin.SETTING, bool(row[1].among)))
    return [name for name, row in rows if row.origin is not Origin.MEASURED and name != ENVIRONMENT]


def context_differences(
    a: Iterable[Mapping[str, object]], b: Iterable[Mapping[str, object]], expected: Iterable[str] = ()
) -> list[str]:
    """Returns a line for each part of the context that launches of A and of B do not share.

    Args:
        a: contexts of launches, each a `Launch.context`.
        b: of the others.
        expected: attributes that are to differ, because they are compared.
    """
    first, second = list(a), list(b)
    if not first or not second:
        return []
    lines = [] if ENVIRONMENT in expected else variable_differences(first, second)
    for name in compared_attributes([*first, *second]):
        values = [sorted({value_of(name, context) for context in side}) for side in (first, second)]
        # A newer downbeat-bench may record attributes without a row here: several values on a side are no setting.
        unknown = name not in ATTRIBUTES and not name.startswith(LIBRARY_SETTING)
        if name in expected or values[0] == values[1] or (unknown and max(map(len, values)) > 1):
            continue
        lines.append(f"{attribute_of(name).label}: {one_short_line(values[0])} / {one_short_line(values[1])}")
    return lines + resolution_differences(first, second)


def values_among(contexts: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Values of each attribute that launches of one experiment should share, and do not: `among` -> the values."""
    differing = {}
    for name in compared_attributes(contexts):
        values = list(dict.fromkeys(value_of(name, context) for context in contexts))
        if len(values) > 1 and (among := attribute_of(name).among):
            differing[among] = values
    return differing


def resolution_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line if every launch of one side has a clock with a step `COARSER` than all of the other's."""
    steps = [[float(str(context[RESOLUTION])) for context in side if context.get(RESOLUTION)] for side in (a, b)]
    if not all(steps) or COARSER * min(map(max, steps)) > max(map(min, steps)):
        return []
    values = " / ".join(f"{statistics.median(side) * NANOSECONDS:.0f} ns" for side in steps)
    return [f"{attribute_of(RESOLUTION).label}: {values}"]


def variable_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line for each setting that has one value in A and another one, or none, in B, wherever it was made.

    Variables that a launcher changes from launch to launch, e.g. the number of a job, are ignored.
    """
    values = [
        [{name: setting.value for name, setting in settings_of(context).items()} for context in side] for side in (a, b)
    ]
    lines = []
    for name in sorted({name for side in values for settings in side for name in settings}):
        alternatives = [{settings.get(name, "not set") for settings in side} for side in values]
        if len(alternatives[0]) == len(alternatives[1]) == 1 and alternatives[0] != alternatives[1]:
            lines.append(f"{name}: {one_short_line(list(alternatives[0]))} / {one_short_line(list(alternatives[1]))}")
    return lines


# The parts of attributes that are the same in each launch.
STABLE: Mapping[str, Callable[[str], str]] = {
    "hosts": partial(re.sub, r", load [^,\n]*", ""),
    "simulated": without_seed,
    "mpi_library": short_version,
}


def value_of(name: str, context: Mapping[str, object]) -> str:
    """The value of an attribute without what differs at any time; of a file without it, what that stands for."""
    value = str(context.get(name, attribute_of(name).absent)).strip()
    return STABLE.get(name, str)(value)


def one_short_line(values: list[str]) -> str:
    """Returns values as one line that is not too long."""
    line = "; ".join(value.replace("\n", " ") or "none" for value in values)
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 3]}..."
