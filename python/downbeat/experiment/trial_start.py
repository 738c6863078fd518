"""Whether MPI libraries start, and whether ranks are bound, seen from inside a launch that measures nothing."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from downbeat.data.launch_file import context_of, names, open_samples
from downbeat.doctor.finding import Finding
from downbeat.doctor.machine import Machine, count, parse_cpus
from downbeat.experiment import directory as places
from downbeat.experiment.launch import ERRORS, failure_of, launch_command, run_in_directory
from downbeat.experiment.measurement import Measurement
from downbeat.experiment.plan import LaunchKey, Library, Plan
from downbeat.launchers.libraries import short_version

RANKS = 2
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Start:
    """How a library started."""

    library: str
    started: bool
    findings: list[Finding]


@contextlib.contextmanager
def trial(library: Library, measurement: Measurement) -> Iterator[tuple[Path, str]]:
    """Starts ranks; yields the directory of the launch while it exists, and why the launch does not count."""
    plan = Plan(name="doctor", measurement=measurement, libraries=(library,), ranks=(RANKS,), timeout=TIMEOUT_SECONDS)
    command = launch_command(plan, LaunchKey(library.name, RANKS, plan.environments[0].name, 1))
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        yield where, failure_of(run_in_directory(command, where, {}), where, plan.timeout, RANKS)


def try_start(library: Library, machine: Machine) -> Start:
    """Starts ranks that measure nothing, and looks where they ran."""
    measurement = Measurement(("nothing",), {"repetitions": "10", "sync": "mpi_barrier"})
    with trial(library, measurement) as (where, failure):
        if failure:
            said = (where / ERRORS).read_text(encoding="utf-8", errors="replace")
            advice = (
                "tools/setup installs libraries, make build MPI=... builds for them"
                if "no launcher" in said
                else ("start it by hand to see all that it says: tools/launch -n 2 downbeat-bench nothing")
            )
            seen = f"{library.name} does not start: {failure}"
            return Start(library.name, False, [Finding("libraries", seen, "problem", advice)])
        with open_samples(where / places.SAMPLES) as file:
            version = short_version(str(context_of(file)["mpi_library"]))
            cpusets = [parse_cpus(text) for text in names(file.variables["cpuset"])]
            hosts = names(file.variables["host"])
    good = Finding("libraries", f"{library.name} starts: {version}", "good")
    return Start(library.name, True, [good, binding(library.name, cpusets, hosts, machine)])


def binding(name: str, cpusets: list[frozenset[int]], hosts: list[str], machine: Machine) -> Finding:
    """Judges where the ranks of a launch could run, each on its host."""
    if any(host.partition(".")[0] != socket.gethostname().partition(".")[0] for host in hosts):
        # The processors of a batch job, where this machine is the login node.
        where = ", ".join(
            f"{host} {','.join(map(str, sorted(cpus)))}" for host, cpus in zip(hosts, cpusets, strict=True)
        )
        seen = f"{name} starts ranks on other machines: processors {where}"
        advice = "their cores are not known here; have downbeat doctor look there (srun -n 1 downbeat doctor)"
        return Finding("binding", seen, "notice", advice)
    cores = [core for core in machine.cores if any(core & cpus for cpus in cpusets)]
    wide = [cpus for cpus in cpusets if sum(bool(core & cpus) for core in machine.cores) > 1]
    if wide and len(machine.cores) > 1:
        seen = f"{name} does not bind: a rank may run on {count(len(wide[0]), 'processor')}"
        advice = "the kernel moves it, and its caches stay behind; give the launcher its option for binding to cores"
        return Finding("binding", seen, "problem", advice)
    if len(cores) < len(cpusets) and len(machine.cores) >= len(cpusets):
        seen = f"{name} binds {count(len(cpusets), 'rank')} to {count(len(cores), 'core')}"
        return Finding("binding", seen, "problem", "ranks share a core while others are free; bind one rank per core")
    bound = ", ".join(",".join(map(str, sorted(cpus))) for cpus in cpusets)
    return Finding("binding", f"{name} binds each rank to a core: processors {bound}", "good")
