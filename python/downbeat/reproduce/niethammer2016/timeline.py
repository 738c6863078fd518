"""Figures 2 and 3: timelines of the barrier and of a start by the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import all_below
from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds

FLATTER = 0.5  # ratio of exit skews from which down on a start is called much flatter


def timeline_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(site, f"n{ranks}", site.main(), ranks, ["bcast"], usual=200, options={"sizes": "8"})
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_timeline(name: str, synchronizers: Sequence[str]) -> Callable[[Results], Drawn]:
    def draw(results: Results) -> Drawn:
        lines: list[Timeline] = []
        skews: dict[tuple[str, int], pd.Series] = {}  # us, by launch
        for label in results.have():
            data = results.datasets(label)[0]
            ranks = results.run(label).ranks
            names = [str(one) for one in data["synchronizer"].to_numpy()]
            for synchronizer in synchronizers:
                line = median_sample(data, names.index(synchronizer), "", "exit_skew")
                if line is None:
                    continue
                title = f"{synchronizer}, {ranks} ranks: exits {line.spread:.3g} us apart"
                lines.append(Timeline(title, line.begin, line.entry, line.exit))
                cells = results.cells.query("label == @label and synchronizer == @synchronizer")
                skews[synchronizer, ranks] = cells.set_index("launch")["exit_skew_median"] * MICROSECONDS
        picture = draw_timelines(
            name,
            "Ranks between the synchronizer and the operation",
            "One sample of the first launch for each timeline, that with the median exit skew; the operation is a "
            "broadcast of 8 "
            "bytes. Stamps are on the global clock; the paper's timelines also show the calls of the timer.",
            lines,
        )
        node = results.site.node
        told = ", ".join(
            f"{one} on {ranks} ranks {microseconds(float(value.median()))}" for (one, ranks), value in skews.items()
        )
        if len(synchronizers) == 1:
            finding = Finding(
                "processes leave a barrier one after another, in a pattern that is that of a tree",
                "about 4 us between 32 processes on two nodes",
                f"median exit skew: {told}",
                None,
            )
        else:
            barrier, common = (skews.get((one, node), pd.Series(dtype=float)) for one in ("mpi_barrier", "harmonize"))
            finding = Finding(
                "a start by the clock is much flatter than a barrier's end",
                "visibly, for 24 processes of one node of Hazel Hen, with gettimeofday as clock",
                f"median exit skew: {told}",
                results.told_on(node, all_below((common / barrier).dropna(), FLATTER)),
            )
        return Drawn((picture,), (finding,))

    return draw
