"""Operations that take few steps of the clock: medians within a step, and verdicts on what a step hides."""

from __future__ import annotations

from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, grouped_median, step_in
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.verdicts import HIDDEN, HIDDEN_MARGIN
from launch_files import Cell, write_launch

from tests.statistics.simulated import simulate_stepped_launches

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
