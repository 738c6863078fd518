"""The results of an experiment: its launches, one frame of all their cells, and lines on slow launches.

An experiment is the directory of `downbeat run`, or .nc files of downbeat-bench that were collected by hand. A cell is
a combination of factors (`FACTORS`: library, ranks, operation, size ...); every launch measures all its cells once.
"""

from __future__ import annotations

import dataclasses
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
from downbeat.data.cells import CANARY_HIGH, CANARY_PATH, Cells, Factors, countable
from downbeat.data.launch_file import (
    FIRST_METRICS,
    IMPLIED,
    context_of,
    metrics_of,
    open_launch,
    open_samples,
)
from downbeat.data.readers import tool_names
from downbeat.data.samples import no_metric_text, sample_metrics
from downbeat.data.states import path_of, with_states
from downbeat.errors import UsageError, reading
from downbeat.files import read_json
from downbeat.run import directory as layout
from downbeat.run.libraries import short_version
from downbeat.run.machine import Finding
from downbeat.run.plan import DEFAULT_ENVIRONMENT, DEFAULT_VARIANT, LAUNCH_FACTORS, Plan
from downbeat.statistics.kinds import Series, kind_lines
from downbeat.text import MICROSECONDS, counted, shared_units, typed

if TYPE_CHECKING:
    import xarray as xr

# The columns that distinguish cells. The number of a launch is not a factor: launches are repetitions.
FACTORS = tuple(each.name for each in Factors.columns())
SHOWN_METRIC = "latency_avg_median"
MAX_HTML_ROWS = 60  # rows of a table in a notebook


def html_table(about: str, cells: pd.DataFrame) -> str:
    """HTML for notebooks: median latency over launches, us, a row per cell and a column per synchronizer."""
    shown = [name for name in FACTORS if name in cells and name != "synchronizer"]
    keys = [name for name in shown if cells[name].nunique() > 1 or name in ("operation", "size")]
    table = cells[keys].astype(str).assign(synchronizer=cells["synchronizer"], us=cells[SHOWN_METRIC] * MICROSECONDS)
    table = table.pivot_table(index=keys, columns="synchronizer", values="us", aggfunc="median", sort=False)
    return f"<p>{html.escape(about)}; {SHOWN_METRIC} in us</p>" + table.to_html(
        float_format="{:.3f}".format, max_rows=MAX_HTML_ROWS
    )


@dataclass(frozen=True)
class Launch:
    """A complete launch.

    Attributes:
        library: name in the plan; for a single file, the library's own version name.
        ranks: number of ranks.
        environment: name in the plan.
        number: from 1, among the launches of the same library, ranks, environment and variant.
        path: the samples file.
        record: content of launch.json; empty for a single file.
        variant: name in the plan.
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
        """The values of `LAUNCH_FACTORS`, in their order."""
        return tuple(getattr(self, name) for name in LAUNCH_FACTORS)

    @cached_property
    def context(self) -> dict[str, object]:
        """The context recorded by downbeat-bench: the global attributes of the file."""
        with open_samples(self.path) as file:
            return context_of(file)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells as `summarize_cells` returns them."""
        return summarize_cells(self.path)

    @cached_property
    def cell_table(self) -> Cells:
        """The cells; the factors of the launch are empty."""
        return Cells.of(self.cells)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics in the file; older versions of downbeat-bench wrote fewer."""
        with open_samples(self.path) as file:
            return tuple(metrics_of(file))

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        about = f"launch {self.number} under {self.library}, {self.ranks} ranks, {self.context.get('date', '')}"
        return html_table(about, self.cells)

    def samples(self, metrics: Iterable[str] | None = None) -> xr.Dataset:
        """The metrics of every sample, s, dimension `sample`, as `sample_metrics` returns them; by default all."""
        return sample_metrics(self.path, metrics)

    def open(self) -> xr.Dataset:
        """The time stamps of every rank, s, dimensions `sample` and `rank`, as `open_launch` returns them."""
        return open_launch(self.path)


@dataclass(frozen=True)
class Experiment:
    """An experiment, returned by `open_experiment`.

    Attributes:
        path: its directory or file.
        name: of its plan, else of the path.
        launches: the complete launches, by configuration and number.
        plan: the plan; None for launch files collected by hand.
        failures: content of launch.json of the failed launches, with their `directory`.
    """

    path: Path
    name: str
    launches: tuple[Launch, ...] = field(repr=False)
    plan: Plan | None = field(repr=False)
    failures: tuple[Mapping[str, object], ...] = field(repr=False)

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        about = f"{self.name}: {counted(len(self.launches), 'launch')}, {len(self.failures)} failed"
        return html_table(about, self.cells)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A pandas frame, one row per launch and cell: the columns of `summarize_cells`, after those of the launch.

        Columns of the launch: `library`, `ranks`, `environment`, `variant`, `launch` (its number). `state`: state of
        the machine (`with_states`). Times are in seconds; `attrs["units"]` has the units of all columns.
        """
        frames = []
        for launch in self.launches:
            frame = launch.cells.drop(columns="cell")
            for position, name in enumerate((*LAUNCH_FACTORS, "number")):
                frame.insert(position, name, getattr(launch, name))
            if CANARY_HIGH in frame:
                frame[CANARY_PATH] = path_of(str(launch.context["hosts"]), launch.ranks, str(launch.configuration))
            frames.append(frame.rename(columns={"number": "launch"}))
        cells = with_states(pd.concat(frames, ignore_index=True).copy())  # copy() defragments the frame
        cells.attrs["units"] = shared_units(cells.columns, *frames)
        return cells

    @cached_property
    def cell_table(self) -> Cells:
        """The cells of all launches, typed; `cells` is for users of pandas."""
        return Cells.of(self.cells)

    @cached_property
    def machine(self) -> tuple[Finding, ...]:
        """Findings of `downbeat doctor` at the start of the last run; empty for files collected by hand."""
        file = self.path / layout.MACHINE
        if not file.is_file():
            return ()
        content = read_json(file)
        with reading(file):
            return typed(tuple[Finding, ...], content["findings"], "findings")

    def lines_on_metric(self, metric: str) -> list[str]:
        """A line on the launches whose files lack a metric that older versions did not write; empty if none lacks it.

        Raises:
            UsageError: all launches lack the metric.
        """
        if metric in FIRST_METRICS:  # in every file
            return []
        lacking = [launch for launch in self.launches if metric not in launch.metrics]
        if not lacking:
            return []
        if len(lacking) == len(self.launches):
            raise UsageError(no_metric_text(self.path, metric))
        versions = ", ".join(dict.fromkeys(str(launch.context.get("downbeat_version", "")) for launch in lacking))
        return [
            f"{counted(len(lacking), 'launch')} without {metric}, left out: downbeat-bench {versions} did not have it"
        ]

    def varying(self) -> list[str]:
        """The factors with more than one value, without `IMPLIED`, in the order of `FACTORS`."""
        return [name for name in FACTORS if name not in IMPLIED and self.cells[name].nunique() > 1]


class NoLaunchError(UsageError):
    """An experiment has no complete launch."""


def open_experiment(path: str | Path, without: Collection[Path] = ()) -> Experiment:
    """Opens an experiment.

    Args:
        path: the directory of `downbeat run`; a `.nc` file of downbeat-bench, which is one launch; or a directory of
            such files, which count as launches of one experiment.
        without: files in that directory to leave out.

    Returns:
        The experiment; its samples are read on demand.

    Raises:
        UsageError: the path is something else, or one of its files is damaged or written by another program.
        NoLaunchError: none of its launches is complete.
    """
    path = Path(path)
    if path.is_file():
        return Experiment(path, path.stem, (lone_launch(path),), None, ())
    if not path.is_dir():
        raise UsageError(f"there is no experiment '{path}'")
    if (path / layout.PLAN).is_file():
        return open_directory(path)
    files = [file for file in sorted(path.glob("*.nc")) if file not in without]
    if not files:
        raise UsageError(
            f"'{path}' is not the directory of an experiment: it has neither {layout.PLAN} nor .nc files, "
            f"nor results of {tool_names()}"
        )
    launches: list[Launch] = []
    for file in files:
        launch = lone_launch(file)
        earlier = [each for each in launches if (each.library, each.ranks) == (launch.library, launch.ranks)]
        launches.append(dataclasses.replace(launch, number=len(earlier) + 1))
    return Experiment(path, path.name, tuple(launches), None, ())


def open_directory(path: Path) -> Experiment:
    """Opens the directory of `downbeat run`."""
    plan = layout.read_plan(path)
    launches = []
    for directory in sorted((path / layout.LAUNCHES).glob("*/")):
        if not (directory / layout.RECORD).is_file():
            continue
        record = layout.read_record(directory)
        key = layout.key_of(record)
        if not layout.record_matches(directory):
            raise UsageError(f"'{directory}' holds launch {key}; remove it, or start the same downbeat run again")
        file = directory / layout.SAMPLES
        launches.append(Launch(key.library, key.ranks, key.environment, key.number, file, record, key.variant))
    order = plan.configurations()
    for launch in launches:
        if launch.configuration not in order:
            raise UsageError(
                f"'{launch.path.parent}' is not a launch of '{path / layout.PLAN}': one of them is damaged"
            )
    launches.sort(key=lambda launch: (order.index(launch.configuration), launch.number))
    if not launches:
        raise NoLaunchError(f"'{path}' has no complete launch; see {path / layout.FAILED} for what failed")
    failures = tuple(
        layout.read_record(record.parent) | {"directory": str(record.parent)}
        for record in sorted((path / layout.FAILED).glob(f"*/{layout.RECORD}"))
    )
    return Experiment(path, plan.name, tuple(launches), plan, failures)


def lone_launch(path: Path) -> Launch:
    """Opens a single file as launch 1; the name of the library is its version text."""
    with open_samples(path) as file:
        library = short_version(str(file.mpi_library))
        ranks = file.dimensions["rank"]
    return Launch(library, ranks, DEFAULT_ENVIRONMENT, 1, path, {})


def span_of(contexts: Iterable[Mapping[str, object]]) -> float:
    """The time from the start of the first launch to the start of the last, s; NaN if unknown.

    Args:
        contexts: `Launch.context` of each launch.
    """
    try:
        dates = [datetime.fromisoformat(str(context["date"])) for context in contexts]
        return (max(dates) - min(dates)).total_seconds() if dates else math.nan
    except (KeyError, TypeError, ValueError):  # a missing or malformed date, or dates with and without time zone
        return math.nan


def start_of(contexts: Iterable[Mapping[str, object]]) -> float:
    """The start of the first launch, s since 1970; NaN if unknown."""
    try:
        return min(datetime.fromisoformat(str(context["date"])).timestamp() for context in contexts)
    except (KeyError, ValueError):
        return math.nan


GROUP = (*LAUNCH_FACTORS, "state")  # the factors that all cells of a launch share


def launch_lines(cells: pd.DataFrame, column: str) -> list[str]:
    """Lines on slow launches, and on cells whose successive launches are correlated.

    Args:
        cells: rows with the columns `FACTORS`, `launch`, `status` and `column`.
        column: name of the column of times, s.
    """
    usable = cells[countable(cells) & (cells[column] > 0) & np.isfinite(cells[column])]
    # The factors in the name of a cell: those that vary, except for factors that follow from others.
    named = [name for name in FACTORS if name in ("operation", "size") or usable[name].nunique() > 1]
    named = [name for name in named if name not in IMPLIED]
    groups = usable.groupby([*named, *(name for name in GROUP if name not in named)], sort=False)
    series = []
    for key, rows in groups:
        ordered = rows.drop_duplicates("launch").sort_values("launch")
        group = tuple(ordered[name].iloc[0] for name in GROUP)
        name = " ".join(map(str, key[: len(named)]))
        series.append(Series(name, group, tuple(ordered["launch"]), ordered[column].to_numpy(dtype=float)))
    return kind_lines(series)
