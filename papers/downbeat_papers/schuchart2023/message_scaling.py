"""Figures 6, 7, 9, 10, 12 and 13: latency over message sizes, absolute and as ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.evidence import Evidence, every, factor_of, some
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY, MEDIAN
from downbeat_papers.schuchart2023.delta import NOT_MEASURED, ONE_MESSAGE, Claim, claim_findings, deltas
from downbeat_papers.schuchart2023.lines import LINES, POINT, line_runs, simulated_algorithms, two_panels, with_lines
from downbeat_papers.site import Site
from downbeat_papers.wording import between
from downbeat.units import MICROSECONDS

AXES = Panel((), "message size [bytes]", "", log_x=True, log_y=True, bytes_x=True)
SIMULATED_SIZES = "4,64,1K,16K,256K"  # each takes minutes
SIZES = "4,16,64,256,1K,4K,16K,64K,256K,1M"


def message_runs(collective: str, all_nodes: bool) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        ranks = site.most if all_nodes else site.node
        sizes = "4,1K" if site.quick else SIMULATED_SIZES if site.simulated else SIZES
        return tuple(line_runs(site, collective, ranks, sizes, 500))

    return runs


def draw_messages(
    name: str,
    collective: str,
    reported_range: str,
    claims: Sequence[Claim],
    more: Sequence[Callable[[pd.DataFrame, int], Finding]] = (),
) -> Callable[[Results], Drawn]:
    """Returns the drawer of a figure on message sizes: absolute values and ratio.

    Args:
        name: of the figure.
        collective: the operation.
        reported_range: of delta, in the paper.
        claims: on single lines.
        more: other claims, held against cells with their `line`, on so many ranks.
    """

    def draw(results: Results) -> Drawn:
        cells = with_lines(results.cells, collective)
        frame = deltas(cells)
        ranks = results.runs[0].ranks
        absolute = draw_panels(
            f"{name}a",
            f"MPI_{collective.capitalize()}, message scaling, {ranks} ranks: absolute values",
            POINT
            + "Latency, mean over ranks. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize."
            + simulated_algorithms(results.site),
            two_panels(
                collective, (cells, cells), (LATENCY, MEDIAN), "size", MICROSECONDS, replace(AXES, y="latency [us]")
            ),
        )
        relative = draw_panels(
            f"{name}b",
            f"MPI_{collective.capitalize()}, message scaling, {ranks} ranks: ratio",
            POINT
            + "Latency after MPI_Barrier / latency from the common start, of the same launch. Above 1 the barrier "
            "makes the operation look slower.",
            two_panels(
                collective,
                (frame, deltas(cells, MEDIAN)),
                ("delta", "delta"),
                "size",
                1.0,
                replace(AXES, y="delta = barrier / harmonize", line_at=1.0),
            ),
        )
        findings = (
            Finding(
                "range of delta over algorithms and sizes",
                reported_range,
                between(frame.groupby(["line", "size"])["delta"].mean()),
                None,
            ),
            *claim_findings(frame, claims, ranks),
            *(one(cells, ranks) for one in more),
        )
        judged = (replace(one, evidence=results.decided_on(ranks, one.evidence)) for one in findings)
        return Drawn((absolute, relative), tuple(judged))

    return draw


def order_finding(cells: pd.DataFrame, ranks: int) -> Finding:
    """Holds against the data that the order of Open MPI's algorithms is the same under both synchronizers (Fig. 10)."""
    claim, paper = "the order of Open MPI's algorithms does not depend on the synchronizer", "the same at all sizes"
    one, other = (line.label for line in LINES["bcast"] if line.family == "openmpi" and line.algorithm != "default")
    wide = cells.pivot_table(index=["size", "launch"], columns=["synchronizer", "line"], values=LATENCY)
    if not {(sync, line) for sync in (BARRIER, HARMONIZE) for line in (one, other)} <= set(wide.columns):
        return Finding(claim, paper, "not measured here", NOT_MEASURED)
    sizes: list[Evidence] = []
    same = 0
    for _, part in wide.groupby("size"):
        after, common = (factor_of(part[sync, one] / part[sync, other]) for sync in (BARRIER, HARMONIZE))
        orders = (every((after.above(1.0), common.above(1.0))), every((after.below(1.0), common.below(1.0))))
        sizes.append(some(orders))
        same += (after.mean > 0) == (common.mean > 0)
    here = f"in the mean over launches the same at {same} of {len(sizes)} sizes ({one} and {other})"
    return Finding(claim, paper, here, ONE_MESSAGE if ranks == 2 else every(sizes))
