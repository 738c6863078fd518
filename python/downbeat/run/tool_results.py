"""Opens results of other tools (OSU, IMB, NCCL tests ...) as experiments.

A run of a tool with one number of ranks becomes a launch, and each kind of its numbers a metric. "Ours" are files of
downbeat-bench and directories of `downbeat run`. The readers of the formats are in downbeat/data/readers.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.cells import DEFAULT_ALGORITHM, NO_PATTERN, OK, PER_CALL, WRONG
from downbeat.data.readers import read_results, recognizes
from downbeat.data.readers.kinds import KINDS
from downbeat.data.readers.results import Results, ToolRun
from downbeat.data.readers.sources import Progress, no_progress
from downbeat.errors import UsageError
from downbeat.output.facts.tool_results import Damage
from downbeat.run import directory as layout
from downbeat.run.experiment import Experiment, Launch, open_experiment
from downbeat.run.plan import DEFAULT_ENVIRONMENT, DEFAULT_VARIANT
from downbeat.streams import replace_line
from downbeat.tables import Ints, grouped
from downbeat.text import Units, counted

CELL = ("operation", "size", "datatype", "algorithm")  # factors that each number has; others are of its run
REPEATED = "numbers measured again in the same run, left out"  # text of a `Damage`
# A start as `Factors.started_by` writes it: synchronizer, barrier algorithm, timing, e.g. "mpi_barrier[tree], window".
START = re.compile(r"(\w+)(?:\[(\w+)\])?(?:, (\w+))?")
NETCDF_MAGIC = (b"CDF\1", b"CDF\2", b"CDF\5", b"\x89HDF")  # first bytes of netCDF files
MIN_FILES_SHOWN = 100  # files from which progress is shown; reading fewer takes less than a second


@dataclass(frozen=True)
class ToolLaunch(Launch):
    """The cells of a run of another tool with one number of ranks.

    Attributes:
        run: the run.
        table: the cells of all launches of the experiment.
        rows: indices of the rows of this launch in the table.
    """

    run: ToolRun = field(kw_only=True)
    table: pd.DataFrame = field(kw_only=True, repr=False)
    rows: Ints = field(kw_only=True, repr=False)

    @cached_property
    def context(self) -> dict[str, object]:
        """Properties of the run, from its file."""
        return {"tool": self.run.tool, "tool_version": self.run.version, "date": self.run.date, **self.run.context}

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, with the columns of `summarize_cells` as far as the tool has the numbers."""
        return self.table.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The kinds of numbers that the launch has, in the order of `KINDS`."""
        present = self.cells.columns[self.cells.notna().any()]
        return tuple(name for name in KINDS if any(str(column).startswith(f"{name}_") for column in present))


@dataclass(frozen=True)
class ToolExperiment(Experiment):
    """Results of other tools.

    Attributes:
        results: the runs and their numbers.
        sources: paths as the user gave them.
        table: the cells of all launches.
    """

    results: Results = field(kw_only=True, repr=False)
    sources: tuple[str, ...] = field(kw_only=True)
    table: pd.DataFrame = field(kw_only=True, repr=False)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row per launch and cell, with the columns of `Experiment.cells`."""
        return self.table

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Each kind and statistic of the numbers, e.g. ("latency_avg", "mean")."""
        return self.results.kinds()

    def lines_on_metric(self, metric: str) -> list[str]:
        """No lines: if launches lack a metric, their operations have none; they are not of an older version.

        Raises:
            UsageError: no launch has the metric.
        """
        if metric not in {kind for kind, _ in self.kinds}:
            kinds = ", ".join(f"{kind} ({statistic})" for kind, statistic in self.kinds)
            raise UsageError(f"'{self.name}' has no numbers of kind {metric}; it has {kinds}")
        return []

    def with_ranks(self, ranks: int) -> ToolExperiment:
        """The same results; launches whose files lack the number of ranks (0) get `ranks`."""
        table = self.table.assign(ranks=self.table["ranks"].replace(0, ranks))
        table.attrs = self.table.attrs
        launches = [launch if launch.ranks else dataclasses.replace(launch, ranks=ranks) for launch in self.launches]
        return dataclasses.replace(self, launches=tuple(launches), table=table)


def open_results(paths: Sequence[str | Path]) -> Experiment:
    """Opens an experiment of ours, or results of other tools.

    Args:
        paths: one path, or several with results of other tools, which become one experiment.

    Raises:
        UsageError: the paths are neither; or as by `open_experiment` and `read_results`.
    """
    if len(paths) == 1 and is_ours(Path(paths[0])):
        return open_experiment(paths[0])
    for path in map(Path, paths):
        if path.exists() and is_ours(path) and not recognizes(path):
            raise UsageError(f"'{path}' is not of another tool, so it is read alone; give one such path")
    return tool_experiment(read_results(paths, progress_for(paths)), paths)


def is_ours(path: Path) -> bool:
    """Whether a path is opened as an experiment of ours: it looks like one, or no reader recognizes it."""
    if path.is_dir():
        return (path / layout.PLAN).is_file() or any(path.glob("*.nc")) or not recognizes(path)
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return path.suffix == ".nc" or file.read(4) in NETCDF_MAGIC


def is_of_tool(path: Path) -> bool:
    """Whether a path has results of another tool."""
    return path.exists() and not is_ours(path) and (path.is_dir() or recognizes(path))


def progress_for(paths: Sequence[str | Path]) -> Progress:
    """The progress display for reading paths: shown for many files and for directories."""
    many = len(paths) >= MIN_FILES_SHOWN or Path(paths[0]).is_dir()
    return show_progress if many else no_progress


def show_progress(number: int, count: int) -> None:
    """Shows on a terminal that file `number` of `count`, from 0, has been read."""
    if sys.stderr.isatty():
        replace_line(f"{number + 1} of {count} files", ended=number + 1 == count)


def tool_experiment(results: Results, paths: Sequence[str | Path]) -> ToolExperiment:
    """Makes an experiment from results; its name is that of the path, or of the directory that has all paths."""
    first = Path(paths[0])
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    name = first.name + more
    parents = {Path(path).resolve().parent for path in paths}
    if len(paths) > 1 and len(parents) == 1 and first.parent.name:
        name = parents.pop().name
    table, damages = cell_table(results)
    results = dataclasses.replace(results, damages=(*results.damages, *damages))
    table, launches = with_launches(results, table)
    return ToolExperiment(
        first.parent / f"{first.name}{more}",
        name,
        launches,
        None,
        (),
        results=results,
        table=table,
        sources=tuple(map(str, paths)),
    )


def cell_table(results: Results) -> tuple[pd.DataFrame, tuple[Damage, ...]]:
    """The table of cells, and the damage if numbers are there twice.

    Returns:
        A row for each run and cell, with a column `<kind>_<statistic>` for each kind and statistic. Of numbers that a
        run has twice, the table has the first.
    """
    numbers = results.numbers.frame()
    for name in numbers.columns[numbers.dtypes == "category"]:
        numbers[name] = numbers[name].astype(object)
    numbers["column"] = numbers["kind"] + "_" + numbers["statistic"]
    rates = numbers["kind"].map(lambda kind: KINDS[kind].is_rate)
    numbers.loc[rates & (numbers["value"] == 0), "value"] = np.nan  # no bytes per second of empty messages
    # A setting becomes a parameter of the operation: "reduce" -> "reduce(setting)", "reduce(a)" -> "reduce(a,setting)".
    numbers["operation"] = [
        f"{operation.rstrip(')')}{',' if '(' in operation else '('}{setting})" if setting else operation
        for operation, setting in zip(numbers["operation"], numbers["setting"], strict=True)
    ]
    key = ["run", "ranks", "nodes", *CELL]
    twice = numbers.duplicated([*key, "column"])
    damages = []
    if twice.any():
        run = results.runs[int(numbers.loc[twice, "run"].iloc[0])]
        damages.append(Damage(run.path, run.line, REPEATED, int(twice.sum()), numbers.loc[twice, "run"].nunique()))
    numbers = numbers[~twice]
    table = numbers.set_index([*key, "column"])["value"].unstack("column")
    groups = numbers.groupby(key, sort=False)
    properties = pd.DataFrame(
        {
            "calls": groups["calls"].max(),
            "status": groups["status"].agg(lambda statuses: WRONG if WRONG in set(statuses) else OK),
        }
    )
    return properties.join(table).reset_index(), tuple(damages)


def with_launches(results: Results, cells: pd.DataFrame) -> tuple[pd.DataFrame, tuple[ToolLaunch, ...]]:
    """Adds the factors of launches to the cells, and makes the launches: one for each run and number of ranks.

    Launches are numbered among those of the same configuration and operations: tools that measure one operation, such
    as OSU, make a run for each, and runs of different operations are not repetitions.
    """
    numbers: Counter[tuple[object, ...]] = Counter()
    launches: list[tuple[ToolRun, Ints, tuple[str, int, str, int]]] = []
    for (number, ranks, nodes), rows in grouped(cells["run"], cells["ranks"], cells["nodes"]):
        run = results.runs[number]
        variant = counted(nodes, "node") if nodes else DEFAULT_VARIANT
        library = str(run.context.get("library", run.tool))
        key = (library, ranks, variant, *sorted(set(cells["operation"].iloc[rows])))
        numbers[key] += 1
        launches.append((run, rows, (library, ranks, variant, numbers[key])))
    columns: dict[str, NDArray[Any]] = {
        name: np.empty(len(cells), dtype=object)
        for name in ("library", "variant", "synchronizer", "barrier_algorithm", "timing")
    }
    launch_numbers = np.zeros(len(cells), dtype=int)
    for run, rows, (library, _, variant, number) in launches:
        match = START.fullmatch(run.synchronizer)
        start, algorithm, timing = match.groups() if match else (run.synchronizer, None, None)
        values = (library, variant, start, algorithm or DEFAULT_ALGORITHM, timing or run.timing or PER_CALL)
        for name, value in zip(columns, values, strict=True):
            columns[name][rows] = value
        launch_numbers[rows] = number
    table = cells.drop(columns=["run", "nodes", "calls"]).assign(
        **columns,
        environment=DEFAULT_ENVIRONMENT,
        launch=launch_numbers,
        pattern=NO_PATTERN,
        largest_delay=0.0,
        computation=0.0,
        error_bound=np.nan,
        valid_count=cells["calls"],
        rejected=0,
        state="",
    )
    units = {f"{kind}_{statistic}": KINDS[kind].unit for kind, statistic in results.kinds()}
    table.attrs["units"] = Units({"size": "byte", **units})
    return table, tuple(
        ToolLaunch(*key, number, Path(run.path), {}, variant, run=run, table=table, rows=rows)
        for run, rows, (library, ranks, variant, number) in launches
        for key in [(library, ranks, DEFAULT_ENVIRONMENT)]
    )


def number_frames(experiment: ToolExperiment, rows: str) -> Iterator[pd.DataFrame]:
    """Yields tables for export: all numbers with their runs, or the per-call values of each number that has them.

    Args:
        experiment: results of other tools.
        rows: "cells": the numbers; "samples": per-call values.

    Raises:
        UsageError: the results have no such rows.
    """
    results = experiment.results
    runs = [
        {"tool": run.tool, "version": run.version, "file": run.path, "line": run.line, "date": run.date}
        for run in results.runs
    ]
    numbers = results.numbers.frame()
    table = pd.DataFrame(runs).iloc[numbers["run"]].reset_index(drop=True).join(numbers)
    table["unit"] = [KINDS[kind].unit for kind in table["kind"]]
    if rows == "cells":
        table.attrs["units"] = Units({"size": "byte"})
        yield table
    elif rows != "samples" or not results.calls:
        raise UsageError(f"'{experiment.name}' has no {rows}: it has summaries of runs; give --rows cells")
    else:
        for row, read in results.calls.items():
            values = read()
            properties = table.drop(columns=["value", "statistic", "calls"]).iloc[np.full(len(values), row)]
            frame = properties.reset_index(drop=True).assign(call=range(len(values)), value=values)
            frame.attrs["units"] = Units({"size": "byte"})
            yield frame
