"""Compares what loops like OSU's and IMB's report after harmonized barriers with what downbeat-bench does.

python -m benchmarks.agreement [--mpi NAMES] [--launches N]

The loops know nothing of Downbeat (tests/preload/osu_like.c, imb_like.c); libdownbeat-preload gives their barriers a
common start. The launches of a loop and of downbeat-bench take turns, in random order. Both have the same operation,
datatype, sizes, 200 calls of warm-up, 2000 samples, one buffer for all calls, and report the mean over calls and ranks
of each rank's own time. Ranks get real-time priority if that is allowed, because an interruption of 0.5 ms is
0.25 us of a mean. Prints medians over launches, their ratio with its 95 % interval, whether that is within 5 % of 1,
and what the trace says / what the loop says. Ends with status 1 if an interval is outside.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import downbeat
import numpy as np
from downbeat.base.text import MICROSECONDS
from downbeat.launchers.libraries import ROOT
from numpy.typing import NDArray
from scipy.stats import bootstrap

from benchmarks.running import Parser, run_ranks

NAME = "benchmarks.agreement"
SIZES = (8, 256, 8192)
WARMUP = 200
SAMPLES = 2000
MARGIN = 0.05
RANKS = 2


@dataclass(frozen=True)
class Loop:
    """A loop and the same with downbeat-bench."""

    program: str
    operation: str
    datatype: str


LOOPS = {
    "OSU-like": Loop("preload-osu_like", "reduce", "double"),
    "IMB-like": Loop("preload-imb_like", "allreduce", "float"),
}


def run(mpi: str, words: list[str], variables: Mapping[str, str]) -> str:
    """Runs a program on both ranks; returns what it printed."""
    priority = ["chrt", "-f", "1"] if may_have_priority() else []
    return run_ranks(NAME, mpi, RANKS, [*priority, *words], variables)


def may_have_priority() -> bool:
    """Whether processes may have real-time priority here."""
    try:
        return subprocess.run(["chrt", "-f", "1", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run_loop(mpi: str, loop: Loop) -> tuple[dict[int, float], dict[int, float]]:
    """Returns by size, in us, what a loop reports after harmonized barriers, and what the trace says of it."""
    build = ROOT / "build" / mpi
    with tempfile.TemporaryDirectory() as directory:
        variables = {
            "LD_PRELOAD": str(build / "lib" / "libdownbeat-preload.so"),
            "DOWNBEAT_PRELOAD_MODE": "harmonize",
            "DOWNBEAT_PRELOAD_DIR": directory,
            "DOWNBEAT_PRELOAD_SKIP": str(WARMUP),
        }
        said = run(mpi, [str(build / "bin" / loop.program), str(SAMPLES), str(WARMUP)], variables)
        rows = downbeat.open_trace(directory).starts.to_dict("records")
    means: dict[int, list[float]] = {size: [] for size in SIZES}
    for line in said.splitlines():
        _, _, size, mean = line.split()
        means[int(size)].append(float(mean))
    traced = {row["size_up_to"]: row["mean_s"] * MICROSECONDS for row in rows if row["operation"] == loop.operation}
    return {size: statistics.mean(of_ranks) for size, of_ranks in means.items()}, traced


def run_bench(mpi: str, loop: Loop) -> dict[int, float]:
    """Returns by size, in us, what downbeat-bench reports from a common start."""
    words = [str(ROOT / "build" / mpi / "bin" / "downbeat-bench"), loop.operation, "-q", "--format", "osu"]
    words += ["--sizes", ",".join(map(str, SIZES)), "--sync", "harmonize", "--with", f"type={loop.datatype}"]
    words += ["--warmup", str(WARMUP), "--repetitions", str(SAMPLES)]
    lines = [line.split() for line in run(mpi, words, {}).splitlines() if line and not line.startswith("#")]
    return {int(size): float(mean) for size, mean, *_ in lines}


def ratio_of_medians(these: list[float], those: list[float]) -> tuple[float, float, float]:
    """Returns the ratio of two medians, and its 95 % interval by the bootstrap.

    A single interruption can double the mean of a launch, so means over launches would compare interruptions. Launches
    are not paired: a slow one says nothing about the next.
    """

    def statistic(one: NDArray[np.float64], other: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return np.asarray(np.median(one, axis=axis) / np.median(other, axis=axis))

    interval = bootstrap((these, those), statistic, vectorized=True, method="percentile", rng=1).confidence_interval
    return statistics.median(these) / statistics.median(those), float(interval.low), float(interval.high)


def compare(mpi: str, name: str, loop: Loop, launches: int) -> list[str]:
    """Prints the comparison of a loop; returns whether sizes agree within the margin: yes, no, undecided."""
    reported, traces, benches = [], [], []
    order = random.Random(1)
    for _ in range(launches):
        bench_first = order.random() < 0.5
        if bench_first:
            benches.append(run_bench(mpi, loop))
        one, trace = run_loop(mpi, loop)
        if not bench_first:
            benches.append(run_bench(mpi, loop))
        reported.append(one)
        traces.append(trace)
    print(
        f"\n{mpi}, {name} loop, {loop.operation} of {loop.datatype}, {RANKS} ranks, medians of {launches} launches, us"
    )
    print(f"{'bytes':>7}{'loop':>9}{'downbeat-bench':>16}{'ratio':>8}{'95 % interval':>17}{'agree':>11}", end="")
    print(f"{'trace / loop':>16}")
    verdicts = []
    for size in SIZES:
        loops = [one[size] for one in reported]
        theirs = [one[size] for one in benches]
        ratio, low, high = ratio_of_medians(loops, theirs)
        beside = statistics.median(side[size] / one[size] for side, one in zip(traces, reported, strict=True))
        least, most = 1 / (1 + MARGIN), 1 + MARGIN
        apart = low > most or high < least
        verdict = "no" if apart else "yes" if least <= low and high <= most else "undecided"
        verdicts.append(verdict)
        print(
            f"{size:>7}{statistics.median(loops):>9.3f}{statistics.median(theirs):>16.3f}{ratio:>8.3f}"
            f"{f'{low:.3f} to {high:.3f}':>17}{verdict:>11}{beside:>16.3f}"
        )
    return verdicts


def main() -> None:
    parser = Parser(NAME, "Compares loops with downbeat-bench.")
    parser.add_libraries("openmpi", "mpich")
    parser.add_number("--launches", 60, "of each loop, and of downbeat-bench", low=2)
    options = parser.parse_args()
    os.chdir(tempfile.gettempdir())
    verdicts = [one for mpi in options.mpi for loop in LOOPS.items() for one in compare(mpi, *loop, options.launches)]
    undecided = f"undecided in {verdicts.count('undecided')} of {len(verdicts)} cells; give more --launches"
    outcome = "NOT MET" if "no" in verdicts else undecided if "undecided" in verdicts else "met"
    print(f"promised: a loop's report is within {MARGIN:.0%} of downbeat-bench's: {outcome}")
    sys.exit("no" in verdicts)


if __name__ == "__main__":
    main()
