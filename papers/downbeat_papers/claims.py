"""Parses the claims of papers, one line of text each, and tests them with the measures of launches.

A kind of figure computes measures: a number per launch, or a number per launch and position (a size, a number of ranks,
    a
network). A claim compares measures by their names:

    double_ring / linear > half 3.6                      paired by launch
    netgauge vs skampi > 1                               unpaired launches of two runs, or separate samples (Welch)
    rise.hca within -0.1 .. 0.1
    some after > 1 and start < 1                         both conditions at one position or more
    every excess < 10 %                                  at every position, which is the default
    each line / tree > half {others}/{steps}             a claim for each position
    duration grows                                       from each position to the next
    show frontier                                        a number to compare, without a test

`half N` is half of the effect N that the paper reports, on a logarithmic scale. Signed measures are compared by their
difference (`-`, `vs`), other measures by their ratio (`/`, `vs`).
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
    """Returns a range, e.g. "1.02 to 1.3 us"; "none": no finite value."""
    kept = [value for value in values if np.isfinite(value)]
    if not kept:
        return "none"
    low, high = digits(min(kept)), digits(max(kept))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


@dataclass(frozen=True)
class Measure:
    """A number that each launch measured once."""

    values: ArrayLike | pd.Series  # a value per launch; series are paired by the launch's number, arrays by index
    unit: str = ""  # with a space, e.g. " us"
    signed: bool = False  # the values may be negative or 0, so differences are compared instead of ratios
    obstacle: str = ""  # reason why the measure cannot decide a claim here; empty: it can
    note: str = ""  # note for readers of the value

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

    evidence: Evidence | Undecidable | None  # evidence for the claim; None: a number to compare
    here: str  # the finding, in words


Places: TypeAlias = Mapping[Any, Measure]
Measured: TypeAlias = Measure | Found | Mapping[Any, Any]  # a mapping has measures by position


def missing(why: str = NOT_MEASURED) -> Measure:
    """Returns a measure that could not be taken here."""
    return Measure([], obstacle=why)


def each(
    values: Mapping[Any, ArrayLike | pd.Series],
    unit: str = "",
    words: str = "{} ranks",
    **options: Any,  # noqa: ANN401
) -> dict[str, Measure]:
    """Returns a measure for each position, which `words` names; further arguments are those of `Measure`."""
    return {words.format(position): Measure(launches, unit, **options) for position, launches in values.items()}


def undecided(measured: Measured, why: str) -> Measured:
    """Returns the measures with the reason `why` they cannot decide claims; numbers to compare are not changed."""
    if isinstance(measured, Mapping):
        return {position: undecided(each, why) for position, each in measured.items()}
    if isinstance(measured, Measure):
        return replace(measured, obstacle=why)
    return replace(measured, evidence=measured.evidence and Undecidable(why))


@dataclass(frozen=True)
class Facts:
    """Measures of launches, by the names that claims use.

    Attributes:
        measures: name -> measures; claims on other names are left out.
        words: values of names in braces in claims; for claims with `each`, a mapping for each position.
    """

    measures: Mapping[str, Measured]
    words: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A claim of the paper with the evidence of launches, or a number to compare.

    Attributes:
        claim: the claim in a few words.
        paper: the paper's result, with its numbers.
        here: our result, computed from the launches.
        evidence: evidence of the launches for the claim, or the reason why it is undecided; None: a number to compare.
    """

    claim: str
    paper: str
    here: str
    evidence: Evidence | Undecidable | None

    @property
    def is_claim(self) -> bool:
        """True for a claim, false for a number to compare."""
        return self.evidence is not None


@dataclass(frozen=True)
class Claim:
    """A claim of a paper; all texts may have words of the facts in braces.

    Attributes:
        test: the test, see the top of the file. After `show` there are measures, or ratios of measures, that are
            numbers to compare, separated by commas.
        claim: the claim in a few words.
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
        """Compares the claim with measures; with `each`, the measures of a position."""
        fields = {str(name): word for name, word in words.items()}
        claim, paper, test = (text.format(**fields) for text in (self.claim, self.paper, test))
        shown = test.removeprefix("show ")
        evidence = evidence_of(test, measures) if shown == test else None
        return Finding(claim, paper, described(shown, measures), evidence)


@dataclass(frozen=True)
class Comparison:
    """A condition on one or two measures; fields that the text lacks are empty."""

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
    """Parses a border, e.g. "2 us", "1/9" or "half 3.6"."""
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
    """Returns the positions that all measures with positions share; [None]: no measure has positions."""
    split = [by_place for by_place in measures.values() if isinstance(by_place, Mapping)]
    if not split:
        return [None]
    return [position for position in split[0] if all(position in by_place for by_place in split)]


def at_position(measures: Mapping[str, Measured], position: object) -> dict[str, Measure]:
    """Returns the measures at a position, and the measures without positions."""
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
            # The description names the position.
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
    """Returns a value, or values by position, with their name; empty: nothing was measured."""
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
