"""From ticks of a local clock to the global clock: interpolation between synchronizations, with error bounds."""

from __future__ import annotations

import numpy as np


def to_global(ticks: np.ndarray, maps: np.ndarray, max_wander: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns global times and their error bounds, in seconds.

    Between two synchronizations the line through both is taken. Its error is at most the interpolated bound of the two,
    and what a difference in frequency that wanders by max_wander can add: with rates within +-w, a curve is at most
    2 w a b / (a + b) from its chord, at distances a and b from the ends. Before the first and after the last the map of
    the nearest one is taken, whose bound grows.

    Args:
        ticks: readings of the local clock; any shape.
        maps: a row for each synchronization, with fields ticks, global_ns, ns_per_tick, bound_ns, growth; at least one.
        max_wander: largest relative change of the difference in frequency.
    """
    order = np.argsort(maps["ticks"], kind="stable")
    maps = maps[order][np.unique(maps["ticks"][order], return_index=True)[1]]
    origin = maps["ticks"][0]
    x = (ticks - origin).astype(float)
    at = (maps["ticks"] - origin).astype(float)
    base = maps["global_ns"][0]
    y = (maps["global_ns"] - base).astype(float)

    nearest = np.where(x < at[-1], 0, len(maps) - 1)
    away = (x - at[nearest]) * maps["ns_per_tick"][nearest]
    times = y[nearest] + away
    bounds = maps["bound_ns"][nearest] + np.abs(away) * maps["growth"][nearest]
    if len(maps) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(maps) - 2)
        share = (x - at[left]) / (at[left + 1] - at[left])
        length = y[left + 1] - y[left]
        drifts = np.maximum(maps["growth"][left], maps["growth"][left + 1]) > 0
        wander = np.where(drifts, 2.0 * max_wander * share * (1.0 - share) * length, 0.0)
        between = (share >= 0.0) & (share <= 1.0)
        times = np.where(between, y[left] + share * length, times)
        bounds = np.where(
            between, (1.0 - share) * maps["bound_ns"][left] + share * maps["bound_ns"][left + 1] + wander, bounds
        )
    return (times + base) * 1e-9, bounds * 1e-9
