"""Claims as data: a line of text is the test that launches have to pass.

A kind of figure computes measures: a number per launch, or one per launch and place (a size, a number of ranks, a
network). A claim names them:

    double_ring / linear > half 3.6                      paired by launch
    netgauge vs skampi > 1                               launches of two runs, or samples of their own (Welch)
    rise.hca within -0.1 .. 0.1
    some after > 1 and start < 1                         both at one place or more
    every excess < 10 %                                  at every place, which is also meant if nothing is said
    each line / tree > half {others}/{steps}             a claim for each place
    duration grows                                       from each place to the next
    show frontier                                        a number to compare

`half N` is half of the effect N that the paper reports, on a logarithmic scale. A difference (`-`, `vs`) is taken of
signed measures, a ratio (`/`, `vs`) of others.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from downbeat.output.fields import digits
from numpy.typing import ArrayLike

from downbeat_papers.evidence import (
    Estimate,
    Evidence,
    Undecidable,
    difference,
    every,
    factor_of,
    finite,
    grows,
    mean_of,
    some,
)

NOT_MEASURED = "not measured here"
PART = re.compile(
    r"(?P<left>\S+)(?: (?P<operator>/|-|vs) (?P<right>\S+))?(?: (?P<sign>>|<|within|beyond|grows) ?(?P<border>[^<>]*))?"
)


def between(values: Iterable[float], unit: str = "") -> str:
    """Returns a range, as "1.02 to 1.3 us"."""
    kept = [value for value in values if np.isfinite(value)]
    if not kept:
        return "none"
    low, high = digits(min(kept)), digits(max(kept))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


@dataclass(frozen=True)
class Measure:
    """A number that each launch measured once."""

    values: ArrayLike | pd.Series  # one per launch; series are paired by the number of the launch, arrays by position
    unit: str = ""  # as " us"
    signed: bool = False  # whether it may be negative or 0, so that differences are compared and not ratios
    obstacle: str = ""  # why it decides nothing here; empty: it does
    note: str = ""  # for readers of its value

    @property
    def middle(self) -> str:
        """The median over launches."""
        kept = finite(self.values)
        return f"{digits(float(np.median(kept)))}{self.unit}" if kept.size else "unknown"

    @property
    def text(self) -> str:
        """The median over launches, and their range."""
        spread = between(finite(self.values))
        return f"{self.middle} (launches {spread})" if " to " in spread else self.middle


@dataclass(frozen=True)
class Found:
    """The outcome of a claim that needs code to judge."""

    evidence: Evidence | Undecidable | None  # of the claim
    here: str  # the finding, in words


Places: TypeAlias = Mapping[Any, Measure]
Measured: TypeAlias = Measure | Found | Mapping[Any, Any]  # by place, or for claims on each place by that


def missing(why: str = NOT_MEASURED) -> Measure:
    """Returns a measure that could not be taken here."""
    return Measure([], obstacle=why)


def each(
    values: Mapping[Any, ArrayLike | pd.Series],
    unit: str = "",
    words: str = "{} ranks",
    **options: Any,  # noqa: ANN401
) -> dict[str, Measure]:
    """Returns a measure for each place; `words` name it, the rest is as of `Measure`."""
    return {words.format(position): Measure(launches, unit, **options) for position, launches in values.items()}


def undecided(measured: Measured, why: str) -> Measured:
    """Returns a measure that decides nothing; numbers that nothing is claimed of stay as they are."""
    if isinstance(measured, Mapping):
        return {position: undecided(each, why) for position, each in measured.items()}
    if isinstance(measured, Measure):
        return replace(measured, obstacle=why)
    return replace(measured, evidence=measured.evidence and Undecidable(why))


@dataclass(frozen=True)
class Facts:
    """Measures of launches, by the names that claims use.

    Attributes:
        measures: by name; a claim on a name that is absent is left out.
        words: values of names in braces in claims; for claims on each place, a mapping for each place.
    """

    measures: Mapping[str, Measured]
    words: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and what launches here say of it, or a number to compare.

    Attributes:
        claim: in a few words of our own.
        paper: the paper's result, with its numbers.
        here: the same, computed from the data.
        evidence: of the launches for the claim, or why it is undecided; None: a number to compare.
    """

    claim: str
    paper: str
    here: str
    evidence: Evidence | Undecidable | None

    @property
    def is_claim(self) -> bool:
        """True if it can be right or wrong."""
        return self.evidence is not None


@dataclass(frozen=True)
class Claim:
    """A claim of a paper; all texts may have words of the facts in braces.

    Attributes:
        test: as above. After `each` there is a claim for each place; after `show` are measures, or ratios of them, that
            are numbers to compare, separated by commas.
        claim: in a few words.
        paper: the paper's result.
    """

    test: str
    claim: str
    paper: str

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """Compares the claim with the measurements."""
        text = self.test.removeprefix("each ")
        names = {name for condition in comparisons(text.removeprefix("show ")) for name in condition.names}
        if not names <= set(facts.measures):
            return
        measures = {name: facts.measures[name] for name in names}
        if text == self.test:
            yield self.finding(text, measures, facts.words)
            return
        split = [measure for measure in measures.values() if isinstance(measure, Mapping)]
        for position in split[0]:
            yield self.finding(
                text, at_position(measures, position), {"place": position, **facts.words.get(position, {})}
            )

    def finding(self, test: str, measures: Mapping[str, Measured], words: Mapping[Any, Any]) -> Finding:
        """Compares the claim with measures, those of one place for `each`."""
        fields = {str(name): word for name, word in words.items()}
        claim, paper, test = (text.format(**fields) for text in (self.claim, self.paper, test))
        shown = test.removeprefix("show ")
        evidence = evidence_of(test, measures) if shown == test else None
        return Finding(claim, paper, described(shown, measures), evidence)


@dataclass(frozen=True)
class Comparison:
    """A condition on a measure, or on two; empty where a test, or numbers to compare, lack it."""

    left: str
    operator: str  # "/", "-" or "vs"
    right: str
    sign: str  # ">", "<", "within", "beyond" or "grows"
    border: str

    @property
    def names(self) -> list[str]:
        return [name for name in (self.left, self.right) if name]


def comparisons(text: str) -> list[Comparison]:
    """Returns the comparisons of a test, or the numbers to compare."""
    conditions = []
    for condition in re.split(r", | and | or ", text.removeprefix("every ").removeprefix("some ")):
        match = PART.fullmatch(condition)
        if not match:
            raise ValueError(f"'{condition}' is not part of a test; write 'late / together < 1'")
        conditions.append(Comparison(**match.groupdict(default="")))
    return conditions


def border(text: str, unit: str) -> float:
    """Returns a border, as "2 us", "1/9" or "half 3.6"."""
    words = text.strip().removesuffix(unit)
    top, _, bottom = words.removeprefix("half ").partition("/")
    value = float(top) / float(bottom or 1)
    return math.sqrt(value) if words.startswith("half ") else value


def estimate(condition: Comparison, first: Measure, other: Measure | None) -> Estimate:
    """Returns the estimate of a measure, of a ratio or of a difference."""
    estimate_of = mean_of if first.signed else factor_of
    if other is None:
        return estimate_of(first.values, first.unit)
    if condition.operator == "vs":
        return difference(estimate_of(first.values, first.unit), estimate_of(other.values))
    return estimate_of(combined(condition, first, other), first.unit if first.signed else "")


def combined(condition: Comparison, first: Measure, other: Measure) -> ArrayLike | pd.Series:
    """Returns the ratio, or the difference, of each launch."""
    left, right = (
        side if isinstance(side, pd.Series) else np.asarray(side, dtype=float) for side in (first.values, other.values)
    )
    return left - right if condition.operator == "-" else left / right


def compared(condition: Comparison, measures: Mapping[str, Measure]) -> Evidence:
    """Returns the evidence of launches on a comparison, at a single position."""
    first, other = measures[condition.left], measures.get(condition.right)
    parameter = estimate(condition, first, other)
    if condition.sign == "within":
        low, high = (border(end, first.unit) for end in condition.border.split(".."))
        return parameter.within(low, high)
    at = border(condition.border, first.unit)
    return {">": parameter.above, "<": parameter.below, "beyond": parameter.beyond}[condition.sign](at)


def positions_of(measures: Mapping[str, Measured]) -> list[Any]:
    """Returns the places that all measures with places share; [None] if none has places."""
    split = [by_place for by_place in measures.values() if isinstance(by_place, Mapping)]
    if not split:
        return [None]
    return [position for position in split[0] if all(position in by_place for by_place in split)]


def at_position(measures: Mapping[str, Measured], position: object) -> dict[str, Measure]:
    """Returns the measures of a place, and those that hold for all."""
    return {name: measure[position] if isinstance(measure, Mapping) else measure for name, measure in measures.items()}  # type: ignore[misc]


def evidence_of(test: str, measures: Mapping[str, Measured]) -> Evidence | Undecidable | None:
    """Returns the evidence of launches on a test, or the reason why it is undecided."""
    for measure in measures.values():
        if isinstance(measure, Found):
            return measure.evidence
    positions = positions_of(measures)
    if not positions:
        return Undecidable(NOT_MEASURED)
    for position in positions:
        for measure in at_position(measures, position).values():
            if measure.obstacle:
                return Undecidable(measure.obstacle)
    alternatives = [comparisons(text) for text in test.removeprefix("some ").removeprefix("every ").split(" or ")]
    first = alternatives[0][0]
    if first.sign == "grows":
        return grows({at: at_position(measures, position)[first.left].values for at, position in enumerate(positions)})

    def named(position: object, conditions: Sequence[Comparison]) -> Iterator[Evidence]:
        for condition in conditions:
            evidence = compared(condition, at_position(measures, position))
            # The description names the place.
            yield evidence if position is None else replace(evidence, described=f"{position}: {evidence.described}")

    if test.startswith("some "):
        return some(every(named(position, conditions)) for position in positions for conditions in alternatives)
    if len(alternatives) == 1:
        return every(itertools.chain.from_iterable(named(position, alternatives[0]) for position in positions))
    return every(some(every(named(position, conditions)) for conditions in alternatives) for position in positions)


def described(text: str, measures: Mapping[str, Measured]) -> str:
    """Describes each measure, and each ratio or difference of two."""
    for measure in measures.values():
        if isinstance(measure, Found):
            return measure.here
    values_of_names: dict[str, None] = {}
    notes: dict[str, None] = {}
    for condition in comparisons(text):
        chosen = {name: measures[name] for name in condition.names}
        for name, measure in chosen.items():
            values = [
                (position, at_position({name: measure}, position)[name]) for position in positions_of({name: measure})
            ]
            values_of_names[listed(spoken(name), values)] = None
            notes |= {measure.note: None for _, measure in values if measure.note}
        if condition.operator in ("/", "-"):
            values_of = [
                (position, ratio(condition, at_position(chosen, position))) for position in positions_of(chosen)
            ]
            words = f"{spoken(condition.left)} {condition.operator} {spoken(condition.right)}"
            values_of_names[listed(words, values_of)] = None
    return "; ".join(filter(None, [*values_of_names, *notes])) or NOT_MEASURED


def listed(name: str, values: Sequence[tuple[Any, Measure]]) -> str:
    """Returns a value, or values by place, with their name; empty if nothing was measured."""
    known = [(position, measure) for position, measure in values if finite(measure.values).size]
    if [position for position, _ in known] == [None]:
        return f"{name} {known[0][1].text}"
    return f"{name}: {', '.join(f'{position} {measure.middle}' for position, measure in known)}" if known else ""


def ratio(condition: Comparison, measures: Mapping[str, Measure]) -> Measure:
    """Returns the ratio, or the difference, of two measures."""
    first, other = measures[condition.left], measures[condition.right]
    if not len(finite(first.values)) or not len(finite(other.values)):
        return missing()
    return Measure(combined(condition, first, other), first.unit if condition.operator == "-" else "")


def spoken(name: str) -> str:
    """Returns the name of a measure in words."""
    return name.replace("_", " ").replace(".", ", ")
