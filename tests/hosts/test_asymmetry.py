"""What no estimator can see: a network that is slower one way than the other.

With a delay of d there and d' back, every estimator of the offset between two clocks is wrong by half the difference,
however it chooses among its exchanges: half the round trip is not the way (Hoefler 2008, section 2). The error bound
has to know.
"""

from __future__ import annotations

import statistics
import subprocess

import pytest
from on_hosts import Outcome, built, truth, under_each_mpi

# Large against what time slices of other programs add to them.
THERE = 12e-3  # seconds from host 0 to host 1
BACK = 2e-3
BIAS_NS = (BACK - THERE) / 2 * 1e9  # of host 1's global clock; that of host 0 is right by definition
REPETITIONS = 3
ESTIMATORS = {
    "best_rtt": "best_rtt(exchanges=20)",
    "cristian": "cristian(exchanges=20)",
    "mean_rtt": "mean_rtt(rtt=20,exchanges=21)",
    "netgauge": "netgauge(stop=12)",
    "skampi": "skampi(min=10,max=20)",
}


def every_estimator(mpi: str, delay: str) -> tuple[Outcome, dict[str, float]]:
    """Returns the outcome, and host 1's median error in ns for each estimator."""
    names = subprocess.run([built(mpi, "truth"), "--parts", "offset"], capture_output=True, text=True, check=True)
    assert sorted(names.stdout.split()) == sorted(ESTIMATORS), "an estimator that is not tried"
    schemes = [f"hca3_offset(offset={each})" for each in ESTIMATORS.values()]
    outcome = truth(mpi, *schemes, wire=["--delay", delay], repetitions=REPETITIONS)
    errors = [each.ranks[1].error_ns for each in outcome.synchronizations]
    medians = {
        name: statistics.median(errors[i * REPETITIONS : (i + 1) * REPETITIONS]) for i, name in enumerate(ESTIMATORS)
    }
    return outcome, medians


@under_each_mpi
def test_asymmetry_biases_every_estimator_by_half_of_it_and_the_bound_says_so(mpi: str) -> None:
    outcome, medians = every_estimator(mpi, f"{THERE}:{BACK}")
    for name, median in medians.items():
        assert median == pytest.approx(BIAS_NS, rel=0.3), name
    for each in outcome.synchronizations:
        assert each.ranks[1].within_bound, each
        assert each.ranks[1].bound_ns >= (THERE + BACK) / 2 * 1e9  # the other extreme was as likely, for all it knows


@under_each_mpi
def test_equal_delays_bias_no_estimator(mpi: str) -> None:
    outcome, medians = every_estimator(mpi, f"{(THERE + BACK) / 2}")
    for name, median in medians.items():
        assert abs(median) < 0.3 * abs(BIAS_NS), name
    assert all(each.ranks[1].within_bound for each in outcome.synchronizations)
