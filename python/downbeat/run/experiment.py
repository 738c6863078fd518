"""The results of an experiment: its launches, one frame of all their cells, and what launches show together."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.data.cell_summaries import summarize_cells
from downbeat.data.cells import HIGH, PATH, Cells, Factors, countable
from downbeat.data.launch_file import (
    FIRST_METRICS,
    IMPLIED,
    context_of,
    metrics_of,
    open_launch,
    open_samples,
)
from downbeat.data.samples import lacks, sample_metrics
from downbeat.data.states import path_of, with_states
from downbeat.errors import UsageError, reading
from downbeat.files import read_json
from downbeat.run import directory as places
from downbeat.run.libraries import short_version
from downbeat.run.machine import Finding
from downbeat.run.plan import DEFAULT_ENVIRONMENT, DEFAULT_VARIANT, LAUNCH_FACTORS, Plan
from downbeat.statistics.kinds import Series, kind_lines
from downbeat.text import MICROSECONDS, counted, shared_units, typed

if TYPE_CHECKING:
    import xarray as xr

# Everything that distinguishes cells. The number of a launch is not a factor: it is a repetition.
FACTORS = tuple(each.name for each in Factors.columns())
SHOWN_METRIC = "latency_avg_median"
MOST_HTML_ROWS = 60  # of a table in a notebook


def html_table(about: str, cells: pd.DataFrame) -> str:
    """Returns the latencies of cells for a notebook, median over launches in us: synchronizers are side by side."""
    shown = [name for name in FACTORS if name in cells and name != "synchronizer"]
    keys = [name for name in shown if cells[name].nunique() > 1 or name in ("operation", "size")]
    table = cells[keys].astype(str).assign(synchronizer=cells["synchronizer"], us=cells[SHOWN_METRIC] * MICROSECONDS)
    table = table.pivot_table(index=keys, columns="synchronizer", values="us", aggfunc="median", sort=False)
    return f"<p>{html.escape(about)}; {SHOWN_METRIC} in us</p>" + table.to_html(
        float_format="{:.3f}".format, max_rows=MOST_HTML_ROWS
    )


@dataclass(frozen=True)
class Launch:
    """A complete launch.

    Attributes:
        library: its name in the plan; of a single file, the name that the library gives itself.
        ranks: number of ranks.
        environment: its name in the plan.
        number: from 1, among the launches of the same library, ranks, environment and variant.
        path: the file of samples.
        record: launch.json, how it was started and how it ended; empty for a single file.
        variant: its name in the plan.
    """

    library: str
    ranks: int
    environment: str
    number: int
    path: Path
    record: Mapping[str, object] = field(repr=False)
    variant: str = DEFAULT_VARIANT

    @property
    def configuration(self) -> tuple[object, ...]:
        """The factors that are fixed for the launch, in the order of `LAUNCH_FACTORS`."""
        return tuple(getattr(self, name) for name in LAUNCH_FACTORS)

    @cached_property
    def context(self) -> dict[str, object]:
        """The context that downbeat-bench recorded, of the machine and of itself: the global attributes of the file."""
        with open_samples(self.path) as file:
            return context_of(file)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """As `summarize_cells`."""
        return summarize_cells(self.path)

    @cached_property
    def cell_table(self) -> Cells:
        """The cells; the factors of the launch are empty."""
        return Cells.of(self.cells)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics of samples that its file has; an older downbeat-bench knew fewer."""
        with open_samples(self.path) as file:
            return tuple(metrics_of(file))

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        about = f"launch {self.number} under {self.library}, {self.ranks} ranks, {self.context.get('date', '')}"
        return html_table(about, self.cells)

    def samples(self, metrics: Iterable[str] | None = None) -> xr.Dataset:
        """Returns the metrics of every sample in s, dimension `sample`, as `sample_metrics` does; all by default."""
        return sample_metrics(self.path, metrics)

    def open(self) -> xr.Dataset:
        """Opens the file, every rank's stamps in s, dimensions `sample` and `rank`, as `open_launch` does."""
        return open_launch(self.path)


@dataclass(frozen=True)
class Experiment:
    """An experiment, returned by `open_experiment`.

    Attributes:
        path: its directory or file.
        name: of its plan, else of the path.
        launches: the complete ones, by configuration and number.
        plan: the measurements planned; None if files of launches were collected by hand.
        failures: launch.json of the failed launches, with `directory`, their place.
    """

    path: Path
    name: str
    launches: tuple[Launch, ...] = field(repr=False)
    plan: Plan | None = field(repr=False)
    failures: tuple[Mapping[str, object], ...] = field(repr=False)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        about = f"{self.name}: {counted(len(self.launches), 'launch')}, {len(self.failures)} failed"
        return html_table(about, self.cells)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A pandas frame, one row per launch and cell: the columns of `summarize_cells`, after those of the launch.

        The latter are `library`, `ranks`, `environment`, `variant` and `launch`, its number. `state` is added, in which
        the machine was (`with_states`). Times are in seconds; `attrs["units"]` has the units of all columns.
        """
        frames = []
        for launch in self.launches:
            frame = launch.cells.drop(columns="cell")
            for position, name in enumerate((*LAUNCH_FACTORS, "number")):
                frame.insert(position, name, getattr(launch, name))
            if HIGH in frame:
                frame[PATH] = path_of(str(launch.context["hosts"]), launch.ranks, str(launch.configuration))
            frames.append(frame.rename(columns={"number": "launch"}))
        cells = with_states(pd.concat(frames, ignore_index=True).copy())  # in one piece, whatever some launches lack
        cells.attrs["units"] = shared_units(cells.columns, *frames)
        return cells

    @cached_property
    def cell_table(self) -> Cells:
        """The cells of all launches, for the rooms above; `cells` is for users of pandas."""
        return Cells.of(self.cells)

    @cached_property
    def machine(self) -> tuple[Finding, ...]:
        """Findings of `downbeat doctor` at the start of the last run; none for files that were collected by hand."""
        file = self.path / places.MACHINE
        if not file.is_file():
            return ()
        content = read_json(file)
        with reading(file):
            return typed(tuple[Finding, ...], content["findings"], "findings")

    def lines_on_metric(self, metric: str) -> list[str]:
        """Returns a line on the launches whose files lack a metric of `METRICS`, which came later; empty: none does.

        Raises:
            UsageError: all lack it.
        """
        if metric in FIRST_METRICS:  # which every file has
            return []
        lacking = [launch for launch in self.launches if metric not in launch.metrics]
        if not lacking:
            return []
        if len(lacking) == len(self.launches):
            raise UsageError(lacks(self.path, metric))
        versions = ", ".join(dict.fromkeys(str(one.context.get("downbeat_version", "")) for one in lacking))
        return [
            f"{counted(len(lacking), 'launch')} without {metric}, left out: downbeat-bench {versions} did not have it"
        ]

    def varying(self) -> list[str]:
        """Returns the factors that have more than one value, but for `IMPLIED`, in the order of `FACTORS`."""
        return [name for name in FACTORS if name not in IMPLIED and self.cells[name].nunique() > 1]


class NoLaunchError(UsageError):
    """An experiment has no complete launch."""


def open_experiment(path: str | Path, without: Collection[Path] = ()) -> Experiment:
    """Opens an experiment.

    Args:
        path: the directory of `downbeat run`; a `.nc` file of downbeat-bench, which is one launch; or a directory of
            such files, which count as launches of one experiment.
        without: files in such a directory that are not launches of it.

    Returns:
        The experiment; its samples are read on demand.

    Raises:
        UsageError: the path is something else, or one of its files is truncated or of another program.
        NoLaunchError: none of its launches is complete.
    """
    path = Path(path)
    if path.is_file():
        return Experiment(path, path.stem, (lone_launch(path, 1),), None, ())
    if not path.is_dir():
        raise UsageError(f"there is no experiment '{path}'")
    if (path / places.PLAN).is_file():
        return open_directory(path)
    files = [file for file in sorted(path.glob("*.nc")) if file not in without]
    if not files:
        raise UsageError(f"'{path}' is not the directory of an experiment: it has neither {places.PLAN} nor .nc files")
    launches: list[Launch] = []
    for file in files:
        launch = lone_launch(file, 1)
        before = sum((one.library, one.ranks) == (launch.library, launch.ranks) for one in launches)
        launches.append(Launch(launch.library, launch.ranks, launch.environment, before + 1, file, {}))
    return Experiment(path, path.name, tuple(launches), None, ())


def open_directory(path: Path) -> Experiment:
    """Opens the directory of `downbeat run`."""
    plan = places.read_plan(path)
    launches = []
    for directory in sorted((path / places.LAUNCHES).glob("*/")):
        if not (directory / places.RECORD).is_file():
            continue
        record = places.read_record(directory)
        key = places.key_of(record)
        if not places.is_of(directory):
            raise UsageError(f"'{directory}' holds launch {key}; remove it, or start the same downbeat run again")
        file = directory / places.SAMPLES
        launches.append(Launch(key.library, key.ranks, key.environment, key.number, file, record, key.variant))
    order = plan.configurations()
    for launch in launches:
        if launch.configuration not in order:
            raise UsageError(
                f"'{launch.path.parent}' is not a launch of '{path / places.PLAN}': one of them is damaged"
            )
    launches.sort(key=lambda launch: (order.index(launch.configuration), launch.number))
    if not launches:
        raise NoLaunchError(f"'{path}' has no complete launch; see {path / places.FAILED} for what failed")
    failures = tuple(
        places.read_record(record.parent) | {"directory": str(record.parent)}
        for record in sorted((path / places.FAILED).glob(f"*/{places.RECORD}"))
    )
    return Experiment(path, plan.name, tuple(launches), plan, failures)


def lone_launch(path: Path, number: int) -> Launch:
    """Opens a single file as a launch; the library has the name that it gives itself."""
    with open_samples(path) as file:
        library = short_version(str(file.mpi_library))
        ranks = file.dimensions["rank"]
    return Launch(library, ranks, DEFAULT_ENVIRONMENT, number, path, {})


def span_of(contexts: Iterable[Mapping[str, object]]) -> float:
    """Returns the time from the start of the first launch to that of the last, s; NaN where it is not known."""
    try:
        dates = [datetime.fromisoformat(str(one["date"])) for one in contexts]
        return (max(dates) - min(dates)).total_seconds() if dates else math.nan
    except (KeyError, TypeError, ValueError):  # no date, some with a zone and some without, or no date at all
        return math.nan


def start_of(contexts: Iterable[Mapping[str, object]]) -> float:
    """Returns when the first launch started, s since 1970; NaN where it is not known."""
    try:
        return min(datetime.fromisoformat(str(one["date"])).timestamp() for one in contexts)
    except (KeyError, ValueError):
        return math.nan


IN_STATE = (*LAUNCH_FACTORS, "state")


def launch_lines(cells: pd.DataFrame, column: str) -> list[str]:
    """Returns lines on slow launches, and on cells whose launches resemble the one before.

    Args:
        cells: of launches: `FACTORS`, `launch`, `status` and the column.
        column: that holds the numbers, s.
    """
    counted = cells[countable(cells) & (cells[column] > 0) & np.isfinite(cells[column])]
    named = [name for name in FACTORS if name in ("operation", "size") or counted[name].nunique() > 1]
    named = [name for name in named if name not in IMPLIED]
    groups = counted.groupby([*named, *(name for name in IN_STATE if name not in named)], sort=False)
    series = []
    for key, rows in groups:
        ordered = rows.drop_duplicates("launch").sort_values("launch")
        group = tuple(ordered[name].iloc[0] for name in IN_STATE)
        name = " ".join(map(str, key[: len(named)]))
        series.append(Series(name, group, tuple(ordered["launch"]), ordered[column].to_numpy(dtype=float)))
    return kind_lines(series)
