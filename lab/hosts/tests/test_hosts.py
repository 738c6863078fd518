"""Hosts made of namespaces are hosts to MPI and to the library: other names, other memory, other clocks."""

from __future__ import annotations

import itertools

import pytest
from on_hosts import truth, under_each_mpi

pytestmark = pytest.mark.alone

HOUR = 3600.0


@under_each_mpi
@pytest.mark.parametrize("clock", ["monotonic", "tsc"])
def test_ranks_share_a_clock_within_a_host_and_nowhere_else(mpi: str, clock: str) -> None:
    outcome = truth(mpi, ranks_per_host=2, env={"DOWNBEAT_CLOCK": clock})
    for each in outcome.synchronizations:
        assert each.clock == clock
        assert [rank.host for rank in each.ranks] == ["host0", "host0", "host1", "host1"]
        assert [rank.node for rank in each.ranks] == [0, 0, 2, 2]
        assert each.clock_domains == 2
        assert all(rank.within_bound for rank in each.ranks), each
        # Within a host nothing is estimated; between hosts it is, over a network.
        assert each.ranks[1].bound_ns < each.ranks[2].bound_ns


@under_each_mpi
@pytest.mark.parametrize("clock", ["monotonic", "monotonic_raw", "realtime", "tsc", "wtime"])
def test_clocks_with_origins_hours_apart_come_within_the_bound(mpi: str, clock: str) -> None:
    outcome = truth(mpi, hosts=3, env={"DOWNBEAT_CLOCK": clock})
    for each in outcome.synchronizations:
        origins = [rank.monotonic_s for rank in each.ranks]
        assert all(later - earlier > HOUR for earlier, later in itertools.pairwise(origins))
        assert each.clock_domains == 3
        assert all(rank.within_bound for rank in each.ranks), each
        assert max(rank.bound_ns for rank in each.ranks) < HOUR * 1e9 / 1000  # else it would say nothing
