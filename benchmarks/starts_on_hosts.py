"""Measures starts on hosts with clocks of their own, made of namespaces, and says what was promised.

python -m benchmarks.starts_on_hosts [--mpi NAME...] [--hosts N...] [--runs N] [--seconds N] [--output FILE]

Runs tests/hosts/exits with one process per host, a call every 2 ms, under Open MPI and MPICH, on two and four hosts
whose clocks are up to 5 ppm apart, or within 100 and 300 ppm of true time: some 12 minutes; `--hosts 2 --runs 1` takes
two. A counter that all hosts share tells the truth about starts and clocks; a cache line that two ranks share, in which
state the machine was. With fewer processors than hosts no flags are all 1: then clocks are compared with the
expected errors, in place of starts.
Needs root. Prints a row for each case, and what was promised by the state of the machine; writes all runs to FILE
(default build/bench-hosts.json).
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from downbeat.run.libraries import CHECKOUT

from benchmarks.promises import Promise, at_least, at_most, print_promises
from benchmarks.running import Parser, crowded, fail, unset_settings, write_json

NAME = "bench-hosts"
LIBRARIES = ("openmpi", "mpich")
HOSTS = (2, 4)
# How far apart the clocks are: frequencies are drawn within these limits, so two differ by twice as much at most.
CLOCKS = {"5 ppm": 2.5e-6, "within 100 ppm": 100e-6, "within 300 ppm": 300e-6}
FAST_NS = 120.0  # a cache line to the other processor and back: 55 in the fast state of a machine, 330 in the slow one
BEGINNING_NS = 1e9  # after the first second, which exits leaves out
TOLERANCE_NS = 500.0
ROUNDED_NS = 20.0  # what stamps and readings are off by

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]


def run(library: str, hosts: int, seconds: int, validation: str) -> Row:
    """Runs exits once."""
    command = [
        *(str(CHECKOUT / "tests/hosts/hosts"), "--hosts", str(hosts), "--mpi", library),
        *("--timeout", str(4 * seconds + 60)),  # ranks that share processors take their time
        *("--", str(CHECKOUT / f"build/{library}/bin/exits"), str(seconds), "0.002"),
    ]
    environment = os.environ | {"DOWNBEAT_VALIDATION": validation}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        fail(NAME, (done.stderr.strip().splitlines() or ["no output"])[-1])
    return figures_of(json.loads(lines[-1]))


def figures_of(said: Row) -> Row:
    """Returns the figures of a run from what exits wrote, in ns; not a number where no call has flags of 1 alone."""
    table = np.moveaxis(np.array(said["ranks"], dtype=float), 2, 0)
    exits, flags, times, stamps, expected, bounds, syncs, spent, deadlines = table
    scale = said["ns_per_stamp"]
    exits, stamps = exits * scale, stamps * scale
    times, expected, bounds, deadlines = 1e9 * times, 1e9 * expected, 1e9 * bounds, 1e9 * deadlines

    # Against rank 0. Readings of the clock are a few ms from its, so that the scale need not be exact.
    clocks = np.abs((times - times[0]) - (stamps - stamps[0]))[1:]
    starts = np.abs(exits - exits[0])[1:]
    valid = flags.all(axis=0)
    skews = np.ptp(exits, axis=0)
    allowed = TOLERANCE_NS + 2 * expected.max(axis=0)
    late = times - deadlines - (stamps - exits)  # by its own clock
    after = exits[0] > BEGINNING_NS
    seconds = 1e-9 * np.ptp(exits[0][after])
    return {
        "line_ns": float(np.median(said["lines_ns"])) if said["lines_ns"] else math.nan,
        "calls": exits.shape[1],
        "valid": float(valid.mean()),
        "skew_median_ns": quantile(skews[valid], 0.5),
        "skew_p99_ns": quantile(skews[valid], 0.99),
        "late_p95_ns": quantile(late[flags > 0], 0.95),
        "clock_median_ns": quantile(clocks, 0.5),
        "clock_p99_ns": quantile(clocks, 0.99),
        "expected_ns": quantile(expected[1:], 0.5),
        "within_one": within(starts[:, valid], expected[1:, valid]),
        "within_two": within(starts[:, valid], 2 * expected[1:, valid]),
        "clock_within_one": within(clocks, expected[1:]),
        "clock_within_two": within(clocks, 2 * expected[1:]),
        "apart": float((skews > allowed)[valid].mean()) if valid.any() else math.nan,
        "syncs_per_second": float(np.ptp(syncs[0][after]) / seconds),
        "sync_share": float(np.ptp(spent[:, after], axis=1).max() / seconds),
        "beyond_bound": int((clocks > bounds[1:] + ROUNDED_NS).sum()),
        "bound_ns": quantile(bounds[1:], 0.5),
    }


def quantile(values: Floats, share: float) -> float:
    return float(np.quantile(values, share)) if values.size else math.nan


def within(errors: Floats, expected: Floats) -> float:
    return float((errors <= expected + ROUNDED_NS).mean()) if errors.size else math.nan


def middle(rows: Sequence[Row], figure: str) -> float:
    """Returns the median of a figure over runs that have it."""
    known = [row[figure] for row in rows if not math.isnan(row[figure])]
    return float(np.median(known)) if known else math.nan


def mean(rows: Sequence[Row], figure: str) -> float:
    """Returns the mean of a figure over runs that have it."""
    known = [row[figure] for row in rows if not math.isnan(row[figure])]
    return float(np.mean(known)) if known else math.nan


def state_of(row: Row) -> str:
    return "fast" if row["line_ns"] <= FAST_NS else "slow"


def measure(libraries: Iterable[str], hosts: Iterable[int], repetitions: int, seconds: int) -> list[Row]:
    """Runs all cases in turns."""
    rows = []
    for repetition, library, count, clocks in itertools.product(range(repetitions), libraries, hosts, CLOCKS):
        case = f"{library}, {count} hosts, {clocks}"
        print(f"\r{NAME}: run {repetition + 1}, {case:34}", end="", file=sys.stderr, flush=True)
        validation = f"skew={CLOCKS[clocks]:g},wander=2e-9,seed={repetition + 1}"
        rows.append({"case": case, "hosts": count, **run(library, count, seconds, validation)})
    print(file=sys.stderr)
    return rows


# `late`: 95 % of them leave so soon after the deadline by their own clock; `off`: clocks beyond their bound.
HEADING = """\
                                state, | valid |    skew of these     |      expected error       |      syncs, |
case                                ns |       |  50 %   99 %    late |      within 1, 2    apart |       share | off"""


def print_table(rows: Sequence[Row]) -> None:
    """Prints a line for each case: medians of its runs, of shares their means."""
    print(HEADING)
    for case in dict.fromkeys(row["case"] for row in rows):
        its = [row for row in rows if row["case"] == case]
        states = "/".join(dict.fromkeys(map(state_of, its)))
        of = "clock_within" if crowded(its[0]["hosts"]) else "within"
        parts = (
            f"{case:29} {states:>4} {middle(its, 'line_ns'):3.0f}",
            f"{mean(its, 'valid'):5.2f}",
            f"{middle(its, 'skew_median_ns'):5.0f} {middle(its, 'skew_p99_ns'):6.0f} {middle(its, 'late_p95_ns'):7.0f}",
            f"{middle(its, 'expected_ns'):4.0f} {mean(its, f'{of}_one'):4.2f}, {mean(its, f'{of}_two'):4.2f}"
            f" {100 * mean(its, 'apart'):7.2f}%",
            f"{mean(its, 'syncs_per_second'):4.1f} {100 * mean(its, 'sync_share'):6.2f}%",
            f"{sum(row['beyond_bound'] for row in its):4}",
        )
        print(" | ".join(parts))


def conclude(rows: Sequence[Row]) -> list[Promise]:
    """Returns what was promised, by the state of the machine; of starts, where every host has a processor."""
    promises = []
    for state in dict.fromkeys(map(state_of, rows)):
        its = [row for row in rows if state_of(row) == state]
        starts = [row for row in its if not crowded(row["hosts"])]
        one = mean(starts, "within_one")
        promises += [
            at_most(
                f"{state}: skew, median", middle(starts, "skew_median_ns"), 70.0 if state == "fast" else 150.0, "ns"
            ),
            at_most(f"{state}: skew, 99 %", middle(starts, "skew_p99_ns"), 450.0 if state == "fast" else 700.0, "ns"),
            Promise(f"{state}: within one expected error", one, "0.60 to 0.80", 0.6 <= one <= 0.8),
            at_least(f"{state}: within two", mean(starts, "within_two"), 0.92),
            at_most(f"{state}: flags 1, and farther apart than tolerance + 2 errors", mean(starts, "apart"), 0.005),
            at_most(f"{state}: synchronizations a second", mean(starts, "syncs_per_second"), 3.0),
            at_most(f"{state}: share of time in synchronization", mean(its, "sync_share"), 0.01),
            at_most(f"{state}: clocks beyond the bound", sum(row["beyond_bound"] for row in its), 0),
        ]
    return promises


def main() -> int:
    """Measures, prints, writes; returns 0 even if a promise was missed: a measurement is not a test."""
    parser = Parser(NAME, "Measures starts on several hosts.")
    parser.add_libraries(*LIBRARIES)
    parser.add_argument("--hosts", nargs="+", type=int, choices=range(2, 17), default=HOSTS, metavar="N", help="[2 4]")
    parser.add_number("--runs", 3, "of each case")
    parser.add_number("--seconds", 15, "of each run", low=4)
    parser.add_output()
    arguments = parser.parse_args()

    unset_settings()
    rows = measure(arguments.mpi, arguments.hosts, arguments.runs, arguments.seconds)
    promises = conclude(rows)
    print(f"One process per host, a call every 2 ms, {arguments.seconds} s; {arguments.runs} runs of each case\n")
    print_table(rows)
    print()
    print_promises(promises)
    write_json(arguments.output, {"promises": promises, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
