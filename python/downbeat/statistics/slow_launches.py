"""Slow launches: how many there are on either side, and how many may have been missed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.text import duration_text

SLOW = 1.3  # times the typical launch; choice between the deviation of launches, to 1.1, and of states, from 1.5
UNSEEN = 0.05  # usual (rule of three); the probability with which a kind of `unseen_share` is missed
WHERE = "docs/statistics.md"  # where the standing line is explained


def slow_launches(medians: ArrayLike) -> NDArray[np.bool_]:
    """The launches that take `SLOW` times as long as the median one, or more.

    Args:
        medians: a number per launch, above 0, any unit.

    Returns:
        Flags, shape (launches,).
    """
    values = np.asarray(medians, dtype=float)
    return np.asarray(values >= SLOW * np.median(values)) if values.size else np.zeros(0, dtype=bool)


def fisher_exact(slow_a: int, all_a: int, slow_b: int, all_b: int) -> float:
    """The two-sided p-value of the exact test that two shares are equal: of all tables as improbable (Fisher 1935)."""
    slow, both = slow_a + slow_b, all_a + all_b
    tables = range(max(0, slow - all_b), min(all_a, slow) + 1)
    ways = {one: math.comb(all_a, one) * math.comb(all_b, slow - one) for one in tables}
    seen = ways[slow_a]
    return float(sum(way for way in ways.values() if way <= seen) / math.comb(both, slow))


def mcnemar_exact(a: Sequence[bool] | NDArray[np.bool_], b: Sequence[bool] | NDArray[np.bool_]) -> float:
    """The two-sided p-value that both sides of pairs are slow equally often (McNemar 1947, exact)."""
    only_a, only_b = (int(np.sum(np.asarray(one) & ~np.asarray(other))) for one, other in ((a, b), (b, a)))
    tosses = only_a + only_b
    tail = sum(math.comb(tosses, heads) for heads in range(min(only_a, only_b) + 1))
    return min(1.0, float(2 * tail / 2**tosses))


def unseen_share(launches: int) -> float:
    """Returns the largest share of launches that may be of another kind although none is, with 95 % confidence.

    All of n launches miss a kind of the share s with a probability of (1 - s)^n (rule of three; Hanley 1983).

    Args:
        launches: how many there are.

    Returns:
        A share, 0 to 1.
    """
    return float(1 - math.pow(UNSEEN, 1 / launches))


def unseen_text(launches: int, span: float = math.nan) -> str:
    """Says what the launches of the row with the fewest cannot show; `span` is `span_of` them, s, or NaN."""
    counted = f"{launches} launches" if launches > 1 else "1 launch"
    within = f" in {duration_text(span)}" if launches > 1 and math.isfinite(span) else ""
    share = f"{100 * unseen_share(launches):.2g} %"
    return f"{counted}{within}: other times may differ; up to {share} of launches may be slow, unseen ({WHERE})"
