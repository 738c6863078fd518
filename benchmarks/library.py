"""Measures Downbeat itself, under each MPI library found, and says what was promised.

python -m benchmarks.library [--repetitions N] [--busy N] [--output FILE]

Runs every mode of benchmarks/figures N times (default 7), the libraries in turns, and takes the median of each figure.
Prints one table per library and writes all figures to FILE (default build/bench.json): a list of objects {mpi, figure,
value, unit, target, met}; target and met are null for figures that are there to compare with.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from downbeat.launchers.libraries import ROOT

from benchmarks.running import Parser, fail, run_ranks, write_json

NAME = "bench"
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
RUN_SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Mode:
    """A mode of the figures program and how it is launched."""

    name: str
    ranks: int
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    beside: bool = False  # other programs


BUSY = "while :; do :; done"


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure: its unit, what it means, and the most that it may be under each library, if anything is promised."""

    name: str
    unit: str
    meaning: str
    targets: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Result:
    """A figure as measured: what goes into the output file."""

    mpi: str
    figure: str
    value: float
    unit: str
    target: float | None
    met: bool | None


def promised(most: float) -> dict[str, float]:
    """Returns the same target for every library."""
    return dict.fromkeys(LIBRARIES, most)


MODES = [
    Mode("start", 2),
    Mode("recovery", 2),
    Mode("misses", 2),
    Mode("sync", 2, {"DOWNBEAT_VALIDATION": "offset=1e-3,skew=5e-6,wander=1e-6"}),
    Mode("crowd", 2 * len(os.sched_getaffinity(0))),
    Mode("first", 2),
    Mode("busy", 2, beside=True),
]

FIGURES = [
    Figure("exit_skew_ratio", "1", "exit skew, median, harmonize / MPI_Barrier", {"openmpi": 0.2, "mpich": 0.05}),
    Figure("exit_skew_ns", "ns", "exit skew, median", promised(10.0)),
    Figure("barrier_skew_ns", "ns", "the same of MPI_Barrier"),
    Figure("stamp_step_ns", "ns", "smallest step of the timestamps"),
    Figure("false_valid_percent", "%", "valid by flag, yet exit skew > 1 us", {"openmpi": 0.2, "mpich": 0.03}),
    Figure("barrier_false_percent", "%", "exit skew > 1 us after MPI_Barrier"),
    Figure("rejected_percent", "%", "rejected calls", promised(1.0)),
    Figure("call_cost_us", "us", "time per call beyond the work, mean", promised(2.5)),
    Figure("barrier_cost_us", "us", "the same of MPI_Barrier"),
    Figure("interruptions_us", "us", "the same of no synchronization, summed over the ranks"),
    Figure("call_cost_median_us", "us", "time per call beyond the work, median"),
    Figure("barrier_cost_median_us", "us", "the same of MPI_Barrier"),
    Figure("slack_recovery", "1", "slack 1000 calls after 11 disturbances / before", promised(1.5)),
    Figure("slack_before_ns", "ns", "slack before"),
    Figure("after_misses_cost_ratio", "1", "cost after 11 misses, slack=auto / published", promised(0.1)),
    Figure("after_misses_cost_us", "us", "after 11 misses of 1 ms: time per call beyond the work, mean"),
    Figure("published_cost_us", "us", "the same with slack=published (Schuchart 2023, Alg. 1)"),
    Figure(
        "after_misses_false_percent",
        "%",
        "after 11 misses: valid by flag, yet exit skew > 1 us",
        {"openmpi": 0.2, "mpich": 0.03},
    ),
    Figure("published_false_percent", "%", "the same with slack=published"),
    Figure("after_misses_rejected_percent", "%", "after 11 misses: rejected calls"),
    Figure("published_rejected_percent", "%", "the same with slack=published"),
    Figure("after_misses_slack_us", "us", "slack at the end of that"),
    Figure("published_slack_us", "us", "the same with slack=published"),
    Figure("sync_us", "us", "duration of a clock synchronization", promised(20.0)),
    Figure("sync_error_ns", "ns", "its true error, median", promised(20.0)),
    Figure("sync_outside_bound", "1", "synchronizations with an error beyond the bound", promised(0.0)),
    Figure("oversub_cost_us", "us", "two ranks per processor: time per call beyond the work", {"openmpi": 1000.0}),
    Figure("oversub_false_valid_percent", "%", "the same: valid by flag, yet exit skew > 10 us", {"openmpi": 1.0}),
    Figure("oversub_valid_percent", "%", "the same: valid by flag"),
    Figure("first_rejected_percent", "%", "first calls on communicators: rejected", promised(1.0)),
    Figure("first_us", "us", "first call on a communicator, after the first of the program", promised(200.0)),
    Figure("state_kib", "KiB", "memory of a communicator's state on process 0", promised(10.0)),
    Figure("duplicate_kib", "KiB", "memory of one duplicate of the library; a state has another"),
    Figure("busy_ratio", "1", "beside busy processes: valid calls, slack=published / auto, worst turn", promised(1.0)),
    Figure("busy_valid", "1/s", "beside busy processes: valid calls"),
    Figure("busy_published_valid", "1/s", "the same with slack=published (Schuchart 2023, Alg. 1)"),
]


def program(mpi: str) -> Path:
    """Returns the figures program of a library's build."""
    return ROOT / "build" / mpi / "bin" / "figures"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Runs so many processes that never rest."""
    processes = [subprocess.Popen(["sh", "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(mpi: str, mode: Mode, beside: int) -> dict[str, float]:
    """Returns the figures of one launch; mode `busy` runs beside so many busy processes."""
    with busy(beside if mode.beside else 0):
        said = run_ranks(NAME, mpi, mode.ranks, [program(mpi), mode.name], mode.environment, RUN_SECONDS)
    figures: dict[str, float] = json.loads(said.splitlines()[-1])
    return figures


def measure(libraries: list[str], repetitions: int, beside: int) -> dict[str, dict[str, list[float]]]:
    """Returns the values of every figure, per library and figure; shows progress."""
    values: dict[str, dict[str, list[float]]] = {mpi: {} for mpi in libraries}
    for repetition in range(repetitions):
        for mode in MODES:
            for mpi in libraries:
                print(f"\r{repetition + 1}/{repetitions} {mode.name:8} {mpi:8}", end="", file=sys.stderr, flush=True)
                for name, value in run(mpi, mode, beside).items():
                    values[mpi].setdefault(name, []).append(value)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return values


def conclude(mpi: str, values: dict[str, list[float]]) -> list[Result]:
    """Returns the median of each figure, held against its target."""
    results = []
    for figure in FIGURES:
        value = statistics.median(values[figure.name])
        target = figure.targets.get(mpi)
        met = None if target is None else value <= target
        results.append(Result(mpi, figure.name, value, figure.unit, target, met))
    return results


def reason(missed: Result, by_name: dict[str, float]) -> str:
    """Returns why a figure was missed, as far as the other figures show."""
    step = by_name["stamp_step_ns"]
    if missed.figure in ("exit_skew_ratio", "exit_skew_ns") and by_name["exit_skew_ns"] <= 1.5 * step:
        return (
            f"the processor's counter steps by {step:.0f} ns: the skew is at most one step, "
            f"that of MPI_Barrier {by_name['barrier_skew_ns']:.0f} ns"
        )
    if missed.figure == "call_cost_us":
        return (
            f"interruptions of the work alone cost {by_name['interruptions_us']:.2g} us, MPI_Barrier in the same runs "
            f"{by_name['barrier_cost_us']:.2g} us; the median call costs {by_name['call_cost_median_us']:.2g} us"
        )
    if missed.figure == "sync_us":
        return (
            "the default, sync=disciplined, compares the clocks up to 24 times in a synchronization, and makes "
            "fewer of them; hca3_offset compares them once"
        )
    return "see the range over repetitions: the machine may have been busy"


def print_table(mpi: str, results: list[Result], values: dict[str, list[float]]) -> None:
    """Prints the figures of one library with their ranges, and the reasons for those that were missed."""
    print(f"\n{LIBRARIES[mpi]}: median over repetitions [smallest, largest]")
    by_name = {result.figure: result.value for result in results}
    for figure, result in zip(FIGURES, results, strict=True):
        low, high = min(values[figure.name]), max(values[figure.name])
        target = "" if result.target is None else f"<= {result.target:g}"
        verdict = {None: "", True: "met", False: "MISSED"}[result.met]
        unit = "" if figure.unit == "1" else figure.unit
        measured = f"{result.value:.4g} {unit}"
        print(
            f"  {figure.name:28}{measured:>12}  {f'[{low:.4g}, {high:.4g}]':20}{target:10}{verdict:8}{figure.meaning}"
        )
    for result in results:
        if result.met is False:
            print(f"  {result.figure} was missed: {reason(result, by_name)}")
    if by_name["oversub_valid_percent"] == 0:
        print("  with two ranks per processor no start was valid, so none could be falsely valid")


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

    values = measure(libraries, arguments.repetitions, arguments.busy)
    results: list[Result] = []
    for mpi in libraries:
        concluded = conclude(mpi, values[mpi])
        print_table(mpi, concluded, values[mpi])
        results += concluded
    write_json(arguments.output, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
