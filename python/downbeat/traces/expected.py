"""The error to be expected of times on the global clock."""

from __future__ import annotations

import numpy as np


def expected_errors(ticks: np.ndarray, maps: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Returns the standard deviation of the error of times as `to_global` returns them, s.

    Between two synchronizations it is that of a chord: both ends' errors, taken as one, and what a frequency adds that
    walks at random: walk * a**2 * b**2 / (3 * (a + b)), at distances a and b from the ends (the variance of an
    integrated Wiener process that is known at both). Before the first and after the last it grows as the library says
    (Downbeat_clock). An error that lies anywhere within its bound has the variance bound**2 / 3, and none has more.

    Args:
        ticks: readings of the local clock; any shape.
        maps: as in `to_global`, with fields variance, cross, rate, walk.
        bounds: of each, s.
    """
    maps = maps[np.argsort(maps["ticks"], kind="stable")]
    origin = maps["ticks"][0]
    x = (ticks - origin).astype(float)
    at = (maps["ticks"] - origin).astype(float)
    nearest = np.where(x < at[-1], 0, len(maps) - 1)
    away = np.abs(x - at[nearest]) * maps["ns_per_tick"][nearest]
    of = maps[nearest]
    variance = of["variance"] + away * (2 * np.abs(of["cross"]) + away * (of["rate"] + away * of["walk"] / 3))
    if len(maps) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(maps) - 2)
        length = np.maximum(at[left + 1] - at[left], 1.0)
        share = (x - at[left]) / length
        length *= maps["ns_per_tick"][left]
        deviation = np.sqrt(maps["variance"])
        walk = np.maximum(maps["walk"][left], maps["walk"][left + 1])
        chord = (1.0 - share) * deviation[left] + share * deviation[left + 1]
        between = chord**2 + walk * (share * (1.0 - share)) ** 2 * length**3 / 3
        variance = np.where((share >= 0.0) & (share <= 1.0), between, variance)
    errors: np.ndarray = np.minimum(np.sqrt(variance) * 1e-9, bounds / np.sqrt(3.0))
    return errors
