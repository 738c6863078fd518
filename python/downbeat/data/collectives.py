"""Lists MPI's collectives with their properties: the ranks that a rank waits for, and whether calls limit clocks.

A call limits clocks if the entry of a rank must come before the exit of another rank.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Needs = Literal["all", "from root", "to root", "lower", "neighbors"]


class Collective(NamedTuple):
    """A collective operation.

    Attributes:
        name: without MPI_, lower case.
        needs: ranks that must have entered before a rank can leave. "all": all ranks; "from root": the root; "to root":
            the root waits for all ranks, other ranks for none; "lower": ranks with lower numbers; "neighbors".
        uneven: each rank has its own size. A rank with size 0 does not have to wait, so calls do not limit clocks.
        reduces: the operation combines elements.
    """

    name: str
    needs: Needs
    uneven: bool = False
    reduces: bool = False

    @property
    def rooted(self) -> bool:
        """True if calls have a root."""
        return self.needs in ("from root", "to root")

    @property
    def symmetric(self) -> bool:
        """True if all ranks have the same role, so that they end together."""
        return self.needs == "all"

    @property
    def limits_clocks(self) -> bool:
        """True if each call limits clocks (MPI 4.1, 6.1)."""
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
    """Returns the names of collectives with a value of `needs`; with `limits_clocks`, only if they limit clocks."""
    fitting = [each for each in COLLECTIVES if each.needs == needs]
    return tuple(each.name for each in fitting if each.limits_clocks or not limits_clocks)
