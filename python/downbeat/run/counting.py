"""Asks `downbeat-bench algorithms`, which counts messages, whether choices of algorithms take effect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby

from downbeat.errors import UsageError
from downbeat.run.bench_launch import run_bench
from downbeat.run.machine import Finding
from downbeat.run.plan import LaunchKey, Plan, parse_choices
from downbeat.text import split_list

CHECK = "algorithms"  # of the findings
DEFAULT = "default"
SECONDS = 60.0
LARGEST = 2**16  # bytes that are counted: where a message is cut or not, the algorithm is the same
SUFFIXES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
IGNORED = "ignored"
CANNOT_TELL = "cannot tell"
TELLING = 4  # ranks: with fewer, most algorithms send the same messages


def check_choices(plan: Plan) -> list[Finding]:
    """Counts once for each library, number of ranks, environment and variant what its choices do.

    Returns:
        Findings on the choices that counting cannot distinguish from the default. Counting itself may fail, e.g. by an
        algorithm that nobody asked for; that is a finding, too.

    Raises:
        UsageError: a choice has no effect.
    """
    findings = []
    chosen = choices_of(plan.measurement.options)
    for key in plan.round_order(1) if chosen else ():
        library = plan.library(key.library)
        if library.simulate or key.portion > 1:
            continue
        # One launch cannot count several of these, and downbeat-bench refuses other values in the environment.
        fixed = {name for name in chosen if {name, "*"} & set(library.fixed_at_start)}
        if fixed:
            asked = enlisted((name, one) for name in chosen if name in fixed for one in chosen[name])
            seen = f"whether choices take effect under {key.configuration} was not counted, for they are read only"
            findings.append(Finding(CHECK, f"{seen} in MPI_Init, and may equal the library's own: {asked}", "notice"))
        if some := {name: names for name, names in chosen.items() if name not in fixed}:
            findings += check_launch(plan, key, some)
    return sorted(set(findings), key=lambda finding: finding.seen)


def check_launch(plan: Plan, key: LaunchKey, chosen: dict[str, list[str]]) -> list[Finding]:
    """Counts for one launch, as `check_choices` does."""
    library, variant = plan.library(key.library), plan.variant(key.variant)
    library = replace(library, bench=variant.bench or library.bench, launcher=variant.launcher or library.launcher)
    size = largest_size(plan.measurement.options.get("sizes", ""))
    arguments = [CHECK, *chosen, "-m", str(size), "--format", "json"]
    ended = run_bench(library, key.ranks, arguments, plan.variables_of(key), SECONDS)
    where = f"under {key.configuration}"
    if ended.status != 0:
        return [Finding(CHECK, f"whether choices take effect {where} could not be counted: {ended.reason}", "notice")]
    rows = [json.loads(line) for line in ended.output.splitlines() if line.startswith('{"')]
    verdicts = {(row["operation"], row["algorithm"]): row["verdict"] for row in rows if "verdict" in row}
    asked = [(operation, name) for operation, names in chosen.items() for name in names]
    # If one algorithm of an operation is ignored, all are, also those that are named by their numbers.
    nothing = {operation for (operation, _), verdict in verdicts.items() if verdict == IGNORED}
    ignored = [(operation, name) for operation, name in asked if operation in nothing]
    if ignored:
        raise UsageError(
            f"choosing has no effect {where}: whatever is chosen for {enlisted(ignored)}, the same messages are sent "
            f"at {size} bytes; something else serves this operation: downbeat doctor --mpi {library.name} names what "
            "is set (variables), unset it"
        )
    unknown = [(operation, name) for operation, name in asked if verdicts.get((operation, name)) == CANNOT_TELL]
    if not unknown:
        return []
    advice = "four ranks or more, or other sizes, show more" if key.ranks < TELLING else ""
    if not any(row.get("messages", -1) >= 0 for row in rows):
        advice = "this MPI library does not count its messages"
    seen = f"counting at {size} bytes {where} cannot distinguish from the library's own choice: {enlisted(unknown)}"
    return [Finding(CHECK, seen, "notice", advice)]


def choices_of(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns algorithms by collective out of the options of a measurement, those of barriers that synchronize too."""
    chosen = parse_choices(options.get("algorithm", ""))
    chosen["barrier"] = [*chosen.get("barrier", []), *split_list(options.get("barrier-algorithm", ""))]
    named = {name: [one.replace("-", "_") for one in some if one not in ("", DEFAULT)] for name, some in chosen.items()}
    return {name: list(dict.fromkeys(some)) for name, some in named.items() if some}


def largest_size(sizes: str) -> int:
    """Returns the largest of the sizes that can be counted: at most `LARGEST`, a multiple of 8 bytes."""
    found = re.findall(r"(\d+)([KMG]?)", sizes) or [("64", "K")]
    size = max(int(number) * SUFFIXES[suffix] for number, suffix in found)
    return max(8, min(size, LARGEST) // 8 * 8)


def enlisted(choices: Iterable[tuple[str, str]]) -> str:
    """Returns choices in words: "bcast chain, pipeline; reduce linear"."""
    return "; ".join(
        f"{operation} {', '.join(name for _, name in some)}"
        for operation, some in groupby(choices, key=lambda choice: choice[0])
    )
