"""What all launches say alike: a claim counts only if each of them bears it out, or each of them denies it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np


def above(low: float, high: float, border: float) -> bool | None:
    """Whether an interval lies above a border; None where it contains it."""
    if low > border:
        return True
    return False if high < border else None


def below(low: float, high: float, border: float) -> bool | None:
    """Whether an interval lies below a border; None where it contains it."""
    answer = above(low, high, border)
    return None if answer is None else not answer


def all_above(values: Iterable[float], border: float) -> bool | None:
    """Whether the values of all launches lie above a border, or all below; None where they differ or there are none."""
    kept = list(values)
    return above(min(kept), max(kept), border) if kept and np.isfinite(kept).all() else None


def all_below(values: Iterable[float], border: float) -> bool | None:
    """Whether the values of all launches lie below a border, or all above; None where they differ or there are none."""
    answer = all_above(values, border)
    return None if answer is None else not answer


def unanimous(answers: Iterable[bool]) -> bool | None:
    """Returns what all launches answer; None where they differ or there are none."""
    given = {bool(answer) for answer in answers}
    return given.pop() if len(given) == 1 else None


def every(answers: Iterable[bool | None]) -> bool | None:
    """Returns whether a claim of several parts holds: False as soon as one part fails, None while one is open."""
    given = list(answers)
    if False in given:
        return False
    return None if None in given or not given else True


def some(answers: Iterable[bool | None]) -> bool | None:
    """Returns whether a claim holds anywhere: True as soon as one place has it, None while one is open."""
    given = list(answers)
    if True in given:
        return True
    return None if None in given or not given else False


def ratios(top: Iterable[float], bottom: Iterable[float]) -> tuple[float, float]:
    """Returns the smallest and the largest ratio between launches of two runs, which are not paired; NaN without."""
    over, under = list(top), list(bottom)
    if not over or not under:
        return float("nan"), float("nan")
    return min(over) / max(under), max(over) / min(under)


def grows(by_ranks: Mapping[int, Sequence[float]]) -> bool | None:
    """Whether values grow with the number of ranks.

    Args:
        by_ranks: values of launches, by number of ranks.

    Returns:
        True where the launches on each number lie above those on the number before, False where on some number they lie
        below; None where launches differ, or there is one number alone.
    """
    counts = sorted(by_ranks)
    return every(above(*ratios(by_ranks[more], by_ranks[fewer]), 1.0) for fewer, more in pairwise(counts))
