"""Opens the file of one launch of downbeat-bench; an error says in one line why a file cannot be used."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import netCDF4
import numpy as np
import pandas as pd

from downbeat.base.files import check_sealed
from downbeat.base.text import Units
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError, reading, refuse_pipe

if TYPE_CHECKING:
    import xarray as xr

MAGIC = b"CDF\x05"
ITEM_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}  # by the format's number of a type


class Header:
    """Reads the parts of a header one after the other."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.stream = stream
        self.size = size  # of the file: a damaged header may claim more than memory holds

    def take(self, size: int) -> bytes:
        """Returns the next bytes.

        Raises:
            EOFError: there are not so many.
        """
        if self.stream.tell() + size > self.size:
            raise EOFError
        return self.stream.read(size)

    def tag(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def number(self) -> int:
        """Returns a number of elements, an identifier, or an offset."""
        return int.from_bytes(self.take(8), "big")

    def skip_padded(self, size: int) -> None:
        self.take(padded(size))

    def skip_attributes(self) -> None:
        self.tag()
        for _ in range(self.number()):
            self.skip_padded(self.number())
            item = ITEM_BYTES[self.tag()]
            self.skip_padded(self.number() * item)


def padded(size: int) -> int:
    """Returns a size rounded up to four bytes, as all in these files is."""
    return -(-size // 4) * 4


def whole_size(path: Path) -> int:
    """Returns the bytes that a file in format CDF-5 with records has when it is whole, by its header; else 0.

    Raises:
        EOFError: it ends within its header.
        KeyError: the header is damaged.
    """
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return 0
        header = Header(stream, path.stat().st_size)
        records = header.number()
        header.tag()
        extents = []
        for _ in range(header.number()):
            header.skip_padded(header.number())
            extents.append(header.number())  # 0: unlimited
        header.skip_attributes()
        header.tag()
        record = 0
        begins = []
        for _ in range(header.number()):
            header.skip_padded(header.number())
            shape = [extents[header.number()] for _ in range(header.number())]
            header.skip_attributes()
            item = ITEM_BYTES[header.tag()]
            header.number()
            begin = header.number()
            if shape and shape[0] == 0:
                record += padded(math.prod(shape[1:]) * item)
                begins.append(begin)
        return min(begins, default=0) + record * records


SCHEMA = "downbeat-bench"
SCHEMA_VERSION = 2  # of 1, CSV and JSON lines had other names; netCDF, which is read here, differs in nothing

# Factors that identify a cell of a launch, by the names of the file. Delay and computation are in seconds.
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
NEEDED = ("status",)  # fields that every version of downbeat-bench writes, and that readers take for granted
CUT_SHORT = "cut short"  # the run ended before the cell was complete


@functools.lru_cache
def known_size(path: Path, size: int, changed: int) -> int:
    """Returns `whole_size`; a file is opened many times, its header read once per size and time of change in ns."""
    del size, changed
    return whole_size(path)


@contextlib.contextmanager
def open_netcdf(path: str | Path) -> Iterator[netCDF4.Dataset]:
    """Opens a file of downbeat-bench, of samples or of an experiment on clocks.

    Raises:
        UsageError: there is no such file, it is not of downbeat-bench, it was cut off, or it is damaged.
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
        needed = known_size(path, size, status.st_mtime_ns)
        with reading(path):
            check_sealed(path, size, status.st_mtime_ns)
        file = netCDF4.Dataset(path)
    except PermissionError as error:
        raise UsageError(f"'{path}' is not readable") from error
    except (EOFError, LookupError) as error:
        raise UsageError(f"'{path}' is cut off or damaged: its header cannot be read") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(foreign) from error
    with file, reading(path):
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
    """Opens a file of downbeat-bench with samples of operations.

    Raises:
        UsageError: those of `open_netcdf`, or the file is of another experiment.
    """
    with open_netcdf(path) as file:
        if "cell_index" not in file.variables:
            raise UsageError(f"'{path}' has no samples of operations; it is: {file.title}")
        yield file


def names(variable: netCDF4.Variable[Any]) -> list[str]:
    """Returns the rows of a variable of characters."""
    rows = np.asarray(variable[:]).astype("S1")
    return [row.tobytes().rstrip(b"\0").decode() for row in rows]


def flags(variable: netCDF4.Variable[Any]) -> dict[int, str]:
    """Returns what the numbers of a variable mean, as it says itself (CF conventions, section 3.5)."""
    return dict(zip(map(int, np.atleast_1d(variable.flag_values)), variable.flag_meanings.split(), strict=True))


def read_cells(file: netCDF4.Dataset) -> pd.DataFrame:
    """Returns one row per cell: all that the file says of it, but for the statistics of metrics.

    That is what the cell is (`CELL_FACTORS`), `status`, and numbers; NaN for what a run that was cut short did not
    write.
    The units that the file gives are in `attrs["units"]`.
    """
    columns: dict[str, object] = {"cell": np.arange(file.dimensions["cell"].size)}
    for name in [*CELL_FACTORS, *(name for name in cell_fields(file) if name not in CELL_FACTORS)]:
        variable = file.variables[name]
        if variable.dtype.kind == "S":
            columns[name] = names(variable)
        elif name == "status" or hasattr(variable, "flag_values"):
            meanings = flags(variable)
            columns[name] = [meanings.get(int(value), CUT_SHORT) for value in variable[:]]
        else:
            columns[name] = numbers(variable)
    if missing := [name for name in NEEDED if name not in columns]:
        raise KeyError(missing[0])
    cells = pd.DataFrame(columns)
    cells.attrs["units"] = Units({name: file.variables[name].units for name in columns if has_unit(file, name)})
    return cells


def cell_fields(file: netCDF4.Dataset) -> list[str]:
    """Returns the names of what a file says of a cell as a whole, the statistics of metrics left out."""
    metrics = tuple(f"{name.removesuffix('_p25')}_" for name in file.variables if name.endswith("_p25"))
    return [
        name
        for name, variable in file.variables.items()
        if variable.dimensions[:1] == ("cell",) and "rank" not in variable.dimensions and not name.startswith(metrics)
    ]


def has_unit(file: netCDF4.Dataset, name: str) -> bool:
    """Whether a file has a variable of that name and says its unit."""
    return name in file.variables and hasattr(file.variables[name], "units")


def numbers(variable: netCDF4.Variable[Any]) -> np.ndarray:
    """Returns numbers in the byte order of this machine, NaN for what was not written."""
    values = np.asarray(variable[:]).astype(variable.dtype.newbyteorder("="))
    unwritten = values == netCDF4.default_fillvals[f"{variable.dtype.kind}{variable.dtype.itemsize}"]
    return np.where(unwritten, np.nan, values) if unwritten.any() else values


def steps_of(file: netCDF4.Dataset, metric: str, resolution: float) -> np.ndarray:
    """Returns the step in which samples of a metric are read, s, shape (cells,); 0 where it has none or is unknown.

    Args:
        file: of samples.
        metric: one of `METRICS`; those that need a common clock have no step.
        resolution: of the ranks' clocks, s.
    """
    calls = np.maximum(np.nan_to_num(numbers(file.variables["calls"]), nan=1), 1)
    if METRICS[metric].clock_bounds:
        return np.zeros(len(calls))
    ranks = file.dimensions["rank"].size
    timed = (
        file.variables["timed"][:].astype(bool).sum(axis=1) if "timed" in file.variables else np.full(len(calls), ranks)
    )
    averaged = np.where(timed > 0, timed, ranks) if metric == "latency_avg" else 1
    return np.asarray(resolution / calls / averaged)


def resolution_of(file: netCDF4.Dataset) -> float:
    """Returns the step of the ranks' clocks in s, the largest; 0 where the file does not say it."""
    return float(getattr(file, "clock_resolution", 0.0))


class Context(dict[str, object]):
    """The context of a launch: the global attributes, numbers as numbers of Python. A missing name is an error."""

    path = ""

    def __missing__(self, name: str) -> object:
        raise UsageError(f"'{self.path}' is damaged: it has no attribute '{name}'")


def context_of(file: netCDF4.Dataset) -> dict[str, object]:
    """Returns the context of a launch."""
    values = {name: file.getncattr(name) for name in file.ncattrs()}
    context = Context(
        {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    )
    context.path = file.filepath()
    return context


def open_launch(path: str | Path) -> xr.Dataset:
    """Opens a launch, or an experiment on clocks or synchronizers, e.g. for a notebook.

    Args:
        path: a `.nc` file of downbeat-bench.

    Returns:
        The file as docs/bench-files.md describes it, read lazily. Times are in seconds; each variable has its unit in
        the attribute `units`. In a file of samples, `CELL_FACTORS` are coordinates of dimension `cell`, names are text,
        and `rank` counts from 0. A run that was cut short leaves NaN for all that it did not write of a cell.

    Raises:
        UsageError: the file is missing, truncated, damaged, or of another program.
    """
    import xarray as xr

    with open_netcdf(path) as file:
        variables = file.variables.items()
        text = {name: names(variable) for name, variable in variables if variable.dtype.kind == "S"}
        # Of samples, which are written as a whole, nothing is missing; they stay where they are until they are read.
        lacking = {name: numbers(one) for name, one in variables if name not in text and "sample" not in one.dimensions}
        data = xr.open_dataset(path, engine="netcdf4", decode_times=False, mask_and_scale=False)
    for name, values in text.items():
        data[name] = (data[name].dims[0], values, data[name].attrs)
    for name, whole in lacking.items():
        data[name] = (data[name].dims, whole, data[name].attrs)
    if "cell_index" in data:
        data = data.set_coords([name for name in CELL_FACTORS if name in data])
    if "rank" in data.dims:
        data = data.assign_coords(rank=np.arange(data.sizes["rank"]))
    return data
