"""What the context of a launch says: the words for each attribute, and how two sides differ in them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from downbeat.run.libraries import short_version
from downbeat.run.machine import settings_of
from downbeat.run.simulation import without_seed
from downbeat.text import NANOSECONDS


class Kind(StrEnum):
    """Where the value of an attribute comes from."""

    SETTING = "setting"  # chosen with an option or a variable
    PROPERTY = "property"  # of the machine, or of a program
    MEASURED = "measured"  # by the run, or drawn: another one each time, and no difference between A and B


@dataclass(frozen=True)
class Attribute:
    """A global attribute of a file of samples.

    Attributes:
        words: of A and B: "stopping rule: fixed / budget".
        among: of the launches of one experiment, which should share it; empty: they may differ.
        kind: of the value.
        absent: the value that a file without the attribute stands for.
    """

    words: str
    among: str = ""
    kind: Kind = Kind.SETTING
    absent: str = "not recorded"


ENVIRONMENT, RESOLUTION = "environment", "clock_resolution"
# What a file without it stands for: not asked for, or the value before there was a setting.
UNUSED = "none"
# Lines in this order. A new setting is a row; `absent` is what downbeat-bench did before it had the setting.
ATTRIBUTES = {
    "mpi_library": Attribute("MPI library", kind=Kind.PROPERTY),
    "mpi_standard": Attribute("MPI standard", kind=Kind.PROPERTY),
    "simulated": Attribute("simulated platform", kind=Kind.PROPERTY, absent=UNUSED),
    "hosts": Attribute("hosts", kind=Kind.PROPERTY),
    "downbeat_version": Attribute("downbeat-bench", "versions of downbeat-bench", Kind.PROPERTY),
    "git_revision": Attribute("its revision", "revisions of downbeat-bench", Kind.PROPERTY),
    "compiler": Attribute("its compiler", "compilers of downbeat-bench", Kind.PROPERTY),
    "user_operations": Attribute("files of operations", absent=UNUSED),
    "stopping_rule": Attribute("stopping rule", "stopping rules"),
    "warmup_rule": Attribute("warm-up rule", "warm-up rules"),
    "max_attempts": Attribute("attempts per sample", "numbers of attempts per sample"),
    "tolerance_s": Attribute("tolerance", "tolerances"),
    "late_s": Attribute("lateness that counts", "limits of lateness", absent=UNUSED),
    "late_by": Attribute("what says that a start is late", "rules of lateness", absent=UNUSED),
    "late_ranks": Attribute("share of ranks that may be late", "shares of ranks that may be late", absent=UNUSED),
    "observed_rank": Attribute("observed rank", "observed ranks"),
    "patterns_permuted": Attribute("permuted patterns", "ways of permuting patterns"),
    "clock_clock": Attribute("local clock", "local clocks"),
    "clock_sync": Attribute("clock synchronization", "schemes of clock synchronization"),
    ENVIRONMENT: Attribute("environment"),  # a line for each variable: `variable_differences`
    RESOLUTION: Attribute("clock resolution", kind=Kind.MEASURED),  # `resolution_differences`
    **{
        name: Attribute(words, kind=Kind.MEASURED)
        for name, words in {
            "title": "title",
            "schema": "schema",
            "schema_version": "schema version",
            "date": "date",
            "command_line": "command line",  # all that it sets has an attribute, but for the name of the file
            "seed": "seed",
            "error_bound_s": "clock's error bound",
            "expected_error_s": "clock's expected error",
            "stamp_cost": "cost of a stamp",
            "algorithms": "evidence of algorithms",  # which one is a factor
            "warnings": "warnings",
        }.items()
    },
}
LIBRARY_SETTING = "clock_"  # begins the names of libdownbeat's settings; they need no row
LIBRARY_CHECK = "clock_check"  # begins the names of what the end of the run found of the clocks
COARSER = 2.0  # a step that is another one
LONGEST_VALUE = 60


def attribute_of(name: str) -> Attribute:
    """The row of an attribute; settings of libdownbeat, and what only a newer downbeat-bench writes, need none."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    words = name.replace("_", " ")
    if name.startswith(LIBRARY_CHECK):
        return Attribute(words, kind=Kind.MEASURED)
    return Attribute(words, f"settings '{words}'" if name.startswith(LIBRARY_SETTING) else "")


def compared_attributes(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Names of the attributes in which launches may differ: those of the table first, in its order."""
    present = {name for context in contexts for name in context}
    ordered = [*(name for name in ATTRIBUTES if name in present), *sorted(present - set(ATTRIBUTES))]
    return [name for name in ordered if attribute_of(name).kind is not Kind.MEASURED and name != ENVIRONMENT]


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
        values = [sorted({value_of(name, one) for one in side}) for side in (first, second)]
        # A newer downbeat-bench may measure what has no row here: as many values as launches are no setting.
        unknown = name not in ATTRIBUTES and not name.startswith(LIBRARY_SETTING)
        if name in expected or values[0] == values[1] or (unknown and max(map(len, values)) > 1):
            continue
        lines.append(f"{attribute_of(name).words}: {one_short_line(values[0])} / {one_short_line(values[1])}")
    return lines + resolution_differences(first, second)


def values_among(contexts: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Values of each attribute that launches of one experiment should share, and do not: its words -> the values."""
    found = {}
    for name in compared_attributes(contexts):
        values = list(dict.fromkeys(value_of(name, one) for one in contexts))
        if len(values) > 1 and (among := attribute_of(name).among):
            found[among] = values
    return found


def resolution_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line if every launch of one side has a clock with a step `COARSER` than all of the other's."""
    steps = [[float(str(one[RESOLUTION])) for one in side if one.get(RESOLUTION)] for side in (a, b)]
    if not all(steps) or COARSER * min(map(max, steps)) > max(map(min, steps)):
        return []
    values = " / ".join(f"{statistics.median(side) * NANOSECONDS:.0f} ns" for side in steps)
    return [f"{attribute_of(RESOLUTION).words}: {values}"]


def variable_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line for each setting that has one value in A and another one, or none, in B, wherever it was made.

    Variables that a launcher sets anew for each launch, e.g. the number of a job, say nothing.
    """
    values = [[{name: one.value for name, one in settings_of(context).items()} for context in side] for side in (a, b)]
    lines = []
    for name in sorted({name for side in values for one in side for name in one}):
        found = [{one.get(name, "not set") for one in side} for side in values]
        if len(found[0]) == len(found[1]) == 1 and found[0] != found[1]:
            lines.append(f"{name}: {one_short_line(list(found[0]))} / {one_short_line(list(found[1]))}")
    return lines


def value_of(name: str, context: Mapping[str, object]) -> str:
    """The value of an attribute without what differs at any time; of a file without it, what that stands for."""
    value = str(context.get(name, attribute_of(name).absent)).strip()
    if name == "hosts":
        return re.sub(r", load [^,\n]*", "", value)
    if name == "simulated":
        return without_seed(value)
    return short_version(value) if name == "mpi_library" else value


def one_short_line(values: list[str]) -> str:
    """Returns values as one line that is not too long."""
    line = "; ".join(value.replace("\n", " ") or "none" for value in values)
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 3]}..."
