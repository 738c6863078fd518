"""What `downbeat show` prints of experiments, launches and files: what was measured on what, then rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.cell_summaries import hidden_by_step
from downbeat.data.cells import CHANGED
from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.data.states import states_line
from downbeat.output.fields import Field, factor_field, percent, word
from downbeat.run.experiment import FACTORS, Experiment, launch_lines, span_of
from downbeat.run.libraries import short_version
from downbeat.run.simulation import without_seed
from downbeat.show import Sheet
from downbeat.statistics.location import (
    FEWEST_SHOWN,
    Interval,
    typical_interval,
)
from downbeat.statistics.slow_launches import unseen_text
from downbeat.text import counted

SCHEMA_VERSION = 1  # of the record


SIDE_BY_SIDE = "synchronizer"
QUANTILES = ("p5", "p95", "p99")
# Columns of a synchronizer: as many as fit, from the first of these lists that does.
TABLE_COLUMNS = (
    ("median", "half", "p5", "p95", "p99"),
    ("median", "half", "p95", "p99"),
    ("median", "half", "p95"),
    ("median", "half"),
    ("median",),
)


def experiment_sheet(experiment: Experiment, metric: str) -> Sheet:
    """The sheet of an experiment: a row per operation and size, synchronizers side by side."""
    without = experiment.lines_on_metric(metric)
    first = experiment.launches[0].context
    count = len(experiment.launches)
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    factors = shown_factors(experiment)
    frame = summarize_launches(experiment.cells, factors, metric)
    half = (frame["high"] - frame["low"]) / (2 * frame["median"])
    few = (frame["launches"] < FEWEST_SHOWN) | (frame["median"] == 0)
    frame["half"] = half.mask(few)
    # Without an interval, or with two launches, whose interval says little, there is no column for it.
    lone = bool((frame["low"].isna() | (frame["launches"] < FEWEST_SHOWN)).all())
    fields = {name: factor_field(name) for name in factors} | number_fields(count, frame, lone)
    span = span_of(launch.context for launch in experiment.launches)
    choices = [[name for name in each if name in fields] for each in TABLE_COLUMNS]
    states = states_line(experiment.cells)
    failed = f"{counted(len(experiment.failures), 'launch')} failed; see {experiment.path / 'failed'}"
    return Sheet(
        frame,
        fields,
        len(factors),
        SIDE_BY_SIDE,
        choices,
        f"{experiment.name}: {counted(count, 'launch')}, {first['date']}",
        [
            ("MPI", "; ".join(sorted(libraries))),
            ("ranks", ", ".join(str(ranks) for ranks in sorted({launch.ranks for launch in experiment.launches}))),
            place_of(first),
            ("clock", f"{first['clock_clock']}, synchronized by {first['clock_sync']}"),
            ("metric", f"{metric} in us: {METRICS[metric].meaning}"),
            *([("failed", failed)] if experiment.failures else []),
        ],
        [
            unseen_text(int(frame["launches"].min()), span),
            *without,
            *([f"state: {states}"] if states else []),
            *sample_notes(frame),
            *launch_lines(experiment.cells, f"{metric}_median"),
        ],
    )


def number_fields(launches: int, frame: pd.DataFrame, lone: bool) -> dict[str, Field]:
    """The fields of the columns of `summarize_launches` that are shown."""
    typical = ", then the typical launch" if launches > 1 else ""
    half = "half of the 95 % interval of the typical launch, in percent, if launches are independent"
    return {
        "median": Field("median", "time", "s", f"over the samples of a launch{typical}"),
        **({} if lone else {"half": Field("+-%", "share", "", half)}),
        **{
            name: Field(name, "time", "s", f"{name.removeprefix('p')} % of the samples are below")
            for name in QUANTILES
            if name in frame
        },
    }


def place_of(context: Mapping[str, object]) -> tuple[str, str]:
    """The hosts of a launch, or the platform that it was simulated on."""
    if "simulated" in context:
        return "simulated", without_seed(str(context["simulated"])).replace(",", ", ")
    return "hosts", str(context["hosts"])


def experiment_record(experiment: Experiment, metric: str) -> dict[str, object]:
    """The numbers of `downbeat show` for programs: a cell for each combination of factors, times in s."""
    experiment.lines_on_metric(metric)
    factors = [name for name in FACTORS if name not in IMPLIED]
    frame = summarize_launches(experiment.cells, factors, metric)
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


def shown_factors(experiment: Experiment) -> list[str]:
    """The factors that tell the cells of an experiment apart, and those that every table has."""
    return sorted({*experiment.varying(), "operation", "size", SIDE_BY_SIDE}, key=FACTORS.index)


def summarize_launches(cells: pd.DataFrame, factors: Sequence[str], metric: str) -> pd.DataFrame:
    """Summarizes cells over launches.

    Args:
        cells: as `Experiment.cells`, or as `Estimates.frame`, which has no quantiles and no counts.
        factors: what tells the rows apart.
        metric: one of `METRICS`.

    Returns:
        A row per combination of factors: these; `launches`; `median`, the typical one of the launches' medians, with
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
        medians = in_one_state[f"{metric}_median"].to_numpy()
        median = typical_of_launches(medians, hidden)
        attempts = group["valid_count"].sum() + group["rejected"].sum() if counted else 0
        rows.append(
            dict(zip(factors, key, strict=True))
            | {"launches": len(group), "median": median.estimate, "low": median.low, "high": median.high}
            | {name: in_one_state[f"{metric}_{name}"].median() for name in quantiles}
            | {"rejected": group["rejected"].sum() / attempts if attempts else np.nan}
            | {"status": ", ".join(sorted(set(group["status"]) - {"ok"}))}
        )
    return pd.DataFrame(rows)


def sample_notes(frame: pd.DataFrame) -> list[str]:
    """Rejected samples, cells that lack some, launches that lack cells."""
    lines = []
    rejected = frame.groupby(SIDE_BY_SIDE, sort=False)["rejected"].max()
    if (rejected > 0).any():
        most = ", ".join(f"{percent(value)} % with {name}" for name, value in rejected.items() if value > 0)
        lines.append(f"rejected, because ranks did not start together, and repeated: up to {most}")
    for status, rows in frame[frame["status"] != ""].groupby("status", sort=False):
        lines.append(f"{status}: {', '.join(cell_names(rows))}")
    few = frame[frame["launches"] < frame["launches"].max()]
    lines += [f"in {count} launches only: {', '.join(cell_names(rows))}" for count, rows in few.groupby("launches")]
    return lines


def cell_names(rows: pd.DataFrame) -> list[str]:
    """The values of the factors of each row."""
    names = [name for name in rows if name in FACTORS]
    return [" ".join(word(value) for value in row) for row in rows[names].to_numpy(dtype=object)]


def typical_of_launches(medians: NDArray[np.float64], hidden: float = 0.0) -> Interval:
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
