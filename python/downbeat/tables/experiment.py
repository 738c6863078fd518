"""Experiments and launches: what was measured on what, then a row per operation and size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.base.text import counted, microseconds
from downbeat.data.cells import CHANGED, hidden_by_step, states_line
from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.experiment.launch_kinds import launch_lines
from downbeat.launchers.libraries import short_version
from downbeat.launchers.simulation import without_seed
from downbeat.statistics.location import FEWEST_SHOWN, Interval, geometric_mean_interval
from downbeat.statistics.modes import unseen_text
from downbeat.tables.table import Block, entry, fits, share, side_by_side, word, wrapped

SCHEMA_VERSION = 1  # of the record
SIDE_BY_SIDE = "synchronizer"
QUANTILES = ("p5", "p95", "p99")
# Columns of a synchronizer: as many as fit, from the first of these lists that does.
COLUMNS = (
    ("median", "+-%", "p5", "p95", "p99"),
    ("median", "+-%", "p95", "p99"),
    ("median", "+-%", "p95"),
    ("median", "+-%"),
    ("median",),
)


def describe_experiment(experiment: Experiment, metric: str) -> list[str]:
    """Returns lines that say what an experiment measured."""
    first = experiment.launches[0].context
    count = len(experiment.launches)
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    lines = [
        f"{experiment.name}: {counted(count, 'launch')}, {first['date']}",
        *entry("MPI", "; ".join(sorted(libraries))),
        *entry("ranks", ", ".join(str(ranks) for ranks in sorted({launch.ranks for launch in experiment.launches}))),
        *entry(*place_of(first)),
        *entry("clock", f"{first['clock_clock']}, synchronized by {first['clock_sync']}"),
        *entry("metric", f"{metric} in us: {METRICS[metric].meaning}"),
    ]
    if experiment.failures:
        failed = len(experiment.failures)
        lines.append(f"  {counted(failed, 'launch')} failed; see {experiment.path / 'failed'}")
    frame = summarize(experiment.cells, shown_factors(experiment), metric)
    table, columns = pivot(frame)
    states = states_line(experiment.cells)
    meanings = [*legend(columns, count), *([f"state: {states}"] if states else [])]
    lines += ["", *table, "", *(line for meaning in meanings for line in wrapped(meaning))]
    noticed = [*notes(frame), *launch_lines(experiment.cells, f"{metric}_median")]
    return [*lines, *(line for note in noticed for line in wrapped(note))]


def place_of(context: Mapping[str, object]) -> tuple[str, str]:
    """Returns where a launch ran: on hosts, or simulated on a platform."""
    if "simulated" in context:
        return "simulated", without_seed(str(context["simulated"])).replace(",", ", ")
    return "hosts", str(context["hosts"])


def experiment_record(experiment: Experiment, metric: str) -> dict[str, object]:
    """Returns the numbers of `downbeat show` for programs: a cell for each combination of factors, times in s."""
    factors = [name for name in FACTORS if name not in IMPLIED]
    frame = summarize(experiment.cells, factors, metric)
    columns = {"median", "low", "high", *QUANTILES}
    return {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "metric": metric,
        "meaning": METRICS[metric].meaning,
        "launches": len(experiment.launches),
        "failed_launches": len(experiment.failures),
        "units": {"size": "byte", "largest_delay": "s"} | dict.fromkeys(sorted(columns), "s"),
        "cells": frame.to_dict("records"),
    }


def legend(columns: Sequence[str], launches: int) -> list[str]:
    """Returns what the columns mean."""
    quantiles = [name for name in columns if name in QUANTILES]
    unseen = unseen_text(launches) if launches else ""
    numbers = ", ".join(name.removeprefix("p") for name in quantiles)
    return [
        "median: over the samples of a launch" + (", then the geometric mean over launches" if launches > 1 else ""),
        *(
            [f"+-%: half of the 95 % interval over launches, in percent of the median; {unseen}"]
            if "+-%" in columns
            else []
        ),
        *([f"{', '.join(quantiles)}: {numbers} % of the samples are below"] if quantiles else []),
    ]


def shown_factors(experiment: Experiment) -> list[str]:
    """Returns the factors that tell the cells of an experiment apart, and those that every table has."""
    return sorted({*experiment.varying(), "operation", "size", SIDE_BY_SIDE}, key=FACTORS.index)


def summarize(cells: pd.DataFrame, factors: Sequence[str], metric: str) -> pd.DataFrame:
    """Summarizes cells over launches.

    Args:
        cells: as `Experiment.cells`, or as `Estimates.frame`, which has no quantiles and no counts.
        factors: what tells the rows apart.
        metric: one of `METRICS`.

    Returns:
        A row per combination of factors: these; `launches`; `median`, the geometric mean of the launches' medians, with
        its 95 % interval `low` to `high`, wider by what the step of the clock hides; `p5`, `p95`, `p99`, medians over
        launches, all in s; `rejected`, the share of attempts that failed to start together; `status`, other than "ok",
        with commas. NaN where there is no number.
    """
    quantiles = [name for name in QUANTILES if f"{metric}_{name}" in cells]
    counted = "rejected" in cells
    rows = []
    for key, group in cells.groupby(list(factors), sort=False, dropna=False):
        hidden = float(hidden_by_step(group, metric).mean())
        in_one_state = group[group["status"] != CHANGED]
        median = geometric_mean_of_launches(in_one_state[f"{metric}_median"].to_numpy(), hidden)
        attempts = group["valid_count"].sum() + group["rejected"].sum() if counted else 0
        rows.append(
            dict(zip(factors, key, strict=True))
            | {"launches": len(group), "median": median.estimate, "low": median.low, "high": median.high}
            | {name: in_one_state[f"{metric}_{name}"].median() for name in quantiles}
            | {"rejected": group["rejected"].sum() / attempts if attempts else np.nan}
            | {"status": ", ".join(sorted(set(group["status"]) - {"ok"}))}
        )
    return pd.DataFrame(rows)


def pivot(frame: pd.DataFrame) -> tuple[list[str], Sequence[str]]:
    """Returns a table with synchronizers side by side, and the names of the columns of each.

    Args:
        frame: factors, among them the synchronizer, then the columns of `summarize`.
    """
    names = [name for name in frame if name in FACTORS and name != SIDE_BY_SIDE]
    labels = list(dict.fromkeys(tuple(word(value) for value in row) for row in frame[names].to_numpy(dtype=object)))
    cells = {
        (str(row[SIDE_BY_SIDE]), tuple(word(row[name]) for name in names)): row for row in frame.to_dict("records")
    }
    titles = list(dict.fromkeys(map(str, frame[SIDE_BY_SIDE])))

    def rows_of(title: str, columns: Sequence[str]) -> list[list[str]]:
        return [texts(cells.get((title, label)), columns) for label in labels]

    # Without an interval, or with two launches, whose interval says little, there is no column for it.
    lone = bool((frame["low"].isna() | (frame["launches"] < FEWEST_SHOWN)).all())
    there = {*frame.columns, *(() if lone else ("+-%",))}
    choices = [tuple(name for name in each if name in there) for each in COLUMNS]
    tables = {
        # A lone column is headed by the synchronizer.
        columns: [
            Block(title if len(columns) > 1 else "", columns if len(columns) > 1 else [title], rows_of(title, columns))
            for title in titles
        ]
        for columns in choices
    }
    whole = (columns for columns in choices if fits(names, labels, tables[columns], 0))
    folded = (columns for columns in choices if fits(names, labels, tables[columns]))
    columns = next(itertools.chain(whole, folded, choices[-2:]))
    return side_by_side(names, labels, tables[columns]), columns


def texts(row: Mapping[Hashable, Any] | None, columns: Sequence[str]) -> list[str]:
    """Returns what a cell has in these columns."""
    if row is None:
        return ["" for _ in columns]
    shown = row["median"] and row["launches"] >= FEWEST_SHOWN
    width = (row["high"] - row["low"]) / (2 * row["median"]) if shown else math.nan
    return [share(width) if name == "+-%" else microseconds(row[name]) for name in columns]


def notes(frame: pd.DataFrame) -> list[str]:
    """Returns what the numbers alone do not show: rejected samples, cells that lack some, launches that lack cells."""
    lines = []
    rejected = frame.groupby(SIDE_BY_SIDE, sort=False)["rejected"].max()
    if (rejected > 0).any():
        most = ", ".join(f"{share(value)} % with {name}" for name, value in rejected.items() if value > 0)
        lines.append(f"rejected, because ranks did not start together, and repeated: up to {most}")
    for status, rows in frame[frame["status"] != ""].groupby("status", sort=False):
        lines.append(f"{status}: {', '.join(names_of(rows))}")
    few = frame[frame["launches"] < frame["launches"].max()]
    lines += [f"in {count} launches only: {', '.join(names_of(rows))}" for count, rows in few.groupby("launches")]
    return lines


def names_of(rows: pd.DataFrame) -> list[str]:
    """Returns what cells are called: the values of their factors."""
    names = [name for name in rows if name in FACTORS]
    return [" ".join(word(value) for value in row) for row in rows[names].to_numpy(dtype=object)]


def geometric_mean_of_launches(medians: NDArray[np.float64], hidden: float = 0.0) -> Interval:
    """Returns the estimate over the launches that have a median; NaN where they have no geometric mean.

    `hidden` is how much all may be off together.
    """
    measured = medians[np.isfinite(medians)]
    if measured.size == 1:
        return Interval(float(measured[0]), np.nan, np.nan, 1)
    # For example the exit skew of a single rank, or of a clock with coarse steps, which can be 0.
    if measured.size == 0 or np.any(measured <= 0):
        return Interval(np.nan, np.nan, np.nan, measured.size)
    return geometric_mean_interval(measured, hidden=hidden)
