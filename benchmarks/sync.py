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

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence

import pandas as pd
from downbeat.errors import DownbeatError
from downbeat.experiment.plan import Measurement
from downbeat.launchers.bench import find_bench

from benchmarks.running import Parser, crowded, experiment, fail, unset_settings, whole_from, write_json

NAME = "bench-sync"
OPERATIONS = ("reduce", "bcast", "allreduce")
SIZE = 8  # bytes
RANKS = (2, 4)
METRIC = "latency_avg"
TARGET = 1.10  # of the spread with harmonize, on 2 ranks
RUN_SECONDS = 300
# A launch in which starts hardly ever succeed is to end.
MAX_ATTEMPTS = 20
# With more ranks than processors, some start only after another yields: one context switch later.
CROWDED_TOLERANCE = 20e-6  # s


@dataclasses.dataclass(frozen=True)
class Spread:
    """Largest / smallest latency of an operation over barriers; None where it was not measured."""

    mpi: str
    ranks: int
    operation: str
    harmonized: bool
    over: int  # barriers
    launches: int  # in which all of them were measured
    median: float | None  # over launches
    low: float | None
    high: float | None
    apart: float | None  # median over launches, between the barriers that are the extremes of the other launches
    target: float | None  # of the median
    met: bool | None


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
    options = {
        "sizes": str(SIZE),
        "sync": ",".join(synchronizers),
        "repetitions": str(repetitions),
        "max-attempts": str(MAX_ATTEMPTS),
    }
    if crowded(ranks):
        options["tolerance"] = str(CROWDED_TOLERANCE)
    measurement = Measurement(OPERATIONS, options)
    with experiment(mpi, ranks, measurement, launches=launches, timeout=RUN_SECONDS) as found:
        cells = found.cells.query("status == 'ok'")
        wide = cells.pivot(index=["operation", "launch"], columns="synchronizer", values=f"{METRIC}_median")
        return wide.reindex(columns=list(synchronizers))


def spread(values: Iterable[float]) -> float:
    """Returns largest / smallest."""
    known = list(values)
    return max(known) / min(known)


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


def conclude(mpi: str, ranks: int, barriers: Sequence[str], wide: pd.DataFrame) -> list[Spread]:
    """Returns the spreads of all operations, after the barriers alone and with MPIX_Harmonize after them."""
    found = []
    for operation in OPERATIONS:
        for harmonized in (False, True):
            chosen = [after(one) if harmonized else one for one in barriers]
            table = wide.reindex([operation], level="operation")[chosen]
            complete = table.dropna()
            spreads = [spread(row) for row in complete.to_numpy()]
            median = float(pd.Series(spreads).median()) if spreads else None
            target = TARGET if harmonized and ranks == 2 else None
            found.append(
                Spread(
                    mpi=mpi,
                    ranks=ranks,
                    operation=operation,
                    harmonized=harmonized,
                    over=len(table.columns),
                    launches=len(complete),
                    median=median,
                    low=min(spreads, default=None),
                    high=max(spreads, default=None),
                    apart=spread_apart(complete),
                    target=target,
                    met=None if target is None else median is not None and median <= target,
                )
            )
    return found


def print_table(spreads: list[Spread], launches: int, ranks: int) -> None:
    """Prints one line per operation."""
    print(f"{spreads[0].mpi}, {SIZE} B: spread of {METRIC} over barriers, largest / smallest: median over launches")
    print("[smallest, largest launch], and between the barriers that the other launches pick as the extremes\n")
    print(f"{'ranks  barriers':17}{'operation':10}{'after the barriers':>26}{'and MPIX_Harmonize':>26}   target")

    def show(one: Spread) -> str:
        if one.median is None:
            return "not measured"
        few = "" if one.launches == launches else f" ({one.launches} launches)"
        apart = "-" if one.apart is None else f"{one.apart:.2f}"
        return f"{one.median:.2f} [{one.low:.2f}, {one.high:.2f}] {apart}{few}"

    for alone, harmonized in zip(spreads[::2], spreads[1::2], strict=True):
        verdict = {None: "", True: f"<= {TARGET:.2f} met", False: f"<= {TARGET:.2f} MISSED"}[harmonized.met]
        print(
            f"{alone.ranks:5}{alone.over:10}  {alone.operation:10}{show(alone):>26}{show(harmonized):>26}   {verdict}"
        )
    if any(one.median is None for one in spreads):
        print("\nnot measured: in no launch did every cell get its valid samples")
    if crowded(ranks):
        print(
            f"\n{ranks} ranks are more than processors, so not all can start at one instant: starts count there if"
            f" within {CROWDED_TOLERANCE * 1e6:.0f} us,\nwhich is longer than the operations take; on more "
            f"processors they are held to the library's tolerance"
        )


def default_ranks(mpi: str) -> list[int]:
    """Returns what can be measured in minutes."""
    if mpi != "mpich":
        return list(RANKS)
    for ranks in filter(crowded, RANKS):
        print(f"{NAME}: {ranks} ranks are left out: where they share processors, MPICH takes 12 ms per collective")
    return [ranks for ranks in RANKS if not crowded(ranks)]


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
    chosen = arguments.ranks or default_ranks(mpi)

    unset_settings()
    spreads = []
    try:
        barriers = find_barriers(mpi)
        for ranks in chosen:
            wide = measure(mpi, ranks, barriers + [after(barrier) for barrier in barriers], launches, repetitions)
            spreads += conclude(mpi, ranks, barriers, wide)
    except DownbeatError as error:
        fail(NAME, str(error))
    print_table(spreads, launches, max(chosen))
    write_json(arguments.output, spreads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
