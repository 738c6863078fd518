"""The machine as the kernel describes it, and the variables that change what is measured."""

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
        check: which check saw it.
        seen: what, in one sentence, with numbers.
        verdict: "good"; "notice": may matter, or could not be seen; "problem": distorts measurements.
        advice: what to do; "" if there is nothing to do.
    """

    check: str
    seen: str
    verdict: Severity
    advice: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine as the kernel describes it."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    allowed: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))  # processors

    def system(self, path: str) -> str | None:
        """Returns the content of a file below /sys; None where there is none or it may not be read."""
        return read_stripped(self.sys / path)

    def process(self, path: str) -> str | None:
        """Returns the content of a file below /proc."""
        return read_stripped(self.proc / path)

    @cached_property
    def flags(self) -> frozenset[str]:
        """The features of the first processor, by the names that the kernel uses on x86."""
        for line in (self.process("cpuinfo") or "").splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
        return frozenset()

    @cached_property
    def online(self) -> frozenset[int]:
        """The processors that are switched on."""
        return parse_cpus(self.system("devices/system/cpu/online") or "") or self.allowed

    @cached_property
    def cores(self) -> list[frozenset[int]]:
        """The processors that this process may use, those of a core together."""
        cores: dict[str, set[int]] = {}
        for cpu in sorted(self.allowed):
            siblings = self.system(f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            cores.setdefault(siblings or str(cpu), set()).add(cpu)
        return [frozenset(core) for core in cores.values()]

    def governors(self, cpus: Iterable[int]) -> str:
        """Returns the frequency governors of some processors; "" where none is reported."""
        names = {self.system(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus}
        return ", ".join(sorted(filter(None, names)))


def read_stripped(path: Path) -> str | None:
    """Returns the content of a file without blanks around it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def parse_cpus(text: str) -> frozenset[int]:
    """Returns the processors of a list as the kernel writes it, "0-3,8"."""
    cpus: set[int] = set()
    for range_text in filter(None, text.split(",")):
        first, _, last = range_text.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


# Set by launchers for themselves, and by `downbeat.run.launch`: numbers and addresses of a job, places
# of ranks, what Intel MPI found out of the processor. And where a library is, or that root may start it.
OF_LAUNCHERS = re.compile(
    r"OMPI_MCA_(orte_.*|prte_.*|plm.*|ras.*|ess.*|pmix.*|initial_wdir|num_procs|cpu_type|PREFIXES|shmem_RUNTIME_.*"
    r"|mpi_oversubscribe|mca_base_component_show.*|btl_base_warn.*)"
    r"|MPIR_CVAR_CH3_INTERFACE_HOSTNAME"
    r"|I_MPI_(INFO_.*|HYDRA_(UUID|TOPOLIB)|INTERNAL_.*|PIN_(INFO|MAPPING)|BIND_WIN_ALLOCATE|RETURN_WIN_MEM_NUMA|MPIRUN"
    r"|ROOT|SUBSTITUTE_INSTALLDIR)|FI_PROVIDER_PATH|DOWNBEAT_MPI"
)
OF_FILE = re.compile(r"(.*) \((/[^()]*:\d+|override|command line)\)")


class Setting(NamedTuple):
    """A value, and the file and line that the library took it from; "" for the environment."""

    value: str
    place: str


def settings_of(context: Mapping[str, object]) -> dict[str, Setting]:
    """Returns the settings of a launch by their names, as the environment spells them.

    Args:
        context: of the launch; of its attribute `environment` each line is a setting (docs/data.md).
    """
    found = {}
    for line in str(context.get("environment", "")).splitlines():
        name, _, value = line.partition("=")
        if not OF_LAUNCHERS.fullmatch(name):
            from_file = OF_FILE.fullmatch(value)
            found[name] = Setting(from_file[1], from_file[2]) if from_file else Setting(value, "")
    return found


CHANGES = re.compile(r"(OMPI_MCA|PMIX_MCA|PRTE_MCA|MPIR_CVAR|MPICH|I_MPI|UCX|FI|HCOLL|UCC|DOWNBEAT)_")
SHOWN_VARIABLES = 5
ADVICE = "they change what is measured, and are recorded with it; unset those that you do not want"


def check_variables(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for settings of MPI libraries, networks and Downbeat, and for preloaded libraries."""
    names = sorted(name for name in machine.environment if CHANGES.match(name) and not OF_LAUNCHERS.fullmatch(name))
    findings = []
    if names:
        words = [f"{name}={machine.environment[name]}" for name in names[:SHOWN_VARIABLES]]
        more = f" and {len(names) - SHOWN_VARIABLES} more" if len(names) > SHOWN_VARIABLES else ""
        findings.append(Finding("variables", f"set: {', '.join(words)}{more}", "notice", ADVICE))
    if machine.environment.get("LD_PRELOAD"):
        seen = f"LD_PRELOAD={machine.environment['LD_PRELOAD']}"
        advice = "it is loaded before the MPI library and may intercept its calls; unset it"
        findings.append(Finding("variables", seen, "notice", advice))
    return findings or [Finding("variables", "none in this environment that changes the MPI library", "good")]


def set_elsewhere(library: str, settings: Mapping[str, Setting], machine: Machine) -> list[Finding]:
    """Names what a launch under a library had set beyond the environment: by files, and by the launcher.

    Args:
        library: the name.
        settings: of the launch.
        machine: whose environment `check` has judged.
    """
    # Open MPI 5 and launchers hand on in the environment what they read in files.
    words = [
        f"{name}={value} ({place or 'by the launcher, or by a file that it reads'})"
        for name, (value, place) in settings.items()
        if place or name not in machine.environment
    ]
    return [Finding("variables", f"{library} has {', '.join(words)}", "notice", ADVICE)] if words else []
