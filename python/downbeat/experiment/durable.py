"""Writes files so that whoever is killed, at whatever moment, leaves the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


@contextlib.contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Opens a file, text in UTF-8 by default, to be written in place of what it held before.

    It is written beside, and takes its name when all is on disk; if the writing fails, what was there stays. What is no
    plain file, as a pipe or /dev/stdout, cannot be replaced and is written as it is.
    """
    mode, encoding = ("wb", None) if binary else ("w", "utf-8")
    if path.exists() and (path.is_symlink() or not path.is_file()):
        with path.open(mode, encoding=encoding) as file:
            yield file
        return
    beside = path.with_name(f"{path.name}.new")
    try:
        with beside.open(mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    synchronize(path.parent)


def write_json(path: Path, content: object) -> None:
    """Writes JSON in place of what a file held before."""
    with replacing(path) as file:
        file.write(json.dumps(content, indent=2) + "\n")


def synchronize(path: Path) -> None:
    """Brings a file, or the names in a directory, to disk."""
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
