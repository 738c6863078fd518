"""Clocks against worlds that are drawn: no bound is broken, and errors are as expected."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from align_worlds import DAY, EPOCH, Run, World, files_apart, some_world
from downbeat.align.bounds import limits_between, reach
from downbeat.align.call_order import agreed, contradicted, doubtful, match_by_order
from downbeat.align.calls import MAX_RATE
from downbeat.align.clocks import Aligned, align_traces, calls_of
from downbeat.align.matching import Floats
from downbeat.errors import UsageError
from downbeat.output.blocks import Line
from downbeat.output.facts.alignment import ClockMoved, LastOrClockOff
from downbeat.output.facts.trace import WaitingForLateRanks
from downbeat.output.records import plain
from downbeat.views.alignment import alignment_view

WANDER = 2e-9
# Two of three worlds have files that begin apart, without sequence numbers.
ONCE, TWICE = (0.60, 0.76), (0.90, 0.98)


def drawn(seed: int) -> tuple[Run, World]:
    random = np.random.default_rng(seed)
    world = some_world(random, 8 if seed % 3 else 24)
    world = replace(world, steps=min(world.steps, 200))
    return Run(seed, files_apart(random, world) if seed % 3 else world), world


def steepest(aligned: Aligned) -> float:
    slopes = np.concatenate([(np.diff(axis.offset, axis=1) / np.diff(axis.nodes)).ravel() for axis in aligned.axes])
    return float(np.abs(slopes[np.isfinite(slopes)]).max())


def wrong_rates(run: Run, aligned: Aligned) -> list[float]:
    """Returns the error of each rate that is shown, in standard errors."""
    found = []
    for row in aligned.ranks.frame()[aligned.ranks.frame()["rate"].notna()].iloc[1:].to_dict("records"):
        rank, axis = int(row["rank"]), int(row["axis"])
        times = np.concatenate([calls_of(group, rank) for group in aligned.groups])
        entry, there = run.traces[rank].calls[0].entry, run.there[:, rank]
        ends = run.entry[there, rank][np.searchsorted(entry, [times.min(), times.max()])]
        true = np.diff(run.clock(rank, ends))[0] / np.diff(run.clock(axis, ends))[0] - 1.0
        found.append(abs(float(row["rate"]) - true) / float(row["rate_error"]))
    return found


@pytest.mark.parametrize(
    "count", [24, pytest.param(96, marks=pytest.mark.thorough), pytest.param(600, marks=pytest.mark.nightly)]
)
def test_no_bound_is_broken_and_errors_are_as_expected(count: int) -> None:
    within, rates, known = [], [], 0
    for seed in range(count):
        run, world = drawn(seed)
        aligned = align_traces(run.traces, WANDER)
        error, bound, expected = run.errors(aligned)
        assert (np.abs(error) <= bound).all(), (seed, world)
        assert (np.abs(aligned.ranks.frame()["rate"].dropna()) <= MAX_RATE * (1 + 1e-3)).all(), (seed, world)
        assert steepest(aligned) <= MAX_RATE * (1 + 1e-3), (seed, world)
        rate, rate_error = (aligned.ranks.frame()[name].to_numpy(dtype=float) for name in ("rate", "rate_error"))
        shown = np.isfinite(rate)
        assert (np.abs(rate[shown]) >= np.where(rate_error[shown] > 1e-6, 5 * rate_error[shown], 0)).all()
        rates += wrong_rates(run, aligned)
        some = np.isfinite(expected)
        known += bool(np.isfinite(bound).all())
        if some.any():
            within.append([np.mean(np.abs(error[some]) <= factor * expected[some]) for factor in (1, 2)])
    once, twice = np.mean(within, axis=0)
    margin = 1.0 / np.sqrt(count) / 2  # ranks of one world share the reference's errors
    assert ONCE[0] - margin <= once <= ONCE[1] + margin
    assert TWICE[0] - margin / 2 <= twice <= TWICE[1] + margin / 2
    assert np.mean(np.array(rates) <= 2.0) >= TWICE[0] - margin / 2
    assert known >= 0.75 * count


# So long that the square of 75 ppm is far more than the error; and so short that a clock is a line.
@pytest.mark.parametrize(
    "world",
    [
        pytest.param(World(ranks=2, steps=400, think=5e9, late=1e6, rate=150e-6), marks=pytest.mark.thorough),
        World(ranks=2, op=20e3, late=30e3, ends=300, rate=150e-6),
    ],
)
def test_rates_are_as_wrong_as_expected(world: World) -> None:
    runs = [Run(seed, world) for seed in range(40)]
    wrong = np.concatenate([wrong_rates(run, align_traces(run.traces, WANDER)) for run in runs])
    assert len(wrong) >= 30
    assert 0.5 <= np.sqrt(np.mean(wrong**2)) <= 1.2


@pytest.mark.parametrize("think", [1e9, 3e10, 1e11, 3e11])
def test_errors_are_as_expected_though_calls_are_minutes_apart(think: float) -> None:
    within = []
    for seed in range(24):
        run = Run(seed, World(ranks=4, steps=60, think=think, late=1e6, rate=50e-6))
        error, bound, expected = run.errors(align_traces(run.traces, WANDER))
        assert (np.abs(error) <= bound).all(), seed
        within.append([np.mean(np.abs(error) <= factor * expected) for factor in (1, 2)])
    once, twice = np.mean(within, axis=0)
    assert ONCE[0] - 0.06 <= once <= ONCE[1] + 0.06
    assert twice >= TWICE[0]


def test_a_rank_that_has_no_call_of_another_one_is_alone() -> None:
    for lone in range(3):
        files = tuple((0, 40) if rank == lone else (50, 100) for rank in range(3))
        run = Run(lone, World(ranks=3, files=files))
        aligned = align_traces(run.traces, WANDER)
        assert aligned.ranks.frame()["bound_s"].isna().tolist() == [rank == lone for rank in range(3)]
        assert aligned.ranks.frame()["calls"].tolist() == [0 if rank == lone else 50 for rank in range(3)]
        error, bound, _ = run.errors(aligned)
        assert (np.abs(error) <= bound).all()


# Properties of a world, and whether its calls show their order.
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
    (World(steps=300, files=((0, 280), (20, 300), (7, 295)), rate=MAX_RATE, apart=3 * DAY), True),
    (World(steps=200, files=((0, 190), (0, 200), (10, 200)), sequence=(1,)), True),
    (World(steps=100, uneven=0, late=100, ends=50e3, files=((0, 90), (1, 91))), False),
    (World(steps=30, uneven=0, late=10, ends=10e3, ends_are="exponential", files=((0, 28), (1, 30))), False),
)


@pytest.mark.parametrize(("world", "told"), APART)
@pytest.mark.parametrize("seed", range(3))
def test_files_that_begin_apart(world: World, told: bool, seed: int) -> None:
    world = replace(world, sequence=world.sequence or ())
    run = Run(seed, world)
    aligned = align_traces(run.traces, WANDER)
    error, bound, expected = run.errors(aligned)
    assert (np.abs(error) <= bound).all()
    if told:
        assert aligned.whole
        assert (np.abs(error) <= 6 * expected).all()
    else:
        moved = len(world.files)
        assert np.isinf(aligned.correct(1, run.traces[1].calls[0].entry)[1]).all(), moved


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_a_clock_without_a_bound_keeps_its_rate_within_the_limit(ranks: int) -> None:
    # A file lacks a call, and nothing shows that: all later ends are one step apart.
    world = World(ranks=ranks, steps=200, op=60e3, think=700e3, late=7e3, uneven=0.01, ends=16e3, sequence=())
    for seed in range(3):
        for at in (60, 142):
            files, gaps = ((0, 198), (5, 198)), ((1, at, at + 1),)
            aligned = align_traces(Run(seed, replace(world, files=files, gaps=gaps)).traces, WANDER)
            assert not aligned.whole
            assert steepest(aligned) <= MAX_RATE * (1 + 1e-3)


def test_files_that_have_no_call_in_common_have_no_bound() -> None:
    for seed in range(24):
        world = replace(some_world(np.random.default_rng(seed), 2), ranks=2, always=(0, 0.0), pauses=(), sequence=())
        half = min(world.steps, 200) // 2
        run = Run(seed, replace(world, steps=2 * half, files=((0, half), (half, 2 * half))))
        assert match_by_order(run.traces[0].calls[0], run.traces[1].calls[0]) is None


def test_a_few_calls_are_placed_rightly_or_not_at_all() -> None:
    placed = 0
    for seed in range(150):
        random = np.random.default_rng(seed)
        calls = int(random.integers(1, 12))
        shift, late = int(random.integers(0, calls // 2 + 1)), 10 ** random.uniform(4, 7)
        world = World(ranks=2, steps=30, late=late, files=((0, calls), (shift, shift + calls)), sequence=())
        row = match_by_order(*(trace.calls[0] for trace in Run(seed, world).traces))
        if row is not None:
            assert calls > 1, seed
            known = np.flatnonzero(row >= 0)
            assert (row[known] == known + shift).all(), seed
            placed += 1
    assert placed >= 30


def test_a_rank_whose_calls_the_first_one_lacks_is_told_apart() -> None:
    run = Run(1, World(ranks=3, steps=100, files=((0, 50), (0, 100), (50, 100)), sequence=(0,)))
    aligned = align_traces(run.traces, WANDER)
    assert np.isfinite(aligned.ranks.frame()["bound_s"].to_numpy()).tolist() == [True, True, False]
    assert (np.abs(run.errors(aligned)[0]) <= run.errors(aligned)[1]).all()


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
        aligned = align_traces(
            [replace(trace, calls=(one,)) for trace, one in zip(run.traces, moved, strict=True)], WANDER
        )
        row = aligned.ranks.frame().iloc[1]
        offset = run.offset[1] - run.offset[0]
        assert abs(row["offset_s"] * 1e9 - offset) <= 4 * row["expected_error_s"] * 1e9
        assert row["expected_error_s"] < 5e-6
        assert abs(row["offset_s"] * 1e9 - offset) <= row["bound_s"] * 1e9 < 1e6


def test_what_a_row_says_is_at_one_instant() -> None:
    run = Run(3, World(ranks=3, steps=200, rate=MAX_RATE, pauses=((100, 100e9),)))
    aligned = align_traces(run.traces, WANDER)
    for rank in (1, 2):
        row, times = aligned.ranks.frame().iloc[rank], np.sort(run.traces[rank].calls[0].entry)
        at = times[:1] + round(row["at_s"] * 1e9)
        moved, bound, expected = aligned.correct(rank, at)
        assert row["offset_s"] * 1e9 == pytest.approx(int(at[0] - moved[0]), abs=1)
        assert row["bound_s"] * 1e9 == pytest.approx(bound[0])
        assert row["expected_error_s"] * 1e9 == pytest.approx(expected[0])
        assert row["largest_bound_s"] >= row["bound_s"]
        assert "NaN" not in json.dumps(plain(alignment_view(aligned).record))


def set_clock(run: Run, rank: int, steered: bool = False) -> Aligned:
    """Returns what is said if a clock was set by 10 ms in the middle."""
    calls = run.traces[rank].calls[0]
    step = np.where(np.arange(len(calls.entry)) >= len(calls.entry) // 2, 10_000_000, 0)
    traces = list(run.traces)
    traces[rank] = replace(traces[rank], calls=(replace(calls, entry=calls.entry + step, exit=calls.exit + step),))
    return align_traces(traces, WANDER, steered)


@pytest.mark.parametrize("rank", range(4))
def test_a_clock_that_was_set_leaves_nobody_a_bound_who_needs_it(rank: int) -> None:
    run = Run(1, World(ranks=4, steps=400, think=20e6))
    aligned = set_clock(run, rank)
    assert [int(aligned.axes[0].ranks[one.rank_index]) for one in aligned.axes[0].conflicts] == [rank]
    for other in range(1, 4):
        moved, bound, expected = aligned.correct(other, run.traces[other].calls[0].entry)
        error = (moved - EPOCH - run.clock(0, run.entry[:, other]))[:190]
        assert (np.abs(error) <= 4 * expected[:190]).all()  # what came later takes nothing from it
        torn = np.isinf(bound[195:205]).any()
        assert torn == (rank in (0, other))  # the first rank's clock is everybody's axis
        assert np.isfinite(bound[[0, -1]]).all()


@pytest.mark.parametrize("rank", range(1, 4))
def test_a_movement_has_no_bound_where_the_axis_is_torn(rank: int) -> None:
    run = Run(1, World(ranks=4, steps=400, think=20e6))
    aligned = set_clock(run, rank, steered=True)
    (movement,) = (fact for fact in aligned.notes if isinstance(fact, ClockMoved))
    assert (movement.rank, round(movement.by_s, 3), movement.torn) == (rank, 0.01, True)


def test_stamps_of_a_coarse_clock_may_be_early_or_late() -> None:
    run = Run(3, World(ranks=2, steps=300, op=20, think=3e6, late=1e6, ends=2, rate=20e-6))
    stamp = 100_000  # ns; entries of the second rank are shown late, its exits early
    calls = run.traces[1].calls[0]
    coarse = replace(calls, entry=-(-calls.entry // stamp) * stamp, exit=calls.exit // stamp * stamp)
    aligned = align_traces([run.traces[0], replace(run.traces[1], calls=(coarse,))], WANDER)
    assert aligned.whole
    moved, bound, expected = aligned.correct(1, coarse.entry)
    error = np.abs((moved - EPOCH).astype(float) - run.clock(0, run.entry[:, 1]))
    assert (error <= bound).all()
    assert error.max() > 0.9 * stamp
    assert ONCE[0] - 0.1 <= np.mean(error <= expected) <= ONCE[1] + 0.1
    assert np.mean(error <= 2 * expected) >= TWICE[0]


def test_limits_reach_as_far_as_a_clock_can_bend() -> None:
    curve = 2e-18  # 1/ns: by 2e-9 per s
    for seed in range(20):
        random = np.random.default_rng(seed)
        at = np.sort(random.uniform(0.0, 600e9, 40))
        nodes = np.linspace(at[0], at[-1], 25)
        rate, middle = random.choice([-1.0, 1.0]) * (MAX_RATE - 3e-6), random.uniform(0.0, 600e9)
        for bend in (-1.0, random.uniform(-1.0, 1.0), 1.0):

            def clock(when: Floats, rate: float = rate, middle: float = middle, bend: float = bend) -> Floats:
                return rate * when + bend * curve * (when - middle) ** 2

            found = reach(at, clock(at), nodes, curve) - clock(nodes)
            assert found.min() >= -1e-3
            assert (limits_between(at, nodes, clock(nodes), curve) - clock(at)).min() >= -1e-3
            # The clock that bends away as fast as it may runs along its limits.
            assert found.max() <= 1e-3 or bend > -1.0
        assert found.max() > 1.0


def test_some_late_ends_alike_do_not_place_files_that_have_nothing_in_common() -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        a, b = (np.arange(100) * 1e6 + random.normal(0.0, 1e3, 100) for _ in range(2))
        a[[30, 55]] += 40e3
        b[[26, 51]] += 40e3
        for other in (*range(-20, 4), *range(5, 20)):
            assert agreed(a, b, np.array([4, other])) is None, (seed, other)


def test_true_calls_contradict_no_clock_that_is_as_fast_as_it_may_be() -> None:
    for seed in range(6):
        run = Run(seed, World(ranks=2, op=20e3, think=1e6, late=1e9, ends=100))
        for rate in (-MAX_RATE, MAX_RATE):
            entry, end = run.entry * (1.0, 1.0 + rate), run.exit * (1.0, 1.0 + rate)
            assert not contradicted(end[:, 0], end[:, 1], entry[:, 0], entry[:, 1], 0)
            assert contradicted(end[:, 0], end[:, 1], entry[:, 0], entry[:, 1], 1)


def test_a_block_that_is_shifted_is_doubtful() -> None:
    random = np.random.default_rng(1)
    a = np.cumsum(random.uniform(0.9e6, 1.1e6, 170))
    b, right = a[4:164] + random.normal(0.0, 1e3, 160), np.arange(4, 164)
    assert not doubtful(a, b, right).any()
    right[80:96] += 1
    assert np.flatnonzero(doubtful(a, b, right)).tolist() == list(range(80, 96))


def test_ends_that_scatter_together_are_in_the_expected_error() -> None:
    within = []
    for seed in range(24):
        run = Run(seed, World(ranks=2, steps=600, ends=1e3))
        random, path = np.random.default_rng(seed), np.zeros(600)
        for call in range(1, 600):
            path[call] = 0.7 * path[call - 1] + 2e3 * random.normal()
        calls = run.traces[1].calls[0]
        slow = replace(calls, exit=calls.exit + np.rint(path + 20e3).astype(np.int64), entry=calls.entry + 20_000)
        moved, _, expected = align_traces([run.traces[0], replace(run.traces[1], calls=(slow,))], WANDER).correct(
            1, slow.entry
        )
        error = np.abs((moved - EPOCH).astype(float) - run.clock(0, run.entry[:, 1]))
        within.append(np.mean(error <= 2 * expected))
    assert np.mean(within) >= TWICE[0] - 0.1


def test_bounds_grow_away_from_the_calls() -> None:
    run = Run(2, World(ranks=2, steps=50))
    aligned = align_traces(run.traces, WANDER)
    last = int(run.traces[1].calls[0].exit[-1])
    bound = aligned.correct(1, np.array([last, last + 10**9, last + 2 * 10**9]))[1]
    slope = np.diff(bound)
    assert (slope >= MAX_RATE * 1e9).all()
    assert (slope <= 2 * MAX_RATE * 1e9 + 1).all()
    before = int(run.traces[1].calls[0].entry[0])
    assert aligned.correct(1, np.array([before - 10**9]))[1][0] - bound[0] >= 0.9 * MAX_RATE * 1e9


@pytest.mark.parametrize("late", [0, 2])
def test_who_always_comes_late_is_told_by_the_time_in_calls(late: int) -> None:
    run = Run(4, World(ranks=4, op=445e3, late=5e3, always=(late, 1.5e6)))
    (fact,) = [note for note in align_traces(run.traces, WANDER).notes if isinstance(note, LastOrClockOff)]
    assert fact.rank == late
    spent = (run.exit - run.entry) * 1e-9
    medians = np.median(spent[:, late]), np.median(np.delete(spent, late, axis=1))
    assert (fact.time_s, fact.others_s) == pytest.approx(medians, rel=5e-5)
    even = align_traces(Run(4, World(ranks=4)).traces, WANDER)
    assert not [note for note in even.notes if isinstance(note, LastOrClockOff)]


def test_a_rank_that_is_always_late_is_late_only_if_its_clock_is_right() -> None:
    """Limits on the clocks do not tell whether rank 2 always comes last or its clock is off: the verdict says so."""
    late = 2
    run = Run(4, World(ranks=4, op=445e3, late=5e3, always=(late, 1.5e6)))
    aligned = align_traces(run.traces, WANDER)
    lead = [block.content for block in alignment_view(aligned).blocks if isinstance(block, Line)][:2]
    verdict, caveat = lead
    assert isinstance(verdict, WaitingForLateRanks)
    assert ([rank.rank for rank in verdict.late], verdict.doubtful) == ([late], (late,))
    assert isinstance(caveat, LastOrClockOff)


def test_a_group_is_its_name_and_its_ranks() -> None:
    run = Run(5, World(ranks=4, steps=60))
    halves = [
        replace(trace, calls=(replace(trace.calls[0], group="1", ranks=(0, 1) if trace.rank < 2 else (2, 3)),))
        for trace in run.traces
    ]
    apart = align_traces(halves, WANDER)
    assert [axis.ranks.tolist() for axis in apart.axes] == [[0, 1], [2, 3]]
    assert apart.ranks.frame()["bound_s"].notna().all()
    both = [replace(one, calls=(*one.calls, *trace.calls)) for one, trace in zip(halves, run.traces, strict=True)]
    aligned = align_traces(both, WANDER)
    assert aligned.whole
    assert len(aligned.groups) == 3
    # A trace that does not say the ranks is of the one group of that name it can be of.
    silent = replace(halves[1], calls=(replace(halves[1].calls[0], ranks=()),))
    assert align_traces([halves[0], silent], WANDER).whole


def test_a_program_without_an_order_of_calls_is_refused_or_has_no_bound() -> None:
    run = Run(6, World(ranks=2, steps=1))
    with pytest.raises(UsageError):
        align_traces(run.traces[:1], WANDER)
