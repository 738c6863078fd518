"""Cells over launches, and their names: what tables, reports and pictures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from downbeat.data.cells import OK, USUAL, Cells, Factors
from downbeat.output.fields import synchronizer_name
from downbeat.run.experiment import FACTORS, Experiment
from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import Interval, typical_interval
from downbeat.tables import Floats, Ints, Table, Texts, column, grouped
from downbeat.text import bytes_text

# With a picture or two for each of more, a page takes minutes to draw and megabytes to keep.
MAX_OPERATIONS = 12


def plain_cells(experiment: Experiment) -> Cells:
    """The plain cells of an experiment (`Cells.plain`)."""
    cells = experiment.cell_table
    return cells[cells.plain]


# The other factors of one operation's cells, without size and delay.
CONFIGURATION = ("library", "ranks", "environment", "variant", "datatype", "algorithm", "state")
# Factors of the cases in which algorithms are compared.
PANELS = ("library", "ranks", "environment", "variant", "datatype", "size", "state")


def described(factors: Mapping[str, Iterable[object]]) -> Texts:
    """For each row the values of the factors that vary: `mpich, 4 ranks, 64K bytes`.

    Args:
        factors: their values by name, a value for each row.
    """
    every = {name: list(values) for name, values in factors.items()}
    texts = [[value_text(name, value) for value in values] for name, values in every.items() if len(set(values)) > 1]
    rows = len(next(iter(every.values()), ()))
    return np.array([", ".join(row) for row in zip(*texts, strict=True)] if texts else [""] * rows, dtype=object)


def described_cells(cells: Table, factors: Sequence[str]) -> Texts:
    """For each cell the values of the factors, columns of it, that vary."""
    return described({name: getattr(cells, name) for name in factors})


def described_operations(cells: Factors, factors: Sequence[str]) -> Texts:
    """For each cell its operation, and the values of the factors that vary among cells of that."""
    texts = np.array([""] * len(cells), dtype=object)
    for operation, rows in grouped(cells.operation):
        named = described_cells(cells[rows], factors)
        texts[rows] = [f"{operation}, {text}" if text else operation for text in named]
    return texts


def row_names(cells: Factors, factors: Iterable[str] = FACTORS) -> Texts:
    """The operation of each cell, and what else but size varies among cells of that, of these factors."""
    return described_operations(cells, [name for name in factors if name not in ("operation", "size")])


def sizes_after(cells: Factors) -> Texts:
    """The size of each cell as the end of its name; empty where the operation has none."""
    return np.array([f", {value_text('size', size)}" if size else "" for size in cells.size.tolist()], dtype=object)


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
    return synchronizer_name(value) if factor in ("line", "synchronizer") else str(value)


METRIC = "latency_avg"


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


QUANTILES = ("p5", "p95", "p99")


class CellSummaries(Factors):
    """Cells over launches; NaN where there is no number."""

    launches: Ints = column("launches of the cell")
    median: Floats = column("typical launch's median", "s")
    low: Floats = column("lower end of its 95 % interval, wider by what the step of the clock hides", "s")
    high: Floats = column("upper end", "s")
    p5: Floats = column("median over launches of the 5th percentile", "s")
    p95: Floats = column("of the 95th percentile", "s")
    p99: Floats = column("of the 99th percentile", "s")
    rejected: Floats = column("share of attempts that failed to start together", "1")
    status: Texts = column("statuses in launches other than ok, with commas")


SUMMARY_COLUMNS = [each.name for each in CellSummaries.columns() if each.name not in FACTORS]


def summaries_of(cells: Cells, factors: Sequence[str], metric: str) -> CellSummaries:
    """Summarizes cells over launches.

    Args:
        cells: of an experiment, or of `Estimates.frame`, which has no quantiles and no counts.
        factors: tell the rows apart; of other factors a row has the first value.
        metric: one of `METRICS`.
    """
    rows: list[dict[str, object]] = []
    summaries = cells.metric(metric)
    for _, indices in grouped(*(getattr(cells, name) for name in factors)):
        group, numbers = cells[indices], summaries[indices]
        steady = numbers[group.steady]
        median = typical_of_launches(steady.median_s, float(numbers.hidden_s.mean()))
        attempts = group.valid_count.sum() + group.rejected.sum()
        quantiles = {name: getattr(steady, f"{name}_s") for name in QUANTILES}
        rows.append(
            {name: getattr(group, name)[0] for name in FACTORS}
            | {"launches": len(group), "median": median.estimate, "low": median.low, "high": median.high}
            | {name: median_of(values) for name, values in quantiles.items()}
            | {"rejected": group.rejected.sum() / attempts if attempts else np.nan}
            | {"status": ", ".join(sorted(set(group.status) - {OK}))}
        )
    return CellSummaries.of_rows(rows)


def median_of(values: Floats) -> float:
    """The median of the numbers that are there; NaN of none."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan


def typical_of_launches(medians: Floats, hidden: float = 0.0) -> Interval:
    """The typical one of the launches that have a median; NaN where one of them has no logarithm.

    `hidden` is how much all may be off together.
    """
    measured = medians[np.isfinite(medians)]
    if measured.size == 1:
        return Interval(float(measured[0]), np.nan, np.nan, 1)
    # For example the exit skew of a single rank, or of a clock with coarse steps, which can be 0.
    if measured.size == 0 or np.any(measured <= 0):
        return Interval(np.nan, np.nan, np.nan, measured.size)
    return typical_interval(measured, hidden=hidden)
