"""Figure 5: two libraries compared after an external barrier and after their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat_papers.evidence import Undecidable, factor_between
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results, median_and_range
from downbeat_papers.run import Run
from downbeat_papers.site import MPICH, OPEN_MPI, Site
from downbeat_papers.wording import between
from downbeat.units import bytes_text

LIBRARY_SIZES = "64,256,1K,2K,8K,32K"
SMALL = 2048  # bytes; up to there the paper sees no clear winner
CHANGE = 1.1  # factor by which a comparison is called changed; the paper's boxes do not overlap, without a number
OWN, THEIRS = "bruck", "mpi_barrier"  # bruck is the dissemination barrier


def two_libraries(site: Site) -> list[tuple[str, str]]:
    """Returns two libraries with their labels: the paper's Intel MPI and what stands for MVAPICH first, else any two.

    Where only one is there, it is that one.
    """
    families = {
        "intelmpi": "Intel MPI",
        site.first_of(MPICH): "MPICH (for MVAPICH)",
        site.first_of(OPEN_MPI): "Open MPI",
    }
    found = {name: label for name, label in families.items() if name and name in site.benches}
    return list((found | {name: name for name in site.benches if name not in found}).items())[:2]


def library_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(
            site,
            library,
            library,
            site.full,
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
        medians = median_and_range(part, ("library", "size"), "latency_max_median", 1.0).set_index(["library", "size"])
        boxes = []
        for size in sorted(part["size"].unique()):
            for library, label in labels.items():
                rows = part[(part["library"] == library) & (part["size"] == size)]
                if len(rows) and (base, size) in medians.index:
                    values = rows["latency_max_median"].to_numpy() / medians.loc[(base, size), "median"]
                    boxes.append(Box(bytes_text(size), label, values))
                    if library != base and size <= SMALL:
                        gaps.setdefault(synchronizer, []).append(float(np.median(values)))
        panels.append(BoxPanel(boxes, "message size [bytes]", "normalized run-time", title))
    picture = draw_boxes(
        "hunold2015-fig5",
        "Run-time of MPI_Bcast under two libraries, normalized",
        f"Medians of the launches (largest latency over ranks), divided by the median over launches of {labels[base]} "
        "at the same size and after the same barrier.",
        panels,
    )
    return Drawn((picture,), (comparison_finding(cells, gaps, " / ".join(labels.values())),))


def comparison_finding(cells: pd.DataFrame, gaps: Mapping[str, Sequence[float]], which: str) -> Finding:
    """Holds against the data that the libraries compare differently after their own barriers.

    Args:
        cells: as in `Results`.
        gaps: the one library / the other at each size, by synchronizer.
        which: they are.
    """
    claim = "the barrier changes how the libraries compare, by more than a tenth in the mean over sizes to 2048 bytes"
    paper = "no clear winner after the benchmark's own barrier, a significant difference after MPI_Barrier"
    small = cells[cells["size"] <= SMALL].assign(log=lambda frame: np.log(frame["latency_max_median"]))
    means = small.pivot_table(index="launch", columns=["synchronizer", "library"], values="log").dropna()
    if len(gaps) < 2 or means.shape[1] < 4 or means.empty:
        return Finding(claim, paper, "not measured here", Undecidable("two MPI libraries are needed"))
    # Within a launch both barriers are measured; launches of two libraries are no pairs.
    shifts = {
        library: np.exp(means[THEIRS, library] - means[OWN, library])
        for library in dict.fromkeys(means.columns.get_level_values("library"))
    }
    return Finding(
        claim,
        paper,
        f"{which} {between(gaps[OWN])} after bruck, {between(gaps[THEIRS])} after MPI_Barrier",
        factor_between(*shifts.values()).beyond(CHANGE),
    )
