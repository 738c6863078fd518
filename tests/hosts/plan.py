"""The plan of a run: which program on which hosts, and whether this machine can make them."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Debian's launchers, and those that tools/setup fetches.
LAUNCHERS = {
    "openmpi": "mpirun.openmpi",
    "mpich": "mpirun.mpich",
    "openmpi5": str(ROOT / ".mpi/openmpi5/bin/mpirun"),
    "mpich5": str(ROOT / ".mpi/mpich5/bin/mpiexec"),
    "intelmpi": str(ROOT / ".mpi/intelmpi/bin/mpiexec"),
}
LIBRARIES = tuple(LAUNCHERS)
MOST_HOSTS = 16  # as wire.c

# Namespaces of each host, and those that all hosts share; no process outlives the first one in a PID namespace.
HOST_NAMESPACES = ("--net", "--uts", "--ipc", "--mount", "--time", "--fork")
LAB_NAMESPACES = ("--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc")
# Everything that hosts need and that a container may be denied.
TRIAL = "mount -t sysfs sysfs /sys; ip link add name bridge0 type bridge; ip link add name a type veth peer name b"


@dataclasses.dataclass(frozen=True)
class Direction:
    """The wire from one host to another: delay and jitter in seconds, loss as a probability per frame."""

    source: int
    target: int
    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0

    def __str__(self) -> str:
        return f"{self.source}:{self.target}:{self.delay:.9f}:{self.jitter:.9f}:{self.loss:.9f}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """A program, and the hosts that it runs on."""

    hosts: int
    ranks_per_host: int
    mpi: str
    command: tuple[str, ...]
    timeout: float
    wire: tuple[Direction, ...] | None = None  # None: the kernel's bridge
    seed: int = 0  # of the wire's jitter and losses
    slurm: bool = False  # whether the program, not one of MPI, runs once, in a Slurm job that has all hosts

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        values = json.loads(text)
        values["command"] = tuple(values["command"])
        if values["wire"] is not None:
            values["wire"] = tuple(Direction(**each) for each in values["wire"])
        return cls(**values)

    @property
    def wire_program(self) -> Path:
        """The wire, from the build tree of the plan's MPI library."""
        return ROOT / "build" / self.mpi / "bin" / "wire"

    @property
    def crowded(self) -> bool:
        """Whether there are more ranks than processors."""
        return self.hosts * self.ranks_per_host > len(os.sched_getaffinity(0))

    @property
    def needs_remedy(self) -> bool:
        """Whether its ranks need something preloaded."""
        return self.mpi == "mpich"

    @property
    def remedy(self) -> Path:
        """The library that MPICH's ranks need on hosts (mpich_remedy.c)."""
        return ROOT / "build" / "mpich" / "lib" / "mpich_remedy.so"

    @property
    def launcher(self) -> str | None:
        """The launcher of the plan's MPI library."""
        return shutil.which(LAUNCHERS[self.mpi])


def hindrance(wire: bool) -> str | None:
    """Returns why this machine cannot make hosts, or hosts with a wire between them; None if it can."""
    if os.geteuid() != 0:
        return "hosts need root, to make namespaces"
    for command in ("ip", "nsenter", "setpriv", "taskset", "unshare"):
        if shutil.which(command) is None:
            return f"hosts need the command '{command}'; install iproute2 and util-linux"
    isolate = ("unshare", *LAB_NAMESPACES, "unshare", *HOST_NAMESPACES, "--monotonic", "1", "--boottime", "1")
    trial = subprocess.run(
        [*isolate, "sh", "-ec", TRIAL],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    if trial.returncode != 0:
        return f"hosts need namespaces, which this machine denies: {trial.stderr.strip() or trial.returncode}"
    if wire:
        try:
            os.close(os.open("/dev/net/tun", os.O_RDWR))
        except OSError as error:
            return f"a wire needs /dev/net/tun: {error.strerror}"
    return None
