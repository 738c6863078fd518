"""Opens what one launch of downbeat-bench left behind, and says in one line what is wrong with what is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pandas as pd
import xarray as xr

from downbeat.data.classic_size import whole_size
from downbeat.errors import UsageError

SCHEMA = "downbeat-bench"
SCHEMA_VERSION = 1

# What tells the cells of a launch apart, by the names of the file. A delay, a computation are seconds.
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
# Follow from the operation, and would only widen a table.
IMPLIED = {"datatype", "computation"}
# Of the numbers that the file has for a cell, those that are no statistics of metrics, and cannot be had from samples.
CELL_NUMBERS = ("requested", "calls", "error_bound", "wall_time", "validated", "wrong")
STATUS = {0: "ok", 1: "incomplete", 2: "failed", 3: "wrong"}
CUT_SHORT = "cut short"  # the run ended before the cell was complete


@contextlib.contextmanager
def open_netcdf(path: str | Path) -> Iterator[netCDF4.Dataset]:
    """Opens a file of downbeat-bench, of samples or of an experiment on clocks.

    Raises:
        UsageError: there is no such file, it is not of downbeat-bench, or it was cut off.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"there is no file '{path}'")
    if path.is_dir():
        raise UsageError(f"'{path}' is a directory; a file .nc of downbeat-bench is wanted")
    foreign = f"'{path}' is not a file of downbeat-bench (.nc, netCDF)"
    size = path.stat().st_size
    if size == 0:
        raise UsageError(f"'{path}' is empty; the launch that was to write it ended before it began to measure")
    try:
        needed = whole_size(path)
        file = netCDF4.Dataset(path)
    except PermissionError as error:
        raise UsageError(f"'{path}' may not be read") from error
    except (EOFError, KeyError) as error:
        raise UsageError(f"'{path}' is cut off or damaged: its header cannot be read") from error
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise UsageError(foreign) from error
    with file:
        if getattr(file, "schema", None) != SCHEMA:
            raise UsageError(foreign)
        version = int(getattr(file, "schema_version", 0))
        if version > SCHEMA_VERSION:
            raise UsageError(f"'{path}' has schema version {version}; this downbeat reads up to {SCHEMA_VERSION}")
        if size < needed:
            raise UsageError(f"'{path}' is cut off: it has {size} of {needed} bytes")
        file.set_auto_mask(False)
        file.set_auto_chartostring(False)  # files of clocks say _Encoding, and netCDF4 would make words of them
        yield file


@contextlib.contextmanager
def open_samples(path: str | Path) -> Iterator[netCDF4.Dataset]:
    """Opens a file of downbeat-bench that holds samples of operations.

    Raises:
        UsageError: as `open_netcdf`, or the file is of another experiment.
    """
    with open_netcdf(path) as file:
        if "cell_index" not in file.variables:
            raise UsageError(f"'{path}' holds no samples of operations, but: {file.title}")
        yield file


def names(variable: netCDF4.Variable[Any]) -> list[str]:
    """Returns the rows of a variable of characters."""
    rows = np.asarray(variable[:]).astype("S1")
    return [row.tobytes().rstrip(b"\0").decode() for row in rows]


def read_cells(file: netCDF4.Dataset) -> pd.DataFrame:
    """Returns one row per cell: what it is (`CELL_FACTORS`), `status`, and `CELL_NUMBERS`."""
    columns: dict[str, object] = {"cell": np.arange(file.dimensions["cell"].size)}
    for name in CELL_FACTORS:
        variable = file.variables[name]
        columns[name] = (
            names(variable) if variable.dtype.kind == "S" else variable[:].astype(variable.dtype.newbyteorder("="))
        )
    columns["status"] = [STATUS.get(int(value), CUT_SHORT) for value in file.variables["status"][:]]
    for name in CELL_NUMBERS:
        variable = file.variables[name]
        columns[name] = variable[:].astype(variable.dtype.newbyteorder("="))
    return pd.DataFrame(columns)


def context_of(file: netCDF4.Dataset) -> dict[str, object]:
    """Returns the context of a launch: the global attributes, numbers as numbers of Python."""
    values = {name: file.getncattr(name) for name in file.ncattrs()}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def open_launch(path: str | Path) -> xr.Dataset:
    """Opens a launch, or an experiment on clocks or synchronizers, for work in a notebook.

    Args:
        path: a file `.nc` of downbeat-bench.

    Returns:
        The file as it is documented in docs/downbeat-bench.md, read as it is used. Times are seconds, the unit of each
        variable is its attribute `units`. In a file of samples what identifies the cells (`CELL_FACTORS`) are
        coordinates of dimension `cell`, names are text, and `rank` counts from 0.

    Raises:
        UsageError: the file is missing, foreign, or cut off; one line says which.
    """
    with open_netcdf(path) as file:
        text = {name: names(variable) for name, variable in file.variables.items() if variable.dtype.kind == "S"}
    data = xr.open_dataset(path, engine="netcdf4", decode_times=False, mask_and_scale=False)
    for name, values in text.items():
        data[name] = (data[name].dims[0], values, data[name].attrs)
    if "cell_index" in data:
        data = data.set_coords([name for name in CELL_FACTORS if name in data])
    if "rank" in data.dims:
        data = data.assign_coords(rank=np.arange(data.sizes["rank"]))
    return data
