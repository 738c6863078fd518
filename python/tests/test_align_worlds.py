"""Clocks against worlds that are drawn: no bound is broken, and errors are as expected."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from align_worlds import DAY, Run, World, files_apart, some_world
from downbeat.align.calls import MOST_RATE
from downbeat.align.clocks import Aligned, align, to_json
from downbeat.align.placing import place
from downbeat.errors import UsageError

WANDER = 2e-9
DRAWN = int(os.environ.get("DOWNBEAT_ALIGN_WORLDS", "64"))  # more at night
# Two of three worlds have files that begin apart, without sequence numbers.
ONCE, TWICE = (0.60, 0.76), (0.90, 0.98)


def drawn(seed: int) -> tuple[Run, World]:
    random = np.random.default_rng(seed)
    world = some_world(random, 8 if seed % 3 else 24)
    world = replace(world, steps=min(world.steps, 200))
    return Run(seed, files_apart(random, world) if seed % 3 else world), world


def test_no_bound_is_broken_and_errors_are_as_expected() -> None:
    within, known = [], 0
    for seed in range(DRAWN):
        run, world = drawn(seed)
        aligned = align(run.traces, WANDER)
        error, bound, expected = run.errors(aligned)
        assert (np.abs(error) <= bound).all(), (seed, world)
        assert (np.abs(aligned.ranks["rate"].dropna()) <= MOST_RATE * (1 + 1e-6)).all(), (seed, world)
        for axis in aligned.axes:
            slopes = np.diff(axis.offset, axis=1) / np.diff(axis.nodes)
            assert (np.abs(slopes[np.isfinite(slopes)]) <= MOST_RATE * (1 + 1e-3)).all(), (seed, world)
        some = np.isfinite(expected)
        known += bool(np.isfinite(bound).all())
        if some.any():
            within.append([np.mean(np.abs(error[some]) <= factor * expected[some]) for factor in (1, 2)])
    once, twice = np.mean(within, axis=0)
    margin = 1.0 / np.sqrt(DRAWN) / 2  # ranks of one world share the reference's errors
    assert ONCE[0] - margin <= once <= ONCE[1] + margin
    assert TWICE[0] - margin / 2 <= twice <= TWICE[1] + margin / 2
    assert known >= 0.75 * DRAWN


# What a world has, and whether the order of calls can be told.
APART = (
    (
        World(
            steps=60,
            op=900e3,
            think=2.5e6,
            late=100e3,
            ends=26e3,
            ends_are="uniform",
            files=((0, 50),) * 2 + ((2, 52),),
        ),
        True,
    ),
    (World(steps=40, per=3, think=1.5e6, late=300e3, files=((0, 36), (0, 36), (1, 37))), True),
    (World(steps=200, op=20e6, think=180e6, late=1.5e6, uneven=0, ends=500e3, files=((0, 195), (3, 198))), True),
    (World(steps=200, gaps=((1, 80, 90),)), True),
    (World(steps=100, per=3, lacks=((2, 1),)), True),
    (World(steps=100, per=3, lacks=((1, 2),), gaps=((1, 50, 60),), files=((0, 90), (5, 100))), True),
    (World(steps=300, files=((0, 280), (20, 300), (7, 295)), rate=MOST_RATE, apart=3 * DAY), True),
    (World(steps=200, files=((0, 190), (0, 200), (10, 200)), sequence=(1,)), True),
    (World(steps=100, uneven=0, late=100, ends=50e3, files=((0, 90), (1, 91))), False),
    (World(steps=30, uneven=0, late=10, ends=10e3, ends_are="exponential", files=((0, 28), (1, 30))), False),
)


@pytest.mark.parametrize(("world", "told"), APART)
@pytest.mark.parametrize("seed", range(3))
def test_files_that_begin_apart(world: World, told: bool, seed: int) -> None:
    world = replace(world, sequence=world.sequence or ())
    run = Run(seed, world)
    aligned = align(run.traces, WANDER)
    error, bound, expected = run.errors(aligned)
    assert (np.abs(error) <= bound).all()
    if told:
        assert aligned.whole
        assert (np.abs(error) <= 6 * expected).all()
    else:
        moved = len(world.files)
        assert np.isinf(aligned.correct(1, run.traces[1].calls[0].entry)[1]).all(), moved


def test_files_that_have_no_call_in_common_have_no_bound() -> None:
    for seed in range(12):
        world = replace(some_world(np.random.default_rng(seed), 2), ranks=2, always=(0, 0.0), pauses=(), sequence=())
        half = min(world.steps, 200) // 2
        run = Run(seed, replace(world, steps=2 * half, files=((0, half), (half, 2 * half))))
        assert place(run.traces[0].calls[0], run.traces[1].calls[0]) is None


def test_a_call_between_dense_stretches() -> None:
    world = World(ranks=2, steps=101, think=10e6, late=50e3, rate=0.0, ends=1e3, pauses=((50, 30e9), (51, 30e9)))
    for seed in range(5):
        run = Run(seed, world)
        # The second rank comes to the lone call two seconds late.
        calls = [trace.calls[0] for trace in run.traces]
        after = np.where(np.arange(101) >= 50, 2_000_000_000, 0)
        before = np.where(np.arange(101) > 50, 2_000_000_000, 0)
        moved = [
            replace(one, entry=one.entry + late, exit=one.exit + after)
            for one, late in zip(calls, (before, after), strict=True)
        ]
        aligned = align([replace(trace, calls=(one,)) for trace, one in zip(run.traces, moved, strict=True)], WANDER)
        row = aligned.ranks.iloc[1]
        offset = run.offset[1] - run.offset[0]
        assert abs(row["offset_s"] * 1e9 - offset) <= 4 * row["expected_error_s"] * 1e9
        assert row["expected_error_s"] < 5e-6
        assert abs(row["offset_s"] * 1e9 - offset) <= row["bound_s"] * 1e9 < 1e6


def test_what_a_row_says_is_at_one_instant() -> None:
    run = Run(3, World(ranks=3, steps=200, rate=MOST_RATE, pauses=((100, 100e9),)))
    aligned = align(run.traces, WANDER)
    for rank in (1, 2):
        row, times = aligned.ranks.iloc[rank], np.sort(run.traces[rank].calls[0].entry)
        at = times[:1] + round(row["at_s"] * 1e9)
        moved, bound, expected = aligned.correct(rank, at)
        assert row["offset_s"] * 1e9 == pytest.approx(int(at[0] - moved[0]), abs=1)
        assert row["bound_s"] * 1e9 == pytest.approx(bound[0])
        assert row["expected_error_s"] * 1e9 == pytest.approx(expected[0])
        assert row["largest_bound_s"] >= row["bound_s"]
        assert "NaN" not in to_json(aligned)


def set_clock(run: Run, rank: int) -> Aligned:
    """Returns what is said if a clock was set by 10 ms in the middle."""
    calls = run.traces[rank].calls[0]
    step = np.where(np.arange(len(calls.entry)) >= len(calls.entry) // 2, 10_000_000, 0)
    traces = list(run.traces)
    traces[rank] = replace(traces[rank], calls=(replace(calls, entry=calls.entry + step, exit=calls.exit + step),))
    return align(traces, WANDER)


@pytest.mark.parametrize("rank", range(4))
def test_a_clock_that_was_set_leaves_nobody_a_bound_who_needs_it(rank: int) -> None:
    run = Run(1, World(ranks=4, steps=400, think=20e6))
    aligned = set_clock(run, rank)
    assert [int(aligned.axes[0].ranks[one.place]) for one in aligned.axes[0].conflicts] == [rank]
    for other in range(1, 4):
        bound = aligned.correct(other, run.traces[other].calls[0].entry)[1]
        torn = np.isinf(bound[195:205]).any()
        assert torn == (rank in (0, other))  # the first rank's clock is everybody's axis
        assert np.isfinite(bound[[0, -1]]).all()


def test_bounds_grow_away_from_the_calls() -> None:
    run = Run(2, World(ranks=2, steps=50))
    aligned = align(run.traces, WANDER)
    last = int(run.traces[1].calls[0].exit[-1])
    bound = aligned.correct(1, np.array([last, last + 10**9, last + 2 * 10**9]))[1]
    slope = np.diff(bound)
    assert (slope >= MOST_RATE * 1e9).all()
    assert (slope <= 2 * MOST_RATE * 1e9 + 1).all()
    before = int(run.traces[1].calls[0].entry[0])
    assert aligned.correct(1, np.array([before - 10**9]))[1][0] - bound[0] >= 0.9 * MOST_RATE * 1e9


@pytest.mark.parametrize("late", [0, 2])
def test_who_always_comes_late_is_told_by_the_time_in_calls(late: int) -> None:
    run = Run(4, World(ranks=4, op=445e3, late=5e3, always=(late, 1.5e6)))
    (line,) = [note for note in align(run.traces, WANDER).notes if "leave together" in note]
    assert f"rank {late} " in line
    spent = run.exit - run.entry
    for number in (np.median(spent[:, late]), np.median(np.delete(spent, late, axis=1))):
        assert f"{number / 1e3:,.4g}" in line
    assert not [note for note in align(Run(4, World(ranks=4)).traces, WANDER).notes if "leave together" in note]


def test_a_group_is_its_name_and_its_ranks() -> None:
    run = Run(5, World(ranks=4, steps=60))
    halves = [
        replace(trace, calls=(replace(trace.calls[0], group="1", ranks=(0, 1) if trace.rank < 2 else (2, 3)),))
        for trace in run.traces
    ]
    apart = align(halves, WANDER)
    assert [axis.ranks.tolist() for axis in apart.axes] == [[0, 1], [2, 3]]
    assert apart.ranks["bound_s"].notna().all()
    both = [replace(one, calls=(*one.calls, *trace.calls)) for one, trace in zip(halves, run.traces, strict=True)]
    aligned = align(both, WANDER)
    assert aligned.whole
    assert len(aligned.groups) == 3
    # A trace that does not say the ranks is of the one group of that name it can be of.
    silent = replace(halves[1], calls=(replace(halves[1].calls[0], ranks=()),))
    assert align([halves[0], silent], WANDER).whole


def test_a_program_without_an_order_of_calls_is_refused_or_has_no_bound() -> None:
    run = Run(6, World(ranks=2, steps=1))
    with pytest.raises(UsageError):
        align(run.traces[:1], WANDER)
