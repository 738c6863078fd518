"""Slurm on the hosts: a controller on the first, a node's daemon on each, and a job that has them all."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from plan import HERE, Plan

# A directory that each machine has; on the hosts it is a file system of their own, which all of them see.
HOME = Path("/mnt")
PROGRAMS = ("salloc", "sinfo", "slurmctld", "slurmd", "srun")
PATIENCE_SECONDS = 30.0  # until all nodes have registered

# Nobody else reaches these hosts, so no authentication. Ranks keep the processors of their host, which
# slurmd was given; Slurm's own binding would count those of the whole machine.
SETTINGS = """\
ClusterName=hosts
SlurmctldHost=host0
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
TmpFS=/dev/shm
TaskProlog={home}/prolog
NodeName=host[0-{last}] CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""


def lacking() -> str | None:
    """Returns the program of Slurm's that this machine does not have; None if it has all."""
    return next((name for name in PROGRAMS if not shutil.which(name)), None)


def configure(plan: Plan, remedy: Path | None) -> None:
    """Writes what the daemons read; before there are hosts, so that all of them see it.

    Args:
        plan: of the run.
        remedy: what ranks preload, if anything.
    """
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", HOME], check=True)
    for number in range(plan.hosts):
        (HOME / f"host{number}").mkdir()
    (HOME / "state").mkdir()
    text = SETTINGS.format(home=HOME, last=plan.hosts - 1, cpus=plan.ranks_per_host)
    (HOME / "slurm.conf").write_text(text, encoding="ascii")
    (HOME / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="ascii")
    prolog = HOME / "prolog"
    prolog.write_text(f"#!/bin/sh\n{f'echo export LD_PRELOAD={remedy}' if remedy else ':'}\n", encoding="utf-8")
    prolog.chmod(0o755)


def start(plan: Plan, environment: Mapping[str, str]) -> str | None:
    """Starts the daemons; returns why the nodes are not ready, None if they are."""
    env = {**environment, "SLURM_CONF": str(HOME / "slurm.conf")}
    daemons = [
        ("host0", "slurmctld -D"),
        *((f"host{number}", f"slurmd -D -N host{number}") for number in range(plan.hosts)),
    ]
    running = [
        subprocess.Popen(
            [str(HERE / "remote_shell"), host, command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        for host, command in daemons
    ]
    deadline = time.monotonic() + PATIENCE_SECONDS
    idle = shlex.join(["sinfo", "-h", "-t", "idle", "-o", "%D"])
    while time.monotonic() < deadline and all(one.poll() is None for one in running):
        asked = subprocess.run(
            [str(HERE / "remote_shell"), "host0", idle], env=env, capture_output=True, text=True, check=False
        )
        if asked.stdout.split() == [str(plan.hosts)]:
            return None
        time.sleep(0.2)
    logs = [path for path in sorted(HOME.glob("*.log")) if path.stat().st_size]
    said = [line for path in logs for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    errors = [line for line in said if "error" in line or "fatal" in line] or said or ["its daemons said nothing"]
    return f"Slurm does not start: {errors[-1]}"


def job_command(plan: Plan) -> list[str]:
    """Returns what runs the program in a job that has all hosts, for use on the first; sbatch asks for its own job."""
    if Path(plan.command[0]).name == "sbatch":
        return [plan.command[0], "--wait", *plan.command[1:]]
    size = ["-N", str(plan.hosts), "-n", str(plan.hosts * plan.ranks_per_host)]
    each = [f"--ntasks-per-node={plan.ranks_per_host}"]
    return ["salloc", "-Q", *size, *each, *plan.command]
