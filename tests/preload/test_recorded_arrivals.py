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
from downbeat.launchers.bench import built
from downbeat.traces.arrivals import Arrivals, find_arrivals
from downbeat.traces.patterns import delays_of
from programs import program, run_traced
from scipy.stats import theilslopes

pytestmark = pytest.mark.thorough
DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
CALLS = 200
PERIOD, STEP = 2_000_000, 20_000  # ns: between calls; rank 1 comes 0 to 4 steps late (planned.c)


def recorded(directory: Path, mpi: str, words: list[str], **variables: str) -> tuple[Arrivals, str]:
    """Runs a program; returns what was found in its trace, and what it printed."""
    done = run_traced(directory, mpi, words, **variables)
    assert done.returncode == 0, done.stderr
    return find_arrivals(downbeat.open_trace(directory)), done.stdout


def planned(directory: Path, mpi: str, *arguments: str) -> tuple[Arrivals, np.ndarray, np.ndarray]:
    """Runs the planned program on drifting clocks.

    Returns:
        The arrivals in its trace; by call and rank the entry, the exit and the end of computing on the program's own
        clock, shape (CALLS, 2, 3), ticks; and which calls came as planned, shape (CALLS,). On a busy machine others do
        not, and interruptions between the program's reading of its clock and ours are as frequent in them.
    """
    clocks = {"DOWNBEAT_VALIDATION": "offset=1,skew=10e-6,wander=1e-9"}
    words = [program(mpi, "planned"), str(CALLS), str(PERIOD), *arguments]
    found, said = recorded(directory, mpi, words, **clocks)
    ticks = np.zeros((CALLS, 2, 3))
    for line in said.splitlines():
        rank, call, *read = map(int, line.split()[1:])
        ticks[call, rank] = [one % 10**15 for one in read]
    numbers = np.arange(CALLS)
    first, second = ticks[:, :, 0].T
    ticks_per_ns = theilslopes(first, numbers * PERIOD)[0]
    late = (second - first) / ticks_per_ns - STEP * (numbers % 5)
    # The plan of each rank begins when it leaves a barrier: most calls are late by the same.
    alike = np.abs(late[:, None] - late) < 2000
    kept = alike[np.argmax(alike.sum(axis=1))]
    assert kept.sum() >= CALLS / 20
    return found, ticks, kept


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
def test_arrivals_are_those_that_the_program_saw(mpi: str, tmp_path: Path) -> None:
    found, read, kept = planned(tmp_path / "trace", mpi)
    ticks = read[:, :, 0]
    site = planned_site(found)
    delays = delays_of(found, site)
    assert delays.shape == (CALLS, 2)
    rows = found.rows[(found.rows["site"] == site) & (found.rows["rank"] == 0)]
    second = theilslopes(rows["entry"], ticks[:, 0])[0]  # of the program's clock on that of the trace
    seen = second * (ticks @ [-1, 1])
    error = np.abs(delays @ [-1, 1] - seen)
    assert np.quantile(error[kept], 0.5) <= 0.5e-6 + found.sites["bound"][site]
    about = found.sites.iloc[site]
    assert about["name"].startswith("planned.c:") or "preload-planned" in about["name"]
    if kept.mean() > 0.6:  # what is said of the site follows from all calls
        assert about["last_rank"] == int(np.mean(seen > 0) > 0.5)
        assert abs(about["spread_p50"] - np.median(np.abs(seen))) <= 0.5e-6 + about["bound"]


@DEBIAN
def test_what_a_rank_waits_for_a_nonblocking_collective_is_what_the_program_saw(mpi: str, tmp_path: Path) -> None:
    computes = 10e-6  # s, less than the other rank may be late
    found, read, kept = planned(tmp_path / "trace", mpi, f"{computes * 1e9:.0f}")
    entry, waited = read[:, :, 0], read[:, :, 2]
    (site,) = found.sites.index[found.sites["kind"] == "nonblocking"]
    assert found.sites["calls"][site] == CALLS
    rows = found.rows[found.rows["site"] == site]
    first, other = (rows[rows["rank"] == rank].reset_index(drop=True) for rank in (0, 1))
    second = theilslopes(first["entry"], entry[:, 0])[0]  # of the program's clock on that of the trace
    for rank, mine in enumerate((first, other)):
        seen = second * (entry[:, 1 - rank] - waited[:, rank]).clip(min=0)
        limit = 0.5e-6 + found.sites["bound"][site]
        assert np.quantile(np.abs(mine["wait"] - seen)[kept], 0.5) <= limit
        # Where there is something to wait for: of the first rank planned in four of five calls.
        some = kept & (seen > 1e-6)
        if some.sum() > kept.sum() / 2:
            assert np.quantile(np.abs(mine["wait"] - seen)[some], 0.5) <= limit
    overlap = second * (waited - entry)
    for rank, mine in enumerate((first, other)):
        # The overlap does not include the call itself.
        between = mine["overlap"] + (mine["returned"] - mine["entry"])
        assert np.quantile(np.abs(between - overlap[:, rank])[kept], 0.5) <= 0.5e-6
        assert np.quantile(mine["overlap"][kept], 0.5) < 1.2 * computes


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
