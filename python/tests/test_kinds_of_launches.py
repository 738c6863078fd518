"""Launches of several kinds in a comparison: ratios that drift, states that B causes, pairs that run out."""

from __future__ import annotations

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.data.states import with_states
from downbeat.output.facts.comparison import WithinStates
from downbeat.output.terminal import view_lines
from downbeat.run.experiment import FACTORS
from downbeat.statistics.dependence import effective_launches, resemblance_p
from downbeat.statistics.slow_launches import fisher_exact, mcnemar_exact
from downbeat.statistics.two_samples import compare_paired
from downbeat.views.comparison import comparison_view
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

FAST, SLOW = 56e-9, 300e-9


def cells(medians: np.ndarray, slow: np.ndarray | None = None, **factors: object) -> pd.DataFrame:
    """Returns a cell of each launch, medians in s; `slow`: in which the machine was in its slow state."""
    trips = np.full(len(medians), FAST) if slow is None else np.where(slow, SLOW, FAST)
    usual = dict.fromkeys(FACTORS, "x") | {"size": 8, "ranks": 2, "computation": 0.0, "largest_delay": 0.0}
    rows = [
        {**usual, **factors, "launch": launch, "status": "ok", "error_bound": 0.0, "latency_avg_median": median,
         "canary_low": trip, "canary_high": trip, "canary_path": "cache line"}
        for launch, (median, trip) in enumerate(zip(medians, trips, strict=True))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def compared(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Returns the comparison of two experiments that are at hand as frames."""
    return downbeat.compare(with_states(a), with_states(b))


def test_ratios_that_drift_are_said_and_make_intervals_wider() -> None:
    random = np.random.default_rng(1)
    drift = np.repeat([0.02, 0.03, 0.025, 0.01], 8) + random.normal(0, 0.003, 32)
    base = 2e-7 * np.exp(random.normal(0, 0.05, 32))
    both = pd.concat([cells(base, variant="a"), cells(base * np.exp(drift), variant="b")])
    found = downbeat.compare(with_states(both), where_a={"variant": "a"}, where_b={"variant": "b"})
    assert not found.attrs["paired"]  # a frame does not say that launches took turns
    one, other = (
        compare_paired(base, base * np.exp(drift)),
        compare_paired(base, base * np.exp(random.permutation(drift))),
    )
    assert one.ratio.width > 1.5 * other.ratio.width
    both = pd.concat([cells(base, synchronizer="a"), cells(base * np.exp(drift), synchronizer="b")])
    found = downbeat.compare(with_states(both), where_a={"synchronizer": "a"}, where_b={"synchronizer": "b"})
    (note,) = found.attrs["notes"]
    assert note.startswith("ratios of") and "resemble" in note


def test_a_side_that_causes_the_slow_state_is_equivalent_within_a_state_only() -> None:
    """Over all launches B is slower, and that is said; no test compares the shares of two experiments."""
    random = np.random.default_rng(2)

    def side(slow: int) -> pd.DataFrame:
        states = random.permutation(np.arange(40) < slow)
        times = np.where(states, 8e-7, 2e-7) * np.exp(random.normal(0, 0.01, 40))
        return cells(times, states)

    a, b, alike = (side(count) for count in (4, 22, 5))
    found = compared(a, b)
    shares = [(each["state"], each["a"], each["b"], each["of_a"], each["of_b"]) for each in found.attrs["shares"]]
    assert sorted(shares) == [("300ns", 4, 22, 40, 40), ("56ns", 36, 18, 40, 40)]
    overall = found.attrs["overall"]
    assert (overall["slower"], overall["ratio_low"] > 1) == (1, True)
    assert f"{overall['ratio']:.2f}" in " ".join(view_lines(comparison_view(found)))
    same = compared(a, alike)
    assert "equivalent" in set(same["verdict"])
    assert "slower" not in same.attrs["overall"]
    assert compared(a[a["canary_low"] == FAST], b[b["canary_low"] == FAST]).attrs["overall"] is None  # one state


def test_states_of_launches_in_turn_are_compared_in_pairs() -> None:
    """B brings about the slow state in 8 of 20 pairs, A in none: McNemar's test has eight tosses of a coin."""
    slow = [np.zeros(20, dtype=bool), np.arange(20) < 8]
    assert mcnemar_exact(*slow) == pytest.approx(2 / 2**8)
    assert mcnemar_exact(slow[1], slow[1]) == 1.0


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_fisher_is_that_of_others(all_a: int, all_b: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, all_a)), data.draw(st.integers(0, all_b))
    expected = stats.fisher_exact(np.array([[a, all_a - a], [b, all_b - b]])).pvalue
    assert fisher_exact(a, all_a, b, all_b) == pytest.approx(expected, rel=1e-6)


def test_launches_without_a_partner_in_their_state_are_compared_unpaired() -> None:
    """Launches of the same number were in different states: seven of each side in either, and no pair."""
    random = np.random.default_rng(3)
    slow = np.arange(14) % 2 == 0
    sides = []
    for name, states, factor in (("a", slow, 1.0), ("b", ~slow, 1.3)):
        times = factor * np.where(states, 8e-7, 2e-7) * np.exp(random.normal(0, 0.01, 14))
        sides.append(cells(times, states, synchronizer=name))
    found = downbeat.compare(
        with_states(pd.concat(sides)), where_a={"synchronizer": "a"}, where_b={"synchronizer": "b"}
    )
    assert set(found["verdict"]) == {"slower"}
    assert found["launches_a"].tolist() == [7, 7]
    assert any("2 cells" in line and "independent" in line for line in found.attrs["notes"])


def test_sides_that_share_no_state_are_compared_over_all_launches() -> None:
    random = np.random.default_rng(4)
    a, b = (time * np.exp(random.normal(0, 0.05, 12)) for time in (2e-7, 8e-7))
    found = compared(cells(a, np.zeros(12, dtype=bool)), cells(b, np.ones(12, dtype=bool)))
    assert set(found["verdict"]) == {"unmatched"}
    assert found.attrs["overall"]["slower"] == 1
    assert [(one["a"], one["b"]) for one in found.attrs["shares"]] == [(12, 0), (0, 12)]
    (within,) = (fact for fact in comparison_view(found).facts if isinstance(fact, WithinStates))
    assert (within.verdicts, within.ratio) == ((("slower", 1),), found.attrs["overall"]["ratio"])


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.data())
def test_mcnemar_is_the_binomial_test_of_others(a: list[bool], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    only = [sum(x and not y for x, y in zip(*sides, strict=True)) for sides in ((a, b), (b, a))]
    expected = stats.binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0
    assert mcnemar_exact(a, b) == pytest.approx(expected)


def test_equal_launches_resemble_nothing() -> None:
    """But for the last digits of their logarithms, which drift."""
    logs = 0.3 + 1e-16 * np.arange(12)
    assert resemblance_p(logs) == 0.5
    assert effective_launches(logs) == 12
