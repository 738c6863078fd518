"""Conditions drawn at random (tests/statistics/conditions.py): samples have the true median."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from downbeat.statistics.series import grouped_median

from tests.statistics.conditions import DIVISIONS, draw, experiment, in_bursts, measured, true_median


@pytest.mark.parametrize("kind", DIVISIONS)
def test_samples_have_the_true_median(kind: str) -> None:
    random = np.random.default_rng(1)
    one = dataclasses.replace(draw(random, kind), samples=4000, step=1.0, noise=10.0)
    samples = measured(random, one, np.full(50, one.time))
    found = grouped_median(samples.ravel(), one.step / 2)
    assert found == pytest.approx(one.time * true_median(one), rel=0.02 * one.relative + 0.02 * one.bursts + 0.001)
    assert set(experiment(random, draw(random, kind)).values()) <= {False, True}


def test_bursts_take_their_share() -> None:
    assert in_bursts(np.random.default_rng(1), 200, 2000, 0.2).mean() == pytest.approx(0.2, abs=0.01)
