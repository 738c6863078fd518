"""Figure 5: two libraries compared behind an external barrier and behind their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from downbeat.reproduce.agreement import above, below, some
from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.drawing.panels import size_text
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.libraries import two_libraries
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import between

LIBRARY_SIZES = "64,256,1K,2K,8K,32K"
SMALL = 2048  # bytes; up to there the paper sees no clear winner
CHANGE = 1.1  # factor by which a comparison is called changed
OWN, THEIRS = "bruck", "mpi_barrier"  # bruck is the dissemination barrier


def library_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(
            site,
            library,
            library,
            site.node,
            ["bcast"],
            usual=1000,
            sync=f"{OWN},{THEIRS}",
            options={"sizes": LIBRARY_SIZES},
            factors=1 + LIBRARY_SIZES.count(","),
        )
        for library, _ in two_libraries(site)
    )


def draw_libraries(results: Results) -> Drawn:
    labels = dict(two_libraries(results.site))
    cells = results.cells
    base = list(labels)[-1]
    panels = []
    gaps: dict[str, list[float]] = {}
    for synchronizer, title in ((OWN, "external dissemination barrier"), (THEIRS, "MPI_Barrier")):
        part = cells[cells["synchronizer"] == synchronizer]
        medians = over_launches(part, ("library", "size"), "latency_max_median", 1.0).set_index(["library", "size"])
        boxes = []
        for size in sorted(part["size"].unique()):
            for library, label in labels.items():
                rows = part[(part["library"] == library) & (part["size"] == size)]
                if len(rows) and (base, size) in medians.index:
                    values = rows["latency_max_median"].to_numpy() / medians.loc[(base, size), "median"]
                    boxes.append(Box(size_text(size), label, values))
                    if library != base and size <= SMALL:
                        gaps.setdefault(synchronizer, []).append(float(np.median(values)))
        panels.append(BoxPanel(boxes, "message size [bytes]", "normalized run-time", title))
    picture = draw_boxes(
        "hunold2015-fig5",
        "Run-time of MPI_Bcast under two libraries, normalized",
        f"Medians of the launches (largest latency over ranks), divided by the median over launches of {labels[base]} "
        "at the "
        "same size and behind the same barrier.",
        panels,
    )
    return Drawn((picture,), (comparison_finding(cells, gaps),))


def comparison_finding(cells: pd.DataFrame, gaps: Mapping[str, Sequence[float]]) -> Finding:
    """Holds against the data that the libraries compare differently behind their own barriers.

    Args:
        cells: as in `Results`.
        gaps: Intel MPI / MPICH at each size, by synchronizer.
    """
    claim = "the choice of the barrier changes how the libraries compare (64 to 2048 bytes)"
    paper = "no clear winner behind the benchmark's own barrier, a significant difference behind MPI_Barrier"
    small = cells[cells["size"] <= SMALL].assign(log=lambda frame: np.log(frame["latency_max_median"]))
    means = small.pivot_table(index="launch", columns=["synchronizer", "library"], values="log").dropna()
    if len(gaps) < 2 or means.shape[1] < 4 or means.empty:
        return Finding(claim, paper, "two MPI libraries are needed", None)
    one, other = dict.fromkeys(means.columns.get_level_values("library"))
    shift = (means[THEIRS, one] - means[THEIRS, other]) - (means[OWN, one] - means[OWN, other])
    low, high = float(shift.min()), float(shift.max())
    return Finding(
        claim,
        paper,
        f"Intel MPI / MPICH {between(gaps[OWN])} behind bruck, {between(gaps[THEIRS])} behind MPI_Barrier; changed by "
        f"a factor of {between(np.exp(shift))} in the mean over sizes",
        some((above(low, high, np.log(CHANGE)), below(low, high, -np.log(CHANGE)))),
    )
