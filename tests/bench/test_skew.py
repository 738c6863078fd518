"""`downbeat-bench skew`: the numbers follow from the stamps, and clocks that are off do not show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, read_dataset, run_bench, shows

SAMPLES = 60
NAMES = ["mpi_barrier", "linear", "central", "window(size=100us)", "roundtime", "harmonize"]
VALIDATION = {"DOWNBEAT_VALIDATION": "offset=1,skew=9e-6,seed=5"}


@pytest.fixture(scope="module")
def data(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A run whose clocks are off by up to a second, and the table that goes with it."""
    directory = tmp_path_factory.mktemp("skew")
    options = ["--sync", ",".join(NAMES), "-r", str(SAMPLES), "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, directory, "skew", *options, env=VALIDATION)
    assert outcome.status == 0, outcome.stderr
    found = read_dataset(directory / "out.nc")
    lines = outcome.stdout.splitlines()
    assert all(len(line) <= 80 or line.startswith(("warning: ", "  machine ", "  MPI ")) for line in lines)
    first, _, second = (line.split() for line in lines if line.startswith("linear "))  # all, then rank by rank
    at = list(found.synchronizer.values).index("linear")
    assert shows(first[2], float(found.skew_median[at]) * 1e6)
    assert shows(first[7], float(found.error_bound[at]) * 1e6)
    assert shows(second[2], float(found.exit_mean[at, 1]) * 1e6)
    assert shows(second[3], float(found.exit_half[at, 1]) * 1e6)
    return found


def test_every_sample_of_every_rank_is_there(data: xr.Dataset) -> None:
    assert list(data.synchronizer.values) == NAMES
    assert data.exit.dims == ("synchronizer", "attempt", "rank")
    assert (data.valid_count.values == SAMPLES).all()
    assert ((data.valid.values == 1).sum(axis=1) == SAMPLES).all()
    assert ((data.valid.values == 0).sum(axis=1) == data.rejected.values).all()
    assert (np.isnan(data.exit.values).all(axis=2) == (data.valid.values == -1)).all()


def test_clocks_that_are_off_do_not_show(data: xr.Dataset) -> None:
    tolerance = float(data.attrs["clock_tolerance"])
    for name in NAMES:
        one = data.isel(synchronizer=NAMES.index(name))
        counts = one.valid.values == 1
        exits, allowed = one.exit.values[counts], 2 * float(one.error_bound)
        if not name.startswith("window"):  # which ranks do not enter together
            assert (exits.min(axis=1) >= one.entry.values[counts].max(axis=1) - allowed).all(), name
        if not np.isnan(one.deadline.values[counts]).any():
            late = exits - one.deadline.values[counts, None]
            assert (late >= 0).all(), name
            # As a sample is judged: the difference of two numbers is rounded where their sum is not.
            assert (exits <= one.deadline.values[counts, None] + tolerance).all(), name
            assert float(one.skew_max) <= tolerance + 1e-12, name


def test_numbers_follow_from_the_stamps(data: xr.Dataset) -> None:
    for at in range(len(NAMES)):
        one = data.isel(synchronizer=at)
        exits = one.exit.values[one.valid.values == 1]
        after = exits - exits.min(axis=1, keepdims=True)
        skew = after.max(axis=1)
        for statistic, expected in {
            "median": np.median(skew),
            "mean": skew.mean(),
            "p95": np.quantile(skew, 0.95),
            "min": skew.min(),
            "max": skew.max(),
        }.items():
            assert float(one[f"skew_{statistic}"]) == pytest.approx(expected, abs=1e-14)
        np.testing.assert_allclose(one.exit_mean.values, after.mean(axis=0), atol=1e-14)
        assert int(one.histogram_count.sum()) + int(one.histogram_overflow) == SAMPLES


@ONE_LIBRARY
def test_what_cannot_be_synchronized_is_an_error(bench: Bench) -> None:
    arguments = ["skew", "--sync", "mpi_barrier,harmonize", "-r", "10", "--max-attempts", "2", "-q"]
    outcome = bench(*arguments, env={"DOWNBEAT_SLACK": "1e-9"})
    assert outcome.status == 3
    assert re.search(r"\b1\s+of\s+2\b.*harmonize:\s+0\s+of\s+10\b", outcome.own_lines[0])
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("harmonize "))
    assert row.split()[1:7] == ["-"] * 6


def test_all_but_none_is_the_default(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("skew", "-r", "2", "--warmup", "1", "-q", "-o", "out.nc")
    assert outcome.status == 0, outcome.stderr
    listed = [
        json.loads(line)["name"] for line in bench("list", "synchronizer", "--format", "json").stdout.splitlines()
    ]
    assert list(read_dataset(tmp_path / "out.nc").synchronizer.values) == [name for name in listed if name != "none"]
