"""Results of other tools as experiments: a run of a tool is a launch, and each kind of its numbers a metric."""

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

from downbeat.data.cells import NO_PATTERN, OK, PER_CALL, USUAL, WRONG
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

CELL = ("operation", "size", "datatype", "algorithm")  # factors that numbers have themselves
AGAIN = "numbers measured again in the same run, left out"
START = re.compile(r"(\w+)(?:\[(\w+)\])?(?:, (\w+))?")  # `mpi_barrier[tree], window`, as `Factors.started_by`
MAGIC = (b"CDF\1", b"CDF\2", b"CDF\5", b"\x89HDF")  # of netCDF
SHOWN_FROM = 100  # files: reading fewer takes no second


@dataclass(frozen=True)
class ToolLaunch(Launch):
    """The cells of a run of another tool with one number of ranks.

    Attributes:
        run: the run.
        table: the cells of all launches.
        rows: of this launch in the table.
    """

    run: ToolRun = field(kw_only=True)
    table: pd.DataFrame = field(kw_only=True, repr=False)
    rows: Ints = field(kw_only=True, repr=False)

    @cached_property
    def context(self) -> dict[str, object]:
        """What the file says of the run."""
        return {"tool": self.run.tool, "tool_version": self.run.version, "date": self.run.date, **self.run.context}

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, with columns as of `summarize_cells` where the tool has the numbers."""
        return self.table.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The kinds of its numbers."""
        present = self.cells.columns[self.cells.notna().any()]
        return tuple(name for name in KINDS if any(str(column).startswith(f"{name}_") for column in present))


@dataclass(frozen=True)
class ToolExperiment(Experiment):
    """Results of other tools.

    Attributes:
        results: the runs and their numbers.
        sources: paths that were given.
        table: the cells of all launches.
    """

    results: Results = field(kw_only=True, repr=False)
    sources: tuple[str, ...] = field(kw_only=True)
    table: pd.DataFrame = field(kw_only=True, repr=False)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row per launch and cell, as of experiments of ours."""
        return self.table

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Metrics and statistics of the numbers."""
        return self.results.kinds()

    def lines_on_metric(self, metric: str) -> list[str]:
        """No lines: launches of operations without the metric are no older ones.

        Raises:
            UsageError: there are no such numbers.
        """
        if metric not in {kind for kind, _ in self.kinds}:
            raise UsageError(f"'{self.name}' has no numbers of kind {metric}; it has {self.kind_names}")
        return []

    @property
    def kind_names(self) -> str:
        """The kinds of the numbers, for messages."""
        return ", ".join(f"{kind} ({statistic})" for kind, statistic in self.kinds)

    def with_ranks(self, ranks: int) -> ToolExperiment:
        """The same results with a number of ranks for launches that do not say theirs."""
        table = self.table.assign(ranks=self.table["ranks"].replace(0, ranks))
        table.attrs = self.table.attrs
        launches = [each if each.ranks else dataclasses.replace(each, ranks=ranks) for each in self.launches]
        return dataclasses.replace(self, launches=tuple(launches), table=table)


def open_results(paths: Sequence[str | Path]) -> Experiment:
    """Opens what an argument, or several of one side, are: an experiment of ours, or results of other tools.

    Raises:
        UsageError: they are neither; those of `open_experiment` and `read_results`.
    """
    if len(paths) == 1 and is_ours(Path(paths[0])):
        return open_experiment(paths[0])
    for path in map(Path, paths):
        if path.exists() and is_ours(path) and not recognizes(path):
            raise UsageError(f"'{path}' is not of another tool, so it is read alone; give one such path")
    results = read_results(paths, progress_of(paths))
    return tool_experiment(results, paths)


def is_ours(path: Path) -> bool:
    """Whether a path is to be opened as an experiment of ours: it looks like one, or no reader knows it."""
    if path.is_dir():
        return (path / layout.PLAN).is_file() or any(path.glob("*.nc")) or not recognizes(path)
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return path.suffix == ".nc" or file.read(4) in MAGIC


def is_of_tool(path: Path) -> bool:
    """Whether a path has results of another tool."""
    return path.exists() and not is_ours(path) and (path.is_dir() or recognizes(path))


def progress_of(paths: Sequence[str | Path]) -> Progress:
    """Shows the progress through many files, or a directory."""
    return show_progress if len(paths) >= SHOWN_FROM or Path(paths[0]).is_dir() else no_progress


def show_progress(number: int, count: int) -> None:
    """Shows the number of files that are read, on a terminal."""
    if sys.stderr.isatty():
        replace_line(f"{number + 1} of {count} files", ended=number + 1 == count)


def tool_experiment(results: Results, paths: Sequence[str | Path]) -> ToolExperiment:
    """Results as an experiment."""
    first = Path(paths[0])
    parents = {Path(path).resolve().parent for path in paths}
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    name = parents.pop().name if len(paths) > 1 and len(parents) == 1 and first.parent.name else first.name + more
    table, again = cell_table(results)
    results = dataclasses.replace(results, damages=(*results.damages, *again))
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
    """A row for each run and cell, with a column for each kind and statistic; numbers that are there twice."""
    numbers = results.numbers.frame()
    for name in numbers.columns[numbers.dtypes == "category"]:
        numbers[name] = numbers[name].astype(object)
    numbers["column"] = numbers["kind"] + "_" + numbers["statistic"]
    rates = numbers["kind"].map(lambda kind: KINDS[kind].is_rate)
    numbers.loc[rates & (numbers["value"] == 0), "value"] = np.nan  # no bytes per second of empty messages
    names = list(zip(numbers["operation"], numbers["setting"], strict=True))
    numbers["operation"] = [
        f"{operation.rstrip(')')}{',' if '(' in operation else '('}{setting})" if setting else operation
        for operation, setting in names
    ]
    key = ["run", "ranks", "nodes", *CELL]
    twice = numbers.duplicated([*key, "column"])
    damages = []
    if twice.any():
        run = results.runs[int(numbers.loc[twice, "run"].iloc[0])]
        damages.append(Damage(run.path, run.line, AGAIN, int(twice.sum()), numbers.loc[twice, "run"].nunique()))
    numbers = numbers[~twice]
    table = numbers.set_index([*key, "column"])["value"].unstack("column")
    groups = numbers.groupby(key, sort=False)
    about = pd.DataFrame(
        {
            "calls": groups["calls"].max(),
            "status": groups["status"].agg(lambda each: WRONG if WRONG in set(each) else OK),
        }
    )
    return about.join(table).reset_index(), tuple(damages)


def with_launches(results: Results, cells: pd.DataFrame) -> tuple[pd.DataFrame, tuple[ToolLaunch, ...]]:
    """Cells with the factors of their launches: a launch for each run and number of ranks.

    Launches are numbered among those of the same configuration and operations, for tools that measure one operation,
    such as OSU, make a run for each.
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
        values = (library, variant, start, algorithm or USUAL, timing or run.timing or PER_CALL)
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
    """Yields the numbers, a row each with its run, or the per-call values of those that have them.

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
            about = table.drop(columns=["value", "statistic", "calls"]).iloc[np.full(len(values), row)]
            frame = about.reset_index(drop=True).assign(call=range(len(values)), value=values)
            frame.attrs["units"] = Units({"size": "byte"})
            yield frame
