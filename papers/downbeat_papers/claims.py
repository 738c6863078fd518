"""Parses the claims of papers, one line of text each, and tests them with the measures of launches.

A kind of figure (a class in kinds/) computes measures: a number per launch, or a number per launch and position (a
size, a number of ranks, a network). A claim compares measures by their names:

    double_ring / linear > half 3.6                      paired by launch
    netgauge vs skampi > 1                               unpaired launches of two runs, or separate samples (Welch)
    rise.hca within -0.1 .. 0.1
    some after > 1 and start < 1                         both conditions at one position or more
    every excess < 10 %                                  at every position, which is the default
    each line / tree > half {others}/{steps}             a claim for each position; braces: words of that position
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
# A condition of a test: a measure, or two with an operator, then a comparison with a border.
CONDITION = re.compile(
    r"(?P<left>\S+)(?: (?P<operator>/|-|vs) (?P<right>\S+))?(?: (?P<sign>>|<|within|beyond|grows) ?(?P<border>[^<>]*))?"
)


def between(values: Iterable[float], unit: str = "") -> str:
    """Returns a range, e.g. "1.02 to 1.3 us"; "none": no finite value."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return "none"
    low, high = digits(min(known)), digits(max(known))
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
        known = finite(self.values)
        return f"{digits(float(np.median(known)))}{self.unit}" if known.size else "unknown"

    @property
    def text(self) -> str:
        """The median over launches, and their range."""
        spread = between(finite(self.values))
        return f"{self.middle} (launches {spread})" if " to " in spread else self.middle


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim that the kind of figure judges by its own code, in place of a measure to compare."""

    evidence: Evidence | Undecidable | None  # evidence for the claim; None: a number to compare
    here: str  # our result, in words


ByPosition: TypeAlias = Mapping[Any, Measure]
Measured: TypeAlias = Measure | Outcome | Mapping[Any, Any]  # a mapping has measures by position


def missing(why: str = NOT_MEASURED) -> Measure:
    """Returns a measure without values, so that claims on it are undecided for the reason `why`."""
    return Measure([], obstacle=why)


def measures_by_position(
    values: Mapping[Any, ArrayLike | pd.Series],
    unit: str = "",
    words: str = "{} ranks",
    **options: Any,  # noqa: ANN401
) -> dict[str, Measure]:
    """Returns a measure for each position; `words` makes its name. Further arguments are those of `Measure`."""
    return {words.format(position): Measure(launches, unit, **options) for position, launches in values.items()}


def undecided(measured: Measured, why: str) -> Measured:
    """Returns the measures with the reason `why` they cannot decide claims; numbers to compare are not changed."""
    if isinstance(measured, Mapping):
        return {position: undecided(measure, why) for position, measure in measured.items()}
    if isinstance(measured, Measure):
        return replace(measured, obstacle=why)
    return replace(measured, evidence=measured.evidence and Undecidable(why))


@dataclass(frozen=True)
class Facts:
    """Measures of launches, by the names that claims use.

    Attributes:
        measures: name -> measures; claims on other names are left out.
        words: replacements of {name} in the texts of claims; for claims with `each`, position -> such a mapping.
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
        """Compares the claim with the measurements: one finding, with `each` one per position.

        There is no finding if a measure is missing in the facts.
        """
        text = self.test.removeprefix("each ")
        names = {name for condition in comparisons(text.removeprefix("show ")) for name in condition.names}
        if not names <= set(facts.measures):
            return
        measures = {name: facts.measures[name] for name in names}
        if text == self.test:
            yield self.finding(text, measures, facts.words)
            return
        with_positions = [measure for measure in measures.values() if isinstance(measure, Mapping)]
        for position in with_positions[0]:
            words = {"place": position, **facts.words.get(position, {})}
            yield self.finding(text, at_position(measures, position), words)

    def finding(self, test: str, measures: Mapping[str, Measured], words: Mapping[Any, Any]) -> Finding:
        """Compares the claim with measures; with `each`, the measures of a position."""
        replacements = {str(name): word for name, word in words.items()}
        claim, paper, test = (text.format(**replacements) for text in (self.claim, self.paper, test))
        without_show = test.removeprefix("show ")
        evidence = evidence_of(test, measures) if without_show == test else None
        return Finding(claim, paper, described(without_show, measures), evidence)


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
        """The names of the measures, one or two."""
        return [name for name in (self.left, self.right) if name]


def comparisons(text: str) -> list[Comparison]:
    """Returns the comparisons of a test, or the numbers to compare."""
    conditions = []
    for condition in re.split(r", | and | or ", text.removeprefix("every ").removeprefix("some ")):
        match = CONDITION.fullmatch(condition)
        if not match:
            raise ValueError(f"'{condition}' is not part of a test; write 'late / together < 1'")
        conditions.append(Comparison(**match.groupdict(default="")))
    return conditions


def border(text: str, unit: str) -> float:
    """Parses a border, e.g. "2 us", "1/9" or "half 3.6", which is the square root of 3.6."""
    words = text.strip().removesuffix(unit)
    numerator, _, denominator = words.removeprefix("half ").partition("/")
    value = float(numerator) / float(denominator or 1)
    return math.sqrt(value) if words.startswith("half ") else value


def estimate(condition: Comparison, first: Measure, other: Measure | None) -> Estimate:
    """Estimates a measure (`other` is None), or the ratio or the difference of two measures."""
    estimate_of = mean_of if first.signed else factor_of
    if other is None:
        return estimate_of(first.values, first.unit)
    if condition.operator == "vs":
        return difference(estimate_of(first.values, first.unit), estimate_of(other.values))
    return estimate_of(combined(condition, first, other), first.unit if first.signed else "")


def combined(condition: Comparison, first: Measure, other: Measure) -> ArrayLike | pd.Series:
    """Returns the ratio of two measures in each launch, or their difference."""
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
    mappings = [measure for measure in measures.values() if isinstance(measure, Mapping)]
    if not mappings:
        return [None]
    return [position for position in mappings[0] if all(position in mapping for mapping in mappings)]


def at_position(measures: Mapping[str, Measured], position: object) -> dict[str, Measure]:
    """Returns the measures at a position, and the measures without positions."""
    return {name: measure[position] if isinstance(measure, Mapping) else measure for name, measure in measures.items()}  # type: ignore[misc]


def evidence_of(test: str, measures: Mapping[str, Measured]) -> Evidence | Undecidable | None:
    """Returns the evidence of launches on a test, or the reason why it is undecided.

    A test is a list of alternatives (" or "); each alternative is a list of conditions that must all hold (" and ").
    """
    for measure in measures.values():
        if isinstance(measure, Outcome):
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
        return grows(
            {index: at_position(measures, position)[first.left].values for index, position in enumerate(positions)}
        )

    def evidence_at(position: object, conditions: Sequence[Comparison]) -> Iterator[Evidence]:
        for condition in conditions:
            evidence = compared(condition, at_position(measures, position))
            # The description names the position.
            yield evidence if position is None else replace(evidence, described=f"{position}: {evidence.described}")

    if test.startswith("some "):
        return some(every(evidence_at(position, conditions)) for position in positions for conditions in alternatives)
    if len(alternatives) == 1:  # a flat list, so that the scope counts the conditions of all positions
        return every(itertools.chain.from_iterable(evidence_at(position, alternatives[0]) for position in positions))
    return every(
        some(every(evidence_at(position, conditions)) for conditions in alternatives) for position in positions
    )


def described(text: str, measures: Mapping[str, Measured]) -> str:
    """Describes our values of the measures in a test, each ratio or difference of two, and the notes on them."""
    for measure in measures.values():
        if isinstance(measure, Outcome):
            return measure.here
    descriptions: dict[str, None] = {}  # as an ordered set
    notes: dict[str, None] = {}
    for condition in comparisons(text):
        chosen = {name: measures[name] for name in condition.names}
        for name, measure in chosen.items():
            values = [
                (position, at_position({name: measure}, position)[name]) for position in positions_of({name: measure})
            ]
            descriptions[listed(readable_name(name), values)] = None
            notes |= {measure.note: None for _, measure in values if measure.note}
        if condition.operator in ("/", "-"):
            ratios = [(position, ratio(condition, at_position(chosen, position))) for position in positions_of(chosen)]
            words = f"{readable_name(condition.left)} {condition.operator} {readable_name(condition.right)}"
            descriptions[listed(words, ratios)] = None
    return "; ".join(filter(None, [*descriptions, *notes])) or NOT_MEASURED


def listed(name: str, values: Sequence[tuple[Any, Measure]]) -> str:
    """Returns the text of a measure, or of measures by position, with their name; empty: nothing was measured."""
    known = [(position, measure) for position, measure in values if finite(measure.values).size]
    if not known:
        return ""
    if [position for position, _ in known] == [None]:  # a measure without positions
        return f"{name} {known[0][1].text}"
    return f"{name}: {', '.join(f'{position} {measure.middle}' for position, measure in known)}"


def ratio(condition: Comparison, measures: Mapping[str, Measure]) -> Measure:
    """Returns the ratio, or the difference, of two measures."""
    first, other = measures[condition.left], measures[condition.right]
    if not len(finite(first.values)) or not len(finite(other.values)):
        return missing()
    return Measure(combined(condition, first, other), first.unit if condition.operator == "-" else "")


def readable_name(name: str) -> str:
    """Returns the name of a measure in words: "rise.hca_2" is "rise, hca 2"."""
    return name.replace("_", " ").replace(".", ", ")
