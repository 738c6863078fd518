"""Finds slow launches, tests whether two sides have equal shares of them, and computes the share that can be missed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.text import duration_text

# Ratio to the median launch from which a launch is slow. Chosen by hand: ordinary launches deviate by up to 1.1,
# launches in another state of the machine by at least 1.5.
SLOW = 1.3
UNSEEN = 0.05  # probability of missing slow launches with a share of `unseen_share`; usual (rule of three)
WHERE = "docs/statistics.md"  # the page that explains the line of `unseen_text`


def slow_launches(medians: ArrayLike) -> NDArray[np.bool_]:
    """Flags the launches that take at least `SLOW` times the median.

    Args:
        medians: a number per launch, above 0, any unit.

    Returns:
        Flags, shape (launches,).
    """
    values = np.asarray(medians, dtype=float)
    return np.asarray(values >= SLOW * np.median(values)) if values.size else np.zeros(0, dtype=bool)


def fisher_exact(slow_a: int, all_a: int, slow_b: int, all_b: int) -> float:
    """Returns the two-sided p-value of the exact test that two shares are equal (Fisher 1935)."""
    slow, total = slow_a + slow_b, all_a + all_b
    tables = range(max(0, slow - all_b), min(all_a, slow) + 1)
    ways = {slow_in_a: math.comb(all_a, slow_in_a) * math.comb(all_b, slow - slow_in_a) for slow_in_a in tables}
    observed = ways[slow_a]
    return float(sum(way for way in ways.values() if way <= observed) / math.comb(total, slow))


def mcnemar_exact(a: Sequence[bool] | NDArray[np.bool_], b: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Returns the two-sided p-value of the exact test that A and B of pairs are slow equally often (McNemar 1947)."""
    only_a, only_b = (int(np.sum(np.asarray(side) & ~np.asarray(other))) for side, other in ((a, b), (b, a)))
    tosses = only_a + only_b
    tail = sum(math.comb(tosses, heads) for heads in range(min(only_a, only_b) + 1))
    return min(1.0, float(2 * tail / 2**tosses))


def unseen_share(launches: int) -> float:
    """Returns the upper 95 % limit of the share of slow launches if no launch was slow.

    n launches miss a share s with the probability (1 - s)^n (rule of three; Hanley 1983).

    Args:
        launches: number of launches.

    Returns:
        A share, 0 to 1.
    """
    return float(1 - math.pow(UNSEEN, 1 / launches))


def unseen_text(launches: int, span: float = math.nan) -> str:
    """Writes a line on the limits of a number of launches; `span`: first to last launch, s, or NaN: not known."""
    counted = f"{launches} launches" if launches > 1 else "1 launch"
    within = f" in {duration_text(span)}" if launches > 1 and math.isfinite(span) else ""
    share = f"{100 * unseen_share(launches):.2g} %"
    return f"{counted}{within}: other times may differ; up to {share} of launches may be slow, unseen ({WHERE})"
