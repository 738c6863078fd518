"""The surroundings of a launch that may change it, beyond those that downbeat-bench records of the ranks' hosts."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path

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


def cpu_model(proc: Path = Path("/proc")) -> str:
    """Returns what the first processor calls itself; "unknown" where it does not."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", (proc / "cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return "unknown"
    return found[1].strip() if found else "unknown"


def governor(sys: Path = Path("/sys")) -> str:
    """Returns the governors that set the processors' frequency; "unknown" where the system does not report them."""
    governors = set()
    for path in sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"):
        with contextlib.suppress(OSError):  # EBUSY: of a processor that is switched off
            governors.add(path.read_text(encoding="ascii").strip())
    return ", ".join(sorted(governors)) or "unknown"


def surroundings(variables: Mapping[str, str]) -> dict[str, object]:
    """Returns what is around a launch now: for its record.

    Args:
        variables: that are set for the launch, beside those of this process.
    """
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "cpu_model": cpu_model(),
        "governor": governor(),
        "cpus_allowed": sorted(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 2),
        "environment_variables": mpi_variables({**os.environ, **variables}),
    }
