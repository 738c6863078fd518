"""Facts on a run: what was measured where, what does not count, how long its launches took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from downbeat.data.cells import STATE, Cells
from downbeat.output.facts import Fact
from downbeat.run.plan import LAUNCH_FACTORS


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


def machine_states(cells: Cells) -> list[MachineStates]:
    """The fact; none where there is one state."""
    cells = cells[cells.state != ""]  # some numbers of ranks may have one state only
    states = Counter(state for *_, state in dict.fromkeys(cells.values(*LAUNCH_FACTORS, "launch", STATE)))
    return [MachineStates(tuple(states.most_common()))] if len(states) > 1 else []


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
