"""The question to a tuning, and its whole outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from downbeat.experiment.plan import Library
from downbeat.statistics.verdicts import Comparison
from downbeat.tune.choosing import Decision
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.left_out import LeftOut
from downbeat.tune.other_choices import OtherChoice, Prices
from downbeat.tune.probing import Usable
from downbeat.tune.proving import Proof, failures
from downbeat.tune.rules import Cell, Rule, algorithm_for
from downbeat.tune.sweep import Effort
from downbeat.tune.target import Target


@dataclass(frozen=True)
class Question:
    """The libraries, collectives and sizes to tune, and how."""

    library: Library
    collectives: tuple[str, ...]
    sizes: str  # as downbeat-bench takes them
    ranks: tuple[int, ...]
    effort: Effort
    margin: float
    confidence: float

    @property
    def otherwise(self) -> str:
        """The other measurement, of which it is said what it would have chosen."""
        return "without the arrival pattern" if self.effort.pattern else "after MPI_Barrier"

    @property
    def arrivals(self) -> str:
        """The arrival pattern in words; empty if ranks arrive together."""
        delay = f", delay {self.effort.delay}" if self.effort.delay else ""
        return f"{self.effort.pattern}{delay}" if self.effort.pattern else ""


@dataclass(frozen=True)
class Removed:
    """A rule that was written, and removed again because results under it were wrong."""

    rule: Rule
    reason: str


@dataclass
class Tuning:
    """The outcome."""

    question: Question
    target: Target
    usable: list[Usable] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # what was chosen, but cannot be said in rules
    written: Written = field(default_factory=lambda: Written({}, {}, ()))
    proofs: Mapping[Cell, Proof] = field(default_factory=dict)
    gains: Mapping[Cell, Comparison] = field(default_factory=dict)
    rule_gains: Mapping[Rule, Comparison] = field(default_factory=dict)
    lost: Sequence[Cell] = ()  # cells that could not be measured under the rules, but without them
    removed: list[Removed] = field(default_factory=list)
    wrong_defaults: list[Cell] = field(default_factory=list)  # where the library's own choice computes wrong results
    left_out: list[LeftOut] = field(default_factory=list)
    others: list[OtherChoice] = field(default_factory=list)
    prices: Prices = field(default_factory=lambda: Prices({}, None))

    def in_rules(self, cell: Cell) -> str:
        """Returns the algorithm that the rules name for a cell."""
        return algorithm_for(self.rules, cell)

    def disobeyed(self) -> Sequence[Cell]:
        """Returns the cells in which something else ran than the rules say."""
        return failures(self.proofs)

    def objections(self) -> bool:
        """Whether anything speaks against the rules, or wrong results were seen."""
        return bool(self.disobeyed() or self.lost or self.slower() or self.removed or self.wrong_defaults)

    def slower(self) -> list[Cell]:
        """Returns the cells that are slower under the rules than without."""
        return [cell for cell, comparison in self.gains.items() if comparison.verdict == "slower"]
