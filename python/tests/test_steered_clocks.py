"""Bounds of `downbeat align` on clocks that NTP steers: none is broken, whatever moves a clock, said or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from downbeat.align.axis import shown_twice, widened
from downbeat.align.bounds import Limits, limits_between, steered_reach
from downbeat.align.calls import SLEW_RATE, STEERED_RATE
from downbeat.align.clocks import Aligned, align_traces
from downbeat.align.local_clocks import LocalClock
from downbeat.align.matching import GroupCalls
from downbeat.align.movements import Course, Steering, course_of, moved, still
from downbeat.output.facts.alignment import WideBounds
from downbeat.output.records import plain
from downbeat.views.alignment import alignment_view
from steered_clocks import KINDS, Event, Program, SteeredRun, drawn

WANDER = 2e-9
QUIET = (0.0, 0.0)


def aligned_of(run: SteeredRun, steered: bool = True) -> Aligned:
    return align_traces(run.traces, WANDER, steered)


@pytest.mark.parametrize(
    "count", [16, pytest.param(64, marks=pytest.mark.thorough), pytest.param(400, marks=pytest.mark.nightly)]
)
def test_no_bound_is_broken_whatever_moves_a_clock(count: int) -> None:
    bounded = []
    for seed in range(count):
        run = drawn(seed)
        have, wrong = run.broken(aligned_of(run))
        assert wrong == 0, (seed, KINDS[seed % len(KINDS)], run.program, run.events)
        bounded.append(have / sum(map(len, run.stamps)))
    assert np.mean(bounded) > 0.6  # "not known" everywhere is no answer


# Slews as of adjtime and ntpd, as of chrony with its default of 83,333 ppm, and clocks that are set.
MOVES = [
    (by, by / rate if rate else 0.0)
    for by in (1e5, 1e6, 1e7)
    for rate in (50e-6, SLEW_RATE, 10e-3, 83e-3, 0.0)
    if not rate or by / rate < 20e9
]


@pytest.mark.parametrize(("by", "lasts"), MOVES)
def test_a_clock_that_moved_is_named_with_time_and_size(by: float, lasts: float) -> None:
    for seed, rank in ((1, 0), (2, 3)):
        program = Program(ranks=4, calls=1500)
        event = Event(rank, 0.4 * program.span, by, lasts)
        run = SteeredRun(seed, program, (event,), QUIET)
        aligned = aligned_of(run)
        assert run.broken(aligned)[1] == 0
        assert {one["rank"] for one in aligned.movements} == {rank}
        (movement,) = aligned.movements
        assert movement["by_s"] == pytest.approx(by * 1e-9, rel=0.2, abs=5e-6)
        first = run.times[rank][: run.of_calls[rank]].min()
        begin, end = ((when - first) * 1e-9 for when in (event.at, event.at + lasts))
        assert movement["from_s"] <= begin + 0.2  # nodes are 0.16 s apart
        assert movement["to_s"] >= min(end, run.span * 1e-9) - 0.2
        assert movement["to_s"] - movement["from_s"] <= lasts * 1e-9 + 2.5
        assert plain(alignment_view(aligned).record["movements"]) == list(aligned.movements)


def test_the_bound_for_steady_clocks_is_broken_by_an_ordinary_slew() -> None:
    run = SteeredRun(1, Program(calls=1500, late=30e3), (Event(1, 10e9, 1e5, 0.2e9),), QUIET)
    assert run.broken(aligned_of(run, steered=False))[1] > 0  # so the tests above can fail
    assert run.broken(aligned_of(run))[1] == 0


@pytest.mark.parametrize("spacing", [0.3e6, 20e6])
def test_dense_calls_pay_little_for_clocks_that_may_be_steered(spacing: float) -> None:
    wider = []
    for ranks in (2, 4, 8):
        run = SteeredRun(ranks, Program(ranks=ranks, calls=1500, spacing=spacing), (), QUIET)
        steady, steered = (aligned_of(run, one).ranks.frame()["bound_s"].to_numpy()[1:] for one in (False, True))
        wider.append(np.median(steered) / np.median(steady))
        assert aligned_of(run).movements == ()
    assert np.mean(wider) <= 1.2


def test_the_estimate_of_quiet_clocks_is_that_of_steady_ones() -> None:
    for shape in ("all", "ring"):
        run = SteeredRun(5, Program(ranks=4, calls=600, shape=shape), (), QUIET)
        steady, steered = (aligned_of(run, one) for one in (False, True))
        for rank in range(4):
            stamps = run.stamps[rank][: run.of_calls[rank]]
            assert np.abs(steady.corrected(rank, stamps) - steered.corrected(rank, stamps)).max() <= 100


def test_sparse_calls_say_what_steady_clocks_give() -> None:
    run = SteeredRun(3, Program(ranks=3, calls=60, spacing=4e9), (), QUIET)
    steered, steady = aligned_of(run), aligned_of(run, steered=False)
    assert any(isinstance(note, WideBounds) for note in steered.notes)
    assert steady.ranks.frame()["largest_bound_s"].max() < steered.ranks.frame()["largest_bound_s"].max()
    # Halfway between two calls NTP may have slewed a clock and back.
    exits = np.sort(run.traces[1].calls[0].exit)
    middle = (exits[30:31] + exits[31:32]) // 2
    assert steered.correct(1, middle)[1][0] >= 1.9e9 * SLEW_RATE


def test_few_calls_do_not_tell_that_a_clock_was_set() -> None:
    for seed in range(40):
        program = Program(ranks=4, calls=6, spacing=10 ** (6 + seed % 3))
        event = Event(seed % 4, (0.1 + 0.02 * seed) * program.span, 1e6)
        run = SteeredRun(seed, program, (event,), QUIET)
        assert run.broken(aligned_of(run))[1] == 0, seed


def test_a_time_that_a_clock_showed_twice_has_no_bound() -> None:
    for seed, rank in ((1, 2), (2, 0)):
        run = SteeredRun(seed, Program(calls=600), (Event(rank, 6e9, -1e9),), QUIET)
        aligned = aligned_of(run)
        assert run.broken(aligned)[1] == 0
        other = rank or 1
        twice = (run.times[other] > 5.05e9) & (run.times[other] < 6.95e9)
        if rank:
            assert np.isinf(aligned.correct(rank, run.stamps[rank][twice])[1]).all()
        far = (run.times[other] > 1e9) & (run.times[other] < 4e9)
        assert np.isfinite(aligned.correct(other, run.stamps[other][far])[1]).all()


def test_a_rate_that_temperature_changes_is_in_the_expected_error() -> None:
    within = []
    for seed in range(3):
        run = SteeredRun(seed, Program(ranks=3, calls=1000, spacing=0.3e9), (), (1e-6, 60e9))
        aligned = aligned_of(run)
        for rank in (1, 2):
            calls = slice(0, run.of_calls[rank])
            moved_to, _, expected = aligned.correct(rank, run.stamps[rank][calls])
            error = np.abs((moved_to - 1_764_000_000_000_000_000).astype(float) - run.clock(0, run.times[rank][calls]))
            within.append(np.mean(error <= 2 * expected))
    assert np.mean(within) >= 0.85


def test_quiet_courses_show_no_movement_and_moved_ones_do() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        at = np.sort(random.uniform(0.0, 100e9, 800))
        value = 3e3 * random.normal(size=800) + 50e-6 * at
        node = (at // 1e9).astype(np.int64)
        none = np.zeros(len(np.unique(node)), dtype=bool)
        assert not moved(course_of(at, value, node, 1.0), 2e-18, none).any(), seed
        for step in (np.where(at > 50e9, 30e3, 0.0), 2e-6 * np.maximum(at - 50e9, 0.0)):
            course = course_of(at, value + step, node, 1.0)
            found = course.at[moved(course, 2e-18, none)]
            assert len(found), seed
            assert np.abs(found - 50e9).min() <= 8e9, seed


def test_clocks_of_the_largest_rate_keep_their_bounds() -> None:
    run = SteeredRun(7, Program(ranks=2, calls=400), (), QUIET)
    run.rate[:] = 0.0, 0.45 * STEERED_RATE
    again = [
        replace(
            trace,
            calls=tuple(
                replace(
                    one,
                    entry=run.shown(trace.rank, run.times[trace.rank][: len(one.entry)]),
                    exit=run.shown(trace.rank, run.times[trace.rank][len(one.entry) : 2 * len(one.entry)]),
                )
                for one in trace.calls
            ),
        )
        for trace in run.traces
    ]
    run.stamps = [run.shown(rank, times) for rank, times in enumerate(run.times)]
    aligned = align_traces(again, WANDER, steered=True)
    assert run.broken(aligned)[1] == 0
    assert aligned.whole


@pytest.mark.parametrize("beyond", ["first", "last"])
@pytest.mark.parametrize("error", [-1, 1])
def test_the_bound_beyond_the_samples_is_that_of_the_interval_there(beyond: str, error: int) -> None:
    # The interval at one end is short, so readings that are off by their width turn the clock's rate there.
    length = np.array([1e6, 1e9, 1e9, 1e9, 1e9])
    length = length if beyond == "first" else length[::-1]
    true = np.concatenate([[0.0], np.cumsum(length)]).astype(np.int64)
    width = 200
    off = np.zeros(len(true), dtype=np.int64)
    off[0 if beyond == "first" else -1] = error * (width - 2)
    clock = LocalClock(true + 5_000, true + off, np.full(len(true), width), 1.0, 2e-7, 2e-16, moved=False)
    for away in (10**8, 10**9):
        when = -away if beyond == "first" else int(true[-1]) + away
        place = clock.place(np.array([when + 5_000]))
        wrong = abs(float(place.at[0]) + float(off[0]) - when)
        assert wrong > 1e-4 * away  # so a bound by the rate of the other end is broken
        assert wrong <= float(place.extra[0])


def pair_of_calls(entry: list[list[int]], leave: list[list[int]]) -> GroupCalls:
    """Returns allreduces of two ranks."""
    calls = len(entry)
    return GroupCalls(
        "0",
        np.arange(2),
        np.full(calls, "allreduce"),
        np.arange(calls),
        np.full(calls, 8),
        np.full(calls, -1),
        np.array(entry),
        np.array(leave),
        np.zeros((calls, 2), dtype=bool),
        np.zeros(2, dtype=bool),
    )


@pytest.mark.parametrize("waits", [0, 1])
def test_a_limit_is_weaker_by_the_time_since_the_end_that_shows_the_course(waits: int) -> None:
    length = 10**9  # one rank waits for a second, so its clock may have been slewed and back meanwhile
    entry, leave = [[length, length]], [[length + 100, length + 100]]
    entry[0][waits] = 0
    group, times = pair_of_calls(entry, leave), np.linspace(-length, 3 * length, 3)
    nothing = np.zeros((2, 3))
    steering = Steering({}, {}, ((), ()), np.zeros((2, 2)), nothing > 0, (np.zeros(0), np.array([length + 100.0])), ())
    floats = [np.array(one, dtype=float) for one in (entry, leave)]
    limits = Limits(
        [group], [np.arange(2)], [floats[0]], [floats[1]], [np.zeros(1, dtype=np.int64)], times, nothing,
        np.zeros(2), 2e-18, steering,
    )  # fmt: skip
    alone = np.full((2, 3), np.inf)
    alone[0] = 0.0
    upper, lower = limits.points(-alone, alone)
    away = STEERED_RATE * (length + 100 if waits else 100)
    assert upper.limit[0, 1] == pytest.approx(leave[0][0] - entry[0][1] + away)
    assert lower.limit[0, 1] == pytest.approx(leave[0][1] - entry[0][0])


def test_calls_that_end_in_the_wrong_order_show_which_times_came_twice() -> None:
    times = np.arange(10) * 20_000_000
    own = times - np.where(times >= 100_000_000, 50_000_000, 0)
    group = pair_of_calls(np.stack([times, own], axis=1).tolist(), np.stack([times, own], axis=1).tolist())
    entry, leave = ([one.astype(float)] for one in (group.entry, group.exit))
    assert shown_twice([group], [np.arange(2)], entry, leave, 0) == []
    ((first, last),) = shown_twice([group], [np.arange(2)], entry, leave, 1)
    # The clock was set between its 80 ms and 100 ms.
    assert first <= 80e6 - 50e6
    assert last >= 100e6
    assert last - first <= 100e6


def test_a_stretch_leaves_room_for_what_ends_may_hide() -> None:
    course = Course(np.arange(1, 41), np.linspace(0.0, 39e9, 40), np.zeros(40), np.full(40, 700.0))
    (stretch,) = still(course, np.zeros(40, dtype=bool), 2e-18)
    assert (stretch.begin, stretch.end) == (1, 41)
    assert stretch.margin >= 2 * 700.0
    nodes = np.linspace(0.0, 41e9, 42)
    room = np.full(40, 50e3)
    found = [
        steered_reach(course.at, room, nodes, [replace(stretch, margin=margin)], True)[2:40].max()
        for margin in (0.0, stretch.margin)
    ]
    assert found[1] - found[0] == pytest.approx(stretch.margin)


@pytest.mark.parametrize("curve", [2e-18, 1e-14])
def test_a_clock_that_bends_as_it_may_keeps_its_course(curve: float) -> None:
    at = np.linspace(0.0, 396e9, 100)
    node, none = np.arange(100), np.zeros(100, dtype=bool)
    for sign in (-1.0, 1.0):
        # Errors so small that any movement beyond the curvature shows.
        course = Course(node, at, sign * curve * at**2, np.full(100, 1e-2))
        assert not moved(course, curve, none).any()
        bent = replace(course, value=course.value + sign * 20.0 * curve * np.maximum(at - at[50], 0.0) * 100e9)
        assert moved(bent, curve, none)[45:55].any()


def test_between_two_nodes_a_steered_clock_may_have_been_set() -> None:
    nodes, limits = np.array([0.0, 1e9]), np.array([1e3, 1e6])
    at = np.array([0.0, 0.25e9, 1e9])
    found = limits_between(at, nodes, limits, np.array([np.inf]))
    for value, before in zip(found, at, strict=True):
        assert value >= limits[0] + STEERED_RATE * before
        assert value >= limits[1] + STEERED_RATE * (1e9 - before)
    assert found.max() <= limits.max() + STEERED_RATE * 1e9


def test_what_ends_show_beyond_noise_is_in_the_expected_error() -> None:
    count = 30
    nodes = np.linspace(0.0, 29e9, count)
    away = np.where(np.abs(nodes - 15e9) < 4.5e9, 400.0, 0.0)  # from the line, ns
    course = Course(np.arange(count), nodes, away, np.full(count, 20.0))
    nothing = np.zeros((2, count))
    steering = Steering(
        {1: course}, {1: nothing[1] > 0}, ((), ()), nothing[:, 1:], nothing > 0, (nodes[:0], nodes[:0]), ()
    )
    found = widened(np.full((2, count), 10.0), nothing, nodes, steering)[1]
    assert found[15] == pytest.approx(np.hypot(400.0, 10.0), rel=0.01)
    assert found[[2, -2]] == pytest.approx(10.0)
