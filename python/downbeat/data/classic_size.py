"""How long a file in netCDF's classic format must be: the library reads zeros where a file was cut off."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

# Sizes in bytes in the format CDF-5 (netCDF file format specification, "The NetCDF Classic Format").
NUMBER = 8  # of elements, of dimensions, identifiers, offsets
TAG = 4
MAGIC = 4


def padded(size: int) -> int:
    """Returns a size rounded up to four bytes, as all in these files is."""
    return -(-size // 4) * 4


def text(name: str) -> int:
    """Returns the size of a name in the header."""
    return NUMBER + padded(len(name.encode()))


def attributes(holder: netCDF4.Dataset | netCDF4.Variable[Any]) -> int:
    """Returns the size of a list of attributes in the header."""
    size = TAG + NUMBER
    for name in holder.ncattrs():
        value = holder.getncattr(name)
        content = len(value.encode()) if isinstance(value, str) else np.asarray(value).nbytes
        size += text(name) + TAG + NUMBER + padded(content)
    return size


def whole_size(path: Path, file: netCDF4.Dataset) -> int:
    """Returns the bytes that a file in format CDF-5 with a record dimension has when it is whole, by its header."""
    position = MAGIC + NUMBER
    position += TAG + NUMBER + sum(text(name) + NUMBER for name in file.dimensions)
    position += attributes(file)
    position += TAG + NUMBER
    records = record = 0
    begins = []
    with path.open("rb") as content:
        for name, variable in file.variables.items():
            position += text(name) + NUMBER + NUMBER * variable.ndim + attributes(variable) + TAG + NUMBER + NUMBER
            dimensions = variable.get_dims()
            if not (dimensions and dimensions[0].isunlimited()):
                continue
            extents = [dimension.size for dimension in dimensions[1:]]
            record += padded(math.prod(extents) * variable.dtype.itemsize)
            records = dimensions[0].size
            # Where the variable begins is the last that the header says of it.
            content.seek(position - NUMBER)
            begins.append(int.from_bytes(content.read(NUMBER), "big"))
    return min(begins) + record * records if begins else position
