"""Writes files so that a kill, at any moment, leaves the old content or the new one, never a piece of it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from downbeat.checksum import with_checksum, without_checksum
from downbeat.errors import reading


@contextlib.contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Opens a file, text in UTF-8 by default, to be written in place of what it held before.

    The new content goes to a file beside it, which takes the name once all is on disk; if writing fails, the old file
    stays. The file beside it is always made anew: what has its name goes, and a link is not followed. `-` is standard
    output. A pipe or a device such as /dev/stdout cannot be replaced and is written directly.
    """
    if is_standard_output(path):
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    kind, encoding = ("b", None) if binary else ("", "utf-8")
    if path.exists() and (path.is_symlink() or not path.is_file()):
        with path.open(f"w{kind}", encoding=encoding) as file:
            yield file
        return
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        with beside.open(f"x{kind}", encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # which the system does not know where it only writes
        raise
    synchronize(path.parent)


def is_standard_output(path: Path | None) -> bool:
    """Whether a path given on a command line means standard output."""
    return path == Path("-")


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file.

    Raises:
        UsageError: the file is damaged.
    """
    with reading(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not an object")
        return without_checksum(content)


def write_checked_json(path: Path, content: Mapping[str, object]) -> None:
    """Writes an object of JSON with its checksum, which `read_json` looks at."""
    write_json(path, with_checksum(content))


def write_json(path: Path, content: object) -> None:
    """Writes JSON in place of what a file held before."""
    with replacing(path) as file:
        file.write(json.dumps(content, indent=2) + "\n")


def synchronize(path: Path) -> None:
    """Writes a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: Path, target: Path) -> None:
    """Moves a directory with its files, all of them on disk before it is seen under its new name."""
    for path in [*source.iterdir(), source]:
        synchronize(path)
    target.parent.mkdir(exist_ok=True)
    source.rename(target)
    synchronize(target.parent)
