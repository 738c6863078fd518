"""A synthetic operation through every synchronizer, arrival pattern and timing scheme: its times are known.

The clocks are validation clocks: a second apart, 10 ppm fast or slow, wandering. Nothing is allowed beyond the errors
that are stated: the tolerance of a start, the bound of the clock, and what it costs to read clocks. Metrics and
statistics follow from the stamps: python/tests/test_cells.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import CALIBRATION, RANKS, ROUNDING, read_dataset, read_records, run_bench
from numpy.typing import NDArray

DURATION, STEP, DELAY = 40e-6, 20e-6, 100e-6  # s
OPERATION = "synthetic(duration=40us,step=20us)"
NO_TIME = "synthetic(duration=0,step=0)"
GRID = 200e-6  # s
ON_GRID = "synthetic(step=20us,grid=200us)"
CALLS = 3
TIMINGS = {
    "per_call": "per_call",
    "batch": f"batch(calls={CALLS})",
    "batch_synced": f"batch_synced(calls={CALLS})",
    "window": "window",
}
RATE = 21e-6 + CALIBRATION  # of the validation clocks, and of the library's counter

# Clocks are synchronized before every few samples, so that the bounds are narrow.
CLOCKS = {
    "DOWNBEAT_VALIDATION": "offset=1,skew=10e-6,wander=100e-9,seed=3",
    "DOWNBEAT_MAX_SKEW": "21e-6",
    "DOWNBEAT_MAX_AGE": "1e-3",
}
# Other processes may spoil starts, but not the result.
LIMITS = ["--warmup", "2", "--max-attempts", "1000", "-q", "--seed", "5"]

NOT_OF_TWO_RANKS = ["bell", "inverse_bell", "node_steps"]
TRACE = "0 3e-5\n1e-5 0\n"
REQUIRED = {"trace": "file=trace.txt"}


@dataclass(frozen=True)
class Cell:
    """A cell as its record says, with its valid samples."""

    record: dict[str, Any]
    samples: xr.Dataset
    tolerance: float

    def __str__(self) -> str:
        return " ".join(self.record[key] for key in ("synchronizer", "timing", "pattern"))

    def times(self) -> NDArray[np.float64]:
        """Returns the time in the operation, by sample and rank."""
        return np.asarray((self.samples.exit - self.samples.entry).values)

    def starts(self) -> NDArray[np.float64]:
        """Returns the starts without the planned delays, by sample and rank."""
        return np.asarray((self.samples.entry - self.samples.delay).values)


def variants(mpi: str, directory: Path, kind: str) -> list[str]:
    """Returns every component of a kind, with every choice that a parameter of it leaves."""
    outcome = run_bench(mpi, directory, "list", kind, "--format", "json")
    assert outcome.status == 0, outcome.stderr
    texts = []
    for part in map(json.loads, outcome.stdout.splitlines()):
        required = REQUIRED.get(part["name"])
        texts.append(f"{part['name']}({required})" if required else part["name"])
        for parameter in part["parameters"]:
            for choice in parameter.get("choices", []):
                if choice != parameter["default"]:
                    texts.append(f"{part['name']}({parameter['name']}={choice})")
    return texts


def measure(mpi: str, directory: Path, *arguments: str, repetitions: int = 30) -> list[Cell]:
    """Returns the cells of a run on clocks whose errors are known, all of them measured."""
    (directory / "trace.txt").write_text(TRACE)
    files = ["-r", str(repetitions), *LIMITS, "-o", "out.json", "-o", "out.nc"]
    outcome = run_bench(mpi, directory, *arguments, *files, env=CLOCKS)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(directory / "out.nc")
    context, *records = read_records(directory / "out.json")
    return [
        Cell(record, data.sel(sample=(data.cell_index == record["cell"]) & (data.valid == 1)), context["tolerance_s"])
        for record in records
        if record["record"] == "cell"
    ]


@pytest.fixture(scope="module")
def synchronizers(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns all synchronizers."""
    return variants(mpi, tmp_path_factory.mktemp("list"), "synchronizer")


@pytest.fixture(scope="module")
def reading(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Returns what reading clocks costs within a sample of one call, s.

    An operation that takes no time reads its clock twice; one that waits reads it once more than it should, at most.
    """
    (cell,) = measure(mpi, tmp_path_factory.mktemp("reading"), NO_TIME, "--sync", "mpi_barrier")
    return 2.0 * float(cell.record["latency_max_median"])


@pytest.fixture(scope="module")
def cells(mpi: str, synchronizers: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    """Returns cells of every synchronizer, without and with delays, and of every pattern."""
    directory = tmp_path_factory.mktemp("truth")
    patterns = [text for text in variants(mpi, directory, "pattern") if text not in NOT_OF_TWO_RANKS]
    return [
        cell
        for sync, shapes in ((synchronizers, ["none", "ascending"]), (["harmonize"], patterns))
        for cell in measure(
            mpi, directory, OPERATION, "--sync", ",".join(sync), "--pattern", ",".join(shapes), "--delay", "100us"
        )
    ]


def check_times(cell: Cell, calls: int, reading: float) -> None:
    """Interruptions only lengthen: no time is shorter than asked for, and the shortest of each rank is that time."""
    expected = calls * (DURATION + STEP * np.arange(RANKS))
    error = RATE * expected + ROUNDING
    assert cell.record["calls"] == calls
    assert (cell.times() >= expected - error).all(), str(cell)
    assert (cell.times().min(axis=0) <= expected + error + calls * reading).all(), str(cell)


def test_operations_take_the_time_that_was_asked_for(cells: list[Cell], reading: float) -> None:
    for cell in cells:
        check_times(cell, 1, reading)


def test_ranks_start_as_planned(cells: list[Cell]) -> None:
    """At the deadline and their delay; after a barrier, which promises no instant, with the delays between them."""
    for cell in cells:
        starts, deadline = cell.starts(), cell.samples.deadline.values[:, np.newaxis]
        if np.isfinite(deadline).all():
            # A slack controller of a cell's own has a clock of its own, apart from that of the stamps by its bound.
            own = 2 * float(cell.record["error_bound"]) if "slack=" in cell.record["synchronizer"] else 0.0
            error = own + ROUNDING + RATE * DELAY
            assert (starts >= deadline - error).all(), str(cell)
            assert (starts <= deadline + cell.tolerance + error).all(), str(cell)
        elif cell.record["synchronizer"] != "none":
            # A busy machine keeps ranks apart in some samples; a delay that is wrong does so in all of them.
            assert np.quantile(np.ptp(starts, axis=1), 0.25) < DELAY / 4, str(cell)
        delayed = cell.record["pattern"] not in ("none", "trace(file=trace.txt)")
        assert not delayed or cell.samples.delay.values.max() > DELAY / 4, str(cell)


def test_overlap_of_a_late_rank_that_others_hide(mpi: str, reading: float, tmp_path: Path) -> None:
    """Rank 0 has step less to do than rank 1: so much of its delay is hidden, and not more."""
    delays = [10e-6, 50e-6]
    pattern = ["--pattern", "one_late(rank=0)", "--delay", "10us,50us"]
    # So many that less than half of them are disturbed: medians have no bound above otherwise.
    cells = measure(mpi, tmp_path, OPERATION, "--sync", "harmonize", *pattern, repetitions=300)
    undelayed = DURATION + STEP
    for delay, cell in zip(delays, cells[1:], strict=True):
        assert cell.record["largest_delay"] == delay
        hidden = min(delay, STEP)
        delayed = undelayed + delay - hidden
        error = 3 * (cell.tolerance + reading)  # of t0, delta and t
        assert cell.record["overlap_benefit_median"] == pytest.approx(hidden / delayed, abs=error / delayed * 2)
        assert cell.record["overlap_share_median"] == pytest.approx(hidden / delay, abs=error / delay * 2)


def test_timing_schemes(mpi: str, reading: float, tmp_path: Path) -> None:
    assert set(variants(mpi, tmp_path, "timing")) == set(TIMINGS)
    # Timing scheme window brings the synchronizer of that name along.
    arguments = ["--sync", "mpi_barrier,harmonize", "--timing", ",".join(TIMINGS.values())]
    cells = measure(mpi, tmp_path, OPERATION, *arguments)
    assert {cell.record["timing"] for cell in cells} == set(TIMINGS.values())
    for cell in cells:
        if cell.record["timing"] != TIMINGS["batch_synced"]:
            check_times(cell, CALLS if cell.record["timing"] == TIMINGS["batch"] else 1, reading)
        elif cell.record["synchronizer"] != "window":
            # Every call, the last one too, ends when all ranks are done with it; what synchronizing costs comes on top.
            least = CALLS * (DURATION + STEP * (RANKS - 1)) - np.ptp(cell.starts(), axis=1)
            assert (cell.times().min(axis=1) >= least * (1 - RATE) - ROUNDING).all(), str(cell)


def test_stamps_agree_with_true_time(mpi: str, synchronizers: list[str], reading: float, tmp_path: Path) -> None:
    """All ranks leave on one grid of true time, so that how far apart their exits are is known for every sample."""
    arguments = ["--sync", ",".join(synchronizers), "--pattern", "one_late(rank=1)", "--delay", "100us"]
    for cell in measure(mpi, tmp_path, ON_GRID, *arguments, repetitions=60):
        exits = cell.samples.exit.values - STEP * np.arange(RANKS)
        apart = (exits[:, 1:] - exits[:, :1] + GRID / 2) % GRID - GRID / 2
        bound = cell.record["error_bound"] + reading + RATE * GRID + ROUNDING
        # Either rank may be kept from leaving on time, on a busy machine in half of the samples; a clock that is off is
        # so in all of them.
        assert ((np.abs(apart) <= bound).mean(axis=0) >= 0.2).all(), str(cell)
