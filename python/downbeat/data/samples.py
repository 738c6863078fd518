"""Metrics of every sample of a launch, as downbeat-bench computed them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.data.launch_file import CELL_FACTORS, flags, metrics_of, open_samples, read_cells, xarray
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError

if TYPE_CHECKING:
    import xarray as xr

# Read from each variable at a time: few passes, little of a laptop's memory.
CHUNK_BYTES = 32 << 20
VERDICTS = ("valid", "late_flag", "late_entry", "warmup", "overrun")
KEPT = ("cell_index", "block", "attempt", "verdict", "deadline", "slack", "begin")


@dataclass(frozen=True)
class Samples:
    """The samples of a launch, in the order of measurement; `sample_metrics` describes the columns.

    Attributes:
        columns: shape (samples,) each.
        attributes: what is said of each column, by the names of CF conventions.
    """

    columns: dict[str, np.ndarray]
    attributes: dict[str, dict[str, object]]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def with_verdict(self, name: str) -> np.ndarray:
        """Returns which samples have a verdict, by its name in the file."""
        return np.asarray(self.columns["verdict"] == self.verdicts().index(name))

    def verdicts(self) -> list[str]:
        """Returns the verdicts, as the file names them, in the order of their numbers."""
        return str(self.attributes["verdict"]["flag_meanings"]).split()


def sample_metrics(path: str | Path, metrics: Iterable[str] | None = None) -> xr.Dataset:
    """Reads the metrics of every sample of a launch.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: their names, as `downbeat-bench list metric` shows them; all by default.

    Returns:
        A dataset with dimension `sample`, in the order of measurement, including warm-up and rejected samples:
        `cell_index`, `block`, `attempt`, `verdict` (0 valid, 1 late_flag, 2 late_entry, 3 warmup, 4 overrun),
        `deadline`, `slack` and `begin` (first entry), all on the global clock, and one variable per metric. Times are
        in seconds.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    samples = read_samples(path, metrics)
    columns = {name: ("sample", values, samples.attributes[name]) for name, values in samples.columns.items()}
    found: xr.Dataset = xarray().Dataset(columns)
    return found


def read_samples(path: str | Path, metrics: Iterable[str] | None = None) -> Samples:
    """Reads what `sample_metrics` returns, without loading xarray."""
    with open_samples(path) as file:
        check_samples(path, file)
        known = metrics_of(file)
        wanted = known if metrics is None else list(metrics)
        for name in wanted:
            if name not in known:
                raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(known)}")
        read = [file.variables[name] for name in (*KEPT, *wanted)]
        return Samples(
            {variable.name: native(variable[:]) for variable in read},
            {variable.name: dict(variable.attributes) for variable in read},
        )


def check_samples(path: str | Path, file: NetcdfFile) -> None:
    """Checks that each sample is of a cell of the file, and has a verdict that it names.

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
    """Returns values in the byte order of this machine, which pandas insists on."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def exit_pattern(path: str | Path) -> pd.DataFrame:
    """Computes when each rank leaves each synchronizer, after the first of the same sample (Hunold 2015, Fig. 4).

    The instant is that of entering the operation, planned delays taken out. Memory does not grow with samples.

    Args:
        path: a file `.nc` with samples of operations.

    Returns:
        One row per cell with valid samples and rank: `CELL_FACTORS`, `rank`, `exit` in s, and `samples`, their number.

    Raises:
        UsageError: a file that `open_launch` would refuse.
    """
    with open_samples(path) as file:
        cells = read_cells(file)
        index = native(file.variables["cell_index"][:])
        valid = native(file.variables["verdict"][:]) == 0
        samples, ranks = file.variables["entry"].shape
        sums = np.zeros((len(cells), ranks))
        chunk = max(1, CHUNK_BYTES // (8 * ranks))
        for start in range(0, samples, chunk):
            rows = slice(start, start + chunk)
            entry, delay = (native(file.variables[name][rows]) for name in ("entry", "delay"))
            left = entry - delay
            after_first = left - left.min(axis=1, keepdims=True)
            for cell in np.unique(index[rows]):
                sums[cell] += after_first[valid[rows] & (index[rows] == cell)].sum(axis=0)
    counts = np.bincount(index[valid], minlength=len(cells))
    measured = np.flatnonzero(counts)
    frame = cells.loc[np.repeat(measured, ranks), list(CELL_FACTORS)].reset_index(drop=True)
    return frame.assign(
        rank=np.tile(np.arange(ranks), len(measured)),
        exit=(sums[measured] / counts[measured, None]).ravel(),
        samples=np.repeat(counts[measured], ranks),
    )
