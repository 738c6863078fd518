"""Measures what libdownbeat-preload costs a call, beside an interposer that does nothing, and says what was promised.

python -m benchmarks.preload [--mpi NAMES] [--repetitions N] [--calls N]

Runs a loop of short collectives, blocking and nonblocking, without, with an empty interposer and with
libdownbeat-preload, N times (default 7), in turns, and prints medians of the medians. Then records --calls of them
(default 10^7) on one rank, and says what the file takes and how long it takes to read. Ends with status 1 if a call
costs more than 150 ns; a nonblocking collective is two, with its MPI_Wait.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from downbeat.launchers.libraries import ROOT
from downbeat.traces.trace import open_trace

from benchmarks.running import Parser, run_ranks

NAME = "benchmarks.preload"
MOST_NS = 150.0
CALLS = {"blocking": 1, "nonblocking": 2}  # of MPI, for a collective


def run(mpi: str, variables: Mapping[str, str], calls: int, kind: str = "blocking") -> float:
    """Runs the loop on one rank with variables set for it; returns nanoseconds per collective."""
    program = ROOT / "build" / mpi / "bin" / "preload-calls"
    return float(run_ranks(NAME, mpi, 1, [program, calls, kind], variables).split()[1])


def variants(mpi: str, directory: Path) -> dict[str, dict[str, str]]:
    """Returns what is preloaded, by name: variables for the rank."""
    libraries = ROOT / "build" / mpi / "lib"
    preload = {"LD_PRELOAD": str(libraries / "libdownbeat-preload.so"), "DOWNBEAT_PRELOAD_DIR": str(directory)}
    return {
        "nothing": {},
        "empty interposer": {"LD_PRELOAD": str(libraries / "libpreload-empty.so")},
        "record": preload,
    }


def measure(mpi: str, kind: str, repetitions: int) -> bool:
    """Prints the cost of a collective under an MPI library; returns whether the promise is kept."""
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
    met = "met" if cost <= MOST_NS else "NOT MET"
    print(f"promised: record costs at most {MOST_NS:.0f} ns per call, here {cost:.1f}: {met}")
    return cost <= MOST_NS


def record_many(mpi: str, calls: int) -> None:
    """Records many calls on one rank and reads them."""
    with tempfile.TemporaryDirectory() as directory:
        variables = {**variants(mpi, Path(directory))["record"], "DOWNBEAT_PRELOAD_RECORDS": str(calls)}
        begin = time.monotonic()
        median = run(mpi, variables, calls)
        ran = time.monotonic() - begin
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
        begin, worked = time.monotonic(), time.process_time()
        records = open_trace(directory).records
        took, worked = time.monotonic() - begin, time.process_time() - worked
        dropped = open_trace(directory).processes["records_dropped"].sum()
    print(
        f"\n{mpi}: {len(records):,} records, {dropped} dropped, {median:.1f} ns per call, {ran:.1f} s for the program, "
        f"{size / 1e6:.0f} MB, {size / max(1, len(records)):.1f} bytes per record, {took:.1f} s to read, "
        f"{worked:.1f} s of them processor time"
    )


def main() -> None:
    parser = Parser(NAME, "Measures libdownbeat-preload.")
    parser.add_libraries("openmpi", "mpich")
    parser.add_number("--repetitions", 7, "of each loop")
    parser.add_number("--calls", 10_000_000, "recorded on one rank")
    options = parser.parse_args()
    os.chdir(tempfile.gettempdir())
    kept = [measure(mpi, kind, options.repetitions) for mpi in options.mpi for kind in CALLS]
    record_many(options.mpi[0], options.calls)
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
