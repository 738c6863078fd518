"""Finds differences between the contexts of launches, within an experiment or between two sides.

A context is the mapping of attributes in the file of a launch: hosts, versions, settings (`data/attributes.py`).
"""

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
LIBRARY_SETTING = "clock_"  # prefix of libdownbeat's settings, which need no row in ATTRIBUTES
LIBRARY_CHECK = "clock_check"  # prefix of results of the last check of the clocks
COARSER = 2.0  # ratio from which two clock steps count as different
MAX_VALUE_CHARACTERS = 60


def attribute_of(name: str) -> Attribute:
    """Returns the row of an attribute; makes one for settings of libdownbeat and for attributes of a newer bench."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    label = name.replace("_", " ")
    if name.startswith(LIBRARY_CHECK):  # before LIBRARY_SETTING, which is a prefix of it
        return Attribute(unit="", meaning="", label=label, origin=Origin.MEASURED)
    if name.startswith(LIBRARY_SETTING):
        return Attribute(unit="", meaning="", label=label, plural=f"settings '{label}'")
    return Attribute(unit="", meaning="", label=label)


def compared_attributes(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns the attributes that are compared, in order.

    Attributes in ATTRIBUTES come first, then unknown ones. In each of these parts, properties come before settings, and
    attributes that launches of an experiment should share (`plural`) come last.
    """
    present = {name for context in contexts for name in context}
    declared = [name for name in ATTRIBUTES if name in present]
    rows = [(name, attribute_of(name)) for name in (*declared, *sorted(present - set(declared)))]
    rows.sort(key=lambda row: (row[0] not in ATTRIBUTES, row[1].origin is Origin.SETTING, bool(row[1].plural)))
    return [name for name, row in rows if row.origin is not Origin.MEASURED and name != ENVIRONMENT]


def context_differences(
    a: Iterable[Mapping[str, object]], b: Iterable[Mapping[str, object]], expected: Iterable[str] = ()
) -> list[str]:
    """Returns a line for each attribute in which the launches of A and of B differ.

    Args:
        a: contexts of launches, each a `Launch.context`.
        b: contexts of the other launches.
        expected: attributes that differ because they are compared.
    """
    first, second = list(a), list(b)
    if not first or not second:
        return []
    lines = [] if ENVIRONMENT in expected else variable_differences(first, second)
    for name in compared_attributes([*first, *second]):
        values = [sorted({value_of(name, context) for context in side}) for side in (first, second)]
        # An unknown attribute of a newer downbeat-bench with several values on a side is not a setting.
        unknown = name not in ATTRIBUTES and not name.startswith(LIBRARY_SETTING)
        if name in expected or values[0] == values[1] or (unknown and max(map(len, values)) > 1):
            continue
        lines.append(f"{attribute_of(name).label}: {one_short_line(values[0])} / {one_short_line(values[1])}")
    return lines + resolution_differences(first, second)


def values_among(contexts: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Finds attributes that launches of an experiment should share, but do not: name in the plural -> values."""
    differing = {}
    for name in compared_attributes(contexts):
        values = list(dict.fromkeys(value_of(name, context) for context in contexts))
        if len(values) > 1 and (plural := attribute_of(name).plural):
            differing[plural] = values
    return differing


def resolution_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line if the clock steps of one side are at least `COARSER` times as long as those of the other side."""
    steps = [[float(str(context[RESOLUTION])) for context in side if context.get(RESOLUTION)] for side in (a, b)]
    # The finest step of one side must be COARSER times the coarsest step of the other.
    if not all(steps) or COARSER * min(map(max, steps)) > max(map(min, steps)):
        return []
    values = " / ".join(f"{statistics.median(side) * NANOSECONDS:.0f} ns" for side in steps)
    return [f"{attribute_of(RESOLUTION).label}: {values}"]


def variable_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line for each setting of the MPI library with one value in A and another in B, or none on a side.

    Ignores settings that change from launch to launch, e.g. the number of a job.
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


# Attribute -> function that removes the parts that change from launch to launch.
STABLE: Mapping[str, Callable[[str], str]] = {
    "hosts": partial(re.sub, r", load [^,\n]*", ""),
    "simulated": without_seed,
    "mpi_library": short_version,
}


def value_of(name: str, context: Mapping[str, object]) -> str:
    """Returns the value of an attribute without its changing parts; if the file lacks it, `Attribute.absent`."""
    value = str(context.get(name, attribute_of(name).absent)).strip()
    return STABLE.get(name, str)(value)


def one_short_line(values: list[str]) -> str:
    """Joins values to one line of at most `MAX_VALUE_CHARACTERS`."""
    line = "; ".join(value.replace("\n", " ") or "none" for value in values)
    return line if len(line) <= MAX_VALUE_CHARACTERS else f"{line[: MAX_VALUE_CHARACTERS - 3]}..."
