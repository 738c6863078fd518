"""Facts: numbers and names that a sentence is made of, computed once from tables. `words.py` has their wordings.

Rooms compute facts of their subject and need not know how they read. Times are in s, shares and ratios plain numbers.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fact:
    """The base of facts; a subclass is a frozen dataclass of values that JSON has."""

    @classmethod
    def name(cls) -> str:
        """The name in JSON."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def record(self) -> dict[str, object]:
        """The fact for JSON: its name and its fields."""
        return {"fact": self.name(), **dataclasses.asdict(self)}


# Clocks.


@dataclass(frozen=True)
class SharedClock(Fact):
    """All ranks share a clock, so that schemes cannot be compared."""


@dataclass(frozen=True)
class SchemeError:
    """A synchronization scheme, with its largest error over ranks and the duration of a synchronization."""

    scheme: str
    error: float  # s
    duration: float  # s


@dataclass(frozen=True)
class BestScheme(Fact):
    """The quickest of the schemes with nearly the smallest errors.

    Attributes:
        wait: time after the synchronization, s.
        kind: of error: "true error" or "measured offset".
        good: schemes count as good within this share of the smallest error.
        best: the quickest of the good ones.
        quickest: of all.
        outside: largest share of errors beyond their bounds; None: not known.
    """

    wait: float
    kind: str
    good: float
    best: SchemeError
    quickest: SchemeError
    outside: float | None


@dataclass(frozen=True)
class PairDrift:
    """The drift of a pair of clocks.

    Attributes:
        pair: of ranks.
        skew: slope of a straight line through the offsets, s per s.
        within_error: whether no offset moved beyond the bounds of the measurement.
        residual: largest distance of an offset from the line, s.
        prediction_error: error of the line at the end, fitted to the first half, s.
    """

    pair: str
    skew: float
    within_error: bool
    residual: float
    prediction_error: float


@dataclass(frozen=True)
class ClockDrift(Fact):
    """How local clocks that nothing corrects drift apart; duration in s."""

    duration: float
    pairs: tuple[PairDrift, ...]


@dataclass(frozen=True)
class PairTrips:
    """Round trips of a pair of ranks, s."""

    pair: str
    shortest: float
    median: float
    p99: float


@dataclass(frozen=True)
class RoundTrips(Fact):
    """Round trips of each pair, and the number of samples of each."""

    samples: int
    pairs: tuple[PairTrips, ...]


@dataclass(frozen=True)
class ExitSkew:
    """Median exit skews after a synchronizer, the smallest and the largest of several cells, s."""

    synchronizer: str
    low: float
    high: float


@dataclass(frozen=True)
class ExitSkews(Fact):
    """How far apart ranks leave synchronizers.

    Attributes:
        limit: smaller skews are below the resolution of the clock, s.
        ranks: their number where several were measured, else 0.
        below: synchronizers whose skews are all below the limit.
        above: the others, by their largest skew.
    """

    limit: float
    ranks: int
    below: tuple[str, ...]
    above: tuple[ExitSkew, ...]


# Tuning. A cell is a collective on a number of ranks, at a message size in bytes; a rule is an algorithm for a range of
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
