"""The directory of an experiment, and its files.

    plan.json                        what is measured
    machine.json                     what `downbeat doctor` saw when the run began
    launches/<key>/launch.json       what was started, when, where, how it ended
    launches/<key>/samples.nc        what downbeat-bench wrote; stdout.txt, stderr.txt what it printed
    failed/<key>-<attempt>/          the same of a launch that failed
    partial/<key>/                   the same of the launch that runs
    lock, lock.holder                held by the run that is at work
    slower.json                      `downbeat compare --mark` called it slower: histories leave it out

A launch is complete once its directory is in `launches`: it gets there by one rename.
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

SCHEMA_VERSION = 1
PLAN = "plan.json"
MACHINE = "machine.json"
LAUNCHES = "launches"
FAILED = "failed"
PARTIAL = "partial"
RECORD = "launch.json"
SAMPLES = "samples.nc"
SLOWER = "slower.json"


def write_plan(directory: Path, plan: Plan) -> None:
    """Writes a plan into a directory, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(plan)}
    write_checked_json(directory / PLAN, content)


def remove(directory: Path) -> None:
    """Removes all that a run has written; the directory too, if it holds nothing else."""
    for path in (directory / name for name in (PARTIAL, FAILED, LAUNCHES)):
        shutil.rmtree(path, ignore_errors=True)
    for path in (directory / name for name in (MACHINE, PLAN, LOCK)):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


def refuse_links_of_others(directory: Path) -> None:
    """Refuses links of other users anywhere in a directory, before a run writes there.

    Your own links are followed: launches may be on another file system.

    Raises:
        UsageError: there is such a link.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            refuse_link_of_another(Path(entry.path))
            if entry.is_dir(follow_symlinks=False):
                refuse_links_of_others(Path(entry.path))


def read_plan(directory: Path) -> Plan:
    """Reads the plan of an experiment.

    Raises:
        UsageError: the directory is not one of an experiment.
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
    """Returns the keys of the launches that are complete.

    A directory without a readable record, or with the record of another launch, does not count: somebody has removed
    a file, or copied a launch, which would then count twice.
    """
    launches = directory / LAUNCHES
    found = sorted(launches.iterdir()) if launches.is_dir() else []
    return {path.name for path in found if (path / RECORD).is_file() and is_of(path)}


def last_start(directory: Path, keys: Iterable[str]) -> float:
    """Returns when the last of some launches was started, s since 1970; minus infinity where no record says."""
    last = -math.inf
    for key in keys:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            started = datetime.fromisoformat(read_record(directory / LAUNCHES / key)["started"])
            last = max(last, started.timestamp())
    return last


def is_of(path: Path) -> bool:
    """Whether the record in the directory of a launch is of that launch."""
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
        UsageError: it is damaged.
    """
    path = directory / RECORD
    record = read_json(path)
    with reading(path):
        key_of(record)
    return record


def key_of(record: Mapping[str, Any]) -> LaunchKey:
    """Returns which launch a record is of; an earlier downbeat wrote neither portions nor variants."""
    names = [one.name for one in dataclasses.fields(LaunchKey)]
    return typed(LaunchKey, {name: record[name] for name in names if name in record})


def mark_slower(directory: Path, verdicts: Mapping[str, object]) -> Path:
    """Marks an experiment as slower than its history; returns the file, which people remove to accept the experiment.

    Args:
        directory: of the experiment, or of files of launches; what was measured stays as it is.
        verdicts: what the mark rests on.
    """
    path = directory / SLOWER
    write_checked_json(path, {"schema_version": SCHEMA_VERSION, **verdicts})
    return path


def is_marked(directory: Path) -> bool:
    """Whether an experiment is marked as slower; a damaged mark is one, too."""
    return os.path.lexists(directory / SLOWER)
