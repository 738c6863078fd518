"""The collectives of MPI and their properties: which ranks wait for which, and the limits that calls put on clocks."""

from __future__ import annotations

from typing import Literal, NamedTuple

Needs = Literal["all", "from root", "to root", "lower", "neighbors"]


class Collective(NamedTuple):
    """A row of the table.

    Attributes:
        name: without MPI_, lower case.
        needs: whose entry a process needs before it can leave: of all; of the root; at the root, of all; of ranks below
            its own; of its neighbors.
        uneven: ranks give their own sizes. An empty block needs nobody, so calls put no limit on clocks.
        reduces: it combines elements.
    """

    name: str
    needs: Needs
    uneven: bool = False
    reduces: bool = False

    @property
    def rooted(self) -> bool:
        """Whether calls have a root."""
        return self.needs in ("from root", "to root")

    @property
    def symmetric(self) -> bool:
        """Whether all ranks have the same part, so that they end together."""
        return self.needs == "all"

    @property
    def limits_clocks(self) -> bool:
        """Whether each call shows that some entries come before some exits (MPI 4.1, 6.1)."""
        return (self.rooted or self.symmetric) and not self.uneven


COLLECTIVES = (
    Collective("allgather", "all"),
    Collective("allreduce", "all", reduces=True),
    Collective("barrier", "all"),
    Collective("alltoall", "all"),
    Collective("reduce_scatter", "all", reduces=True),
    Collective("reduce_scatter_block", "all", reduces=True),
    Collective("allgatherv", "all", uneven=True),
    Collective("alltoallv", "all", uneven=True),
    Collective("alltoallw", "all", uneven=True),
    Collective("bcast", "from root"),
    Collective("scatter", "from root"),
    Collective("scatterv", "from root", uneven=True),
    Collective("gather", "to root"),
    Collective("gatherv", "to root", uneven=True),
    Collective("reduce", "to root", reduces=True),
    Collective("exscan", "lower", reduces=True),
    Collective("scan", "lower", reduces=True),
    Collective("neighbor_allgather", "neighbors"),
    Collective("neighbor_allgatherv", "neighbors", uneven=True),
    Collective("neighbor_alltoall", "neighbors"),
    Collective("neighbor_alltoallv", "neighbors", uneven=True),
    Collective("neighbor_alltoallw", "neighbors", uneven=True),
)
ROOTED = tuple(each.name for each in COLLECTIVES if each.rooted)
REDUCTIONS = tuple(each.name for each in COLLECTIVES if each.reduces)


def collectives(needs: Needs, limits_clocks: bool = False) -> tuple[str, ...]:
    """The names of collectives; those alone that put limits on clocks, if asked for."""
    return tuple(each.name for each in COLLECTIVES if each.needs == needs and (each.limits_clocks or not limits_clocks))
