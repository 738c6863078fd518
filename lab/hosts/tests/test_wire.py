"""The wire between hosts does what it is asked to, and clocks are synchronized over a bad one, too."""

from __future__ import annotations

import pytest
from on_hosts import truth, under_open_mpi

pytestmark = pytest.mark.alone


@under_open_mpi
def test_bounds_hold_over_a_wire_that_loses_frames_and_jitters(mpi: str) -> None:
    wire = ["--delay", "200e-6:500e-6", "--jitter", "1e-3", "--loss", "0.02"]
    outcome = truth(mpi, hosts=3, wire=wire, repetitions=3)
    assert outcome.frames_lost > 0
    for each in outcome.synchronizations:
        assert each.clock_domains == 3
        assert all(rank.within_bound for rank in each.ranks), each


@under_open_mpi
def test_a_pair_has_delays_of_its_own(mpi: str) -> None:
    """The bound is half the round trip, and the error half the difference of both directions (lib/tests)."""
    outcome = truth(
        mpi, "skampi(offset=skampi(min=10,max=20))", hosts=3, wire=["--pair", "0:2:40e-3:0:0"], repetitions=2
    )
    assert all(each.ranks[2].within_bound for each in outcome.synchronizations)
    least = min((each.ranks[2] for each in outcome.synchronizations), key=lambda rank: rank.bound_ns)
    assert least.bound_ns >= 20e6
    assert least.error_ns == pytest.approx(-20e6, rel=0.3)
    assert min(each.ranks[1].bound_ns for each in outcome.synchronizations) < 10e6
    assert outcome.frames_lost == 0
