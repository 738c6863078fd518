"""Every synchronization scheme works across hosts, and its error bound holds there."""

from __future__ import annotations

import subprocess

import pytest
from on_hosts import built, need_hosts, truth, under_each_mpi

pytestmark = pytest.mark.alone

# Every scheme, with few exchanges: the processors are shared by the ranks, and the network is slow.
FEW = "fit=10,over=0,offset=mean_rtt(rtt=10,exchanges=10)"
SCHEMES = {
    "cristian": "cristian(offset=cristian(exchanges=20))",
    "disciplined": "disciplined(rounds=2)",
    "hca": f"hca({FEW})",
    "hca2": f"hca2({FEW})",
    "hca3": f"hca3({FEW})",
    "hca3_offset": "hca3_offset",
    "hierarchical": "hierarchical(nodes=netgauge(offset=netgauge(stop=10)),within=propagate)",
    "jk": f"jk({FEW})",
    "netgauge": "netgauge(offset=netgauge(stop=10))",
    "skampi": "skampi",
}


@under_each_mpi
def test_every_scheme_keeps_its_bound_across_hosts(mpi: str) -> None:
    need_hosts()
    names = subprocess.run([built(mpi, "truth"), "--components", "scheme"], capture_output=True, text=True, check=True)
    assert sorted(names.stdout.split()) == sorted([*SCHEMES, "none"]), "a scheme that is not tried across hosts"
    outcome = truth(mpi, *SCHEMES.values(), hosts=3, repetitions=3)
    for each in outcome.synchronizations:
        assert each.clock_domains == 3
        assert all(rank.within_bound for rank in each.ranks), each


@under_each_mpi
def test_clocks_that_are_one_are_taken_as_they_are(mpi: str) -> None:
    environment = {"DOWNBEAT_CLOCK": "realtime", "DOWNBEAT_SHARE": "never"}
    outcome = truth(mpi, "none", hosts=3, repetitions=3, env=environment)
    for each in outcome.synchronizations:
        assert all(rank.within_bound for rank in each.ranks), each
        # At most the duration of the readings.
        assert all(abs(rank.error_ns) <= rank.uncertainty_ns + 1000.0 for rank in each.ranks), each


@under_each_mpi
def test_levels_follow_the_hosts(mpi: str) -> None:
    outcome = truth(
        mpi,
        "hierarchical(nodes=skampi,within=propagate)",
        "hierarchical(nodes=jk(fit=10,over=0,offset=skampi),within=skampi)",
        ranks_per_host=2,
        repetitions=3,
    )
    for each in outcome.synchronizations:
        assert each.clock_domains == 2
        assert all(rank.within_bound for rank in each.ranks), each
