"""Stamps of several hosts' clocks on one axis: hosts whose clocks are hours apart, and whose truth is known.

The realtime clock is common to all hosts, the others differ by whole hours. The counter of the library is the
validation clock, off by up to 300 ppm: nothing is common to that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from downbeat.align.timebase import open_timebase
from downbeat.align.timebase_start import sampler_command, sampling_start
from downbeat.trace.file import SYSTEM_CLOCKS as CLOCKS
from on_hosts import need_hosts, run_hosts, under_open_mpi

pytestmark = pytest.mark.alone

HOUR = 3600 * 10**9


@under_open_mpi
@pytest.mark.parametrize("wire", [(), ("--delay", "300e-6:100e-6", "--jitter", "50e-6")])
@pytest.mark.parametrize("seed", [1, 2])
def test_stamps_agree_within_the_bounds(mpi: str, tmp_path: Path, wire: tuple[str, ...], seed: int) -> None:
    need_hosts(bool(wire))
    start = sampling_start(sampler_command(0.3, 2.5, until_eof=False), mpi, {}, tmp_path / "timebase")
    variables = [f"{name}={value}" for name, value in start.environment.items()]
    outcome = run_hosts(
        *("--hosts", "3", "--mpi", mpi, *wire, "--", "env", *variables, *start.command),
        env={"DOWNBEAT_VALIDATION": f"offset=0.5,skew=300e-6,wander=0.05e-6,seed={seed}"},
    )
    assert outcome.status == 0, outcome.stderr
    base = open_timebase(tmp_path / "timebase")
    assert list(base.ranks) == ["host0", "host1", "host2"]
    for clock in CLOCKS:
        first, last = (base.local(0, clock).shown[place] for place in (1, -2))
        stamps = np.linspace(first, last, 2000).astype(np.int64)
        reference = base.to_global("host0", clock, stamps)
        for rank, host in enumerate(base.ranks):
            hours = round(int(base.local(rank, clock).shown[0] - base.local(0, clock).shown[0]) / HOUR)
            assert hours == 0 or clock != "realtime"
            moved = base.to_global(host, clock, stamps + hours * HOUR)
            error = np.abs(moved.ns - reference.ns)
            assert (error <= moved.bound_ns + reference.bound_ns + 1).all(), (clock, host, error.max())
            assert np.median(moved.bound_ns) < 10**7
    assert not base.steps
