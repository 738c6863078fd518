"""Arrivals and phases of recordings, against what programs planned."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import downbeat
import numpy as np
import pytest
from downbeat.output.facts.trace import MixedPhases, PhaseNotEnded, PhaseOnSomeRanks, PhaseUnbalanced
from downbeat.run.bench import built
from downbeat.run.libraries import LIBRARIES
from downbeat.trace.arrivals import Arrivals, find_arrivals
from downbeat.trace.patterns import delays_of
from downbeat.trace.phases import phase_problems
from programs import preload_library, program, run_preloaded, run_traced

pytestmark = pytest.mark.thorough

STEPS = 40
SOLVER, WRITING = "step > solver", "step > input and output"
BARE = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
for i in range(100):
    MPI.Pcontrol(0)
    comm.Barrier()
    MPI.Pcontrol(1)
    comm.Barrier()
"""


def trace_of(directory: Path, mpi: str, words: list[str]) -> downbeat.Trace:
    """Returns the trace of a program that two ranks run."""
    done = run_preloaded(directory, mpi, [preload_library(mpi)], words)
    assert done.returncode == 0, done.stderr
    return downbeat.open_trace(directory)


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_who_is_late_in_which_phase_is_what_was_planned(mpi: str, tmp_path: Path) -> None:
    found = find_arrivals(trace_of(tmp_path / "trace", mpi, [program(mpi, "phases"), "planned"]).recording)
    phases = found.phases.frame().set_index("phase")
    assert list(phases.index) == ["step", SOLVER, WRITING]
    assert list(phases["ranks"]) == [2, 2, 2]
    assert list(phases["begins"]) == [2 * STEPS] * 3
    assert list(phases["calls"]) == [2 * STEPS, STEPS, STEPS]
    assert list(phases.loc[[SOLVER, WRITING], "last_rank"]) == [1, 0]
    for path, late, planned in ((SOLVER, 1, 4e-3), (WRITING, 0, 2e-3)):
        one = phases.loc[path]
        assert one["last_wait"] > 0.6
        assert one["seconds"] >= 2 * STEPS * planned  # both ranks are in it, one asleep, one waiting
        assert STEPS * planned * 0.99 <= one["wait"] <= one["time"]
        rows = found.rows.frame()[(found.rows.frame()["phase"] == path) & (found.rows.frame()["rank"] == late)]
        assert rows["late"].median() >= planned
    step = phases.loc["step"]
    assert step["wait"] == pytest.approx(phases.loc[[SOLVER, WRITING], "wait"].sum())
    assert phases.loc[[SOLVER, WRITING], "seconds"].sum() <= step["seconds"] <= 2 * found.run
    # One place in the program, a row in each phase; outside nobody was late.
    sites = found.sites.frame().set_index("phase")
    assert sites["calls"].to_dict() == {SOLVER: STEPS, WRITING: STEPS, "": 10}
    assert sites["name"].nunique() == 1
    assert not any(isinstance(note, (PhaseUnbalanced, PhaseOnSomeRanks, MixedPhases)) for note in found.notes)

    content = arrivals(tmp_path, "--phase", "input and output")
    assert content["phase"] == "input and output"
    assert [one["phase"] for one in content["phases"]] == [WRITING]
    (site,) = content["sites"]
    assert site["last_rank"] == 0
    assert 0.3 < site["share"] < 1  # one rank waits, one is asleep outside MPI
    assert content["run"] == pytest.approx(phases["seconds"][WRITING] / 2)
    assert arrivals(tmp_path)["phase"] is None
    assert "Phases" in (tmp_path / "page.html").read_text(encoding="utf-8")


def arrivals(directory: Path, *options: str) -> dict[str, Any]:
    """Returns what `downbeat arrivals` says of a trace, as JSON; it writes the page, too."""
    command = [sys.executable, "-m", "downbeat", "arrivals", str(directory / "trace"), "--json", "-"]
    command += ["-o", str(directory / "page.html"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_phases_that_cross_or_differ_are_said(mpi: str, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace", mpi, [program(mpi, "phases"), "wrong"])
    unbalanced = {fact.phase: fact for fact in phase_problems(trace.sections) if isinstance(fact, PhaseUnbalanced)}
    assert (unbalanced["inner"].begins, unbalanced["inner"].ends, unbalanced["inner"].cut) == (6, 6, 6)
    assert (unbalanced["stray"].begins, unbalanced["stray"].ends) == (0, 2)
    assert unbalanced["open"] == PhaseUnbalanced("open", begins=4, ends=2, cut=0, unended=2, strays=0)
    assert "outer" not in unbalanced
    assert PhaseOnSomeRanks("alone", (0,), 2) in phase_problems(trace.sections)
    (note,) = [note for note in find_arrivals(trace.recording).notes if isinstance(note, MixedPhases)]
    assert note == MixedPhases(1, 0, "even", 1, "odd")
    command = [sys.executable, "-m", "downbeat", "arrivals", str(tmp_path / "trace"), "--phase", "solvere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no phase 'solvere'; phases: 'outer', 'outer > inner'," in done.stderr


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_a_call_without_a_name_is_none_whatever_the_register_has(mpi: str, tmp_path: Path) -> None:
    trace = trace_of(tmp_path, mpi, [program(mpi, "phases"), "bare"])
    assert list(trace.phases["phase"]) == ["solver", "end", "y" * 77] * 2
    assert list(trace.phases["begins"]) == [1] * 6
    records = trace.records[trace.records["rank"] == 0]
    assert list(records["phase"]) == ["solver", "", "end"]
    assert list(records["sequence"]) == [0, 1, 3]
    (problem,) = phase_problems(trace.sections)
    assert problem == PhaseNotEnded("by chance", begins=2, ranks=2)


def test_mpi4py_stops_and_goes_on(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "openmpi", ["/usr/bin/python3", "-c", BARE])
    assert trace.phases.empty
    assert list(trace.records["sequence"]) == list(range(1, 200, 2)) * 2


DEBIAN = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])


def recorded(directory: Path, mpi: str, words: list[str], **variables: str) -> tuple[Arrivals, str]:
    """Runs a program; returns what was found in its trace, and what it printed."""
    done = run_traced(directory, mpi, words, **variables)
    assert done.returncode == 0, done.stderr
    return find_arrivals(downbeat.open_trace(directory).recording), done.stdout


def timed_site(found: Arrivals, calls: int) -> int:
    """Returns the site of the timed calls: of the allreduces with so many calls the one whose ranks come apart."""
    sites = found.sites.frame()[
        (found.sites.frame()["operation"] == "allreduce") & (found.sites.frame()["calls"] >= calls)
    ]
    return int(sites.index[int(np.argmax(sites["spread_p50"].to_numpy()))])


def planned_site(found: Arrivals) -> int:
    """Returns the site of the planned allreduce: the program begins it after the one that warms up."""
    sites = found.sites.frame().index[found.sites.frame()["operation"] == "allreduce"]
    begun = found.rows.frame()[found.rows.frame()["site"].isin(sites)].groupby("site", observed=True)["entry"].min()
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
