"""Measures starts on hosts with clocks of their own, made of namespaces, and says what was promised.

python -m lab.starts_on_hosts [--runs N] [--output FILE]

Runs lab/hosts/tests/exits under Open MPI, one process per host, a call every 2 ms: two hosts with clocks up to 5 ppm
apart, or within 100 and 300 ppm of true time, for 15 s; four with clocks up to 10 ppm apart for 60 s; both also without
a difference in frequency, as the reference. The exit skew, over calls whose flags are all 1, and the spread of the
global clock, after every call, are read from a counter that all hosts share. With fewer processors than hosts no flags
are all 1: the exit skew is nan, and its promises count as missed. Runs with and without a difference alternate; every
figure is the median of several.
Needs root. Prints one table and what was promised, and writes all figures to FILE (default build/bench-hosts.json).
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from downbeat.launchers.libraries import ROOT

from benchmarks.promises import Promise, at_most, print_promises
from benchmarks.running import Parser, fail, unset_settings, write_json

NAME = "bench-hosts"
RUNS = 3
APART_NS = 1000.0  # from which on a start with flags of 1 has failed
# Hosts, seconds, and their clocks: frequencies are drawn within these limits, so two differ by twice as much at most.
CASES = {
    "2 hosts, 5 ppm": (2, 15, "skew=2.5e-6,wander=2e-9,seed="),
    "2 hosts, within 100 ppm": (2, 15, "skew=100e-6,wander=2e-9,seed="),
    "2 hosts, within 300 ppm": (2, 15, "skew=300e-6,wander=2e-9,seed="),
    "2 hosts, same frequency": (2, 15, "offset=1e-3,seed="),
    "4 hosts, 10 ppm": (4, 60, "skew=5e-6,wander=2e-9,seed="),
    "4 hosts, same frequency": (4, 60, "offset=1e-3,seed="),
}

Row = dict[str, Any]


def run(hosts: int, seconds: int, validation: str) -> Row:
    """Runs exits once."""
    command = [
        *(str(ROOT / "lab/hosts/hosts"), "--hosts", str(hosts), "--mpi", "openmpi"),
        *("--timeout", str(4 * seconds + 60)),  # ranks that share processors take their time
        *("--", str(ROOT / "build/openmpi/bin/exits"), str(seconds), "0.002"),
    ]
    environment = os.environ | {"DOWNBEAT_VALIDATION": validation}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        fail(NAME, (done.stderr.strip().splitlines() or ["no output"])[-1])
    return figures_of(json.loads(lines[-1]))


def figures_of(said: Row) -> Row:
    """Returns the figures of a run from what exits wrote; None where no call has flags of 1 alone."""
    # By rank and call; stamps of rank 0 are a few ms away, so that the scale need not be exact.
    exits, flags, times, stamps = np.moveaxis(np.array(said.pop("ranks")), 2, 0)
    scale = said.pop("ns_per_stamp")
    spreads = np.ptp(1e9 * times - (stamps - stamps[0]) * scale, axis=0)
    skews = np.ptp(exits, axis=0)[flags.all(axis=0)] * scale
    seen = {
        "calls": exits.shape[1],
        "valid": len(skews),
        "apart_share": float((skews > APART_NS).sum() / max(1, len(skews))),
    }
    for name, values in (("clock", spreads), ("skew", skews)):
        for level, share in (("median", 0.5), ("p99", 0.99)):
            seen[f"{name}_{level}_ns"] = float(np.quantile(values, share)) if len(values) else None
    return said | seen


def measure(repetitions: int) -> dict[str, Row]:
    """Runs the cases of each number of hosts in turns; returns the medians of each."""
    runs: dict[str, list[Row]] = {case: [] for case in CASES}
    for hosts in sorted({hosts for hosts, _, _ in CASES.values()}):
        for repetition in range(repetitions):
            for case, (its_hosts, seconds, validation) in CASES.items():
                if its_hosts == hosts:
                    print(f"\r{NAME}: run {repetition + 1}, {case:26}", end="", file=sys.stderr, flush=True)
                    runs[case].append(run(hosts, seconds, f"{validation}{repetition + 1}"))
    print(file=sys.stderr)
    return {case: {key: median(row[key] for row in rows) for key in rows[0]} for case, rows in runs.items()}


def median(values: Iterable[float | None]) -> float:
    """Returns the median of a figure over runs; of runs in which no start had flags of 1 alone, that of the others."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else math.nan


def conclude(rows: dict[str, Row]) -> list[Promise]:
    """Returns what was promised."""
    two = rows["2 hosts, 5 ppm"]
    four = rows["4 hosts, 10 ppm"]
    same = rows["4 hosts, same frequency"]
    return [
        at_most("2 hosts, 5 ppm: exit skew, median", two["skew_median_ns"], 150.0, "ns"),
        at_most("2 hosts, 5 ppm: exit skew, 99 %", two["skew_p99_ns"], 600.0, "ns"),
        *(
            at_most(f"2 hosts, within {ppm} ppm: {what}", rows[f"2 hosts, within {ppm} ppm"][figure], limit, unit)
            for ppm in (100, 300)
            for what, figure, limit, unit in (
                ("exit skew, median", "skew_median_ns", 100.0, "ns"),
                ("flags of 1, and more than 1 us apart", "apart_share", 0.01, ""),
            )
        ),
        at_most("4 hosts, 10 ppm / same frequency: exit skew, median", ratio(four, same, "skew_median_ns"), 1.5),
        at_most("4 hosts, 10 ppm / same frequency: exit skew, 99 %", ratio(four, same, "skew_p99_ns"), 1.5),
        at_most("4 hosts, 10 ppm / same frequency: clock spread, median", ratio(four, same, "clock_median_ns"), 1.5),
        at_most("4 hosts, 10 ppm / same frequency: clock spread, 99 %", ratio(four, same, "clock_p99_ns"), 1.5),
        *(at_most(f"{case}: share of time in synchronization", row["sync_share"], 0.01) for case, row in rows.items()),
    ]


def ratio(above: Row, below: Row, figure: str) -> float:
    """Returns the ratio of one figure of two cases."""
    return float(above[figure] / below[figure])


def main() -> int:
    """Measures, prints, writes; returns 0 even if a promise was missed: a measurement is not a test."""
    parser = Parser(NAME, "Measures starts on several hosts.")
    parser.add_number("--runs", RUNS, "of each case")
    parser.add_output()
    arguments = parser.parse_args()

    unset_settings()
    rows = measure(arguments.runs)
    promises = conclude(rows)
    print(f"Open MPI, one process per host, a call every 2 ms; medians of {arguments.runs} runs\n")
    print("                                         | clock spread, ns | exit skew, ns   |")
    print(
        "case                      calls   valid  | median      99 % | median     99 % | bound, us  expected, ns",
        end="",
    )
    print(" | syncs  share")
    for case, row in rows.items():
        print(
            f"{case:24} {row['calls']:6.0f}  {row['valid']:6.0f}  |"
            f"{row['clock_median_ns']:7.0f} {row['clock_p99_ns']:9.0f} |"
            f"{row['skew_median_ns']:7.0f}  {row['skew_p99_ns']:7.0f} |"
            f"{row['error_bound_ns'] / 1e3:10.1f} {row['expected_error_ns']:13.0f} |"
            f"{row['syncs']:6.0f} {100 * row['sync_share']:5.2f}%"
        )
    print()
    print_promises(promises)
    write_json(arguments.output, {"promises": promises, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
