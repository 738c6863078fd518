"""The machine at hand, and what of the papers' experiments fits on it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.experiment.programs import launcher_at
from downbeat.lists import split_list
from downbeat.mpi.bench import built, find_any_bench
from downbeat.mpi.libraries import LIBRARIES

OPEN_MPI = ("openmpi", "openmpi5")
# MVAPICH2 and Cray MPI, which the papers use, are made of MPICH. MPICH 5 comes first: of the two it alone leaves the
# processor to others while it waits (docs/mpi-libraries.md).
MPICH = ("mpich5", "mpich")
# Ranks that share processors start when the kernel lets them, not within the usual half microsecond.
CROWDED_TOLERANCE = "1e-4"  # s


@dataclass(frozen=True)
class Site:
    """The machine at hand.

    Attributes:
        cores: that this process may use.
        benches: path of downbeat-bench, by MPI library.
        counts: numbers of ranks, rising.
        launches: of each configuration.
        quick: few repetitions, to see whether all works.
        launcher: as "srun --mpi=pmix -n {ranks}"; empty: that of the MPI library, on this machine.
    """

    cores: int
    benches: Mapping[str, str]
    counts: tuple[int, ...]
    launches: int = 5
    quick: bool = False
    launcher: str = ""

    @property
    def node(self) -> int:
        """The most ranks that have a core each, for figures of one full node."""
        return max((count for count in self.counts if count <= self.cores), default=self.counts[0])

    @property
    def most(self) -> int:
        """The most ranks there are, for figures of many nodes."""
        return self.counts[-1]

    def crowded(self, ranks: int) -> bool:
        """Whether so many ranks share cores."""
        return not self.launcher and ranks > self.cores

    @property
    def place(self) -> str:
        """Where ranks run; those of a launcher run elsewhere than this process, on cores that it does not see."""
        return f"under '{self.launcher}'" if self.launcher else f"on {self.cores} cores"

    def want(self, what: str) -> str:
        """Says that something cannot be shown, for want of an MPI library."""
        return f"for want of {what}; the MPI libraries at hand: {', '.join(self.benches)}"

    def first_of(self, libraries: Sequence[str]) -> str | None:
        """Returns the first of some libraries that there is."""
        return next((name for name in libraries if name in self.benches), None)

    def main(self) -> str:
        """Returns the library for what is not about libraries."""
        return self.first_of((*OPEN_MPI, *MPICH)) or next(iter(self.benches))

    def repetitions(self, usual: int) -> int:
        """Returns how often a sample is taken."""
        return min(usual, 5) if self.quick else usual

    def worth(self, ranks: int) -> str:
        """Says what so many ranks are worth here."""
        if self.launcher:
            return f"{ranks} ranks {self.place}"
        if not self.crowded(ranks):
            return f"{ranks} ranks, a core each"
        return f"{ranks} ranks on {self.cores} cores, so that times contain the wait for a core"


def site_at_hand(
    ranks: Sequence[int], libraries: Sequence[str], launches: int, quick: bool, launcher: str = ""
) -> Site:
    """Looks at the machine.

    Args:
        ranks: numbers of ranks; none: powers of two up to twice the cores.
        libraries: MPI libraries that may be used; none: all that downbeat-bench is built for.
        launches: of each configuration.
        quick: few repetitions.
        launcher: as in `Site`.

    Raises:
        UsageError: fewer than two ranks; no downbeat-bench, or none for a library; a launcher that cannot be one.
    """
    cores = len(os.sched_getaffinity(0))
    counts = sorted(set(ranks)) or [2**i for i in range(1, (2 * max(1, cores)).bit_length())]
    if counts[0] < 2:
        raise UsageError(f"--ranks {counts[0]}: every figure needs at least 2 ranks")
    for name in libraries:
        if name not in LIBRARIES:
            raise UsageError(f"--mpi {name}: unknown; valid are {', '.join(LIBRARIES)}")
    benches = {name: path for name in libraries or LIBRARIES if (path := built(name))}
    missing = [name for name in libraries if name not in benches]
    if missing:
        raise UsageError(f"--mpi {missing[0]}: no downbeat-bench for it; 'make build MPI={missing[0]}' builds it")
    if not benches:  # no checkout: what is installed
        benches = dict([find_any_bench()])
    return Site(cores, benches, tuple(counts), launches, quick, launcher_at(launcher, Path()) if launcher else "")


def parse_ranks(text: str) -> list[int]:
    """Parses numbers of ranks, as "2,4".

    Raises:
        UsageError: a word is no positive number.
    """
    words = split_list(text) if text else []
    for word in words:
        if not word.isascii() or not word.isdigit() or int(word) < 1:
            raise UsageError(f"--ranks {text}: '{word}' is no number of ranks; as in --ranks 2,4")
    return [int(word) for word in words]
