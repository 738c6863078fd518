"""The collectives in a trace of one rank, on that rank's own clock: what every reader returns and `axis` works on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
MOST_RATE = 200e-6  # difference of two clocks that keep 100 ppm each


@dataclass(frozen=True)
class Calls:
    """The calls of one group of ranks on one rank, in its order.

    Attributes:
        group: same name on all members: a process group or communicator.
        ranks: of the group, in the job's numbering; empty: the trace does not say.
        operation: name of each call, lower case, without a library's prefix: allreduce, bcast, barrier ...
        sequence: number of each call that is the same on all members; None: calls match by their order.
        root: in the job's numbering, of each call; -1: none, or the trace does not say.
        size: bytes of each call; -1: the trace does not say.
        entry, exit: of each call, ns on the rank's own clock.
        description: of the group, for people; empty: the trace has none.
    """

    group: str
    ranks: tuple[int, ...]
    operation: NDArray[np.str_]
    sequence: Integers | None
    root: Integers
    size: Integers
    entry: Integers
    exit: Integers
    description: str = ""


@dataclass(frozen=True)
class RankTrace:
    """A trace of one rank.

    Attributes:
        path: it was read from.
        rank: in the job; -1: the file does not say.
        host: name of its machine; empty: the trace does not say.
        calls: one for each group.
    """

    path: Path
    rank: int
    host: str
    calls: tuple[Calls, ...]
