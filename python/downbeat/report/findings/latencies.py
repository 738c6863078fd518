"""How long operations take."""

from __future__ import annotations

from downbeat.experiment.experiment import Experiment
from downbeat.report.findings.barriers import PLAIN
from downbeat.report.numbers_text import listed, span
from downbeat.summaries.barrier_ratio import METRIC, REFERENCE
from downbeat.summaries.cells import plain_cells
from downbeat.summaries.describe import CONFIGURATION, synchronization
from downbeat.summaries.over_launches import summarize
from downbeat.text import counted
from downbeat.units import MICROSECONDS


def latency_sentence(experiment: Experiment) -> list[str]:
    """Says how long operations take: from a common start where that was measured, else after one of the others."""
    cells = plain_cells(experiment)
    lines = synchronization(cells)
    if lines.empty:  # all cells have an arrival pattern
        return []
    line = next((name for name in (REFERENCE, PLAIN) if (lines == name).any()), lines.iloc[0])
    texts = []
    for operation, frame in cells[lines == line].groupby("operation", sort=False):
        latency = summarize(frame, (*CONFIGURATION, "size"), METRIC).dropna(subset=["estimate"])
        if latency.empty:
            continue
        low, high = (float(latency["estimate"].agg(end)) * MICROSECONDS for end in ("min", "max"))
        text = f"{operation} {span(low, high)} us"
        if len(latency) > 1:
            text += f" over {counted(len(latency), 'cell')}"
        elif latency["launches"].iloc[0] > 1:
            ends = span(*(float(latency[end].iloc[0]) * MICROSECONDS for end in ("low", "high")))
            text += f" (95 % interval {ends})"
        texts.append(text)
    start = "from a common start" if line == REFERENCE else f"after {line}"
    return [f"Latencies {start}: {listed(texts)}."] if texts else []
