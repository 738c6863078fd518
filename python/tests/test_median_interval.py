"""The interval of one launch's median, steps between samples, and medians under conditions drawn at random."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.statistics.median_interval import half_by_blocks, median_interval
from downbeat.statistics.rank_tests import doubled_ranks
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, autocorrelation, effective_number, grouped_median, step_in
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.verdicts import HIDDEN, HIDDEN_MARGIN
from launch_files import Cell, write_launch
from numpy.typing import NDArray
from scipy import stats

from tests.statistics.conditions import DIVISIONS, draw, experiment, in_bursts, measured, true_median
from tests.statistics.intervals import python_coverages
from tests.statistics.simulated import Deviations, simulate_launches, simulate_stepped_launches

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


def test_blocks_that_begin_where_the_one_before_ended_are_not_independent() -> None:
    # A triangle of five periods over ten blocks: shares below the median are equal, so blocks alone claim certainty.
    wave = np.abs((np.arange(100) + 5) % 20 - 10.0) + 1e-3 * unrelated(100)
    blocks = np.repeat(np.arange(10), 10)
    assert median_interval(wave, blocks).effective == pytest.approx(
        effective_number(100, autocorrelation(doubled_ranks(wave)))
    )
    apart = np.concatenate([np.roll(unrelated(10), place) for place in range(10)]) + 1e-3 * np.arange(100)
    assert median_interval(apart, blocks).effective > 90


def test_equal_values_share_their_mean_rank() -> None:
    values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 3.0, 3.0, 3.0, 0.0])
    assert (doubled_ranks(values) / 2).tolist() == stats.rankdata(values).tolist()


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


STEP = 10e-9
LAUNCHES = 10
HARMONIZE, LINEAR = {"synchronizer": "harmonize"}, {"synchronizer": "linear"}


@pytest.mark.parametrize(
    ("samples", "step", "median"),
    [
        ([200] * 5, 5, 200.0),
        ([200] * 3 + [205], 5, 197.5 + 5 * 2 / 3),  # of four, two are below: two thirds of the three that read 200
        ([150] * 3 + [160] * 3, 5, 155.0),  # half on either side of a gap
        ([1, 2, 3], 0.001, 2.0),
        ([1, 2, 3, 4], 0.001, 2.5),
        ([1, 2, 4], 0.0, 2.0),
    ],
)
def test_medians_of_grouped_data(samples: list[float], step: float, median: float) -> None:
    assert grouped_median(samples, step) == pytest.approx(median, rel=1e-8)
    assert grouped_median(np.array(samples) * 1e-9, step * 1e-9) == pytest.approx(median * 1e-9, rel=1e-8)


@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
def test_interpolation_leaves_a_fifth_of_a_step(ranks: int) -> None:
    random = np.random.default_rng(1)
    for truth in np.linspace(50, 60, 21):
        samples = simulate_stepped_launches(random, 1, 20_000, truth, 0.0, 10.0, ranks)[0]
        noise = 0.06  # of the mean of so many samples, in steps
        assert abs(grouped_median(samples, 10 / ranks) - truth) <= (LEFT_BY_INTERPOLATION + noise) * 10 / ranks


def test_a_file_that_does_not_say_its_step_shows_it() -> None:
    random = np.random.default_rng(2)
    read = simulate_stepped_launches(random, 1, 500, 203e-9, 20e-9, 1.0015 * STEP, 1)[0]
    assert step_in(read) == pytest.approx(1.0015 * STEP, rel=1e-6)
    assert step_in(np.concatenate([read, 1e-3 + read])) == pytest.approx(1.0015 * STEP, rel=1e-6)
    assert step_in(read[:1]) == step_in(random.normal(2e-7, 2e-8, 500)) == 0.0


def launches(path: Path, a: float, b: float, resolution: float) -> downbeat.Experiment:
    """Returns an experiment of two synchronizers, after which an operation takes so many ns."""
    random = np.random.default_rng(3)
    path.mkdir()
    for launch in range(LAUNCHES):
        cells = []
        # The last shows what the clocks' step is.
        for synchronizer, truth, noise in (("harmonize", a, 2), ("linear", b, 2), ("double_ring", 500, 50)):
            entry = random.uniform(0, 1e-3, (400, 2))
            exits = entry + random.normal(truth, noise, entry.shape) * 1e-9
            entry, exits = (np.floor(stamps / STEP) * STEP for stamps in (entry, exits))
            cells.append(Cell(entry, exits, synchronizer=synchronizer))
        write_launch(path / f"{launch}.nc", cells, **({"clock_resolution": resolution} if resolution else {}))
    return downbeat.open_experiment(path)


@pytest.mark.parametrize("resolution", [STEP, 0.0])
def test_verdicts_on_few_steps(tmp_path: Path, resolution: float) -> None:
    """Medians as they are read call the first pair slower, by a step of 2.5 %, and the second equivalent."""
    for number, (a, b, verdict) in enumerate([(202.5, 203.5, "equivalent"), (98.3, 101.7, "slower")]):
        experiment = launches(tmp_path / str(number), a, b, resolution)
        found = downbeat.compare(experiment, where_a=HARMONIZE, where_b=LINEAR).iloc[0]
        assert (found["verdict"], found["ratio_low"] <= b / a <= found["ratio_high"]) == (verdict, True)
        assert found["clock_uncertainty"] == pytest.approx(2 * LEFT_BY_INTERPOLATION * STEP / 2, rel=1e-3)


def test_verdicts_smaller_than_a_step_are_refused() -> None:
    scatter = np.exp(0.0005 * np.resize([1, -1], LAUNCHES))
    a = 50.0 * scatter
    assert compare_paired(a, 1.025 * a * scatter).verdict == "slower"
    refused = compare_paired(a, 1.025 * a * scatter, hidden=2.0)
    assert (refused.verdict, refused.reason) == ("undecided", HIDDEN)
    assert refused.ratio.low == pytest.approx(compare_paired(a, 1.025 * a * scatter).ratio.low - 2 / 50, rel=1e-3)
    assert compare_paired(a, a * scatter).verdict == "equivalent"
    assert compare_paired(a, a * scatter, hidden=2.0).reason == HIDDEN_MARGIN
    assert compare_paired(a, 1.1 * a * scatter, hidden=2.0).verdict == "slower"


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
