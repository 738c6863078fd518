"""Figures 8, 11 and 14: latency over numbers of processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from downbeat.pictures.picture import Picture
from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.evidence import Undecidable, every, factor_between, held_out, mean_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY, MEDIAN
from downbeat_papers.schuchart2023.lines import POINT, line_runs, simulated_algorithms, two_panels, with_lines
from downbeat_papers.site import Site
from downbeat.units import MICROSECONDS

OSU_MAXIMUM = "max_of_means"  # of a cell: what OSU's benchmarks report as the maximum
COLUMNS = {"average": (LATENCY, MEDIAN), "maximum": (OSU_MAXIMUM, "latency_max_median")}  # and their medians
MEANING = {
    "average": "mean over ranks",
    "maximum": "largest over ranks, of means over calls; the median is of each call's largest",
}


def process_runs(collective: str) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        return tuple(run for ranks in site.counts for run in line_runs(site, collective, ranks, "4", 500))

    return runs


def draw_processes(
    name: str, collective: str, findings_of: Callable[[pd.DataFrame], list[Finding]]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of a figure on numbers of processes; that of reduce also has the largest latency."""

    def draw(results: Results) -> Drawn:
        cells = with_lines(results.cells, collective)
        pictures: list[Picture] = []
        for letter, kind in (("a", "average"), ("b", "maximum")) if collective == "reduce" else (("", "average"),):
            axes = Panel((), "number of processes", f"{kind} latency [us]", log_x=True, log_y=True)
            pictures.append(
                draw_panels(
                    f"{name}{letter}",
                    f"MPI_{collective.capitalize()}, process scaling, 4 bytes: {kind} latency",
                    POINT
                    + f"Latency: {MEANING[kind]}. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize."
                    + shared_cores(results.site),
                    two_panels(collective, (cells, cells), COLUMNS[kind], "ranks", MICROSECONDS, axes),
                )
            )
        # All claims are about ranks with a core each.
        judged = cells[[not results.site.crowded(int(ranks)) for ranks in cells["ranks"]]]
        findings = (*stability(judged), *findings_of(judged))
        return Drawn(tuple(pictures), findings)

    return draw


def shared_cores(site: Site) -> str:
    """Says for the caption from where on ranks share cores, or whose algorithms are simulated."""
    if site.simulated:
        return simulated_algorithms(site)
    return f" Above {site.full} ranks they share cores." if site.crowded(site.most) else ""


def unevenness(cells: pd.DataFrame, synchronizer: str) -> dict[str, np.ndarray]:
    """Returns how uneven each line over processes is, one number for every other launch.

    That is the mean second difference of its logarithms over the (logarithmic) number of processes, counted from 0 in
    the direction in which the other half of the launches lies: of its absolute value noise alone makes something. Lines
    with fewer than four numbers of ranks are left out.
    """
    part = cells[cells["synchronizer"] == synchronizer]
    wide = part.pivot(index="launch", columns=["line", "ranks"], values=LATENCY).sort_index(axis="columns")
    lines = {}
    for name in wide.columns.unique("line"):
        logs = np.log(wide[name].to_numpy(dtype=float))
        if logs.shape[1] > 3:
            lines[str(name)] = np.nanmean(held_out(np.diff(logs, 2, axis=1)), axis=1)
    return lines


def too_few(cells: pd.DataFrame) -> Undecidable:
    """Says that there are too few numbers of ranks to see oscillations."""
    return Undecidable(f"numbers of ranks with a core each: {cells['ranks'].nunique()}, and oscillations take four")


def stability(cells: pd.DataFrame) -> list[Finding]:
    """Whether lines over processes are smoother from the common start, in the mean over lines."""
    claim = "lines over processes are smoother from the common start"
    paper = "pronounced oscillations after the barrier, stable with MPIX_Harmonize"
    after, common = (list(unevenness(cells, sync).values()) for sync in (BARRIER, HARMONIZE))
    if not after or not common:
        return [Finding(claim, paper, "not to be seen", too_few(cells))]
    fewest = min(map(len, (*after, *common)))
    barrier, harmonize = (np.mean([line[:fewest] for line in lines], axis=0) for lines in (after, common))
    described = f"{uneven(barrier)} after the barrier, {uneven(harmonize)} from the common start"
    here = f"mean second difference of log latency {described}"
    return [Finding(claim, paper, here, mean_of(barrier - harmonize).above(0.0))]


def uneven(values: np.ndarray) -> str:
    """Returns how uneven lines are, over launches."""
    return f"{np.nanmean(values):.2f}" if np.isfinite(values).any() else "unknown"


LINEAR, KNOMIAL = "Open MPI linear", "Open MPI knomial"


def metric_finding(cells: pd.DataFrame) -> list[Finding]:
    """The paper's note on the choice of metric: linear's average falls while its maximum rises."""
    part = cells[(cells["line"] == LINEAR) & (cells["synchronizer"] == HARMONIZE)]
    claim = "linear: the average falls with the number of processes, the maximum does not"
    paper = "most processes leave at once and bring the mean down; the maximum is what an application waits for"
    if part["ranks"].nunique() < 2:
        return [Finding(claim, paper, "not to be seen", Undecidable("it takes two numbers of ranks with a core each"))]
    fewest, most = part["ranks"].min(), part["ranks"].max()
    first, last = (part[part["ranks"] == count] for count in (fewest, most))
    average, maximum = (
        (first[column].median() * MICROSECONDS, last[column].median() * MICROSECONDS)
        for column in (LATENCY, OSU_MAXIMUM)
    )
    evidence = every(
        (
            factor_between(last[LATENCY], first[LATENCY]).below(1.0),
            factor_between(last[OSU_MAXIMUM], first[OSU_MAXIMUM]).above(1.0),
        )
    )
    here = (
        f"average {average[0]:.2f} to {average[1]:.2f} us, maximum {maximum[0]:.2f} to {maximum[1]:.2f} us, from "
        f"{fewest} to {most} ranks"
    )
    return [Finding(claim, paper, here, evidence)]


def knomial_finding(cells: pd.DataFrame) -> list[Finding]:
    """Fig. 11: whether knomial varies most over processes after the barrier, and less from the common start."""
    claim = "knomial varies most over processes after the barrier, and less from the common start"
    paper = "significant variations after MPI_Barrier, most notably of knomial; stable with MPIX_Harmonize"
    after, common = (unevenness(cells, sync) for sync in (BARRIER, HARMONIZE))
    if KNOMIAL not in after or KNOMIAL not in common or len(after) < 2:
        return [Finding(claim, paper, "not to be seen", too_few(cells))]
    fewest = min(map(len, (*after.values(), common[KNOMIAL])))
    knomial = after[KNOMIAL][:fewest]
    others = [common[KNOMIAL], *(values for name, values in after.items() if name != KNOMIAL)]
    described = ", ".join(f"{name} {uneven(values)}" for name, values in after.items())
    return [
        Finding(
            claim,
            paper,
            f"mean second difference of log latency after the barrier: {described}; knomial from the common start "
            f"{uneven(common[KNOMIAL])}",
            every(mean_of(knomial - values[:fewest]).above(0.0) for values in others),
        )
    ]
