"""Phases by MPI_Pcontrol: who is late in which, against what the program planned; calls without a name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import downbeat
import pytest
from downbeat.launchers.libraries import LIBRARIES
from downbeat.traces.arrivals import find_arrivals
from downbeat.traces.phases import phase_problems
from programs import preload_library, program, run_preloaded

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
    found = find_arrivals(trace_of(tmp_path / "trace", mpi, [program(mpi, "phases"), "planned"]))
    phases = found.phases.set_index("phase")
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
        rows = found.rows[(found.rows["phase"] == path) & (found.rows["rank"] == late)]
        assert rows["late"].median() >= planned
    step = phases.loc["step"]
    assert step["wait"] == pytest.approx(phases.loc[[SOLVER, WRITING], "wait"].sum())
    assert phases.loc[[SOLVER, WRITING], "seconds"].sum() <= step["seconds"] <= 2 * found.run
    # One place in the program, a row in each phase; outside nobody was late.
    sites = found.sites.set_index("phase")
    assert sites["calls"].to_dict() == {SOLVER: STEPS, WRITING: STEPS, "": 10}
    assert sites["name"].nunique() == 1
    assert not any("phase" in note for note in found.notes)

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
    said = {problem.split("'")[1]: problem for problem in phase_problems(trace.sections)}
    assert "6 begins and 6 ends: 6 begins were ended by the end of the phase around it" in said["inner"]
    assert "0 begins and 2 ends" in said["stray"]
    assert said["alone"] == "phase 'alone' was begun on 1 of 2 ranks only: 0"
    assert "4 begins and 2 ends: 0 begins" in said["open"]
    assert "2 by the end of the program" in said["open"]
    assert "outer" not in said
    (note,) = [note for note in find_arrivals(trace).notes if "different phases" in note]
    assert note.startswith("in 1 call ranks are in different phases, e.g. rank 0 in 'even', rank 1 in 'odd'")
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
    assert problem.startswith("MPI_Pcontrol(1, 'by chance') came 2 times on 2 ranks and no MPI_Pcontrol(-1, ")


def test_mpi4py_stops_and_goes_on(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "openmpi", ["/usr/bin/python3", "-c", BARE])
    assert trace.phases.empty
    assert list(trace.records["sequence"]) == list(range(1, 200, 2)) * 2
