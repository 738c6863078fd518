"""How far apart ranks leave synchronizers."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.report.numbers_text import digits, listed, span
from downbeat.summaries.cells import plain_cells
from downbeat.summaries.describe import synchronization
from downbeat.units import MICROSECONDS


def skew_sentence(experiment: Experiment) -> list[str]:
    """Says how far apart ranks leave the synchronizers, of the most ranks that there are."""
    cells = plain_cells(experiment)
    if cells.empty or cells["ranks"].max() < 2:
        return []
    several = cells["ranks"].nunique() > 1
    cells = cells[cells["ranks"] == cells["ranks"].max()]
    cells = cells.assign(line=synchronization(cells))
    # Medians of different libraries have no common one.
    medians = cells.groupby(["line", *LAUNCH_FACTORS], sort=False)["exit_skew_median"].median().groupby("line")
    ranges = pd.DataFrame({"low": medians.min(), "high": medians.max()})
    of_ranks = f" of {cells['ranks'].iloc[0]} ranks" if several else ""
    return [f"Median exit skew{of_ranks}: {skew_text(ranges, float(cells['error_bound'].max()))}"]


def skew_text(ranges: pd.DataFrame, bound: float) -> str:
    """Says how far apart ranks leave synchronizers, after "Median exit skew: ".

    Args:
        ranges: median exit skews in s, `low` to `high`, by the name of the synchronizer.
        bound: of the error of the clock, s.
    """
    # Either end of a skew may be wrong by the bound.
    limit = 2 * bound
    close = ranges[ranges["high"] < limit]
    far = ranges[ranges["high"] >= limit].sort_values("high", kind="stable")
    texts = []
    if len(close):
        texts.append(f"below {digits(limit * MICROSECONDS)} us (the clock's limit) after {listed(close.index)}")
    texts += [
        f"{span(low * MICROSECONDS, high * MICROSECONDS)} us after {name}"
        for name, low, high in far[["low", "high"]].itertuples(name=None)
    ]
    return f"{listed(texts)}."
