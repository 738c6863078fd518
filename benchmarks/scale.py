"""Measures starts of 128 to 16,384 processes with a clock each, in virtual time, and says what was promised.

python -m benchmarks.scale [--mpi LIBRARY] [--output FILE]
python -m benchmarks.scale --processes 16,128 --skew 15e-6,300e-6 --seconds 10
python -m benchmarks.scale --random 1000 --seed 1

Runs tests/virtual/scale: our own code, true time known; frequencies within 10 ppm, a wander of 2 ppb, latencies of
1.7 us with a heavy tail. One call per ms for 10 s after the first second at 128 processes, fewer at more. The MPI
library matters for the build alone. Takes about half an hour on two processors. Prints one table and what was promised,
and writes all figures to FILE (default build/bench-scale.json).
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from downbeat.run.libraries import CHECKOUT

from benchmarks.promises import Promise, at_most, print_promises
from benchmarks.running import Parser, fail, unset_settings, write_json

NAME = "bench-scale"
SECONDS = 11.0
INTERVALS = {128: 0.001, 1024: 0.01, 16384: 0.1}  # s, from call to call
# Median exit skew by number of processes, ns; of asymmetric networks also the worst of ten; hard bound, us.
SKEWS = {
    "plain": {128: 36.0, 1024: 34.0, 16384: 54.0},
    "upward": {128: 330.0, 1024: 330.0, 16384: 330.0},  # a gradient that no comparison shows
    "asymmetric": {128: 90.0, 1024: 110.0, 16384: 130.0},
    "ramps": {128: 80.0, 1024: 80.0, 16384: 80.0},
    "stops": {128: 80.0, 1024: 80.0, 16384: 80.0},
}
LATEST = {"plain": 200.0}  # 99 % of the calls of 128 processes; 400 under all other conditions
WORST = {128: 120.0, 1024: 130.0}
NETWORKS = range(2, 11)  # seeds, beside that of the first run
# Path asymmetry that moves or jumps, s from one value to the next, by seed: ten networks of each condition and size.
MOVING = {seed: str(10.0 ** (seed % 5 - 3)) for seed in range(1, 11)}
MOVING_CONDITIONS = ("moving", "jumping")
BOUNDS = {1024: 4.9, 16384: 5.4}
BROKEN = 1  # exit status where a promise is broken under a condition drawn at random
REFUSED = 2  # its exit status where an option is wrong
LONG_RUN = 100.0  # s: 10^5 calls of 128 processes

Row = dict[str, Any]


def run(mpi: str, words: Sequence[str], what: str) -> list[Row]:
    """Simulates what the words ask tests/virtual/scale for; returns its rows."""
    print(f"\r{NAME}: {what:60}", end="", file=sys.stderr, flush=True)
    done = subprocess.run(
        [str(CHECKOUT / "build" / mpi / "bin" / "scale"), *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode == REFUSED:  # and said why
        sys.exit(REFUSED)
    if done.returncode not in (0, BROKEN):
        fail(NAME, f"{what}: scale ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_one(mpi: str, processes: int, condition: str, seconds: float, interval: float, seed: int = 1) -> Row:
    """Simulates one size under one condition."""
    words = ["--processes", f"{processes}", "--condition", condition, "--seed", f"{seed}"]
    if condition in MOVING_CONDITIONS:
        words += ["--moving-for", MOVING[seed]]
    words += ["--seconds", f"{seconds:g}", "--interval", f"{interval:g}"]
    return run(mpi, words, f"{processes} processes, {condition}, seed {seed}")[0]


def measure(mpi: str) -> list[Row]:
    """Simulates every size under every condition, and the barrier."""
    asked = [(size, each, SECONDS, interval) for size, interval in reversed(INTERVALS.items()) for each in SKEWS]
    asked += [(size, "barrier", 2.0, 0.01) for size in INTERVALS]
    networks = [
        (size, "asymmetric", SECONDS, 5 * INTERVALS[size], seed) for size, seed in itertools.product(WORST, NETWORKS)
    ]
    networks += [
        (size, each, SECONDS, 5 * INTERVALS[size], seed)
        for size, each, seed in itertools.product(WORST, MOVING_CONDITIONS, MOVING)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:  # nothing is timed: virtual time
        rows = list(workers.map(lambda words: run_one(mpi, *words), [*asked, *networks]))
    print(file=sys.stderr)
    return sorted(rows, key=lambda row: row["processes"])


def sweep(mpi: str, options: Sequence[tuple[str, str]]) -> list[Row]:
    """Simulates every combination of the options' values, which commas separate."""
    rows = []
    for values in itertools.product(*(text.split(",") for _, text in options)):
        words = [word for (name, _), value in zip(options, values, strict=True) for word in (name, value)]
        rows += run(mpi, words, " ".join(words))
    print(file=sys.stderr)
    return rows


def row_of(rows: list[Row], processes: int, condition: str) -> Row:
    """Returns the row of a size and a condition."""
    return next(row for row in rows if row["processes"] == processes and row["condition"] == condition)


def conclude(rows: list[Row], long_run: Row) -> list[Promise]:
    """Returns what was promised."""
    promises = []
    for condition, limits in SKEWS.items():
        for size, limit in limits.items():
            row = row_of(rows, size, condition)
            what = f"{size} processes, {condition}"
            promises.append(at_most(f"{what}: exit skew, median", row["skew_median_ns"], limit, "ns"))
            if size == min(limits):
                promises.append(
                    at_most(f"{what}: exit skew, 99 %", row["skew_p99_ns"], LATEST.get(condition, 400.0), "ns")
                )
            promises.append(at_most(f"{what}: beyond the bound", row["beyond_bound"], 0))
            if condition == "plain":
                promises.append(at_most(f"{size} processes: share of time in synchronization", row["sync_share"], 0.01))
            if condition == "asymmetric":
                one, two = row["within_one"], row["within_two"]
                promises.append(Promise(f"{what}: within the expected error", one, "0.53 to 0.83", 0.53 <= one <= 0.83))
                promises.append(Promise(f"{what}: within twice of it", two, ">= 0.92", two >= 0.92))
    for size, limit in WORST.items():
        worst = max(
            row["skew_median_ns"] for row in rows if (row["processes"], row["condition"]) == (size, "asymmetric")
        )
        promises.append(at_most(f"{size} processes, asymmetric: the worst of all networks", worst, limit, "ns"))
    for size, condition in itertools.product(WORST, MOVING_CONDITIONS):
        found = [row for row in rows if (row["processes"], row["condition"]) == (size, condition)]
        what = f"{size} processes, {condition}, the worst of all networks"
        ones, twos = [row["within_one"] for row in found], [row["within_two"] for row in found]
        held = min(ones) >= 0.60 and max(ones) <= 0.80
        text = f"{min(ones):.2f} to {max(ones):.2f}"
        promises.append(Promise(f"{what}: within the expected error, {text}", min(ones), "0.60 to 0.80", held))
        promises.append(Promise(f"{what}: within twice of it", min(twos), ">= 0.92", min(twos) >= 0.92))
        promises.append(at_most(f"{what}: beyond the bound", max(row["beyond_bound"] for row in found), 0))
    for size, bound in BOUNDS.items():
        row = row_of(rows, size, "plain")
        promises.append(
            at_most(f"{size} processes: hard bound, median over calls", row["bound_median_ns"], bound * 1e3, "ns")
        )
    what = f"flags of 1 on all, skew beyond tolerance + expected error, of {long_run['calls']}"
    return [*promises, at_most(what, long_run["broken_promises"], 0)]


def print_rows(rows: list[Row]) -> None:
    """Prints one line per run."""
    print(
        "processes  condition   calls  valid | exit skew, ns: median    99 %     max | bound, us: median   max |"
        " expected, ns | within 1, 2 sd | syncs   ms each  share"
    )
    for row in rows:
        head = f"{row['processes']:9}  {row['condition']:10} {row['calls']:6}"
        if row["condition"] == "barrier":
            print(f"{head}      - |              {row['skew_median_ns']:8.0f} {row['skew_p99_ns']:7.0f}")
            continue
        print(
            f"{head} {row['valid']:6} |              {row['skew_median_ns']:8.0f} {row['skew_p99_ns']:7.0f} "
            f"{row['skew_max_ns']:7.0f} |         "
            f"{row['bound_median_ns'] / 1e3:8.1f} {row['bound_max_ns'] / 1e3:5.1f} | "
            f"{row['expected_median_ns']:12.0f} |   {row['within_one']:.2f}, {row['within_two']:.2f} | "
            f"{row['syncs']:5} {row['sync_ms']:9.2f} {100 * row['sync_share']:5.2f}%"
        )


def print_sweep(rows: list[Row]) -> None:
    """Prints one line per condition."""
    print(
        "processes  condition   skew, ppm  interval, s  network, us | calls   valid  after 2 s | broken  beyond the"
        " bound | exit skew, ns: median     99 % | syncs"
    )
    for row in rows:
        if "valid" not in row:
            continue
        after = f"{100 * row['valid_after_2s'] / row['calls_after_2s']:8.2f}%" if row["calls_after_2s"] else "        -"
        skews = [f"{row[name] or float('nan'):8.0f}" for name in ("skew_median_ns", "skew_p99_ns")]
        print(
            f"{row['processes']:9}  {row['condition']:10} {1e6 * row['skew']:10g} {row['interval']:12g} "
            f"{1e6 * row['network']:12g} | {row['calls']:5} {row['valid']:7}  {after} | {row['broken_promises']:6} "
            f"{row['beyond_bound']:17} |               {skews[0]} {skews[1]} | {row['syncs']:5}"
        )


def main() -> int:
    """Simulates, prints, writes; returns 1 if a condition drawn at random broke a promise.

    The run without options is a measurement and no test: it returns 0 even if a promise was missed.
    """
    parser = Parser(
        NAME,
        "Measures starts of many processes in virtual time.",
        "Any option of build/LIBRARY/bin/scale (its --help lists them), values separated by commas: all combinations "
        "are simulated.",
    )
    parser.add_mpi()
    parser.add_output()
    arguments, rest = parser.parse_known_args()

    unset_settings()
    if rest:
        return write_sweep(arguments.mpi, rest, arguments.output)
    rows = measure(arguments.mpi)
    long_run = run_one(arguments.mpi, 128, "plain", LONG_RUN + 1.0, 0.001)
    promises = conclude(rows, long_run)
    print("simulated, in virtual time; largest over processes, quantiles over the calls of one run\n")
    print_rows(rows)
    print()
    print_promises(promises)
    write_json(arguments.output, {"promises": promises, "rows": rows, "long_run": long_run})
    return 0


def write_sweep(mpi: str, words: Sequence[str], output: Path) -> int:
    """Simulates what the words ask for, prints and writes a row for each condition."""
    if len(words) % 2 or not all(name.startswith("--") for name in words[::2]):
        fail(NAME, f"'{' '.join(words)}': options are --NAME VALUE,VALUE,...")
    rows = sweep(mpi, list(zip(words[::2], words[1::2], strict=True)))
    drawn = "--random" in words[::2]
    broken = [row for row in rows if row.get("within_domain") and row["broken_promises"] + row["beyond_bound"]]
    print_sweep(broken if drawn else rows)
    write_json(output, {"options": list(words), "rows": rows})
    if drawn:
        print(f"{len(rows)} conditions, {len(broken)} of them with a broken promise within the domain")
    return BROKEN if drawn and broken else 0


if __name__ == "__main__":
    sys.exit(main())
