"""Which nodes ranks go to: of a Slurm job, of a hostfile, of a launcher's command, or this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.errors import UsageError
from downbeat.run.bench_launch import launch_command
from downbeat.run.bench_options import launcher_at
from downbeat.run.durations import MIN_LIMIT
from downbeat.run.execute import ranks_here
from downbeat.run.job import Job, job_of
from downbeat.run.libraries import LIBRARIES, Placement
from downbeat.run.plan import LaunchKey, Library, Measurement, Plan
from downbeat.run.planning import check_placing, default_ranks

SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4", "SLURM_JOB_CPUS_PER_NODE": "48(x3),32", "SLURM_NTASKS": "128"}
PLACED = "srun -N {nodes} --ntasks-per-node={ranks_per_node} -n {ranks}"


@pytest.mark.parametrize(
    ("launcher", "environment", "expected"),
    [
        ("", {}, Job("this machine", 1, len(os.sched_getaffinity(0)))),
        ("", SLURM, Job("Slurm job 7", 4, 32, 128)),
        ("", SLURM | {"SLURM_CPUS_PER_TASK": "2"}, Job("Slurm job 7", 4, 16, 128)),
        ("srun -n {ranks}", SLURM, Job("Slurm job 7", 4, 32, 128)),
        ("srun -N 2 -n {ranks}", SLURM, Job("the launcher's command", 2, 32)),
        ("srun --nodes=2 -n {ranks}", {}, Job("the launcher's command", 2)),
        ("srun -n {ranks}", {}, Job("the launcher's command")),
        # mpirun's -N means something else.
        ("mpirun -N 2 -n {ranks}", {}, Job("the launcher's command")),
        ("mpirun --host a:4,b:2 -n {ranks}", {}, Job("the launcher's command", 2, 2, 6)),
        ("mpirun -hosts a,b,c -n {ranks}", {}, Job("the launcher's command", 3)),
        ("site --hosts 4 -n {ranks}", {}, Job("the launcher's command")),
        ("/opt/bin/mpiexec.hydra -hosts a,b -n {ranks}", {}, Job("the launcher's command", 2)),
        ("mpirun --hostfile no-such -n {ranks}", {}, Job("the launcher's command")),
    ],
)
def test_nodes_are_those_of_the_job(launcher: str, environment: dict[str, str], expected: Job) -> None:
    assert job_of(launcher, environment) == expected


@pytest.mark.parametrize(
    ("text", "nodes", "cpus", "ranks"),
    [
        ("a slots=4\nb slots=8 max-slots=8\n", 2, 4, 12),
        ("# rack 1\n\na:16\nb:16  # new\n", 2, 16, 32),
        ("a\nb\nc\n", 3, 0, 0),
        ("a\na\nb\nb\n", 2, 2, 4),
    ],
)
def test_hostfiles_of_all_launchers_are_read(tmp_path: Path, text: str, nodes: int, cpus: int, ranks: int) -> None:
    file = tmp_path / "hosts"
    file.write_text(text, encoding="utf-8")
    job = job_of(f"mpirun --machinefile {file} -n {{ranks}}", {})
    assert (job.nodes, job.cpus, job.ranks, str(file) in job.source) == (nodes, cpus, ranks, True)


def test_ranks_of_a_job_crowd_only_where_a_node_has_too_few_processors() -> None:
    job = Job("Slurm job 7", 4, 32, 128)
    assert not job.crowded(128)
    assert job.crowded(129)
    assert job.crowded(64, per_node=33)
    assert not job.crowded(64, per_node=32)
    assert not Job("").crowded(10_000)


@pytest.mark.parametrize(
    ("job", "per_node", "ranks"),
    [
        (Job("", 4, 32, 100), 0, 100),
        (Job("", 4, 32, 0), 0, 128),
        (Job("", 4, 32, 100), 2, 8),
        (Job("", 4, 0, 0), 8, 32),
        (Job("", 1, 2, 1), 1, 2),
    ],
)
def test_without_ranks_those_of_the_job_run(job: Job, per_node: int, ranks: int) -> None:
    assert default_ranks(job, per_node) == ranks


def test_ranks_per_node_reach_the_launchers_of_all_libraries() -> None:
    placement = Placement(8, [[cpu] for cpu in range(os.cpu_count() or 1)], nodes=4, per_node=2)
    if placement.crowded:
        pytest.skip("two ranks share the only processor")
    for name, library in LIBRARIES.items():
        expected = ["--map-by", "ppr:2:node", "--bind-to", "core"] if "openmpi" in library.abis else ["-ppn", "2"]
        assert library.arguments(placement)[: len(expected)] == expected, name
    assert LIBRARIES["intelmpi"].environment(placement)["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "downbeat.run.launch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("ranks", "per_node", "said"),
    [("6", "4", "-N 2 -n 6 each 4"), ("3", "4", "-N 1 -n 3 each 3"), ("2", "1", "-N 2 -n 2 each 1")],
)
def test_numbers_come_to_their_places(ranks: str, per_node: str, said: str) -> None:
    start = "echo -N {nodes} -n {ranks} each {ranks_per_node}"
    done = launch("--launcher", start, "-n", ranks, "--ranks-per-node", per_node, "/bin/true")
    assert done.stdout.split(" /")[0] == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--launcher", PLACED.replace("srun", "echo"), "-n", "2"], "needs --ranks-per-node"),
        (["--launcher", "echo -n {ranks}", "--ranks-per-node", "2", "-n", "2"], "leave --ranks-per-node out"),
        (["--mpi", "openmpi", "--ranks-per-node", "2", "-n", "4"], "4 ranks at 2 per node need 2 nodes, and there is"),
        *(
            (["--launcher", text, "-n", "1"], f"launch: --launcher: {text!r} is not a command")
            for text in ("'", "", '"a')
        ),
    ],
)
def test_what_cannot_start_ranks_is_refused(arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    done = launch(*arguments, "/bin/true")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("launcher", "per_node", "said"),
    [("srun -n {ranks}", 2, "ranks-per-node: the launcher"), (PLACED, 0, "give the number with --ranks-per-node")],
)
def test_a_plan_with_ranks_that_cannot_be_placed_is_refused(launcher: str, per_node: int, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        check_placing(launcher, per_node)


def test_launches_are_told_how_many_ranks_a_node_gets() -> None:
    line = "echo -N {nodes} --per={ranks_per_node} '--comment=two words' -n {ranks}"
    start = launcher_at(line, Path())
    assert start == line
    plan = Plan("e", Measurement(("bcast",)), (Library("mpi", "bench", start, (), 2),), (4,))
    command = launch_command(plan, LaunchKey("mpi", 4, "default", 1))
    assert command[command.index("--ranks-per-node") + 1] == "2"


def test_the_machine_is_held_against_the_ranks_of_a_node() -> None:
    def plan(launcher: str, per_node: int = 0) -> Plan:
        return Plan("e", Measurement(("bcast",)), (Library("mpi", "bench", launcher, (), per_node),), (2, 64))

    asked = [
        ("--host a:32,b:32 -n {ranks}", 0),
        ("--host a:32,b:32 -N {ranks_per_node} -n {ranks}", 8),
        ("-n {ranks}", 0),
    ]
    assert [ranks_here(plan(f"mpirun {options}", per_node)) for options, per_node in asked] == [32, 8, 1]


def test_timeouts_follow_ranks_and_cells() -> None:
    small = Measurement(("bcast",), {"sizes": "8:64K"})
    assert small.time_limit(2) == MIN_LIMIT
    assert small.time_limit(16384) > 2 * small.time_limit(4096) > 2 * MIN_LIMIT
    many = Measurement(("bcast", "reduce"), {"sizes": "8:64K", "sync": "a,b(c=1,2),c", "algorithm": "reduce=1,2"})
    assert many.time_limit(4096) > 10 * small.time_limit(4096)
    assert Measurement(("bcast",), {"repetitions": "1"}).time_limit(16384) > MIN_LIMIT
    plan = Plan("e", many, (Library("mpi", "bench"),), (4096,))
    key = LaunchKey("mpi", 4096, "default", 1)
    assert plan.time_limit(key) == many.time_limit(4096)
    assert Plan("e", many, plan.libraries, (4096,), timeout=5.0).time_limit(key) == 5.0


def test_timeouts_follow_what_simulating_takes() -> None:
    """A call of iallreduce on 128 ranks takes 11 s to simulate, and one of allreduce less than 0.1."""
    few = {"sizes": "8", "repetitions": "50"}
    calls = Plan("e", Measurement(("iallreduce",), few), (Library("smpi", "bench", simulate="fat-tree"),), (32, 128))
    assert calls.time_limit(LaunchKey("smpi", 128, "default", 1)) > 50 * 11 * 2
    assert calls.time_limit(LaunchKey("smpi", 32, "default", 1)) == MIN_LIMIT
    assert Measurement(("allreduce",), few).time_limit(128, "cluster(nodes=128)") == MIN_LIMIT
    assert Measurement(("allreduce",), few).time_limit(16384, "cluster(nodes=16384)") > 50 * 13
