"""Reads the results of a figure's launches as tables and datasets.

A run is a configuration that is launched several times (runs.py). A cell is an operation with a size, an algorithm and
a synchronizer, the start of each sample; a launch measures many samples of each cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.data.cell_summaries import summarize_cells
from downbeat.data.launch_file import open_launch
from downbeat.data.samples import VERDICTS, sample_metrics
from downbeat.errors import DownbeatError
from downbeat.run.experiment import Launch
from downbeat.tables import Floats, Ints, Table, Texts, Wide, column
from downbeat.text import MICROSECONDS
from numpy.typing import NDArray

from downbeat_papers.runs import Run
from downbeat_papers.site import Site

# Metrics of samples whose statistics are columns of `Results.cells`.
METRICS = (
    "latency_avg",
    "latency_max",
    "latency_observed",
    "global_time",
    "exit_skew",
    "end_skew",
    "imbalance_worst",
)

# Verdicts of samples that all ranks began in time; an overrun is a sample that ended after its window.
IN_TIME = [VERDICTS.index(name) for name in ("valid", "overrun")]

LATENCY = "mean_of_means"  # t_avg (section 2): mean over ranks of each rank's mean over calls, as in OSU
MEDIAN = "latency_avg_median"  # median over calls of the mean over ranks, robust against single long calls

SAME_MESSAGE = "on 2 ranks the algorithms are one and the same message"  # obstacle of claims on 2 ranks


class NoSamplesError(DownbeatError):
    """No valid sample was measured, so that a figure cannot be drawn."""


class SeriesError(DownbeatError):
    """A figure draws a series that its launches do not have."""


class LaunchCells(Wide):
    """A row per launch and cell with valid samples; `source` has all columns of `summarize_cells`."""

    label: Texts = column("run", missing="")
    library: Texts = column("MPI library, by its name in the plan", missing="")
    ranks: Ints = column("processes of the launch", "1", missing=0)
    launch: Ints = column("number of the launch among those of its run, from 1", missing=0)
    operation: Texts = column("operation, with its parameters", missing="")
    size: Ints = column("message size", "B", missing=0)
    algorithm: Texts = column("algorithm of the operation", missing="")
    synchronizer: Texts = column("synchronizer before each sample", missing="")
    barrier_algorithm: Texts = column("algorithm of MPI_Barrier", missing="")
    pattern: Texts = column("arrival pattern", missing="")
    largest_delay: Floats = column("largest planned delay of the pattern", "s", missing=np.nan)
    calls: Ints = column("calls that a sample times together", "1", missing=1)

    def values(self, column: str) -> Floats:
        """Returns a statistic of each cell, e.g. "latency_max_median", in s."""
        return self.source[column].to_numpy(dtype=float)

    def where(self, fields: Mapping[str, object]) -> Self:
        """Returns the cells whose columns have the values of `fields`; a list is a choice of values."""
        chosen = np.ones(len(self), bool)
        for name, value in fields.items():
            chosen &= self.source[name].isin(value if isinstance(value, list) else [value]).to_numpy(dtype=bool)
        return self[chosen]


@dataclass(frozen=True)
class Results:
    """The complete launches of a figure."""

    figure: str  # its name
    site: Site
    runs: tuple[Run, ...]
    launches: Mapping[str, tuple[Launch, ...]]  # by label of the run

    def run(self, label: str) -> Run:
        """Returns the run with a label."""
        return next(run for run in self.runs if run.label == label)

    def crowding(self, ranks: int) -> str:
        """Returns the obstacle of claims on a number of ranks that share cores; empty: each rank has a core."""
        if not self.site.crowded(ranks):
            return ""
        return f"{ranks} ranks share {self.site.all_cores} cores, so that times contain the wait for one"

    def missing_launches(self) -> dict[str, int]:
        """Returns label -> number of missing launches, of the runs that lack launches."""
        counts = {run.label: run.launches(self.site) - len(self.launches.get(run.label, ())) for run in self.runs}
        return {label: count for label, count in counts.items() if count > 0}

    def labels(self) -> list[str]:
        """Returns the labels of the runs that have launches, in order."""
        return [run.label for run in self.runs if self.launches.get(run.label)]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per launch and cell that has valid samples, with the columns of `summarize_cells`.

        Columns `label`, `library`, `ranks` and `launch` are added.

        Raises:
            NoSamplesError: no cell has a valid sample.
        """
        frames = [
            summarize_cells(launch.path, METRICS)
            .query("valid_count > 0")
            .assign(label=label, library=self.run(label).library, ranks=self.run(label).ranks, launch=launch.number)
            for label in self.labels()
            for launch in self.launches[label]
        ]
        cells = pd.concat(frames, ignore_index=True)
        if cells.empty:
            raise NoSamplesError("no cell has a valid sample")
        return cells

    @cached_property
    def launch_cells(self) -> LaunchCells:
        """`cells` as a typed table."""
        return LaunchCells.of(self.cells)

    def incomplete(self) -> dict[str, int]:
        """Returns label -> number of launches that have cells without enough valid samples, if there are any."""
        statuses = {
            label: [launch.record.get("exit_status", 0) for launch in self.launches[label]] for label in self.labels()
        }
        # downbeat-bench exits with status 3 if cells have fewer valid samples than requested.
        return {label: codes.count(3) for label, codes in statuses.items() if 3 in codes}

    def datasets(self, label: str) -> list[xr.Dataset]:
        """Opens the result files of a run, one per launch."""
        return [open_launch(launch.path) for launch in self.launches[label]]

    def samples(self, label: str, metrics: Sequence[str]) -> list[xr.Dataset]:
        """Returns the samples of a run that began in time, one dataset per launch, in the order of measurement."""
        datasets = []
        for launch in self.launches[label]:
            data = sample_metrics(launch.path, metrics)
            datasets.append(data.isel(sample=np.flatnonzero(np.isin(data["verdict"].to_numpy(), IN_TIME))))
        return datasets


def clocks_compared(data: xr.Dataset) -> str:
    """Returns the kind of clocks that a launch compared.

    "made": clocks of the validation clock, one per rank. "real": clocks of several nodes. "one": all ranks read the
    same clock.
    """
    if data.attrs.get("clock_validation", "off") != "off":
        return "made"
    return "real" if node_count(data) > 1 else "one"


def node_count(data: xr.Dataset) -> int:
    """Returns the number of nodes of a launch."""
    if "host" in data:
        return len(set(data["host"].to_numpy().tolist()))
    return len(str(data.attrs["hosts"]).split(";"))


def launch_values(cells: LaunchCells, column: str, **where: object) -> pd.Series:
    """Returns a column of the cell that `where` chooses, one value per launch, indexed by the launch's number.

    Args:
        cells: `Results.launch_cells`.
        column: e.g. "latency_max_median"; "latency_max_median less nothing" subtracts the value of the operation
            `nothing`, the time of reading the clock.
        where: columns of the cell, e.g. `operation="bcast"`.
    """
    name, _, operation = column.partition(" less ")
    chosen = cells.where(where)
    values = pd.Series(chosen.values(name), pd.Index(chosen.launch, name="launch"))
    if not operation:
        return values
    where = {key: value for key, value in where.items() if key != "size"} | {"operation": operation}
    return values - launch_values(cells, name, **where)


class Points(Table):
    """Summaries over launches at positions (message sizes or numbers of ranks)."""

    x: Any = column("position, rising")
    middle: Floats = column("median or mean over launches")
    low: Floats = column("smallest launch, or a standard deviation below the mean")
    high: Floats = column("largest launch, or a standard deviation above the mean")


def medians_and_ranges(x: NDArray[Any], values: Floats, scale: float = MICROSECONDS) -> Points:
    """Summarizes values by the median over launches, with the smallest and the largest.

    Args:
        x: position of each value.
        values: a value per launch and position.
        scale: factor for values.
    """
    launches = pd.Series(values).groupby(x)
    middle, low, high = (launches.agg(summary) * scale for summary in ("median", "min", "max"))
    return Points.of_frame(pd.DataFrame({"x": middle.index, "middle": middle, "low": low, "high": high}))


def means_and_deviations(x: NDArray[Any], values: Floats, scale: float = MICROSECONDS) -> Points:
    """Summarizes values by the mean over launches, with a standard deviation on either side; 0 of a single launch.

    Bars like those of Schuchart 2023, section 6. The arguments are those of `medians_and_ranges`.
    """
    launches = pd.Series(values).groupby(x)
    mean, deviation = launches.agg("mean") * scale, (launches.agg("std") * scale).fillna(0.0)
    low, high = mean - deviation, mean + deviation
    return Points.of_frame(pd.DataFrame({"x": mean.index, "middle": mean, "low": low, "high": high}))
