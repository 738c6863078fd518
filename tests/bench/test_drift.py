"""`downbeat-bench drift` against clocks whose drift is exactly linear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import read_dataset, run_bench, shows

COUNT = 31
INTERVAL = 0.05
# Without wander the offset is a straight line. Skews are drawn from +-9e-6, so that two clocks differ by less than the
# library's max_skew.
VALIDATION = {"DOWNBEAT_VALIDATION": "offset=1,skew=9e-6,seed=2"}


@pytest.fixture(scope="module")
def data(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A run of both directions of one pair."""
    directory = tmp_path_factory.mktemp("drift")
    options = ["--pairs", "0:1,1:0", "--duration", str((COUNT - 1) * INTERVAL), "--interval", str(INTERVAL), "-q"]
    outcome = run_bench(mpi, directory, "drift", *options, "-o", "out.nc", env=VALIDATION)
    assert outcome.status == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert all(len(line) <= 80 or line.startswith("warning: ") for line in lines)
    found = read_dataset(directory / "out.nc")
    words = [word for line in lines if line.startswith("0:1 ") for word in line.split()[1:]]
    for value in (found["skew"][0], found.residual_max[0], found.drift[0, -1]):
        assert any(shows(word, float(value) * 1e6) for word in words)
    return found


def test_all_pairs_are_measured_in_every_interval(data: xr.Dataset) -> None:
    assert data.offset.dims == ("pair", "time")
    assert data.sizes["time"] == COUNT
    assert (data.time.values >= np.arange(COUNT) * INTERVAL).all()
    assert (np.diff(data["at"].values, axis=1) > 0.0).all()
    assert (data.offset_bound.values > 0.0).all()


def test_offsets_are_a_line_within_their_bounds(data: xr.Dataset) -> None:
    for pair in range(2):
        one = data.isel(pair=pair)
        at, offset, bound = one["at"].values, one.offset.values, one.offset_bound.values
        # There is a line within all bounds: the steepest that the bounds allow is at least as steep as the flattest.
        rise = (offset[None, :] - offset[:, None]) / np.where(np.eye(COUNT) == 1, np.nan, at[None, :] - at[:, None])
        room = (bound[None, :] + bound[:, None]) / np.abs(at[None, :] - at[:, None] + np.eye(COUNT))
        flattest, steepest = np.nanmax(rise - room), np.nanmin(rise + room)
        assert flattest <= steepest
        assert flattest > -1.9e-5
        assert steepest < 1.9e-5


def test_both_directions_see_the_same_drift(data: xr.Dataset) -> None:
    forth, back = data["skew"].values
    assert abs(forth) > 1e-6  # the seed draws no equal skews
    # A fitted slope is a sum of offsets, weighted by when they were measured; (1 + a) (1 + b) = 1.
    apart = data["at"].values - data["at"].values.mean(axis=1, keepdims=True)
    weights = np.abs(apart) / (apart**2).sum(axis=1, keepdims=True)
    tolerance = float((weights * data.offset_bound.values).sum()) + 1e-9
    assert abs(forth + back) < tolerance


def weights_of(bound: np.ndarray) -> np.ndarray:
    """Returns the weight of each offset: its error is taken to be as large as its bound."""
    weights = np.maximum(bound, bound.max() / 1e4) ** -2
    return np.asarray(weights / weights.mean())


def test_what_is_derived_follows(data: xr.Dataset) -> None:
    for pair in range(2):
        one = data.isel(pair=pair)
        at, offset = one["at"].values - one["at"].values[0], one.offset.values - one.offset.values[0]
        root = np.sqrt(weights_of(one.offset_bound.values))
        slope, intercept = np.polyfit(at, offset, 1, w=root)
        residual = offset - (intercept + slope * at)
        half = (COUNT + 1) // 2
        predicted = np.polyval(np.polyfit(at[:half], offset[:half], 1, w=root[:half]), at[-1])
        for name, expected in {
            "skew": slope,
            "duration": at[-1],
            "drift_max": np.abs(offset).max(),
            "drift_ppm": np.abs(offset).max() / at[-1] * 1e6,
            "residual_max": np.abs(residual).max(),
            "residual_rms": np.sqrt((residual**2).mean()),
            "residual_ppm": np.abs(residual).max() / at[-1] * 1e6,
            "prediction_error": offset[-1] - predicted,
            "prediction_ppm": abs(offset[-1] - predicted) / (at[-1] - at[half - 1]) * 1e6,
            "uncorrected_error": offset[-1] - offset[half - 1],
        }.items():
            assert float(one[name]) == pytest.approx(expected, rel=1e-4, abs=1e-12), name
        assert float(one.skew_low) < slope < float(one.skew_high)
        assert float(one.intercept_low) < float(one.intercept) < float(one.intercept_high)
        assert float(one.r_squared) > 0.9  # some ppm over 1.5 s are more than what offsets are off by
        np.testing.assert_allclose(one.drift.values, offset, atol=1e-15)
        np.testing.assert_allclose(one.residual.values, residual, atol=1e-13)


def test_of_more_rounds_the_surest_counts(mpi: str, tmp_path: Path) -> None:
    def bound(rounds: str) -> float:
        arguments = ["drift", "--duration", "0.2", "--interval", "0.01", "--estimator", "cristian(exchanges=1)"]
        outcome = run_bench(mpi, tmp_path, *arguments, "--rounds", rounds, "-q", "-o", f"{rounds}.nc", env=VALIDATION)
        assert outcome.status == 0, outcome.stderr
        data = read_dataset(tmp_path / f"{rounds}.nc")
        assert data.attrs["rounds"] == int(rounds)
        return float(np.median(data.offset_bound.values))

    assert bound("20") < bound("1")
