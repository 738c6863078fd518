"""The lines of the figures on scaling, 6 to 14: an algorithm under both synchronizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Panel, Series
from downbeat_papers.results import mean_and_deviation, median_and_range
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE
from downbeat_papers.site import MPICH, OPEN_MPI, Site

POINT = (
    "Points: mean over launches of what OSU's benchmarks report, bars: standard deviation, as in the paper. Beside it: "
    "median over launches of the launches' medians, bars: smallest to largest launch. "
)
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
# What the simulator has besides the lines' own algorithms; of other collectives it has the default alone.
SIMULATED = {"reduce": (SIMULATED_MVAPICH,), "bcast": (SIMULATED_MVAPICH,), "allreduce": ()}
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


def simulated_algorithms(site: Site) -> str:
    """Says for the caption whose algorithms are simulated; empty: none are."""
    if not site.simulated:
        return ""
    return (
        f" Simulated: all algorithms are the simulator's; that of {MVAPICH.label} is the one that MVAPICH2 has, "
        "knomial that of MVAPICH2, too, with radix 4."
    )


def line_runs(site: Site, collective: str, ranks: int, sizes: str, usual: int) -> list[Run]:
    """Returns the runs behind the lines of a collective: one under each MPI library that there is."""
    runs = []
    algorithms = [line.algorithm for line in LINES[collective] if line.family == "openmpi"]
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    if site.simulated:
        algorithms = [*algorithms, *SIMULATED[collective]] if collective in SIMULATED else ["default"]
    count = 1 + sizes.count(",")
    if open_mpi:
        options = {"sizes": sizes}
        if len(algorithms) > 1:
            options["algorithm"] = f"{collective}={','.join(algorithms)}"
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


def two_panels(
    collective: str, frames: Sequence[pd.DataFrame], columns: Sequence[str], position: str, scale: float, panel: Panel
) -> list[Panel]:
    """Returns the paper's panel, mean and standard deviation over launches, and beside it one of medians.

    Args:
        collective: whose lines they are.
        frames: a row per launch, `line` and position, and `synchronizer` where lines are of one; for either panel.
        columns: what is shown of them.
        position: on the horizontal axis, "size" or "ranks".
        scale: what values are multiplied with.
        panel: its axes.
    """
    by = [name for name in ("line", "synchronizer", position) if name in frames[0]]
    mean, median = (
        summary(frame, by, column, scale).sort_values(position)
        for summary, frame, column in zip((mean_and_deviation, median_and_range), frames, columns, strict=True)
    )
    return [
        replace(panel, title="mean of means, as in the paper", series=series_of(collective, mean, "mean", position)),
        replace(panel, title="medians", series=series_of(collective, median, "median", position)),
    ]


def series_of(collective: str, table: pd.DataFrame, column: str, position: str) -> list[Series]:
    """Returns the lines of a panel: of times dotted under the barrier, dashed under harmonize."""
    series = []
    for line in LINES[collective]:
        for synchronizer in (BARRIER, HARMONIZE) if "synchronizer" in table else ("",):
            part = table[table["line"] == line.label]
            part = part[part["synchronizer"] == synchronizer] if synchronizer else part
            label = f"{line.label}, {SHORT[synchronizer]}" if synchronizer else line.label
            style = STYLES.get(synchronizer, "-")
            values = (part[position], part[column], part["low"], part["high"])
            if len(part):
                series.append(Series(label, *values, line.color, style, line.color))
    return series
