"""Checksums of the files that Downbeat writes, so that damage is found and never measured: CRC-32 (docs/data.md)."""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

# At the end of a .nc file: the checksum of all before it.
SEAL = re.compile(rb"DOWNBEAT-CRC32:([0-9a-f]{8})\n")
SEAL_BYTES = 24
CHUNK_BYTES = 1 << 20
# In an object of JSON, the last field.
FIELD = "crc32"
FIELD_TEXT = re.compile(rb',"crc32":"([0-9a-f]{8})"}\s*')


class DamageError(ValueError):
    """The content is not what was written."""

    def __init__(self) -> None:
        super().__init__("its checksum is that of another content")


@functools.lru_cache
def check_sealed(path: Path, size: int, changed: int) -> None:
    """Checks a file against the checksum at its end; one that has none is taken as it is.

    Args:
        path: the file.
        size: in bytes.
        changed: time of its last change, ns. A file is opened many times, and read whole once per change.

    Raises:
        DamageError: the content is another one.
    """
    del changed
    with path.open("rb") as file:
        file.seek(max(0, size - SEAL_BYTES))
        seal = SEAL.fullmatch(file.read())
        if not seal:
            return
        file.seek(0)
        left, found = size - SEAL_BYTES, 0
        while left > 0:
            part = file.read(min(left, CHUNK_BYTES))
            if not part:
                break
            found = zlib.crc32(part, found)
            left -= len(part)
    if left or found != int(seal[1], 16):
        raise DamageError


def check_line(line: bytes) -> None:
    """Checks a line of JSON against its last field, if that is a checksum.

    Raises:
        DamageError: the content is another one.
    """
    field = FIELD_TEXT.search(line)
    if field and zlib.crc32(line[: field.start()]) != int(field[1], 16):
        raise DamageError


def checksum_of(content: Mapping[str, object]) -> str:
    """Returns the checksum of an object of JSON, whatever the order of its fields and its spaces."""
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def with_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Returns an object of JSON with its checksum."""
    whole: dict[str, object] = json.loads(json.dumps(content))  # as it will be read: keys are texts, tuples are lists
    return whole | {FIELD: checksum_of(whole)}


def without_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Returns an object of JSON without its checksum; one that has none is taken as it is.

    Raises:
        DamageError: the content is another one.
    """
    rest = {name: value for name, value in content.items() if name != FIELD}
    if FIELD in content and content[FIELD] != checksum_of(rest):
        raise DamageError
    return rest
