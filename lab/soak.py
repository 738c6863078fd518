"""Makes as many harmonized starts in one program as a measurement of days, and looks for growth and drift.

python -m lab.soak [--starts 10000000] [--seconds 7200] [--mpi openmpi] [--output build/bench-soak.json]

Makes as many as it can where the time does not suffice. Prints figures by tenths of the run, and what was promised.
Status 1 if a promise was broken.

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
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from downbeat.launchers.libraries import ROOT

from benchmarks.promises import Promise, at_most, print_promises
from benchmarks.running import Parser, run_ranks, unset_settings, write_json

NAME = "bench-soak"
STARTS = 10_000_000
LEAST_STARTS = 16_000  # as soak.c
TENTHS = 10
SECONDS = 7200.0
PATIENCE_SECONDS = 300.0  # for the blocks that are made in any case, however busy the machine is
MEMORY_BYTES = 256 << 10
P_DRIFT = 1e-3
RISE = 0.25
LEAST_RISE = {"slack": 20.0, "late": 1e-3}  # ns, share


@dataclass(frozen=True)
class Tenth:
    """A tenth of a run.

    Attributes:
        starts: made in it.
        ns: per start, median over its blocks.
        late: share of starts with a flag of 0 on any process.
        late_quiet: the same of the half of its blocks that has the fewest.
        slack_ns: median over its blocks.
        slack_floor_ns: 10 % quantile over them.
        memory: resident at its end, bytes, by rank.
        descriptors: open at its end, by rank.
    """

    starts: int
    ns: float
    late: float
    late_quiet: float
    slack_ns: float
    slack_floor_ns: float
    memory: list[int]
    descriptors: list[int]


def tenths_of(blocks: Sequence[dict[str, Any]]) -> list[Tenth]:
    """Returns the tenths of a run from the blocks that soak-starts prints."""
    ends = [len(blocks) * i // TENTHS for i in range(TENTHS + 1)]
    return [tenth_of(blocks[first:end]) for first, end in itertools.pairwise(ends)]


def tenth_of(blocks: Sequence[dict[str, Any]]) -> Tenth:
    """Summarizes some blocks."""
    slacks = [block["slack_ns"] for block in blocks]
    quiet = sorted(blocks, key=lambda block: float(block["late"] / block["starts"]))[: (len(blocks) + 1) // 2]
    return Tenth(
        starts=sum(block["starts"] for block in blocks),
        ns=statistics.median(block["ns"] for block in blocks),
        late=sum(block["late"] for block in blocks) / sum(block["starts"] for block in blocks),
        late_quiet=sum(block["late"] for block in quiet) / sum(block["starts"] for block in quiet),
        slack_ns=statistics.median(slacks),
        slack_floor_ns=sorted(slacks)[len(slacks) // 10],
        memory=blocks[-1]["memory"],
        descriptors=blocks[-1]["descriptors"],
    )


def drifted(values: Sequence[float], least: float) -> bool:
    """Returns whether values, one per tenth, rise: Kendall's tau and the size of the rise, as the module says."""
    from scipy.stats import kendalltau

    later = values[1:]
    before, after = statistics.mean(later[:2]), statistics.mean(later[-2:])
    if after - before <= max(RISE * before, least):
        return False
    return bool(kendalltau(range(len(later)), later, alternative="greater").pvalue < P_DRIFT)


def judge(found: dict[str, Any]) -> list[Promise]:
    """Returns the promises on a run, and whether they hold."""
    tenths = tenths_of(found["blocks"])
    starts = sum(block["starts"] for block in found["blocks"])
    second, last = tenths[1], tenths[-1]
    grown = max(after - before for before, after in zip(second.memory, last.memory, strict=True))
    opened = max(abs(after - before) for before, after in zip(second.descriptors, last.descriptors, strict=True))
    late = sum(block["late"] for block in found["blocks"])
    slack = drifted([tenth.slack_floor_ns for tenth in tenths], LEAST_RISE["slack"])
    flags = drifted([tenth.late_quiet for tenth in tenths], LEAST_RISE["late"])
    return [
        at_most("memory since the second tenth", grown, MEMORY_BYTES, "bytes"),
        at_most("descriptors opened or closed since", opened, 0),
        at_most(
            "counters that differ from the count",
            sum(wrong_counters(one, starts, late) for one in found["processes"]),
            0,
        ),
        Promise("slack drifts", slack, "no", not slack),
        Promise("share of flags of 0 drifts", flags, "no", not flags),
    ]


def wrong_counters(process: dict[str, int], starts: int, late: int) -> int:
    """Returns how many of a process's counters differ from the program's own count."""
    not_in_time = process["late_arrivals"] + process["late_exits"]
    # The library does not know the last call's outcome yet.
    of_all = 0 <= late - process["invalid_calls"] <= 1 and process["invalid_calls"] == process["unwanted"]
    here = not_in_time <= process["refused"] <= not_in_time + process["unsure_clocks"]
    return [process["starts"] == starts, process["calls"] == starts, of_all, here].count(False)


def run(mpi: str, starts: int, seconds: float) -> dict[str, Any]:
    """Runs soak-starts on two ranks; returns what it prints."""
    program = ROOT / "build" / mpi / "bin" / "soak-starts"
    said = run_ranks(NAME, mpi, 2, [program, starts, seconds], seconds=seconds + PATIENCE_SECONDS)
    objects = [json.loads(line) for line in said.splitlines()]
    blocks = [one for one in objects if "slack_ns" in one]
    return {"blocks": blocks, "processes": objects[len(blocks) :]}


def print_tenths(tenths: Sequence[Tenth]) -> None:
    """Prints a line for each tenth."""
    print(
        f"{'tenth':>5} {'starts':>9} {'us/start':>9} {'flag 0 %':>9} {'quiet %':>9} {'slack ns':>9} {'floor ns':>9} "
        f"{'MiB':>13} {'files':>7}"
    )
    for number, tenth in enumerate(tenths, 1):
        memory = " ".join(f"{one / 2**20:.2f}" for one in tenth.memory)
        files = " ".join(map(str, tenth.descriptors))
        print(
            f"{number:5} {tenth.starts:9} {tenth.ns / 1e3:9.2f} {100 * tenth.late:9.3f} {100 * tenth.late_quiet:9.3f} "
            f"{tenth.slack_ns:9.0f} {tenth.slack_floor_ns:9.0f} {memory:>13} {files:>7}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(NAME, "Makes many starts in one program, and looks for what grows or drifts.")
    parser.add_number("--starts", STARTS, "starts", low=LEAST_STARTS)
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=f"at most [{SECONDS:g}]")
    parser.add_mpi()
    parser.add_output()
    options = parser.parse_args(arguments)
    unset_settings()
    found = run(options.mpi, options.starts, options.seconds)
    tenths = tenths_of(found["blocks"])
    promises = judge(found)
    print_tenths(tenths)
    if (made := sum(tenth.starts for tenth in tenths)) < options.starts:
        print(f"{made} of {options.starts} starts: no more were made in {options.seconds:g} s")
    print()
    print_promises(promises)
    write_json(options.output, {"tenths": tenths, "promises": promises, "processes": found["processes"]})
    return 0 if all(promise.met for promise in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
