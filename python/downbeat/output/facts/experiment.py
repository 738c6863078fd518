"""Facts on experiments: launches and machine, cells that do not count, latencies, algorithms, hidden shares.

A cell is an operation with a size and other factors; a launch measures all cells once. The lowest algorithm is the one
with the lowest latency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class RunSummary(Fact):
    """A summary of the launches of an experiment.

    Attributes:
        ranks: numbers of ranks.
        platform: simulated cluster; empty on a real machine.
        libraries: names of MPI libraries.
        launches: number of complete launches.
        configurations: number of configurations.
        span: time from the start of the first launch to the start of the last, s; NaN: unknown.
    """

    ranks: tuple[int, ...]
    platform: str
    libraries: tuple[str, ...]
    launches: int
    configurations: int
    span: float


@dataclass(frozen=True)
class MachineStates(Fact):
    """The machine had several states during the experiment.

    Attributes:
        launches: each state, and the number of launches with cells in it.
    """

    launches: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LeftOut(Fact):
    """Cells that verdicts do not use in some launches.

    Attributes:
        status: status of these cells.
        cells: their operations and sizes, as text.
        launches: number of launches with such a cell.
    """

    status: str
    cells: tuple[str, ...]
    launches: int


@dataclass(frozen=True)
class Resemble(Fact):
    """Launches are correlated with the launch before them."""

    line: str  # sentence of `resemblance_lines`


@dataclass(frozen=True)
class Described(Fact):
    """Launches in a row describe only the time in which they were made."""

    launches: int
    span: float  # s


@dataclass(frozen=True)
class Lowest:
    """The cases (sizes and configurations) in which an algorithm is lowest after a synchronizer."""

    algorithm: str
    start: str  # synchronizer
    cases: int  # number of the cases


@dataclass(frozen=True)
class Algorithms(Fact):
    """The algorithms of one operation with the lowest latency.

    Attributes:
        operation: name of the operation.
        lowest: lowest algorithms from a common start if that was measured, else after each synchronizer.
        from_common_start: whether a common start was measured.
        cases: number of sizes and configurations.
        sure: number of cases in which the lowest algorithm is significantly below every other one.
        deceived: each other synchronizer, and the number of cases in which another algorithm is lowest after it.
        harmed: number of these cases in which that algorithm is significantly slower from a common start.
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
    """The number of operations whose algorithms are only in pictures."""

    operations: int


@dataclass(frozen=True)
class Spread:
    """The range of a number over the cells of an operation."""

    operation: str
    low: float  # smallest number
    high: float  # largest number
    cells: int  # number of cells
    interval_low: float = math.nan  # 95 % interval of a single cell; NaN: several cells, or no interval
    interval_high: float = math.nan


@dataclass(frozen=True)
class Latencies(Fact):
    """The latencies of each operation, us."""

    start: str  # synchronizer before the samples
    operations: tuple[Spread, ...]


@dataclass(frozen=True)
class HiddenDelays(Fact):
    """The shares of a late start that each operation hides: 1 if it ends no later than without delay."""

    operations: tuple[tuple[Spread, tuple[float, float]], ...]  # each with its smallest and largest delay, us


@dataclass(frozen=True)
class Overlaps(Fact):
    """The shares of nonblocking operations, or of the computation beside them, that run at the same time."""

    operations: tuple[Spread, ...]


@dataclass(frozen=True)
class Remark(Fact):
    """A remark on the launches of an experiment."""

    remark: str  # sentence from downbeat/statistics


@dataclass(frozen=True)
class Rejected(Fact):
    """Samples were rejected, because ranks did not start together, and repeated."""

    shares: tuple[tuple[str, float], ...]  # synchronizer, and share of rejected samples, largest over cells


@dataclass(frozen=True)
class NotOk(Fact):
    """Cells with a status other than ok."""

    status: str
    cells: tuple[str, ...]  # names


@dataclass(frozen=True)
class FewerLaunches(Fact):
    """Cells that were measured in fewer launches than other cells."""

    launches: int  # number of launches that have these cells
    cells: tuple[str, ...]  # names


@dataclass(frozen=True)
class Caution(Fact):
    """The number of warnings on a page; it stands before the numbers."""

    warnings: int
