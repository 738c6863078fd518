"""Frames that reports and pictures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from downbeat.data.cells import USUAL, countable, start_names
from downbeat.run.experiment import Experiment
from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import Interval, typical_interval
from downbeat.tables import Texts
from downbeat.text import bytes_text

# With a picture or two for each of more, a page takes minutes to draw and megabytes to keep.
MOST_OPERATIONS = 12


def plain_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns the plain cells of an experiment (`Cells.plain`)."""
    return experiment.cells[experiment.cell_table.plain]


def judged_cells(experiment: Experiment) -> pd.DataFrame:
    """Those of the plain ones that a verdict may rest on (`countable`); pictures show the others as well."""
    cells = plain_cells(experiment)
    return cells[countable(cells)]


# How an operation was started; `synchronization` names all three.
SYNCHRONIZATION = ("synchronizer", "barrier_algorithm", "timing")
# The other factors of one operation's cells, without size and delay.
CONFIGURATION = ("library", "ranks", "environment", "variant", "datatype", "algorithm", "state")
# Factors of the cases in which algorithms are compared.
PANELS = ("library", "ranks", "environment", "variant", "datatype", "size", "state")


def synchronization(frame: pd.DataFrame) -> pd.Series[str]:
    """The start of each row, as downbeat-bench writes it: `mpi_barrier[tree], window`."""
    names = start_names(*(frame[name] for name in SYNCHRONIZATION))
    return pd.Series(names, index=frame.index, dtype=object)


def described(factors: Mapping[str, Iterable[object]]) -> Texts:
    """For each row the values of the factors that vary: `mpich, 4 ranks, 64K bytes`.

    Args:
        factors: their values by name, at least one, a value for each row.
    """
    every = {name: list(values) for name, values in factors.items()}
    texts = [[value_text(name, one) for one in values] for name, values in every.items() if len(set(values)) > 1]
    rows = len(next(iter(every.values())))
    return np.array([", ".join(row) for row in zip(*texts, strict=True)] if texts else [""] * rows, dtype=object)


def describe(frame: pd.DataFrame, factors: Sequence[str]) -> pd.Series[str]:
    """Returns for each row the values of the factors that vary in the frame (`described`)."""
    texts = described({name: frame[name] for name in factors}) if factors else ""
    return pd.Series(texts, index=frame.index, dtype=object)


def describe_each(frame: pd.DataFrame, first: str, factors: Sequence[str]) -> pd.Series[str]:
    """The value of one factor, and of those others that vary among the rows which share it, for each row."""
    texts = pd.Series("", index=frame.index, dtype=object)
    for value, group in frame.groupby(first, sort=False):
        rest = describe(group, factors)
        texts[group.index] = f"{value}" + rest.where(rest == "", ", " + rest)
    return texts


def value_text(factor: str, value: object) -> str:
    """A factor's value in words that need no heading."""
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


def positive_interval(values: ArrayLike, hidden: float = 0.0) -> Interval:
    """Returns the typical launch with its 95 % interval; NaN where a value is missing or not positive.

    `hidden` is how much all values may be off together, as by the step of a clock.
    """
    numbers = np.asarray(values, dtype=float)
    if not len(numbers) or not (numbers > 0).all():
        return Interval(np.nan, np.nan, np.nan, len(numbers))
    return typical_interval(numbers, hidden=hidden)


def mean_interval(values: ArrayLike) -> Interval:
    """Returns the mean over launches with its 95 % interval by Student's t, for what can be zero or negative.

    A single launch has no interval: its ends are NaN, as all is where a value is missing.
    """
    numbers = np.asarray(values, dtype=float)
    mean = float(numbers.mean()) if len(numbers) else np.nan
    if len(numbers) < 2:
        return Interval(mean, np.nan, np.nan, len(numbers))
    half = float(t_quantile(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return Interval(mean, mean - half, mean + half, len(numbers))
