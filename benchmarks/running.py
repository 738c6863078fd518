"""How the benchmarks run programs: downbeat-bench in experiments of the package, others on ranks of one library."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
from downbeat.errors import DownbeatError
from downbeat.files import write_text
from downbeat.run.bench import find_bench
from downbeat.run.bench_launch import Ended
from downbeat.run.estimates import Estimates
from downbeat.run.execute import Watcher, execute
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.run.libraries import CHECKOUT, LIBRARIES
from downbeat.run.plan import Environment, Library, Measurement, Plan


def fail(name: str, message: str) -> NoReturn:
    """Ends with one line on standard error; `name` is the make target."""
    print(f"{name}: {message}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    """Parses the options of a benchmark, and complains in one line; `name` is the make target."""

    def __init__(self, name: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog=name, description=description, epilog=epilog, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        fail(self.prog, message)

    def add_mpi(self) -> None:
        self.add_argument("--mpi", choices=list(LIBRARIES), default="openmpi", help="the MPI library [openmpi]")

    def add_output(self) -> None:
        name = f"build/{self.prog}.json"
        self.add_argument(
            "--output", type=Path, default=CHECKOUT / name, metavar="FILE", help=f"of all figures [{name}]"
        )

    def add_libraries(self, *default: str) -> None:
        names = " ".join(default)
        self.add_argument(
            "--mpi", nargs="+", choices=LIBRARIES, default=default, metavar="NAME", help=f"MPI libraries [{names}]"
        )

    def add_number(self, name: str, default: int, meaning: str, low: int = 1) -> None:
        """Adds an option for a whole number from `low`."""
        self.add_argument(name, type=whole_from(low), default=default, metavar="N", help=f"{meaning} [{default}]")


def whole_from(low: int) -> Callable[[str], int]:
    """Returns a parser for whole numbers from `low`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text) >= low):
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {low}")
        return int(text)

    return parse


def unset_settings() -> None:
    """Removes the caller's DOWNBEAT_* from the environment."""
    for name in [name for name in os.environ if name.startswith("DOWNBEAT_")]:
        del os.environ[name]


def crowded(ranks: int) -> bool:
    """Returns whether there are more ranks than processors."""
    return ranks > len(os.sched_getaffinity(0))


class Progress(Watcher):
    """Shows on standard error how many launches are done."""

    def __init__(self, what: str) -> None:
        self.what = what

    def on_ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:  # noqa: ARG002
        failed = f"; {ended.key} failed: {ended.failure}\n" if ended.failure else ""
        print(f"\r{self.what}: {complete}/{total} launches {failed}", end="", file=sys.stderr, flush=True)


def run_ranks(
    name: str,
    mpi: str,
    ranks: int,
    words: Sequence[object],
    variables: Mapping[str, str] | None = None,
    seconds: float = 600.0,
) -> str:
    """Runs a program on ranks of a library, with variables set for them alone; returns what it printed."""
    command = [CHECKOUT / "tools/launch", "--mpi", mpi, "-n", ranks, "--timeout", seconds]
    command += ["env", *(f"{name}={value}" for name, value in (variables or {}).items()), *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        what = " ".join(Path(str(word)).name for word in words)
        fail(name, f"{what} under {mpi} ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
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
    return dataclasses.asdict(content)  # type: ignore[call-overload]  # anything else is a TypeError
