"""`downbeat-bench pairs`: each pair once in a pass, both directions, and again what seems slow."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, read_dataset, run_bench

RANKS = 4
EXCHANGES = 9


@pytest.fixture(scope="module")
def data(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A run whose clocks are off by up to a second."""
    directory = tmp_path_factory.mktemp("pairs")
    options = ["--exchanges", str(EXCHANGES), "--size", "1K", "--ranks", "-q", "-o", "out.nc"]
    validation = {"DOWNBEAT_VALIDATION": "offset=1,skew=9e-6,seed=5"}
    outcome = run_bench(mpi, directory, "pairs", *options, ranks=RANKS, env=validation)
    assert outcome.status == 0, outcome.stderr
    return read_dataset(directory / "out.nc")


def test_each_pair_meets_once_in_a_pass(data: xr.Dataset) -> None:
    for number in (0, 1):
        in_pass = data.where(data["pass"] == number, drop=True)
        pairs = list(zip(in_pass.rank_a.values, in_pass.rank_b.values, strict=True))
        assert sorted(pairs) == list(combinations(range(RANKS), 2))
        assert set(Counter(in_pass["round"].values).values()) == {RANKS // 2}
        assert (in_pass.role == 0).all()
        assert (in_pass.suspect == -1).all()
    assert data.attrs["passes"] == 2
    assert data.attrs["exchanges"] == EXCHANGES
    assert data.attrs["taking_part"] == RANKS
    assert set(data["size"].values) == {1024}


def test_directions_are_apart_on_clocks_that_differ_by_a_second(data: xr.Dataset) -> None:
    both = (data.seconds_ab + data.seconds_ba).values
    assert (both > 0).all()
    assert (both < 0.5).all()  # a clock that is off by a second would show in each direction
    assert (np.abs(data.seconds_ab.values) < 0.5).all()


def test_a_suspect_is_measured_again_beside_two_controls(data: xr.Dataset) -> None:
    """A busy machine has suspects, a quiet one none."""
    fresh = data.where(data["pass"] == 3, drop=True)
    roles = fresh.role.values.reshape(-1, 3)
    assert (roles == [1, 2, 2]).all()
    assert (fresh.suspect.values.reshape(-1, 3).std(axis=1) == 0).all()
    assert (np.diff(data["round"].values[data["pass"].values >= 2]) >= 1).all()


def test_each_rank_is_checked_by_itself(data: xr.Dataset) -> None:
    assert (data.loop_seconds > 0).all()
    assert (data.wake_delay > 0).all()
    assert (data.interruptions_per_s >= 0).all()
    assert ((data.taken_share >= 0) & (data.taken_share < 1)).all()
    assert float(data.clock_rate[0]) == 0.0
    assert (np.abs(data.clock_rate) < 1e-3).all()  # a second is short for a rate
    assert len(data.host) == RANKS


@ONE_LIBRARY
@pytest.mark.parametrize(("ranks", "alone"), [(9, []), (8, ["--alone"])])
def test_groups_hold_tournaments_at_the_same_time(mpi: str, tmp_path: Path, ranks: int, alone: list[str]) -> None:
    """Of 9 ranks, a group has 5 and a group 4; a rank of the larger group pauses in each of its rounds."""
    arguments = ["pairs", "--group", "5", "--exchanges", "3", "--ranks", *alone, "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, tmp_path, *arguments, ranks=ranks)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    groups = (range(ranks - 4), range(ranks - 4, ranks))
    assert list(data.group.values) == [1 + (rank in groups[1]) for rank in range(ranks)]
    for number in (0, 1):
        in_pass = data.where(data["pass"] == number, drop=True)
        pairs = list(zip(in_pass.rank_a.values, in_pass.rank_b.values, strict=True))
        assert sorted(pairs) == [pair for group in groups for pair in combinations(group, 2)]
        assert len(set(in_pass["round"].values)) == (5 if ranks == 9 else 3)
        assert set(Counter(in_pass["round"].values).values()) <= {2, 4}
    assert (data.group.values[data.rank_a.values] == data.group.values[data.rank_b.values]).all()
    assert (data.seconds_ab + data.seconds_ba > 0).all()


@ONE_LIBRARY
def test_groups_without_peers_are_refused(mpi: str, tmp_path: Path) -> None:
    outcome = run_bench(mpi, tmp_path, "pairs", "--group", "4", "--ranks", ranks=5)
    assert outcome.status == 2
    (line,) = outcome.own_lines
    assert "--group" in line


@ONE_LIBRARY
def test_a_run_ends_within_its_time(mpi: str, tmp_path: Path) -> None:
    exchanges = ["--size", "4M", "--exchanges", "100000"]  # 400 GB, which no memory moves in two seconds
    arguments = ["pairs", "--within", "2s", *exchanges, "--alone", "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, tmp_path, *arguments)
    assert outcome.status == 0, outcome.stderr
    found = read_dataset(tmp_path / "out.nc")
    assert 5 <= found.attrs["exchanges"] < 100000
    assert (found.alone == 1).all()
    assert found.sizes["pair"] == found.attrs["passes"]
    assert "suspected" not in found.sizes  # of two ranks, none is


@ONE_LIBRARY
@pytest.mark.parametrize(
    ("arguments", "valid"),
    [
        (["--size", "8:64"], "use one size up to 1G"),
        (["--size", "2G"], "use one size up to 1G"),
        (["--within", "10ms"], "use 1s or more"),
        (["--within", "60"], "with a unit"),
        (["--exchanges", "0"], "from 1 to 100000"),
        (["--group", "3"], "from 4 to 4096"),
    ],
)
def test_invalid_options_are_refused(bench: Bench, arguments: list[str], valid: str) -> None:
    outcome = bench("pairs", *arguments)
    assert outcome.status == 2
    (line,) = outcome.own_lines
    assert valid in line
