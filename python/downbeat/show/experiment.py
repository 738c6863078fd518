"""Experiments and launches: what was measured on what, and a row per cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.mpi.libraries import short_version
from downbeat.show.table import entry, folded, microseconds, word, wrapped
from downbeat.statistics.location import Interval, geometric_mean_interval

QUANTILES = ("p5", "p95", "p99")


def describe_experiment(experiment: Experiment, metric: str) -> list[str]:
    """Returns lines that tell what an experiment measured."""
    first = experiment.launches[0].context
    count = len(experiment.launches)
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    lines = [
        f"{experiment.name}: {count} launch{'es' if count > 1 else ''}, {first['date']}",
        *entry("MPI", "; ".join(sorted(libraries))),
        *entry("ranks", ", ".join(str(ranks) for ranks in sorted({launch.ranks for launch in experiment.launches}))),
        *entry("hosts", str(first["hosts"])),
        *entry("clock", f"{first['clock_clock']}, synchronized by {first['clock_sync']}"),
    ]
    if "synchronizer" not in experiment.varying():
        lines += entry("start", f"synchronizer {experiment.cells['synchronizer'].iloc[0]}")
    if experiment.failures:
        failed = len(experiment.failures)
        lines.append(f"  {failed} launch{'es' if failed > 1 else ''} failed; see {experiment.path / 'failed'}")
    median = "median: geometric mean of the launches' medians [us], with its 95 % interval"
    lines += ["", *wrapped(f"{metric}: {METRICS[metric].meaning}"), *wrapped(median if count > 1 else "median [us]")]
    return [*lines, "", *cell_table(experiment, metric)]


def cell_table(experiment: Experiment, metric: str) -> list[str]:
    """Returns a row per cell: all launches together, factors that vary first."""
    cells = experiment.cells
    shown = sorted({*experiment.varying(), "operation", "size"}, key=FACTORS.index)
    rows = []
    for key, group in cells.groupby(shown, sort=False):
        median = over_launches(group[f"{metric}_median"].to_numpy())
        attempts = group["valid_count"].sum() + group["rejected"].sum()
        rejected = f"{100 * group['rejected'].sum() / attempts:.1f}%" if attempts else "-"
        status = sorted(set(group["status"]) - {"ok"})
        rows.append(
            [
                *map(word, key),
                str(len(group)),
                microseconds(median.estimate),
                "-" if np.isnan(median.low) else f"{microseconds(median.low)} {microseconds(median.high)}",
                *(microseconds(group[f"{metric}_{name}"].median()) for name in QUANTILES),
                rejected,
                ", ".join(status),
            ]
        )
    header = [*shown, "launches", "median", "interval", *QUANTILES, "rejected", ""]
    return folded(header, rows, words=len(shown))


def over_launches(medians: NDArray[np.float64]) -> Interval:
    """Returns what stands for the launches that have a median; NaN where they have no geometric mean."""
    measured = medians[np.isfinite(medians)]
    if measured.size == 1:
        return Interval(float(measured[0]), np.nan, np.nan, 1)
    # As the exit skew of a single rank, or of a clock with coarse steps, which can be 0.
    if measured.size == 0 or np.any(measured <= 0):
        return Interval(np.nan, np.nan, np.nan, measured.size)
    return geometric_mean_interval(measured)
