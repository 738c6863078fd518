"""Choices from made-up launches whose truth is known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from downbeat.data.metrics import METRICS
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
from downbeat.tune.proving import compare_environments, compare_rules, kinds_of_gain, lost_cells, rules_name
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.sweep import MPI_BARRIER, SWEEP_COLUMNS, Effort, alternative, decisive, measured, with_values
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
) -> pd.DataFrame:
    """Makes launches of a broadcast on 4 ranks: algorithm -> true time."""
    random = np.random.default_rng([seed, size, len(synchronizer)])
    drift = np.exp(DRIFT * random.standard_normal(count))
    rows = [
        ("bcast", 4, size, name, synchronizer, pattern, number, "ok", time * drift[number - 1] * np.exp(NOISE * noise))
        for name, time in times.items()
        for number, noise in enumerate(random.standard_normal(count), 1)
    ]
    return pd.DataFrame(rows, columns=list(SWEEP_COLUMNS[:-1])).assign(uncertainty=0.0)


def chosen(frame: pd.DataFrame, margin: float = MARGIN) -> str:
    (decision,) = choose(frame, {}, margin, CONFIDENCE)
    return decision.algorithm


def test_the_fastest_of_those_that_are_better_by_the_margin_is_chosen() -> None:
    frame = launches({DEFAULT: 10, "slow": 12, "good": 8, "best": 7})
    (decision,) = choose(frame, {}, MARGIN, CONFIDENCE)
    assert decision.cell == Cell("bcast", 4, 8)
    assert decision.algorithm == "best"
    assert [one.algorithm for one in decision.candidates] == ["best", "good", "slow"]
    reasons = [one.rejected.split(":")[0] for one in decision.candidates]
    assert reasons == ["", "faster, but best is faster still", "slower"]
    best = decision.candidates[0].comparison
    assert best is not None
    # The drift of 20 % from launch to launch is in both and cancels.
    assert best.ratio.low < 0.7 < best.ratio.high
    assert best.ratio.high - best.ratio.low < 0.04
    assert best.ratio.count == 10


def test_a_gain_below_the_margin_is_no_rule() -> None:
    frame = launches({DEFAULT: 10, "hardly": 9.7})
    assert chosen(frame) == DEFAULT
    assert chosen(frame, margin=0.02) == "hardly"


def test_four_launches_choose_nothing() -> None:
    assert chosen(launches({DEFAULT: 10, "best": 5}, count=4)) == DEFAULT
    assert chosen(launches({DEFAULT: 10, "best": 5}, count=5)) == "best"


@pytest.mark.parametrize("synchronizer", ["harmonize", "mpi_barrier"])
def test_what_computed_wrong_results_once_is_chosen_at_no_size(synchronizer: str) -> None:
    times = {DEFAULT: 10.0, "good": 8.0, "wrong": 5.0}
    frame = pd.concat([launches(times, size, sync) for size in (8, 16) for sync in ("harmonize", "mpi_barrier")])
    once = (frame["size"] == 16) & (frame["synchronizer"] == synchronizer) & (frame["launch"] == 7)
    frame.loc[once & (frame["algorithm"] == "wrong"), "status"] = "wrong"
    wrong = wrong_results(frame)
    assert wrong == {("bcast", 4, "wrong"): [16]}
    decisions = choose(frame[frame["synchronizer"] == "harmonize"], wrong, MARGIN, CONFIDENCE)
    assert [decision.algorithm for decision in decisions] == ["good", "good"]
    assert {decision.candidates[0].rejected for decision in decisions} == {"wrong results at 16 bytes"}


def test_cells_that_are_incomplete_count_nowhere() -> None:
    """The same rule as in `downbeat compare`: a launch without all its samples has no number for the cell."""
    frame = launches({DEFAULT: 10, "a": 5})
    cells = frame.rename(columns={"collective": "operation", "value": "latency_avg_median"})
    cells["environment"] = "default"
    cells.loc[(cells["algorithm"] == "a") & (cells["launch"] > 4), "status"] = "incomplete"
    counted = measured(cells, "latency_avg")
    assert chosen(frame) == "a"
    assert chosen(counted) == DEFAULT
    (left,) = find_left_out("sweep", counted, "algorithm")
    launches_left = "launches 5, 6, 7, 8, 9, 10"
    assert left.status == "incomplete"
    assert left.cells == (f"bcast of 8 bytes on 4 ranks by a, harmonize: {launches_left}",)
    # A cell may have several rows of a launch: one for each reading of its samples.
    again = pd.concat([counted, counted]).assign(size=1 << 20)
    assert find_left_out("sweep", again, "algorithm")[0].cells == (
        f"bcast of 1M bytes on 4 ranks by a, harmonize: {launches_left}",
    )

    ruled = cells.assign(environment=cells["algorithm"].map({DEFAULT: "default", "a": "rules"}))
    assert compare_environments(with_values(ruled, "latency_avg"), MARGIN, CONFIDENCE)[CELL].launches == (4, 4)
    assert lost_cells(with_values(ruled, "latency_avg")) == []


def test_what_was_not_measured_beside_the_default_is_not_chosen() -> None:
    frame = launches({DEFAULT: 10, "gone": 5})
    frame.loc[frame["algorithm"] == "gone", "value"] = np.nan
    (decision,) = choose(frame, {}, MARGIN, CONFIDENCE)
    assert decision.algorithm == DEFAULT
    assert decision.candidates[0].comparison is None


@pytest.mark.thorough
def test_among_many_algorithms_that_are_the_default_none_is_chosen() -> None:
    """Without the correction for their number, some of 6 algorithms in 8 cells would be by chance."""
    assert false_rules(np.random.default_rng(1), 20) <= 0.05


def test_where_the_barrier_would_have_chosen_otherwise_the_price_is_from_a_common_start_in_other_launches() -> None:
    frame = pd.concat(
        [
            launches({DEFAULT: 10, "a": 7, "b": 8}),
            launches({DEFAULT: 10, "a": 12, "b": 6}, synchronizer="mpi_barrier"),
            launches({DEFAULT: 10, "a": 7}, size=16),
            launches({DEFAULT: 10, "a": 7}, size=16, synchronizer="mpi_barrier"),
        ]
    )
    decisions = choose(decisive(frame), {}, MARGIN, CONFIDENCE)
    (one,) = others = other_choices(alternative(frame), decisions, {}, MARGIN, CONFIDENCE)
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
    prices = compare_choices(pd.DataFrame(rows, columns=list(SWEEP_COLUMNS)), others, MARGIN, CONFIDENCE)
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
    frame = launches({DEFAULT: 10, "a": 7})
    assert other_choices(alternative(frame), choose(frame, {}, MARGIN, CONFIDENCE), {}, MARGIN, CONFIDENCE) == []


def test_under_an_arrival_pattern_its_samples_decide_and_those_without_say_what_else_would_have_been_chosen() -> None:
    late = "one_late(rank=0)"
    frame = pd.concat(
        [launches({DEFAULT: 10, "a": 7, "b": 8}), launches({DEFAULT: 10, "a": 12, "b": 6}, pattern=late, seed=3)]
    )
    (decision,) = choose(decisive(frame), {}, MARGIN, CONFIDENCE)
    assert decision.algorithm == "b"
    (one,) = others = other_choices(alternative(frame), [decision], {}, MARGIN, CONFIDENCE)
    assert (one.chosen, one.other) == ("b", "a")
    effort = dataclasses.replace(EFFORT, pattern=late, delay="50us")
    (plan,) = price_plans(TARGET, others, effort)
    assert plan.measurement.options.items() >= {"pattern": late, "delay": "50us", "sync": "harmonize"}.items()
    assert effort.synchronizers("bcast") == "harmonize"
    assert MPI_BARRIER in EFFORT.synchronizers("bcast")


def test_gain_pairs_launches_of_the_same_number_and_joins_the_sizes_of_a_rule() -> None:
    frame = pd.concat([launches({"default": 10, "rules": 8}, size=8), launches({"default": 10, "rules": 5}, size=16)])
    frame = frame.rename(columns={"algorithm": "environment"})
    gains = compare_environments(frame, MARGIN, CONFIDENCE)
    assert {cell.size: one.verdict for cell, one in gains.items()} == {8: "faster", 16: "faster"}
    assert gains[Cell("bcast", 4, 8)].ratio.estimate == pytest.approx(0.8, rel=0.02)
    rules = [Rule("bcast", 4, 8, 16, "a"), Rule("bcast", 4, 16, 16, "a")]
    both, one = compare_rules(frame, rules, MARGIN, CONFIDENCE).values()
    assert both.ratio.estimate == pytest.approx((0.8 * 0.5) ** 0.5, rel=0.02)
    assert one.ratio.estimate == pytest.approx(0.5, rel=0.02)
    assert both.ratio.count == 10


def test_what_clocks_do_to_a_value_is_in_every_interval() -> None:
    """A fifth of the step of a latency, the error bounds of a time that needs the global clock: of both sides."""
    cells = launches({"default": 10, "rules": 8}).assign(
        latency_avg_step=0.5, error_bound=0.2, environment=lambda frame: frame["algorithm"]
    )
    cells["latency_avg_median"] = cells["makespan_median"] = cells["value"]
    rule = Rule("bcast", 4, 8, 8, "a")
    bare = compare_environments(with_values(cells.assign(latency_avg_step=0.0), "latency_avg"), MARGIN, CONFIDENCE)
    for metric, uncertainty in (("latency_avg", 0.2 * 0.5), ("makespan", METRICS["makespan"].clock_bounds * 0.2)):
        frame = with_values(cells, metric)
        share = 2 * uncertainty / math.exp(np.log(frame[frame["environment"] == "default"]["value"]).mean())
        (found,) = compare_environments(frame, MARGIN, CONFIDENCE).values()
        assert found.hidden == pytest.approx(share)
        assert found.ratio.high - bare[CELL].ratio.high == pytest.approx(share)
        (of_rule,) = compare_rules(frame, [rule], MARGIN, CONFIDENCE).values()
        assert of_rule.hidden == pytest.approx(share, rel=0.3)  # of each launch its own share
    (price,) = (compare_choices(measured(cells, "latency_avg"), [OtherChoice(CELL, "default", "rules")], 0.0, 0.95),)
    assert price.mean is not None
    (comparison,) = price.by_cell.values()
    assert (price.mean.low, price.mean.high) == pytest.approx((comparison.ratio.low, comparison.ratio.high))


def test_a_gain_within_the_step_of_the_clock_is_held_by_its_interval() -> None:
    """Medians of 252 and 250 ns, read in steps of 10, are off in the same way in all launches."""
    times = (252.0, 250.0)
    assert gain_holds(np.random.default_rng(1), times, 10.0, 0.0005, 8) == (1.0, 1.0)
    assert max(gain_holds(np.random.default_rng(1), times, 10.0, 0.0005, 8, known=False)) < 0.5


def test_kinds_of_launches_are_named_where_a_choice_or_a_gain_rests_on_them() -> None:
    frame = launches({DEFAULT: 10, "a": 5, "b": 5.5}, count=20)
    decisions = choose(frame, {}, MARGIN, CONFIDENCE)
    rule = (MARGIN, CONFIDENCE)
    assert kinds_of_choice(frame, decisions, *rule) == []
    slow = frame["launch"] > 14
    frame.loc[slow & (frame["algorithm"] == "b"), "value"] *= 1.5
    assert kinds_of_choice(frame, decisions, *rule) == []  # what is not chosen does not matter
    frame.loc[slow & (frame["algorithm"] == "a"), "value"] *= 1.5
    slow_line, order = kinds_of_choice(frame, decisions, *rule)
    assert slow_line.startswith("slow launches") and "6 of 20 in " in slow_line and slow_line.endswith(" by a")
    assert "resemble the one before" in order
    ruled = frame.rename(columns={"algorithm": "environment"}).replace({"a": "rules"})
    assert len(kinds_of_gain(ruled, [Rule("bcast", 4, 8, 8, "a")], *rule)) == 2
    assert len(kinds_of_gain(ruled, [Rule("bcast", 4, 4, 16, "a")], *rule)) == 2
    assert kinds_of_gain(ruled, [Rule("bcast", 4, 16, 16, "a")], *rule) == []


def test_the_gains_of_many_rules_are_judged_together() -> None:
    """Alone each of 40 rules that gain nothing has a chance of some percent to look better or worse."""
    frames = [launches({"default": 10, "rules": 10}, size=size, seed=3) for size in range(1, 41)]
    frame = pd.concat(frames).rename(columns={"algorithm": "environment"})
    rules = [Rule("bcast", 4, size, size, "a") for size in range(1, 41)]
    gains = compare_rules(frame, rules, 0.0, CONFIDENCE)
    assert min(gain.p_value for gain in gains.values()) < 0.025
    assert {gain.verdict for gain in gains.values()} == {"undecided"}


def test_what_was_measured_under_other_rules_is_no_gain_of_these() -> None:
    variables = {"RULES": "{directory}/rules.conf"}
    one, same, other = (Written({"rules.conf": text}, variables, ()) for text in ("1", "1", "2"))
    assert rules_name(one) == rules_name(same) != rules_name(other)
    assert rules_name(Written({}, {"RULES": "1"}, ())) != rules_name(Written({}, {"RULES": "2"}, ()))


def test_a_cell_that_no_launch_under_the_rules_has_is_lost() -> None:
    frame = pd.concat([launches({"default": 10, "rules": 8}, size=size) for size in (8, 16, 32, 64)])
    frame = frame.rename(columns={"algorithm": "environment"})
    ruled = frame["environment"] == "rules"
    few = (frame["size"] == 64) & (frame["launch"] < 10)
    frame["status"] = frame["status"].mask(ruled & ((frame["size"] == 32) | few), "failed")
    frame = frame[~(ruled & (frame["size"] == 16))]  # no complete launch
    assert [cell.size for cell in lost_cells(frame)] == [16, 32]


def test_an_environment_that_forces_an_algorithm_is_that_algorithm() -> None:
    cells = pd.DataFrame(
        {
            "operation": "bcast",
            "ranks": 2,
            "size": 8,
            "algorithm": ["default", "default", "binomial"],
            "environment": ["default", "7", "default"],
            "synchronizer": "harmonize",
            "pattern": "none",
            "launch": 1,
            "status": "ok",
            "latency_avg_median": [1.0, 2.0, 3.0],
        }
    )
    frame = measured(cells, "latency_avg")
    assert frame["algorithm"].tolist() == ["default", "7", "binomial"]
    assert frame["value"].tolist() == [1.0, 2.0, 3.0]
