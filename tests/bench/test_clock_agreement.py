"""At the end of a run the clocks are compared once more: a run whose clocks came apart says so, no other does."""

from __future__ import annotations

from pathlib import Path

from conftest import Bench, read_dataset, read_records

# A clock that runs away by up to 1e-2 where the library allows for 6.5e-4, and is never synchronized again.
RUNAWAY = {
    "DOWNBEAT_VALIDATION": "skew=1e-2,seed=1",
    "DOWNBEAT_SYNC": "hca3_offset",
    "DOWNBEAT_MAX_AGE": "1e6",
    "DOWNBEAT_MAX_ERROR": "1e6",
}
# mpi_barrier alone: a common start needs clocks that agree.
ARGUMENTS = ["barrier", "--sync", "mpi_barrier", "-q", "-o", "out.json", "-o", "out.nc"]
WARNING = "the clocks no longer agree"


def test_clocks_that_came_apart_are_noticed(bench: Bench, tmp_path: Path) -> None:
    outcome = bench(*ARGUMENTS, "-r", "20000", env=RUNAWAY)
    assert outcome.status == 0
    end = read_records(tmp_path / "out.json")[-1]
    check = end["clock_check"]
    assert check["outside"] == check["ranks"] == check["worst_rank"] == 1
    assert abs(check["offset_s"]) > check["allowed_s"] > 0
    figure = f"{abs(check['offset_s']) * 1e6:.3f} us"
    assert [figure in warning for warning in end["warnings"] if WARNING in warning] == [True]
    assert f"at most {figure} off rank 0 (rank 1), outside the bounds" in " ".join(outcome.stdout.split())

    attributes = read_dataset(tmp_path / "out.nc").attrs
    assert attributes["clock_check_offset_s"] == check["offset_s"]
    assert attributes["clock_check_allowed_s"] == check["allowed_s"]
    assert attributes["clock_check_ranks_outside"] == 1
    assert WARNING in attributes["warnings"]


def test_contradicted_assumptions_are_warned_of(bench: Bench, tmp_path: Path) -> None:
    outcome = bench(*ARGUMENTS, "-r", "20000", env={"DOWNBEAT_VALIDATION": "skew=1e-2,seed=1"})
    assert outcome.status == 0
    assert outcome.stderr.count("max_skew (650 ppm)") == 1
    assert "the clock of rank 1 moved against the others as if its frequency were off by" in outcome.stderr
    end = read_records(tmp_path / "out.json")[-1]
    assert end["clock_check"]["contradictions"] > 0
    assert [warning for warning in end["warnings"] if warning.startswith("clocks did ")]
    assert read_dataset(tmp_path / "out.nc").attrs["clock_check_contradictions"] > 0


def test_clocks_that_agree_are_not_warned_of(bench: Bench, tmp_path: Path) -> None:
    # Within what the library allows for: 2 (skew + wander) < max_skew.
    outcome = bench(*ARGUMENTS, "-r", "1000", env={"DOWNBEAT_VALIDATION": "offset=1,skew=5e-6,wander=1e-6,seed=1"})
    assert outcome.status == 0
    end = read_records(tmp_path / "out.json")[-1]
    assert end["clock_check"]["ranks"] == 1
    assert end["clock_check"]["outside"] == 0
    assert abs(end["clock_check"]["offset_s"]) <= end["clock_check"]["allowed_s"]
    assert WARNING not in outcome.stdout
    assert end["clock_check"]["contradictions"] == 0
    assert "within the bounds" in " ".join(outcome.stdout.split())
