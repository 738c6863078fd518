"""Opens the file of a launch of downbeat-bench; if a file cannot be used, the error gives the reason in one line.

A launch measures cells: combinations of operation, size, synchronizer and other factors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.data.netcdf import UNWRITTEN, NetcdfFile, Variable
from downbeat.errors import UsageError, reading, refuse_pipe
from downbeat.files import check_sealed
from downbeat.text import Units

if TYPE_CHECKING:
    import xarray as xr

SCHEMA = "downbeat-bench"
SCHEMA_VERSION = 3  # since then files have the metrics of samples
# Metrics that every file of this schema has. Older files lack the other metrics of `METRICS`.
FIRST_METRICS = (
    *("latency_avg", "latency_max", "latency_min", "latency_observed", "global_time", "makespan", "after_last_entry"),
    *("exit_skew", "end_skew", "imbalance_worst", "imbalance_mean"),
)

# Factors that identify a cell of a launch, by their names in the file. Delay and computation are in seconds.
CELL_FACTORS = (
    "operation",
    "size",
    "datatype",
    "algorithm",
    "synchronizer",
    "barrier_algorithm",
    "timing",
    "pattern",
    "largest_delay",
    "computation",
)
# Factors that follow from the operation, so that tables leave them out.
IMPLIED = {"datatype", "computation"}
NEEDED_VARIABLES = ("status",)  # variables that every version of downbeat-bench writes
CUT_SHORT = "cut short"  # status of a cell that was not complete when the run ended


@contextlib.contextmanager
def open_netcdf(path: str | Path) -> Iterator[NetcdfFile]:
    """Opens a file of downbeat-bench, of samples or of an experiment on clocks.

    Raises:
        UsageError: the file does not exist, is not of downbeat-bench, was cut off, or is damaged.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"there is no file '{path}'")
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; give a .nc file of downbeat-bench")
    refuse_pipe(path)
    foreign = f"'{path}' is not a file of downbeat-bench (.nc, netCDF)"
    status = path.stat()
    size = status.st_size
    if size == 0:
        raise UsageError(f"'{path}' is empty: the launch ended before it measured anything")
    try:
        file = NetcdfFile(path)
        with reading(path):
            check_sealed(path, size, status.st_mtime_ns)
    except PermissionError as error:
        raise UsageError(f"'{path}' is not readable") from error
    except (EOFError, LookupError, UnicodeError) as error:
        raise UsageError(f"'{path}' is cut off or damaged: its header cannot be read") from error
    except (OSError, ValueError) as error:
        raise UsageError(foreign) from error
    with reading(path):
        if getattr(file, "schema", None) != SCHEMA:
            raise UsageError(foreign)
        version = int(getattr(file, "schema_version", 0))
        if version != SCHEMA_VERSION:
            release, revision = getattr(file, "downbeat_version", "unknown"), getattr(file, "git_revision", "unknown")
            raise UsageError(
                f"'{path}' has schema version {version}, and this downbeat reads {SCHEMA_VERSION}; "
                f"read it with the downbeat that wrote it, {release} ({revision})"
            )
        if size < file.complete_size:
            raise UsageError(f"'{path}' is cut off: it has {size} of {file.complete_size} bytes")
        yield file


@contextlib.contextmanager
def open_samples(path: str | Path) -> Iterator[NetcdfFile]:
    """Opens a file of downbeat-bench with samples of operations.

    Raises:
        UsageError: those of `open_netcdf`, or the file is of another experiment.
    """
    with open_netcdf(path) as file:
        if "cell_index" not in file.variables:
            raise UsageError(f"'{path}' has no samples of operations; it is: {file.title}")
        yield file


def texts_in(variable: Variable) -> list[str]:
    """Returns the rows of a variable of characters as texts."""
    rows = np.asarray(variable[:]).astype("S1")
    return [row.tobytes().rstrip(b"\0").decode() for row in rows]


def flags(variable: Variable) -> dict[int, str]:
    """Returns the meaning of each value of a variable, from its attributes (CF conventions, section 3.5)."""
    return dict(zip(map(int, np.atleast_1d(variable.flag_values)), variable.flag_meanings.split(), strict=True))


def read_cells(file: NetcdfFile) -> pd.DataFrame:
    """Returns one row per cell: its factors (`CELL_FACTORS`), `status`, and numbers.

    Numbers that a run that was cut short did not write are NaN. The units of the file are in `attrs["units"]`.
    """
    columns: dict[str, object] = {"cell": np.arange(file.dimensions["cell"])}
    for name in [*CELL_FACTORS, *(name for name in cell_fields(file) if name not in CELL_FACTORS)]:
        variable = file.variables[name]
        if variable.dtype.kind == "S":
            columns[name] = texts_in(variable)
        elif name == "status" or hasattr(variable, "flag_values"):
            meanings = flags(variable)
            columns[name] = [meanings.get(int(value), CUT_SHORT) for value in variable[:]]
        else:
            columns[name] = numbers_in(variable)
    if missing := [name for name in NEEDED_VARIABLES if name not in columns]:
        raise KeyError(missing[0])
    cells = pd.DataFrame(columns)
    with_units = [name for name in columns if name in file.variables and hasattr(file.variables[name], "units")]
    cells.attrs["units"] = Units({name: file.variables[name].units for name in with_units})
    return cells


def cell_fields(file: NetcdfFile) -> list[str]:
    """Returns the names of variables with a single number or text per cell."""
    return [
        name
        for name, variable in file.variables.items()
        if variable.dimensions[:1] == ("cell",)
        and "rank" not in variable.dimensions
        and len(variable.dimensions) == (2 if variable.dtype.kind == "S" else 1)
    ]


def metrics_of(file: NetcdfFile) -> list[str]:
    """Returns the names of the metrics in a file; a file of a newer version may have metrics that `METRICS` lacks.

    Raises:
        KeyError: the file lacks one of `FIRST_METRICS`.
    """
    names = [name for name, variable in file.variables.items() if {"clock_bounds", "units"} <= set(variable.attributes)]
    if missing := [name for name in FIRST_METRICS if name not in names]:
        raise KeyError(missing[0])
    return names


def numbers_in(variable: Variable) -> np.ndarray:
    """Returns numbers in the byte order of this machine, NaN for values that were not written."""
    values = np.asarray(variable[:]).astype(variable.dtype.newbyteorder("="))
    unwritten = values == UNWRITTEN[f"{variable.dtype.kind}{variable.dtype.itemsize}"]
    return np.where(unwritten, np.nan, values) if unwritten.any() else values


def steps_of(file: NetcdfFile, metric: str, resolution: float) -> np.ndarray:
    """Returns the smallest difference of two samples of a metric, for each cell, s; 0: none, or unknown.

    It is the step of the clocks, divided by the number of calls and ranks that a sample is the mean of.

    Args:
        file: with samples.
        metric: one of `metrics_of`; metrics that need a common clock have no step.
        resolution: step of the ranks' clocks, s.
    """
    calls = np.maximum(np.nan_to_num(numbers_in(file.variables["calls"]), nan=1), 1)  # per sample
    kind = file.variables[metric].step
    if kind == "none":
        return np.zeros(len(calls))
    steps = resolution / calls
    if kind == "per call and timed rank":
        ranks = np.full(len(calls), file.dimensions["rank"])
        if "timed" in file.variables:  # flags of the ranks whose times enter the mean
            timed = file.variables["timed"][:].astype(bool).sum(axis=1)
            ranks = np.where(timed > 0, timed, ranks)
        steps = steps / ranks
    return np.asarray(steps)


class Context(dict[str, object]):
    """The context of a launch: its global attributes, numbers as Python numbers. A missing attribute is an error."""

    path = ""  # of the file, for errors

    def __missing__(self, name: str) -> object:
        raise UsageError(f"'{self.path}' is damaged: it has no attribute '{name}'")


def context_of(file: NetcdfFile) -> dict[str, object]:
    """Returns the context of a launch: the global attributes of its file."""
    context = Context(
        {name: value.item() if isinstance(value, np.generic) else value for name, value in file.attributes.items()}
    )
    context.path = str(file.path)
    return context


def open_launch(path: str | Path) -> xr.Dataset:
    """Opens a launch, or an experiment on clocks or synchronizers, e.g. for a notebook.

    Args:
        path: a `.nc` file of downbeat-bench.

    Returns:
        The file as docs/data.md describes it, read lazily. Times are in seconds; each variable has its unit in
        the attribute `units`. In a file of samples, `CELL_FACTORS` are coordinates of dimension `cell`, names are text,
        and `rank` counts from 0. A run that was cut short leaves NaN for all that it did not write of a cell.

    Raises:
        UsageError: the file is missing, truncated, damaged, or of another program.
    """
    import xarray as xr
    from xarray.core import indexing

    class Lazy(xr.backends.BackendArray):
        """Values that are read when they are used."""

        def __init__(self, variable: Variable) -> None:
            self.variable, self.shape = variable, variable.shape
            self.dtype = variable.dtype.newbyteorder("=")

        def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
            read = lambda index: np.asarray(self.variable[index], self.dtype)  # noqa: E731
            return np.asarray(indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, read))

    def content(variable: Variable) -> tuple[tuple[str, ...], object]:
        if variable.dtype.kind == "S":
            return variable.dimensions[:1], texts_in(variable)
        # Variables of samples have no missing values; they are read from the file when they are used.
        if "sample" in variable.dimensions:
            return variable.dimensions, indexing.LazilyIndexedArray(Lazy(variable))
        return variable.dimensions, numbers_in(variable)

    with open_netcdf(path) as file:
        data = xr.Dataset(
            {name: (*content(variable), variable.attributes) for name, variable in file.variables.items()},
            attrs=file.attributes,
        )
    if "cell_index" in data:
        data = data.set_coords([name for name in CELL_FACTORS if name in data])
    if "rank" in data.dims:
        data = data.assign_coords(rank=np.arange(data.sizes["rank"]))
    return data
