"""Figures 13 and 14: whether the synchronizer decides which library looks faster."""

from __future__ import annotations

import pandas as pd

from downbeat.reproduce.agreement import above, below, every, ratios, some
from downbeat.reproduce.figure import Finding
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.schuchart2023.lines import DEFAULT, MVAPICH
from downbeat.reproduce.wording import between


def library_finding(cells: pd.DataFrame, position: str) -> Finding:
    """Returns what became of the claim, on cells with their `line`, at positions that are "ranks" or "size"."""
    where = {"ranks": "number of processes", "size": "size"}[position]
    claim = f"at some {where} MPICH looks faster behind the barrier, Open MPI from the common start"
    paper = {
        "ranks": "at either end of the range the comparison tips in favour of Open MPI with MPIX_Harmonize",
        "size": "MVAPICH2 looks faster with MPI_Barrier, Open MPI's default with MPIX_Harmonize",
    }[position]
    told, answers = [], []
    for place, part in cells[cells["line"].isin([MVAPICH.label, DEFAULT.label])].groupby(position):
        values = {key: one[LATENCY] for key, one in part.groupby(["line", "synchronizer"])}
        keys = [(line, sync) for sync in (BARRIER, HARMONIZE) for line in (DEFAULT.label, MVAPICH.label)]
        if not set(keys) <= set(values):
            continue
        behind, common = ratios(*(values[key] for key in keys[:2])), ratios(*(values[key] for key in keys[2:]))
        unit = "ranks" if position == "ranks" else "bytes"
        told.append(f"{between(behind)} and {between(common)} ({place} {unit})")
        answers.append(every((above(*behind, 1.0), below(*common, 1.0))))
    if not answers:
        return Finding(claim, paper, "two MPI libraries are needed, and ranks with a core each", None)
    return Finding(
        claim, paper, f"Open MPI / MPICH behind the barrier and from the common start {'; '.join(told)}", some(answers)
    )
