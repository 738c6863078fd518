"""Measures what the choice of a barrier does to reported latencies, and what is left of it after MPIX_Harmonize.

python -m benchmarks.sync [--mpi LIBRARY] [--ranks N ...] [--launches N] [--repetitions N] [--output FILE]

Reports the latency (as OSU's, mean over ranks) of the same operations after every barrier, and after every barrier
followed by MPIX_Harmonize, on 2 and 4 ranks. In each launch the spread is the largest median over barriers / the
smallest; the figure is the median over launches, so that no single one decides. The largest and the smallest of
several are picked for their noise, too, so this spread is above 1 even where all are equal. The spread without that
is beside it: in each launch the ratio of the two barriers that are the extremes of all other launches. Prints a table
and writes all figures to FILE (default build/bench-sync.json). Fig. 2 of Schuchart 2023 has Open MPI's own barrier
algorithms: downbeat reproduce schuchart2023-fig2.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

import pandas as pd
from downbeat.errors import DownbeatError
from downbeat.run.bench import find_bench
from downbeat.run.plan import Measurement

from benchmarks.promises import Promise, at_most, print_promises
from benchmarks.running import Parser, crowded, experiment, fail, unset_settings, whole_from, write_json

NAME = "bench-sync"
OPERATIONS = ("reduce", "bcast", "allreduce")
METRIC = "latency_avg"
TARGET = 1.10  # of the spread with harmonize, on 2 ranks
OPTIONS = {"sizes": "8", "max-attempts": "20"}  # a launch in which starts hardly ever succeed is to end
# With more ranks than processors, some start only after another yields: one context switch later.
CROWDED = {"tolerance": "20e-6"}  # s
COLUMNS = ["ranks", "operation", "harmonized", "barriers", "launches", "spread", "low", "high", "apart"]


def after(barrier: str) -> str:
    """Returns the synchronizer that is MPIX_Harmonize after a barrier."""
    return f"harmonize(after={barrier})"


def find_barriers(mpi: str) -> list[str]:
    """Returns the barriers: what may run before MPIX_Harmonize."""
    words = [find_bench(mpi), "list", "synchronizer", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(NAME, f"downbeat-bench list ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
    synchronizers = {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}
    (parameter,) = (item for item in synchronizers["harmonize"]["parameters"] if item["name"] == "after")
    return [choice for choice in parameter["choices"] if choice in synchronizers and choice != parameter["default"]]


def measure(mpi: str, ranks: int, synchronizers: Sequence[str], launches: int, repetitions: int) -> pd.DataFrame:
    """Returns median latencies in s, a row per operation and launch, a column per synchronizer; NaN without any."""
    options = OPTIONS | {"sync": ",".join(synchronizers), "repetitions": str(repetitions)}
    measurement = Measurement(OPERATIONS, options | (CROWDED if crowded(ranks) else {}))
    with experiment(mpi, ranks, measurement, launches=launches, timeout=300) as found:
        cells = found.cells.query("status == 'ok'")
        wide = cells.pivot(index=["operation", "launch"], columns="synchronizer", values=f"{METRIC}_median")
        return wide.reindex(columns=list(synchronizers))


def spread_apart(launches: pd.DataFrame) -> float | None:
    """Returns the median over launches of the ratio between the barriers that the other launches pick as the extremes.

    Where all barriers are equal it is as often below 1 as above.
    """
    if len(launches) < 2:
        return None
    ratios = []
    for index in range(len(launches)):
        others = launches.drop(index=launches.index[index]).median()
        here = launches.iloc[index]
        ratios.append(float(here[others.idxmax()] / here[others.idxmin()]))
    return float(pd.Series(ratios).median())


def conclude(ranks: int, barriers: Sequence[str], wide: pd.DataFrame) -> pd.DataFrame:
    """Returns the spreads of all operations, after the barriers alone and with MPIX_Harmonize after them."""
    rows = []
    for operation in OPERATIONS:
        for harmonized in (False, True):
            chosen = [after(one) if harmonized else one for one in barriers]
            launches = wide.reindex([operation], level="operation")[chosen].dropna()
            spreads = launches.max(axis=1) / launches.min(axis=1)
            numbers = (spreads.median(), spreads.min(), spreads.max(), spread_apart(launches))
            rows.append((ranks, operation, harmonized, len(barriers), len(launches), *numbers))
    return pd.DataFrame(rows, columns=COLUMNS)


def promises_of(spreads: pd.DataFrame) -> list[Promise]:
    rows = spreads.query("harmonized and ranks == 2").set_index("operation")["spread"]
    return [at_most(f"{operation}, 2 ranks: spread with harmonize", one, TARGET) for operation, one in rows.items()]


def default_ranks(mpi: str) -> list[int]:
    """Returns what can be measured in minutes."""
    if mpi == "mpich" and crowded(4):
        print(f"{NAME}: 4 ranks are left out: where they share processors, MPICH takes 12 ms per collective")
        return [2]
    return [2, 4]


def main() -> int:
    """Measures, prints, writes; returns 0 even if a figure was missed: a measurement is not a test."""
    parser = Parser(NAME, "Measures what barriers do to latencies.")
    parser.add_mpi()
    parser.add_argument("--ranks", type=whole_from(2), nargs="+", metavar="N", help="numbers of ranks [2 4]")
    parser.add_number("--launches", 7, "of each kind")
    parser.add_number("--repetitions", 1000, "valid samples per cell")
    parser.add_output()
    arguments = parser.parse_args()
    mpi, launches, repetitions = arguments.mpi, arguments.launches, arguments.repetitions
    unset_settings()
    try:
        barriers = find_barriers(mpi)
        synchronizers = barriers + [after(barrier) for barrier in barriers]
        ranks = arguments.ranks or default_ranks(mpi)
        found = [conclude(one, barriers, measure(mpi, one, synchronizers, launches, repetitions)) for one in ranks]
    except DownbeatError as error:
        fail(NAME, str(error))
    spreads = pd.concat(found, ignore_index=True)
    print(f"{mpi}, 8 B: spread of {METRIC} over barriers, largest / smallest: median over the launches in which all")
    print("cells got their samples, lowest and highest; apart: between the extremes that the other launches pick\n")
    print(spreads.to_string(index=False, float_format="{:.2f}".format))
    if crowded(max(ranks)):
        print("\nwith more ranks than processors, starts count within 20 us, longer than the operations take")
    print()
    print_promises(promises_of(spreads))
    write_json(arguments.output, json.loads(spreads.to_json(orient="records")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
