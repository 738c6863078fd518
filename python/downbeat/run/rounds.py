"""How many rounds of launches an experiment takes: launches count in the state of the machine that most of them found.

Only launches in the same state can be compared, so a machine with two states needs more of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Mapping

from downbeat.data.cells import CHANGED
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.verdicts import FEWEST_LAUNCHES

States = Mapping[LaunchKey, str]  # of the complete launches: the state of the machine
Series = dict[LaunchKey, dict[int, str]]  # launches that differ in their number alone -> number -> state


def rounds_wanted(plan: Plan, states: States) -> int:
    """Returns how many rounds suffice, by the launches so far; within those that the plan allows.

    Every series is to have `plan.launches` in its most frequent state; two that are compared, as many pairs as a
    verdict needs. A launch that is missing is not replaced by another number.
    """
    series = series_of(states)
    others = max((len(one) - most_frequent(one) for one in series.values()), default=0)
    fewest = min(FEWEST_LAUNCHES, plan.launches)
    apart = 0  # launches of the same number that are no pair
    for first, second in itertools.combinations(series, 2):
        if can_be_pairs(first, second):
            a, b = series[first], series[second]
            pairs = Counter(a[number] == b[number] != CHANGED for number in a.keys() & b.keys())
            if 0 < pairs[True] < fewest:  # with no state in common there never are any
                apart = max(apart, pairs[False])
    return within(plan, max(plan.launches + others, fewest + apart))


def rounds_expected(plan: Plan, states: States) -> int:
    """Returns how many rounds it will probably take, if as many launches find the most frequent state as so far."""
    rounds = rounds_wanted(plan, states)
    for one in series_of(states).values():
        most = most_frequent(one)
        if most < plan.launches:
            # As if one more had found it, for the first few.
            rounds = max(rounds, math.ceil(plan.launches * (len(one) + 1) / (most + 1)))
    return within(plan, rounds)


def within(plan: Plan, rounds: int) -> int:
    """Returns a number of rounds, or those that the plan allows on account of states."""
    return max(plan.launches, min(rounds, plan.most_rounds))


def series_of(states: States) -> Series:
    """Returns the states by series and number."""
    series: Series = {}
    for key, state in states.items():
        series.setdefault(dataclasses.replace(key, number=0), {})[key.number] = state
    return series


def most_frequent(states: Mapping[int, str]) -> int:
    """Returns how many launches are in the state that most are in."""
    return max(Counter(state for state in states.values() if state != CHANGED).values(), default=0)


def can_be_pairs(first: LaunchKey, second: LaunchKey) -> bool:
    """Whether launches can be pairs: all is the same but for one factor. States of other numbers of ranks differ."""
    differ = [name for name in LAUNCH_FACTORS if getattr(first, name) != getattr(second, name)]
    return len(differ) == 1 and differ != ["ranks"] and first.portion == second.portion
