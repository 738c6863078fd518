"""Metrics of every sample of a launch, in one pass over the file, however many ranks and samples it has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray as xr

from downbeat.data.launch_file import open_samples, read_cells
from downbeat.data.metrics import METRICS, Stamps
from downbeat.errors import UsageError

# Of each variable that is read at a time: enough to make the passes rare, little beside the memory of a laptop.
CHUNK_BYTES = 32 << 20
KEPT = ("cell_index", "block", "attempt", "verdict", "deadline", "slack")


def sample_metrics(path: str | Path, metrics: Iterable[str] | None = None) -> xr.Dataset:
    """Computes the metrics of every sample of a launch.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: names in `downbeat.data.metrics.METRICS`; all by default.

    Returns:
        A dataset with dimension `sample`, in the order of measurement, including warm-up and rejected samples:
        `cell_index`, `block`, `attempt`, `verdict` (0 valid, 1 late_flag, 2 late_entry, 3 warmup, 4 overrun),
        `deadline`, `slack` and `begin` (first entry), all on the global clock, and one variable per metric. Times are
        in seconds.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    wanted = list(METRICS) if metrics is None else list(metrics)
    for name in wanted:
        if name not in METRICS:
            raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(METRICS)}")
    with open_samples(path) as file:
        cells = read_cells(file)
        kept = {name: native(file.variables[name][:]) for name in KEPT}
        index = kept["cell_index"]
        if len(index) and (index.min() < 0 or index.max() >= len(cells)):
            raise UsageError(f"'{path}' is damaged: it has samples of unknown cells")
        computed = stream(file, wanted, kept, cells["calls"].to_numpy())
        attributes = {name: attributes_of(file.variables[name]) for name in ("entry", *KEPT)}
    data = {name: ("sample", values, attributes[name]) for name, values in kept.items()}
    for name, values in computed.items():
        meaning = METRICS[name].meaning if name in METRICS else "first entry into the operation, global clock"
        data[name] = ("sample", values, {"units": attributes["entry"]["units"], "long_name": meaning})
    return xr.Dataset(data)


def attributes_of(variable: netCDF4.Variable[Any]) -> dict[str, object]:
    """Returns what a variable says of itself."""
    return {name: variable.getncattr(name) for name in variable.ncattrs()}


def verdicts(samples: xr.Dataset) -> list[str]:
    """Returns the verdicts on samples, as the file names them, in the order of their numbers."""
    return str(samples["verdict"].attrs["flag_meanings"]).split()


def native(values: np.ndarray) -> np.ndarray:
    """Returns values in the byte order of this machine, which pandas insists on."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def stream(
    file: netCDF4.Dataset, wanted: list[str], kept: dict[str, np.ndarray], calls: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns metrics and `begin` of all samples; reads `CHUNK_BYTES` of a variable at a time."""
    samples, ranks = file.variables["entry"].shape
    timed = file.variables["timed"][:].astype(bool) if "timed" in file.variables else np.ones((len(calls), ranks), bool)
    observed = int(getattr(file, "observed_rank", 0))
    results = {name: np.empty(samples) for name in ["begin", *wanted]}
    index = kept["cell_index"]
    chunk = max(1, CHUNK_BYTES // (8 * ranks))
    for start in range(0, samples, chunk):
        rows = slice(start, min(start + chunk, samples))
        entry, exit_, delay = (native(file.variables[name][rows]) for name in ("entry", "exit", "delay"))
        results["begin"][rows] = entry.min(axis=1)
        # Samples of a cell stand together, block by block.
        borders = np.flatnonzero(np.diff(index[rows])) + 1
        for first, last in zip([0, *borders], [*borders, rows.stop - rows.start], strict=True):
            cell = index[start + first]
            part = slice(first, last)
            stamps = Stamps(
                entry=entry[part],
                exit=exit_[part],
                delay=delay[part],
                deadline=kept["deadline"][start + first : start + last],
                timed=timed[cell] if timed[cell].any() else np.ones(ranks, bool),
                calls=max(1, int(calls[cell])),
                observed=observed,
            )
            for name in wanted:
                results[name][start + first : start + last] = METRICS[name].compute(stamps)
    return results
