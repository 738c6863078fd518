"""Executes an experiment: one launch after the other, each in a directory of its own, until all are complete."""

from __future__ import annotations

import datetime
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from downbeat.experiment import directory as places
from downbeat.experiment.plan import LaunchKey, Plan


def launch_command(plan: Plan, key: LaunchKey) -> list[str]:
    """Returns the command that starts a launch in its directory."""
    library = next(one for one in plan.libraries if one.name == key.library)
    if library.launcher:
        start = shlex.split(library.launcher.format(ranks=key.ranks))
    else:
        start = [sys.executable, "-m", "downbeat.mpi.launch", "-n", str(key.ranks), "--timeout", f"{plan.timeout:g}"]
    return [*start, library.bench, *plan.measurement.arguments(), "-q", "-o", places.SAMPLES]


def launch(plan: Plan, key: LaunchKey, directory: Path) -> bool:
    """Starts a launch, waits for it, and files what it left; returns whether it is complete."""
    started = datetime.datetime.now(datetime.UTC)
    partial = directory / f"{key}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    environment = next(one for one in plan.environments if one.name == key.environment)
    command = launch_command(plan, key)
    with (partial / "stdout.txt").open("wb") as output, (partial / "stderr.txt").open("wb") as errors:
        done = subprocess.run(
            command, cwd=partial, env={**os.environ, **environment.variables}, stdout=output, stderr=errors, check=False
        )
    ended = datetime.datetime.now(datetime.UTC)
    # 3: a cell lacks valid samples, 4: a cell has wrong results; all others were measured.
    is_complete = done.returncode in (0, 3, 4) and (partial / places.SAMPLES).is_file()
    places.write_record(
        partial,
        {
            **places.factors(key),
            "command": command,
            "variables": dict(environment.variables),
            "started": started.isoformat(),
            "ended": ended.isoformat(),
            "exit_status": done.returncode,
        },
    )
    if is_complete:
        target = directory / places.LAUNCHES / str(key)
    else:
        attempts = len(list((directory / places.FAILED).glob(f"{key}-*")))
        target = directory / places.FAILED / f"{key}-{attempts + 1}"
    target.parent.mkdir(exist_ok=True)
    partial.rename(target)
    return is_complete


def execute(plan: Plan, directory: Path) -> None:
    """Executes what is not complete of an experiment."""
    places.write_plan(directory, plan)
    done = places.complete(directory)
    for key in plan.launch_order():
        if str(key) not in done:
            launch(plan, key, directory)
