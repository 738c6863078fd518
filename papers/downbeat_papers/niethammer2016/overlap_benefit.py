"""Figures 6, 8, 10, 12, 14 and 16: how much of a delay is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.niethammer2016.benefit import CELL, benefit_table
from downbeat_papers.niethammer2016.late_arrival import (
    HOW_HERE,
    JUDGED,
    LISTINGS,
    global_series,
    name_of,
    of_late_rank,
)
from downbeat_papers.niethammer2016.overlap_claims import CLAIMS
from downbeat_papers.results import NoSamplesError, Results, median_and_range


@dataclass(frozen=True)
class Benefits:
    """The drawer of overlap benefits over processes.

    Attributes:
        name: of the picture.
        operation: the blocking one.
        sizes: of messages; none: it has none.
        delays: of the paper, in us.
        shorter: those that were also measured, in us.
        claims: names out of `CLAIMS`, each with what the paper reports.
    """

    name: str
    operation: str
    sizes: Sequence[int]
    delays: Sequence[float]
    shorter: Sequence[float]
    claims: Sequence[tuple[str, str]]

    def findings(self, results: Results) -> tuple[Finding, ...]:
        """Holds the claims against benefits on ranks with a core each."""
        table = benefit_table(of_late_rank(results.cells, last=False))
        on_cores = table["ranks"].map(lambda ranks: not results.site.crowded(int(ranks))).astype(bool)
        judged = table[on_cores & (table["synchronizer"] == JUDGED)]
        return tuple(CLAIMS[claim](judged, paper) for claim, paper in self.claims)

    def panel(self, table: pd.DataFrame, synchronizer: str, metric: str, drawn: Sequence[float], title: str) -> Panel:
        part = median_and_range(table[table["synchronizer"] == synchronizer], CELL, metric, 1.0).sort_values("ranks")
        return Panel(
            lines(part, self.operation, self.sizes, drawn),
            "number of processes",
            "delay overlap benefit [%]",
            title,
            log_x=True,
            line_at=0.0,
        )

    def __call__(self, results: Results) -> Drawn:
        table = benefit_table(of_late_rank(results.cells, last=False))
        last = benefit_table(of_late_rank(results.cells, last=True))
        operation, delays, shorter, panel = self.operation, self.delays, self.shorter, self.panel
        if not {operation, f"i{operation}"} <= set(table["operation"]):
            raise NoSamplesError(f"not both of {operation} and i{operation} have valid samples with a delay")
        far, near = (f"{', '.join(f'{delay:g}' for delay in some)} us late" for some in (delays, shorter))
        picture = draw_panels(
            self.name,
            f"Delay overlap benefit of MPI_{name_of(operation)}",
            "Eq. 5, unless a title says otherwise: (t0 + delay - t) / t, with t0 and t the smallest global times "
            "without and with the delay that was asked for. By stamps: (t0 - u) / t, with u the smallest time from the "
            "last entry to the last exit, so that the delay of each sample is the one that it had. Median over "
            "launches, bars: smallest to largest launch. 0: the delay just adds. Rank 0 is late as in the paper, the "
            "last rank as its outlook asks for. Solid: blocking; dashed: nonblocking. "
            f"{HOW_HERE}",
            [
                panel(table, JUDGED, "equation_5", delays, f"Eq. 5, {JUDGED}, {far}"),
                panel(table, JUDGED, "equation_5", shorter, f"Eq. 5, {JUDGED}, {near}"),
                panel(table, JUDGED, "by_stamps", delays, f"by stamps, {JUDGED}, {far}"),
                panel(table, JUDGED, "by_stamps", shorter, f"by stamps, {JUDGED}, {near}"),
                *(
                    panel(table, synchronizer, "equation_5", delays, f"{words}, {far}")
                    for synchronizer, words in LISTINGS.items()
                ),
                panel(last, JUDGED, "equation_5", delays, f"Eq. 5, the last rank {far}"),
                panel(last, JUDGED, "by_stamps", delays, f"by stamps, the last rank {far}"),
            ],
        )
        return Drawn((picture,), self.findings(results))


def lines(table: pd.DataFrame, operation: str, sizes: Sequence[int], delays: Sequence[float]) -> list[Series]:
    """Returns the lines of a panel: of each size, or of each delay where there are no sizes."""
    wanted = [(size, delay, f"{size} B") for size in sizes for delay in delays] or [
        (0, delay, f"{delay:g} us") for delay in delays
    ]
    found = [
        global_series(table, kind, size, delay, f"{name_of(kind)} {text}", position, style, marker)
        for position, (size, delay, text) in enumerate(wanted)
        for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1))
    ]
    return [one for one in found if one]
