"""`downbeat-bench rtt`: what is derived follows from what was recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, read_dataset, read_rows, run_bench

COUNT = 3000
ROUNDING = 10e-9  # s, of stamps in ns and of doubles
# Local clocks count from when they were opened, which leaves of their offset only the time between the two openings; by
# their skew they are several round trips apart when the exchanges begin, so that a wrong sign shows.
VALIDATION = {"DOWNBEAT_VALIDATION": "offset=1,skew=1e-3,seed=3"}
PERCENTILES = {"min": 0, "median": 50, "p95": 95, "p99": 99, "p999": 99.9, "max": 100}


@pytest.fixture(scope="module")
def data(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A run of both directions of one pair."""
    directory = tmp_path_factory.mktemp("rtt")
    options = ["--pairs", "0:1,1:0", "--count", str(COUNT), "--resamples", "300", "--seed", "5", "-q"]
    outcome = run_bench(mpi, directory, "rtt", *options, "-o", "out.nc", "-o", "out.csv", env=VALIDATION)
    assert outcome.status == 0, outcome.stderr
    assert all(len(line) <= 80 or line.startswith("warning: ") for line in outcome.stdout.splitlines())
    found = read_dataset(directory / "out.nc")
    rows = read_rows(directory / "out.csv", "rtt_s")
    assert [float(row["rtt_s"]) for row in rows] == list(found.rtt.values.ravel())
    return found


def test_every_round_trip_is_recorded(data: xr.Dataset) -> None:
    assert data.rtt.dims == ("pair", "sample")
    assert [str(pair) for pair in data.pair.values] == ["0:1", "1:0"]
    assert data.sizes["sample"] == COUNT
    assert (data.rtt.values > 0.0).all()
    assert (data.rtt.values < 10.0).all()
    # Back to back: a question is sent after the answer to the one before.
    assert (data.sent.values[:, 1:] >= (data.sent + data.rtt).values[:, :-1] - 1e-9).all()


def test_clock_differences_leave_room_for_the_true_offset(data: xr.Dataset) -> None:
    """The answer is given after the question is sent, and before the answer is received."""
    offsets = np.stack([data.true_offset_before.values, data.true_offset_after.values])
    lowest, highest = offsets.min(axis=0)[:, None], offsets.max(axis=0)[:, None]
    assert (np.abs(offsets) > ROUNDING).all(), "offsets of 0 would hide a wrong sign"
    difference = data.clock_difference.values
    assert (difference >= lowest - ROUNDING).all()
    assert (difference - data.rtt.values <= highest + ROUNDING).all()


def test_statistics_follow(data: xr.Dataset) -> None:
    for name, percentile in PERCENTILES.items():
        np.testing.assert_allclose(data[f"rtt_{name}"].values, np.percentile(data.rtt.values, percentile, axis=1))
    assert (data.histogram_count.sum("bin") + data.histogram_overflow == COUNT).all()


def test_the_stop_rule_costs_more_and_finds_better(data: xr.Dataset) -> None:
    n = data["n"].values
    assert list(n) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert (data.stop_rule_cost.values >= n + 1).all()
    assert (np.diff(data.stop_rule_cost.values, axis=1) > 0).all()
    excess = data.stop_rule_excess.values
    assert (excess >= 0.0).all()
    assert (excess[:, -1] < excess[:, 0]).all()
    # A draw is at most as long as the longest round trip.
    longest = (data.rtt.max("sample") / data.rtt.min("sample") - 1.0).values
    assert (excess <= longest[:, None]).all()


@ONE_LIBRARY
def test_the_interval_is_kept(bench: Bench, tmp_path: Path) -> None:
    assert bench("rtt", "--count", "150", "--interval", "0.01", "-q", "-o", "out.nc").status == 0
    sent = read_dataset(tmp_path / "out.nc").sent.values[0]
    # Each is sent no earlier than its turn, counted from the beginning, after which the first one may have been late.
    assert sent[-1] > 0.25
    assert (np.diff(sent) > 0.0).all()


def test_four_ranks(mpi: str, tmp_path: Path) -> None:
    arguments = ["rtt", "--pairs", "2:3,0:3", "--count", "100", "--resamples", "10", "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, tmp_path, *arguments, ranks=4)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    assert "true_offset_before" not in data  # that nothing can know
    assert list(data.asker.values) == [2, 0]
    assert (data.rtt.values > 0.0).all()
