"""The figures of Hoefler 2008: what is drawn of exchanges whose truth is known, and claims on simulated launches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat_papers.evidence import Undecidable
from downbeat_papers.figure import Finding
from downbeat_papers.hoefler2008.barrier_effect import barrier_findings
from downbeat_papers.hoefler2008.clock_drift import linear_evidence
from downbeat_papers.hoefler2008.own_times import launch_values, own_times
from downbeat_papers.hoefler2008.pipelining import CALLS, SCHEMES, pipelining_findings
from downbeat_papers.hoefler2008.process_skew import skew_findings
from downbeat_papers.hoefler2008.round_trips import (
    EXCHANGES,
    WAYS,
    offset_errors,
    round_trip_findings,
    survival,
)
from downbeat_papers.hoefler2008.stop_rule import COUNTED, stop_rule_findings
from downbeat_papers.hoefler2008.synchronization_time import LINEAR, TREE, Costs, scheme_findings, steps
from downbeat_papers.judgement import judge
from downbeat_papers.results import Results
from papers_site import site

LAUNCHES = 5
TRUTH = 0.25  # s
TREND = 1e-6  # s, by which the clocks drift apart over a recording


def exchanges(forth: np.ndarray, back: np.ndarray, known: bool = True) -> xr.Dataset:
    """Returns a file of the experiment rtt, of messages that took so long, s."""
    count = len(forth)
    truth = TRUTH + np.linspace(0.0, TREND, count)
    data = {
        "rtt": (("pair", "sample"), [forth + back]),
        "clock_difference": (("pair", "sample"), [truth + forth]),
    }
    ends = {"true_offset_before": ("pair", [TRUTH]), "true_offset_after": ("pair", [TRUTH + TREND])}
    return xr.Dataset(data | (ends if known else {}))


def seen(findings: tuple[Finding, ...] | list[Finding]) -> list[bool | None]:
    """Returns what becomes of the claims."""
    return [one.agrees for one in judge(findings) if one.finding.is_claim]


def around(centre: float, deviation: float = 0.05, seed: int = 1) -> pd.Series:
    """Returns a value of each launch, within some percent of a centre."""
    random = np.random.default_rng(seed)
    return pd.Series(centre * np.exp(deviation * random.standard_normal(LAUNCHES)), index=range(LAUNCHES))


# Figure 4.


def test_an_offset_is_off_by_half_of_what_one_way_takes_longer() -> None:
    errors = offset_errors(exchanges(np.full(4 * EXCHANGES, 3e-6), np.full(4 * EXCHANGES, 1e-6)))
    assert errors == pytest.approx(dict.fromkeys(WAYS, 1e-6), rel=1e-6)


def test_each_way_takes_the_exchanges_that_its_name_says() -> None:
    forth, back = np.full(EXCHANGES, 2e-6), np.full(EXCHANGES, 2e-6)
    forth[7] = back[7] = 1e-6  # the only one that is symmetric
    forth[8:] += 4e-6
    errors = offset_errors(exchanges(forth, back))
    assert errors is not None
    assert errors["shortest round trip"] == pytest.approx(0.0, abs=1e-12)
    assert errors["mean of the quarter with the shortest"] == pytest.approx(37 / 45 * 2e-6, rel=1e-4)
    assert errors["median"] == pytest.approx(2e-6, rel=1e-4)
    assert errors["mean"] == pytest.approx(172 / 180 * 2e-6, rel=1e-4)


def test_without_the_truth_nothing_can_be_told_of_offsets() -> None:
    data = exchanges(np.full(EXCHANGES, 2e-6), np.full(EXCHANGES, 2e-6), known=False)
    assert offset_errors(data) is None
    finding, number = round_trip_findings({"a": [None] * LAUNCHES}, "described")
    assert isinstance(finding.evidence, Undecidable)
    assert number.here == "described"
    assert not number.is_claim


def measured_errors(random: np.random.Generator, noisy: bool) -> dict[str, float]:
    """Returns errors of a launch: latencies vary in one direction more than in the other, or hardly."""
    count = 20 * EXCHANGES
    jitter = random.normal(0.0, 20e-9, (2, count))
    tail = random.pareto(1.5, (2, count)) * (random.random((2, count)) < 0.6) * 1e-6
    forth, back = 1.5e-6 + (np.abs(jitter) + tail * [[1.0], [0.3]] if noisy else jitter)
    errors = offset_errors(exchanges(forth, back))
    assert errors is not None
    return errors


def test_where_latencies_vary_the_shortest_quarter_is_best() -> None:
    random = np.random.default_rng(3)
    noisy = {"tcp": [measured_errors(random, True) for _ in range(LAUNCHES)]}
    quiet = {"quiet": [measured_errors(random, False) for _ in range(LAUNCHES)]}
    assert seen(round_trip_findings(noisy, "")) == [True]
    # Of Gaussian noise the mean of all is better than that of some.
    assert seen(round_trip_findings(quiet, "")) == [False]
    assert seen(round_trip_findings(noisy | quiet, "")) == [False]


def test_the_tail_is_there_to_the_last() -> None:
    values = np.arange(1.0, 1001.0)
    times, shares = survival(values)
    assert (times[0], shares[0]) == (1.0, 1.0)
    assert times[-1] == 1000.0
    assert shares[-1] == pytest.approx(1e-3)
    assert np.interp(900.0, times, shares) == pytest.approx(0.1, abs=0.01)


# Claims: seen where launches have the effect, denied where they have the opposite, open where there is none.


def pipelining(ratio: float, root: float) -> list[bool | None]:
    in_a_row = {calls: around(ratio, seed=calls) for calls in CALLS[1:]}
    listings = {scheme: around(1.0) for scheme in SCHEMES}
    return seen(pipelining_findings(in_a_row, around(root, seed=2), listings, around(1.0)))


def test_pipelining() -> None:
    assert pipelining(0.5, 0.6) == [True, True]
    assert pipelining(1.5, 0.6) == [False, True]
    assert pipelining(1.0, 1.0) == [None, None]


def test_process_skew() -> None:
    def skew(late: float, leaving: float, coming: float) -> list[bool | None]:
        return seen(skew_findings(around(late), around(1.0), around(leaving, seed=2), around(coming, seed=3)))

    assert skew(0.4, 4.0, 10.0) == [True, True, True]
    assert skew(2.0, 4.0, 0.5) == [False, True, False]
    assert skew(1.0, 1.0, 1.0) == [None, None, None]


def test_barrier_effect() -> None:
    def barriers(skew: float, latency: float, messages: float) -> list[bool | None]:
        return seen(
            barrier_findings(around(skew), around(0.3), around(latency, 0.02, seed=2), around(messages, 0.02, seed=3))
        )

    assert barriers(5.0, 0.7, 1.5) == [True, True, True]
    assert barriers(5.0, 1.4, 1.0) == [True, True, False]  # slower after it is an effect, too
    assert barriers(1.0, 1.0, 1.1) == [None, False, None]


def test_the_stop_rule_is_judged_by_its_error_and_not_by_its_cost() -> None:
    def rule(*excesses: float) -> list[bool | None]:
        networks = {f"net {i}": (list(around(excess, seed=i)), [178.0] * LAUNCHES) for i, excess in enumerate(excesses)}
        return seen(stop_rule_findings(networks))

    assert rule(4.0, 7.0) == [True]
    assert rule(4.0, 17.0) == [False]
    assert rule(4.0, 10.0) == [None]
    findings = stop_rule_findings({"a": ([5.0], [178.0])})
    assert [one.is_claim for one in findings] == [True, False]
    assert "by counting 178" in findings[1].here


def test_the_cost_follows_from_counting() -> None:
    """After k round trips, the next to be shorter than all is beyond the m-th with probability k / m."""
    random = np.random.default_rng(4)
    n, runs, costs = 100, 4000, 0.0
    for _ in range(runs):
        last = 1
        while (following := int(np.ceil(last / random.random()))) <= last + n:
            last = max(following, last + 1)
        costs += last + n
    assert costs / runs == pytest.approx(COUNTED * n, rel=0.03)


def test_schemes() -> None:
    def schemes(ranks: int, time: float, messages: float) -> list[bool | None]:
        kinds = {
            LINEAR: Costs(list(around(time, seed=5)), list(around(messages, 0.01, seed=6))),
            TREE: Costs(list(around(1.0, seed=7)), list(around(1.0, 0.01, seed=8))),
        }
        results = Results("hoefler2008-fig8", site((2, 4, 8), cores=4), (), {})
        return seen(scheme_findings(ranks, kinds, results))

    assert steps(128) == 7
    assert schemes(2, 1.0, 1.0) == []
    assert schemes(4, 1.5, 1.5) == [True, True]
    assert schemes(4, 1.0, 1.0) == [False, False]
    assert schemes(8, 2.0, 7 / 3) == [None, True]  # eight ranks share four cores


def test_a_line_that_was_made_is_no_finding() -> None:
    def on(clocks: str, *hosts: str) -> list[xr.Dataset]:
        return [xr.Dataset({"host": ("rank", list(hosts))}, attrs={"clock_validation": clocks})] * LAUNCHES

    for files in (on("skew=8e-6", "a", "b"), on("off", "a", "a")):
        assert isinstance(linear_evidence([0.1] * LAUNCHES, files), Undecidable)
    finding = Finding("", "", "", linear_evidence(list(around(0.2)), on("off", "a", "b")))
    assert seen([finding]) == [True]


def test_own_times_are_less_the_reading_of_the_clock() -> None:
    cells = pd.DataFrame(
        {
            "launch": [2, 2, 1, 1, 1],
            "operation": ["bcast", "nothing", "nothing", "bcast", "bcast"],
            "size": [8, 0, 0, 8, 64],
            "timing": "per_call",
            "latency_max_median": [5.0, 1.0, 0.5, 3.0, 9.0],
        }
    )
    results = Results("", site(), (), {})
    results.__dict__["cells"] = cells
    found = own_times(results, "latency_max_median", "bcast", size=8, timing="per_call")
    assert found.to_dict() == {1: 2.5, 2: 4.0}
    assert launch_values(cells, "latency_max_median", operation="bcast", size=64).to_dict() == {1: 9.0}
