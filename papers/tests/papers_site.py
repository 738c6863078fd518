"""Sites at which figures are measured, or could be, and what becomes of claims."""

from __future__ import annotations

from downbeat.run.bench import built
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import judge
from downbeat_papers.results import Results
from downbeat_papers.site import Site

# The figures distinguish Open MPI, MPICH, Intel MPI.
BENCHES = {name: path for name in ("openmpi", "mpich5", "intelmpi") if (path := built(name))}


def site(ranks: tuple[int, ...] = (2, 4), cores: int = 2, benches: dict[str, str] | None = None) -> Site:
    return Site(cores, {"openmpi": "bench", "mpich5": "bench"} if benches is None else benches, ranks)


def agreed(figure: str, results: Results) -> list[bool | None]:
    """Returns what becomes of the claims of a figure, numbers to compare left out."""
    return [one.agrees for one in judge(FIGURES[figure].findings(results)) if one.finding.is_claim]
