"""Section 6.6: MPI_Scatter and MPI_Gather, which the synchronizer affects less."""

from __future__ import annotations

from dataclasses import replace

from downbeat_papers.figure import Drawn
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.delta import Claim
from downbeat_papers.schuchart2023.lines import DEFAULT, MVAPICH
from downbeat_papers.schuchart2023.message_scaling import draw_messages, message_runs
from downbeat_papers.site import Site

NAME = "schuchart2023-sec66"
COLLECTIVES = ("scatter", "gather")
PAPER = "not found similar levels of differences between the two synchronization methods"


def scatter_gather_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        replace(run, label=f"{run.label}-{collective}")
        for collective in COLLECTIVES
        for run in message_runs(collective, all_nodes=False)(site)
    )


def draw_scatter_gather(results: Results) -> Drawn:
    """Draws both as the other collectives, and puts their claims, in the collective's name, together."""
    claims = [Claim(line.label, 0, PAPER, small=False) for line in (DEFAULT, MVAPICH)]
    parts = {one: draw_messages(f"{NAME}-{one}", one, "not shown", claims)(results) for one in COLLECTIVES}
    return Drawn(
        tuple(picture for drawn in parts.values() for picture in drawn.pictures),
        tuple(
            replace(finding, claim=f"MPI_{one.capitalize()}: {finding.claim}")
            for one, drawn in parts.items()
            for finding in drawn.findings
        ),
    )
