"""Finds the nodes that ranks run on, from Slurm, a hostfile or a launcher's command; cleans up after killed launches.

A launcher is a command such as "mpirun --hostfile hosts -n {ranks}", to which the program and its arguments are
appended.
"""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.files import read_own_text

# Placeholders in a launcher's command; the last two need --ranks-per-node.
RANKS, NODES, RANKS_PER_NODE = "{ranks}", "{nodes}", "{ranks_per_node}"
# File names of the launchers of MPI libraries and of Slurm, e.g. mpirun.openmpi.
LAUNCHER = re.compile(r"(mpirun|mpiexec|orterun|prterun|prun|srun)([.\-_].*)?")


@dataclass(frozen=True)
class Options:
    """Names of the options of a launcher that Downbeat reads or changes, by the kind of argument.

    Names have one dash or two on the command line.
    """

    hostfile: tuple[str, ...] = ()  # a file of hosts
    hosts: tuple[str, ...] = ()  # a list of hosts
    nodes: tuple[str, ...] = ()  # a number of nodes
    programs: tuple[str, ...] = ()  # a file with the programs of the launch
    assign: tuple[str, ...] = ()  # NAME=VALUE, for Hydra NAME VALUE
    # Options that restrict the variables of ranks: to none, or to a list. Intel MPI then also withholds `MARK`.
    none: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()


OPEN_MPI_OPTIONS = Options(("hostfile", "machinefile"), ("host", "H"), programs=("app",), assign=("x",))
HYDRA_OPTIONS = Options(
    hostfile=("f", "hostfile", "machinefile"),
    hosts=("hosts", "host"),
    programs=("configfile",),
    assign=("env", "genv"),
    none=("envnone", "genvnone"),
    listed=("envlist", "genvlist"),
)
SLURM_OPTIONS = Options(nodes=("N", "nodes"), assign=("export",))


def is_one_of(word: str, names: Sequence[str]) -> bool:
    """Whether a word of a command is an option with one of the names, which have no dashes."""
    return word.startswith("-") and re.sub("^--?", "", word) in names


@dataclass(frozen=True)
class Job:
    """The nodes that ranks run on, as far as known without a launch.

    Attributes:
        source: origin of this information, for messages.
        nodes: number of nodes; 0: unknown.
        cpus: smallest number of CPUs that ranks may use on a node; 0: unknown.
        ranks: number of ranks of the job; 0: unknown.
    """

    source: str
    nodes: int = 0
    cpus: int = 0
    ranks: int = 0

    def crowded(self, ranks: int, per_node: int = 0) -> bool:
        """Whether ranks share CPUs; False if the number of CPUs is unknown.

        Args:
            ranks: number of ranks.
            per_node: maximum number of ranks on a node; 0: the ranks are spread evenly.
        """
        return bool(self.cpus) and ranks_on_a_node(ranks, per_node, self.nodes) > self.cpus


def ranks_on_a_node(ranks: int, per_node: int, nodes: int) -> int:
    """The number of ranks on the fullest node; `per_node` is the maximum, or 0 if the ranks are spread evenly."""
    return min(ranks, per_node) if per_node else math.ceil(ranks / max(1, nodes))


def nodes_for(ranks: int, per_node: int) -> int:
    """The number of nodes that ranks need; the last node may have fewer than `per_node` ranks."""
    return math.ceil(ranks / per_node)


def places_ranks(launcher: str) -> bool:
    """Whether a launcher's command has a placeholder for nodes or ranks per node."""
    return NODES in launcher or RANKS_PER_NODE in launcher


def with_numbers(word: str, ranks: int, per_node: int) -> str:
    """A word of a launcher's command with numbers in place of placeholders; `per_node`: 0 if it is not set."""
    word = word.replace(RANKS, str(ranks))
    if per_node:
        word = word.replace(NODES, str(nodes_for(ranks, per_node)))
        word = word.replace(RANKS_PER_NODE, str(min(ranks, per_node)))
    return word


def job_of(launcher: str = "", environment: Mapping[str, str] = os.environ) -> Job:
    """The nodes that a launcher uses.

    Args:
        launcher: command, e.g. "mpirun --hostfile hosts -n {ranks}"; empty: the MPI library's launcher, which uses the
            nodes of a Slurm job by itself.
        environment: has Slurm's variables.
    """
    in_slurm = slurm_job(environment)
    if not launcher:
        return in_slurm or Job("this machine", 1, len(os.sched_getaffinity(0)))
    words = split_command(launcher)
    program = Path(words[0]).name
    if program.startswith("srun"):
        node_count = option_of(words, SLURM_OPTIONS.nodes)
        if node_count and node_count.isdigit():
            return Job("the launcher's command", int(node_count), in_slurm.cpus if in_slurm else 0)
    elif LAUNCHER.fullmatch(program) and (hosts := given_hosts(words)):
        source, slots = hosts
        min_slots = min(slots.values())  # 0 if the slots of a host are unknown
        return Job(source, len(slots), min_slots, sum(slots.values()) if min_slots else 0)
    return in_slurm or Job("the launcher's command")


def split_command(command: str) -> list[str]:
    """The words of a command as a shell splits them, at least one.

    Raises:
        UsageError: the command cannot be split, or is empty.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r} is not a command: {str(error).lower()}") from error
    if not words:
        raise UsageError(f"{command!r} is not a command: it is empty")
    return words


def slurm_job(environment: Mapping[str, str]) -> Job | None:
    """The Slurm job of this process; None outside a job."""
    nodes = environment.get("SLURM_JOB_NUM_NODES", "")
    if not nodes.isdigit() or int(nodes) < 1:
        return None
    cpus = parse_repeated(environment.get("SLURM_JOB_CPUS_PER_NODE", ""))
    per_task = environment.get("SLURM_CPUS_PER_TASK", "")
    cpus_per_task = int(per_task) if per_task.isdigit() else 1
    tasks = environment.get("SLURM_NTASKS", "")
    return Job(
        f"Slurm job {environment.get('SLURM_JOB_ID', '')}".strip(),
        int(nodes),
        min(cpus, default=0) // max(1, cpus_per_task),
        int(tasks) if tasks.isdigit() else 0,
    )


def parse_repeated(text: str) -> list[int]:
    """Numbers from Slurm's notation: "4(x2),3" is [4, 4, 3]; empty if the text is something else."""
    numbers: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", word)
        if not match:
            return []
        numbers += [int(match[1])] * int(match[2] or 1)
    return numbers


def option_of(words: Sequence[str], names: Sequence[str]) -> str | None:
    """The value of the first option in a command that has one of the names; None without such an option."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if is_one_of(name, names):
            if equals:
                return value
            if index + 1 < len(words):
                return words[index + 1]
    return None


def given_hosts(words: Sequence[str]) -> tuple[str, dict[str, int]] | None:
    """The hosts that a launcher's command names in a hostfile or an option; None if it names no hosts.

    Returns:
        The origin of the hosts, for messages, and host -> slots; 0 slots: unknown.
    """
    file = option_of(words, (*OPEN_MPI_OPTIONS.hostfile, *HYDRA_OPTIONS.hostfile))
    if file:
        try:
            first_bytes = Path(file).read_bytes()[: len(codecs.BOM_UTF8)]
            lines = read_own_text(Path(file)).splitlines()
        except (OSError, UnicodeDecodeError):
            return None  # the launcher reports the error
        if first_bytes == codecs.BOM_UTF8:
            raise UsageError(
                f"the hostfile '{file}' begins with a byte order mark, which a launcher reads as part of the first "
                "host; save it as UTF-8 without byte order mark"
            )
        hosts = hosts_in(line.partition("#")[0].strip() for line in lines)
        return (f"the hostfile '{file}'", hosts) if hosts else None
    listed = option_of(words, (*OPEN_MPI_OPTIONS.hosts, *HYDRA_OPTIONS.hosts))
    hosts = hosts_in(listed.split(",")) if listed else {}
    return ("the launcher's command", hosts) if hosts else None


def hosts_in(entries: Iterable[str]) -> dict[str, int]:
    """Host -> slots, from entries "name slots=4", "name:4" or "name" (0 slots: unknown).

    Slots of repeated hosts add up; then an entry without slots counts as one slot.
    """
    hosts: dict[str, int] = {}
    for entry in entries:
        if not entry:
            continue
        name, _, attributes = entry.partition(" ")
        name, _, number = name.partition(":")
        in_attributes = re.search(r"\bslots\s*=\s*(\d+)", attributes)
        if in_attributes:
            slots = int(in_attributes[1])
        elif number.isdigit():
            slots = int(number)
        else:
            slots = 0
        hosts[name] = max(1, hosts[name]) + max(1, slots) if name in hosts else slots
    return hosts


# Environment variable that identifies all processes of a launch, even after their parent has changed.
MARK = "_DOWNBEAT_LAUNCH"
KILL_PATIENCE_SECONDS = 10.0  # maximum wait for killed processes to disappear
# Names of shared memory segments that killed ranks leave: Open MPI 4, 5, MPICH, Intel MPI.
SEGMENT = re.compile(r"(vader|sm)_segment\.|mpich_shar_tmp|Intel_MPI_")
TIME_STAMP_LAG = 0.02  # s; the time stamp of a file may be one kernel tick earlier than the change
SHARED_MEMORY = Path("/dev/shm")
# Session directories that a killed launcher leaves: Open MPI 4 and 5.
SESSIONS = ("ompi.*.{user}/pid.{pid}", "ompi.{pid}")


def processes(name: str, text: bytes) -> list[int]:
    """Ids of the processes whose file /proc/<pid>/`name` contains a text; processes of other users are skipped."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile, or of another user
                if text in (entry / name).read_bytes():
                    pids.append(int(entry.name))
    return pids


def end_marked(mark: str) -> None:
    """Kills all processes with a launch mark and waits until they are gone."""
    text = os.fsencode(f"{MARK}={mark}") + b"\0"
    deadline = time.monotonic() + KILL_PATIENCE_SECONDS
    while (left := processes("environ", text)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def remove_segments(since: float) -> None:
    """Removes shared memory segments of this user's MPI programs that no process maps any more.

    Args:
        since: s since 1970; older files belong to other programs and stay.
    """
    for path in SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ():
        with contextlib.suppress(OSError):  # removed by another process
            status = path.stat()
            recent = status.st_ctime >= since - TIME_STAMP_LAG
            ours = SEGMENT.match(path.name) and status.st_uid == os.getuid()
            if ours and recent and not processes("maps", os.fsencode(path)):
                path.unlink()


def remove_sessions(pid: int) -> None:
    """Removes the session directories of an ended launcher."""
    for pattern in SESSIONS:
        for path in Path(tempfile.gettempdir()).glob(pattern.format(user=os.getuid(), pid=pid)):
            shutil.rmtree(path, ignore_errors=True)
            if path.parent != Path(tempfile.gettempdir()):
                with contextlib.suppress(OSError):  # not empty: used by other launchers
                    path.parent.rmdir()


class Guard:
    """A child process that cleans up after a launch if this process is killed before the launch has ended.

    The child reads a pipe until this process closes it or dies. The pipe carries the process id of the launcher, and
    the word "ended" if the launch ended in order; without this word the child kills the ranks and removes their files.
    """

    def __init__(self, mark: str) -> None:
        """Forks the child.

        Args:
            mark: value of `MARK` in the environment of the launch.
        """
        begin = time.time()
        read_end, self.write_end = os.pipe()
        self.process = os.fork()
        if self.process:  # the parent
            os.close(read_end)
            return
        try:
            os.close(self.write_end)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.setsid()  # signals of the terminal do not reach this process
            with os.fdopen(read_end, "rb") as pipe:
                words = pipe.read().split()  # until the other end is closed
            if words[-1:] != [b"ended"]:
                remove_all(mark, begin, int(words[0]) if words else None)
        finally:
            os._exit(0)

    def started(self, launcher: int) -> None:
        """Sends the process id of the launcher to the child."""
        os.write(self.write_end, b"%d\n" % launcher)

    def ended(self) -> None:
        """Reports to the child that the launch ended in order, and waits for the child's end."""
        os.write(self.write_end, b"ended")
        os.close(self.write_end)
        os.waitpid(self.process, 0)


def remove_all(mark: str, since: float, launcher: int | None) -> None:
    """Waits until a launcher has ended, then kills its ranks and removes their shared memory and directories.

    Args:
        mark: value of `MARK` in the environment of the launch.
        since: start of the launch, s since 1970.
        launcher: process id of the launcher, which is terminating; None if it was not started.
    """
    deadline = time.monotonic() + KILL_PATIENCE_SECONDS
    while launcher is not None and Path(f"/proc/{launcher}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    end_marked(mark)  # ranks killed during startup outlive their launcher and map shared memory
    remove_segments(since)
    if launcher is not None:
        remove_sessions(launcher)
