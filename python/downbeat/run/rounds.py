"""The number of rounds of an experiment; only launches in the most frequent state of the machine count.

Only launches in the same state can be compared, so a machine with two states needs more rounds.
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

Series = dict[LaunchKey, dict[int, str]]  # key with number 0 -> number of the launch -> state


def rounds_needed(plan: Plan, estimates: Estimates) -> int:
    """The number of rounds that suffice, by the launches so far, within the limits of the plan.

    Every series needs `plan.launches` in its most frequent state, and two comparable series need enough pairs for a
    verdict. A missing launch is not replaced by a further round.
    """
    series = series_of(estimates.states())
    elsewhere = max((len(numbers) - most_frequent(numbers) for numbers in series.values()), default=0)
    fewest = min(MIN_LAUNCHES, plan.launches)
    apart = 0  # launches of the same number in different states, so no pair
    for first, second in itertools.combinations(series, 2):
        if can_be_pairs(first, second):
            a, b = series[first], series[second]
            pairs = Counter(a[number] == b[number] != CHANGED for number in a.keys() & b.keys())
            if 0 < pairs[True] < fewest:  # without a common state, more rounds give no pairs either
                apart = max(apart, pairs[False])
    return within(plan, max(plan.launches + elsewhere, fewest + apart))


def rounds_expected(plan: Plan, estimates: Estimates) -> int:
    """The expected number of rounds, if the most frequent state stays as frequent as so far."""
    rounds = rounds_needed(plan, estimates)
    for numbers in series_of(estimates.states()).values():
        most = most_frequent(numbers)
        if most < plan.launches:
            # Add one launch in the most frequent state: a prior for few launches.
            rounds = max(rounds, math.ceil(plan.launches * (len(numbers) + 1) / (most + 1)))
    return within(plan, rounds)


def within(plan: Plan, rounds: int) -> int:
    """A number of rounds limited to the plan's range."""
    return max(plan.launches, min(rounds, plan.most_rounds))


def series_of(states: Mapping[LaunchKey, str]) -> Series:
    """The states by series and number of the launch."""
    series: Series = {}
    for key, state in states.items():
        series.setdefault(dataclasses.replace(key, number=0), {})[key.number] = state
    return series


def most_frequent(states: Mapping[int, str]) -> int:
    """The number of launches in the most frequent state."""
    return max(Counter(state for state in states.values() if state != CHANGED).values(), default=0)


def can_be_pairs(first: LaunchKey, second: LaunchKey) -> bool:
    """Whether launches can be pairs: one factor differs, but not ranks, with which states differ too."""
    differ = [name for name in LAUNCH_FACTORS if getattr(first, name) != getattr(second, name)]
    return len(differ) == 1 and differ != ["ranks"] and first.portion == second.portion
