"""Defines the tables of cells of launches, with summaries of their metrics.

A cell is an operation with a size, a start (synchronizer, barrier algorithm, timing) and other factors. A state is a
class of round-trip times of the machine (see states.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from downbeat.data.metrics import METRICS
from downbeat.statistics.series import LEFT_BY_INTERPOLATION
from downbeat.tables import Flags, Floats, Ints, Table, Texts, Wide, column

# Values of the status of a cell; CUT_SHORT and others are in the files.
OK = "ok"
WRONG = "wrong"
FAILED = "failed"
CHANGED = "state changed"  # the cell was measured in two states

STATE = "state"  # name of a factor; its value is empty if there is only one state, or if states are unknown
# Columns: the smallest and the largest round trip around the blocks of a cell (canary), and its path (states.py).
CANARY_LOW, CANARY_HIGH, CANARY_PATH = "canary_low", "canary_high", "canary_path"

STATISTICS = ("mean", "min", "p5", "p25", "median", "p75", "p95", "p99", "max")
# Default values of factors; names of cells leave them out.
NO_PATTERN, DEFAULT_ALGORITHM, PER_CALL = "none", "default", "per_call"
STEP = "step"  # `<metric>_step` is the step of the clock in samples of a metric


class Summaries(Table):
    """Statistics of a metric over the valid samples of each cell; NaN where no sample is valid."""

    mean_s: Floats = column("mean", "s")
    min_s: Floats = column("smallest", "s")
    p5_s: Floats = column("5 % of the samples are below", "s")
    p25_s: Floats = column("25 % of the samples are below", "s")
    median_s: Floats = column("median, interpolated within the step of the clock", "s")
    p75_s: Floats = column("75 % of the samples are below", "s")
    p95_s: Floats = column("95 % of the samples are below", "s")
    p99_s: Floats = column("99 % of the samples are below", "s")
    max_s: Floats = column("largest", "s")
    step_s: Floats = column("step of the clock in samples of the metric; 0 where none is known", "s")

    @property
    def hidden_s(self) -> Floats:
        """Largest error of each median that the step of the clock can cause, s (see `Cells.uncertainty`)."""
        return self.step_s * LEFT_BY_INTERPOLATION


class Factors(Table):
    """The factors that identify a cell in all launches; a row per cell."""

    library: Texts = column("MPI library, its name in the plan", missing="")
    ranks: Ints = column("number of ranks", "1", missing=0)
    environment: Texts = column("environment, its name in the plan", missing="")
    variant: Texts = column("variant, its name in the plan", missing="")
    operation: Texts = column("collective operation, with its parameters")
    size: Ints = column("size of the message", "B")
    datatype: Texts = column("MPI datatype")
    algorithm: Texts = column("algorithm of the operation")
    synchronizer: Texts = column("synchronizer before each sample")
    barrier_algorithm: Texts = column("algorithm of the synchronizer's barrier")
    timing: Texts = column("whether calls are timed one by one")
    pattern: Texts = column("arrival pattern")
    largest_delay: Floats = column("largest planned delay of a rank", "s")
    computation: Floats = column("computation beside the operation", "s")
    state: Texts = column("state of the machine; empty where there is one, or none is known", missing="")

    def values(self, *names: str) -> list[tuple[Any, ...]]:
        """Returns a tuple per row: its values of the factors `names`, as Python values; empty tuples without names."""
        if not names:
            return [()] * len(self)
        return list(zip(*(getattr(self, name).tolist() for name in names), strict=True))

    @property
    def started_by(self) -> Texts:
        """Names of the starts, as downbeat-bench writes them: `mpi_barrier[tree], window`."""
        return start_names(self.synchronizer, self.barrier_algorithm, self.timing)


class Cells(Factors, Wide):
    """A row per launch and cell. `source` has all fields of the files."""

    launch: Ints = column("number among the launches of its configuration, from 1", missing=0)
    status: Texts = column("ok, incomplete, failed, wrong, cut short or state changed")
    error_bound: Floats = column("bound of the error of the global clock", "s", missing=np.nan)
    valid_count: Ints = column("valid samples", "1", missing=0)
    rejected: Ints = column("samples that did not start together, or ended late", "1", missing=0)
    overlap_osu: Floats = column("overlap with computation, as OSU defines it", "1", missing=np.nan)
    overlap_imb: Floats = column("overlap with computation, as IMB defines it", "1", missing=np.nan)
    overlap_window: Floats = column("overlap with computation, from the common start", "1", missing=np.nan)
    wall_time: Floats = column("time for which the cell was measured", "s", missing=np.nan)
    canary_path: Texts = column("kind of the round trips around the cell's blocks (`path_of`)", missing="")

    def metric(self, name: str) -> Summaries:
        """Returns the summaries of a metric; NaN for a statistic that was not computed.

        Raises:
            KeyError: no launch has the metric.
        """
        zeros = pd.Series(0.0, self.source.index)
        unknown = pd.Series(np.nan, self.source.index)
        statistics = {"median": self.source[f"{name}_median"]}
        statistics |= {statistic: self.source.get(f"{name}_{statistic}", unknown) for statistic in STATISTICS}
        return Summaries(
            **{f"{statistic}_s": values.to_numpy(dtype=float) for statistic, values in statistics.items()},
            step_s=np.nan_to_num(self.source.get(f"{name}_{STEP}", zeros).to_numpy(dtype=float)),
        )

    def uncertainty(self, metric: str, statistic: str = "median") -> Floats:
        """Returns the largest error of a statistic of each cell from clocks, s: their error bounds, or their step.

        A step causes no error of a mean, because samples begin anywhere within it. Quantiles that are not interpolated
        have errors up to a step.
        """
        if metric in METRICS and (bounds := METRICS[metric].clock_bounds):
            return np.asarray(bounds * self.error_bound, dtype=float)
        steps = self.source.get(f"{metric}_{STEP}", pd.Series(0.0, self.source.index)).to_numpy(dtype=float)
        hidden = {"mean": 0.0, "median": LEFT_BY_INTERPOLATION}.get(statistic, 1.0)
        return np.asarray(np.nan_to_num(steps) * hidden, dtype=float)

    @property
    def counts(self) -> Flags:
        """Flags of the cells that verdicts use: all their samples are valid, and their results are right.

        An incomplete cell has fewer samples, from moments at which common starts succeeded. Pictures show it; verdicts
        do not use it.
        """
        return np.asarray(self.status == OK)

    @property
    def steady(self) -> Flags:
        """Flags of the cells that were measured in one state of the machine."""
        return np.asarray(self.status != CHANGED)

    @property
    def alone(self) -> Flags:
        """Flags of the cells without planned delays of ranks and without computation beside the operation."""
        return np.asarray((self.pattern == NO_PATTERN) & (self.computation == 0))

    @property
    def measured(self) -> Flags:
        """Flags of the steady cells that have valid samples and right results."""
        return np.asarray((self.valid_count > 0) & (self.status != WRONG) & self.steady)

    @property
    def plain(self) -> Flags:
        """Flags of the measured cells without planned delays and computation."""
        return self.measured & self.alone


def start_names(synchronizers: Iterable[str], algorithms: Iterable[str], timings: Iterable[str]) -> Texts:
    """Returns the names of starts, `mpi_barrier[tree], window`."""
    names = []
    for name, algorithm, timing in zip(synchronizers, algorithms, timings, strict=True):
        barrier = f"[{algorithm}]" if algorithm not in (DEFAULT_ALGORITHM, "") else ""
        scheme = f", {timing}" if timing not in (PER_CALL, "") else ""
        names.append(f"{name}{barrier}{scheme}")
    return np.array(names, dtype=object)


def countable(cells: pd.DataFrame) -> pd.Series[bool]:
    """Returns flags of the cells that verdicts use, like `Cells.counts`, for a frame of `summarize_cells`."""
    return cells["status"] == OK


def left_out(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Groups the cells that verdicts do not use (`countable`) by status."""
    return {str(status): rows for status, rows in cells[~countable(cells)].groupby("status")}
