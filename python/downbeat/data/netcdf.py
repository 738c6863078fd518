"""Reads netCDF classic files (CDF-1, CDF-2, and CDF-5, which downbeat-bench writes) lazily, without a library.

https://parallel-netcdf.github.io/doc/c-reference/pnetcdf-c/CDF_002d5-file-format-specification.html
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"CDF"
WIDTHS = {1: (4, 4), 2: (4, 8), 5: (8, 8)}  # version -> bytes of a count and of an offset
# The format's number of a type -> numpy's type.
TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: ">u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
TEXT = 2  # the format's number of the type of texts
# Type -> fill value, the value of elements that were never written.
LARGE = 1.875 * 2.0**122
UNWRITTEN = {"i1": -127, "i2": -32767, "i4": -2147483647, "i8": -9223372036854775806, "f4": LARGE, "f8": LARGE}


class Header:
    """Reads the fields of a header one after the other.

    Raises:
        EOFError: the file ends too early.
        KeyError: the header has an unknown type.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.position = len(MAGIC) + 1
        self.width, self.offset_width = WIDTHS[data[len(MAGIC)]]

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes, and skips padding to a multiple of four."""
        if self.position + size > len(self.data):  # a damaged header may have a size larger than memory
            raise EOFError
        begin = self.position
        self.position += padded(size)
        return self.data[begin : begin + size]

    def number(self, size: int = 0) -> int:
        """Returns an integer of `size` bytes; 0: the width of counts and identifiers in this version."""
        return int.from_bytes(self.take(size or self.width), "big")

    def name(self) -> str:
        """Returns a name: its length, then its bytes."""
        return self.take(self.number()).decode()

    def attributes(self) -> dict[str, Any]:
        """Returns a list of attributes: texts, numbers, or arrays of several numbers."""
        attributes: dict[str, Any] = {}
        self.number(4)  # tag of a list of attributes
        for _ in range(self.number()):
            name, kind = self.name(), self.number(4)
            dtype = np.dtype(TYPES[kind])
            raw = self.take(self.number() * dtype.itemsize)
            if kind == TEXT:
                attributes[name] = raw.rstrip(b"\0").decode()
            else:
                values = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
                attributes[name] = values[0] if len(values) == 1 else values
        return attributes


def padded(size: int) -> int:
    """Rounds a size in bytes up to a multiple of four, the alignment in these files."""
    return -(-size // 4) * 4


class Attributed:
    """Base of files and variables: their netCDF attributes are also Python attributes."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.attributes = attributes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (any type of the file)
        try:
            return self.__dict__["attributes"][name]
        except KeyError:
            raise AttributeError(f"it has no attribute '{name}'") from None


class Variable(Attributed):
    """A variable: `variable[key]` reads the selected values, in the byte order of the file, after `map_values`."""

    def __init__(self, name: str, dimensions: tuple[str, ...], attributes: dict[str, Any], dtype: str) -> None:
        super().__init__(attributes)
        self.name = name
        self.dimensions = dimensions
        self.dtype = np.dtype(dtype)

    def map_values(self, data: mmap.mmap, begin: int, shape: tuple[int, ...], record: int) -> None:
        """Maps the values of the variable in a file.

        Args:
            data: the file.
            begin: offset of the first value, bytes.
            shape: shape of the variable.
            record: bytes between successive indices of the first dimension; 0: the values are contiguous.

        Raises:
            EOFError: the file ends too early.
        """
        self.shape = shape
        strides = [math.prod(shape[i + 1 :]) * self.dtype.itemsize for i in range(len(shape))]
        end = begin + (strides[0] if record else math.prod(shape) * self.dtype.itemsize)
        if record and shape[0]:
            strides[0] = record
            end += (shape[0] - 1) * record
        if math.prod(shape) and end > len(data):
            raise EOFError
        self.data = data
        self.view: np.ndarray = np.ndarray(shape, self.dtype, data, begin if math.prod(shape) else 0, tuple(strides))

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 (as numpy)
        values = np.array(self.view[key])
        if values.nbytes > mmap.PAGESIZE:
            self.data.madvise(mmap.MADV_DONTNEED)  # frees the pages, so that large files do not fill memory
        return values


class NetcdfFile(Attributed):
    """A netCDF file; its global attributes, e.g. `title`, are Python attributes.

    Attributes:
        path: path of the file.
        dimensions: name -> length.
        variables: name -> variable.
        complete_size: size of the complete file according to its header, bytes; 0: the file has no records.

    Raises:
        ValueError: the file is in another format.
        EOFError, LookupError, UnicodeError: the header is cut off or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise ValueError("it is not in the classic format")
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        header = Header(data)
        records = header.number()  # number of records: the length of a dimension with length 0
        header.number(4)  # tag of the list of dimensions
        lengths = [(header.name(), header.number()) for _ in range(header.number())]
        super().__init__(header.attributes())
        self.dimensions = {name: length or records for name, length in lengths}
        header.number(4)  # tag of the list of variables
        self.variables: dict[str, Variable] = {}
        layouts: list[tuple[Variable, int, tuple[int, ...], bool]] = []  # variable, offset, shape, whether in records
        record_size = 0  # a record has a row of each variable whose first dimension is that of records
        for _ in range(header.number()):
            name = header.name()
            dimensions = [lengths[header.number()] for _ in range(header.number())]
            names = tuple(dimension for dimension, _ in dimensions)
            variable = Variable(name, names, header.attributes(), TYPES[header.number(4)])
            header.number()  # size of the variable, which follows from its shape
            in_records = bool(dimensions) and dimensions[0][1] == 0
            if in_records:
                record_size += padded(math.prod(length for _, length in dimensions[1:]) * variable.dtype.itemsize)
            offset = header.number(header.offset_width)
            layouts.append((variable, offset, tuple(length or records for _, length in dimensions), in_records))
            self.variables[name] = variable
        first_record = min((offset for _, offset, _, in_records in layouts if in_records), default=0)
        self.complete_size = first_record + record_size * records
        if len(data) >= self.complete_size:
            for variable, offset, shape, in_records in layouts:
                variable.map_values(data, offset, shape, record_size if in_records else 0)
