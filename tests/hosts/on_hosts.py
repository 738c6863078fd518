"""Runs programs on hosts made of namespaces (tests/hosts), and reads the output of truth."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
from collections.abc import Mapping, Sequence

import pytest
from plan import HERE, LIBRARIES, ROOT, hindrance

TIMEOUT_SECONDS = 60
# On top of the uncertainty of a reading: truth computes with doubles and prints tenths of nanoseconds.
ROUNDING_NS = 1.0


def under(*names: str) -> pytest.MarkDecorator:
    """Runs a test under these MPI libraries in `make test-all`, and under all in `make nightly`."""
    others = [pytest.param(name, marks=pytest.mark.nightly) for name in LIBRARIES if name not in names]
    return pytest.mark.parametrize("mpi", [*names, *others])


under_each_mpi = under("openmpi", "mpich")
under_open_mpi = under("openmpi")  # of the network, or the clocks, alone
reason_against = functools.cache(hindrance)


@dataclasses.dataclass(frozen=True)
class Rank:
    """A rank after a synchronization, as truth reports it."""

    rank: int
    host: str
    node: int  # smallest rank with which it shares memory
    error_ns: float  # by which its global clock is ahead of rank 0's
    uncertainty_ns: float  # of that, because readings take time
    bound_ns: float  # of the error, as the library claims
    monotonic_s: float

    @property
    def within_bound(self) -> bool:
        return abs(self.error_ns) <= self.bound_ns + self.uncertainty_ns + ROUNDING_NS


@dataclasses.dataclass(frozen=True)
class Synchronization:
    """A line of truth's."""

    sync: str
    clock: str
    repetition: int
    sync_seconds: float
    clock_domains: int
    ranks: tuple[Rank, ...]

    @classmethod
    def from_json(cls, text: str) -> Synchronization:
        values = json.loads(text)
        values["ranks"] = tuple(Rank(**each) for each in values["ranks"])
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of a run."""

    status: int
    stdout: str
    stderr: str

    @property
    def synchronizations(self) -> list[Synchronization]:
        return [Synchronization.from_json(line) for line in self.stdout.splitlines() if line.startswith("{")]

    @property
    def frames_lost(self) -> int:
        """How many frames the wire lost, as it was asked to."""
        mark = "hosts: wire: "
        wire = next(json.loads(line[len(mark) :]) for line in self.stderr.splitlines() if line.startswith(mark))
        return sum(each["lost"] for each in wire["directions"])


def run_hosts(*arguments: str, env: Mapping[str, str] | None = None) -> Outcome:
    """Runs the command hosts, without the caller's variables that the library would refuse."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")}
    done = subprocess.run(
        [str(HERE / "hosts"), *arguments], capture_output=True, text=True, check=False, env=clean | dict(env or {})
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def need_hosts(wire: bool = False) -> None:
    """Skips the test where hosts cannot be made."""
    reason = reason_against(wire)
    if reason:
        pytest.skip(reason)


def built(mpi: str, name: str) -> str:
    program = ROOT / "build" / mpi / "bin" / name
    if not program.exists():
        pytest.fail(f"{program} is not built")
    return str(program)


def truth(
    mpi: str,
    *schemes: str,
    hosts: int = 2,
    ranks_per_host: int = 1,
    wire: Sequence[str] = (),
    repetitions: int = 5,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Synchronizes clocks on hosts, which must succeed; `wire` are options of the command hosts."""
    need_hosts(bool(wire))
    outcome = run_hosts(
        *("--hosts", str(hosts), "--ranks-per-host", str(ranks_per_host), "--mpi", mpi),
        *("--timeout", str(TIMEOUT_SECONDS), *wire, "--"),
        *(built(mpi, "truth"), "--repetitions", str(repetitions), *schemes),
        env=env,
    )
    assert outcome.status == 0, outcome.stderr
    assert len(outcome.synchronizations) == repetitions * max(1, len(schemes))
    return outcome
