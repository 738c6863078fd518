"""The interval of one launch's median: known numbers, and those of downbeat-bench."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.data.launch_file import open_samples
from downbeat.statistics.autocorrelation import autocorrelation, effective_number
from downbeat.statistics.median_interval import median_interval
from downbeat.statistics.simulated import Deviations, simulate_launches
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"
LAUNCH = [str(ROOT / "tools/launch"), "--mpi", "openmpi", "-n", "2", "--timeout", "300", str(BENCH)]


def test_known_numbers() -> None:
    # Ranks 49.5 -+ 1.96 * sqrt(100) / 2, from 0, rounded outwards.
    found = median_interval(np.random.default_rng(1).permutation(100), r1=0)
    assert (found.low, found.median, found.high, found.effective) == (39, 49.5, 60, 100)
    # A correlation of 0.6 makes 100 worth 25, and the interval twice as wide.
    found = median_interval(np.arange(100), r1=0.6)
    assert (found.low, found.high) == (29, 70)
    assert found.effective == pytest.approx(25)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_order_statistics_hold_the_median_as_often_as_they_say(confidence: float) -> None:
    """The number of n values below the true median is binomial, whatever their distribution."""
    for count in (10, 25, 50, 99, 100, 333, 1000):
        found = median_interval(np.arange(count), confidence, r1=0)
        below = stats.binom(count, 0.5)
        held = below.cdf(found.high) - below.cdf(found.low)  # ranks from 0: low + 1 to high values lie below
        assert confidence <= held < (1 + confidence) / 2 + 0.01 if count >= 50 else confidence <= held


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
    # Deviations -1.5, -0.5, 0.5, 1.5: products 0.75, -0.25, 0.75 over squares 5.
    assert autocorrelation([1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.25)
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
    random = np.random.default_rng(3)
    deviations = Deviations(launch=0, outlier_share=0)
    covered = 0
    for samples in simulate_launches(random, 1000, 200, deviations=deviations):
        found = median_interval(samples)
        covered += found.low <= 1 <= found.high
    assert covered > 930


def test_the_interval_of_a_launch_is_that_of_downbeat_bench(tmp_path: Path) -> None:
    file = tmp_path / "out.nc"
    done = subprocess.run(
        [*LAUNCH, "bcast", "allreduce", "-m", "8:4K", "-r", "150", "-q", "-o", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    data = downbeat.sample_metrics(file)
    compared = 0
    with open_samples(file) as stored:
        for cell in range(stored.dimensions["cell"].size):
            mine = (data["cell_index"] == cell) & (data["verdict"] == 0)
            for metric in ("latency_avg", "makespan", "exit_skew"):
                values = data[metric].to_numpy()[mine.to_numpy()]
                found = median_interval(values)
                for name, value in (("median", found.median), ("median_low", found.low), ("median_high", found.high)):
                    assert value == pytest.approx(float(stored[f"{metric}_{name}"][cell]), abs=1e-15, nan_ok=True)
                effective = float(stored[f"{metric}_effective"][cell])
                assert found.effective == pytest.approx(effective, rel=1e-6, nan_ok=True)
                compared += autocorrelation(values) > 0.02 and found.effective < len(values)
    assert compared > 0  # in some of 40 cells samples hung together, so that the correction was compared too
