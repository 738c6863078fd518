"""Frames that reports and pictures are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from downbeat.data.cell_summaries import hidden_by_step
from downbeat.data.cells import CHANGED, NO_PATTERN, USUAL, WRONG, countable, start_names
from downbeat.run.experiment import Experiment
from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import Interval, typical_interval
from downbeat.text import bytes_text

# With a picture or two for each of more, a page takes minutes to draw and megabytes to keep.
MOST_OPERATIONS = 12


def measured_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns the rows that have valid samples and right results, of one state of the machine each."""
    cells = experiment.cells
    return cells[(cells["valid_count"] > 0) & ~cells["status"].isin((WRONG, CHANGED))]


def plain_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns those of them that are of the operation alone, without planned delays or computation."""
    cells = measured_cells(experiment)
    return cells[(cells["pattern"] == NO_PATTERN) & (cells["computation"] == 0)]


def judged_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns those of the plain ones that a verdict may rest on (`countable`); pictures show the others as well."""
    cells = plain_cells(experiment)
    return cells[countable(cells)]


def by_operation(cells: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Returns the operations that get a picture of their own, with their rows: the first `MOST_OPERATIONS`."""
    for operation in cells["operation"].unique()[:MOST_OPERATIONS]:
        yield str(operation), cells[cells["operation"] == operation]


# How an operation was started; `synchronization` names all three.
SYNCHRONIZATION = ("synchronizer", "barrier_algorithm", "timing")
# The other factors of one operation's cells, without size and delay.
CONFIGURATION = ("library", "ranks", "environment", "variant", "datatype", "algorithm", "state")
# Factors of the cases in which algorithms are compared.
PANELS = ("library", "ranks", "environment", "variant", "datatype", "size", "state")


def synchronization(frame: pd.DataFrame) -> pd.Series[str]:
    """Returns for each row how its start was made, as downbeat-bench writes it: `mpi_barrier[tree], window`."""
    names = start_names(*(frame[name] for name in SYNCHRONIZATION))
    return pd.Series(names, index=frame.index, dtype=object)


def describe(frame: pd.DataFrame, factors: Sequence[str]) -> pd.Series[str]:
    """Returns for each row the values of the factors that vary in the frame: `mpich, 4 ranks, 64K bytes`."""
    varying = [name for name in factors if frame[name].nunique() > 1]
    texts = [[value_text(name, value) for value in frame[name]] for name in varying]
    return pd.Series(
        [", ".join(row) for row in zip(*texts, strict=True)] if varying else "", index=frame.index, dtype=object
    )


def describe_each(frame: pd.DataFrame, first: str, factors: Sequence[str]) -> pd.Series[str]:
    """Returns for each row the value of one factor, and of those others that vary among the rows which share it."""
    texts = pd.Series("", index=frame.index, dtype=object)
    for value, group in frame.groupby(first, sort=False):
        rest = describe(group, factors)
        texts[group.index] = f"{value}" + rest.where(rest == "", ", " + rest)
    return texts


def value_text(factor: str, value: object) -> str:
    """Returns a factor's value in words that need no heading."""
    if factor == "size":
        return f"{bytes_text(float(str(value)))} bytes" if value else "no message"
    if factor == "ranks":
        return f"{value} rank" if value == 1 else f"{value} ranks"
    if factor in ("algorithm", "environment", "variant") and value == USUAL:
        return f"{factor} {USUAL}"
    if factor == "state":
        return f"state {value}" if value else "one state"
    if factor == "largest_delay":
        return f"{float(str(value)) * 1e6:g} us late"
    return str(value)


REFERENCE = "harmonize"
MEDIAN_LATENCY = "latency_avg_median"


DEFINITIONS = {"overlap_osu": "OSU", "overlap_imb": "IMB", "overlap_window": "from the common start"}


def all_overlaps(experiment: Experiment) -> pd.DataFrame:
    """Returns the cells that compute, with `DEFINITIONS` as shares; empty where nothing was measured so."""
    cells = experiment.cells
    if not set(DEFINITIONS) <= set(cells):
        return pd.DataFrame()
    return cells[(cells["computation"] > 0) & cells["overlap_window"].notna()].reset_index(drop=True)


# One operation at one size after one start, with and without a delay.
CELL = [*CONFIGURATION, "operation", "size", "synchronizer", "barrier_algorithm", "timing"]
TIME = "global_time_median"
DELAY = "imbalance_worst_median"


def late_launches(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells with a delay, each beside the one without of the same launch.

    Args:
        cells: rows of `Experiment.cells`.

    Returns:
        `CELL`, `launch`, `pattern`, `place` (of the delay among those of the pattern: multiples of the operation's time
        are other delays in each launch), in s `delay` (achieved), `time` and `time_without` it; `benefit`, `share`.
    """
    keys = [*CELL, "launch"]
    without = cells[cells["pattern"] == NO_PATTERN].drop_duplicates(keys)[[*keys, TIME]]
    late = cells[cells["pattern"] != NO_PATTERN].merge(without.rename(columns={TIME: "time_without"}), on=keys)
    late = late.rename(columns={TIME: "time", DELAY: "delay"})
    late["place"] = late.groupby([*keys, "pattern"])["largest_delay"].rank(method="dense").astype(int)
    hidden = late["time_without"] + late["delay"] - late["time"]
    shorter = late[["time_without", "delay"]].min(axis=1)
    late = late.assign(benefit=hidden / late["time"], share=hidden / shorter.where(shorter > 0))
    return late[[*keys, "pattern", "place", "delay", "time", "time_without", "benefit", "share"]]


def positive_interval(values: Sequence[float] | pd.Series[float], hidden: float = 0.0) -> Interval:
    """Returns the typical launch with its 95 % interval; NaN where a value is missing or not positive.

    `hidden` is how much all values may be off together, as by the step of a clock.
    """
    numbers = np.asarray(values, dtype=float)
    if not len(numbers) or not (numbers > 0).all():
        return Interval(np.nan, np.nan, np.nan, len(numbers))
    return typical_interval(numbers, hidden=hidden)


def mean_interval(values: Sequence[float] | pd.Series[float]) -> Interval:
    """Returns the mean over launches with its 95 % interval by Student's t, for what can be zero or negative.

    A single launch has no interval: its ends are NaN, as all is where a value is missing.
    """
    numbers = np.asarray(values, dtype=float)
    mean = float(numbers.mean()) if len(numbers) else np.nan
    if len(numbers) < 2:
        return Interval(mean, np.nan, np.nan, len(numbers))
    half = float(t_quantile(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return Interval(mean, mean - half, mean + half, len(numbers))


def summarize_groups(frame: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Returns a row per group with `estimate`, `low`, `high` (the typical launch) and `launches`.

    Intervals are wider by what the step of the clock hides of a metric, else by the column `<column>_hidden`.
    """
    metric, _, statistic = column.rpartition("_")
    hidden = frame.get(f"{column}_hidden", hidden_by_step(frame, metric, statistic))
    rows = []
    for key, values in frame.groupby(list(by), sort=False, dropna=False)[column]:
        interval = positive_interval(values, float(hidden[values.index].mean()))
        rows.append((*key, interval.estimate, interval.low, interval.high, interval.count))
    return pd.DataFrame(rows, columns=[*by, "estimate", "low", "high", "launches"])


def typical_values(frame: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Returns the typical launch of each column, a row per group in the order of `summarize_groups`.

    NaN where a value of a group is missing or not positive.
    """
    groups = frame.groupby(list(by), sort=False, dropna=False)
    return groups[list(columns)].agg(typical_value)


def typical_value(values: pd.Series[float]) -> float:
    """Returns the typical launch; NaN where a value is missing or not positive."""
    return positive_interval(values).estimate
