"""The error to be expected of times on the global clock, against integrals of a random walk drawn many times."""

from __future__ import annotations

import numpy as np
import pytest
from downbeat.trace.clocks import expected_errors

DRAWN = 40_000
RATE, WALK = 4e-12, 3e-21  # (ns/ns)**2; per ns
VARIANCE = 900.0  # ns**2


@pytest.mark.parametrize("ns_per_tick", [1.0, 0.4])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.7])
@pytest.mark.parametrize("away", [-2e7, 1e6, 2e7, 1e9])  # ns from the only synchronization
def test_one_synchronization(away: float, correlation: float, ns_per_tick: float) -> None:
    cross = correlation * np.sqrt(VARIANCE * RATE)
    maps = np.zeros(1, [(name, "f8") for name in ("ticks", "ns_per_tick", "variance", "cross", "rate", "walk")])
    maps[0] = (5e12, ns_per_tick, VARIANCE, cross, RATE, WALK)
    found = expected_errors(np.array([5e12 + away / ns_per_tick]), maps, np.array([1e9]))[0] * 1e9
    # Which way the two errors go together is not known before: the larger of both.
    draw = np.random.default_rng(7)
    offset, slope = draw.multivariate_normal([0, 0], [[VARIANCE, abs(cross)], [abs(cross), RATE]], DRAWN).T
    distance = abs(away)
    walked = draw.normal(0, np.sqrt(WALK * distance**3 / 3), DRAWN)
    assert found == pytest.approx(np.std(offset + slope * distance + walked), rel=0.02)
