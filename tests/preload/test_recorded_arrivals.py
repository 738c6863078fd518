"""`downbeat arrivals` on real traces: recorded, replayed and recorded again; beside a baseline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import downbeat
import numpy as np
import pytest
from downbeat.run.bench import built
from downbeat.trace.arrivals import Arrivals, find_arrivals
from downbeat.trace.patterns import delays_of
from programs import program, run_traced

pytestmark = pytest.mark.thorough
DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])


def recorded(directory: Path, mpi: str, words: list[str], **variables: str) -> tuple[Arrivals, str]:
    """Runs a program; returns what was found in its trace, and what it printed."""
    done = run_traced(directory, mpi, words, **variables)
    assert done.returncode == 0, done.stderr
    return find_arrivals(downbeat.open_trace(directory)), done.stdout


def timed_site(found: Arrivals, calls: int) -> int:
    """Returns the site of the timed calls: of the allreduces with so many calls the one whose ranks come apart."""
    sites = found.sites[(found.sites["operation"] == "allreduce") & (found.sites["calls"] >= calls)]
    return int(sites.index[int(np.argmax(sites["spread_p50"].to_numpy()))])


def planned_site(found: Arrivals) -> int:
    """Returns the site of the planned allreduce: the program begins it after the one that warms up."""
    sites = found.sites.index[found.sites["operation"] == "allreduce"]
    begun = found.rows[found.rows["site"].isin(sites)].groupby("site", observed=True)["entry"].min()
    return int(begun.index.to_numpy()[int(np.argmax(begun.to_numpy()))])


@DEBIAN
def test_recorded_arrivals_can_be_replayed_and_are_the_same_again(mpi: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    first, _ = recorded(trace, mpi, [program(mpi, "planned"), "40", "2000000"])
    delays = tmp_path / "late.txt"
    site = str(planned_site(first) + 1)
    run_arrivals(trace, "--export", str(delays), "--site", site)
    bench = built(mpi)
    assert bench
    words = [bench, "allreduce", "-m", "8", "-r", "80", "--sync", "harmonize", "--tolerance", "5e-6", "-q"]
    again, _ = recorded(tmp_path / "again", mpi, [*words, "--pattern", f"trace(file={delays})"])
    wanted = np.loadtxt(delays) @ [-1, 1]
    replayed = delays_of(again, timed_site(again, 80)) @ [-1, 1]
    limit = 6e-6 + again.bound + first.bound  # the tolerance, and what an entry takes
    # Every recorded call comes again, and what comes is a recorded call, or all ranks together without the pattern.
    assert np.mean([np.abs(replayed - one).min() <= limit for one in wanted]) >= 0.9
    assert np.mean([np.abs(np.append(wanted, 0.0) - one).min() <= limit for one in replayed]) >= 0.9


def run_arrivals(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `downbeat arrivals`."""
    command = [sys.executable, "-m", "downbeat", "arrivals", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_baseline_of_downbeat_run_stands_beside_the_operations(tmp_path: Path) -> None:
    trace, baseline = tmp_path / "trace", tmp_path / "baseline"
    recorded(trace, "openmpi", [program("openmpi", "planned"), "40", "2000000"])
    run = [sys.executable, "-m", "downbeat", "run", "allreduce", "-m", "8", "-n", "2", "-r", "20", "--launches", "5"]
    run += ["--sync", "harmonize", "--mpi", "openmpi", "-o", str(baseline), "--", "--tolerance", "5e-6"]
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0
    content: dict[str, Any] = json.loads(run_arrivals(trace, "--baseline", baseline, "--json", "-").stdout)
    times = [site["baseline"] for site in content["sites"] if site["operation"] == "allreduce"]
    assert len(times) == 2
    assert all(0 < time < 1e-2 for time in times)
    assert [site["baseline"] for site in content["sites"] if site["operation"] == "barrier"] == [None]


@pytest.mark.parametrize(
    ("options", "said"), [((), "has no trace"), (("--site", "2"), "--site says which arrivals to export; add --export")]
)
def test_what_cannot_be_done_is_refused_in_one_line(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "downbeat", "arrivals", str(tmp_path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
