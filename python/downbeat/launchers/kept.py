"""Builds of `downbeat build`: a directory per MPI library in the cache, laid out like an installation."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from downbeat.durable import write_json

RECORD = "build.json"  # in each directory, written when all else is there


@dataclass(frozen=True)
class Build:
    """A finished build.

    Attributes:
        prefix: where bin/, lib/ and include/ are.
        mpi: name of the MPI library, as LIBRARIES has it; "" if unknown.
        wrapper: the compiler wrapper that it was made with, without symbolic links.
        library: the MPI library in its own words.
        date: when, ISO 8601.
    """

    prefix: Path
    mpi: str
    wrapper: str
    library: str
    date: str

    def record(self) -> None:
        """Marks the build as finished."""
        values = {name: value for name, value in asdict(self).items() if name != "prefix"}
        write_json(self.prefix / RECORD, values)


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Returns where builds of this version go; None where the package is not installed, and has no version."""
    try:
        version = importlib.metadata.version("downbeat")
    except importlib.metadata.PackageNotFoundError:
        return None
    cache = environment.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "downbeat" / version


def kept_builds(environment: Mapping[str, str] = os.environ) -> list[Build]:
    """Returns the finished builds: first that of the mpicc on the path, then from new to old."""
    directory = cache_directory(environment)
    builds = []
    for file in directory.glob(f"*/{RECORD}") if directory else ():
        try:
            builds.append(Build(prefix=file.parent, **json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, RecursionError, ValueError, TypeError):  # of another version, or being written
            continue
    builds.sort(key=lambda build: build.date, reverse=True)
    current = shutil.which("mpicc", path=environment.get("PATH"))
    return sorted(builds, key=lambda build: not (current and build.wrapper == os.path.realpath(current)))
