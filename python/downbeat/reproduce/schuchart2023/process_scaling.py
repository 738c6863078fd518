"""Figures 8, 11 and 14: latency over numbers of processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from downbeat.pictures.picture import Picture
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.schuchart2023.delta import deltas
from downbeat.reproduce.schuchart2023.lines import DEFAULT, MVAPICH, POINT, latency_series, line_runs, with_lines
from downbeat.reproduce.site import Site


def process_runs(collective: str) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        return tuple(run for ranks in site.counts for run in line_runs(site, collective, ranks, "4", 500))

    return runs


def draw_processes(
    name: str, collective: str, findings_of: Callable[[pd.DataFrame], list[Finding]]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of a figure on numbers of processes; that of reduce has the largest latency besides."""

    def draw(results: Results) -> Drawn:
        cells = with_lines(results.cells, collective)
        pictures: list[Picture] = []
        kinds = [("", "average", LATENCY)]
        if collective == "reduce":
            kinds = [("a", "average", LATENCY), ("b", "maximum", "latency_max_median")]
        for letter, kind, column in kinds:
            pictures.append(
                draw_panels(
                    f"{name}{letter}",
                    f"MPI_{collective.capitalize()}, process scaling, 4 bytes: {kind} latency",
                    POINT + f"Latency: {kind} over ranks. Dotted: behind MPI_Barrier; dashed: MPIX_Harmonize. "
                    f"Above {results.site.cores} ranks they share cores.",
                    [
                        Panel(
                            latency_series(cells, collective, "ranks", column),
                            "number of processes",
                            f"{kind} latency [us]",
                            log_x=True,
                            log_y=True,
                        )
                    ],
                )
            )
        # All claims are about ranks with a core each.
        judged = cells[cells["ranks"] <= results.site.node]
        findings = (*stability(judged), *findings_of(judged))
        return Drawn(tuple(pictures), findings)

    return draw


def stability(cells: pd.DataFrame) -> list[Finding]:
    """Compares how uneven lines over processes are: the mean second difference of their logarithms."""
    claim = "lines over processes are smoother from the common start"
    paper = "pronounced oscillations behind the barrier, stable with MPIX_Harmonize"
    table = over_launches(cells, ("line", "synchronizer", "ranks"), LATENCY).sort_values("ranks")
    uneven = {}
    for synchronizer, part in table.groupby("synchronizer"):
        lines = [np.log(line["median"].to_numpy()) for _, line in part.groupby("line") if len(line) > 3]
        if lines:
            uneven[str(synchronizer)] = float(np.mean([np.abs(np.diff(line, 2)).mean() for line in lines]))
    if len(uneven) < 2:
        count = table["ranks"].nunique()
        return [Finding(claim, paper, f"{count} numbers of ranks are too few to see oscillations", None)]
    return [
        Finding(
            claim,
            paper,
            f"mean second difference of log latency {uneven[BARRIER]:.2f} behind the barrier, {uneven[HARMONIZE]:.2f} "
            "from the common start",
            uneven[HARMONIZE] < uneven[BARRIER],
        )
    ]


def metric_finding(cells: pd.DataFrame) -> list[Finding]:
    """The paper's note on the choice of metric: linear's average falls while its maximum rises."""
    line = "Open MPI linear"
    part = cells[(cells["line"] == line) & (cells["synchronizer"] == HARMONIZE)]
    claim = "linear: the average falls with the number of processes, the maximum does not"
    paper = "most processes leave at once and bring the mean down; the maximum tells what an application waits for"
    if part["ranks"].nunique() < 2:
        return [Finding(claim, paper, "one number of ranks alone", None)]
    ends = []
    for column in (LATENCY, "latency_max_median"):
        table = over_launches(part, ("ranks",), column).sort_values("ranks")["median"].to_numpy()
        ends.append((table[0], table[-1]))
    (first, last), (first_max, last_max) = ends
    return [
        Finding(
            claim,
            paper,
            f"average {first:.2f} to {last:.2f} us, maximum {first_max:.2f} to {last_max:.2f} us, from "
            f"{part['ranks'].min()} to {part['ranks'].max()} ranks",
            bool(last < first and last_max >= first_max),
        )
    ]


def knomial_finding(cells: pd.DataFrame) -> list[Finding]:
    frame = deltas(cells, "ranks")
    part = frame[frame["line"] == "Open MPI knomial"].groupby("ranks")["delta"].median()
    return [
        Finding(
            "knomial suffers most from the barrier's choice",
            "its latency varies over processes behind the barrier, and is stable with MPIX_Harmonize",
            "delta " + ", ".join(f"{value:.2f} on {ranks} ranks" for ranks, value in part.items()),
            None,
        )
    ]


def library_finding(cells: pd.DataFrame) -> list[Finding]:
    """Fig. 14: whether the synchronizer decides which library looks faster."""
    claim = "at either end of the range MVAPICH2 looks faster behind the barrier, Open MPI from the common start"
    paper = "the comparison tips in favour of Open MPI with MPIX_Harmonize"
    part = cells[cells["line"].isin([MVAPICH.label, DEFAULT.label])]
    wide = part.pivot_table(index=["ranks", "synchronizer"], columns="line", values=LATENCY, aggfunc="median").dropna()
    if not {MVAPICH.label, DEFAULT.label} <= set(wide.columns) or wide.empty:
        return [Finding(claim, paper, "two MPI libraries are needed", None)]
    ratio = (wide[DEFAULT.label] / wide[MVAPICH.label]).unstack()
    told = "; ".join(
        f"{ranks} ranks: {row[BARRIER]:.2f} behind the barrier, {row[HARMONIZE]:.2f} from the common start"
        for ranks, row in ratio.dropna().iterrows()
    )
    tips = ((ratio[BARRIER] > 1) & (ratio[HARMONIZE] < 1)).any()
    return [Finding(claim, paper, f"Open MPI / MPICH: {told}", bool(tips))]
