"""Starts an MPI program on this machine, with the options and variables that its MPI library needs.

launch [--mpi openmpi|mpich|openmpi5|mpich5|intelmpi] -n P [--ranks-per-node K] [--timeout S] program args...
launch --launcher 'srun --mpi=pmix -N {nodes} -n {ranks}' -n P --ranks-per-node K [--timeout S] program args...
launch --simulate 'fat-tree(nodes=64)' -n P [--timeout S] program args...

One rank per core, bound to it, while there are enough cores; more ranks than cores run unbound. The exit status is the
launcher's, 124 after a timeout, 128 + N after signal N. However it ends, no rank keeps running.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, NoReturn

from downbeat.errors import DownbeatError, UsageError
from downbeat.run.job import (
    job_of,
    nodes_for,
    places_ranks,
    remove_segments,
    remove_sessions,
    split_command,
    with_numbers,
)
from downbeat.run.libraries import (
    LIBRARIES,
    MpiLibrary,
    Placement,
    forward_messages,
    launcher_of,
    linked_mpi,
)
from downbeat.run.mpi_abi import abi_of
from downbeat.run.simulation import SimulatorMessages, SpecificationError, parse_platform, smpirun_command

# Open MPI 4's launcher hangs in 1 of 20 launches in which a rank is killed in MPI_Init. So poll for ranks: every
# FIRST_POLL_SECONDS until they appear or START_SECONDS pass, then rarely enough not to disturb a measurement.
FIRST_POLL_SECONDS, START_SECONDS, POLL_SECONDS = 0.05, 20.0, 4.0


def has_children(pid: int) -> bool:
    """Whether a process has running children; False if the kernel does not report children."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # ended meanwhile
            for child in path.read_text(encoding="ascii").split():
                stat = Path(f"/proc/{child}/stat").read_text(encoding="utf-8", errors="replace")
                if stat.rpartition(")")[2].split()[0] not in "ZX":  # states: zombie, dead
                    return True
    return False


def wait_for_launcher(launcher: subprocess.Popen[bytes], seconds: float | None) -> int:
    """Like `Popen.wait`, but without its polling at 20 Hz, which would disturb ranks."""
    try:
        ended = os.pidfd_open(launcher.pid)
    except (AttributeError, OSError):  # before Linux 5.3
        return launcher.wait(seconds)
    try:
        select.select([ended], [], [], seconds)
    finally:
        os.close(ended)
    return launcher.wait(0)


class EndedEarlyError(Exception):
    """The launcher must be killed before it ends by itself; the message is the reason in one line, or empty."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason)
        self.status = status  # exit status of this program


def await_launcher(launcher: subprocess.Popen[bytes], timeout: float | None, starts_ranks: bool) -> int:
    """Waits until a launcher ends; returns its exit status.

    Args:
        launcher: the started launcher.
        timeout: s; None: no limit.
        starts_ranks: whether ranks, or their starters, are child processes of the launcher.

    Raises:
        subprocess.TimeoutExpired: the launcher has not ended in time.
        EndedEarlyError: the ranks have ended but the launcher has not.
    """
    begin = time.monotonic()
    had_ranks = False
    polls_without_ranks = 0  # successive ones, after ranks have appeared
    while starts_ranks:
        step = POLL_SECONDS if had_ranks else FIRST_POLL_SECONDS
        left = step if timeout is None else timeout - (time.monotonic() - begin)
        try:
            return wait_for_launcher(launcher, min(step, max(0.0, left)))
        except subprocess.TimeoutExpired:
            if left <= step and timeout is not None:
                raise
        has_ranks = has_children(launcher.pid)
        had_ranks = had_ranks or has_ranks
        polls_without_ranks = 0 if has_ranks or not had_ranks else polls_without_ranks + 1
        if polls_without_ranks > 1:
            raise EndedEarlyError(EXIT_STUCK, "the ranks ended; the hanging launcher was killed")
        starts_ranks = had_ranks or time.monotonic() - begin < START_SECONDS
    return wait_for_launcher(launcher, None if timeout is None else max(0.0, timeout - (time.monotonic() - begin)))


USAGE = (
    f"launch [--mpi {'|'.join(LIBRARIES)} | --launcher COMMAND | --simulate PLATFORM] -n P [--ranks-per-node K] "
    "[--timeout S] program args..."
)
EXIT_TIMEOUT = 124  # like timeout(1)
EXIT_STUCK = 1  # the ranks' status is unknown: only the launcher has it
GRACE_SECONDS = 3.0  # from SIGTERM to the launcher until SIGKILL to all its processes

EXIT_DEADLOCK = 1  # replaces SimGrid's exit status 0 after a deadlock
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Operations of prctl, from linux/prctl.h.
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def fail(message: str) -> NoReturn:
    """Ends with one line on standard error."""
    print(f"launch: {message}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        fail(f"{message}; usage: {USAGE}")


def positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    """A parser for positive, finite numbers."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
        return value

    return parse


def choose_launcher(name: str | None, linked: Path | None) -> tuple[MpiLibrary, str]:
    """A library and the path of its launcher: the library `name`, else the program's, else the first installed one.

    Args:
        name: name of the library; None: not chosen.
        linked: path of the MPI library that the program would load; None: unknown.
    """
    if linked and not name:
        owner = launcher_of(linked)
        if not owner:
            fail(f"found no launcher for {linked}; choose one with --mpi {'|'.join(LIBRARIES)}")
        return owner
    for candidate in [name] if name else LIBRARIES:
        launcher = LIBRARIES[candidate].find_launcher()
        if launcher:
            return LIBRARIES[candidate], launcher
    fail(f"found no launcher for {name or 'MPI'}; tools/setup installs {name or ', '.join(LIBRARIES)}")


def cpus_per_core() -> list[list[int]]:
    """The CPUs that this process may use: a list of hardware threads per core."""
    cores: dict[str, list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            core = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii")
        except OSError:
            core = str(cpu)
        cores.setdefault(core, []).append(cpu)
    return list(cores.values())


def placement_of(ranks: int, per_node: int = 0) -> Placement:
    """The placement of ranks by the MPI library's launcher, on the nodes of the job and the CPUs of this process."""
    return Placement(ranks, cpus_per_core(), job_of().nodes, per_node)


def environment(library: MpiLibrary, launcher: str, linked: Path | None, placement: Placement) -> dict[str, str]:
    """The environment of the launcher; variables set by the user take precedence."""
    env = library.environment(placement) | os.environ
    libraries = Path(launcher).resolve().parents[1] / "lib"
    # A program for the standard ABI runs under every library with that ABI: load the launcher's library.
    if linked and abi_of(linked) == "abi" and linked.parent != libraries and (libraries / linked.name).exists():
        env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(libraries), env.get("LD_LIBRARY_PATH")]))
    return env


def descendants() -> list[int]:
    """Ids of all descendants of this process."""
    parent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # pid (name) state ppid ...; the name may hold spaces and parentheses.
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # ended meanwhile
            parent[int(entry.name)] = int(fields[1])
    family = {os.getpid()}
    while more := {pid for pid, ppid in parent.items() if ppid in family} - family:
        family |= more
    return sorted(family - {os.getpid()})


def end_descendants() -> None:
    """Kills and reaps all remaining descendants: launcher and ranks."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (family := descendants()) and time.monotonic() < deadline:
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def not_ignored(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """The signals that this process does not ignore; nohup and a shell's & set signals to be ignored."""
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


def run_launcher(
    command: list[str],
    env: Mapping[str, str],
    timeout: float | None,
    parent: int | None,
    forward: Callable[[IO[bytes], IO[bytes]], None] = forward_messages,
    starts_ranks: bool = False,
) -> int:
    """Runs a launcher until it, this process or the parent ends; returns the exit status.

    Args:
        command: the launcher with its options, the program and its arguments.
        env: environment of the launcher.
        timeout: s; None: no limit.
        parent: process id of the caller, whose end also ends the launcher; None: not watched.
        forward: copies the launcher's standard error from the first file to the second.
        starts_ranks: whether ranks, or their starters, are child processes of the launcher.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # Orphaned ranks become children of this process, which can then kill them.
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        fail(f"cannot become the reaper of the ranks: {os.strerror(ctypes.get_errno())}")

    def stop(number: int, _frame: object) -> NoReturn:
        for interruption in INTERRUPTIONS:
            signal.signal(interruption, signal.SIG_IGN)
        raise EndedEarlyError(128 + number)

    for number in not_ignored(INTERRUPTIONS):
        signal.signal(number, stop)

    launcher: subprocess.Popen[bytes] | None = None
    begin = time.time()
    succeeded = False
    try:
        if parent is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                raise EndedEarlyError(128 + signal.SIGTERM)  # the parent ended before prctl
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)  # the parent may have blocked them
        # In a separate session, Ctrl-C reaches only this process, which ends the launcher in order. If this process is
        # killed, the kernel kills the launcher; its ranks lose their connection and end.
        launcher = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),  # noqa: PLW1509 (there are no threads)
        )
        assert launcher.stderr
        forwarding = threading.Thread(target=forward, args=(launcher.stderr, sys.stderr.buffer), daemon=True)
        forwarding.start()
        status = await_launcher(launcher, timeout, starts_ranks)
        forwarding.join(GRACE_SECONDS)  # a surviving rank may hold the pipe open
        succeeded = status == 0
        return status if status >= 0 else 128 - status
    except OSError as error:
        print(f"launch: cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return 1
    except subprocess.TimeoutExpired:
        print(f"launch: stopped after {timeout:g} s: {' '.join(command)}", file=sys.stderr)
        return EXIT_TIMEOUT
    except EndedEarlyError as early:
        if str(early):
            print(f"launch: {early}", file=sys.stderr)
        return early.status
    finally:
        if launcher and launcher.poll() is None:
            launcher.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                launcher.wait(GRACE_SECONDS)
        end_descendants()
        if not succeeded:
            remove_segments(begin)
            if launcher:
                remove_sessions(launcher.pid)


def simulate(text: str, ranks: int, program: list[str], timeout: float | None, parent: int | None) -> int:
    """Runs a program on a simulated cluster; it must be built for SimGrid. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="downbeat-") as directory:
        try:
            platform = parse_platform(text)
            command = smpirun_command(platform, ranks, Path(directory))
        except SpecificationError as error:
            fail(f"--simulate: {error}")
        # smpirun leaves files in TMPDIR when a program fails.
        env = {**platform.environment(), **os.environ, "TMPDIR": directory}
        messages = SimulatorMessages()
        status = run_launcher([*command, *program], env, timeout, parent, messages.forward)
        # A program that refuses its arguments has printed the reason, and a timeout has been reported.
        if messages.failed and status not in (2, EXIT_TIMEOUT):
            print(f"launch: simulated on {platform.topology}, {ranks} ranks: {messages.failed}", file=sys.stderr)
        return status or (EXIT_DEADLOCK if messages.failed else 0)


def main() -> int:
    """Parses the command line and runs the launcher; returns the exit status."""
    parser = Parser(prog="launch", allow_abbrev=False)
    parser.usage = USAGE
    parser.description = "Starts an MPI program on this machine."
    parser.add_argument(
        "--mpi", choices=LIBRARIES, help="MPI library; by default the one that the program is linked to"
    )
    parser.add_argument(
        "--launcher",
        metavar="COMMAND",
        help="start with this command; {ranks}, {nodes} and {ranks_per_node} become numbers",
    )
    parser.add_argument(
        "--simulate", metavar="PLATFORM", help="simulate a cluster, e.g. 'fat-tree(nodes=64)' (docs/simulation.md)"
    )
    parser.add_argument("-n", type=positive(int), required=True, metavar="P", help="number of ranks")
    parser.add_argument(
        "--ranks-per-node", type=positive(int), default=0, metavar="K", help="most ranks that a node gets"
    )
    parser.add_argument("--timeout", type=positive(float), metavar="S", help="seconds after which all ranks are ended")
    parser.add_argument("--parent", type=int, metavar="PID", help="end all ranks when this process, the caller, ends")
    parser.add_argument("program", help="program to start")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()

    program = shutil.which(options.program)
    if not program:
        fail(f"'{options.program}' is not an executable program")
    if sum(choice is not None for choice in (options.mpi, options.launcher, options.simulate)) > 1:
        fail("--mpi, --launcher and --simulate exclude each other; give one of them")
    if options.simulate:
        if options.ranks_per_node:
            fail("--ranks-per-node: not with --simulate; set it there, e.g. 'cluster(nodes=4,ranks_per_node=2)'")
        return simulate(options.simulate, options.n, [program, *options.args], options.timeout, options.parent)
    if options.launcher is not None:
        if places_ranks(options.launcher) and not options.ranks_per_node:
            fail(f"'{options.launcher}' needs --ranks-per-node for {{nodes}} and {{ranks_per_node}}")
        if options.ranks_per_node and not places_ranks(options.launcher):
            fail(f"'{options.launcher}' has neither {{nodes}} nor {{ranks_per_node}}; leave --ranks-per-node out")
        try:
            words = split_command(options.launcher)
        except UsageError as error:
            fail(f"--launcher: {error}")
        start = [with_numbers(word, options.n, options.ranks_per_node) for word in words]
        if not shutil.which(start[0]):
            fail(f"'{options.launcher}' does not begin with an executable program")
        return run_launcher([*start, program, *options.args], os.environ, options.timeout, options.parent)
    try:
        linked = linked_mpi(program)
    except DownbeatError as error:
        print(f"launch: {error}", file=sys.stderr)
        return error.status
    library, launcher = choose_launcher(options.mpi, linked)
    placement = placement_of(options.n, options.ranks_per_node)
    if placement.per_node and (needed := nodes_for(options.n, placement.per_node)) > placement.nodes:
        needs = f"{options.n} ranks at {placement.per_node} per node need {needed} nodes"
        verb = "is" if placement.nodes == 1 else "are"
        fail(f"{needs}, and there {verb} {placement.nodes}")
    command = [launcher, "-n", str(options.n), *library.arguments(placement), program, *options.args]
    env = environment(library, launcher, linked, placement)
    return run_launcher(command, env, options.timeout, options.parent, starts_ranks=Path(launcher).name != "srun")


if __name__ == "__main__":  # python -m downbeat.run.launch
    sys.exit(main())
