"""Variables that change what is measured: of the environment, and what a launch had set by whatever means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from downbeat.run.machine import Finding, Machine

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
        context: of the launch; of its attribute `environment` each line is a setting (docs/bench-files.md).
    """
    found = {}
    for line in str(context.get("environment", "")).splitlines():
        name, _, value = line.partition("=")
        if not OF_LAUNCHERS.fullmatch(name):
            from_file = OF_FILE.fullmatch(value)
            found[name] = Setting(from_file[1], from_file[2]) if from_file else Setting(value, "")
    return found


CHANGES = re.compile(r"(OMPI_MCA|PMIX_MCA|PRTE_MCA|MPIR_CVAR|MPICH|I_MPI|UCX|FI|HCOLL|UCC|DOWNBEAT)_")
SHOWN = 5
ADVICE = "they change what is measured, and are recorded with it; unset those that you do not want"


def check_variables(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for settings of MPI libraries, networks and Downbeat, and for preloaded libraries."""
    names = sorted(name for name in machine.environment if CHANGES.match(name) and not OF_LAUNCHERS.fullmatch(name))
    findings = []
    if names:
        words = [f"{name}={machine.environment[name]}" for name in names[:SHOWN]]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        findings.append(Finding("variables", f"set: {', '.join(words)}{more}", "notice", ADVICE))
    if machine.environment.get("LD_PRELOAD"):
        seen = f"LD_PRELOAD={machine.environment['LD_PRELOAD']}"
        advice = "it is loaded before the MPI library and may intercept its calls; unset it"
        findings.append(Finding("variables", seen, "notice", advice))
    return findings or [Finding("variables", "none in this environment that changes the MPI library", "good")]


def elsewhere(library: str, settings: Mapping[str, Setting], machine: Machine) -> list[Finding]:
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
