"""How much of late starts is hidden."""

from __future__ import annotations

from downbeat.experiment.experiment import Experiment
from downbeat.report.numbers_text import listed, span
from downbeat.summaries.cells import measured_cells
from downbeat.summaries.describe import CONFIGURATION, synchronization
from downbeat.summaries.late_arrival import late_launches
from downbeat.text import counted
from downbeat.units import MICROSECONDS


def delay_sentences(experiment: Experiment) -> list[str]:
    """Says how much of planned delays is hidden."""
    late = late_launches(measured_cells(experiment))
    late = late.assign(line=synchronization(late))
    texts = []
    for operation, group in late.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line", "pattern", "place"])["share"].mean().dropna()
        if len(shares):
            delays = group["delay"] * MICROSECONDS
            low, high = (f"{round(value, 2) + 0.0:.2f}" for value in (shares.min(), shares.max()))
            texts.append(
                f"{operation} {low if low == high else f'{low} to {high}'} (delays of "
                f"{span(delays.min(), delays.max())} us, {counted(len(shares), 'cell')})"
            )
    if not texts:
        return []
    return [
        f"Hidden share of a late start, mean over launches: {listed(texts)}. At 1 the shorter of operation and delay "
        "is hidden completely; at 0 the whole delay is added."
    ]
