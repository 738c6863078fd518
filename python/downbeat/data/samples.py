"""Metrics of every sample of a launch, in one pass over the file, however many ranks and samples it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.data.launch_file import CELL_FACTORS, flags, numbers, open_samples, read_cells, xarray
from downbeat.data.metrics import METRICS, Stamps
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError

if TYPE_CHECKING:
    import xarray as xr

# Read from each variable at a time: few passes, little of a laptop's memory.
CHUNK_BYTES = 32 << 20
VERDICTS = ("valid", "late_flag", "late_entry", "warmup", "overrun")
KEPT = ("cell_index", "block", "attempt", "verdict", "deadline", "slack")


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
    samples = read_samples(path, metrics)
    columns = {name: ("sample", values, samples.attributes[name]) for name, values in samples.columns.items()}
    found: xr.Dataset = xarray().Dataset(columns)
    return found


def read_samples(path: str | Path, metrics: Iterable[str] | None = None) -> Samples:
    """Computes what `sample_metrics` returns, without loading xarray."""
    wanted = list(METRICS) if metrics is None else list(metrics)
    for name in wanted:
        if name not in METRICS:
            raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(METRICS)}")
    with open_samples(path) as file:
        check_samples(path, file)
        kept = {name: native(file.variables[name][:]) for name in KEPT}
        computed = stream(file, wanted, kept)
        attributes: dict[str, dict[str, object]] = {
            name: dict(file.variables[name].attributes) for name in ("entry", *KEPT)
        }
        unit = attributes["entry"]["units"]
    for name in computed:
        meaning = METRICS[name].meaning if name in METRICS else "first entry into the operation, global clock"
        attributes[name] = {"units": unit, "long_name": meaning}
    columns = kept | computed
    return Samples(columns, {name: attributes[name] for name in columns})


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


def stream(file: NetcdfFile, wanted: list[str], kept: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns metrics and `begin` of all samples; reads `CHUNK_BYTES` of a variable at a time."""
    samples, ranks = file.variables["entry"].shape
    # Missing in a cell without samples: the run was cut short.
    calls = np.nan_to_num(numbers(file.variables["calls"]), nan=1)
    timed = file.variables["timed"][:].astype(bool) if "timed" in file.variables else np.ones((len(calls), ranks), bool)
    observed = int(getattr(file, "observed_rank", 0))
    results = {name: np.empty(samples) for name in ["begin", *wanted]}
    # Cells with the same calls and the same timed ranks are computed together: runs of one cell are short.
    groups: dict[tuple[int, bytes], int] = {}
    kinds = [(max(1, int(count)), mask.tobytes()) for count, mask in zip(calls, timed, strict=True)]
    group_of_cell = np.array([groups.setdefault(kind, len(groups)) for kind in kinds], dtype=int)
    chunk = max(1, CHUNK_BYTES // (8 * ranks))
    for start in range(0, samples, chunk):
        rows = slice(start, min(start + chunk, samples))
        entry, exit_, delay = (native(file.variables[name][rows]) for name in ("entry", "exit", "delay"))
        results["begin"][rows] = entry.min(axis=1)
        group = group_of_cell[kept["cell_index"][rows]]
        for (count, mask), number in groups.items():
            mine = np.flatnonzero(group == number)
            if not len(mine):
                continue
            ranks_timed = np.frombuffer(mask, dtype=bool)
            stamps = Stamps(
                entry=entry[mine],
                exit=exit_[mine],
                delay=delay[mine],
                deadline=kept["deadline"][start + mine],
                timed=ranks_timed if ranks_timed.any() else np.ones(ranks, bool),
                calls=count,
                observed=observed,
            )
            for name in wanted:
                results[name][start + mine] = METRICS[name].compute(stamps)
    return results


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
