"""Every synchronizer is at least a barrier: no rank leaves before the last has entered. Windows fit, or say so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, read_dataset, run_bench

BARRIERS = [
    "mpi_barrier",
    "double_mpi_barrier",
    "linear",
    "double_ring",
    "recursive_doubling",
    "bruck",
    "tree",
    "central",
]
LATE = 300e-6
# Clocks that are wrong by up to a second, and by what the library's max_skew allows.
VALIDATION = {"DOWNBEAT_VALIDATION": "offset=1,skew=9e-6,seed=3"}


def bounds(data: xr.Dataset) -> np.ndarray:
    """Returns what two clocks may be apart, per sample."""
    found: np.ndarray = 2 * data.error_bound.values[data.cell_index.values]
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_nobody_leaves_before_the_last_has_entered(mpi: str, tmp_path: Path, ranks: int) -> None:
    few = mpi == "mpich" and ranks > 2  # 12 ms for a message between ranks that share a processor
    late = [ranks - 1] if few else range(ranks)
    # Ranks of one machine share a clock, verified by the library: stamps are in true time.
    arguments = ["nothing", "--sync", ",".join([*BARRIERS, "harmonize(after=double_ring)"])]
    arguments += ["--pattern", ",".join(f"one_late(rank={rank})" for rank in late), "--delay", "300us"]
    arguments += ["-r", "3" if few else "10", "--warmup", "1", "--max-attempts", "1", "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, tmp_path, *arguments, ranks=ranks)
    assert outcome.status in (0, 3), outcome.stderr  # harmonize on shared processors
    data = read_dataset(tmp_path / "out.nc")
    entered, left = data.sync_entry.values, data.entry.values
    assert left.shape[1] == ranks
    assert (left.min(axis=1) >= entered.max(axis=1) - bounds(data)).all()
    barriers = {str(name) for name in data.synchronizer.values}
    assert barriers == {*BARRIERS, "harmonize(after=double_ring)"}
    # A rank that started late is late for the next synchronizer, which must wait for it.
    delayed = data.delay.values.max(axis=1) > 0
    assert delayed.any()
    for sample in np.flatnonzero(delayed):
        rank = int(data.delay.values[sample].argmax())
        assert left[sample, rank] >= entered[sample].max() + LATE - bounds(data)[sample]


def test_methods_of_choosing_the_slack_stand_beside_each_other(bench: Bench, tmp_path: Path) -> None:
    methods = ["harmonize", "harmonize(slack=auto)", "harmonize(slack=published)"]
    few = ["-r", "10", "--warmup", "1", "--max-attempts", "1"]
    outcome = bench("nothing", "barrier", "--sync", ",".join(methods), *few, "-q", "-o", "out.nc")
    assert outcome.status in (0, 3), outcome.stderr  # a busy machine
    data = read_dataset(tmp_path / "out.nc")
    assert [str(name) for name in data.synchronizer.values] == 2 * methods
    # Each method has clocks of its own; its deadlines are converted to that of the stamps, to some readings of it.
    reading = 1e-6
    entered, left, deadline = data.sync_entry.values, data.entry.values, data.deadline.values
    assert (left.min(axis=1) >= deadline - reading).all()
    assert (deadline >= entered.max(axis=1) + data.slack.values - reading).all()
    # Schuchart 2023, Alg. 1, lines 14 to 17, from the first call to the last, whichever cell they belong to.
    published = data.synchronizer.values[data.cell_index.values] == "harmonize(slack=published)"
    slack, missed = data.slack.values[published], (data.flag.values[published] == 0).any(axis=1)
    assert slack == pytest.approx(slack[0] * 1.5 ** np.cumsum([0, *missed[:-1]]), rel=1e-3)


def windows(bench: Bench, tmp_path: Path, *arguments: str) -> tuple[int, str, xr.Dataset]:
    """Returns status, own line and file of a run."""
    outcome = bench(*arguments, "-q", "-o", "out.nc")
    return outcome.status, "\n".join(outcome.own_lines), read_dataset(tmp_path / "out.nc")


@ONE_LIBRARY
def test_a_window_too_small_is_an_error_that_says_what_helps(bench: Bench, tmp_path: Path) -> None:
    arguments = ["bcast", "-m", "1M", "--sync", "window(size=1us,growth=1)", "-r", "100", "--max-attempts", "2"]
    status, text, data = windows(bench, tmp_path, *arguments)
    assert status == 3
    assert "bcast of" in text and "window(size=1us,growth=1)" in text
    assert "window(size=10us)" in text and "growth=2" in text
    valid = data.valid.values == 1
    late = (data.flag.values == 0).any(axis=1)
    assert not (valid & late).any()
    assert late.sum() >= 100


def test_a_round_time_budget_ends_the_cell(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("nothing", "--sync", "roundtime(budget=100ms)", "-q", "-o", "out.json")
    assert outcome.status == 0, outcome.stderr
    cell = json.loads((tmp_path / "out.json").read_text().splitlines()[1])
    assert cell["valid_count"] >= 10  # of the first block, which the machine may make as long as the budget
    assert cell["wall_time"] >= 0.1


def test_shared_processors_end_in_advice(mpi: str, tmp_path: Path) -> None:
    if mpi == "mpich":
        pytest.skip("12 ms per start")
    outcome = run_bench(mpi, tmp_path, "nothing", "--sync", "harmonize", "-r", "20", "-q", "--tolerance", "0", ranks=4)
    assert outcome.status == 3
    assert re.search(r"harmonize:\s+0\s+of\s+20\b", outcome.own_lines[-1])
    assert "at most" in outcome.own_lines[-1]
