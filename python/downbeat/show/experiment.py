"""Experiments and launches: what was measured on what, and a row per cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.mpi.libraries import short_version
from downbeat.show.table import table
from downbeat.statistics.location import geometric_mean_interval

MICROSECONDS = 1e6  # per second
QUANTILES = ("p5", "p95", "p99")


def describe_experiment(experiment: Experiment, metric: str) -> list[str]:
    """Returns lines that tell what an experiment measured."""
    first = experiment.launches[0].context
    count = len(experiment.launches)
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    lines = [
        f"{experiment.name}: {count} launch{'es' if count > 1 else ''}, {first['date']}",
        f"  MPI      {'; '.join(sorted(libraries))}",
        f"  ranks    {', '.join(str(ranks) for ranks in sorted({launch.ranks for launch in experiment.launches}))}",
        f"  machine  {first['hosts']}",
        f"  clock    {first['clock_clock']}, synchronized by {first['clock_sync']}",
    ]
    if experiment.failures:
        failed = len(experiment.failures)
        lines.append(f"  {failed} launch{'es' if failed > 1 else ''} failed; see {experiment.path / 'failed'}")
    lines += ["", f"{metric}: {METRICS[metric].meaning}", "median: geometric mean of the launches' medians [us]"]
    if count > 1:
        lines[-1] += ", with its 95 % interval"
    return [*lines, "", *cell_table(experiment, metric)]


def cell_table(experiment: Experiment, metric: str) -> list[str]:
    """Returns a row per cell: all launches together, factors that vary first."""
    cells = experiment.cells
    shown = experiment.varying()
    shown = sorted({*shown, "operation", "size", "synchronizer"}, key=FACTORS.index)
    rows = []
    for key, group in cells.groupby(shown, sort=False):
        medians = group[f"{metric}_median"].to_numpy()
        interval = geometric_mean_interval(medians[np.isfinite(medians)]) if np.isfinite(medians).any() else None
        attempts = group["valid_count"].sum() + group["rejected"].sum()
        rejected = f"{100 * group['rejected'].sum() / attempts:.1f}%" if attempts else "-"
        status = sorted(set(group["status"]) - {"ok"})
        rows.append(
            [
                *map(word, key),
                str(len(group)),
                microseconds(interval.estimate) if interval else "-",
                f"{microseconds(interval.low)} {microseconds(interval.high)}"
                if interval and np.isfinite(interval.low)
                else "-",
                *(microseconds(group[f"{metric}_{name}"].median()) for name in QUANTILES),
                rejected,
                ", ".join(status),
            ]
        )
    header = [*shown, "launches", "median", "interval", *QUANTILES, "rejected", ""]
    return table(header, rows, words=len(shown))


def word(value: object) -> str:
    """Returns a factor's value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def microseconds(seconds: float) -> str:
    """Returns a time as it is printed; `-` for none."""
    return "-" if pd.isna(seconds) else f"{seconds * MICROSECONDS:.2f}"
