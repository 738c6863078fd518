"""Judges as many starts in one program as a measurement of days makes: nothing grows, nothing drifts.

- Memory and file descriptors of each process at the end are those at the end of the second tenth. Memory may differ by
  256 KiB, pages that an MPI library touches for the first time: a byte lost per start would be 8 MB of 10^7 starts.
- The library's counters come to what the program has counted itself.
- Slack and the share of starts with a flag of 0 do not rise. A drift raises also the blocks of starts that nothing
  disturbs, so each tenth is represented by the 10 % quantile of its blocks (slack) and by the share in its quieter half
  (flags). A figure has drifted if Kendall's tau over the tenths from the second on has p < 0.001 against no rise, and
  the last two tenths are more than a quarter (and 20 ns, or 0.1 %) above the second and third: other load on a
  machine comes and goes, and meets one of the two at most.
"""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tests.faults.trial import BrokenError, Outcomes, Run

TENTHS = 10
MEMORY_BYTES = 256 << 10
P_DRIFT = 1e-3
RISE = 0.25
LEAST_SLACK_RISE, LEAST_LATE_RISE = 20.0, 1e-3  # ns, share

Block = dict[str, Any]  # as fault-starts prints it; figures of processes are lists


def without_growth(run: Run) -> Outcomes:
    """Judges the blocks that fault-starts prints; each start is a try."""
    run.must_succeed()
    *blocks, counters = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if broken := list(broken_promises(blocks, counters)):
        raise BrokenError("; ".join(broken))
    run.site.made, late = (sum(block[name] for block in blocks) for name in ("starts", "late"))
    return {"starts without growth or drift": run.site.made - late, "starts with a flag of 0": late}


def broken_promises(blocks: Sequence[Block], counters: dict[str, list[float]]) -> Iterator[str]:
    """Says which promises were broken, with figures."""
    ends = [len(blocks) * i // TENTHS for i in range(TENTHS + 1)]
    tenths = [blocks[first:end] for first, end in itertools.pairwise(ends)]
    for name, most in (("memory", MEMORY_BYTES), ("descriptors", 0)):
        second, last = tenths[1][-1][name], tenths[-1][-1][name]
        changes = [after - before for before, after in zip(second, last, strict=True)]
        if max(changes) > most or (not most and min(changes) < 0):
            yield f"{name} changed by {changes} since the second tenth"
    starts, late = (sum(block[name] for block in blocks) for name in ("starts", "late"))
    for values in zip(*counters.values(), strict=True):
        process = dict(zip(counters, values, strict=True))
        if not right_counters(process, starts, late):
            yield f"counters differ from the count, {starts} starts, {late} late: {process}"
    for name, figures, least in (
        ("slack in ns", [quiet_slack(tenth) for tenth in tenths], LEAST_SLACK_RISE),
        ("share of flags of 0", [quiet_share(tenth) for tenth in tenths], LEAST_LATE_RISE),
    ):
        if drifted(figures, least):
            yield f"{name} drifts: {', '.join(f'{figure:.3g}' for figure in figures)}"


def quiet_slack(blocks: Sequence[Block]) -> float:
    """Returns the 10 % quantile over blocks of the slack of process 0, in ns."""
    return float(sorted(block["slack_ns"][0] for block in blocks)[len(blocks) // 10])


def quiet_share(blocks: Sequence[Block]) -> float:
    """Returns the share of starts with a flag of 0 on any process, in the half of the blocks that has the fewest."""
    quiet = sorted(blocks, key=lambda block: float(block["late"] / block["starts"]))[: (len(blocks) + 1) // 2]
    return float(sum(block["late"] for block in quiet) / sum(block["starts"] for block in quiet))


def drifted(values: Sequence[float], least: float) -> bool:
    """Returns whether values, one per tenth, rise: Kendall's tau and the size of the rise, as the module says."""
    from scipy.stats import kendalltau

    later = values[1:]
    before, after = statistics.mean(later[:2]), statistics.mean(later[-2:])
    if after - before <= max(RISE * before, least):
        return False
    return bool(kendalltau(range(len(later)), later, alternative="greater").pvalue < P_DRIFT)


def right_counters(process: dict[str, float], starts: int, late: int) -> bool:
    """Returns whether a process's counters, the library's and its own, come to the program's count."""
    not_in_time = process["late_arrivals"] + process["late_exits"]
    # The library does not know the last call's outcome yet.
    of_all = 0 <= late - process["invalid_calls"] <= 1 and process["invalid_calls"] == process["unwanted"]
    here = not_in_time <= process["refused"] <= not_in_time + process["unsure_clocks"]
    return process["calls"] == starts and of_all and here
