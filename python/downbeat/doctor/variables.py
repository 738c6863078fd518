"""Variables of the environment that change what is measured."""

from __future__ import annotations

import re

from downbeat.doctor.machine import Finding, Machine

CHANGES = re.compile(r"(OMPI_MCA|PMIX_MCA|PRTE_MCA|MPIR_CVAR|MPICH|I_MPI|UCX|FI|HCOLL|UCC|DOWNBEAT)_")
# Where a library is, or that root may start it: nothing that is measured depends on it.
HARMLESS = re.compile(r"I_MPI_ROOT|DOWNBEAT_MPI|I_MPI_SUBSTITUTE_INSTALLDIR")
SHOWN = 5


def check(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for settings of MPI libraries, networks and Downbeat, and for preloaded libraries."""
    names = sorted(name for name in machine.environment if CHANGES.match(name) and not HARMLESS.fullmatch(name))
    findings = []
    if names:
        words = [f"{name}={machine.environment[name]}" for name in names[:SHOWN]]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        advice = "they change what is measured, and are recorded with it; unset those that you do not want"
        findings.append(Finding("variables", f"set: {', '.join(words)}{more}", "notice", advice))
    if machine.environment.get("LD_PRELOAD"):
        seen = f"LD_PRELOAD={machine.environment['LD_PRELOAD']}"
        advice = "it is loaded before the MPI library and may intercept its calls; unset it"
        findings.append(Finding("variables", seen, "notice", advice))
    return findings or [Finding("variables", "none that changes the MPI library", "good")]
