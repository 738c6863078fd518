"""Launches in two modes, and correlated launches: what is found, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from downbeat.run.estimates import Estimates
from downbeat.run.experiment import FACTORS, launch_lines
from downbeat.run.plan import LaunchKey
from downbeat.statistics.modes import correlation, inflation, launches_to_see, two_modes, unseen_share, unseen_text
from downbeat_papers.claims import Finding
from downbeat_papers.evidence import factor_of
from downbeat_papers.judgement import judge

from tests.statistics.simulated import autoregressive


def resembling(random: np.random.Generator, launches: int) -> np.ndarray:
    return 0.02 * autoregressive(random, (launches,), 0.8)


def test_launches_leave_a_share_unseen() -> None:
    for launches in (1, 5, 10, 30):
        assert (1 - unseen_share(launches)) ** launches == pytest.approx(0.05)
    assert [launches_to_see(share) for share in (0.05, 0.1, 0.45)] == [59, 29, 6]
    missed = "launches leave unseen what happens in up to"
    more = "of launches (29 show 10 %, 59 show 5 %), and whether launches are correlated"
    assert unseen_text(5) == f"5 {missed} 45 % {more}"
    assert unseen_text(30) == f"30 {missed} 10 % of launches (59 show 5 %)"
    assert unseen_text(59) == f"59 {missed} 5 % of launches"


@pytest.mark.parametrize("launches", [5, 10, 30])
def test_two_modes_are_seen_and_rarely_where_there_is_one(launches: int) -> None:
    random = np.random.default_rng(1)
    one = sum(two_modes(random.lognormal(0, 0.02, launches)) is not None for _ in range(1000))
    assert one <= 23  # 1 %, and four standard errors
    both = np.concatenate([random.uniform(0.19, 0.23, launches - 2), random.uniform(0.71, 0.87, 2)])
    found = two_modes(random.permutation(both))
    assert found
    assert [len(mode) for mode in found] == [launches - 2, 2]


def test_gaps_that_do_not_matter_are_no_modes() -> None:
    assert two_modes(np.repeat([1.0, 1.019], 5)) is None
    assert two_modes(np.repeat([1.0, 1.021], 5)) is not None
    assert two_modes(np.full(9, 2.0)) is None
    assert two_modes([1.0, 1.0, 2.0, 2.0]) is None  # too few


def test_a_resemblance_to_the_launch_before_is_seen() -> None:
    random = np.random.default_rng(2)
    alone = sum(correlation(random.normal(size=20)) > 0 for _ in range(1000))
    assert alone <= 85
    assert sum(correlation(resembling(random, 20)) > 0 for _ in range(200)) >= 160
    assert correlation(resembling(random, 4)) == 0
    assert inflation(np.arange(20.0)) > 2 > inflation(random.normal(size=20)) >= 1


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
    assert "launches come in two modes" in line
    assert "x 1 (0.199" in line
    assert "us in 7, 0.749 us in 3)" in line
    assert launch_lines(cells(steady), "latency_avg_median") == []
    drift = cells(np.linspace(1, 1.2, 10) * steady, np.linspace(3, 3.6, 10) * steady)
    (line,) = launch_lines(drift, "latency_avg_median")
    assert line.startswith("launches resemble the one before (correlation ")
    assert launch_lines(drift, "latency_avg_median", pairs=True) == []


def test_a_width_is_not_reached_by_launches_that_resemble_each_other() -> None:
    random = np.random.default_rng(4)
    widths, ended = [], 0
    for medians in (np.exp(random.normal(0, 0.02, 40)), np.exp(resembling(random, 40))):
        estimates = Estimates()
        for launch, row in cells(medians).groupby("launch"):
            estimates.frames[LaunchKey("x", 2, "x", int(str(launch)), variant="x")] = row
        widths.append(estimates.widest() / max(interval.width for interval in estimates.intervals().values()))
        ended += estimates.resemblance() == 0
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
