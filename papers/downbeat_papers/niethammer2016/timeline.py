"""Figures 2 and 3: timelines of the barrier and of a start by the clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import draw_panels
from downbeat_papers.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat_papers.evidence import Undecidable, factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.niethammer2016.exit_tree import exit_lags, lag_panels, tree_rather_than_line
from downbeat_papers.niethammer2016.late_arrival import JUDGED, LISTINGS, SYNCHRONIZERS
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import microseconds
from downbeat.sampling import drawn_of
from downbeat.units import MICROSECONDS

BARRIER, BY_CLOCK = LISTINGS
FLATTER = 0.5  # ratio of exit skews from which down on a start is called much flatter
CAPTION = (
    "One sample of the first launch for each timeline, that with the median exit skew; the operation is a broadcast "
    "of 8 bytes. Stamps are on the global clock; the paper's timelines also show the calls of the timer."
)


def timeline_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(
            site,
            f"n{ranks}",
            site.main(),
            ranks,
            ["bcast"],
            usual=200,
            sync=",".join(SYNCHRONIZERS),
            options={"sizes": "8"},
        )
        for ranks in dict.fromkeys((site.node, site.most))
    )


def timelines(results: Results, synchronizers: Sequence[str]) -> list[Timeline]:
    """Returns one sample after each synchronizer on each number of ranks."""
    lines = []
    for label in results.have():
        data = results.datasets(label)[0]
        names = [str(one) for one in data["synchronizer"].to_numpy()]
        for synchronizer in synchronizers:
            line = median_sample(data, names.index(synchronizer), "", "exit_skew")
            if line is not None:
                title = (
                    f"{SYNCHRONIZERS[synchronizer]}, {results.run(label).ranks} ranks: exits {line.spread:.3g} us apart"
                )
                lines.append(Timeline(title, line.begin, line.entry, line.exit))
    return lines


def exit_skews(results: Results, synchronizer: str) -> dict[int, pd.Series]:
    """Returns median exit skews in us of launches, by number of ranks."""
    cells = results.cells[results.cells["synchronizer"] == synchronizer]
    return {
        ranks: cells[cells["ranks"] == ranks].set_index("launch")["exit_skew_median"] * MICROSECONDS
        for ranks in sorted(set(cells["ranks"]))
    }


def described(results: Results, synchronizers: Sequence[str]) -> str:
    """Says how far apart ranks leave synchronizers."""
    return "median exit skew: " + ", ".join(
        f"{SYNCHRONIZERS[name]} on {ranks} ranks {microseconds(float(skews.median()))}"
        for name in synchronizers
        for ranks, skews in exit_skews(results, name).items()
    )


def draw_barrier_exits(results: Results) -> Drawn:
    """Draws figure 2, and beside it what a tree would make of it."""
    lags = {}
    for label in results.have():
        files = results.datasets(label)
        names = [str(one) for one in files[0]["synchronizer"].to_numpy()]
        lags[results.run(label).ranks] = np.stack([exit_lags(data, names.index(BARRIER)) for data in files])
    pictures = (
        draw_timelines(
            "niethammer2016-fig2",
            "Ranks between the barrier and the operation",
            CAPTION,
            timelines(results, [BARRIER]),
            results.site.sample,
        ),
        draw_panels(
            "niethammer2016-fig2-pattern",
            "When each rank leaves the barrier",
            "Time after the rank that left first, median over the samples of a launch; points: median launch, bars: "
            "smallest to largest. Beside them the rounds in which binomial trees would release the ranks, scaled "
            f"to the latest of them.{drawn_of(max(lags), results.site.sample)}",
            lag_panels(lags, results.site.sample),
        ),
    )
    on_cores = [ranks for ranks in lags if not results.site.crowded(ranks)]
    finding = Finding(
        "processes leave a barrier one after another, in a pattern that is that of a tree",
        "about 4 us between 32 processes on two nodes",
        described(results, [BARRIER]),
        tree_rather_than_line(lags[max(on_cores)]) if on_cores else Undecidable("there are no ranks with a core each"),
    )
    return Drawn(pictures, (finding,))


def draw_start_by_clock(results: Results) -> Drawn:
    """Draws figure 3."""
    shown = (BARRIER, BY_CLOCK, JUDGED)
    picture = draw_timelines(
        "niethammer2016-fig3",
        "Ranks between the synchronizer and the operation",
        CAPTION,
        timelines(results, shown),
        results.site.sample,
    )
    node = results.site.node
    skews = [exit_skews(results, name).get(node, pd.Series(dtype=float)) for name in (BY_CLOCK, BARRIER)]
    finding = Finding(
        "a start by the clock (Listing 2) is much flatter than a barrier's end",
        "visibly, for 24 processes of one node of Hazel Hen, with gettimeofday as clock",
        described(results, shown),
        results.decided_on(node, factor_of(skews[0] / skews[1]).below(FLATTER)),
    )
    return Drawn((picture,), (finding,))
