"""Measures Downbeat itself, under each MPI library that is built, and says what was promised.

python -m benchmarks.library [--repetitions N] [--busy N] [--output FILE]

Runs every mode of benchmarks/figures, and calls.py, N times (default 7), the libraries in turns, and takes the median
of each figure. Prints one table per library, and writes all figures to FILE (default build/bench.json): objects {mpi,
figure, value, low, high, unit, target, met}. target and met are null for figures that are there to compare with.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from downbeat.run.libraries import CHECKOUT, linked_mpi

from benchmarks.running import Parser, fail, run_ranks, unset_settings, write_json

NAME = "bench"
LIBRARIES = ("openmpi", "mpich")
RUN_SECONDS = 300
MODES = {"start": 2, "recovery": 2, "misses": 2, "crowd": 2 * len(os.sched_getaffinity(0)), "first": 2, "busy": 2}
MODES |= {"calls": 2, "python": 2}  # ranks

# The most that a figure may be: under each library, under Open MPI alone, under either.
Target = float | tuple[float, float] | None
FIGURES: dict[str, tuple[str, str, Target]] = {
    "exit_skew_ratio": ("", "exit skew, median, harmonize / MPI_Barrier", (0.2, 0.05)),
    "exit_skew_ns": ("ns", "exit skew, median", 10.0),
    "barrier_skew_ns": ("ns", "the same of MPI_Barrier", None),
    "stamp_step_ns": ("ns", "smallest step of the timestamps", None),
    "false_valid_percent": ("%", "valid by flag, yet exit skew > 1 us", (0.2, 0.03)),
    "barrier_false_percent": ("%", "exit skew > 1 us after MPI_Barrier", None),
    "rejected_percent": ("%", "rejected calls", 1.0),
    "span_ratio": ("", "from the last entry to the last exit, median, harmonize / MPI_Barrier", 1.5),
    "span_ns": ("ns", "the same of harmonize", None),
    "barrier_span_ns": ("ns", "the same of MPI_Barrier", None),
    "call_cost_us": ("us", "time per call beyond the work, mean", 2.5),
    "barrier_cost_us": ("us", "the same of MPI_Barrier", None),
    "interruptions_us": ("us", "the same of no synchronization, summed over the ranks", None),
    "call_cost_median_us": ("us", "time per call beyond the work, median", None),
    "barrier_cost_median_us": ("us", "the same of MPI_Barrier", None),
    "slack_recovery": ("", "slack 1000 calls after 11 disturbances / before", 1.5),
    "slack_before_ns": ("ns", "slack before", None),
    "after_misses_cost_ratio": ("", "cost after 11 misses, slack=auto / published", 0.1),
    "after_misses_cost_us": ("us", "after 11 misses of 1 ms: time per call beyond the work, mean", None),
    "published_cost_us": ("us", "the same with slack=published (Schuchart 2023, Alg. 1)", None),
    "after_misses_false_percent": ("%", "after 11 misses: valid by flag, yet exit skew > 1 us", (0.2, 0.03)),
    "published_false_percent": ("%", "the same with slack=published", None),
    "after_misses_rejected_percent": ("%", "after 11 misses: rejected calls", None),
    "published_rejected_percent": ("%", "the same with slack=published", None),
    "after_misses_slack_us": ("us", "slack at the end of that", None),
    "published_slack_us": ("us", "the same with slack=published", None),
    "oversub_cost_us": ("us", "two ranks per processor: time per call beyond the work", (1000.0, float("inf"))),
    "oversub_false_valid_percent": ("%", "the same: valid by flag, yet exit skew > 10 us", (1.0, float("inf"))),
    "oversub_valid_percent": ("%", "the same: valid by flag; if 0, none could be falsely valid", None),
    "first_rejected_percent": ("%", "first calls on communicators: rejected", 1.0),
    "first_us": ("us", "first call on a communicator, after the first of the program", 200.0),
    "state_kib": ("KiB", "memory of a communicator's state on process 0", 10.0),
    "duplicate_kib": ("KiB", "memory of one duplicate of the library; a state has another", None),
    "busy_ratio": ("", "beside busy processes: valid calls, slack=published / auto, worst turn", 1.0),
    "busy_valid": ("1/s", "beside busy processes: valid calls", None),
    "busy_published_valid": ("1/s", "the same with slack=published (Schuchart 2023, Alg. 1)", None),
    "time_ns": ("ns", "a reading of the global clock", None),
    "python_time_ns": ("ns", "the same in Python", None),
    "call_ns": ("ns", "a start, with the wait for its deadline", None),
    "python_call_ns": ("ns", "the same in Python", None),
    "python_adds_ns": ("ns", "Python adds to a start", 3000.0),
    "first_ns": ("ns", "from the deadline to the first reading after a start", None),
    "python_first_ns": ("ns", "the same in Python", None),
    "skew_ns": ("ns", "from the first rank's such reading to the last one's", None),
    "python_skew_ns": ("ns", "the same in Python", None),
}


def program(mpi: str) -> Path:
    return CHECKOUT / "build" / mpi / "bin" / "figures"


def run(mpi: str, mode: str, beside: int) -> dict[str, float]:
    """Returns the figures of one launch; mode `busy` runs beside so many processes that never rest."""
    words: list[object] = [program(mpi), mode]
    variables = {}
    if mode == "python":  # with the MPI library of the build tree
        if mpi != "openmpi":
            return {}
        library = str(CHECKOUT / "build" / mpi / "lib" / "libdownbeat.so")
        words = [sys.executable, CHECKOUT / "benchmarks/figures/calls.py"]
        variables = {"PYTHONPATH": str(CHECKOUT / "python"), "DOWNBEAT_LIBRARY": library}
        variables["MPI4PY_LIBMPI"] = str(linked_mpi(library))
    with contextlib.ExitStack() as stack:
        for _ in range(beside if mode == "busy" else 0):
            stack.callback(subprocess.Popen(["sh", "-c", "while :; do :; done"]).kill)
        said = run_ranks(NAME, mpi, MODES[mode], words, variables, RUN_SECONDS)
    figures: dict[str, float] = json.loads(said.splitlines()[-1])
    return figures


def measure(libraries: list[str], repetitions: int, beside: int) -> dict[str, dict[str, list[float]]]:
    """Returns the values of every figure, by library and figure; shows progress."""
    values: dict[str, dict[str, list[float]]] = {mpi: {} for mpi in libraries}
    for repetition in range(repetitions):
        for mode in MODES:
            for mpi in libraries:
                print(f"\r{repetition + 1}/{repetitions} {mode:8} {mpi:8}", end="", file=sys.stderr, flush=True)
                for name, value in run(mpi, mode, beside).items():
                    values[mpi].setdefault(name, []).append(value)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    for found in values.values():
        if "python_call_ns" in found:
            pairs = zip(found["python_call_ns"], found["call_ns"], strict=True)
            found["python_adds_ns"] = [python - c for python, c in pairs]
    return values


def conclude(mpi: str, values: dict[str, list[float]]) -> list[dict[str, object]]:
    """Prints the figures of one library with their ranges and targets; returns what goes into the file."""
    print(f"\n{mpi}: median over repetitions [smallest, largest]")
    results: list[dict[str, object]] = []
    for name, (unit, meaning, targets) in FIGURES.items():
        if name not in values:
            continue
        value, low, high = statistics.median(values[name]), min(values[name]), max(values[name])
        target = targets[LIBRARIES.index(mpi)] if isinstance(targets, tuple) else targets
        target = None if target == float("inf") else target
        met = None if target is None else value <= target
        verdict = "" if target is None else f"<= {target:g}".ljust(10) + ("met" if met else "MISSED")
        print(f"  {name:30}{f'{value:.4g} {unit}':>12}  {f'[{low:.4g}, {high:.4g}]':20}{verdict:17}{meaning}")
        result = {"mpi": mpi, "figure": name, "value": value, "low": low, "high": high, "unit": unit}
        results.append({**result, "target": target, "met": met})
    return results


def main() -> int:
    """Measures, prints, writes; returns 0 even if a figure was missed: a measurement is not a test."""
    parser = Parser(NAME, "Measures Downbeat itself.")
    parser.add_number("--repetitions", 7, "of the whole")
    parser.add_number("--busy", 15, "busy processes beside mode busy", low=0)
    parser.add_output()
    arguments = parser.parse_args()
    libraries = [mpi for mpi in LIBRARIES if program(mpi).exists()]
    if not libraries:
        fail(NAME, "nothing is built; run: make bench")
    unset_settings()
    values = measure(libraries, arguments.repetitions, arguments.busy)
    write_json(arguments.output, [result for mpi in libraries for result in conclude(mpi, values[mpi])])
    return 0


if __name__ == "__main__":
    sys.exit(main())
