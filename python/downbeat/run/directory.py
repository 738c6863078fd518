"""The directory of an experiment, and its files.

    plan.json                        what is measured
    machine.json                     findings of `downbeat doctor` when the run began
    launches/<key>/launch.json       command, variables, times, host, exit status
    launches/<key>/samples.nc        output file of downbeat-bench; stdout.txt, stderr.txt
    failed/<key>-<attempt>/          the same files of a failed launch
    partial/<key>/                   the same files of the running launch
    lock, lock.holder                held by the active run
    slower.json                      mark of `downbeat compare --mark`: histories skip this experiment

A launch is complete once its directory is in `launches`; one rename moves it there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from downbeat.errors import UsageError, reading
from downbeat.files import LOCK, read_json, refuse_link_of_another, write_checked_json
from downbeat.run.plan import LaunchKey, Plan
from downbeat.text import typed

SCHEMA_VERSION = 1  # of the JSON files
PLAN = "plan.json"
MACHINE = "machine.json"
LAUNCHES = "launches"
FAILED = "failed"
PARTIAL = "partial"
RECORD = "launch.json"
SAMPLES = "samples.nc"
SLOWER = "slower.json"


def write_plan(directory: Path, plan: Plan) -> None:
    """Writes a plan into a directory, creating it if needed."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(plan)}
    write_checked_json(directory / PLAN, content)


def remove(directory: Path) -> None:
    """Removes all files of a run, and the directory unless it has other files."""
    for path in (directory / name for name in (PARTIAL, FAILED, LAUNCHES)):
        shutil.rmtree(path, ignore_errors=True)
    for path in (directory / name for name in (MACHINE, PLAN, LOCK)):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


def refuse_links_of_others(directory: Path) -> None:
    """Refuses symbolic links made by other users anywhere in a directory, before a run writes there.

    The user's own links are followed: launches may be on another file system.

    Raises:
        UsageError: the directory has such a link.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            refuse_link_of_another(Path(entry.path))
            if entry.is_dir(follow_symlinks=False):
                refuse_links_of_others(Path(entry.path))


def read_plan(directory: Path) -> Plan:
    """Reads the plan of an experiment.

    Raises:
        UsageError: the directory has no readable plan.
    """
    file = directory / PLAN
    if not file.is_file():
        raise UsageError(f"'{directory}' is not the directory of an experiment: it has no {PLAN}")
    content = read_json(file)
    with reading(file):
        version = content.pop("schema_version")
        if version != SCHEMA_VERSION:
            raise UsageError(f"'{directory}' has schema version {version}; this downbeat reads {SCHEMA_VERSION}")
        return typed(Plan, content)


def complete(directory: Path) -> set[str]:
    """The keys of the complete launches, as text.

    A directory without a readable record, or with the record of another launch, does not count: a file was removed, or
    a launch was copied and would count twice.
    """
    launches = directory / LAUNCHES
    directories = sorted(launches.iterdir()) if launches.is_dir() else []
    return {path.name for path in directories if (path / RECORD).is_file() and record_matches(path)}


def last_start(directory: Path, keys: Iterable[str]) -> float:
    """The latest start time of some launches, s since 1970; minus infinity without a record."""
    last = -math.inf
    for key in keys:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            started = datetime.fromisoformat(read_record(directory / LAUNCHES / key)["started"])
            last = max(last, started.timestamp())
    return last


def record_matches(path: Path) -> bool:
    """Whether the record in a launch's directory is of that launch, and not of another one."""
    try:
        record = read_record(path)
    except UsageError:
        return False
    return str(key_of(record)) == path.name


def write_record(directory: Path, record: dict[str, object]) -> None:
    """Writes the record of a launch into its directory."""
    content = {"schema_version": SCHEMA_VERSION, **record}
    write_checked_json(directory / RECORD, content)


def read_record(directory: Path) -> dict[str, Any]:
    """Reads the record of a launch from its directory.

    Raises:
        UsageError: the record is damaged.
    """
    path = directory / RECORD
    record = read_json(path)
    with reading(path):
        key_of(record)
    return record


def key_of(record: Mapping[str, Any]) -> LaunchKey:
    """The key of the launch described by a record; early versions wrote neither portions nor variants."""
    names = [field.name for field in dataclasses.fields(LaunchKey)]
    return typed(LaunchKey, {name: record[name] for name in names if name in record})


def mark_slower(directory: Path, verdicts: Mapping[str, object]) -> Path:
    """Marks an experiment as slower than its history; returns the mark, which users remove to accept the experiment.

    Args:
        directory: of the experiment, or of launch files; measurements are not changed.
        verdicts: the verdicts behind the mark.
    """
    path = directory / SLOWER
    write_checked_json(path, {"schema_version": SCHEMA_VERSION, **verdicts})
    return path


def is_marked(directory: Path) -> bool:
    """Whether an experiment is marked as slower; a damaged mark counts."""
    return os.path.lexists(directory / SLOWER)
