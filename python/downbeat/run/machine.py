"""Reads the machine from /sys and /proc, and checks variables and settings that change measurements.

`Finding` is an observation with a severity and advice; the checks of `downbeat doctor` (doctor.py) return findings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

Severity = Literal["good", "notice", "problem"]


@dataclass(frozen=True)
class Finding:
    """An observation on the machine.

    Attributes:
        check: name of the check.
        seen: the observation in one sentence, with numbers.
        verdict: "good"; "notice": may matter, or unknown; "problem": distorts measurements.
        advice: remedy; "" if none is needed.
    """

    check: str
    seen: str
    verdict: Severity
    advice: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine as the kernel describes it; by default this one. Tests give other directories."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    # Numbers of the processors (hardware threads) that this process may use.
    allowed: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))

    def system(self, path: str) -> str | None:
        """The content of a file below /sys; None if it cannot be read."""
        return read_stripped(self.sys / path)

    def process(self, path: str) -> str | None:
        """The content of a file below /proc; None if it cannot be read."""
        return read_stripped(self.proc / path)

    @cached_property
    def flags(self) -> frozenset[str]:
        """Feature flags of the first processor (x86); empty on other processors."""
        for line in (self.process("cpuinfo") or "").splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
        return frozenset()

    @cached_property
    def online(self) -> frozenset[int]:
        """The processors that are online; `allowed` if the kernel does not list them."""
        return parse_cpus(self.system("devices/system/cpu/online") or "") or self.allowed

    @cached_property
    def cores(self) -> list[frozenset[int]]:
        """The processors that this process may use, a set per core."""
        cores: dict[str, set[int]] = {}
        for cpu in sorted(self.allowed):
            siblings = self.system(f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            cores.setdefault(siblings or str(cpu), set()).add(cpu)
        return [frozenset(core) for core in cores.values()]

    def governors(self, cpus: Iterable[int]) -> str:
        """Names of the frequency governors of processors, each once, e.g. "performance, powersave"; "" if unknown."""
        names = {self.system(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus}
        return ", ".join(sorted(filter(None, names)))


def read_stripped(path: Path) -> str | None:
    """The stripped content of a file; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def parse_cpus(text: str) -> frozenset[int]:
    """The processors in a list of the kernel, e.g. "0-3,8"."""
    cpus: set[int] = set()
    for range_text in filter(None, text.split(",")):
        first, _, last = range_text.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


# Names of variables set by launchers and `downbeat.run.launch`: identifiers and addresses of a job, placement of ranks,
# Intel MPI's processor data, installation directories. They are not settings of the user.
OF_LAUNCHERS = re.compile(
    r"OMPI_MCA_(orte_.*|prte_.*|plm.*|ras.*|ess.*|pmix.*|initial_wdir|num_procs|cpu_type|PREFIXES|shmem_RUNTIME_.*"
    r"|mpi_oversubscribe|mca_base_component_show.*|btl_base_warn.*)"
    r"|MPIR_CVAR_CH3_INTERFACE_HOSTNAME"
    r"|I_MPI_(INFO_.*|HYDRA_(UUID|TOPOLIB)|INTERNAL_.*|PIN_(INFO|MAPPING)|BIND_WIN_ALLOCATE|RETURN_WIN_MEM_NUMA|MPIRUN"
    r"|ROOT|SUBSTITUTE_INSTALLDIR)|FI_PROVIDER_PATH|DOWNBEAT_MPI"
)
# A value with its origin in the attribute `environment` of a launch: "value (/path/file:line)" or "value (override)".
WITH_ORIGIN = re.compile(r"(.*) \((/[^()]*:\d+|override|command line)\)")


class Setting(NamedTuple):
    """The value of a setting of an MPI library."""

    value: str
    origin: str  # file and line, "override" or "command line"; "": the environment


def settings_of(context: Mapping[str, object]) -> dict[str, Setting]:
    """The settings of a launch by the names of their environment variables.

    Args:
        context: of the launch; each line of its attribute `environment` is a setting (docs/data.md).
    """
    settings = {}
    for line in str(context.get("environment", "")).splitlines():
        name, _, value = line.partition("=")
        if not OF_LAUNCHERS.fullmatch(name):
            with_origin = WITH_ORIGIN.fullmatch(value)
            settings[name] = Setting(with_origin[1], with_origin[2]) if with_origin else Setting(value, "")
    return settings


# Names of variables that change measurements: settings of MPI libraries, networks and Downbeat.
CHANGES = re.compile(r"(OMPI_MCA|PMIX_MCA|PRTE_MCA|MPIR_CVAR|MPICH|I_MPI|UCX|FI|HCOLL|UCC|DOWNBEAT)_")
MAX_SHOWN_VARIABLES = 5
ADVICE = "variables change what is measured and are recorded with the results; unset those that you do not want"


def check_variables(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for settings of MPI libraries, networks and Downbeat, and for preloaded libraries.

    `ranks` is not used: all checks of doctor.py have the same parameters.
    """
    names = sorted(name for name in machine.environment if CHANGES.match(name) and not OF_LAUNCHERS.fullmatch(name))
    findings = []
    if names:
        words = [f"{name}={machine.environment[name]}" for name in names[:MAX_SHOWN_VARIABLES]]
        more = f" and {len(names) - MAX_SHOWN_VARIABLES} more" if len(names) > MAX_SHOWN_VARIABLES else ""
        findings.append(Finding("variables", f"set: {', '.join(words)}{more}", "notice", ADVICE))
    if machine.environment.get("LD_PRELOAD"):
        seen = f"LD_PRELOAD={machine.environment['LD_PRELOAD']}"
        advice = "a preloaded library may intercept calls of the MPI library; unset LD_PRELOAD"
        findings.append(Finding("variables", seen, "notice", advice))
    return findings or [Finding("variables", "none in this environment that changes the MPI library", "good")]


def set_elsewhere(library: str, settings: Mapping[str, Setting], machine: Machine) -> list[Finding]:
    """The finding on settings of a launch that are not in this environment: from files, or set by the launcher.

    Args:
        library: name of the library.
        settings: of the launch.
        machine: has the environment that `check_variables` checked.
    """
    # Open MPI 5 and launchers put settings from files into the environment of ranks.
    words = [
        f"{name}={value} ({origin or 'by the launcher, or by a file that it reads'})"
        for name, (value, origin) in settings.items()
        if origin or name not in machine.environment
    ]
    return [Finding("variables", f"{library} has {', '.join(words)}", "notice", ADVICE)] if words else []
