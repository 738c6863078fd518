"""Summarizes cells over launches and names them, for tables, reports and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from downbeat.data.cells import DEFAULT_ALGORITHM, OK, Cells, Factors
from downbeat.output.fields import synchronizer_name
from downbeat.run.experiment import FACTORS, Experiment
from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import Interval, typical_interval
from downbeat.tables import Floats, Ints, Table, Texts, column, grouped
from downbeat.text import bytes_text

MAX_OPERATIONS = 12  # with pictures of their own; with more, a page takes minutes to draw


def plain_cells(experiment: Experiment) -> Cells:
    """Selects the plain cells of an experiment: measured, without late ranks (`Cells.plain`)."""
    cells = experiment.cell_table
    return cells[cells.plain]


# Factors of the cells of one operation, except size, start and arrival pattern.
CONFIGURATION = ("library", "ranks", "environment", "variant", "datatype", "algorithm", "state")
# Factors of the cases in which algorithms are compared.
PANELS = ("library", "ranks", "environment", "variant", "datatype", "size", "state")


def described(factors: Mapping[str, Iterable[object]]) -> Texts:
    """Describes each row by its values of the factors that vary, e.g. `mpich, 4 ranks, 64K bytes`.

    Args:
        factors: name -> values, one per row.
    """
    columns = {name: list(values) for name, values in factors.items()}
    texts = [[value_text(name, value) for value in values] for name, values in columns.items() if len(set(values)) > 1]
    rows = len(next(iter(columns.values()), ()))
    return np.array([", ".join(row) for row in zip(*texts, strict=True)] if texts else [""] * rows, dtype=object)


def described_cells(cells: Table, factors: Sequence[str]) -> Texts:
    """Describes each cell by its values of the factors that vary."""
    return described({name: getattr(cells, name) for name in factors})


def described_operations(cells: Factors, factors: Sequence[str]) -> Texts:
    """Describes each cell by its operation, and its values of the factors that vary among cells of this operation."""
    texts = np.array([""] * len(cells), dtype=object)
    for operation, rows in grouped(cells.operation):
        descriptions = described_cells(cells[rows], factors)
        texts[rows] = [f"{operation}, {text}" if text else operation for text in descriptions]
    return texts


def row_names(cells: Factors, factors: Iterable[str] = FACTORS) -> Texts:
    """Describes each cell like `described_operations`, without its size."""
    return described_operations(cells, [name for name in factors if name not in ("operation", "size")])


def sizes_after(cells: Factors) -> Texts:
    """Returns the end of the name of each cell: a comma and its size; empty for an operation without a size."""
    return np.array([f", {value_text('size', size)}" if size else "" for size in cells.size.tolist()], dtype=object)


def value_text(factor: str, value: object) -> str:
    """Writes the value of a factor so that it needs no heading."""
    if factor == "size":
        return f"{bytes_text(float(str(value)))} bytes" if value else "no message"
    if factor == "ranks":
        return f"{value} rank" if value == 1 else f"{value} ranks"
    if factor in ("algorithm", "environment", "variant") and value == DEFAULT_ALGORITHM:
        return f"{factor} {DEFAULT_ALGORITHM}"
    if factor == "state":
        return f"state {value}" if value else "one state"
    if factor == "largest_delay":
        return f"{float(str(value)) * 1e6:g} us late"
    return synchronizer_name(value) if factor in ("line", "synchronizer") else str(value)


METRIC = "latency_avg"  # of reports and summaries

# Metrics of overlap -> their definition.
DEFINITIONS = {"overlap_osu": "OSU", "overlap_imb": "IMB", "overlap_window": "from the common start"}


def positive_interval(values: ArrayLike, hidden: float = 0.0) -> Interval:
    """Returns the typical launch with its 95 % interval; NaN if a value is missing or not positive.

    `hidden` is the common error of all values, e.g. by the step of a clock; it widens the interval.
    """
    numbers = np.asarray(values, dtype=float)
    if not len(numbers) or not (numbers > 0).all():
        return Interval(np.nan, np.nan, np.nan, len(numbers))
    return typical_interval(numbers, hidden=hidden)


def mean_interval(values: ArrayLike) -> Interval:
    """Returns the mean over launches with its 95 % interval by Student's t, for values that can be zero or negative.

    The ends are NaN for a single launch; all numbers are NaN if a value is missing.
    """
    numbers = np.asarray(values, dtype=float)
    mean = float(numbers.mean()) if len(numbers) else np.nan
    if len(numbers) < 2:
        return Interval(mean, np.nan, np.nan, len(numbers))
    half = float(t_quantile(len(numbers) - 1, 0.975) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
    return Interval(mean, mean - half, mean + half, len(numbers))


QUANTILES = ("p5", "p95", "p99")  # columns of CellSummaries


class CellSummaries(Factors):
    """Cells over launches; NaN stands for an unknown number."""

    launches: Ints = column("launches of the cell")
    median: Floats = column("typical launch's median", "s")
    low: Floats = column("lower end of its 95 % interval, which includes the step of the clock", "s")
    high: Floats = column("upper end of this interval", "s")
    p5: Floats = column("median over launches of the 5th percentile", "s")
    p95: Floats = column("median over launches of the 95th percentile", "s")
    p99: Floats = column("median over launches of the 99th percentile", "s")
    rejected: Floats = column("share of attempts that failed to start together", "1")
    status: Texts = column("statuses in launches, except ok, separated by commas")


SUMMARY_COLUMNS = [field.name for field in CellSummaries.columns() if field.name not in FACTORS]


def summaries_of(cells: Cells, factors: Sequence[str], metric: str) -> CellSummaries:
    """Summarizes cells over launches.

    Args:
        cells: cells of an experiment, or of `Estimates.frame`, which has no quantiles and no counts.
        factors: factors that distinguish the rows; for another factor a row has its first value.
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
    """Returns the median without NaN; NaN if nothing remains."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan


def typical_of_launches(medians: Floats, hidden: float = 0.0) -> Interval:
    """Returns the typical launch, without launches that have no median; NaN if a median is not positive.

    `hidden` is the common error of all medians; it widens the interval.
    """
    measured = medians[np.isfinite(medians)]
    if measured.size == 1:
        return Interval(float(measured[0]), np.nan, np.nan, 1)
    # A median can be 0, e.g. the exit skew of a single rank, or on a clock with coarse steps.
    if measured.size == 0 or np.any(measured <= 0):
        return Interval(np.nan, np.nan, np.nan, measured.size)
    return typical_interval(measured, hidden=hidden)
