"""Summaries of the cells of a launch, computed from its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.launch_file import open_samples, read_cells
from downbeat.data.metrics import METRICS
from downbeat.data.samples import sample_metrics
from downbeat.data.units import units_of

# Over the valid samples of a cell; percentiles by linear interpolation, as downbeat-bench.
PERCENTILES = {"min": 0, "p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}
STATISTICS = ("mean", *PERCENTILES)
VERDICTS = {"valid_count": 0, "late_flag": 1, "late_entry": 2, "discarded": 3}


def summarize_cells(path: str | Path, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """Summarises the cells of a launch; memory does not grow with ranks.

    Args:
        path: a file `.nc` with samples of operations.
        metrics: names out of `downbeat.data.metrics.METRICS`; all by default.

    Returns:
        One row per cell: what it is (`operation`, `size` in byte and the other `CELL_FACTORS`), `status` (`ok`,
        `incomplete`, `failed`, `wrong`, or `cut short` where the run ended before the cell was complete), `error_bound`
        and `wall_time` in s, the counts of valid, late and warm-up samples, and `<metric>_<statistic>` in s for
        `STATISTICS`, NaN where no sample is valid. The units are in `attrs["units"]`.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    data = sample_metrics(path, metrics)
    with open_samples(path) as file:
        cells = read_cells(file)
    index = data["cell_index"].to_numpy()
    verdict = data["verdict"].to_numpy()
    for column, number in VERDICTS.items():
        cells[column] = np.bincount(index[verdict == number], minlength=len(cells))
    cells["rejected"] = cells["late_flag"] + cells["late_entry"]
    valid = np.flatnonzero(verdict == 0)
    order = valid[np.argsort(index[valid], kind="stable")]
    borders = np.searchsorted(index[order], np.arange(len(cells) + 1))
    columns: dict[str, np.ndarray] = {}
    for metric in data.data_vars:
        if metric not in METRICS:
            continue
        values = data[metric].to_numpy()[order]
        parts = [values[borders[i] : borders[i + 1]] for i in range(len(cells))]
        quantiles = per_cell(parts, lambda part: np.percentile(part, list(PERCENTILES.values())), len(PERCENTILES))
        columns[f"{metric}_mean"] = per_cell(parts, np.mean, 1)[:, 0]
        columns |= {f"{metric}_{name}": quantiles[:, i] for i, name in enumerate(PERCENTILES)}
    summary = pd.concat([cells, pd.DataFrame(columns)], axis=1)
    summary.attrs["units"] = units_of(summary)
    return summary


def per_cell(parts: list[np.ndarray], function: Callable[[np.ndarray], object], numbers: int) -> np.ndarray:
    """Returns what a function makes of each cell's samples, shape (cells, numbers), NaN where there are none."""
    rows = [np.asarray(function(part) if len(part) else np.nan, dtype=float) for part in parts]
    return np.stack([np.broadcast_to(row, numbers) for row in rows]) if rows else np.empty((0, numbers))
