"""Degrees of freedom of what is added up from several estimates of variances."""

from __future__ import annotations

from collections.abc import Sequence


def satterthwaite(parts: Sequence[tuple[float, int]]) -> float:
    """Returns the degrees of freedom of a sum of independent estimates of variances (Satterthwaite 1946).

    Args:
        parts: each estimate, 0 or above, with its degrees of freedom.

    Returns:
        Those of the first where all are 0.
    """
    total = sum(value for value, _ in parts)
    if total == 0:
        return float(parts[0][1])
    return total**2 / sum(value**2 / freedom for value, freedom in parts if value)
