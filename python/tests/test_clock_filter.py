"""The filter and smoother of clocks against the same estimate in one piece: least squares over all states at once."""

import numpy as np
import pytest
from downbeat.align.clock_filter import STEADY_NS, USUAL_RATE, follow
from downbeat.tables import Floats

CURVE = 1e-17  # 1/ns
SCALE = 1e-6  # of rates, so that columns are of one size


def least_squares(nodes: Floats, measured: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Returns offsets at the nodes, the first of which is measured, and their variances."""
    count = len(nodes)
    rows: list[Floats] = []
    values: list[float] = []

    def add(row: dict[int, float], value: float, deviation: float) -> None:
        full = np.zeros(2 * count)
        full[list(row)] = [factor * (SCALE if place % 2 else 1.0) for place, factor in row.items()]
        rows.append(full / deviation)
        values.append(value / deviation)

    add({1: 1.0}, 0.0, USUAL_RATE)
    for k in range(count):
        if np.isfinite(measured[k]):
            add({2 * k: 1.0}, measured[k], np.sqrt(noise[k]))
        if k:
            # What the rate walks by until the next node moves the offset by a half of it, and by a rest of its own.
            h = nodes[k] - nodes[k - 1]
            walk = (CURVE * 1.6) ** 2 * h * max(h, STEADY_NS) / 2.0
            add({2 * k + 1: 1.0, 2 * k - 1: -1.0}, 0.0, np.sqrt(walk))
            line = {2 * k: 1.0, 2 * k - 2: -1.0, 2 * k + 1: -h / 2, 2 * k - 1: -h / 2}
            add(line, 0.0, np.sqrt(walk * h * h / 12.0))
    matrix = np.array(rows)
    state = np.linalg.lstsq(matrix, np.array(values), rcond=None)[0]
    spread = np.linalg.pinv(np.linalg.qr(matrix)[1])
    return state[::2], (spread**2).sum(axis=1)[::2]


@pytest.mark.parametrize("seed", range(6))
def test_offsets_and_variances_are_those_of_least_squares_over_all_states(seed: int) -> None:
    draw = np.random.default_rng(seed)
    nodes = np.cumsum(10 ** draw.uniform(7, 9.3, 30))
    noise = 10 ** draw.uniform(3, 6, (3, 30))
    walk = np.cumsum(np.cumsum(draw.normal(0, 1e-9, (3, 30)), axis=1) * np.gradient(nodes), axis=1)
    measured = walk + draw.normal(0, np.sqrt(noise))
    measured[:, 1:] = np.where(draw.random((3, 29)) < 0.3, np.nan, measured[:, 1:])
    offset, variance, factor = follow(nodes, CURVE, measured, noise, np.zeros((3, 30), dtype=bool))
    for rank in range(3):
        expected, its_variance = least_squares(nodes, measured[rank], noise[rank])
        assert offset[rank] == pytest.approx(expected, abs=1e-4 * np.sqrt(its_variance.max()))
        assert variance[rank] == pytest.approx(its_variance, rel=0.03)
    assert 0.9 <= factor <= 1.05 * 5


def test_before_the_first_measurement_the_line_goes_back_and_the_variance_grows() -> None:
    nodes: Floats = np.arange(10, dtype=np.float64) * 1e9
    measured: Floats = np.where(nodes < 4e9, np.nan, 2e-6 * nodes)[None]
    offset, variance, _ = follow(nodes, CURVE, measured, np.ones((1, 10)), np.zeros((1, 10), dtype=bool))
    assert offset[0] == pytest.approx(2e-6 * nodes, abs=3.0)
    assert (np.diff(variance[0, :5]) < 0).all()
