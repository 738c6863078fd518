"""Measures what downbeat.mpi adds to the calls of libdownbeat, and says what was promised.

python -m benchmarks.bindings [--mpi NAMES] [--repetitions N]

Runs benchmarks/languages/calls.c and calls.py on two ranks, N times (default 7), in turns, and prints medians of their
figures. Python's MPI library is the one of the build tree, so mpi4py must be able to load it.
"""

from __future__ import annotations

import json
import statistics
import sys

from downbeat.launchers.libraries import ROOT, linked_mpi

from benchmarks.promises import Promise, at_most, print_promises
from benchmarks.running import Parser, run_ranks, unset_settings

NAME = "bindings"
FIGURES = {
    "time_ns": "a reading of the global clock",
    "call_ns": "a start, with the wait for its deadline",
    "first_ns": "from the deadline to the first reading after a start",
    "skew_ns": "from the first rank's such reading to the last one's",
}
MOST_NS = 3000.0
RUN_SECONDS = 300


def run(mpi: str, *command: object) -> dict[str, float]:
    """Returns the figures of one launch on two ranks."""
    library = ROOT / "build" / mpi / "lib" / "libdownbeat.so"
    variables = {
        "PYTHONPATH": str(ROOT / "python"),
        "DOWNBEAT_LIBRARY": str(library),
        "MPI4PY_LIBMPI": str(linked_mpi(str(library))),
    }
    figures: dict[str, float] = json.loads(run_ranks(NAME, mpi, 2, command, variables, RUN_SECONDS))
    return figures


def measure(mpi: str, repetitions: int) -> Promise:
    """Prints the figures under an MPI library; returns the promise on what Python adds to a start."""
    programs: dict[str, list[object]] = {
        "C": [ROOT / "build" / mpi / "bin" / "binding-calls"],
        "Python": [sys.executable, ROOT / "benchmarks/languages/calls.py"],
    }
    found: dict[str, list[dict[str, float]]] = {language: [] for language in programs}
    for _ in range(repetitions):
        for language, command in programs.items():
            found[language].append(run(mpi, *command))
    medians = {
        language: {name: statistics.median(one[name] for one in values) for name in FIGURES}
        for language, values in found.items()
    }
    print(f"\n{mpi}: two ranks, ns, median of {repetitions} medians")
    print(f"{'':54}{'C':>8}{'Python':>9}{'more':>8}")
    for name, meaning in FIGURES.items():
        c, python = medians["C"][name], medians["Python"][name]
        print(f"{meaning:54}{c:>8.0f}{python:>9.0f}{python - c:>8.0f}")
    more = medians["Python"]["call_ns"] - medians["C"]["call_ns"]
    return at_most(f"{mpi}: Python adds to a start", more, MOST_NS, "ns")


def main() -> None:
    parser = Parser(NAME, "Measures what downbeat.mpi costs.")
    parser.add_libraries("openmpi")
    parser.add_number("--repetitions", 7, "launches of each")
    options = parser.parse_args()
    unset_settings()
    print_promises([measure(mpi, options.repetitions) for mpi in options.mpi])


if __name__ == "__main__":
    main()
