"""namespaces.py PLAN: makes the hosts of a plan, runs its program on them, and ends with its status.

Runs as the first process in PID, network and mount namespaces of its own (hosts starts it there). When it ends, however
it ends, the kernel ends all other processes in there, and with the last of them the hosts' namespaces go, with every
device and every mount. Nothing here has a name outside.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import slurm
from plan import HERE, HOST_NAMESPACES, Plan

# By which ranks of MPICH 5 and of Intel MPI leave a processor to others; Open MPI has a setting, MPICH 4 its remedy.
YIELD = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "I_MPI_WAIT_MODE": "1",
}
EXIT_TIMEOUT = 124  # as timeout(1)
# Reserved for network benchmarks (RFC 2544); no route leads out.
NETWORK = "198.18.0"
ORIGIN_SECONDS = 7200  # what separates the monotonic clocks of neighbors, and the first one's from the machine's


class LabError(Exception):
    """The hosts cannot be made; the message says why."""


class StopRequested(Exception):  # noqa: N818
    """A signal asked this process to end."""


@dataclasses.dataclass(frozen=True)
class Host:
    """A host: its number, the process that keeps its namespaces, and its processors."""

    number: int
    keeper: int
    cpus: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"host{self.number}"

    @property
    def address(self) -> str:
        return address(self.number)


def address(number: int) -> str:
    return f"{NETWORK}.{number + 1}"


def must(*command: str | Path) -> None:
    """Runs a command that sets something up."""
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{shlex.join(map(str, command))}: {done.stderr.strip() or f'status {done.returncode}'}")


def first_line(process: subprocess.Popen[str], what: str) -> str:
    """Returns what a process says when it is ready."""
    assert process.stdout
    line = process.stdout.readline().strip()
    if not line:
        raise LabError(f"{what} ended before it was ready")
    return line


def name_hosts(count: int) -> None:
    """Makes the hosts' names and addresses known to every process in these namespaces."""
    must("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    lines = ["127.0.0.1 localhost", *(f"{address(number)} host{number}" for number in range(count))]
    names = Path("/dev/shm/hosts")
    names.write_text("\n".join(lines) + "\n", encoding="ascii")
    must("mount", "--bind", names, "/etc/hosts")


def cpus_of(number: int, hosts: int) -> tuple[int, ...]:
    """Returns a host's share of this process's processors; with fewer than hosts, some hosts share one."""
    cpus = sorted(os.sched_getaffinity(0))
    return tuple(cpus[number::hosts]) or (cpus[number % len(cpus)],)


def make_host(number: int, hosts: int) -> Host:
    origin = str((number + 1) * ORIGIN_SECONDS)
    isolate = ("unshare", *HOST_NAMESPACES, "--monotonic", origin, "--boottime", origin)
    keeper = subprocess.Popen(
        [*isolate, str(HERE / "keep_host"), f"host{number}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Host(number, int(first_line(keeper, f"host{number}")), cpus_of(number, hosts))


def connect_by_bridge(hosts: list[Host]) -> None:
    must("ip", "link", "add", "name", "bridge0", "type", "bridge", "forward_delay", "0")
    must("ip", "link", "set", "bridge0", "up")
    for host in hosts:
        must("ip", "link", "add", "name", "eth0", "netns", str(host.keeper), "type", "veth", "peer", "name", host.name)
        must("ip", "link", "set", host.name, "master", "bridge0", "up")


def connect_by_wire(hosts: list[Host], plan: Plan) -> subprocess.Popen[str]:
    directions, keepers = map(str, plan.wire or ()), (str(host.keeper) for host in hosts)
    wire = subprocess.Popen(
        [str(plan.wire_program), str(plan.seed), *directions, *keepers],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    first_line(wire, "the wire")
    return wire


def give_addresses(hosts: list[Host]) -> None:
    for host in hosts:
        inside = ("nsenter", "--target", str(host.keeper), "--net", "ip")
        must(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
        must(*inside, "link", "set", "eth0", "up")


def await_network(hosts: list[Host]) -> None:
    """Returns when every host has heard from every other."""
    probes = []
    for host in hosts[:-1]:
        others = [other.name for other in hosts[host.number + 1 :]]
        inside = ("nsenter", "--target", str(host.keeper), "--net", "--mount", "--")
        probes.append(subprocess.Popen([*inside, sys.executable, str(HERE / "reach.py"), *others]))
    if any([probe.wait() != 0 for probe in probes]):  # noqa: C419 (all are waited for)
        raise LabError("the hosts cannot reach each other")


def launch_command(plan: Plan) -> list[str]:
    """Returns what starts the ranks, for use on the first host."""
    places = ",".join(f"host{number}:{plan.ranks_per_host}" for number in range(plan.hosts))
    ranks = plan.hosts * plan.ranks_per_host
    agent = str(HERE / "remote_shell")
    program = ["-n", str(ranks), str(HERE / "run_rank"), *plan.command]
    assert plan.launcher
    if plan.mpi in ("mpich", "mpich5"):
        remedy = ["-genv", "LD_PRELOAD", str(plan.remedy)] if plan.needs_remedy else []
        return [plan.launcher, "-launcher", "rsh", "-launcher-exec", agent, "-hosts", places, *remedy, *program]
    if plan.mpi == "intelmpi":
        names = ",".join(f"host{number}" for number in range(plan.hosts))
        each = ["-hosts", names, "-ppn", str(plan.ranks_per_host)]
        return [plan.launcher, "-bootstrap", "rsh", "-bootstrap-exec", agent, *each, *program]
    runtime, word, shell = ("--prtemca", "ssh", "prte") if plan.mpi == "openmpi5" else ("--mca", "rsh", "oob_tcp")
    options = [
        *(runtime, f"plm_{word}_agent", agent),
        *(runtime, f"plm_{word}_no_tree_spawn", "1"),
        *(runtime, f"{shell}_if_include", "eth0"),
        *(each for name, value in open_mpi_settings(plan).items() for each in ("--mca", name, value)),
    ]
    return [plan.launcher, *options, "--bind-to", "none", "--host", places, *program]


def open_mpi_settings(plan: Plan) -> dict[str, str]:
    """Returns what Open MPI's ranks need on hosts, whoever starts them."""
    shared = "sm" if plan.mpi == "openmpi5" else "vader"
    settings = {
        "pml": "ob1",
        "btl": f"{shared},tcp,self",  # within a host by its shared memory
        "btl_tcp_if_include": "eth0",
        "orte_tmpdir_base": "/dev/shm",  # the only directory that a host does not share with the others
    }
    if plan.crowded:  # Open MPI sees no more than one host's
        settings["mpi_yield_when_idle"] = "1"
    return settings


def launch_environment(plan: Plan, hosts: list[Host]) -> dict[str, str]:
    in_job = {}
    if plan.slurm:
        in_job = {f"OMPI_MCA_{name}": value for name, value in open_mpi_settings(plan).items()}
        in_job["SLURM_CONF"] = str(slurm.HOME / "slurm.conf")
    return {
        **os.environ,
        **in_job,
        "HOSTS": " ".join(f"{host.name}:{host.keeper}:{','.join(map(str, host.cpus))}" for host in hosts),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_prte_tmpdir_base": "/dev/shm",
        **(YIELD if plan.crowded else {}),
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": "eth0",
        "I_MPI_PIN": "0",
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": "eth0",
    }


def run(plan: Plan) -> int:
    """Returns the status of the launcher, 128 + N after signal N."""
    name_hosts(plan.hosts)
    if plan.slurm:
        slurm.configure(plan, plan.remedy if plan.needs_remedy else None)
    hosts = [make_host(number, plan.hosts) for number in range(plan.hosts)]
    wire = None
    if plan.wire is None:
        connect_by_bridge(hosts)
    else:
        wire = connect_by_wire(hosts, plan)
    give_addresses(hosts)
    await_network(hosts)
    environment = launch_environment(plan, hosts)
    if plan.slurm and (reason := slurm.start(plan, environment)):
        raise LabError(reason)
    command = slurm.job_command(plan) if plan.slurm else launch_command(plan)
    status = subprocess.run(
        [str(HERE / "remote_shell"), hosts[0].name, shlex.join(command)],
        stdin=subprocess.DEVNULL,
        env=environment,
        check=False,
    ).returncode
    if wire:
        wire.terminate()
        assert wire.stdout
        print(f"hosts: wire: {wire.stdout.read().strip()}", file=sys.stderr)
    return status if status >= 0 else 128 - status


def stop(number: int, _frame: object) -> NoReturn:
    raise StopRequested(number)


def main() -> int:
    plan = Plan.from_json(sys.argv[1])
    # The first process of a PID namespace ignores signals without a handler.
    for each in (signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    signal.setitimer(signal.ITIMER_REAL, plan.timeout)
    try:
        return run(plan)
    except LabError as error:
        print(f"hosts: {error}", file=sys.stderr)
        return 2
    except StopRequested as request:
        number = int(request.args[0])
        if number != signal.SIGALRM:
            return 128 + number
        print(f"hosts: stopped after {plan.timeout:g} s: {shlex.join(plan.command)}", file=sys.stderr)
        return EXIT_TIMEOUT


if __name__ == "__main__":
    sys.exit(main())
