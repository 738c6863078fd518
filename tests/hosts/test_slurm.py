"""In a Slurm job of several hosts: run and reproduce take its ranks, its nodes and the clocks of its nodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import slurm
from downbeat.align.timebase import open_timebase
from downbeat.run.experiment import Launch, open_experiment
from downbeat.run.libraries import LIBRARIES
from on_hosts import Outcome, built, need_hosts, run_hosts, under_each_mpi
from plan import ROOT

pytestmark = pytest.mark.alone

DOWNBEAT = (sys.executable, "-c", "from downbeat.cli import main; main()")
SECONDS = 240
DRIFTING = "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"


def in_job(mpi: str, hosts: int, *command: str, each: int = 1, **variables: str) -> Outcome:
    """Runs a command in a Slurm job that has all hosts; it must succeed."""
    need_hosts()
    if slurm.lacking():
        pytest.skip("slurm-wlm is not installed")
    built(mpi, "downbeat-bench")
    size = ("--hosts", str(hosts), "--ranks-per-host", str(each), "--mpi", mpi, "--slurm", "--timeout", str(SECONDS))
    outcome = run_hosts(*size, "--", *command, env={"PYTHONPATH": str(ROOT / "python"), **variables})
    assert outcome.status == 0, outcome.stderr
    return outcome


def hosts_of(launch: Launch) -> list[str]:
    """Returns the host of each rank."""
    with launch.open() as data:
        return [str(host) for host in data["host"].to_numpy()]


@pytest.mark.nightly
@under_each_mpi
def test_launches_are_steps_of_the_job_with_its_ranks_per_node(mpi: str, tmp_path: Path) -> None:
    measured = ("bcast", "-m", "8", "-r", "20", "--launches", "1", "--mpi", mpi)
    whole, alone = tmp_path / "whole", tmp_path / "alone"
    script = tmp_path / "both"
    downbeat = f"'{DOWNBEAT[0]}' -c '{DOWNBEAT[2]}' run {' '.join(measured)}"
    passed = "-- --tolerance 1e-3"
    commands = [f"{downbeat} -o '{whole}' {passed}", f"{downbeat} --ranks-per-node 1 -o '{alone}' {passed}"]
    script.write_text(f"{' && '.join(commands)}\n", encoding="utf-8")
    in_job(mpi, 2, "/bin/sh", str(script), each=2)
    found = {path: open_experiment(path).launches[0] for path in (whole, alone)}
    assert hosts_of(found[whole]) == ["host0", "host0", "host1", "host1"]
    assert hosts_of(found[alone]) == ["host0", "host1"]
    launcher = json.loads((alone / "plan.json").read_text(encoding="utf-8"))["libraries"][0]["launcher"]
    if LIBRARIES[mpi].srun_plugin is None:  # the library's own launcher finds the job
        assert launcher == ""
    else:
        assert launcher.split()[-2:] == ["-n", "{ranks}"] and "--ntasks-per-node={ranks_per_node}" in launcher.split()


@pytest.mark.nightly
def test_figures_of_clocks_compare_those_of_the_nodes(tmp_path: Path) -> None:
    options = ("--quick", "--launches", "1", "--mpi", "openmpi", "--sample", "1", "-o", str(tmp_path))
    outcome = in_job("openmpi", 3, *DOWNBEAT, "reproduce", "hunold2015-fig6", "schuchart2023-fig16", *options)
    assert "3 nodes" in outcome.stderr
    assert "at most" in outcome.stderr
    (drift,) = open_experiment(tmp_path / "hunold2015-fig6" / "drift").launches
    assert hosts_of(drift) == ["host0", "host1", "host2"]
    with drift.open() as data:
        assert data.attrs["clock_validation"] == "off"
        assert data["answerer"].to_numpy().tolist() == [2]
    (clock,) = open_experiment(tmp_path / "schuchart2023-fig15" / "n3").launches
    with clock.open() as data:
        assert int(data["checked"].sum()) == 1
        assert data.attrs["clock_domains"] == 3
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "3 nodes" in page
    assert "of 3" in page


@pytest.mark.nightly
def test_clocks_that_somebody_made_are_called_made(tmp_path: Path) -> None:
    options = ("--quick", "--launches", "1", "--mpi", "openmpi", "-o", str(tmp_path))
    in_job("openmpi", 2, *DOWNBEAT, "reproduce", "hunold2015-fig6", *options, DOWNBEAT_VALIDATION=DRIFTING)
    (drift,) = open_experiment(tmp_path / "hunold2015-fig6" / "drift").launches
    with drift.open() as data:
        # Seen over the network, and as it was made: 12 ppm between ranks 0 and 1.
        assert abs(float(data["skew"][0])) == pytest.approx(12e-6, abs=1e-6)
    page = (tmp_path / "hunold2015-fig6.html").read_text(encoding="utf-8")
    assert "validation clock" in page and "was made" in page


@under_each_mpi
def test_clocks_of_all_nodes_are_sampled_beside_a_step(mpi: str, tmp_path: Path) -> None:
    directory = tmp_path / "timebase"
    words = (
        "timebase",
        "--mpi",
        mpi,
        "--interval",
        "0.3",
        "-o",
        str(directory),
        "--",
        "srun",
        "-N",
        "2",
        "-n",
        "2",
        "hostname",
    )
    outcome = in_job(mpi, 2, *DOWNBEAT, *words)
    assert {"host0", "host1"} <= set(outcome.stdout.split())
    base = open_timebase(directory)
    assert list(base.ranks) == ["host0", "host1"]
    assert (base.offsets["bound_ns"] < 10**7).all()
