"""Writes files so that whoever is killed, at whatever moment, leaves the old content or the new one, never a part."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Writes JSON in place of what a file held before."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    synchronize(path.parent)


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
