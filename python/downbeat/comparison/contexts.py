"""Differences between the surroundings of two sets of launches, which may be the cause of a difference in results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from downbeat.launchers.libraries import short_version
from downbeat.launchers.simulation import without_seed

NAMES = {
    "mpi_library": "MPI library",
    "simulated": "simulated platform",
    "hosts": "hosts",
    "downbeat_version": "downbeat-bench",
    "git_revision": "its revision",
    "compiler": "its compiler",
    "stopping_rule": "stopping rule",
    "warmup_rule": "warm-up rule",
    "tolerance_s": "tolerance",
    "late_s": "lateness that counts",
    "late_ranks": "share of ranks that may be late",
    "observed_rank": "observed rank",
    "patterns_permuted": "permuted patterns",
}
CLOCK = "clock_"  # settings of libdownbeat; clock_check* is what was found after the run
LONGEST = 60


def context_differences(
    a: Iterable[Mapping[str, object]], b: Iterable[Mapping[str, object]], expected: Iterable[str] = ()
) -> list[str]:
    """Returns a line for each part of the context that launches of A and of B do not share.

    Args:
        a: contexts of launches, each a `Launch.context`.
        b: of the others.
        expected: attributes that are to differ, for that is what is compared.
    """
    first, second = list(a), list(b)
    keys = [*NAMES, *sorted({key for one in first for key in one if key.startswith(CLOCK)})]
    lines = [] if "environment" in expected else variable_differences(first, second)
    for key in keys:
        if key in expected or key.startswith(f"{CLOCK}check"):
            continue
        values = [sorted({relevant(key, one) for one in side}) for side in (first, second)]
        if values[0] != values[1]:
            name = NAMES.get(key, key.replace("_", " "))
            lines.append(f"{name}: {shortened(values[0])} / {shortened(values[1])}")
    return lines


def simulations(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns a line for each simulated platform, of which no machine has the numbers."""
    platforms = dict.fromkeys(relevant("simulated", one) for one in contexts if "simulated" in one)
    return [f"simulated, not measured: {platform.replace(',', ', ')}" for platform in platforms]


def variable_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line for each variable of the environment that has one value in A and another one, or none, in B.

    Variables that a launcher sets anew for each launch, e.g. the number of a job, say nothing.
    """
    values = [
        [dict(line.partition("=")[::2] for line in str(one.get("environment", "")).splitlines()) for one in side]
        for side in (a, b)
    ]
    lines = []
    for name in sorted({name for side in values for one in side for name in one}):
        found = [{one.get(name, "not set") for one in side} for side in values]
        if len(found[0]) == len(found[1]) == 1 and found[0] != found[1]:
            lines.append(f"{name}: {shortened(list(found[0]))} / {shortened(list(found[1]))}")
    return lines


def relevant(key: str, context: Mapping[str, object]) -> str:
    """Returns the value without what differs at any time."""
    value = str(context.get(key, "")).strip()
    if key == "hosts":
        return re.sub(r", load [^,\n]*", "", value)
    if key == "simulated":
        return without_seed(value)
    return short_version(value) if key == "mpi_library" else value


def shortened(values: list[str]) -> str:
    """Returns values as one line that is not too long."""
    line = "; ".join(value.replace("\n", " ") or "none" for value in values)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
