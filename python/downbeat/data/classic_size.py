"""How long a file in netCDF's classic format must be: the library reads zeros where a file was cut off.

Only what that needs of the header is read (netCDF file format specification, "The NetCDF Classic Format", CDF-5).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import BinaryIO

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
