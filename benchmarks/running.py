"""How the benchmarks run programs: downbeat-bench in experiments of the package, others on ranks of one library."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
from downbeat.base.files import write_text
from downbeat.errors import DownbeatError
from downbeat.experiment.estimates import Estimates
from downbeat.experiment.execute import Watcher, execute
from downbeat.experiment.experiment import Experiment, open_experiment
from downbeat.experiment.launch import Ended
from downbeat.experiment.plan import Environment, Library, Measurement, Plan
from downbeat.launchers.bench import find_bench
from downbeat.launchers.launch import choose_launcher, environment, places_of


def fail(name: str, message: str) -> NoReturn:
    """Ends with one line on standard error; `name` is the make target."""
    print(f"{name}: {message}", file=sys.stderr)
    sys.exit(2)


def unset_settings() -> None:
    """Takes the caller's DOWNBEAT_* out of the environment: a benchmark sets what it needs."""
    for name in [name for name in os.environ if name.startswith("DOWNBEAT_")]:
        del os.environ[name]


def crowded(ranks: int) -> bool:
    """Returns whether there are more ranks than processors."""
    return ranks > len(os.sched_getaffinity(0))


class Progress(Watcher):
    """Shows on standard error how many launches are done."""

    def __init__(self, what: str) -> None:
        self.what = what

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:  # noqa: ARG002
        failed = f"; {ended.key} failed: {ended.failure}\n" if ended.failure else ""
        print(f"\r{self.what}: {complete}/{total} launches {failed}", end="", file=sys.stderr, flush=True)


def run_ranks(name: str, mpi: str, ranks: int, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Runs a program on ranks of a library, with variables set for them alone; returns what it printed."""
    library, launcher = choose_launcher(mpi, None)
    places = places_of(ranks)
    command = [launcher, "-n", str(ranks), *library.family.arguments(places), *library.family.setting(variables)]
    done = subprocess.run(
        [*command, *words],
        env=environment(library, launcher, None, places),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode != 0:
        fail(name, f"{mpi}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def experiment(
    mpi: str,
    ranks: int,
    measurement: Measurement,
    environments: tuple[Environment, ...] = (Environment(),),
    launches: int = 1,
    timeout: float = 600.0,
) -> Iterator[Experiment]:
    """Launches downbeat-bench and gives what its launches left; afterwards their files are gone.

    Args:
        mpi: MPI library.
        ranks: of each launch.
        measurement: operations and options of downbeat-bench.
        environments: each gets its launches.
        launches: in each environment, in random order.
        timeout: of a launch, s.

    Raises:
        DownbeatError: there is no downbeat-bench, or no launch succeeded.
    """
    plan = Plan(
        name="benchmark",
        measurement=measurement,
        libraries=(Library(mpi, find_bench(mpi)),),
        ranks=(ranks,),
        environments=environments,
        launches=launches,
        timeout=timeout,
    )
    with tempfile.TemporaryDirectory(prefix="downbeat-bench-") as directory:
        outcome = execute(plan, Path(directory), Progress(f"{mpi}, {ranks} ranks"))
        print(file=sys.stderr)
        if outcome.refused:
            raise DownbeatError(outcome.refused)
        if outcome.lacking:
            failure = outcome.failures[-1].failure if outcome.failures else "for no known reason"
            raise DownbeatError(f"launches failed: {failure}")
        yield open_experiment(directory)


def write_json(path: Path, content: object) -> None:
    """Writes a file of figures, dataclasses as objects, and says where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, indent=1, default=plain) + "\n")
    print(f"\nwritten to {path}")


def plain(content: object) -> object:
    """Returns what JSON holds in the place of a dataclass or of a number of numpy's."""
    if isinstance(content, np.generic):
        return content.item()
    return dataclasses.asdict(content)  # type: ignore[call-overload]  # a TypeError says what is neither
