"""Facts on tunings.

A cell is a collective on a number of ranks, at a message size in bytes; a rule is an algorithm for a range of sizes,
"8-31" bytes or "all".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from downbeat.output.facts import Fact


# A cell is a collective on a number of ranks, at a message size in bytes; a rule is an algorithm for a range of
# sizes, "8-31" bytes or "all".
@dataclass(frozen=True)
class CellProofs:
    """Cells with the same proof: "proven", "cannot tell" or "failed", by a measure or for a reason."""

    verdict: str
    by: str
    cells: int


@dataclass(frozen=True)
class RulesOutcome(Fact):
    """The rules of a tuning: their number, all cells, those that a rule is for, and the proofs of these."""

    rules: int
    cells: int
    ruled: int
    proofs: tuple[CellProofs, ...]


@dataclass(frozen=True)
class ChoicePrice(Fact):
    """The price of choices from another measurement.

    Attributes:
        otherwise: the other measurement: "after MPI_Barrier".
        like: that in which both choices are compared: "from a common start".
        cells: in which the other measurement leads to another choice.
        longer: of these, cells in which its choice takes longer.
        ratio: time of its choices over that of the choices made, with its interval; None: not measured.
    """

    otherwise: str
    like: str
    cells: int
    longer: int
    ratio: tuple[float, float, float] | None


@dataclass(frozen=True)
class NotMeasured(Fact):
    """An algorithm that the sweep left out."""

    collective: str
    ranks: int
    algorithm: str
    reason: str


@dataclass(frozen=True)
class TuningWarning(Fact):
    """The base of facts that users must know before they rely on rules."""


@dataclass(frozen=True)
class TuningNote(TuningWarning):
    """A remark of a form of rules, or of the statistics of launches."""

    remark: str


@dataclass(frozen=True)
class DecidedCells(Fact):
    """The cells of results whose fastest algorithm is beyond doubt.

    Attributes:
        cells: with two algorithms or more.
        decided: of these.
        enough: cells with the launches that a verdict needs.
        needed: launches that it needs.
        most: launches of the cell that has most.
    """

    cells: int
    decided: int
    enough: int
    needed: int
    most: int


@dataclass(frozen=True)
class LaunchesForHalf(Fact):
    """The launches that would decide half of the cells that are not decided.

    Attributes:
        cells: that are not decided.
        known: cells in which the deviation between launches is known.
        launches: that would decide half of the cells; None: no number does, or it is unknown.
        same: whether it is known that no number of launches does, since algorithms differ by less than the margin.
    """

    cells: int
    known: int
    launches: int | None
    same: bool


@dataclass(frozen=True)
class AloneInCells(Fact):
    """Cells of results with one algorithm alone."""

    cells: int


@dataclass(frozen=True)
class UnprovenRules(TuningWarning):
    """Rules from results of other tools: their number, the library in the results, the library on this machine."""

    rules: int
    measured: str
    library: str


@dataclass(frozen=True)
class LackOfLaunches(TuningWarning):
    """Cells of a measurement, "sweep" or "gain", that lack the launches that a verdict needs."""

    where: str
    lacking: int
    cells: int
    launches: int
    needed: int


@dataclass(frozen=True)
class UncountedCells(TuningWarning):
    """Cells of a measurement that do not count, by their status; each with its launches."""

    where: str
    status: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class RuleRemoved(TuningWarning):
    """A rule that was written and measured, and removed because of wrong results."""

    collective: str
    ranks: int
    sizes: str
    algorithm: str
    reason: str


@dataclass(frozen=True)
class UnconfirmedRules(TuningWarning):
    """Rules whose gain launches that had no part in the choice do not confirm; some of them are withdrawn."""

    rules: int
    unconfirmed: tuple[str, ...]
    withdrawn: int


CellProblem = Literal["wrong default", "not obeyed", "slower", "lost"]


@dataclass(frozen=True)
class CellWarning(TuningWarning):
    """A cell that speaks against the rules, or against the library.

    Attributes:
        problem: "wrong default": the library's own choice has wrong results; "not obeyed": another algorithm runs than
            the rules name; "slower" under the rules; "lost": not measured in any launch under the rules.
        ruled: whether the rules name an algorithm for it.
        by: the measure that shows that the rules are not obeyed.
        ratio: time under the rules over that without, with its interval, where it is slower.
    """

    collective: str
    ranks: int
    size: int
    problem: CellProblem
    ruled: bool
    by: str = ""
    ratio: tuple[float, float, float] | None = None
