"""The wordings of facts on clocks and exits of synchronizers."""

from __future__ import annotations

from downbeat.output.facts.clocks import (
    BestScheme,
    ClockDrift,
    ExitSkews,
    PairDrift,
    RoundTrips,
    SharedClock,
)
from downbeat.output.fields import digits, span, synchronizer_name
from downbeat.output.words.wording import long
from downbeat.text import MICROSECONDS, PERCENT, counted, listed, time_text


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
        numbers = f"{time_text(quickest.duration)}, {fact.kind} {time_text(quickest.error)}"
        sentences.append(f"The quickest of all is {quickest.scheme}: {numbers}.")
    if fact.outside == 0:
        sentences.append("No error exceeded its bound.")
    elif fact.outside is not None:
        sentences.append(f"Bounds do not hold: {PERCENT * fact.outside:.3g} % of the errors of a scheme exceed them.")
    return " ".join(sentences)


@long.register
def _(fact: ClockDrift) -> str:
    return f"Over {digits(fact.duration)} s the local clocks drifted apart: {listed(map(pair_drift, fact.pairs))}."


def pair_drift(pair: PairDrift) -> str:
    """Clause on the drift of a pair of clocks."""
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
    below = ""
    if fact.below:
        below = f"below {time_text(fact.limit)} (the clock's limit) after {listed(map(synchronizer_name, fact.below))}"
    above = listed(
        f"{span(skew.low * MICROSECONDS, skew.high * MICROSECONDS)} us after {synchronizer_name(skew.synchronizer)}"
        for skew in fact.above
    )
    return f"Median exit skew{ranks}: {'; '.join(filter(None, (below, above)))}."
