"""Measures what libdownbeat-preload costs a call, beside an interposer that does nothing, and says what was promised.

python -m benchmarks.preload [--mpi NAMES] [--repetitions N] [--calls N]

Runs a loop of short collectives, blocking and nonblocking, without, with an empty interposer and with
libdownbeat-preload, N times (default 7), in turns, and prints medians of the medians. Then records --calls of them
(default 10^8) on one rank, and says what the file takes, and how long and how much memory `downbeat arrivals` takes for
it. Ends with status 1 if a promise is not kept. A nonblocking collective is two calls, with its MPI_Wait.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from downbeat.run.libraries import CHECKOUT
from downbeat.trace.trace import open_trace

from benchmarks.promises import Promise, at_least, at_most, print_promises
from benchmarks.running import Parser, run_ranks

NAME = "benchmarks.preload"
MOST_NS = 60.0
CALLS = {"blocking": 1, "nonblocking": 2}  # of MPI, for a collective


def run(mpi: str, variables: Mapping[str, str], calls: int, kind: str = "blocking") -> float:
    """Runs the loop on one rank with variables set for it; returns nanoseconds per collective."""
    program = CHECKOUT / "build" / mpi / "bin" / "preload-calls"
    return float(run_ranks(NAME, mpi, 1, [program, calls, kind], variables).split()[1])


def variants(mpi: str, directory: Path) -> dict[str, dict[str, str]]:
    """Returns what is preloaded, by name: variables for the rank."""
    libraries = CHECKOUT / "build" / mpi / "lib"
    preload = {"LD_PRELOAD": str(libraries / "libdownbeat-preload.so"), "DOWNBEAT_PRELOAD_DIR": str(directory)}
    return {
        "nothing": {},
        "empty interposer": {"LD_PRELOAD": str(libraries / "libpreload-empty.so")},
        "record": preload,
    }


def measure(mpi: str, kind: str, repetitions: int) -> Promise:
    """Prints the cost of a collective under an MPI library."""
    with tempfile.TemporaryDirectory() as directory:
        chosen = variants(mpi, Path(directory))
        found: dict[str, list[float]] = {name: [] for name in chosen}
        for _ in range(repetitions):
            for name, variables in chosen.items():
                found[name].append(run(mpi, variables, 200_000, kind))
    medians = {name: statistics.median(values) for name, values in found.items()}
    print(f"\n{mpi}: {kind}, 8 bytes, one rank, median of {repetitions} medians")
    print(f"{'preloaded':<20}{'ns':>12}{'more than empty':>17}")
    for name, median in medians.items():
        print(f"{name:<20}{median:>12.1f}{median - medians['empty interposer']:>17.1f}")
    cost = (medians["record"] - medians["empty interposer"]) / CALLS[kind]
    return at_most(f"{mpi}: a {kind} call costs", cost, MOST_NS, "ns")


def record_many(mpi: str, calls: int) -> list[Promise]:
    """Records many calls on one rank and analyzes them."""
    with tempfile.TemporaryDirectory() as directory:
        begin = time.monotonic()
        median = run(mpi, variants(mpi, Path(directory))["record"], calls)
        ran = time.monotonic() - begin
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
        counted = int(open_trace(directory).profile["calls"].sum())
        page = Path(directory) / "page.html"
        begin = time.monotonic()
        command = [sys.executable, "-m", "downbeat", "arrivals", directory, "-o", str(page)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - begin
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)  # the launcher and its rank are among them
        written = page.stat().st_size
    print(f"\n{mpi}: {calls:,} calls recorded, {median:.1f} ns per call, {ran:.1f} s in all")
    return [
        at_least("calls in the profile", counted, calls),
        at_most("file", size / 1e6, 200, "MB"),
        at_most("analysis and page", took, 30, "s"),
        at_most("memory", usage.ru_maxrss / 1e6, 1, "GB"),
        at_most("page", written / 1e6, 3, "MB"),
    ]


def main() -> None:
    parser = Parser(NAME, "Measures libdownbeat-preload.")
    parser.add_libraries("openmpi", "mpich")
    parser.add_number("--repetitions", 7, "of each loop")
    parser.add_number("--calls", 100_000_000, "recorded on one rank")
    options = parser.parse_args()
    os.chdir(tempfile.gettempdir())
    promises = [measure(mpi, kind, options.repetitions) for mpi in options.mpi for kind in CALLS]
    promises += record_many(options.mpi[0], options.calls)
    print_promises(promises)
    sys.exit(not all(promise.met for promise in promises))


if __name__ == "__main__":
    main()
