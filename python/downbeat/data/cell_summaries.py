"""Summarizes the samples of each cell of a launch file: counts of verdicts, and statistics of the metrics.

A cell is an operation with a size, a synchronizer and other settings (`CELL_FACTORS`); a launch measures several cells.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.cells import STATISTICS, STEP
from downbeat.data.launch_file import metrics_of, open_samples, read_cells, steps_of
from downbeat.data.metrics import METRICS
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.samples import Samples, read_samples
from downbeat.statistics.series import grouped_median, step_in
from downbeat.text import Units

# Statistics over the valid samples of a cell; percentiles by linear interpolation, like downbeat-bench.
PERCENTILES = {"min": 0, "p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}
# Column of the summary -> the verdict on samples that it counts.
COUNTED = {
    "valid_count": "valid",
    "late_flag": "late_flag",
    "late_entry": "late_entry",
    "overrun": "overrun",
    "discarded": "warmup",
}


def summarize_cells(path: str | Path, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """Summarizes the cells of a launch; memory does not grow with the number of ranks.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: their names, as `downbeat-bench list metric` shows them; all by default.

    Returns:
        One row per cell: `operation`, `size` in byte and the other `CELL_FACTORS`; `status` (`ok`, `incomplete`,
        `failed`, `wrong`, or `cut short` if the run ended before the cell was complete); the other
        fields of a cell in docs/data.md, e.g. `error_bound` and `wall_time` in s; the counts of valid,
        late and warm-up samples are counted anew; `<metric>_<statistic>` in s for `STATISTICS`, the median interpolated
        within the step of the clock, NaN where no sample is valid, or the metric came after the file; and
        `<metric>_step`, that step as it is seen in the samples, of metrics that have one. The units are in
        `attrs["units"]`.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    samples = read_samples(path, metrics)
    with open_samples(path) as file:
        cells = read_cells(file)
        # Step of the ranks' clocks, largest over ranks, s. Older files do not have it.
        resolution = float(getattr(file, "clock_resolution", 0.0)) or step_in_samples(file, samples)
        steps = {name: steps_of(file, name, resolution) for name in metrics_of(file) if name in samples.source}
    index = samples.cell_index
    for column, name in COUNTED.items():
        cells[column] = np.bincount(index[samples.with_verdict(name)], minlength=len(cells))
    cells["rejected"] = cells["late_flag"] + cells["late_entry"] + cells["overrun"]
    valid = np.flatnonzero(samples.with_verdict("valid"))
    # Sort the valid samples by cell; those of cell i are begins[i] : begins[i + 1].
    order = valid[np.argsort(index[valid], kind="stable")]
    begins = np.searchsorted(index[order], np.arange(len(cells) + 1))
    units = dict(cells.attrs["units"])
    names = list(steps)
    values = np.array([samples.metric(name)[order] for name in names]).reshape(len(names), len(order))
    numbers = np.full((len(names), len(STATISTICS), len(cells)), np.nan)
    counts = np.diff(begins)
    # Cells with equal numbers of samples are summarized together, which is fast: most cells have equal numbers.
    for count in np.unique(counts[counts > 0]):
        group = np.flatnonzero(counts == count)
        in_group = values[:, begins[group][:, np.newaxis] + np.arange(count)]  # shape (metrics, cells, samples)
        numbers[:, 0, group] = in_group.mean(axis=2)  # STATISTICS[0] is the mean, the others are PERCENTILES
        numbers[:, 1:, group] = np.percentile(in_group, list(PERCENTILES.values()), axis=2).swapaxes(0, 1)
        for metric, cell in itertools.product(range(len(names)), group):
            step = steps[names[metric]][cell]
            if step > 0:
                median = grouped_median(values[metric, begins[cell] : begins[cell + 1]], step)
                numbers[metric, STATISTICS.index("median"), cell] = median
    columns = {
        f"{name}_{statistic}": numbers[i, j] for i, name in enumerate(names) for j, statistic in enumerate(STATISTICS)
    }
    columns |= {f"{name}_{STEP}": step for name, step in steps.items() if step.any()}
    units |= {column: str(samples.source.attrs[column.rpartition("_")[0]]["units"]) for column in columns}
    if metrics is None:  # metrics that are newer than the file
        missing = [f"{name}_{statistic}" for name in METRICS if name not in steps for statistic in STATISTICS]
        columns |= dict.fromkeys(missing, np.full(len(cells), np.nan))
        units |= dict.fromkeys(missing, "s")
    summary = pd.concat([cells, pd.DataFrame(columns)], axis=1)
    summary.attrs["units"] = Units(units)
    return summary


def step_in_samples(file: NetcdfFile, samples: Samples) -> float:
    """Estimates the step of the clocks from samples, s, for files that do not have it; 0 if unknown."""
    latencies = [samples.metric(name) for name in ("latency_min", "latency_max") if name in samples.source]
    if not latencies:
        return 0.0
    # With several calls per sample, a latency is a mean, and its step is a fraction of the clock's. steps_of returns
    # this fraction for a clock with step 1.
    is_single_call = steps_of(file, "latency_min", 1.0)[samples.cell_index] == 1
    return step_in(np.concatenate([values[is_single_call] for values in latencies]))
