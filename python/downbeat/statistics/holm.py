"""Many comparisons at once: p-values that stay honest however many cells are compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike, families: Sequence[Hashable] = ()) -> NDArray[np.float64]:
    """Returns p-values corrected for their number by Holm's step-down procedure (Holm 1979).

    If each is compared with a level, the probability that any true null hypothesis among them is rejected is at most
    that level, whatever depends on what. With families each gets a share of the level, by its number of tests, and
    Holm's procedure is applied within it; a family of which all are rejected leaves its share to the others (Bretz et
    al. 2009). So where one family differs and others do not, more of it is found.

    Args:
        p_values: shape (tests,), 0 to 1. NaN, where there was nothing to test, stays NaN and does not count.
        families: what each test belongs to, shape (tests,); empty: all to one.

    Returns:
        Shape (tests,), in the same order, never below the given one.

    Raises:
        ValueError: one is outside 0 to 1.
    """
    values = np.asarray(p_values, dtype=float)
    if np.any((values < 0) | (values > 1)):
        raise ValueError(f"a p-value of {values[(values < 0) | (values > 1)][0]:g}; valid is 0 to 1")
    adjusted = np.full(values.shape, np.nan)
    left: dict[Hashable, list[int]] = {}  # tests of each family that are not rejected, by p-value
    for place in np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]:  # NaN comes last
        left.setdefault(families[place] if families else None, []).append(int(place))
    sizes = {name: len(tests) for name, tests in left.items()}
    reached = 0.0
    while left:
        total = sum(sizes[name] for name in left)
        wanted = {name: values[tests[0]] * len(tests) * total / sizes[name] for name, tests in left.items()}
        next_family = min(wanted, key=lambda name: wanted[name])
        reached = max(reached, wanted[next_family])
        adjusted[left[next_family].pop(0)] = min(reached, 1.0)
        if not left[next_family]:
            del left[next_family]
    return adjusted
