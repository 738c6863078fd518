"""Experiments at different times: what verdicts are worth where sessions deviate, with a history and without."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.compared import Compared
from downbeat.comparison.conditions import read_arguments
from downbeat.comparison.sides import history_cells, measured_of
from downbeat.errors import UsageError
from downbeat.output.terminal import view_lines
from downbeat.statistics import sessions
from downbeat.statistics.distributions import satterthwaite
from downbeat.statistics.power import VerdictRule
from downbeat.statistics.sessions import (
    SEARCHED,
    compare_across_sessions,
    false_verdicts,
    last_shift,
    seen_before,
    sessions_of,
    since,
    trend,
)
from downbeat.statistics.slow_launches import unseen_share
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import judge_together
from downbeat.views.comparison import comparison_view, head_of
from downbeat_command import Run, command
from launch_files import Cell, write_launch
from numpy.typing import NDArray
from scipy import stats
from test_compare import rows, verdicts

from tests.statistics import histories
from tests.statistics.sessions import Design, against_history, apart, interleaved, share, with_history
from tests.statistics.simulated import Deviations, simulate_sessions

LAUNCHES = 10


def deviations(session: float) -> Deviations:
    """Returns those of the table in docs/statistics.md."""
    return Deviations(launch=0.02, session=session, drift=session)


def false_share(design: Design, asked: Deviations, experiments: int, seed: int, cells: int = 1) -> float:
    """Returns the share of experiments that call equal things different."""
    return share(design, np.random.default_rng(seed), np.ones(cells), asked, "different", experiments)


def test_nothing_deviates_but_what_was_asked_for() -> None:
    def alone(asked: Deviations) -> list[bool]:
        """Returns whether sessions deviate, the launches of one, and its cells."""
        cells = np.array(simulate_sessions(np.random.default_rng(20), 3, 4, asked, 2))
        return [bool(np.ptp(cells, axis=axis).max() > 1e-9) for axis in (1, 2, 0)]

    assert alone(Deviations(launch=0)) == [False, False, False]
    assert alone(Deviations()) == [True, True, False]  # launches deviate
    assert alone(Deviations(launch=0, session=0.1)) == [True, False, False]
    assert alone(Deviations(launch=0, session_cell=0.1)) == [True, False, True]
    assert alone(Deviations(launch=0, cell=0.1)) == [True, True, True]
    assert alone(Deviations(launch=0, drift=0.1))[1]


def test_the_error_against_a_history_is_that_of_one_more_session() -> None:
    """Student's prediction: exact where launches are as many everywhere."""
    random = np.random.default_rng(1)
    *history, b = simulate_sessions(random, 9, LAUNCHES, deviations(0.02))[0]
    means = [float(np.log(one).mean()) for one in history]
    found = compare_across_sessions(None, b, history)
    error = np.std(means, ddof=1) * math.sqrt(1 + 1 / 8)
    assert found.error == pytest.approx(error)
    assert found.freedom == pytest.approx(7)
    difference = float(np.log(b).mean()) - np.mean(means)
    assert found.ratio.estimate == pytest.approx(math.exp(difference))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(difference) / error, 7))
    assert found.ratio.high == pytest.approx(math.exp(difference + stats.t.ppf(0.975, 7) * error))
    assert (found.launches, found.sessions) == ((8, LAUNCHES), 8)


def test_the_error_between_two_sessions_is_that_of_both() -> None:
    random = np.random.default_rng(2)
    a, b, *history = simulate_sessions(random, 8, LAUNCHES, deviations(0.02))[0]
    found = compare_across_sessions(a, b, history)
    assert found.error == pytest.approx(math.sqrt(2) * np.std([np.log(one).mean() for one in history], ddof=1))
    assert found.freedom == pytest.approx(5)
    assert math.log(found.ratio.estimate) == pytest.approx(compare_independent(a, b).mean)


def test_launches_that_are_lacking_add_to_the_variance() -> None:
    random = np.random.default_rng(3)
    a, b, *history = simulate_sessions(random, 8, 12, deviations(0.02))[0]
    sessions = sessions_of(history)
    within = np.mean([np.log(one).var(ddof=1) for one in history])
    assert sessions.launch_variance == pytest.approx(within)
    assert sessions.deviation == pytest.approx(math.sqrt(sessions.variance - within / 12))
    parts = [(2 * sessions.variance, 5), (within * (2 / 6 - 2 / 12), 6 * 11)]
    found = compare_across_sessions(a[:6], b[:6], history)
    assert found.error == pytest.approx(math.sqrt(sum(value for value, _ in parts)))
    assert found.freedom == pytest.approx(sum(v for v, _ in parts) ** 2 / sum(v**2 / n for v, n in parts))
    # More launches than the history has take nothing away.
    assert compare_across_sessions(a, b, [one[:6] for one in history]).error == pytest.approx(
        math.sqrt(2 * sessions_of([one[:6] for one in history]).variance)
    )


def test_sessions_of_different_lengths() -> None:
    """Searle, Casella and McCulloch 1992, section 3.6: a mean of n launches has 1/n of their variance, whatever n."""
    logs = [np.array(session) for session in ([0.1, 0.3], [0.0, 0.1, 0.2, 0.5], [0.25], [1.0, 1.2, 1.1, 0.7, 0.9, 1.7])]
    found = sessions_of([np.exp(session) for session in logs])
    assert found.means == pytest.approx([0.2, 0.2, 0.25, 1.1])
    assert found.variance == pytest.approx((2 * 0.2375**2 + 0.1875**2 + 0.6625**2) / 3)
    assert found.launches == pytest.approx((1 / 2 + 1 / 4 + 1 + 1 / 6) / 4)
    assert found.launch_variance == pytest.approx((0.02 + 0.14 + 0.58) / (1 + 3 + 0 + 5))
    assert found.launch_freedom == 9
    assert found.deviation == pytest.approx(math.sqrt(found.variance - found.launch_variance * found.launches))
    # A of one launch lacks what the mean session has beyond one; B of twenty lacks nothing.
    b = np.exp(np.linspace(1.9, 2.1, 20))
    lacking = (1 - found.launches) * found.launch_variance
    compared = compare_across_sessions([1.0], b, [np.exp(session) for session in logs])
    assert compared.error == pytest.approx(math.sqrt(2 * found.variance + lacking))


def test_a_history_that_deviates_little_by_chance_makes_nothing_surer() -> None:
    a, b = simulate_sessions(np.random.default_rng(4), 2, LAUNCHES, deviations(0.02))[0]
    alike = [np.exp(np.linspace(-0.03, 0.03, LAUNCHES))] * 6
    found, launches = compare_across_sessions(a, 1.3 * b, alike), compare_independent(a, 1.3 * b)
    assert sessions_of(alike).deviation == 0
    half = stats.t.ppf(0.975, launches.freedom) * launches.error  # Welch's, around the ratio of means
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx(launches.mean + half * np.array([-1, 1]))
    assert (found.error, found.freedom, found.p_value) == (launches.error, launches.freedom, launches.p_value)


def test_few_sessions_are_undecided() -> None:
    history = simulate_sessions(np.random.default_rng(5), 4, LAUNCHES, deviations(0.01))[0]
    for a in (None, history[0]):
        found = compare_across_sessions(a, 3 * history[1], list(history))
        assert (found.verdict, re.findall(r"\d+", found.reason)) == ("undecided", ["4", "5"])
        assert found.p_value < 0.001
    one = compare_across_sessions(history[0], 3 * history[1], [history[2]])
    assert math.isnan(one.p_value)
    assert one.verdict == "undecided"
    # It is not a test, and costs the others nothing.
    clear = compare_paired(history[0], 3 * history[0])
    assert judge_together([found, clear])[1].adjusted_p_value == clear.p_value


def test_satterthwaite() -> None:
    assert satterthwaite([(1.0, 4)]) == 4
    assert satterthwaite([(1.0, 4), (1.0, 4)]) == 8
    assert satterthwaite([(2.0, 4), (0.0, 50)]) == 4
    assert satterthwaite([(0.0, 3), (0.0, 50)]) == 3


@pytest.mark.parametrize(("session", "expected"), [(0.0, 0.02), (0.01, 0.19), (0.02, 0.48), (0.03, 0.62)])
def test_without_a_history_sessions_make_verdicts_false(session: float, expected: float) -> None:
    """The printed assumption, by simulation and by `false_verdicts`."""
    error = math.sqrt(0.25 / 400)
    assert false_share(apart, deviations(session), 400, 6) == pytest.approx(expected, abs=4 * error)
    computed = false_verdicts(0.02 * math.sqrt(2 / LAUNCHES), 17, session, VerdictRule(0.025))
    assert computed == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("session", [0.0, 0.02])
@pytest.mark.parametrize("sessions", [5, 12])
@pytest.mark.parametrize("compare", [with_history, against_history])
def test_with_a_history_they_are_rarely_false(session: float, sessions: int, compare: Callable[[int], Design]) -> None:
    # 2.5 % and three and a half standard errors
    assert false_share(compare(sessions), deviations(session), 500, 7) <= 0.05


@pytest.mark.parametrize("session", [0.0, 0.03])
def test_interleaved_they_are_rarely_false(session: float) -> None:
    """Although the session drifts as much as sessions deviate: both are first as often."""
    assert false_share(interleaved, deviations(session), 800, 8) <= 0.05
    found = share(interleaved, np.random.default_rng(9), np.full(1, 1.05), deviations(session), "slower", 150)
    assert found >= 140 / 150


@pytest.mark.parametrize("design", [against_history(8), interleaved], ids=["history", "interleaved"])
def test_a_gate_over_many_cells_rarely_gives_a_false_alarm(design: Design) -> None:
    """Session effects common to all cells, and those of each: Holm holds whatever depends on what."""
    mixed = Deviations(launch=0.02, session=0.02, session_cell=0.02, drift=0.02, cell=0.01)
    assert false_share(design, mixed, 120, 10, cells=8) <= 0.075  # 2.5 % and three and a half standard errors


def sessions_as_frames(seed: int, sessions: int, session: float = 0.02) -> list[pd.DataFrame]:
    """Returns the cells of experiments at different times."""
    return [
        rows(one) for one in simulate_sessions(np.random.default_rng(seed), sessions, LAUNCHES, deviations(session))[0]
    ]


def test_two_experiments_say_what_they_assume() -> None:
    a, b = sessions_as_frames(11, 2)
    found = downbeat.compare(a, b)
    deviation, share = (float(each) for each in re.findall(r"([\d.]+) %", found.attrs["assumes"])[:2])
    assert deviation == 2
    assert 35 < share < 65
    assert any("two times" in text for _, text in head_of(Compared.of(found)))
    both = pd.concat([a, b.assign(synchronizer="linear")])
    paired = downbeat.compare(both, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "linear"})
    assert paired.attrs["assumes"] == ""


def test_a_history_takes_a_false_verdict_back() -> None:
    a, b, *history = sessions_as_frames(12, 14)
    b["latency_avg_median"] *= 1.06 * a["latency_avg_median"].mean() / b["latency_avg_median"].mean()
    assert verdicts(downbeat.compare(a, b)) == {8: "slower"}
    found = downbeat.compare(a, b, history=history)
    assert verdicts(found) == {8: "undecided"}
    assert found["sessions"].tolist() == [12]
    sessions = int(found["sessions"].max())
    least = 100 * unseen_share(sessions)
    assert re.findall(r"[\d.]+", found.attrs["assumes"])[-2:] == [str(sessions), f"{least:.0f}"]
    assert 0.01 < found["session_deviation"].iloc[0] < 0.04
    assert found["launches_needed"].isna().all()
    assert any(line.split()[:3] == ["history", "12", "experiments,"] for line in view_lines(comparison_view(found)))
    b["latency_avg_median"] *= 1.3
    assert verdicts(downbeat.compare(a, b, history=history)) == {8: "slower"}
    assert verdicts(downbeat.compare(b, history=history)) == {8: "slower"}


def test_a_history_alone_is_a() -> None:
    b, *history = sessions_as_frames(13, 11)
    found = downbeat.compare(b, history=history)
    means = [np.exp(np.log(one["latency_avg_median"]).mean()) for one in history]
    assert found["a"].iloc[0] == pytest.approx(stats.gmean(means))
    assert found["launches_a"].tolist() == [10]
    assert found.attrs["history_is_a"]
    assert any(line.split() == ["A", "history,", "10", "sessions"] for line in view_lines(comparison_view(found)))


def test_cells_that_the_history_lacks() -> None:
    a, b, *history = sessions_as_frames(14, 9)
    other = rows(np.ones(LAUNCHES), size=16)
    history[0].loc[2, "status"] = "incomplete"
    history[1]["status"] = "wrong"
    found = downbeat.compare(pd.concat([a, other]), pd.concat([b, other]), history=history)
    assert found["sessions"].tolist() == [6, 0]
    assert re.findall(r"\d+", found["reason"].iloc[1]) == ["0", "5"]
    assert found.attrs["tests"] == 1
    assert "1: incomplete" in found.attrs["notes"][0] and "launch 3" in found.attrs["notes"][0]
    alone = downbeat.compare(pd.concat([b, other]), history=[])
    assert set(alone["verdict"]) == {"undecided"}
    assert [re.findall(r"\d+", reason) for reason in alone["reason"]] == [["0", "5"]] * 2


def test_clocks_of_a_history_count() -> None:
    """The error of b - a: twice the bound of a launch, of b and of the mean launch of the history."""
    b, *history = sessions_as_frames(18, 3)
    bounds = (100e-9, 200e-9)
    past = [one.assign(error_bound=bound) for one, bound in zip(history, bounds, strict=True)]
    found = downbeat.compare(b.assign(error_bound=20e-9), history=past, metric="makespan")
    assert found["clock_uncertainty"].tolist() == pytest.approx([2 * (150e-9 + 20e-9)])


def test_the_cells_of_a_history_have_numbers_of_their_own() -> None:
    frames = {"one": rows([1.0, 2.0]), "two": rows([3.0]), "none": rows([4.0], size=16)}
    tables = {name: measured_of(frame, "latency_avg", "median") for name, frame in frames.items()}
    found = history_cells(tables, {"size": 8})
    assert found is not None
    assert found.session.tolist() == ["one", "one", "two"]


def test_the_history_is_of_what_a_is() -> None:
    a, b, *history = sessions_as_frames(15, 9)
    both = [pd.concat([one, rows(np.full(LAUNCHES, 50.0), library="other")]) for one in history]
    found = downbeat.compare(a, b.assign(library="new"), history=both)
    assert found["session_deviation"].tolist() == downbeat.compare(a, b, history=history)["session_deviation"].tolist()
    some = {"library": "some"}
    assert downbeat.compare(a, b, history=both, where_a=some, where_b=some)["sessions"].tolist() == [7]
    with pytest.raises(UsageError, match="the history has library old, other, but not some, which A has"):
        downbeat.compare(
            a, b.assign(library="new"), history=[one.replace({"library": {"some": "old"}}) for one in both]
        )
    with pytest.raises(UsageError, match="A and B are of one experiment"):
        downbeat.compare(a, a, history=history)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command(monkeypatch, capsys)


def write_night(directory: Path, medians: np.ndarray, **attributes: str) -> Path:
    """Writes an experiment of one cell with these medians in us."""
    directory.mkdir(parents=True)
    entry = np.zeros((3, 2))
    for number, median in enumerate(medians):
        write_launch(directory / f"{number:02}.nc", [Cell(entry, entry + median * 1e-6)], **attributes)
    return directory


def test_the_command_with_a_history(tmp_path: Path, run: Run) -> None:
    nights = simulate_sessions(np.random.default_rng(16), 8, 5, deviations(0.01))[0]
    for number, medians in enumerate(nights[:7]):
        # Files without a plan have the name that the library gives itself.
        library = "New MPI 2.0" if number == 3 else "Some MPI 1.0, of a test"
        tolerance = "2e-6" if number == 5 else "1e-6"
        write_night(tmp_path / "nights" / f"{number}", medians, mpi_library=library, tolerance_s=tolerance)
    # In one directory with its history, but not a part of it.
    tonight = write_night(tmp_path / "nights" / "tonight", 1.4 * nights[7], tolerance_s="1e-6")
    status, output, errors = run(
        tonight, "--history", tmp_path / "nights", "--json", tmp_path / "c.json", "--fail-on", "slower"
    )
    assert (status, errors) == (3, "")
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["history"] == ["0", "1", "2", "3", "4", "5", "6"]
    assert [(cell["verdict"], cell["sessions"]) for cell in written["cells"]] == [("slower", 6), ("unmatched", None)]
    assert any(note.startswith("history, ") and note.endswith(" out: 3") for note in written["notes"])
    (difference,) = (note for note in written["notes"] if "tolerance" in note)
    assert "1 of the 6" in difference and "1e-6 / 2e-6" in difference
    # The compared experiment is not a part of the history, wherever it is.
    status, output, _ = run(tmp_path / "nights" / "0", tonight, "--history", tmp_path / "nights", "--fail-on", "slower")
    assert status == 3
    assert ["A", "0,", "5", "launches"] in map(str.split, output.splitlines())
    assert ["history", "5", "of", "6"] in [line.split()[:4] for line in output.splitlines()]


def test_with_a_history_one_experiment_takes_one_condition_and_two_take_two(tmp_path: Path) -> None:
    for name in "abh":
        write_night(tmp_path / name, np.array([1.0, 1.0]))
    a, b, history = (tmp_path / name for name in "abh")

    def read(*words: str | Path) -> tuple[str, str | None, object, object]:
        found = read_arguments([str(word) for word in words], [history])
        assert [each.name for each in found.history or []] == ["h"]
        return found.a.name, found.b.name if found.b else None, *found.where

    assert read(b) == ("b", None, {}, {})
    assert read(b, "size=8") == ("b", None, {"size": "8"}, {"size": "8"})
    assert read(a, b) == ("a", "b", {}, {})
    assert read(a, b, "size=8", "size=16") == ("a", "b", {"size": "8"}, {"size": "16"})
    for words in ((a, b, "size=8"), (b, "size=8", "size=16"), (a, b, "size=8", "size=16", "size=32")):
        with pytest.raises(UsageError, match="; give B, B factor=value"):
            read(*words)


def test_bad_histories_are_named_in_one_line(tmp_path: Path, run: Run) -> None:
    nights = simulate_sessions(np.random.default_rng(17), 2, 5, deviations(0.01))[0]
    a, b = (write_night(tmp_path / name, one) for name, one in zip("ab", nights, strict=True))
    (tmp_path / "empty").mkdir()
    (tmp_path / "papers" / "inside").mkdir(parents=True)
    for arguments, message in [
        ((a, b, "--history", a), "is compared itself; a history consists of other experiments"),
        ((a, b, "--history", tmp_path / "none"), "there is no experiment"),
        ((a, b, "--history", tmp_path / "papers"), "is neither an experiment nor a directory of experiments"),
        ((a, "size=8", "size=16", "--history", b), "1 experiment and 2 conditions; give B, B factor=value"),
    ]:
        status, _, errors = run(*arguments)
        assert (status, errors.count("\n")) == (2, 1)
        assert message in errors
    # The first night has no history yet, which is not an error.
    status, output, errors = run(a, "--history", tmp_path / "empty")
    assert (status, errors) == (0, "")
    assert "Night 1" in output.splitlines()[0]


def seen_by_counting(means: NDArray[np.float64], difference: float, b: float | None) -> bool:
    """Returns the rank rule in other words."""
    count = len(means)
    if b is None:
        larger = [abs(x - y) >= abs(difference) for x, y in itertools.combinations(means, 2)]
        return bool(sum(larger) > (0 if count < 19 else len(larger) / 20))
    at_least_as_far = min(sum(one >= b for one in means), sum(one <= b for one in means))
    return bool(at_least_as_far > 0 if count < 39 else (1 + at_least_as_far) / (count + 1) > 0.05)


@pytest.mark.parametrize("seed", range(60))
def test_the_rank_rule_counts_sessions(seed: int) -> None:
    random = np.random.default_rng(seed)
    means = np.round(random.normal(0, 1, random.integers(1, 70)), int(random.integers(1, 4)))  # some are equal
    for scale in (1.0, 2.0, 3.0):
        b = round(float(random.normal(0, scale)), 1)
        assert seen_before(means, b, b) == seen_by_counting(means, b, b)
        assert seen_before(means, b, None) == seen_by_counting(means, b, None)


def test_the_rank_rule_is_a_test_of_its_level() -> None:
    """Of one more session of the same kind it takes at most 5 % for higher, and as many for lower, however many are."""
    random = np.random.default_rng(7)
    for count in (5, 19, 20, 39, 40, 60):
        drawn = random.standard_cauchy((4000, count + 1))
        higher = np.mean([not seen_before(one[1:], 0.0, one[0]) and one[0] > np.median(one) for one in drawn])
        assert higher <= max(0.05, 1 / (count + 1)) + 3 * math.sqrt(0.05 / 4000)
        assert higher > 0 if count < 100 else True


@pytest.mark.parametrize("seed", range(25))
def test_a_shift_is_found_where_it_is_and_what_was_before_does_not_count(seed: int) -> None:
    random = np.random.default_rng(seed)
    before, after = int(random.integers(12, 300)), int(random.integers(12, 59))
    logs = random.normal(0, 0.005, before + after) + random.choice([-1, 1]) * 0.05 * (
        np.arange(before + after) >= before
    )
    shift = last_shift(logs[-SEARCHED:])
    assert shift is not None
    place = max(0, len(logs) - SEARCHED) + shift.at
    assert abs(place - before) <= 1
    assert abs(shift.logs) == pytest.approx(0.05, abs=0.01)
    assert since(logs) == pytest.approx(before, abs=1)
    # B on the new level is no news; on the old one it is.
    history = [np.exp(one + random.normal(0, 0.005, LAUNCHES)) for one in logs]
    same = compare_across_sessions(None, np.exp(logs[-1:] + random.normal(0, 0.005, LAUNCHES)), history)
    assert same.sessions == len(history) - since(sessions_of(history).means)
    assert abs(math.log(same.ratio.estimate)) < 0.03


def test_a_level_that_was_left_again_and_what_is_no_shift() -> None:
    random = np.random.default_rng(11)
    up = random.normal(0, 0.005, 90)
    up[40:60] += 0.05
    shift = last_shift(up)
    assert shift is not None
    assert (abs(shift.at - 60) <= 1, round(shift.logs, 2)) == (True, -0.05)
    alarms = [last_shift(random.normal(0, 0.02, 120)) for _ in range(40)]
    assert sum(one is not None for one in alarms) <= 1
    assert last_shift(np.where(np.arange(60) >= 55, 0.1, 0.0) + random.normal(0, 0.01, 60)) is None  # five so far
    assert last_shift(np.where(np.arange(60) >= 30, 0.015, 0.0) + random.normal(0, 1e-4, 60)) is None  # below 2 %
    assert last_shift(np.zeros(60)) is None
    exact = last_shift(np.where(np.arange(60) >= 30, 0.1, 0.0))  # without any noise
    assert exact is not None
    assert exact.at == 30
    assert since(np.zeros(300)) == 240
    assert since(np.empty(0)) == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_trend_is_that_of_theil_sen_and_mann_kendall(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, slope = int(random.integers(5, 80)), float(random.choice([0.0, 0.001, 0.003]))
    means = slope * np.arange(count) + random.normal(0, 0.01, count)
    found = trend(means)
    theil = stats.theilslopes(means).slope
    p_value = stats.kendalltau(np.arange(count), means, method="asymptotic").pvalue
    if found:
        assert found == pytest.approx(theil)
        assert p_value < 2e-3
    elif p_value < 5e-4:
        assert abs(theil) * (count - 1) < math.log(1.02)


def test_a_long_history_finds_what_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 sessions, 2 % of them 15 % off: 20 % slower is found, and nothing where nothing is."""
    random = np.random.default_rng(2026)
    _, found, false = histories.shares_of(random, histories.scattered, 300, 60)
    assert found >= 0.9 - 3 * math.sqrt(0.09 / 60)
    assert false <= 0.05 + 3 * math.sqrt(0.05 / 60)
    # The rule that was: outside all sessions. The test can tell.
    monkeypatch.setattr(sessions, "seen_before", lambda means, _difference, b: bool(means.min() <= b <= means.max()))
    monkeypatch.setattr(sessions, "recent", lambda history: history)
    assert histories.shares_of(random, histories.scattered, 300, 60)[1] < 0.75
