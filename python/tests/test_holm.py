"""Holm's procedure against its definition and against the error that it is to control."""

from __future__ import annotations

import math

import numpy as np
import pytest
from downbeat.statistics.holm import holm
from hypothesis import given
from hypothesis import strategies as st


def reference(p_values: list[float]) -> list[float]:
    """By the definition: of each the largest multiple of those that are not larger (ties stand for each other)."""
    count = len(p_values)
    ordered = sorted(p_values)
    return [
        min(1.0, max((count - i) * ordered[i] for i in range(count) if ordered[i] <= p or math.isclose(p, ordered[i])))
        for p in p_values
    ]


def test_known_numbers() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # as R's p.adjust


def test_nan_does_not_count() -> None:
    found = holm([0.02, math.nan, 0.01])
    assert found[[0, 2]] == pytest.approx([0.02, 0.02])
    assert math.isnan(found[1])


@given(st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=1, max_size=20))
def test_equals_reference(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(reference(p_values))
    assert np.all(holm(p_values) >= p_values)


def test_no_cells_no_values() -> None:
    assert holm([]).shape == (0,)


def test_a_value_outside_is_named() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        holm([0.2, 1.5])
