"""Every synchronizer is at least a barrier: no rank leaves before the last has entered. Windows fit, or say so."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_nobody_leaves_before_the_last_has_entered(mpi: str, tmp_path: Path, ranks: int) -> None:
    if mpi == "mpich" and ranks > 5:
        pytest.skip("MPICH takes 12 ms for a message between ranks that share a processor")
    few = mpi == "mpich" and ranks > 2
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
    barriers = {name.decode() for name in data.synchronizer.values}
    assert barriers == {*BARRIERS, "harmonize(after=double_ring)"}
    # A rank that started late is late for the next synchronizer, which must wait for it.
    delayed = data.delay.values.max(axis=1) > 0
    assert delayed.any()
    for sample in np.flatnonzero(delayed):
        rank = int(data.delay.values[sample].argmax())
        assert left[sample, rank] >= entered[sample].max() + LATE - bounds(data)[sample]


def test_clocks_that_are_off_do_not_show(bench: Bench, tmp_path: Path) -> None:
    arguments = ["nothing", "--sync", "central,bruck,window,roundtime,harmonize", "-r", "50", "-q", "-o", "out.nc"]
    outcome = bench(*arguments, env=VALIDATION)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    valid = data.valid.values == 1
    allowed = bounds(data)[valid]
    assert (data.entry.values[valid].min(axis=1) >= data.sync_entry.values[valid].max(axis=1) - allowed)[
        data.synchronizer.values[data.cell_index.values[valid]] != b"window"  # which ranks do not enter together
    ].all()
    timed = valid & ~np.isnan(data.deadline.values)
    assert timed.sum() >= 150
    entry, deadline = data.entry.values[timed], data.deadline.values[timed, None]
    assert (entry >= deadline).all()
    assert (entry <= deadline + data.attrs["tolerance_s"]).all()


def test_methods_of_choosing_the_slack_stand_beside_each_other(bench: Bench, tmp_path: Path) -> None:
    methods = ["harmonize", "harmonize(slack=auto)", "harmonize(slack=published)"]
    few = ["-r", "10", "--warmup", "1", "--max-attempts", "1"]
    outcome = bench("nothing", "barrier", "--sync", ",".join(methods), *few, "-q", "-o", "out.nc")
    assert outcome.status in (0, 3), outcome.stderr  # a busy machine
    data = read_dataset(tmp_path / "out.nc")
    assert [name.decode() for name in data.synchronizer.values] == 2 * methods
    # Each method has clocks of its own; its deadlines are converted to that of the stamps, to some readings of it.
    reading = 1e-6
    entered, left, deadline = data.sync_entry.values, data.entry.values, data.deadline.values
    assert (left.min(axis=1) >= deadline - reading).all()
    assert (deadline >= entered.max(axis=1) + data.slack.values - reading).all()
    # Schuchart 2023, Alg. 1, lines 14 to 17, from the first call to the last, whichever cell they belong to.
    published = data.synchronizer.values[data.cell_index.values] == b"harmonize(slack=published)"
    slack, missed = data.slack.values[published], (data.flag.values[published] == 0).any(axis=1)
    assert slack == pytest.approx(slack[0] * 1.5 ** np.cumsum([0, *missed[:-1]]), rel=1e-3)


def test_barriers_in_a_row(bench: Bench, tmp_path: Path) -> None:
    """Hoefler 2008, listing 3. The shortest of many is hardly disturbed; no rank leaves before its barriers end."""
    many = 40
    names = ["mpi_barrier", "double_mpi_barrier", f"mpi_barrier(count={many})"]
    outcome = bench("nothing", "--sync", ",".join(names), "-r", "300", "-q", "-o", "out.nc")
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    assert [name.decode() for name in data.synchronizer.values] == names
    took = (data.entry.min("rank") - data.sync_entry.max("rank")).values
    one, two, all_of_them = (took[data.cell_index.values == cell].min() for cell in range(3))
    assert one < two < all_of_them
    assert all_of_them > many / 4 * one  # with a reading of the clock, which each contains


def windows(bench: Bench, tmp_path: Path, *arguments: str) -> tuple[int, str, xr.Dataset]:
    """Returns status, own line and file of a run."""
    outcome = bench(*arguments, "-q", "-o", "out.nc")
    return outcome.status, "\n".join(outcome.own_lines), read_dataset(tmp_path / "out.nc")


@ONE_LIBRARY
def test_windows_follow_each_other_without_a_gap(bench: Bench, tmp_path: Path) -> None:
    arguments = ["nothing", "--sync", "window(size=200us,growth=1)", "-r", "200", "--warmup", "0"]
    # Other programs on the processors make ranks miss hundreds of windows in a row.
    status, text, data = windows(bench, tmp_path, *arguments, "--max-attempts", "1000")
    assert status == 0, text
    deadline = data.deadline.values
    steps = np.diff(deadline)
    within = np.diff(data.block.values) == 0
    near = np.abs(steps - 200e-6) < 1e-9
    # 10 blocks, each one series, but for those that are repeated.
    assert near[within].sum() >= 150
    assert (steps[within & ~near] > 0).all()


@ONE_LIBRARY
def test_a_window_too_small_is_an_error_that_says_what_helps(bench: Bench, tmp_path: Path) -> None:
    arguments = ["bcast", "-m", "1M", "--sync", "window(size=1us,growth=1)", "-r", "100", "--max-attempts", "2"]
    status, text, data = windows(bench, tmp_path, *arguments)
    assert status == 3
    assert "bcast of 1048576 bytes after window(size=1us,growth=1): " in text
    assert "a window larger than 1 us, e.g. window(size=10us), or one that grows, e.g. growth=2" in text
    valid = data.valid.values == 1
    late = (data.flag.values == 0).any(axis=1)
    assert not (valid & late).any()
    assert late.sum() >= 100


@ONE_LIBRARY
def test_a_window_too_small_grows_until_the_operation_fits(bench: Bench, tmp_path: Path) -> None:
    arguments = ["bcast", "-m", "1M", "--sync", "window(size=1us,growth=4)", "-r", "100", "--max-attempts", "50"]
    status, text, data = windows(bench, tmp_path, *arguments)
    assert status == 0, text
    steps = np.diff(data.deadline.values)
    sizes = np.unique(np.round(steps[(np.diff(data.block.values) == 0) & (steps < 0.2)] * 1e9))
    took = float(data.latency_max_median.values[0])
    assert any(size * 1e-9 >= took for size in sizes)
    # Each size is a power of 4 us, but for the step from one series of a block to the next.
    powers = [1e3 * 4**power for power in range(9)]
    assert sum(any(abs(size - power) <= 1 for power in powers) for size in sizes) >= 1


@ONE_LIBRARY
def test_what_ends_after_its_window_is_repeated_where_asked(bench: Bench, tmp_path: Path) -> None:
    """SKaMPI's rule. A late rank is in time for the next window, so that its sample counts unless asked otherwise."""
    size = 10e-3
    both = "window(size=10ms,growth=1),window(size=10ms,growth=1,overrun=repeat)"
    late = ["--pattern", "one_late(rank=1)", "--delay", "9500us"]
    arguments = ["synthetic(duration=1ms)", "--sync", both, *late, "-r", "20", "--warmup", "1", "--max-attempts", "2"]
    # However busy the machine, no start is late.
    status, text, data = windows(bench, tmp_path, *arguments, "--tolerance", "1")
    assert status == 3, text
    judged = data.verdict.values != 3
    late_flag = (data.flag.values == 0).any(axis=1)
    planned = data.deadline.values[:, None] + data.delay.values
    late_entry = (data.entry.values > planned + data.attrs["tolerance_s"]).any(axis=1)
    ends_late = data.exit.values.max(axis=1) > data.deadline.values + size
    repeats = data.cell_index.values >= 2
    expected = np.select([late_flag, late_entry, ends_late & repeats], [1, 2, 4], 0)
    assert (data.verdict.values == expected)[judged].all()
    assert (ends_late & ~repeats & (data.valid.values == 1)).any()
    overrun = [int((data.verdict.values[data.cell_index.values == cell] == 4).sum()) for cell in range(4)]
    assert list(data.overrun.values) == overrun
    assert data.valid_count.values[3] == 0 < overrun[3]
    assert (data.rejected.values == data.late_flag.values + data.late_entry.values + data.overrun.values).all()


@ONE_LIBRARY
def test_batch_synced_has_no_single_window(bench: Bench) -> None:
    outcome = bench("nothing", "--sync", "window(overrun=repeat)", "--timing", "batch_synced(calls=3)", "-q")
    assert outcome.status == 2
    assert "use per_call, batch or window with it" in outcome.own_lines[0]


def test_a_round_time_starts_so_many_broadcasts_after_the_decision(bench: Bench, tmp_path: Path) -> None:
    arguments = ["nothing", "--sync", "roundtime(factor=0),roundtime(factor=1000)", "-r", "20", "--max-attempts", "2"]
    outcome = bench(*arguments, "--tolerance", "0.0001", "-q", "-o", "out.nc")
    assert outcome.status == 3  # an instant that is over when it is decided
    assert "nothing after roundtime(factor=0): 0 of 20" in outcome.own_lines[0]
    data = read_dataset(tmp_path / "out.nc")
    none, long = (data.cell_index.values == cell for cell in range(2))
    assert (data.slack.values[none] == 0.0).all()
    assert len(np.unique(data.slack.values[long])) == 1  # of one measurement
    rest = data.deadline.values[long] - data.sync_entry.values[long].max(axis=1)
    assert (rest >= data.slack.values[long] - bounds(data)[long]).all()


def test_a_round_time_with_a_fixed_lead_has_no_barrier(bench: Bench, tmp_path: Path) -> None:
    """Niethammer 2016, listing 2: rank 0 decides on arrival, not when all have arrived; late ranks know it."""
    lead = 2e-3
    late = ["--pattern", "one_late(rank=1)", "--delay", "500us"]
    arguments = ["--sync", "roundtime(lead=2ms)", *late, "-r", "40", "--warmup", "1", "--max-attempts", "1"]
    outcome = bench("synthetic(duration=0)", *arguments, "-q", "-o", "out.nc")
    assert outcome.status in (0, 3), outcome.stderr  # on a busy machine ranks are late
    data = read_dataset(tmp_path / "out.nc")
    assert (data.slack.values == lead).all()
    assert (data.deadline.values - data.sync_entry.values[:, 0] >= lead - 1e-9).all()
    # Rank 1 comes late by its delay in the sample before, and the instant falls no later for that.
    delayed = data.delay.values[:, 1] > 0
    left = (data.deadline.values - data.sync_entry.values.max(axis=1))[delayed]
    assert np.median(left) < lead - 300e-6
    timely = (data.entry.values <= data.deadline.values[:, None] + data.delay.values + data.attrs["tolerance_s"]).all(
        axis=1
    )
    assert not ((data.valid.values == 1) & ~timely).any()


@ONE_LIBRARY
def test_a_lead_too_short_is_an_error_that_says_what_helps(bench: Bench) -> None:
    outcome = bench(
        "nothing", "--sync", "roundtime(lead=1us)", "--tolerance", "0", "-r", "5", "--max-attempts", "2", "-q"
    )
    assert outcome.status == 3
    assert "e.g. roundtime(lead=10us)" in outcome.own_lines[0]
    both = bench("nothing", "--sync", "roundtime(factor=5,lead=1ms)", "-r", "5", "-q")
    assert both.status == 2
    assert "factor and lead both set the start time; give only one of them" in both.own_lines[0]
    barrier = bench("nothing", "--sync", "roundtime(lead=1ms)", "--barrier-algorithm", "default", "-q")
    assert barrier.status == 2
    assert "needs a synchronizer that calls MPI_Barrier" in barrier.own_lines[0]


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
    assert "nothing after harmonize: 0 of 20" in outcome.own_lines[-1]
    assert "try at most one rank per processor" in outcome.own_lines[-1]
