"""Summaries over launches: each has one number of a cell, and these have an interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special

from downbeat.data.cells import hidden_by_step
from downbeat.statistics.location import Interval, geometric_mean_interval


def positive_interval(values: Sequence[float] | pd.Series[float], hidden: float = 0.0) -> Interval:
    """Returns the geometric mean over launches with its 95 % interval; NaN where a value is missing or not positive.

    `hidden` is how much all values may be off together, as by the step of a clock.
    """
    numbers = np.asarray(values, dtype=float)
    if not len(numbers) or not (numbers > 0).all():
        return Interval(np.nan, np.nan, np.nan, len(numbers))
    return geometric_mean_interval(numbers, hidden=hidden)


def mean_interval(values: Sequence[float] | pd.Series[float]) -> Interval:
    """Returns the mean over launches with its 95 % interval by Student's t, for what can be zero or negative.

    A single launch has no interval: its ends are NaN, as all is where a value is missing.
    """
    numbers = np.asarray(values, dtype=float)
    mean = float(numbers.mean()) if len(numbers) else np.nan
    if len(numbers) < 2:
        return Interval(mean, np.nan, np.nan, len(numbers))
    half = float(special.stdtrit(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return Interval(mean, mean - half, mean + half, len(numbers))


def summarize(frame: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Returns a row per group with `estimate`, `low`, `high` (geometric mean over launches) and `launches`.

    Intervals are wider by what the step of the clock hides of a metric, else by the column `<column>_hidden`.
    """
    metric, _, statistic = column.rpartition("_")
    hidden = frame.get(f"{column}_hidden", hidden_by_step(frame, metric, statistic))
    rows = []
    for key, values in frame.groupby(list(by), sort=False, dropna=False)[column]:
        interval = positive_interval(values, float(hidden[values.index].mean()))
        rows.append((*key, interval.estimate, interval.low, interval.high, interval.count))
    return pd.DataFrame(rows, columns=[*by, "estimate", "low", "high", "launches"])


def geometric_means(frame: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Returns the geometric mean over launches of each column, a row per group in the order of `summarize`.

    NaN where a value of a group is missing or not positive.
    """
    keys = [frame[name] for name in by]
    positive = frame[list(columns)].where(frame[list(columns)] > 0)
    groups = positive.transform(np.log).groupby(keys, sort=False, dropna=False)
    return groups.mean().transform(np.exp).where(groups.count().eq(groups.size(), axis=0))
