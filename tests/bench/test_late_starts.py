"""Samples count or do not by the limits that the user sets; a cell whose synchronization never holds is an error."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, read_dataset, read_records
from downbeat.data.cell_summaries import summarize_cells

# Rank 0 sets a start 300 us ahead as soon as it is through, and is in time; rank 1, whose calls take 500 us, is 200 us
# later each time, until the ranks gather for the next batch.
LATER_AND_LATER = ["synthetic(duration=0,step=500us)", "--sync", "roundtime(lead=300us)"]
LATENCY = 500e-6
FEW = ["-r", "40", "--warmup", "1", "-q", "-o", "out.nc"]


def lateness(data: xr.Dataset) -> np.ndarray:
    """Returns how late each rank started, shape (sample, rank), in s."""
    found: np.ndarray = data.entry.values - data.deadline.values[:, None] - data.delay.values
    return found


def counted(data: xr.Dataset) -> np.ndarray:
    """Returns which samples are not warm-up."""
    found: np.ndarray = data.verdict.values != 3
    return found


@ONE_LIBRARY
def test_a_share_of_the_ranks_may_be_late(bench: Bench, tmp_path: Path) -> None:
    outcome = bench(*LATER_AND_LATER, *FEW, "--late-ranks", "0.5")
    assert outcome.status == 0, outcome.stderr
    assert re.search(r"late\s+ranks\s+0\.5\b", outcome.stdout)
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["late_ranks"] == 0.5 and "late_s" not in data.attrs
    failed = (data.flag.values == 0) | (lateness(data) > data.attrs["tolerance_s"])
    assert ((data.valid.values == 1) == (failed.sum(axis=1) <= 1))[counted(data)].all()
    # The file records how late they were; the time of a rank in the operation depends on no other and stays true.
    kept = data.lateness.values[data.valid.values == 1]
    assert np.median(kept) > 100e-6
    assert float(data.lateness_max.max()) == kept.max()
    (cell,) = summarize_cells(tmp_path / "out.nc").to_dict("records")
    assert abs(cell["latency_max_median"] - LATENCY) < 20e-6
    assert cell["makespan_median"] > LATENCY + 100e-6


@ONE_LIBRARY
def test_an_automatic_tolerance_is_found_once(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("barrier", *FEW, env={"DOWNBEAT_TOLERANCE": "auto"})
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    doublings = np.log2(data.attrs["tolerance_s"] / 0.5e-6)
    assert doublings >= 0 and doublings == pytest.approx(round(doublings))
    assert float(data.attrs["clock_tolerance"]) == data.attrs["tolerance_s"]


@ONE_LIBRARY
def test_a_limit_takes_the_place_of_tolerance_and_flags(bench: Bench, tmp_path: Path) -> None:
    outcome = bench(*LATER_AND_LATER, *FEW, "--late", "500e-6")
    assert "500.000 us" in outcome.stdout
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["late_s"] == 500e-6 and data.attrs["tolerance_s"] == 0.5e-6  # which the library keeps
    assert ((data.valid.values == 1) == (data.lateness.values <= 500e-6))[counted(data)].all()
    assert (data.flag.values[data.valid.values == 1] == 0).any()


@ONE_LIBRARY
def test_under_a_papers_configuration_its_flags_alone_decide(bench: Bench, tmp_path: Path) -> None:
    # The flag is decided before the wait, after which every start is later than a tolerance of 0 allows.
    paper = ["barrier", "--published", "schuchart2023", "--sync", "harmonize", "--tolerance", "0", *FEW]
    outcome = bench(*paper)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["late_by"] == "flags" and "late_s" not in data.attrs
    assert ((data.valid.values == 1) == (data.flag.values == 1).all(axis=1))[counted(data)].all()
    assert (data.lateness.values[data.valid.values == 1] > 0).all()
    assert bench(*paper, "--late", "0").status == 3  # what is asked for counts more than the paper


REPETITIONS, ATTEMPTS = 10, 3
LIMITS = ["-r", str(REPETITIONS), "--max-attempts", str(ATTEMPTS), "-q"]


def test_deadlines_that_nobody_can_meet(bench: Bench, tmp_path: Path) -> None:
    """The slack is shorter than any message takes."""
    outcome = bench("barrier", *LIMITS, "-o", "out.json", "-o", "out.nc", env={"DOWNBEAT_SLACK": "1e-9"})
    assert outcome.status == 3
    (line,) = outcome.own_lines
    assert re.search(r"\b1\s+of\s+2\b.*harmonize:\s+0\s+of\s+10\b", line)
    assert "at most" in line

    cells = {one["synchronizer"]: one for one in read_records(tmp_path / "out.json") if one["record"] == "cell"}
    assert cells["mpi_barrier"]["status"] == "ok"
    cell = cells["harmonize"]
    assert (cell["status"], cell["valid_count"]) == ("failed", 0)
    assert cell["rejected"] == cell["late_flag"] == REPETITIONS * ATTEMPTS
    assert cell["latency_avg_median"] is None
    data = read_dataset(tmp_path / "out.nc")
    rejected = data.isel(sample=data.cell_index.values == cell["cell"])
    assert rejected.sizes["sample"] > REPETITIONS * ATTEMPTS  # and warm-up
    assert not rejected.valid.values.any()


def test_a_tolerance_of_zero_rejects_all(bench: Bench) -> None:
    assert bench("barrier", *LIMITS, "--tolerance", "0").status == 3
