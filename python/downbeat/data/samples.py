"""Reads the samples of a launch file, with their metrics.

A sample is a measured call of a cell's operation on all ranks; a metric is a number of it, e.g. the makespan.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.data.launch_file import flags, metrics_of, open_samples, read_cells
from downbeat.data.metrics import METRICS
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError
from downbeat.tables import Flags, Floats, Ints, Wide, column

if TYPE_CHECKING:
    import xarray as xr

# Verdicts that every file names; a sample is valid, warm-up, or rejected for one of the other reasons.
VERDICTS = ("valid", "late_flag", "late_entry", "warmup", "overrun")


class Samples(Wide):
    """The samples of a launch, in the order of measurement; `attrs` of the frame has the attributes of each column."""

    cell_index: Ints = column("row of the sample's cell, from 0")
    block: Ints = column("number of the block of samples in which it was measured")
    attempt: Ints = column("number of the attempt in its cell")
    verdict: Ints = column("number of the verdict, an index of the file's names")
    deadline: Floats = column("common start of all ranks on the global clock; NaN: there is none", "s")
    slack: Floats = column("time from the root's decision to the deadline", "s")
    begin: Floats = column("first entry, on the global clock", "s")

    def metric(self, name: str) -> Floats:
        """Returns the values of a metric that was read, s."""
        return self.source[name].to_numpy()

    def with_verdict(self, name: str) -> Flags:
        """Returns flags of the samples with the verdict `name`."""
        return np.asarray(self.verdict == self.verdicts().index(name))

    def verdicts(self) -> list[str]:
        """Returns the names of verdicts in the file, in the order of their numbers."""
        return str(self.source.attrs["verdict"]["flag_meanings"]).split()


SAMPLE_FACTORS = ("operation", "size", "synchronizer")  # factors of the cell that are coordinates of a dataset
SAMPLE_VARIABLES = tuple(each.name for each in Samples.columns())  # variables of a file other than metrics


def sample_metrics(path: str | Path, metrics: Iterable[str] | None = None) -> xr.Dataset:
    """Reads the metrics of every sample of a launch.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: their names, as `downbeat-bench list metric` shows them; all by default.

    Returns:
        A dataset with dimension `sample`, in the order of measurement, including warm-up and rejected samples:
        `cell_index`, `block`, `attempt`, `verdict` (0 valid, 1 late_flag, 2 late_entry, 3 warmup, 4 overrun),
        `deadline`, `slack` and `begin` (first entry), all on the global clock, and a variable per metric. Times are in
        seconds. Coordinates `operation`, `size` (bytes) and `synchronizer` are those of the sample's cell, so that
        they are columns of `to_dataframe()`.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    import xarray as xr

    samples = read_samples(path, metrics)
    frame = samples.frame()
    with open_samples(path) as file:
        cells = read_cells(file).iloc[samples.cell_index]
    return xr.Dataset(
        {str(name): ("sample", values.to_numpy(), frame.attrs[name]) for name, values in frame.items()},
        coords={name: ("sample", cells[name].to_numpy()) for name in SAMPLE_FACTORS},
    )


def read_samples(path: str | Path, metrics: Iterable[str] | None = None) -> Samples:
    """Reads the samples and metrics of `sample_metrics`, without loading xarray."""
    with open_samples(path) as file:
        check_samples(path, file)
        known = metrics_of(file)
        requested = known if metrics is None else list(metrics)
        for name in requested:
            if name not in known:
                if name in METRICS:
                    raise UsageError(no_metric_text(path, name))
                raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(known)}")
        read = [file.variables[name] for name in (*SAMPLE_VARIABLES, *requested)]
        frame = pd.DataFrame({variable.name: native(variable[:]) for variable in read}, copy=False)
        frame.attrs = {variable.name: dict(variable.attributes) for variable in read}
        return Samples.of(frame)


def no_metric_text(path: str | Path, metric: str) -> str:
    """Returns the text of the error if a file lacks a metric that older versions of downbeat-bench did not write."""
    return f"'{path}' has no metric '{metric}': the downbeat-bench that wrote it did not have it yet; choose another"


def check_samples(path: str | Path, file: NetcdfFile) -> None:
    """Checks that each sample has a cell of the file, and a verdict that the file names.

    Raises:
        UsageError: the file is damaged.
    """
    index = file.variables["cell_index"][:]
    if len(index) and (index.min() < 0 or index.max() >= file.dimensions["cell"]):
        raise UsageError(f"'{path}' is damaged: it has samples of unknown cells")
    variable = file.variables["verdict"]
    meanings = flags(variable)
    if missing := set(VERDICTS) - set(meanings.values()):
        raise UsageError(f"'{path}' is damaged: it has no verdict '{min(missing)}'")
    unknown = {int(number) for number in np.unique(variable[:])} - set(meanings)
    if unknown or list(meanings) != list(range(len(meanings))):
        raise UsageError(f"'{path}' is damaged: it has samples of unknown verdicts")


def native(values: np.ndarray) -> np.ndarray:
    """Returns values in the byte order of this machine, which pandas needs."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)
