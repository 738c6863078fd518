"""The interval of one launch's median: known numbers, and those of downbeat-bench."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.statistics.median_interval import half_by_blocks, median_interval, ranks
from downbeat.statistics.series import autocorrelation, effective_number
from numpy.typing import NDArray
from scipy import stats

from tests.statistics.intervals import python_coverages
from tests.statistics.simulated import Deviations, simulate_launches

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"
LAUNCH = [str(ROOT / "tools/launch"), "--mpi", "openmpi", "-n", "2", "--timeout", "300", str(BENCH)]
WORDS = ["bcast", "allreduce", "-m", "8:4K"]


def unrelated(count: int) -> NDArray[np.float64]:
    """Returns 0 to count - 1 in an order in which ranks do not hang together."""
    order = np.random.default_rng(1).permutation(count)
    while autocorrelation(order) > 0:
        order = np.random.default_rng(order).permutation(count)
    return order.astype(float)


def test_known_numbers() -> None:
    # Ranks 49.5 -+ 1.96 * sqrt(100) / 2, from 0.
    found = median_interval(unrelated(100))
    assert found.median == 49.5
    assert found.effective == pytest.approx(100)
    assert [found.low, found.high] == pytest.approx([39.70018, 59.29982])


def test_blocks_count() -> None:
    # In the four blocks of 10, there are 4, 8, 5 and 3 values below the median: sums of -1, 3, 0, -2 from the middle.
    values = np.concatenate([np.repeat([0.0, 1.0], [below, 10 - below]) for below in (4, 8, 5, 3)])
    values += 1e-3 * (np.arange(40) * 17 % 40)
    half = stats.t.ppf(0.975, 3) * math.sqrt((1 + 9 + 0 + 4) * 4 / 3) / 40
    blocks = np.repeat([7, 3, 90, 4], 10)  # positions in the order of the launch
    found = median_interval(values, blocks)
    assert found.effective == pytest.approx((stats.norm.ppf(0.975) * 0.5 / half) ** 2)
    assert median_interval(values).effective > 2 * found.effective
    with pytest.raises(ValueError, match="blocks of shape"):
        median_interval(values, blocks[1:])


def test_two_blocks_are_the_fewest() -> None:
    # Sums of 2 and -2 of 10 deviations, and Student's quantile of one degree of freedom.
    deviations = np.repeat([0.4, -0.4], 5)
    half, worth = half_by_blocks(deviations, np.repeat([0, 1], 5), 0.95)
    assert worth == 2
    assert half == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt((2**2 + 2**2) * 2 / 1) / 10)
    assert half_by_blocks(deviations, np.repeat(0, 10), 0.95) == (0.0, 1)


def test_fewer_than_four_samples_per_block_say_nothing_of_blocks() -> None:
    values = unrelated(20)
    alone = median_interval(values)
    # Sums over blocks that hang together make the interval wider, if there are enough samples for them.
    of_four = np.argsort(np.argsort(values)) // 4
    assert median_interval(values, of_four).effective < alone.effective
    of_three = np.argsort(np.argsort(values[1:])) // 4
    assert median_interval(values[1:], of_three) == median_interval(values[1:])
    assert median_interval(values, np.zeros(20)) == alone


def test_equal_values_share_their_mean_rank() -> None:
    values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 3.0, 3.0, 3.0, 0.0])
    assert ranks(values).tolist() == stats.rankdata(values).tolist()


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_order_statistics_hold_the_median_as_often_as_they_say(confidence: float) -> None:
    """The number of n values below the true median is binomial, whatever their distribution.

    Between two order statistics the interval is interpolated, and so is the probability that it holds the median.
    """
    for count in (10, 25, 50, 99, 100, 333, 1000):
        found = median_interval(unrelated(count), confidence=confidence)
        ranks = np.arange(count)
        low, high = np.interp([found.low, found.high], ranks, stats.binom(count, 0.5).cdf(ranks))
        assert high - low == pytest.approx(confidence, abs=0.01 if count > 10 else 0.03)


def test_effective_number_is_that_of_a_mean() -> None:
    """The variance of the mean of n values of a first-order autoregressive process, by its definition."""
    count = 5000
    for r1 in (0.0, 0.3, 0.6, 0.9):
        lags = np.arange(1, count)
        inflation = 1 + 2 * float(np.sum((1 - lags / count) * r1**lags))
        assert effective_number(count, r1) == pytest.approx(count / inflation, rel=0.005)


def test_few_samples_give_all_of_their_range() -> None:
    found = median_interval([3.0, 1.0, 2.0])
    assert (found.low, found.median, found.high) == (1.0, 2.0, 3.0)
    nothing = median_interval([])
    assert math.isnan(nothing.median)
    assert nothing.effective == 0
    with pytest.raises(ValueError, match="a sample is NaN"):
        median_interval([1.0, math.nan])


def test_autocorrelation() -> None:
    # Deviations -1.5, -0.5, 0.5, 1.5: products 0.75, -0.25, 0.75 over squares 5; with what that is too low by.
    assert autocorrelation([1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.25 + (1 + 3 * 0.25) / 4)
    assert autocorrelation([2.0, 2.0, 2.0]) == 0
    assert autocorrelation([1.0]) == 0
    simulated = simulate_launches(np.random.default_rng(2), 1, 20_000, deviations=Deviations(outlier_share=0))
    assert autocorrelation(simulated[0]) == pytest.approx(0.6, abs=0.03)


def test_effective_number() -> None:
    assert effective_number(100, 0.6) == pytest.approx(25)
    assert effective_number(100, -0.5) == 100
    assert effective_number(100, 0.9999) == 1
    assert effective_number(0, 0.5) == 0


def test_it_covers_the_median_of_the_launch() -> None:
    """Between 92 and 98 %, with a standard error of 0.9 %, whatever samples deviate by."""
    assert {kind: share for kind, share in python_coverages(500).items() if not 0.92 < share < 0.985} == {}


def number(value: float | None) -> float:
    """Returns a number of JSON, NaN for null."""
    return np.nan if value is None else value


@pytest.mark.parametrize("repetitions", [150, 20])  # of 10 blocks; with 20 they are too small, and ranks count
def test_the_interval_of_a_launch_is_that_of_downbeat_bench(tmp_path: Path, repetitions: int) -> None:
    file = tmp_path / "out.nc"
    done = subprocess.run(
        [*LAUNCH, *WORDS, "-r", str(repetitions), "-q", "-o", str(file), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    data = downbeat.sample_metrics(file)
    compared = 0
    context, *cells, _ = map(json.loads, done.stdout.splitlines())
    for stored in cells:
        mine = ((data["cell_index"] == stored["cell"]) & (data["verdict"] == 0)).to_numpy()
        for metric in ("latency_avg", "makespan", "exit_skew"):
            values = data[metric].to_numpy()[mine]
            step = float(context["clock_resolution"]) / 2 if metric == "latency_avg" else 0.0  # of two ranks
            found = median_interval(values, data["block"].to_numpy()[mine], step=step)
            for name, value in (("median", found.median), ("median_low", found.low), ("median_high", found.high)):
                stated = number(stored[f"{metric}_{name}"])
                assert value == pytest.approx(stated, rel=1e-9, abs=1e-15, nan_ok=True)
            effective = number(stored[f"{metric}_effective"])
            assert found.effective == pytest.approx(effective, rel=1e-6, nan_ok=True)
            compared += found.effective < 0.99 * len(values)
    assert compared > 0  # in some of 40 cells samples were worth less than their number
