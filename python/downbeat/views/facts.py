"""Facts on a run: what was measured where, what does not count, how long its launches took."""

from __future__ import annotations

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
        states: ranks, state of the machine and number of launches, where there are several states.
        path: what the states are of.
    """

    ranks: tuple[int, ...]
    platform: str
    libraries: tuple[str, ...]
    launches: int
    configurations: int
    span: float
    states: tuple[tuple[int, str, int], ...]
    path: str


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
class LaunchSpread(Fact):
    """How much launches differ, in results of other tools.

    Attributes:
        cells: all of them.
        several: cells with two launches or more.
        median: largest / smallest launch, median over these cells; NaN without any.
        high: of nine of ten of these cells at most.
    """

    cells: int
    several: int
    median: float
    high: float
