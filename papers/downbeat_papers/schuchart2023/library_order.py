"""Figures 13 and 14: whether the synchronizer decides which library looks faster."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat_papers.evidence import Evidence, Undecidable, every, factor_between, some
from downbeat_papers.figure import Finding
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat_papers.schuchart2023.lines import DEFAULT, MVAPICH


def library_finding(cells: pd.DataFrame, position: str) -> Finding:
    """Returns what became of the claim, on cells with their `line`, at positions that are "ranks" or "size"."""
    where = {"ranks": "number of processes", "size": "size"}[position]
    claim = f"at some {where} MPICH looks faster after the barrier, Open MPI from the common start"
    paper = {
        "ranks": "at either end of the range the comparison tips in favor of Open MPI with MPIX_Harmonize",
        "size": "MVAPICH2 looks faster with MPI_Barrier, Open MPI's default with MPIX_Harmonize",
    }[position]
    described: list[str] = []
    places: list[Evidence] = []
    for place, part in cells[cells["line"].isin([MVAPICH.label, DEFAULT.label])].groupby(position):
        values = {key: one[LATENCY].to_numpy() for key, one in part.groupby(["line", "synchronizer"])}
        keys = [(line, sync) for sync in (BARRIER, HARMONIZE) for line in (DEFAULT.label, MVAPICH.label)]
        if not set(keys) <= set(values):
            continue
        after, common = (factor_between(*(values[key] for key in pair)) for pair in (keys[:2], keys[2:]))
        unit = "ranks" if position == "ranks" else "bytes"
        described.append(f"{np.exp(after.mean):.2f} and {np.exp(common.mean):.2f} ({place} {unit})")
        places.append(every((after.above(1.0), common.below(1.0))))
    if not places:
        lacks = "two MPI libraries are needed, and ranks with a core each"
        return Finding(claim, paper, "not measured here", Undecidable(lacks))
    here = f"Open MPI / MPICH after the barrier and from the common start {'; '.join(described)}"
    return Finding(claim, paper, here, some(places))
