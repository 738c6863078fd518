"""The view of `downbeat show`: the measurement, a table with a row per operation and size, and notes on its limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from downbeat.comparison.conditions import SYNCHRONIZER
from downbeat.comparison.summaries import QUANTILES, SUMMARY_COLUMNS, CellSummaries, summaries_of
from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.output.blocks import Depth, Line, Table, Terms, View
from downbeat.output.facts import Fact
from downbeat.output.facts.comparison import Unseen
from downbeat.output.facts.experiment import FewerLaunches, NotOk, Rejected, Remark
from downbeat.output.fields import Field, factor_field, synchronizer_name
from downbeat.run.experiment import FACTORS, Experiment, launch_lines, span_of
from downbeat.run.libraries import short_version
from downbeat.run.simulation import hosts_or_platform
from downbeat.statistics.location import MIN_SHOWN
from downbeat.text import counted
from downbeat.views.experiment import machine_states

SCHEMA_VERSION = 1  # of the record


# Columns of a synchronizer: the table has the first of these lists that fits.
TABLE_COLUMNS = (
    ("median", "half", "p5", "p95", "p99"),
    ("median", "half", "p95", "p99"),
    ("median", "half", "p95"),
    ("median", "half"),
    ("median",),
)


def results_view(experiment: Experiment, metric: str) -> View:
    """Returns the view of the results of an experiment, synchronizers side by side."""
    missing_metric_notes, cells = experiment.lines_on_metric(metric), experiment.cell_table
    first = experiment.launches[0].context
    count = len(experiment.launches)
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    factors = shown_factors(experiment)
    summaries = summaries_of(cells, factors, metric)
    no_interval = (summaries.launches < MIN_SHOWN) | (summaries.median == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.where(no_interval, np.nan, (summaries.high - summaries.low) / (2 * summaries.median))
    # No column if no cell has an interval that is worth printing; the interval of two launches is too wide.
    hide_half = bool((np.isnan(summaries.low) | (summaries.launches < MIN_SHOWN)).all())
    fields = {name: factor_field(name) for name in factors} | number_fields(count, hide_half)
    span = span_of(launch.context for launch in experiment.launches)
    choices = [[name for name in names if name in fields] for names in TABLE_COLUMNS]
    failed = f"{counted(len(experiment.failures), 'launch')} failed; see {experiment.path / 'failed'}"
    head = (
        ("MPI", "; ".join(sorted(libraries))),
        ("ranks", ", ".join(str(ranks) for ranks in sorted({launch.ranks for launch in experiment.launches}))),
        hosts_or_platform(first),
        ("clock", f"{first['clock_clock']}, synchronized by {first['clock_sync']}"),
        ("metric", f"{metric} in us: {METRICS[metric].meaning}"),
        *([("failed", failed)] if experiment.failures else []),
    )
    notes = (
        Unseen(int(summaries.launches.min()), span),
        *map(Remark, missing_metric_notes),
        *machine_states(cells),
        *sample_facts(summaries, factors),
        *map(Remark, launch_lines(experiment.cells, f"{metric}_median")),
    )
    rows = summaries.frame().assign(half=half)
    return View(
        f"{experiment.name}: {counted(count, 'launch')}, {first['date']}",
        (
            Terms(head, depth=Depth.TEXT),
            Table("", rows, fields, len(factors), SYNCHRONIZER, choices),
            *(Line(note, "note") for note in notes),
        ),
        record=results_record(experiment, metric),
    )


def number_fields(launches: int, hide_half: bool) -> dict[str, Field]:
    """Returns the fields of the shown columns of `CellSummaries`; `hide_half`: no column for half of the interval."""
    typical = ", then the typical launch" if launches > 1 else ""
    half = "half of the 95 % interval of the typical launch, in percent, if launches are independent"
    return {
        "median": Field("median", "time", "s", f"over the samples of a launch{typical}"),
        **({} if hide_half else {"half": Field("+-%", "share", "", half)}),
        **{
            name: Field(name, "time", "s", f"{name.removeprefix('p')} % of the samples are below") for name in QUANTILES
        },
    }


def results_record(experiment: Experiment, metric: str) -> dict[str, object]:
    """Returns the numbers of `downbeat show` for programs: a cell for each combination of factors, times in s."""
    experiment.lines_on_metric(metric)  # raises if no launch has the metric
    factors = [name for name in FACTORS if name not in IMPLIED]
    summaries = summaries_of(experiment.cell_table, factors, metric)
    columns = {"median", "low", "high", *QUANTILES}
    return {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "metric": metric,
        "meaning": METRICS[metric].meaning,
        "launches": len(experiment.launches),
        "failed_launches": len(experiment.failures),
        "units": {"size": "byte", "largest_delay": "s"} | dict.fromkeys(sorted(columns), "s"),
        "cells": summaries.frame(*factors, *SUMMARY_COLUMNS).to_dict("records"),
    }


def shown_factors(experiment: Experiment) -> list[str]:
    """Returns the factors that vary among the cells of an experiment, and those that every table has."""
    return sorted({*experiment.varying(), "operation", "size", SYNCHRONIZER}, key=FACTORS.index)


def sample_facts(cells: CellSummaries, factors: Sequence[str]) -> list[Fact]:
    """Returns notes on rejected samples, incomplete cells, and cells with fewer launches than others."""
    names = np.array([" ".join(map(synchronizer_name, row)) for row in cells.values(*factors)], dtype=object)
    largest_shares = {name: np.nanmax(rows.rejected, initial=0.0) for name, rows in cells.groups(cells.synchronizer)}
    shares = tuple((str(name), float(value)) for name, value in largest_shares.items() if value > 0)
    statuses = dict.fromkeys(cells.status[cells.status != ""])
    fewer = sorted(set(cells.launches[cells.launches < cells.launches.max()].tolist()))
    return [
        *([Rejected(shares)] if shares else []),
        *(NotOk(str(status), tuple(names[cells.status == status].tolist())) for status in statuses),
        *(FewerLaunches(count, tuple(names[cells.launches == count].tolist())) for count in fewer),
    ]
