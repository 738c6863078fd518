"""Reads netCDF classic files, as downbeat-bench writes them (CDF-5), or CDF-1 and CDF-2: without a library, lazily.

https://parallel-netcdf.github.io/doc/c-reference/pnetcdf-c/CDF_002d5-file-format-specification.html
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np

NETCDF_MAGIC = b"CDF"
NETCDF_WIDTHS = {1: (4, 4), 2: (4, 8), 5: (8, 8)}  # bytes of counts and of offsets, by version
# By the format's number of a type.
TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: ">u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
TEXT = 2
# Fill values: the contents of elements that were never written.
LARGE = 1.875 * 2.0**122
UNWRITTEN = {"i1": -127, "i2": -32767, "i4": -2147483647, "i8": -9223372036854775806, "f4": LARGE, "f8": LARGE}


class Header:
    """Reads the parts of a header one after the other.

    Raises:
        EOFError: it ends too early.
        KeyError: an unknown type.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.place = len(NETCDF_MAGIC) + 1
        self.width, self.offset_width = NETCDF_WIDTHS[data[len(NETCDF_MAGIC)]]

    def take(self, size: int) -> bytes:
        """Returns the next bytes; what follows begins at a multiple of four."""
        if self.place + size > len(self.data):  # a damaged header may claim more than memory holds
            raise EOFError
        begin = self.place
        self.place += padded(size)
        return self.data[begin : begin + size]

    def number(self, size: int = 0) -> int:
        """Returns a number of elements, or an identifier; with 4 bytes a type or a tag."""
        return int.from_bytes(self.take(size or self.width), "big")

    def name(self) -> str:
        return self.take(self.number()).decode()

    def attributes(self) -> dict[str, Any]:
        attributes = {}
        self.number(4)
        for _ in range(self.number()):
            name, kind = self.name(), self.number(4)
            dtype = np.dtype(TYPES[kind])
            raw = self.take(self.number() * dtype.itemsize)
            values = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
            attributes[name] = raw.rstrip(b"\0").decode() if kind == TEXT else values[0] if len(values) == 1 else values
        return attributes


def padded(size: int) -> int:
    """Returns a size rounded up to four bytes, as all in these files is."""
    return -(-size // 4) * 4


class Attributed:
    """Has attributes, also by their names."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.attributes = attributes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (what the file says)
        try:
            return self.__dict__["attributes"][name]
        except KeyError:
            raise AttributeError(f"it has no attribute '{name}'") from None


class Variable(Attributed):
    """A variable: `variable[key]` reads that part of it, in the byte order of the file."""

    def __init__(self, name: str, dimensions: tuple[str, ...], attributes: dict[str, Any], dtype: str) -> None:
        super().__init__(attributes)
        self.name = name
        self.dimensions = dimensions
        self.dtype = np.dtype(dtype)

    def place(self, data: mmap.mmap, begin: int, shape: tuple[int, ...], record: int) -> None:
        """Says where the values are; `record`: bytes from one of the first dimension to the next, 0 if they adjoin."""
        self.shape = shape
        steps = [math.prod(shape[i + 1 :]) * self.dtype.itemsize for i in range(len(shape))]
        end = begin + (steps[0] if record else math.prod(shape) * self.dtype.itemsize)
        if record and shape[0]:
            steps[0] = record
            end += (shape[0] - 1) * record
        if math.prod(shape) and end > len(data):
            raise EOFError
        self.data = data
        self.view: np.ndarray = np.ndarray(shape, self.dtype, data, begin if math.prod(shape) else 0, tuple(steps))

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 (as numpy)
        values = np.array(self.view[key])
        if values.nbytes > mmap.PAGESIZE:
            self.data.madvise(mmap.MADV_DONTNEED)  # a large file needs no more memory than is read of it at a time
        return values


class NetcdfFile(Attributed):
    """A file; `title` and other attributes of it are attributes.

    Attributes:
        path: where it is.
        dimensions: their lengths.
        variables: all of them.
        whole: the bytes that it must have, by its header; 0 without records.

    Raises:
        ValueError: it is in another format.
        EOFError, LookupError, UnicodeError: it ends within its header, or that is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream:
            if stream.read(len(NETCDF_MAGIC)) != NETCDF_MAGIC:
                raise ValueError("it is not in the classic format")
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        header = Header(data)
        records = header.number()
        header.number(4)
        lengths = [(header.name(), header.number()) for _ in range(header.number())]
        super().__init__(header.attributes())
        self.dimensions = {name: length or records for name, length in lengths}
        header.number(4)
        placed = []
        self.variables: dict[str, Variable] = {}
        record = 0
        for _ in range(header.number()):
            name = header.name()
            of = [lengths[header.number()] for _ in range(header.number())]
            variable = Variable(
                name, tuple(dimension for dimension, _ in of), header.attributes(), TYPES[header.number(4)]
            )
            header.number()  # its size, which follows from the rest
            row = padded(math.prod(length for _, length in of[1:]) * variable.dtype.itemsize)
            is_record = bool(of) and of[0][1] == 0
            record += row if is_record else 0
            placed.append(
                (variable, header.number(header.offset_width), tuple(length or records for _, length in of), is_record)
            )
            self.variables[name] = variable
        begins = [begin for _, begin, _, is_record in placed if is_record]
        self.whole = min(begins, default=0) + record * records
        if len(data) >= self.whole:
            for variable, begin, shape, is_record in placed:
                variable.place(data, begin, shape, record if is_record else 0)
