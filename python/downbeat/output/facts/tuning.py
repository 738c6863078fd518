"""Facts on tunings.

A tuning measures algorithms (sweep), chooses one for each cell, writes rules, and proves them: it measures the gain,
and checks that the library obeys the rules. A cell is a collective on a number of ranks, at a message size in bytes; a
rule is an algorithm for a range of sizes, "8-31" bytes or "all".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class CellProofs:
    """Cells with the same proof that the library obeys the rules."""

    verdict: str  # "proven", "cannot tell" or "failed"
    by: str  # measure of a proof, or reason of a failure
    cells: int  # number of the cells


@dataclass(frozen=True)
class RulesOutcome(Fact):
    """The rules of a tuning, and their proofs."""

    rules: int  # number of rules
    cells: int  # number of all cells
    ruled: int  # number of cells with a rule
    proofs: tuple[CellProofs, ...]  # of the cells with a rule


@dataclass(frozen=True)
class ChoicePrice(Fact):
    """The price of choosing algorithms by another measurement.

    Attributes:
        otherwise: the other measurement, e.g. "after MPI_Barrier".
        like: the measurement that compares both choices, e.g. "from a common start".
        cells: number of cells in which the other measurement leads to another choice.
        longer: number of these cells in which that choice takes significantly longer.
        ratio: time of those choices / time of the choices of this tuning, mean with interval; None: too few launches.
    """

    otherwise: str
    like: str
    cells: int
    longer: int
    ratio: tuple[float, float, float] | None


@dataclass(frozen=True)
class NotMeasured(Fact):
    """An algorithm that the sweep did not measure."""

    collective: str
    ranks: int
    algorithm: str
    reason: str


@dataclass(frozen=True)
class TuningWarning(Fact):
    """The base of facts that users must know before they rely on rules."""


@dataclass(frozen=True)
class TuningNote(TuningWarning):
    """A remark on the written rules, or on the launches."""

    remark: str


@dataclass(frozen=True)
class DecidedCells(Fact):
    """The cells of results of other tools in which one algorithm is significantly fastest.

    Attributes:
        cells: number of cells with two algorithms or more.
        decided: number of these cells in which one algorithm is significantly fastest.
        enough: number of cells with at least `needed` launches.
        needed: number of launches that a verdict needs.
        most: number of launches of the cell that has the most.
    """

    cells: int
    decided: int
    enough: int
    needed: int
    most: int


@dataclass(frozen=True)
class LaunchesForHalf(Fact):
    """The number of launches that would decide half of the undecided cells.

    Attributes:
        cells: number of undecided cells.
        known: number of cells with two launches or more, so that the deviation between launches is known.
        launches: number of launches that would decide half of the cells; None: unknown, or no number does.
        same: whether no number of launches does, because algorithms differ by less than the margin.
    """

    cells: int
    known: int
    launches: int | None
    same: bool


@dataclass(frozen=True)
class AloneInCells(Fact):
    """Cells of results with only one algorithm."""

    cells: int  # number of the cells


@dataclass(frozen=True)
class UnprovenRules(TuningWarning):
    """Rules from results of other tools, which were not proven on this machine."""

    rules: int  # number of rules
    measured: str  # library in the results
    library: str  # library on this machine, which the rules are for


@dataclass(frozen=True)
class LackOfLaunches(TuningWarning):
    """Cells of a measurement that have fewer launches than a verdict needs."""

    where: str  # the measurement: "sweep" or "gain"
    lacking: int  # number of such cells
    cells: int  # number of all cells
    launches: int  # number of requested launches
    needed: int  # number of launches that a verdict needs


@dataclass(frozen=True)
class UncountedCells(TuningWarning):
    """Cells of a measurement that verdicts do not use."""

    where: str  # the measurement: "sweep" or "gain"
    status: str  # status of the cells
    cells: tuple[str, ...]  # name of each cell with its launches


@dataclass(frozen=True)
class RuleRemoved(TuningWarning):
    """A rule was written and measured, then removed because the algorithm computes wrong results."""

    collective: str
    ranks: int
    sizes: str
    algorithm: str
    reason: str


@dataclass(frozen=True)
class UnconfirmedRules(TuningWarning):
    """Rules whose gain is not significant in launches that were not used for the choice."""

    rules: int  # number of all rules
    unconfirmed: tuple[str, ...]  # names of such rules
    withdrawn: int  # number of these that were removed from the written rules


CellProblem = Literal["wrong default", "not obeyed", "slower", "lost"]


@dataclass(frozen=True)
class CellWarning(TuningWarning):
    """A problem of the rules, or of the library, in a cell.

    Attributes:
        collective: name of the collective. ranks: number of ranks. size: message size, bytes. problem: "wrong default":
        the library's own choice computes wrong results; "not obeyed": the library runs another
            algorithm than the rules name; "slower": slower with the rules; "lost": not measured in any launch with the
            rules.
        ruled: whether the rules have an algorithm for the cell.
        by: measure that shows that the rules are not obeyed; empty for other problems.
        ratio: time with the rules / time without them, with its interval; None for problems other than "slower".
    """

    collective: str
    ranks: int
    size: int
    problem: CellProblem
    ruled: bool
    by: str = ""
    ratio: tuple[float, float, float] | None = None
