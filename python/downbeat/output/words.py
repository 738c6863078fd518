"""The wordings of facts: for each a long one, which stands alone, and where it has one a short one for a summary.

A wording is a plain function of the fact. `Line(fact)` of `blocks.py` shows it; JSON has the fact itself.
"""

from __future__ import annotations

import textwrap
from functools import singledispatch

from downbeat.output.facts import (
    BestScheme,
    CellWarning,
    ChoicePrice,
    ClockDrift,
    ExitSkews,
    Fact,
    LackOfLaunches,
    NotMeasured,
    PairDrift,
    RoundTrips,
    RuleRemoved,
    RulesOutcome,
    SchemeError,
    SharedClock,
    TuningNote,
    UnconfirmedRules,
    UncountedCells,
)
from downbeat.output.fields import digits, span
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, counted, listed, time_text


@singledispatch
def long(fact: Fact) -> str:
    """The wording of a fact where it stands alone."""
    raise TypeError(f"{type(fact).__name__} has no wording in words.py")


@singledispatch
def short(fact: Fact) -> str:
    """The wording of a fact among others; the long one where no shorter one is registered."""
    return long(fact)


# Clocks.


@long.register
def _(_: SharedClock) -> str:
    return (
        "The schemes cannot be compared: all ranks share one clock, so their offsets are 0 by construction, and the "
        "measured ones are noise. Set DOWNBEAT_SHARE=never, or give every rank a clock of its own with known truth, as "
        "in DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6."
    )


@long.register
def _(fact: BestScheme) -> str:
    best, quickest = fact.best, fact.quickest
    sentences = [
        f"{digits(fact.wait)} s after a synchronization, {best.scheme} is the quickest of the schemes within "
        f"{PERCENT * fact.good:.0f} % of the smallest {fact.kind}: {time_text(best.error)}, after "
        f"{time_text(best.duration)} of synchronizing."
    ]
    if quickest != best:
        sentences.append(f"The quickest of all is {quickest.scheme}: {scheme_numbers(quickest, fact.kind)}.")
    if fact.outside == 0:
        sentences.append("No error exceeded its bound.")
    elif fact.outside is not None:
        sentences.append(f"Bounds do not hold: {PERCENT * fact.outside:.3g} % of the errors of a scheme exceed them.")
    return " ".join(sentences)


def scheme_numbers(scheme: SchemeError, kind: str) -> str:
    """The duration and the error of a scheme."""
    return f"{time_text(scheme.duration)}, {kind} {time_text(scheme.error)}"


@long.register
def _(fact: ClockDrift) -> str:
    return f"Over {digits(fact.duration)} s the local clocks drifted apart: {listed(map(pair_drift, fact.pairs))}."


def pair_drift(pair: PairDrift) -> str:
    """The drift of a pair."""
    unsure = ", within the error of the measurement" if pair.within_error else ""
    return (
        f"ranks {pair.pair} by {pair.skew * MICROSECONDS:+.3g} us per s{unsure} (off the line by "
        f"{time_text(pair.residual)} at most; predicted from the first half, wrong by "
        f"{time_text(pair.prediction_error)} at the end)"
    )


@long.register
def _(fact: RoundTrips) -> str:
    pairs = (
        f"ranks {pair.pair}: shortest {time_text(pair.shortest)}, median {time_text(pair.median)}, 99 % below "
        f"{time_text(pair.p99)}"
        for pair in fact.pairs
    )
    return f"Round trips, {counted(fact.samples, 'sample')} of each pair: {listed(pairs)}."


@long.register
def _(fact: ExitSkews) -> str:
    ranks = f" of {fact.ranks} ranks" if fact.ranks else ""
    below = f"below {time_text(fact.limit)} (the clock's limit) after {listed(fact.below)}" if fact.below else ""
    above = listed(
        f"{span(skew.low * MICROSECONDS, skew.high * MICROSECONDS)} us after {skew.synchronizer}" for skew in fact.above
    )
    return f"Median exit skew{ranks}: {'; '.join(filter(None, (below, above)))}."


# Tuning.

LONGEST_REASON = 150  # characters, in a text; JSON has all of them
MOST_CELLS = 3  # that a line names; JSON has all of them


def reason_text(reason: str) -> str:
    """A reason, cut to what a line can hold."""
    return textwrap.shorten(reason, LONGEST_REASON, placeholder=" ...")


@long.register
def _(fact: RulesOutcome) -> str:
    if not fact.rules:
        return f"No rules for {counted(fact.cells, 'cell')}: the library's own choice stays."
    proofs = "; ".join(
        f"{each.cells} {each.verdict}{' by ' if each.verdict == 'proven' else ': '}{reason_text(each.by)}"
        for each in fact.proofs
    )
    rules = f"{counted(fact.rules, 'rule')} for {fact.ruled} of {fact.cells} cells"
    return f"{rules} ({proofs or 'not checked'}); the library's own choice stays in the others."


@long.register
def _(fact: ChoicePrice) -> str:
    chosen = f"Chosen {fact.otherwise}, {counted(fact.cells, 'cell')} would have another algorithm."
    if fact.ratio is None:
        return f"{chosen} Too few launches compare both choices {fact.like}."
    ratio = "{:.3f} ({:.3f} to {:.3f}) times as long".format(*fact.ratio)
    certain = f"in {counted(fact.longer, 'cell')} certainly longer"
    return f"{chosen} Measured anew {fact.like}, those take {ratio} on average, {certain}."


@long.register
def _(fact: NotMeasured) -> str:
    algorithm = f"{fact.collective} on {fact.ranks} ranks by {fact.algorithm}"
    return f"{algorithm} was not measured: {reason_text(fact.reason)}"


@long.register
def _(fact: TuningNote) -> str:
    return fact.remark


@long.register
def _(fact: LackOfLaunches) -> str:
    if fact.launches < fact.needed:
        return (
            f"{fact.launches} launches cannot decide anything, so all defaults stay; use at least {fact.needed}, "
            "usually 10"
        )
    so = "their defaults stay, untested" if fact.where == "sweep" else "the gain of the rules is unknown there"
    return (
        f"{fact.lacking} of {fact.cells} cells lack launches that count, so {so}; see {fact.where}/*/failed, measure "
        "on an idle machine, or allow a larger --tolerance or --late-ranks (after --)"
    )


@long.register
def _(fact: UncountedCells) -> str:
    more = f" and {len(fact.cells) - MOST_CELLS} more" if len(fact.cells) > MOST_CELLS else ""
    return f"{fact.status} cells do not count ({fact.where}): {'; '.join(fact.cells[:MOST_CELLS])}{more}"


@long.register
def _(fact: RuleRemoved) -> str:
    return (
        f"the rule for {fact.collective} on {fact.ranks} ranks ({fact.sizes}) by {fact.algorithm} was written, "
        f"measured and removed: {fact.reason}; report it to the developers of the library"
    )


@long.register
def _(fact: UnconfirmedRules) -> str:
    withdrawn = f", and {fact.withdrawn} of them are withdrawn" if fact.withdrawn else ""
    return (
        f"{len(fact.unconfirmed)} of {fact.rules} rules gained nothing for certain when they were measured "
        f"anew{withdrawn}: {'; '.join(fact.unconfirmed)}. The luckiest of many algorithms looks better than it is; "
        "tune with more launches or repetitions, or a larger --margin"
    )


@long.register
def _(fact: CellWarning) -> str:
    cell = f"{fact.collective} of {bytes_text(fact.size)} bytes on {fact.ranks} ranks"
    match fact.problem:
        case "wrong default":
            check = f"downbeat-bench {fact.collective} -m {fact.size} --validate"
            return f"{cell} has wrong results by the library's own choice, which no rule replaces; {check} shows them"
        case "not obeyed":
            return f"the rules are not obeyed for {cell}: {fact.by}; do not use them before you know why"
        case "lost":
            return (
                f"{cell} was measured without the rules and in no launch under them; do not use them before you know "
                "why: gain/*/failed has the errors of the launches"
            )
    ratio = "{:.3f} times as long under the rules ({:.3f} to {:.3f})".format(*fact.ratio or ())
    return (
        f"{cell} has {'a' if fact.ruled else 'no'} rule and takes {ratio}; tune again on an idle machine, or leave it "
        "out"
    )
