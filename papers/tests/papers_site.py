"""Sites at which figures are measured, or could be."""

from __future__ import annotations

from downbeat.run.bench import built
from downbeat_papers.site import Site

# The figures distinguish Open MPI, MPICH, Intel MPI.
BENCHES = {name: path for name in ("openmpi", "mpich5", "intelmpi") if (path := built(name))}


def site(ranks: tuple[int, ...] = (2, 4), cores: int = 2, benches: dict[str, str] | None = None) -> Site:
    return Site(cores, {"openmpi": "bench", "mpich5": "bench"} if benches is None else benches, ranks)
