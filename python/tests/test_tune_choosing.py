"""Choices from made-up launches whose truth is known."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from downbeat.data.cells import Cells
from downbeat.data.metrics import METRICS
from downbeat.output.fields import BARRIER
from downbeat.run.plan import Library
from downbeat.tune.choosing import (
    OtherChoice,
    choose,
    compare_choices,
    find_left_out,
    kinds_of_choice,
    other_choices,
    price_plans,
    wrong_results,
)
from downbeat.tune.open_mpi import OpenMpiRules
from downbeat.tune.proving import compare_cells, compare_rules, kinds_of_gain, lost_cells, rules_name
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.sweep import Effort, LaunchMedians
from downbeat.tune.target import Target
from scipy import stats

from tests.statistics import kinds
from tests.statistics.choices import EQUAL, false_rules, gain_holds, prices

CELL = Cell("bcast", 4, 8)
ALGORITHMS = {"bcast": ["a", "b", "c"], "reduce": ["c", "d"]}
TARGET = Target(Library("openmpi", "bench"), "Open MPI v4.1.4", ALGORITHMS, OpenMpiRules(4, ALGORITHMS, {}))
EFFORT = Effort(10, 100, 600, 0, "latency_avg")
MARGIN = 0.05
CONFIDENCE = 0.95
NOISE = 0.01  # deviation of a launch's median, as a share
DRIFT = 0.2  # from launch to launch, the same for all that is measured in one


def launches(
    times: dict[str, float],
    size: int = 8,
    synchronizer: str = "harmonize",
    count: int = 10,
    seed: int = 1,
    pattern: str = "none",
) -> LaunchMedians:
    """Makes launches of a broadcast on 4 ranks: algorithm -> true time."""
    random = np.random.default_rng([seed, size, len(synchronizer)])
    drift = np.exp(DRIFT * random.standard_normal(count))
    rows = [
        ("bcast", 4, size, name, synchronizer, pattern, number, "ok", time * factor, 0.0)
        for name, time in times.items()
        for number, factor in enumerate(drift * np.exp(NOISE * random.standard_normal(count)), 1)
    ]
    return LaunchMedians.of_tuples(rows)


def cells_of(medians: LaunchMedians, **columns: float) -> Cells:
    """The cells of an experiment with these medians of every metric that tests use."""
    frame = medians.frame().rename(columns={"collective": "operation"}).assign(environment="default", **columns)
    frame = frame.assign(latency_avg_median=medians.value, makespan_median=medians.value)
    frame = frame.assign(datatype="byte", barrier_algorithm="default", timing="per_call")
    return Cells.of(frame.assign(largest_delay=0.0, computation=0.0))


def chosen(medians: LaunchMedians, margin: float = MARGIN) -> str:
    (decision,) = choose(medians, {}, margin, CONFIDENCE)
    return decision.algorithm


def test_the_fastest_of_those_that_are_better_by_the_margin_is_chosen() -> None:
    medians = launches({DEFAULT: 10, "slow": 12, "good": 8, "best": 7})
    (decision,) = choose(medians, {}, MARGIN, CONFIDENCE)
    assert decision.cell == Cell("bcast", 4, 8)
    assert decision.algorithm == "best"
    assert [one.algorithm for one in decision.candidates] == ["best", "good", "slow"]
    reasons = [one.rejected.split(":")[0] for one in decision.candidates]
    assert [reason.split(",")[0] for reason in reasons] == ["", "faster", "slower"] and "best" in reasons[1]
    best = decision.candidates[0].comparison
    assert best is not None
    # The drift of 20 % from launch to launch is in both and cancels.
    assert best.ratio.low < 0.7 < best.ratio.high
    assert best.ratio.high - best.ratio.low < 0.04
    assert best.ratio.count == 10


def test_a_gain_below_the_margin_is_no_rule() -> None:
    medians = launches({DEFAULT: 10, "hardly": 9.7})
    assert chosen(medians) == DEFAULT
    assert chosen(medians, margin=0.02) == "hardly"


def test_four_launches_choose_nothing() -> None:
    assert chosen(launches({DEFAULT: 10, "best": 5}, count=4)) == DEFAULT
    assert chosen(launches({DEFAULT: 10, "best": 5}, count=5)) == "best"


@pytest.mark.parametrize("synchronizer", ["harmonize", "mpi_barrier"])
def test_what_computed_wrong_results_once_is_chosen_at_no_size(synchronizer: str) -> None:
    times = {DEFAULT: 10.0, "good": 8.0, "wrong": 5.0}
    both = ("harmonize", "mpi_barrier")
    medians = LaunchMedians.joined([launches(times, size, sync) for size in (8, 16) for sync in both])
    once = (medians.size == 16) & (medians.synchronizer == synchronizer) & (medians.launch == 7)
    medians.status[once & (medians.algorithm == "wrong")] = "wrong"
    wrong = wrong_results(medians)
    assert wrong == {("bcast", 4, "wrong"): [16]}
    decisions = choose(medians[medians.synchronizer == "harmonize"], wrong, MARGIN, CONFIDENCE)
    assert [decision.algorithm for decision in decisions] == ["good", "good"]
    assert [re.findall(r"\d+", decision.candidates[0].rejected) for decision in decisions] == [["16"]] * 2
    assert all("wrong" in decision.candidates[0].rejected for decision in decisions)


def test_cells_that_are_incomplete_count_nowhere() -> None:
    """The same rule as in `downbeat compare`: a launch without all its samples has no number for the cell."""
    medians = launches({DEFAULT: 10, "a": 5})
    assert chosen(medians) == "a"
    medians.status[(medians.algorithm == "a") & (medians.launch > 4)] = "incomplete"
    counted = LaunchMedians.of_cells(cells_of(medians), "latency_avg")
    assert chosen(counted) == DEFAULT
    (left,) = find_left_out("sweep", counted)
    launches_left = "launches 5, 6, 7, 8, 9, 10"
    assert left.status == "incomplete"
    assert [each.rpartition(": ")[2] for each in left.cells] == [launches_left]
    # A cell may have several rows of a launch: one for each reading of its samples.
    again = LaunchMedians.joined([counted, counted])
    again = again.replaced(size=np.full(len(again), 1 << 20))
    assert [each.split()[2] for each in find_left_out("sweep", again)[0].cells] == ["1M"]

    ruled = counted.replaced(algorithm=np.where(counted.algorithm == "a", "rules", DEFAULT))
    assert compare_cells(ruled, MARGIN, CONFIDENCE)[CELL].launches == (4, 4)
    assert lost_cells(ruled) == []


def test_what_was_not_measured_beside_the_default_is_not_chosen() -> None:
    medians = launches({DEFAULT: 10, "gone": 5})
    medians.value[medians.algorithm == "gone"] = np.nan
    (decision,) = choose(medians, {}, MARGIN, CONFIDENCE)
    assert decision.algorithm == DEFAULT
    assert decision.candidates[0].comparison is None


@pytest.mark.thorough
def test_among_many_algorithms_that_are_the_default_none_is_chosen() -> None:
    """Without the correction for their number, some of 6 algorithms in 8 cells would be by chance."""
    assert false_rules(np.random.default_rng(1), 20) <= 0.05


def test_where_the_barrier_would_have_chosen_otherwise_the_price_is_from_a_common_start_in_other_launches() -> None:
    medians = LaunchMedians.joined(
        [
            launches({DEFAULT: 10, "a": 7, "b": 8}),
            launches({DEFAULT: 10, "a": 12, "b": 6}, synchronizer="mpi_barrier"),
            launches({DEFAULT: 10, "a": 7}, size=16),
            launches({DEFAULT: 10, "a": 7}, size=16, synchronizer="mpi_barrier"),
        ]
    )
    decisions = choose(medians.decisive, {}, MARGIN, CONFIDENCE)
    (one,) = others = other_choices(medians.alternative, decisions, {}, MARGIN, CONFIDENCE)
    assert (one.cell, one.chosen, one.other) == (CELL, "a", "b")
    prices = compare_choices(launches({DEFAULT: 10, "a": 8, "b": 9}, seed=2), others, MARGIN, CONFIDENCE)
    assert prices.mean is not None
    assert prices.mean == prices.by_cell[CELL].ratio
    assert prices.mean.low < 9 / 8 < prices.mean.high
    assert prices.mean.estimate == pytest.approx(9 / 8, rel=0.02)
    assert prices.higher() == [CELL]


def test_the_mean_price_is_that_of_the_cells_that_each_launch_has() -> None:
    """Other over chosen, the geometric mean of a launch's cells; an incomplete cell has no part in its launch."""
    times = {8: ([2.0, 4.0, 8.0], [3.0, 2.0, 8.0]), 64: ([1.0, 5.0, 1.0], [4.0, 20.0, math.nan])}
    rows = [
        ("bcast", 4, size, name, "harmonize", "none", launch, "ok", value, 0.0)
        for size, both in times.items()
        for name, values in zip("ab", both, strict=True)
        for launch, value in enumerate(values, 1)
    ]
    others = [OtherChoice(Cell("bcast", 4, size), "a", "b") for size in (8, 64, 4096)]  # the last was not measured
    prices = compare_choices(LaunchMedians.of_tuples(rows), others, MARGIN, CONFIDENCE)
    by_size = {8: [3 / 2, 2 / 4, 8 / 8], 64: [4 / 1, 20 / 5]}
    assert {cell.size for cell in prices.by_cell} == set(by_size)
    for cell, found in prices.by_cell.items():
        logs = np.log(by_size[cell.size])
        half = stats.t.ppf(0.975, logs.size - 1) * stats.sem(logs) if np.ptp(logs) else 0.0
        assert (found.ratio.low, found.ratio.high) == pytest.approx(np.exp(logs.mean() + half * np.array([-1, 1])))
        assert found.ratio.estimate == pytest.approx(np.exp(kinds.pseudo_median(logs)))
    logs = np.log([(3 / 2 * 4) ** 0.5, (2 / 4 * 4) ** 0.5, 1.0])
    half = stats.t.ppf(0.975, 2) * stats.sem(logs)
    assert prices.mean is not None
    assert (prices.mean.low, prices.mean.high) == pytest.approx(np.exp(logs.mean() + half * np.array([-1, 1])))
    assert (prices.mean.estimate, prices.mean.count) == pytest.approx((np.exp(kinds.pseudo_median(logs)), 3))


@pytest.mark.thorough
def test_between_equal_algorithms_the_choice_after_a_barrier_has_no_price() -> None:
    """In the launches that both were chosen from, the choice made looks faster: it was chosen for that."""
    same, fresh = prices(np.random.default_rng(1), {DEFAULT: 1.25} | dict.fromkeys(EQUAL, 1.0), 1.0, 10)
    assert fresh.cells > 40  # of 80: any of six may be the luckiest
    assert min(same.means) > 0
    assert abs(np.mean(fresh.means)) < 4 * np.std(fresh.means) / len(fresh.means) ** 0.5
    assert fresh.any_higher == 0


def test_both_choices_are_measured_once_more_at_the_sizes_where_they_differ() -> None:
    others = [OtherChoice(Cell("bcast", ranks, size), "b", DEFAULT) for ranks, size in ((2, 8), (4, 8), (4, 64))]
    others.append(OtherChoice(Cell("reduce", 4, 8), "c", "d"))
    plans = price_plans(TARGET, others, EFFORT)
    assert [plan.name.rpartition("-")[0] for plan in plans] == ["bcast-n2", "bcast-n4", "reduce-n4"]
    assert [plan.measurement.options["sizes"] for plan in plans] == ["8", "8,64", "8"]
    assert [plan.measurement.options["algorithm"] for plan in plans][1:] == ["bcast=default,b", "reduce=default,c,d"]
    assert {plan.measurement.options["sync"] for plan in plans} == {"harmonize"}
    # Another choice is another experiment, with other launches.
    assert price_plans(TARGET, [OtherChoice(others[0].cell, "b", "c")], EFFORT)[0].name != plans[0].name


def test_without_samples_after_a_barrier_nothing_is_said_of_it() -> None:
    medians = launches({DEFAULT: 10, "a": 7})
    assert other_choices(medians.alternative, choose(medians, {}, MARGIN, CONFIDENCE), {}, MARGIN, CONFIDENCE) == []


def test_under_an_arrival_pattern_its_samples_decide_and_those_without_say_what_else_would_have_been_chosen() -> None:
    late = "one_late(rank=0)"
    medians = LaunchMedians.joined(
        [launches({DEFAULT: 10, "a": 7, "b": 8}), launches({DEFAULT: 10, "a": 12, "b": 6}, pattern=late, seed=3)]
    )
    (decision,) = choose(medians.decisive, {}, MARGIN, CONFIDENCE)
    assert decision.algorithm == "b"
    (one,) = others = other_choices(medians.alternative, [decision], {}, MARGIN, CONFIDENCE)
    assert (one.chosen, one.other) == ("b", "a")
    effort = dataclasses.replace(EFFORT, pattern=late, delay="50us")
    (plan,) = price_plans(TARGET, others, effort)
    assert plan.measurement.options.items() >= {"pattern": late, "delay": "50us", "sync": "harmonize"}.items()
    assert effort.synchronizers("bcast") == "harmonize"
    assert BARRIER in EFFORT.synchronizers("bcast")


def test_gain_pairs_launches_of_the_same_number_and_joins_the_sizes_of_a_rule() -> None:
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "rules": time}, size) for size, time in ((8, 8), (16, 5))])
    gains = compare_cells(medians, MARGIN, CONFIDENCE)
    assert {cell.size: one.verdict for cell, one in gains.items()} == {8: "faster", 16: "faster"}
    assert gains[Cell("bcast", 4, 8)].ratio.estimate == pytest.approx(0.8, rel=0.02)
    rules = [Rule("bcast", 4, 8, 16, "a"), Rule("bcast", 4, 16, 16, "a")]
    both, one = compare_rules(medians, rules, MARGIN, CONFIDENCE).values()
    assert both.ratio.estimate == pytest.approx((0.8 * 0.5) ** 0.5, rel=0.02)
    assert one.ratio.estimate == pytest.approx(0.5, rel=0.02)
    assert both.ratio.count == 10


def test_what_clocks_do_to_a_value_is_in_every_interval() -> None:
    """A fifth of the step of a latency, the error bounds of a time that needs the global clock: of both sides."""
    launched = launches({DEFAULT: 10, "rules": 8})
    cells = cells_of(launched, latency_avg_step=0.5, error_bound=0.2)
    rule = Rule("bcast", 4, 8, 8, "a")
    bare = compare_cells(launched, MARGIN, CONFIDENCE)
    for metric, uncertainty in (("latency_avg", 0.2 * 0.5), ("makespan", METRICS["makespan"].clock_bounds * 0.2)):
        medians = LaunchMedians.of_cells(cells, metric)
        share = 2 * uncertainty / math.exp(np.log(medians.value[medians.algorithm == DEFAULT]).mean())
        (found,) = compare_cells(medians, MARGIN, CONFIDENCE).values()
        assert found.hidden == pytest.approx(share)
        assert found.ratio.high - bare[CELL].ratio.high == pytest.approx(share)
        (of_rule,) = compare_rules(medians, [rule], MARGIN, CONFIDENCE).values()
        assert of_rule.hidden == pytest.approx(share, rel=0.3)  # of each launch its own share
    medians = LaunchMedians.of_cells(cells, "latency_avg")
    price = compare_choices(medians, [OtherChoice(CELL, DEFAULT, "rules")], 0.0, 0.95)
    assert price.mean is not None
    (comparison,) = price.by_cell.values()
    assert (price.mean.low, price.mean.high) == pytest.approx((comparison.ratio.low, comparison.ratio.high))


def test_a_gain_within_the_step_of_the_clock_is_held_by_its_interval() -> None:
    """Medians of 252 and 250 ns, read in steps of 10, are off in the same way in all launches."""
    times = (252.0, 250.0)
    assert gain_holds(np.random.default_rng(1), times, 10.0, 0.0005, 8) == (1.0, 1.0)
    assert max(gain_holds(np.random.default_rng(1), times, 10.0, 0.0005, 8, known=False)) < 0.5


def test_kinds_of_launches_are_named_where_a_choice_or_a_gain_rests_on_them() -> None:
    medians = launches({DEFAULT: 10, "a": 5, "b": 5.5}, count=20)
    decisions = choose(medians, {}, MARGIN, CONFIDENCE)
    rule = (MARGIN, CONFIDENCE)
    assert kinds_of_choice(medians, decisions, *rule) == []
    slow = medians.launch > 14
    medians.value[slow & (medians.algorithm == "b")] *= 1.5
    assert kinds_of_choice(medians, decisions, *rule) == []  # what is not chosen does not matter
    medians.value[slow & (medians.algorithm == "a")] *= 1.5
    slow_line, order = kinds_of_choice(medians, decisions, *rule)
    assert re.findall(r"\d+ of \d+", slow_line) == ["6 of 20"] and slow_line.endswith(" a")
    assert "resemble" in order
    ruled = medians.replaced(algorithm=np.where(medians.algorithm == "a", "rules", medians.algorithm))
    assert len(kinds_of_gain(ruled, [Rule("bcast", 4, 8, 8, "a")], *rule)) == 2
    assert len(kinds_of_gain(ruled, [Rule("bcast", 4, 4, 16, "a")], *rule)) == 2
    assert kinds_of_gain(ruled, [Rule("bcast", 4, 16, 16, "a")], *rule) == []


def test_the_gains_of_many_rules_are_judged_together() -> None:
    """Alone each of 40 rules that gain nothing has a chance of some percent to look better or worse."""
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "rules": 10}, size, seed=3) for size in range(1, 41)])
    rules = [Rule("bcast", 4, size, size, "a") for size in range(1, 41)]
    gains = compare_rules(medians, rules, 0.0, CONFIDENCE)
    assert min(gain.p_value for gain in gains.values()) < 0.025
    assert {gain.verdict for gain in gains.values()} == {"undecided"}


def test_what_was_measured_under_other_rules_is_no_gain_of_these() -> None:
    variables = {"RULES": "{directory}/rules.conf"}
    one, same, other = (Written({"rules.conf": text}, variables, ()) for text in ("1", "1", "2"))
    assert rules_name(one) == rules_name(same) != rules_name(other)
    assert rules_name(Written({}, {"RULES": "1"}, ())) != rules_name(Written({}, {"RULES": "2"}, ()))


def test_a_cell_that_no_launch_under_the_rules_has_is_lost() -> None:
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "rules": 8}, size) for size in (8, 16, 32, 64)])
    ruled = medians.algorithm == "rules"
    few = (medians.size == 64) & (medians.launch < 10)
    medians.status[ruled & ((medians.size == 32) | few)] = "failed"
    medians = medians[~(ruled & (medians.size == 16))]  # no complete launch
    assert [cell.size for cell in lost_cells(medians)] == [16, 32]


def test_an_environment_that_forces_an_algorithm_is_that_algorithm() -> None:
    medians = launches({DEFAULT: 10, "forced": 8, "binomial": 6}, count=1)
    cells = (
        cells_of(medians)
        .frame()
        .assign(algorithm=[DEFAULT, DEFAULT, "binomial"], environment=["default", "7", "default"])
    )
    measured = LaunchMedians.of_cells(Cells.of(cells), "latency_avg")
    assert measured.algorithm.tolist() == ["default", "7", "binomial"]
    assert measured.value.tolist() == medians.value.tolist()
