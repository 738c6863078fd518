"""Calculates the number of rounds that an experiment needs; a round is one launch of each configuration.

Only launches in the same state of the machine can be compared, so only those in the most frequent state count, and a
machine with two states needs more rounds. A series is the launches of one configuration (and portion) in all rounds.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Mapping

from downbeat.data.cells import CHANGED
from downbeat.run.estimates import Estimates
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.verdicts import MIN_LAUNCHES

Series = dict[LaunchKey, dict[int, str]]  # key of the series: number 0 -> number of the launch -> state


def rounds_needed(plan: Plan, estimates: Estimates) -> int:
    """The number of rounds that suffice, by the launches so far, within the limits of the plan.

    Every series needs `plan.launches` in its most frequent state, and two comparable series need enough pairs for a
    verdict. A missing launch is not replaced by a further round.
    """
    series = series_of(estimates.states())
    in_other_states = max((len(states) - count_in_main_state(states) for states in series.values()), default=0)
    min_pairs = min(MIN_LAUNCHES, plan.launches)
    unequal = 0  # rounds whose two launches were in different states, so they are no pair
    for first, second in itertools.combinations(series, 2):
        if can_be_pairs(first, second):
            a, b = series[first], series[second]
            # Rounds in which both launches were in the same state (True), and all others (False).
            pairs = Counter(a[number] == b[number] != CHANGED for number in a.keys() & b.keys())
            if 0 < pairs[True] < min_pairs:  # without a common state, more rounds give no pairs either
                unequal = max(unequal, pairs[False])
    return within_limits(plan, max(plan.launches + in_other_states, min_pairs + unequal))


def rounds_expected(plan: Plan, estimates: Estimates) -> int:
    """The expected number of rounds, if the most frequent state stays as frequent as so far."""
    rounds = rounds_needed(plan, estimates)
    for states in series_of(estimates.states()).values():
        count = count_in_main_state(states)
        if count < plan.launches:
            # Count one more launch, in the most frequent state: with few launches, their share is uncertain.
            rounds = max(rounds, math.ceil(plan.launches * (len(states) + 1) / (count + 1)))
    return within_limits(plan, rounds)


def within_limits(plan: Plan, rounds: int) -> int:
    """A number of rounds, limited to the plan's range: from `launches` to `most_rounds`."""
    return max(plan.launches, min(rounds, plan.most_rounds))


def series_of(states: Mapping[LaunchKey, str]) -> Series:
    """Sorts the states of launches into series."""
    series: Series = {}
    for key, state in states.items():
        series.setdefault(dataclasses.replace(key, number=0), {})[key.number] = state
    return series


def count_in_main_state(states: Mapping[int, str]) -> int:
    """The number of launches in the most frequent state of a series; launches with a change of state do not count."""
    counts = Counter(states.values())
    del counts[CHANGED]
    return max(counts.values(), default=0)


def can_be_pairs(first: LaunchKey, second: LaunchKey) -> bool:
    """Whether launches of two series can be compared in pairs: exactly one factor differs.

    Series with different numbers of ranks cannot: their states differ too.
    """
    differing = [name for name in LAUNCH_FACTORS if getattr(first, name) != getattr(second, name)]
    return len(differing) == 1 and differing != ["ranks"] and first.portion == second.portion
