"""Facts on experiments: what was measured where, what does not count, latencies, algorithms, hidden shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class RunSummary(Fact):
    """What was measured where.

    Attributes:
        ranks: their numbers.
        platform: that was simulated; empty on a machine.
        libraries: MPI libraries.
        launches: complete ones.
        configurations: that they are of.
        span: from the start of the first launch to that of the last, s; NaN: unknown.
    """

    ranks: tuple[int, ...]
    platform: str
    libraries: tuple[str, ...]
    launches: int
    configurations: int
    span: float


@dataclass(frozen=True)
class MachineStates(Fact):
    """Launches found the machine in several states.

    Attributes:
        launches: with cells in each state.
    """

    launches: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LeftOut(Fact):
    """Cells of launches that do not count.

    Attributes:
        status: of them.
        cells: operations and sizes.
        launches: with such a cell.
    """

    status: str
    cells: tuple[str, ...]
    launches: int


@dataclass(frozen=True)
class Resemble(Fact):
    """Launches that resemble the one before, in the words of `resemblance_lines`."""

    line: str


@dataclass(frozen=True)
class Described(Fact):
    """The time that launches in a row describe, s."""

    launches: int
    span: float


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


@dataclass(frozen=True)
class Remark(Fact):
    """A line on the launches of an experiment, in the words of the room that tests them."""

    remark: str


@dataclass(frozen=True)
class Rejected(Fact):
    """Samples that were rejected and repeated, by synchronizer: the largest share of a cell."""

    shares: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NotOk(Fact):
    """Cells with a status other than ok."""

    status: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class FewerLaunches(Fact):
    """Cells that were measured in fewer launches than others."""

    launches: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Caution(Fact):
    """What a page names before its numbers: the number of warnings below."""

    warnings: int
