"""Hosts made of namespaces are hosts to MPI and to the library: other names, other memory, other clocks.

Every synchronization scheme works across them, and its error bound holds, over a bad wire, too; stamps of their clocks
come on one axis.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from downbeat.align.timebase import open_timebase
from downbeat.align.timebase_start import sampler_command, sampling_start
from downbeat.data.launch_file import open_netcdf
from downbeat.data.pair_file import read_pair_file
from downbeat.locate.live import find_live
from downbeat.output.facts.locate import SlowNode
from downbeat.trace.file import SYSTEM_CLOCKS
from on_hosts import built, need_hosts, run_hosts, truth, under_each_mpi, under_open_mpi

pytestmark = pytest.mark.alone

HOUR = 3600.0  # s
# Few exchanges, by the parameters of schemes and estimators: ranks share processors, and the network is slow.
FEW = {"fit": "10", "over": "0", "rounds": "2", "rtt": "10", "exchanges": "20", "stop": "10"}
APART = ("none", "hierarchical")  # estimates nothing; combines others: test_levels_follow_the_hosts


def with_few_exchanges(mpi: str) -> list[str]:
    """Each scheme of the registry with the parameters of `FEW` that it and its estimators have."""
    listed = subprocess.run(
        [built(mpi, "downbeat-bench"), "list", "scheme", "offset", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    parts = [json.loads(line) for line in listed.stdout.splitlines()]
    estimators = {part["name"]: part for part in parts if part["kind"] == "offset"}

    def few(part: dict[str, Any]) -> str:
        chosen = [f"{one['name']}={FEW[one['name']]}" for one in part["parameters"] if one["name"] in FEW]
        chosen += [
            f"{one['name']}={few(estimators[one['default']])}"
            for one in part["parameters"]
            if one.get("kind") == "offset" and one["default"] in estimators
        ]
        return f"{part['name']}({','.join(chosen)})" if chosen else str(part["name"])

    return [few(part) for part in parts if part["kind"] == "scheme" and part["name"] not in APART]


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


@under_open_mpi
@pytest.mark.parametrize("clock", ["monotonic", "monotonic_raw", "realtime", "tsc", "wtime"])
def test_clocks_with_origins_hours_apart_come_within_the_bound(mpi: str, clock: str) -> None:
    outcome = truth(mpi, hosts=3, env={"DOWNBEAT_CLOCK": clock})
    for each in outcome.synchronizations:
        origins = [rank.monotonic_s for rank in each.ranks]
        assert all(later - earlier > HOUR for earlier, later in itertools.pairwise(origins))
        assert each.clock_domains == 3
        assert all(rank.within_bound for rank in each.ranks), each
        assert max(rank.bound_ns for rank in each.ranks) < HOUR * 1e9 / 1000  # else it would say nothing


@under_each_mpi
def test_every_scheme_keeps_its_bound_across_hosts(mpi: str) -> None:
    need_hosts()
    schemes = with_few_exchanges(mpi)
    outcome = truth(mpi, *schemes, "hierarchical(nodes=netgauge(offset=netgauge(stop=10)))", hosts=3, repetitions=3)
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


@under_open_mpi
@pytest.mark.parametrize("delayed", [None, 2])
def test_locate_names_the_delayed_host_of_four(mpi: str, tmp_path: Path, delayed: int | None) -> None:
    """Delays are long against the turns that hosts of one processor take."""
    need_hosts(wire=True)
    far = [pair for pair in itertools.permutations(range(4), 2) if delayed in pair]
    wire = [word for source, target in far for word in ("--pair", f"{source}:{target}:9e-3:0:0")]
    outcome = run_hosts(
        *("--hosts", "4", "--mpi", mpi, "--delay", "3e-3", *wire, "--", built(mpi, "downbeat-bench"), "pairs"),
        *("--exchanges", "3", "--seed", "1", "-q", "-o", str(tmp_path / "pairs.nc")),
    )
    assert outcome.status == 0, outcome.stderr
    with open_netcdf(tmp_path / "pairs.nc") as file:
        columns = {name: file.variables[name][:] for name in ("pass", "role", "rank_a", "rank_b", "suspect")}
        seconds = file.variables["seconds_ab"][:] + file.variables["seconds_ba"][:]
    accused = find_live(read_pair_file(tmp_path / "pairs.nc"))[0].accused
    nodes = [fact.node.ends for fact in accused if isinstance(fact, SlowNode)]
    if delayed is None:  # hosts 0 and 2, and 1 and 3, may share a processor: slow pairs, and no fault
        assert not accused
        return
    assert nodes == [(f"host{delayed}",)]
    fresh = columns["pass"] == 3
    slow = fresh & (columns["role"] == 1) & ((columns["rank_a"] == delayed) | (columns["rank_b"] == delayed))
    controls = fresh & (columns["role"] == 2) & (columns["suspect"] == columns["suspect"][slow][0])
    assert len(seconds[slow]) == 24
    assert np.median(seconds[slow]) > 2 * np.median(seconds[controls])


@under_open_mpi
@pytest.mark.parametrize("wire", [(), ("--delay", "300e-6:100e-6", "--jitter", "50e-6")])
@pytest.mark.parametrize("seed", [1, 2])
def test_stamps_agree_within_the_bounds(mpi: str, tmp_path: Path, wire: tuple[str, ...], seed: int) -> None:
    """The realtime clock is common to all hosts, the others differ by whole hours.

    The counter of the library is the validation clock, off by up to 300 ppm: nothing is common to that.
    """
    need_hosts(bool(wire))
    start = sampling_start(sampler_command(0.3, 2.5, until_eof=False), mpi, {}, tmp_path / "timebase")
    variables = [f"{name}={value}" for name, value in start.environment.items()]
    outcome = run_hosts(
        *("--hosts", "3", "--mpi", mpi, *wire, "--", "env", *variables, *start.command),
        env={"DOWNBEAT_VALIDATION": f"offset=0.5,skew=300e-6,wander=0.05e-6,seed={seed}"},
    )
    assert outcome.status == 0, outcome.stderr
    hour = round(HOUR * 1e9)  # ns
    base = open_timebase(tmp_path / "timebase")
    assert list(base.ranks) == ["host0", "host1", "host2"]
    for clock in SYSTEM_CLOCKS:
        first, last = (base.local(0, clock).shown[place] for place in (1, -2))
        stamps = np.linspace(first, last, 2000).astype(np.int64)
        reference = base.to_global("host0", clock, stamps)
        for rank, host in enumerate(base.ranks):
            hours = round(int(base.local(rank, clock).shown[0] - base.local(0, clock).shown[0]) / hour)
            assert hours == 0 or clock != "realtime"
            moved = base.to_global(host, clock, stamps + hours * hour)
            error = np.abs(moved.ns - reference.ns)
            assert (error <= moved.bound_ns + reference.bound_ns + 1).all(), (clock, host, error.max())
            assert np.median(moved.bound_ns) < 10**7
    assert not base.steps
