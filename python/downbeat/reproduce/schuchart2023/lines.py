"""The lines of the figures on scaling, 6 to 14: an algorithm under both synchronizers."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.panels import Series
from downbeat.reproduce.results import median_and_range
from downbeat.reproduce.run import Run
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE
from downbeat.reproduce.site import MPICH, OPEN_MPI, Site

POINT = "Points: median over launches of the launches' medians; bars: smallest to largest launch. "
SHORT = {BARRIER: "barrier", HARMONIZE: "harmonize"}
STYLES = {BARRIER: ":", HARMONIZE: "--"}  # as in the paper


@dataclass(frozen=True)
class Line:
    """An algorithm in the figures on scaling: how the paper and downbeat-bench call it."""

    label: str
    family: str  # run it belongs to
    algorithm: str
    color: int


MVAPICH = Line("MPICH (for MVAPICH2)", "mpich", "default", 0)
SIMULATED_MVAPICH = "mvapich2"  # the algorithm that MVAPICH2 takes, which the simulator has beside Open MPI's
DEFAULT = Line("Open MPI default", "openmpi", "default", 1)


def open_mpi_lines(*algorithms: str) -> tuple[Line, ...]:
    """Returns the lines of a figure: MPICH's default, Open MPI's, and some of its algorithms."""
    chosen = (Line(f"Open MPI {name}", "openmpi", name, 2 + i) for i, name in enumerate(algorithms))
    return (MVAPICH, DEFAULT, *chosen)


LINES = {
    "reduce": open_mpi_lines("linear", "binomial"),
    "bcast": open_mpi_lines("knomial", "binomial"),
    "allreduce": open_mpi_lines("nonoverlapping", "recursive_doubling"),
    "scatter": open_mpi_lines("basic_linear", "binomial"),
    "gather": open_mpi_lines("basic_linear", "binomial"),
}


def line_runs(site: Site, collective: str, ranks: int, sizes: str, usual: int) -> list[Run]:
    """Returns the runs behind the lines of a collective: one under each MPI library that there is."""
    runs = []
    algorithms = [line.algorithm for line in LINES[collective] if line.family == "openmpi"]
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    if site.simulated:
        algorithms.append(SIMULATED_MVAPICH)
    count = 1 + sizes.count(",")
    if open_mpi:
        options = {"sizes": sizes, "algorithm": f"{collective}={','.join(algorithms)}"}
        factors = count * len(algorithms)
        runs.append(
            operation_run(
                site, f"openmpi-n{ranks}", open_mpi, ranks, [collective], usual=usual, options=options, factors=factors
            )
        )
    # MPICH 4 takes some 10 ms per collective where ranks share cores.
    if mpich and not (site.crowded(ranks) and mpich == "mpich"):
        runs.append(
            operation_run(
                site,
                f"mpich-n{ranks}",
                mpich,
                ranks,
                [collective],
                usual=usual,
                options={"sizes": sizes},
                factors=count,
            )
        )
    return runs


def with_lines(cells: pd.DataFrame, collective: str) -> pd.DataFrame:
    """Returns the cells of a collective with the label of their line."""
    cells = cells[cells["operation"] == collective]
    names = {(line.family, line.algorithm): line.label for line in LINES[collective]}
    names["openmpi", SIMULATED_MVAPICH] = MVAPICH.label
    lines = [
        names.get((str(label).partition("-")[0], str(algorithm)))
        for label, algorithm in zip(cells["label"], cells["algorithm"], strict=True)
    ]
    return cells.assign(line=pd.Series(lines, index=cells.index, dtype=object))


def latency_series(cells: pd.DataFrame, collective: str, position: str, column: str) -> list[Series]:
    """Returns the lines of a panel of absolute times: dotted under the barrier, dashed under harmonize."""
    table = median_and_range(cells, ("line", "synchronizer", position), column).sort_values(position)
    return [
        Series(
            f"{line.label}, {SHORT[synchronizer]}",
            part[position],
            part["median"],
            part["low"],
            part["high"],
            line.color,
            STYLES[synchronizer],
            line.color,
        )
        for line in LINES[collective]
        for synchronizer in (BARRIER, HARMONIZE)
        if len(part := table[(table["line"] == line.label) & (table["synchronizer"] == synchronizer)])
    ]
