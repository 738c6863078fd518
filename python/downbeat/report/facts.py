"""Facts of pages: algorithms, latencies, late ranks, overlap.

`views/words.py` has their wordings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class Lowest:
    """The cases in which an algorithm is lowest after a synchronizer."""

    algorithm: str
    start: str
    cases: int


@dataclass(frozen=True)
class Algorithms(Fact):
    """The algorithms of one operation with the lowest latency.

    Attributes:
        operation: of them.
        lowest: from a common start, where that was measured, else after each synchronizer.
        from_common_start: whether it was.
        cases: sizes and configurations.
        sure: cases in which the lowest is significantly below every other.
        deceived: synchronizer, and cases in which another algorithm is lowest after it.
        harmed: those of them in which that algorithm is significantly slower from a common start.
    """

    operation: str
    lowest: tuple[Lowest, ...]
    from_common_start: bool = False
    cases: int = 0
    sure: int = 0
    deceived: tuple[tuple[str, int], ...] = ()
    harmed: int = 0


@dataclass(frozen=True)
class MoreAlgorithms(Fact):
    """Operations whose algorithms no sentence has."""

    operations: int


@dataclass(frozen=True)
class Spread:
    """The smallest and the largest number of an operation's cells; the interval, us, of a single cell."""

    operation: str
    low: float
    high: float
    cells: int
    interval_low: float = math.nan
    interval_high: float = math.nan


@dataclass(frozen=True)
class Latencies(Fact):
    """Latencies by operation, us; `start`: the synchronizer."""

    start: str
    operations: tuple[Spread, ...]


@dataclass(frozen=True)
class HiddenDelays(Fact):
    """Hidden shares of a late start by operation, each with its smallest and largest delay, us."""

    operations: tuple[tuple[Spread, tuple[float, float]], ...]


@dataclass(frozen=True)
class Overlaps(Fact):
    """Hidden shares of nonblocking operations, or of the computation beside them."""

    operations: tuple[Spread, ...]
