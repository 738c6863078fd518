"""The figures of bench-sync from the latencies after several barriers, on made-up launches."""

from __future__ import annotations

import math
import random
import statistics

import pandas as pd
import pytest

from benchmarks.sync import spread_apart


def made_up(times: list[float], seed: int) -> pd.DataFrame:
    """Returns seven launches of barriers with these true times and a noise of 4 %."""
    draw = random.Random(seed)
    return pd.DataFrame([[time * math.exp(draw.gauss(0, 0.04)) for time in times] for _ in range(7)])


def test_equal_barriers_have_no_spread_between_what_other_launches_pick() -> None:
    """Largest over smallest in the same launch is 1.12, by noise alone."""
    experiments = [made_up([1.0] * 8, seed) for seed in range(100)]
    same = [(launches.max(axis=1) / launches.min(axis=1)).median() for launches in experiments]
    apart = [found for launches in experiments if (found := spread_apart(launches)) is not None]
    assert len(apart) == len(experiments)
    assert statistics.mean(same) > 1.1
    assert statistics.mean(apart) == pytest.approx(1, abs=0.02)


def test_a_barrier_that_makes_a_difference_is_seen() -> None:
    apart = spread_apart(made_up([1.0] * 7 + [1.5], 1))
    assert apart == pytest.approx(1.5, rel=0.1)
    assert spread_apart(pd.DataFrame([[1.0, 2.0]])) is None  # one launch has no others
