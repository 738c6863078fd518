"""States of the machine, seen in round trips of a cache line, and modes of launches, kept apart in every verdict."""

from __future__ import annotations

import re
from pathlib import Path

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.data.cells import CHANGED, Factors
from downbeat.data.states import in_main_state, with_states
from downbeat.output.blocks import Table
from downbeat.output.facts.comparison import WithinStates
from downbeat.output.facts.experiment import MachineStates
from downbeat.report.warnings import experiment_warnings
from downbeat.run.estimates import Estimates
from downbeat.run.experiment import FACTORS, launch_lines
from downbeat.run.plan import LaunchKey
from downbeat.statistics.dependence import correlation, effective_launches
from downbeat.statistics.location import typical_interval
from downbeat.statistics.slow_launches import slow_launches, unseen_share, unseen_text
from downbeat.views.comparison import comparison_view
from downbeat.views.results import results_view
from downbeat_papers.claims import Finding
from downbeat_papers.evidence import factor_of
from downbeat_papers.judgement import judge
from launch_files import Cell, write_launch

from tests.statistics.simulated import autoregressive

FAST, SLOW = 77e-9, 355e-9


def frame(*trips: tuple[float, float], ranks: int = 2, path: str = "cache line") -> pd.DataFrame:
    """Returns cells with these smallest and largest round trips."""
    low, high = zip(*trips, strict=True)
    return pd.DataFrame(
        {"ranks": ranks, "status": "ok", "canary_low": low, "canary_high": high, "canary_path": path},
    )


def test_states_are_divided_by_gaps_of_more_than_half() -> None:
    """The 40 launches whose round trips were measured: 75 to 80 ns, and 347 to 416 ns."""
    random = np.random.default_rng(1)
    trips = np.concatenate([random.uniform(75e-9, 80e-9, 17), random.uniform(347e-9, 416e-9, 23)])
    cells = with_states(frame(*zip(trips, 1.02 * trips, strict=True)))
    assert cells["state"].nunique() == 2
    assert set(cells["state"][:17]) & set(cells["state"][17:]) == set()
    assert with_states(frame((1e-9, 1e-9)))["state"].tolist() == [""]
    drifting = with_states(frame(*((trip, trip) for trip in FAST * 1.4 ** np.arange(6))))
    assert set(drifting["state"]) == {""}  # no gap, no states


def test_a_cell_of_two_states_is_set_aside() -> None:
    cells = with_states(frame((FAST, 1.5 * FAST), (FAST, SLOW), (SLOW, SLOW), (np.nan, np.nan)))
    assert cells["status"].tolist() == ["ok", CHANGED, "ok", "ok"]
    assert cells["state"].tolist() == ["94ns", "94ns", "355ns", "unknown"]
    near = with_states(frame((FAST, 1.49 * FAST), (FAST, 1.51 * FAST), (SLOW, 2.2 * SLOW)))
    assert near["status"].tolist() == ["ok", "ok", CHANGED]


@pytest.mark.parametrize("slow", [0.0, 0.4])
def test_readings_that_spread_without_a_gap_set_no_cell_aside(slow: float) -> None:
    """400 cells of 20 readings each on a busy machine, 130 to 350 ns; with a second state, and changes to it."""
    random = np.random.default_rng(3)
    readings = 210e-9 * np.exp(random.normal(0.0, 0.15, (400, 20)))
    states = random.random(400) < slow
    changes = states & (random.random(400) < 0.3)
    readings[states, 10:] *= 12
    readings[states & ~changes, :10] *= 12
    low, high = readings.min(axis=1), readings.max(axis=1)
    assert (high > 1.5 * low).mean() > 0.5
    cells = with_states(frame(*zip(low, high, strict=True)))
    assert ((cells["status"] == CHANGED) == changes).all()
    assert cells["state"].nunique() == (2 if slow else 1)


def test_other_ranks_and_messages_of_other_libraries_are_no_other_states() -> None:
    others = [frame((FAST, FAST)), frame((SLOW, SLOW), ranks=4), frame((SLOW, SLOW), path="message of some")]
    assert set(with_states(pd.concat(others))["state"]) == {""}


def experiment(path: Path, trips: list[float], times: list[tuple[float, float]], changed: int = -1) -> Path:
    """Writes launches with a round trip and the times of two synchronizers each, us; returns the directory."""
    path.mkdir()
    for number, (trip, both) in enumerate(zip(trips, times, strict=True)):
        ends: dict[str, object] = {"canary_low": trip, "canary_high": SLOW if number == changed else trip}
        cells = [
            Cell(np.zeros((3, 2)), np.full((3, 2), time * 1e-6), synchronizer=name, other=ends)
            for name, time in zip(("harmonize", "linear"), both, strict=True)
        ]
        write_launch(path / f"{number:02}.nc", cells)
    return path


def test_numbers_and_verdicts_are_of_one_state(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    # Twelve launches of each state; in the slow one the second synchronizer's time is 20 % larger.
    trips = [FAST, SLOW] * 12 + [FAST]
    noise = np.exp(0.001 * random.normal(size=(25, 2)))
    times = [
        (one * (0.2 if trip == FAST else 0.75), other * (0.2 if trip == FAST else 0.9))
        for trip, (one, other) in zip(trips, noise, strict=True)
    ]
    found = downbeat.open_experiment(experiment(tmp_path / "e", trips, times, changed=24))
    compared = downbeat.compare(found, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "linear"})
    assert dict(zip(compared["state"], compared["verdict"], strict=True)) == {"77ns": "equivalent", "355ns": "slower"}
    assert compared["launches_a"].tolist() == [12, 12]
    view = comparison_view(compared)
    (within,) = (fact for fact in view.facts if isinstance(fact, WithinStates))
    assert (within.states, within.shares) == (("77ns", "355ns"), ())  # A and B are of the same launches
    assert any(CHANGED in note and re.search(r"\b25\b", note) for note in compared.attrs["notes"])
    shown = results_view(found, "latency_avg")
    (states,) = (fact for fact in shown.facts if isinstance(fact, MachineStates))
    assert states.launches == (("77ns", 13), ("355ns", 12))  # the launch that saw a change began in the fast one
    (table,) = (block for block in shown.blocks if isinstance(block, Table))
    medians = table.frame[table.frame["synchronizer"] == "harmonize"].set_index("state")["median"]
    assert medians.to_dict() == pytest.approx({"77ns": 0.2e-6, "355ns": 0.75e-6}, rel=0.01)
    assert "2 cells of launches were measured while the machine changed its state" in " ".join(
        experiment_warnings(found)
    )


def test_rows_that_are_limited_to_a_state_are_of_the_one_that_all_configurations_have() -> None:
    rows = [("old", "50ns")] * 3 + [("old", "300ns")] * 2 + [("new", "300ns")] * 4
    factors = Factors.of_rows([dict(zip(("variant", "state"), row, strict=True)) | {"ranks": 2} for row in rows])
    assert in_main_state(factors).tolist() == [state == "300ns" for _, state in rows]
    other = Factors.of_rows([{"ranks": 4, "state": "60ns"}])  # other numbers of ranks have other states
    assert in_main_state(Factors.joined([factors, other])).tolist()[-1]
    few = np.where(factors.state == "300ns", 1.0, np.where(factors.variant == "old", np.nan, 0.0))
    assert in_main_state(factors[:5], few[:5]).tolist() == [False] * 3 + [True] * 2


@pytest.mark.parametrize("slow", [FAST, SLOW])
def test_a_cell_without_a_reading_counts(tmp_path: Path, slow: float) -> None:
    """With those of one state, and else with others of which nothing is known either."""
    trips, times = [FAST, slow, np.nan, np.nan] * 6, [(0.2, 0.2), (0.2, 0.2), (0.3, 0.6), (0.3, 0.6)] * 6
    found = downbeat.open_experiment(experiment(tmp_path / "e", trips, times))
    compared = downbeat.compare(found, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "linear"})
    launches = dict(zip(compared["state"], compared["launches_a"], strict=True))
    assert launches == ({"": 24} if slow == FAST else {"77ns": 6, "355ns": 6, "unknown": 12})


def test_experiments_in_two_states_have_no_verdict_within_one(tmp_path: Path) -> None:
    """The same times four apart, as a comparison of two evenings has it."""
    times = {FAST: 0.2, SLOW: 0.75}
    a, b = (
        downbeat.open_experiment(experiment(tmp_path / str(time), [trip] * 10, [(time, time)] * 10))
        for trip, time in times.items()
    )
    found = downbeat.compare(a, b)
    assert set(found["verdict"]) == {"unmatched"}
    assert set(found["state"]) == {"77ns", "355ns"}


def resembling(random: np.random.Generator, launches: int) -> np.ndarray:
    return 0.02 * autoregressive(random, (launches,), 0.8)


def test_launches_leave_a_share_unseen() -> None:
    for launches in (1, 5, 10, 30):
        assert (1 - unseen_share(launches)) ** launches == pytest.approx(0.05)
    for launches, share in ((5, "45 %"), (30, "9.5 %"), (59, "5 %"), (102, "2.9 %")):
        text = unseen_text(launches, 90.0)
        assert share in text
        assert "in 90 s" in text
        assert len(text.split()) <= 20


def test_slow_launches_are_counted_against_the_typical_one() -> None:
    assert slow_launches([1.0, 1.0, 1.29, 1.3, 2.0, 0.9, 1.0]).tolist() == [False] * 3 + [True] * 2 + [False] * 2
    assert slow_launches([]).size == 0


def test_a_resemblance_to_the_launch_before_is_seen() -> None:
    random = np.random.default_rng(2)
    alone = sum(correlation(random.normal(size=20), 0.05) > 0 for _ in range(1000))
    assert alone <= 85
    assert sum(correlation(resembling(random, 20), 0.05) > 0 for _ in range(200)) >= 160
    assert correlation(resembling(random, 4), 0.05) == 0
    assert 4 <= effective_launches(np.arange(20.0)) < 5
    assert 10 < effective_launches(random.normal(size=20)) <= 20


def cells(*series: np.ndarray) -> pd.DataFrame:
    """Returns cells of launches, medians in us."""
    rows = []
    for size, medians in enumerate(series):
        factors = dict.fromkeys(FACTORS, "x") | {"size": size, "ranks": 2, "state": "", "computation": 0.0}
        rows += [
            factors | {"launch": launch, "status": "ok", "error_bound": 0.0, "latency_avg_median": median * 1e-6}
            for launch, median in enumerate(medians)
        ]
    return pd.DataFrame(rows)


def test_lines_name_the_cells() -> None:
    random = np.random.default_rng(3)
    steady = random.lognormal(0, 0.01, 10)
    modes = np.repeat([0.2, 0.75], [7, 3]) * random.lognormal(0, 0.01, 10)
    (line,) = launch_lines(cells(steady, random.permutation(modes)), "latency_avg_median")
    assert line.startswith("slow launches") and re.findall(r"\d+ of \d+", line) == ["3 of 10"] and line.endswith("x 1")
    assert launch_lines(cells(steady), "latency_avg_median") == []
    drift = cells(np.linspace(1, 1.2, 10) * steady, np.linspace(3, 3.6, 10) * steady)
    (line,) = launch_lines(drift, "latency_avg_median")
    assert "resemble" in line


def test_a_width_is_not_reached_by_launches_that_resemble_each_other() -> None:
    random = np.random.default_rng(4)
    widths, ended = [], 0
    for medians in (np.exp(random.normal(0, 0.02, 40)), np.exp(resembling(random, 40))):
        estimates = Estimates()
        for launch, row in cells(medians).groupby("launch"):
            estimates.frames[LaunchKey("x", 2, "x", int(str(launch)), variant="x")] = row
        widths.append(estimates.widest() / typical_interval(random.permutation(medians)).width)
        ended += estimates.launch_correlation() == 0
    assert ended == 1
    assert widths[0] < 1.3
    assert widths[1] > 1.5


def test_a_claim_that_is_denied_says_what_launches_leave_unseen() -> None:
    """At its border, 10 % of launches twice as slow: none of five is, with a probability of 0.59."""
    for launches in (5, 10):
        fast = np.exp(-0.07 + 0.01 * np.random.default_rng(5).normal(size=launches))
        (found,) = judge([Finding("", "", "", factor_of(fast).above(1.0))])
        assert found.agrees is False
        assert unseen_text(launches) in found.because
