"""What is chosen: from made-up launches whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from downbeat.tune.barrier_choice import other_choices
from downbeat.tune.choosing import choose
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.gain import compare_environments, compare_rules, lost_cells, name_of
from downbeat.tune.rules import DEFAULT, Cell, Rule
from downbeat.tune.sweep import measured

MARGIN = 0.05
CONFIDENCE = 0.95
NOISE = 0.01  # deviation of a launch's median, as a share
DRIFT = 0.2  # from launch to launch, the same for all that is measured in one


def launches(
    times: dict[str, float], size: int = 8, synchronizer: str = "harmonize", count: int = 10, seed: int = 1
) -> pd.DataFrame:
    """Makes launches of a broadcast on 4 ranks: algorithm -> true time."""
    random = np.random.default_rng([seed, size, len(synchronizer)])
    drift = np.exp(DRIFT * random.standard_normal(count))
    rows = [
        (
            "bcast",
            4,
            size,
            algorithm,
            synchronizer,
            launch + 1,
            "ok",
            time * drift[launch] * np.exp(NOISE * noise),
        )
        for algorithm, time in times.items()
        for launch, noise in enumerate(random.standard_normal(count))
    ]
    columns = ["collective", "ranks", "size", "algorithm", "synchronizer", "launch", "status", "value"]
    return pd.DataFrame(rows, columns=columns)


def chosen(frame: pd.DataFrame, margin: float = MARGIN) -> str:
    (decision,) = choose(frame, margin, CONFIDENCE)
    return decision.algorithm


def test_the_fastest_of_those_that_are_better_by_the_margin_is_chosen() -> None:
    frame = launches({DEFAULT: 10, "slow": 12, "good": 8, "best": 7})
    (decision,) = choose(frame, MARGIN, CONFIDENCE)
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


def test_wrong_results_are_never_chosen() -> None:
    frame = launches({DEFAULT: 10, "good": 8, "wrong": 5})
    frame.loc[(frame["algorithm"] == "wrong") & (frame["launch"] == 7), "status"] = "wrong"
    (decision,) = choose(frame, MARGIN, CONFIDENCE)
    assert decision.algorithm == "good"
    assert decision.candidates[0].rejected == "wrong results"


def test_what_was_not_measured_beside_the_default_is_not_chosen() -> None:
    frame = launches({DEFAULT: 10, "gone": 5})
    frame.loc[frame["algorithm"] == "gone", "value"] = np.nan
    (decision,) = choose(frame, MARGIN, CONFIDENCE)
    assert decision.algorithm == DEFAULT
    assert decision.candidates[0].comparison is None


def test_among_many_algorithms_that_are_the_default_none_is_chosen() -> None:
    """Without the correction for their number, some of 20 algorithms in 6 cells would be by chance."""
    false = 0
    for seed in range(5):
        times = {DEFAULT: 10.0} | {f"same{number}": 10.0 for number in range(20)}
        frame = pd.concat([launches(times, size, seed=seed) for size in range(6)])
        false += sum(decision.algorithm != DEFAULT for decision in choose(frame, 0.0, CONFIDENCE))
    assert false <= 1


def test_where_the_barrier_would_have_chosen_otherwise_the_cost_is_from_a_common_start() -> None:
    frame = pd.concat(
        [
            launches({DEFAULT: 10, "a": 7, "b": 8}),
            launches({DEFAULT: 10, "a": 12, "b": 6}, synchronizer="mpi_barrier"),
            launches({DEFAULT: 10, "a": 7}, size=16),
            launches({DEFAULT: 10, "a": 7}, size=16, synchronizer="mpi_barrier"),
        ]
    )
    decisions = choose(frame[frame["synchronizer"] == "harmonize"], MARGIN, CONFIDENCE)
    (other,) = other_choices(frame, decisions, MARGIN, CONFIDENCE)
    assert (other.cell.size, other.harmonized, other.behind_barrier) == (8, "a", "b")
    assert other.cost is not None
    assert other.cost.low < 8 / 7 < other.cost.high
    assert other.cost.estimate == pytest.approx(8 / 7, rel=0.02)


def test_without_samples_behind_a_barrier_nothing_is_said_of_it() -> None:
    frame = launches({DEFAULT: 10, "a": 7})
    assert other_choices(frame, choose(frame, MARGIN, CONFIDENCE), MARGIN, CONFIDENCE) == []


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
    assert name_of(one) == name_of(same) != name_of(other)
    assert name_of(Written({}, {"RULES": "1"}, ())) != name_of(Written({}, {"RULES": "2"}, ()))


def test_a_cell_that_no_launch_under_the_rules_has_is_lost() -> None:
    frame = pd.concat([launches({"default": 10, "rules": 8}, size=size) for size in (8, 16, 32, 64)])
    frame = frame.rename(columns={"algorithm": "environment"})
    ruled = frame["environment"] == "rules"
    few = (frame["size"] == 64) & (frame["launch"] < 10)
    frame["value"] = frame["value"].mask(ruled & ((frame["size"] == 32) | few))  # no valid sample
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
            "launch": 1,
            "status": "ok",
            "latency_avg_median": [1.0, 2.0, 3.0],
        }
    )
    frame = measured(cells, "latency_avg")
    assert frame["algorithm"].tolist() == ["default", "7", "binomial"]
    assert frame["value"].tolist() == [1.0, 2.0, 3.0]
