"""Where downbeat-bench is, for each MPI library."""

from __future__ import annotations

import shutil

from downbeat.mpi.libraries import ROOT


def built(name: str) -> str | None:
    """Returns downbeat-bench as `make build MPI=<name>` leaves it in a checkout."""
    return shutil.which(str(ROOT / "build" / name / "bin" / "downbeat-bench"))
