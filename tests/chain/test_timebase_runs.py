"""`downbeat timebase` beside a command and under a launcher: stamps of two processes agree within their bounds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from downbeat.launchers.launch import choose_launcher, environment, places_of
from downbeat.timebase import open_timebase
from downbeat.traces.file import SYSTEM_CLOCKS as CLOCKS

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
DOWNBEAT = (sys.executable, "-m", "downbeat", "timebase")


def run(where: Path, variables: Mapping[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    """Runs a command, which has two minutes."""
    return subprocess.run(
        [*map(str, words)],
        cwd=where,
        env={**variables, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(("command", "status"), [("sleep 0.6", 0), ("exit 3", 3)])
def test_a_command_is_sampled_to_its_end(tmp_path: Path, command: str, status: int, library: str) -> None:
    variables = environment(*choose_launcher(library, None), None, places_of(1))
    done = run(tmp_path, variables, *DOWNBEAT, "--mpi", library, "--interval", 0.1, "--", "sh", "-c", command)
    assert done.returncode == status, done.stderr
    base = open_timebase(tmp_path / "timebase")
    samples = base.offsets[base.offsets["clock"] == "realtime"]
    assert len(samples) >= (5 if status == 0 else 2)
    # The axis began at this clock.
    assert abs(samples["offset_ns"].iloc[-1]) < 10**8
    assert "axis minus realtime clock" in done.stderr


def test_processes_of_a_launcher_find_each_other(tmp_path: Path, library: str) -> None:
    chosen, launcher = choose_launcher(library, None)
    places = places_of(2)
    variables = environment(chosen, launcher, None, places)
    known = {"DOWNBEAT_VALIDATION": "offset=1,skew=300e-6,wander=0.05e-6,seed=5"}
    words = [launcher, "-n", 2, *chosen.arguments(places), *DOWNBEAT, "--mpi", library]
    done = run(tmp_path, variables | known, *words, "--interval", 0.2, "--seconds", 1.5)
    assert done.returncode == 0, done.stderr
    base = open_timebase(tmp_path / "timebase")
    one, other = base.ranks  # of one host, whose system clocks are the same
    for clock in CLOCKS:
        shown = base.local(0, clock).shown
        stamps = np.linspace(shown[1], shown[-2], 500).astype(np.int64)
        moved, again = (base.to_global(host, clock, stamps) for host in (one, other))
        assert (np.abs(moved.ns - again.ns) <= moved.bound_ns + again.bound_ns + 1).all()
        assert np.median(again.bound_ns) < 10**7
    refused = run(tmp_path, variables, *words, "--", "true")
    assert refused.returncode != 0
    assert "put it before the launcher: downbeat timebase -- srun ..." in refused.stderr
