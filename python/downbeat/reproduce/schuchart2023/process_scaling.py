"""Figures 8, 11 and 14: latency over numbers of processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from downbeat.pictures.picture import Picture
from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import above, below, every, ratios, unanimous
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.schuchart2023.lines import POINT, latency_series, line_runs, with_lines
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
                    POINT
                    + f"Latency: {kind} over ranks. Dotted: behind MPI_Barrier; dashed: MPIX_Harmonize."
                    + shared_cores(results.site),
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
        judged = cells[[not results.site.crowded(int(ranks)) for ranks in cells["ranks"]]]
        findings = (*stability(judged), *findings_of(judged))
        return Drawn(tuple(pictures), findings)

    return draw


def shared_cores(site: Site) -> str:
    """Says from where on ranks share cores, for the caption."""
    return f" Above {site.cores} ranks they share cores." if site.crowded(site.most) else ""


def unevenness(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns how uneven lines over processes are: the mean absolute second difference of their logarithms.

    One row per `launch`, `line` and `synchronizer` that has at least four numbers of ranks, with its `unevenness`.
    """
    rows = [
        (*key, float(np.abs(np.diff(np.log(part.sort_values("ranks")[LATENCY].to_numpy()), 2)).mean()))
        for key, part in cells.groupby(["launch", "line", "synchronizer"])
        if len(part) > 3
    ]
    return pd.DataFrame(rows, columns=["launch", "line", "synchronizer", "unevenness"])


def too_few(cells: pd.DataFrame) -> str:
    """Says that there are too few numbers of ranks to see oscillations."""
    return f"numbers of ranks with a core each: {cells['ranks'].nunique()}, too few to see oscillations"


def stability(cells: pd.DataFrame) -> list[Finding]:
    """Whether lines over processes are smoother from the common start, in the mean over lines."""
    claim = "lines over processes are smoother from the common start"
    paper = "pronounced oscillations behind the barrier, stable with MPIX_Harmonize"
    means = unevenness(cells).pivot_table(index="launch", columns="synchronizer", values="unevenness")
    if not {BARRIER, HARMONIZE} <= set(means.columns):
        return [Finding(claim, paper, too_few(cells), None)]
    return [
        Finding(
            claim,
            paper,
            f"mean second difference of log latency {means[BARRIER].median():.2f} behind the barrier, "
            f"{means[HARMONIZE].median():.2f} from the common start",
            unanimous(means[HARMONIZE] < means[BARRIER]),
        )
    ]


LINEAR, KNOMIAL = "Open MPI linear", "Open MPI knomial"


def metric_finding(cells: pd.DataFrame) -> list[Finding]:
    """The paper's note on the choice of metric: linear's average falls while its maximum rises."""
    part = cells[(cells["line"] == LINEAR) & (cells["synchronizer"] == HARMONIZE)]
    claim = "linear: the average falls with the number of processes, the maximum does not"
    paper = "most processes leave at once and bring the mean down; the maximum tells what an application waits for"
    if part["ranks"].nunique() < 2:
        return [Finding(claim, paper, "one number of ranks alone", None)]
    fewest, most = part["ranks"].min(), part["ranks"].max()
    first, last = (part[part["ranks"] == count].set_index("launch") for count in (fewest, most))
    average, maximum = (
        (first[column].median() * MICROSECONDS, last[column].median() * MICROSECONDS)
        for column in (LATENCY, "latency_max_median")
    )
    answer = every(
        (
            below(*ratios(last[LATENCY], first[LATENCY]), 1.0),
            above(*ratios(last["latency_max_median"], first["latency_max_median"]), 1.0),
        )
    )
    return [
        Finding(
            claim,
            paper,
            f"average {average[0]:.2f} to {average[1]:.2f} us, maximum {maximum[0]:.2f} to {maximum[1]:.2f} us, from "
            f"{fewest} to {most} ranks",
            answer,
        )
    ]


def knomial_finding(cells: pd.DataFrame) -> list[Finding]:
    """Fig. 11: whether knomial varies most over processes behind the barrier, and less from the common start."""
    claim = "knomial varies most over processes behind the barrier, and less from the common start"
    paper = "significant variations behind MPI_Barrier, most notably of knomial; stable with MPIX_Harmonize"
    uneven = unevenness(cells).pivot_table(index="launch", columns=["synchronizer", "line"], values="unevenness")
    if not {(BARRIER, KNOMIAL), (HARMONIZE, KNOMIAL)} <= set(uneven.columns):
        return [Finding(claim, paper, too_few(cells), None)]
    behind, common = uneven[BARRIER, KNOMIAL], uneven[HARMONIZE, KNOMIAL]
    most = pd.DataFrame(uneven[BARRIER]).idxmax(axis="columns").eq(KNOMIAL)
    return [
        Finding(
            claim,
            paper,
            f"mean second difference of log latency {behind.median():.2f} behind the barrier, {common.median():.2f} "
            f"from the common start; the largest of all lines behind the barrier in {most.sum()} of {len(most)} "
            "launches",
            every((unanimous(most), unanimous(common < behind))),
        )
    ]
