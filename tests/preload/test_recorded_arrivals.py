"""`downbeat arrivals` on real traces: against planned arrivals, and recorded, replayed and recorded again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import downbeat
import numpy as np
import pytest
from downbeat.arrivals.patterns import delays_of
from downbeat.arrivals.table import Arrivals, find_arrivals
from downbeat.mpi.bench import built
from programs import program, run_traced

DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
CALLS = 200
STEP = 20e-6  # s, of planned.c: rank 1 comes 0 to 4 of them after rank 0


def recorded(directory: Path, mpi: str, words: list[str], **variables: str) -> Arrivals:
    """Runs a program; returns what was found in its trace."""
    done = run_traced(directory, mpi, words, **variables)
    assert done.returncode == 0, done.stderr
    return find_arrivals(downbeat.open_trace(directory))


def timed_site(found: Arrivals) -> int:
    """Returns the site of the planned calls: of the two allreduces the one whose ranks come apart."""
    sites = found.sites[found.sites["operation"] == "allreduce"]
    return int(sites.index[int(np.argmax(sites["spread_p50"].to_numpy()))])


@DEBIAN
def test_arrivals_are_those_of_the_plan(mpi: str, tmp_path: Path) -> None:
    clocks = {"DOWNBEAT_VALIDATION": "offset=1,skew=10e-6,wander=1e-9"}
    words = [program(mpi, "planned"), str(CALLS), "2000000"]
    found = recorded(tmp_path / "trace", mpi, words, **clocks)
    site = timed_site(found)
    delays = delays_of(found, site)
    assert delays.shape == (CALLS, 2)
    planned = np.array([STEP * (number % 5) for number in range(CALLS)])
    error = np.median(np.abs(delays[:, 1] - delays[:, 0] - planned))  # an interruption makes a rank later than planned
    assert error <= 1e-6 + found.sites["bound"][site]
    about = found.sites.iloc[site]
    assert about["name"].startswith("planned.c:") or "preload-planned" in about["name"]
    assert about["last_rank"] == 1
    assert abs(about["spread_p50"] - 2 * STEP) <= 1e-6 + about["bound"]


@DEBIAN
def test_recorded_arrivals_can_be_replayed_and_are_the_same_again(mpi: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    recorded(trace, mpi, [program(mpi, "planned"), "40", "2000000"])
    delays = tmp_path / "late.txt"
    first = find_arrivals(downbeat.open_trace(trace))
    site = str(timed_site(first) + 1)
    run_arrivals(trace, "--export", str(delays), "--site", site)
    wanted = np.loadtxt(delays)
    bench = built(mpi)
    assert bench
    words = [bench, "allreduce", "-m", "8", "-r", "80", "--sync", "harmonize", "--tolerance", "5e-6", "-q"]
    again = recorded(tmp_path / "again", mpi, [*words, "--pattern", f"trace(file={delays})"])
    apart = np.sort(delays_of(again, timed_site(again)) @ [-1, 1])
    # The same arrivals as often as they were recorded; half of the calls are those without a pattern, all together.
    for level in (0.6, 0.75, 0.9):
        later = np.quantile(wanted @ [-1, 1], 2 * level - 1)
        assert abs(np.quantile(apart, level) - later) <= 6e-6 + again.bound + first.bound


def run_arrivals(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `downbeat arrivals`."""
    command = [sys.executable, "-m", "downbeat", "arrivals", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_baseline_of_downbeat_run_stands_beside_the_operations(tmp_path: Path) -> None:
    trace, baseline = tmp_path / "trace", tmp_path / "baseline"
    recorded(trace, "openmpi", [program("openmpi", "planned"), "40", "2000000"])
    run = [sys.executable, "-m", "downbeat", "run", "allreduce", "-m", "8", "-n", "2", "-r", "20", "--launches", "1"]
    run += ["--sync", "harmonize", "--tolerance", "5e-6", "--mpi", "openmpi", "-o", str(baseline)]
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0
    content: dict[str, Any] = json.loads(run_arrivals(trace, "--baseline", baseline, "--json", "-").stdout)
    times = [site["baseline"] for site in content["sites"] if site["operation"] == "allreduce"]
    assert len(times) == 2
    assert all(0 < time < 1e-2 for time in times)
    assert [site["baseline"] for site in content["sites"] if site["operation"] == "bcast"] == [None]


def test_what_is_no_trace_is_refused_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "downbeat", "arrivals", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "has no trace" in done.stderr
