"""Reads the results of a figure's launches as frames and datasets."""

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

# Columns of cells that figures show.
METRICS = (
    "latency_avg",
    "latency_max",
    "latency_observed",
    "global_time",
    "exit_skew",
    "end_skew",
    "imbalance_worst",
)

# Verdicts of samples that all ranks began in time, also of samples that ended after their window.
IN_TIME = [VERDICTS.index(name) for name in ("valid", "overrun")]

LATENCY = "mean_of_means"  # t_avg (section 2): mean over ranks of each rank's mean over calls, as in OSU
MEDIAN = "latency_avg_median"  # median over calls of the mean over ranks, robust against single long calls

SAME_MESSAGE = "on 2 ranks the algorithms are one and the same message"  # obstacle of claims on 2 ranks


class NoSamplesError(DownbeatError):
    """Starts failed too often to draw a figure."""


class SeriesError(DownbeatError):
    """A figure asks for a series that its launches do not have."""


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

    def has(self, column: str) -> bool:
        return column in self.source

    def values(self, column: str) -> Floats:
        """Returns a statistic of each cell, e.g. "latency_max_median", in s."""
        return self.source[column].to_numpy(dtype=float)

    def where(self, fields: Mapping[str, object]) -> Self:
        """Returns the cells whose fields have a value, or one of a list of values."""
        chosen = np.ones(len(self), bool)
        for name, value in fields.items():
            chosen &= self.source[name].isin(value if isinstance(value, list) else [value]).to_numpy(dtype=bool)
        return self[chosen]


@dataclass(frozen=True)
class Results:
    """The complete launches of a figure."""

    figure: str
    site: Site
    runs: tuple[Run, ...]
    launches: Mapping[str, tuple[Launch, ...]]  # by label of the run

    def run(self, label: str) -> Run:
        """Returns the run with a label."""
        return next(run for run in self.runs if run.label == label)

    def crowding(self, ranks: int) -> str:
        """Returns the reason why times of crowded ranks do not decide claims; empty: each rank has a core."""
        if not self.site.crowded(ranks):
            return ""
        return f"{ranks} ranks share {self.site.all_cores} cores, so that times contain the wait for one"

    def lacking(self) -> dict[str, int]:
        """Returns the labels of the runs that lack launches, with the number of missing launches."""
        lacks = {run.label: run.launches(self.site) - len(self.launches.get(run.label, ())) for run in self.runs}
        return {label: count for label, count in lacks.items() if count > 0}

    def have(self) -> list[str]:
        """Returns the labels of the runs that have launches, in order."""
        return [run.label for run in self.runs if self.launches.get(run.label)]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per launch and cell that has valid samples: the launch, then the columns of `summarize_cells`.

        That is `label`, `library`, `ranks`, `launch`.

        Raises:
            NoSamplesError: no cell has a valid sample.
        """
        frames = [
            summarize_cells(launch.path, METRICS)
            .query("valid_count > 0")
            .assign(label=label, library=self.run(label).library, ranks=self.run(label).ranks, launch=launch.number)
            for label in self.have()
            for launch in self.launches[label]
        ]
        cells = pd.concat(frames, ignore_index=True)
        if cells.empty:
            raise NoSamplesError("no cell has a valid sample")
        return cells

    @cached_property
    def launch_cells(self) -> LaunchCells:
        """`cells`, typed."""
        return LaunchCells.of(self.cells)

    def incomplete(self) -> dict[str, int]:
        """Returns in how many launches of a run cells lack valid samples, by label, where there are any."""
        few = {label: [launch.record.get("exit_status", 0) for launch in self.launches[label]] for label in self.have()}
        return {label: statuses.count(3) for label, statuses in few.items() if 3 in statuses}

    def datasets(self, label: str) -> list[xr.Dataset]:
        """Returns the files of a run as they are."""
        return [open_launch(launch.path) for launch in self.launches[label]]

    def samples(self, label: str, metrics: Sequence[str]) -> list[xr.Dataset]:
        """Returns the samples of a run that began in time, launch by launch, in the order of measurement."""
        kept = []
        for launch in self.launches[label]:
            data = sample_metrics(launch.path, metrics)
            kept.append(data.isel(sample=np.flatnonzero(np.isin(data["verdict"].to_numpy(), IN_TIME))))
        return kept


def clocks_seen(data: xr.Dataset) -> str:
    """Returns whose clocks a launch compared: "made", "real", or "one" where all ranks shared it."""
    if data.attrs.get("clock_validation", "off") != "off":
        return "made"
    return "real" if nodes_seen(data) > 1 else "one"


def nodes_seen(data: xr.Dataset) -> int:
    """Returns the number of nodes of a launch."""
    if "host" in data:
        return len(set(data["host"].to_numpy().tolist()))
    return len(str(data.attrs["hosts"]).split(";"))


def launch_values(cells: LaunchCells, column: str, **where: object) -> pd.Series:
    """Returns a column of the cell that each launch has of a kind, by number of the launch.

    Args:
        cells: those of `Results.launch_cells`.
        column: as "latency_max_median"; "latency_max_median less nothing" is less that of the operation `nothing`,
            the time of reading the clock.
        where: fields of the cell, e.g. `operation="bcast"`.
    """
    name, _, operation = column.partition(" less ")
    chosen = cells.where(where)
    values = pd.Series(chosen.values(name), pd.Index(chosen.launch, name="launch"))
    if not operation:
        return values
    where = {key: value for key, value in where.items() if key != "size"} | {"operation": operation}
    return values - launch_values(cells, name, **where)


class Points(Table):
    """Values of launches at positions."""

    x: Any = column("position, rising")
    middle: Floats = column("median or mean over launches")
    low: Floats = column("smallest launch, or a standard deviation below the mean")
    high: Floats = column("largest launch, or a standard deviation above the mean")


def medians_and_ranges(x: NDArray[Any], values: Floats, scale: float = MICROSECONDS) -> Points:
    """Medians over launches, with the smallest and the largest.

    Args:
        x: position of each value.
        values: one of each launch and position.
        scale: factor for values.
    """
    launches = pd.Series(values).groupby(x)
    middle, low, high = (launches.agg(each) * scale for each in ("median", "min", "max"))
    return Points.of_frame(pd.DataFrame({"x": middle.index, "middle": middle, "low": low, "high": high}))


def means_and_deviations(x: NDArray[Any], values: Floats, scale: float = MICROSECONDS) -> Points:
    """Means over launches, with a standard deviation on either side (Schuchart 2023, section 6); as above."""
    launches = pd.Series(values).groupby(x)
    mean, deviation = (launches.agg(each) * scale for each in ("mean", "std"))
    half = deviation.fillna(0.0)
    return Points.of_frame(pd.DataFrame({"x": mean.index, "middle": mean, "low": mean - half, "high": mean + half}))
