"""The directory of an experiment: where everything of it lies.

    plan.json                        what is measured
    machine.json                     what `downbeat doctor` saw when the run began
    split.json                       with a width: how time is split between launches and repetitions, and why
    launches/<key>/launch.json       what was started, when, where, how it ended
    launches/<key>/samples.nc        what downbeat-bench wrote; stdout.txt, stderr.txt what it printed
    failed/<key>-<attempt>/          the same of a launch that failed
    partial/<key>/                   the same of the launch that runs
    lock                             held by the run that is at work

A launch is complete once its directory is in `launches`: it gets there by one rename.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

from downbeat.errors import UsageError
from downbeat.experiment.durable import write_json
from downbeat.experiment.lock import LOCK
from downbeat.experiment.plan import Environment, LaunchKey, Library, Measurement, Plan, Variant

SCHEMA_VERSION = 1
PLAN = "plan.json"
MACHINE = "machine.json"
SPLIT = "split.json"
LAUNCHES = "launches"
FAILED = "failed"
PARTIAL = "partial"
RECORD = "launch.json"
SAMPLES = "samples.nc"


def write_plan(directory: Path, plan: Plan) -> None:
    """Writes a plan into a directory, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(plan)}
    write_json(directory / PLAN, content)


def remove(directory: Path) -> None:
    """Removes all that a run has written, which nobody wants to keep; the directory too, if it holds nothing else."""
    for path in (directory / name for name in (PARTIAL, FAILED, LAUNCHES)):
        shutil.rmtree(path, ignore_errors=True)
    for path in (directory / name for name in (MACHINE, SPLIT, PLAN, LOCK)):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


def read_plan(directory: Path) -> Plan:
    """Reads the plan of an experiment.

    Raises:
        UsageError: the directory is not one of an experiment.
    """
    try:
        content: dict[str, Any] = json.loads((directory / PLAN).read_text(encoding="utf-8"))
        version = content.pop("schema_version")
        if version != SCHEMA_VERSION:
            raise UsageError(f"'{directory}' has schema version {version}; this downbeat reads {SCHEMA_VERSION}")
        measurement = content.pop("measurement")
        return Plan(
            measurement=Measurement(tuple(measurement["operations"]), measurement["options"]),
            libraries=tuple(
                Library(**{**one, "fixed_at_start": tuple(one.get("fixed_at_start", ()))})
                for one in content.pop("libraries")
            ),
            environments=tuple(Environment(**one) for one in content.pop("environments")),
            variants=tuple(
                Variant(**{**one, "operations": tuple(one["operations"])})
                for one in content.pop("variants", [dataclasses.asdict(Variant())])
            ),
            ranks=tuple(content.pop("ranks")),
            **content,
        )
    except FileNotFoundError as error:
        raise UsageError(f"'{directory}' is not the directory of an experiment: it has no {PLAN}") from error
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"'{directory / PLAN}' is damaged: {error}") from error


def complete(directory: Path) -> set[str]:
    """Returns the keys of the launches that are complete."""
    launches = directory / LAUNCHES
    return {path.name for path in launches.iterdir() if (path / RECORD).is_file()} if launches.is_dir() else set()


def rename_portions(directory: Path) -> None:
    """Renames launches that an earlier downbeat named `<key>-part<n>`, so that a run that goes on finds them."""
    if (directory / LAUNCHES).is_dir():
        for path in list((directory / LAUNCHES).iterdir()):
            path.rename(path.with_name(re.sub(r"-part(\d+)$", r"-portion\1", path.name)))


def write_record(directory: Path, record: dict[str, object]) -> None:
    """Writes what is known of a launch into its directory."""
    content = {"schema_version": SCHEMA_VERSION, **record}
    write_json(directory / RECORD, content)


def read_record(directory: Path) -> dict[str, Any]:
    """Reads what is known of a launch from its directory.

    Raises:
        UsageError: it is damaged.
    """
    path = directory / RECORD
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in ("library", "ranks", "environment", "number") if name not in record]
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise UsageError(f"'{path}' is damaged: {error}") from error
    if missing:
        raise UsageError(f"'{path}' is damaged: it has no {', '.join(missing)}")
    return record


def factors(key: LaunchKey) -> dict[str, object]:
    """Returns the factors of a launch, for its record."""
    return dataclasses.asdict(key)
