"""How much of nonblocking operations is hidden behind computation."""

from __future__ import annotations

from downbeat.experiment.experiment import Experiment
from downbeat.report.numbers_text import listed
from downbeat.summaries.computation_overlap import all_overlaps
from downbeat.summaries.describe import CONFIGURATION, synchronization
from downbeat.text import counted
from downbeat.units import PERCENT


def overlap_sentences(experiment: Experiment) -> list[str]:
    """Says how much of nonblocking operations is hidden behind computation."""
    frame = all_overlaps(experiment)
    if frame.empty:
        return []
    frame = frame.assign(line=synchronization(frame))
    texts = []
    for operation, group in frame.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line"])["overlap_window"].median()
        low, high = (f"{round(PERCENT * value)}" for value in (shares.min(), shares.max()))
        texts.append(f"{operation} {low if low == high else f'{low} to {high}'} % ({counted(len(shares), 'cell')})")
    return [
        f"Hidden share of the operation or the computation, whichever is shorter, median over launches: "
        f"{listed(texts)}. Below 0 they slow each other down."
    ]
