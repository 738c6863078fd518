"""Stamps on the axis of a time base: never beyond the bound, whatever clocks do; made-up clocks with a known truth."""

from __future__ import annotations

import re
from pathlib import Path

import downbeat_command
import launch_files
import numpy as np
import pytest
from downbeat.align.timebase import open_timebase, perfetto_clock, to_global
from downbeat.errors import UsageError
from downbeat.trace.file import SYSTEM_CLOCKS as CLOCKS
from downbeat.trace.file import TABLES
from timebase_files import EPOCH, FINE, simulate, stamps


@pytest.mark.parametrize("seed", range(20))
def test_no_bound_is_broken(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    world = simulate(random, tmp_path / "t.trace")
    base = open_timebase(tmp_path / "t.trace")
    for clock in CLOCKS:
        times, truth = stamps(random, world, clock, 2000)
        moved = base.to_global("b", clock, times)
        assert (np.abs(moved.ns - EPOCH - truth) <= moved.bound_ns + 1).all()
        assert np.isfinite(moved.bound_ns).mean() > 0.99


def test_the_bound_of_quiet_clocks_is_small_and_the_expected_error_honest(tmp_path: Path) -> None:
    inside = []
    for seed in range(15):
        random = np.random.default_rng(seed)
        world = simulate(random, tmp_path / f"{seed}.trace", disturbed=False)
        interval = np.median(np.diff(world.axis)) * FINE
        for clock in CLOCKS:
            times, truth = stamps(random, world, clock, 500)
            moved = to_global("b.local", clock, times, tmp_path / f"{seed}.trace")
            # Readings of 200 ns, synchronizations of 120 ns, and what oscillators may do.
            assert np.median(moved.bound_ns) < 3000 + 2e-7 * interval + 1e-16 * interval**2
            error = np.abs(moved.ns - EPOCH - truth)
            inside.append([(error <= factor * moved.expected_error_ns).mean() for factor in (1, 2)])
    once, twice = np.mean(inside, axis=0)
    assert 0.68 <= once < 0.99
    assert twice >= 0.95


def test_the_expected_error_of_an_offset_has_the_error_of_the_clock_and_of_the_reading(tmp_path: Path) -> None:
    def change(_rank: int, maps: np.ndarray) -> None:
        maps["realtime_width"], maps["bound_ns"], maps["ns_per_tick"] = 300, 1e5, 2.0
        maps["variance"], maps["rate"], maps["walk"] = 10_000.0, 0.0, 0.0

    simulate(np.random.default_rng(3), tmp_path / "x.trace", disturbed=False, change=change)
    offsets = open_timebase(tmp_path / "x.trace").offsets
    errors = offsets[(offsets["host"] == "b.local") & (offsets["clock"] == "realtime")]["expected_error_ns"]
    assert errors.to_numpy() == pytest.approx(np.sqrt(10_000 + 600**2 / 3))  # a reading is anywhere within its width


def test_the_expected_error_of_an_offset_grows_from_the_sample_to_the_reading(tmp_path: Path) -> None:
    since = 2e6  # ns
    variance, cross, rate, walk = 10_000.0, 1e-3, 1e-9, 1e-15

    def change(_rank: int, maps: np.ndarray) -> None:
        maps["realtime_ticks"] = maps["ticks"] + round(since / 2)
        maps["realtime_width"], maps["bound_ns"], maps["ns_per_tick"] = 0, 1e5, 2.0
        maps["variance"], maps["cross"], maps["rate"], maps["walk"] = variance, cross, rate, walk

    simulate(np.random.default_rng(3), tmp_path / "x.trace", disturbed=False, change=change)
    offsets = open_timebase(tmp_path / "x.trace").offsets
    errors = offsets[(offsets["host"] == "b.local") & (offsets["clock"] == "realtime")]["expected_error_ns"]
    grown = variance + 2 * cross * since + rate * since**2 + walk * since**3 / 3
    assert errors.to_numpy() == pytest.approx(np.sqrt(grown))


def test_a_clock_that_was_set_is_named(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    named, planned = 0, 0
    for number in range(40):
        path = tmp_path / f"{number}.trace"
        world = simulate(random, path)
        base = open_timebase(path)
        found = [step.sample for host, clock, step in base.steps if (host, clock) == ("b.local", "realtime")]
        # In the first and the last interval it looks like another frequency.
        inner = {one for one in world.stepped["realtime"] if 0 < one < len(world.axis) // FINE - 1}
        planned += len(inner)
        named += len(inner & set(found))
        for sample in world.stepped["realtime"]:
            inside = base.local(1, "realtime").shown[sample] + 10**6
            assert base.to_global("b", "realtime", int(inside)).bound_ns > 50_000
        if found:
            assert any(
                re.search(r"b.local: realtime moved by [+-][\d.e+-]+ s between samples", n) for n in base.notes()
            )
    assert planned >= 8
    assert named == planned
    assert not any(clock == "monotonic_raw" for _, clock, _ in base.steps)


def test_a_time_that_a_clock_showed_twice_is_in_the_bound(tmp_path: Path) -> None:
    back = 10 * 10**9

    def set_back(rank: int, maps: np.ndarray) -> None:
        maps["realtime_ns"][6:] -= rank * back

    simulate(np.random.default_rng(1), tmp_path / "s.trace", disturbed=False, change=set_back)
    base = open_timebase(tmp_path / "s.trace")
    shown = base.local(1, "realtime").shown
    offsets = base.offsets
    axis = offsets[(offsets["host"] == "b.local") & (offsets["clock"] == "realtime")]["axis_ns"].to_numpy()
    twice = int(shown[6]) + back // 2
    moved = base.to_global("b", "realtime", twice)
    for when in (axis[6] + back // 2, axis[6] - back // 2):
        assert abs(moved.ns - when) <= moved.bound_ns + 4e-4 * back  # clocks differ in rate
    once = base.to_global("b", "realtime", int(shown[2]) + 5)
    assert abs(once.ns - axis[2]) <= once.bound_ns + 5_100  # the clock was read that much later
    assert once.bound_ns < 10**5


def test_a_counter_that_jumps_is_named(tmp_path: Path) -> None:
    simulate(np.random.default_rng(1), tmp_path / "t.trace", disturbed=False)
    quiet = open_timebase(tmp_path / "t.trace")
    assert not any("counter jumped" in note for note in quiet.notes())

    def jump(rank: int, maps: np.ndarray) -> None:
        maps["global_ns"][6:] += rank * 10**9  # it lost a second, and so did what is derived from it

    simulate(np.random.default_rng(1), tmp_path / "s.trace", disturbed=False, change=jump)
    base = open_timebase(tmp_path / "s.trace")
    assert any("b.local: its counter jumped by about 1 s between samples 5 and 6" in note for note in base.notes())
    shown = base.local(1, "monotonic_raw").shown
    inside = int(shown[5]) + int(shown[6] - shown[5]) // 2
    before = quiet.to_global("b", "monotonic_raw", inside).ns
    moved = base.to_global("b", "monotonic_raw", inside)
    for truth in (before, before + 10**9):  # it jumped after, or before
        assert abs(moved.ns - truth) <= moved.bound_ns
    assert base.to_global("b", "monotonic_raw", int(shown[2]) + 5).bound_ns < 10**6


def test_outside_of_the_samples_only_a_clock_that_nobody_sets_has_a_bound(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    simulate(random, tmp_path / "t.trace", disturbed=False)
    base = open_timebase(tmp_path / "t.trace")
    for clock in CLOCKS:
        shown = base.local(1, clock).shown
        for outside in (shown[0] - 10**9, shown[-1] + 10**9):
            near, far = (
                base.to_global("b", clock, int(outside + way)) for way in (0, np.sign(outside - shown[3]) * 10**9)
            )
            assert np.isfinite(near.bound_ns) == (clock == "monotonic_raw")
            assert far.bound_ns > near.bound_ns or np.isinf(far.bound_ns)
    edge = base.to_global("b", "monotonic_raw", int(base.local(1, "monotonic_raw").shown[-1] + 10**9))
    last = int(base.offsets[base.offsets["host"] == "b.local"]["axis_ns"].max())
    assert abs(edge.ns - last - 10**9) < 3.2e5 + edge.bound_ns


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.trace"
    simulate(np.random.default_rng(0), path)
    for (host, clock, stamp), said in (
        (("c", "realtime", 1), "has no host 'c'; choose one of a.local, b.local"),
        (("b", "tai", 1), "unknown clock 'tai'; choose one of realtime, monotonic, monotonic_raw, boottime"),
        (("b", "realtime", 1.5), "whole numbers of ns"),
    ):
        with pytest.raises(UsageError, match=re.escape(said)):
            to_global(host, clock, stamp, path)
    with pytest.raises(UsageError, match="does not exist"):
        open_timebase(tmp_path / "none")
    path.write_bytes(launch_files.section(0) + packed_without_clocks())
    with pytest.raises(UsageError, match="fewer than two samples"):
        open_timebase(path)
    path.write_text("{}")
    with pytest.raises(UsageError, match="is not a recording; give the directory that downbeat timebase wrote"):
        open_timebase(path)


def packed_without_clocks() -> bytes:
    """Returns the section of a process that ended before its clock was known."""
    return launch_files.packed(1, {name: np.zeros(0, dtype) for name, dtype in TABLES.items()})


def test_metrics_have_every_sample(tmp_path: Path) -> None:
    simulate(np.random.default_rng(5), tmp_path / "t.trace")
    base = open_timebase(tmp_path / "t.trace")
    done = downbeat_command.downbeat("export", "t.trace", "--to", "openmetrics", where=tmp_path)
    assert done.returncode == 0
    *lines, end = done.stdout.splitlines()
    assert end == "# EOF"
    samples = [line for line in lines if not line.startswith("#")]
    form = re.compile(r'downbeat_clock_\w+_(seconds|ratio)\{host="[ab].local",clock="\w+"\} [-+.\de]+ \d{10}\.\d{9}')
    assert all(form.fullmatch(line) for line in samples)
    count = len(base.offsets) // 8
    assert len([line for line in samples if line.startswith("downbeat_clock_bound_seconds")]) == 2 * 4 * count


def test_perfetto_gets_each_clock_at_each_sample(tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    simulate(np.random.default_rng(5), tmp_path / "t.trace")
    assert (
        downbeat_command.downbeat("export", "t.trace", "--to", "perfetto-clocks", "-o", "t", where=tmp_path).returncode
        == 0
    )
    trace = messages.Trace()
    trace.ParseFromString((tmp_path / "t").read_bytes())
    base = open_timebase(tmp_path / "t.trace")
    mine = perfetto_clock(1, "monotonic")
    found = [
        [one.timestamp for one in packet.clock_snapshot.clocks]
        for packet in trace.packet
        if packet.clock_snapshot.clocks[1].clock_id == mine
    ]
    rows = base.offsets[(base.offsets["host"] == "b.local") & (base.offsets["clock"] == "monotonic")]
    assert found == np.column_stack([rows["clock_ns"] + rows["offset_ns"], rows["clock_ns"]]).tolist()
    assert mine % 128 == 0
