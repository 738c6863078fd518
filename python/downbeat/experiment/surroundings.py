"""The surroundings of a launch that may change it, beyond those that downbeat-bench records of the ranks' hosts."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping

from downbeat.doctor.machine import Machine

# Variables that MPI libraries, their launchers, batch systems and libdownbeat heed.
HEEDED = re.compile(
    r"(OMPI|OPAL|PRTE|PMIX|PMI|MPIR|MPICH|HYDRA|I_MPI|FI|UCX|UCC|HCOLL|MV2|SLURM|PBS|LSB|DOWNBEAT|OMP)_|LD_LIBRARY_PATH$|LD_PRELOAD$"
)
# Variables that may hold secrets.
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|_KEY$|CREDENTIAL|COOKIE|JWT", re.IGNORECASE)


def mpi_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that can change what an MPI program does, in alphabetical order."""
    return {
        name: value for name, value in sorted(environment.items()) if HEEDED.match(name) and not SECRET.search(name)
    }


def cpu_model(machine: Machine) -> str:
    """Returns what the first processor calls itself; "unknown" where it does not."""
    found = re.search(r"^model name\s*:\s*(.+)$", machine.process("cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else "unknown"


def surroundings(variables: Mapping[str, str]) -> dict[str, object]:
    """Returns what is around a launch now: for its record.

    Args:
        variables: that are set for the launch, beside those of this process.
    """
    machine = Machine()
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "cpu_model": cpu_model(machine),
        "governor": machine.governors(machine.online) or "unknown",
        "cpus_allowed": sorted(machine.allowed),
        "load_before": round(os.getloadavg()[0], 2),
        "environment_variables": mpi_variables({**os.environ, **variables}),
    }
