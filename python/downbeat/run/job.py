"""The nodes that ranks go to: a Slurm job's, a hostfile's, a launcher's, this machine; what killed launches leave."""

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
LAUNCHER = re.compile(r"(mpirun|mpiexec|orterun|prterun|prun|srun)([.\-_].*)?")


@dataclass(frozen=True)
class Options:
    """The options of a launcher that matter to how a command is changed: names, by their arguments.

    A name is written with one dash or two.
    """

    hostfile: tuple[str, ...] = ()  # a file of hosts
    hosts: tuple[str, ...] = ()  # a list of hosts
    nodes: tuple[str, ...] = ()  # a number of nodes
    programs: tuple[str, ...] = ()  # a file with the programs of the launch
    assign: tuple[str, ...] = ()  # NAME=VALUE, or NAME VALUE where they are Hydra's
    # Which variables ranks get, under Intel not the launch's identity: none, or those of a list.
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


def is_launcher(word: str) -> bool:
    """Whether a word names a launcher: of an MPI library, or Slurm's."""
    return LAUNCHER.fullmatch(Path(word).name) is not None


def is_slurm(launcher: str) -> bool:
    """Whether a launcher is Slurm's."""
    return Path(launcher).name.startswith("srun")


def is_one_of(word: str, names: Sequence[str]) -> bool:
    """Whether a word is one of some options."""
    return word.startswith("-") and re.sub("^--?", "", word) in names


@dataclass(frozen=True)
class Job:
    """The nodes that ranks go to, as far as is known without going there.

    Attributes:
        source: where this is known from, for people.
        nodes: how many; 0: not known.
        cpus: that ranks may use on each of them, the fewest; 0: not known.
        ranks: that they are for; 0: not known.
    """

    source: str
    nodes: int = 0
    cpus: int = 0
    ranks: int = 0

    def crowded(self, ranks: int, per_node: int = 0) -> bool:
        """Whether so many ranks share CPUs; False if the number of CPUs is not known.

        Args:
            ranks: how many.
            per_node: the most of them on a node; 0: spread evenly.
        """
        return bool(self.cpus) and ranks_on_a_node(ranks, per_node, self.nodes) > self.cpus


def ranks_on_a_node(ranks: int, per_node: int, nodes: int) -> int:
    """Returns how many of the ranks the fullest node has."""
    return min(ranks, per_node) if per_node else math.ceil(ranks / max(1, nodes))


def nodes_for(ranks: int, per_node: int) -> int:
    """Returns how many nodes so many ranks fill, the last one perhaps in part."""
    return math.ceil(ranks / per_node)


def places_ranks(launcher: str) -> bool:
    """Whether a launcher's command says how many nodes there are, or how many ranks each has."""
    return NODES in launcher or RANKS_PER_NODE in launcher


def with_numbers(word: str, ranks: int, per_node: int) -> str:
    """Returns a word of a launcher's command with numbers in their places."""
    word = word.replace(RANKS, str(ranks))
    if per_node:
        word = word.replace(NODES, str(nodes_for(ranks, per_node)))
        word = word.replace(RANKS_PER_NODE, str(min(ranks, per_node)))
    return word


def job_of(launcher: str = "", environment: Mapping[str, str] = os.environ) -> Job:
    """Returns the nodes that a launcher uses.

    Args:
        launcher: its command, as "mpirun --hostfile hosts -n {ranks}"; empty: that of the MPI library, which uses the
            nodes of a Slurm job by itself.
        environment: where Slurm says what a job has.
    """
    in_slurm = slurm_job(environment)
    if not launcher:
        return in_slurm or this_machine()
    words = split_command(launcher)
    slurm = is_slurm(words[0])
    hosts = given_hosts(words) if is_launcher(words[0]) and not slurm else None
    if hosts:
        source, slots = hosts
        fewest = min(slots.values())
        return Job(source, len(slots), fewest, sum(slots.values()) if fewest else 0)
    asked = option_of(words, SLURM_OPTIONS.nodes) if slurm else None
    if asked and asked.isdigit():
        nodes = int(asked)
        return Job("the launcher's command", nodes, in_slurm.cpus if in_slurm else 0)
    return in_slurm or Job("the launcher's command")


def split_command(command: str) -> list[str]:
    """Returns the words of a command, of which there is at least one, as a shell splits them.

    Raises:
        UsageError: it cannot be split, or is empty.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r} is not a command: {str(error).lower()}") from error
    if not words:
        raise UsageError(f"{command!r} is not a command: it is empty")
    return words


def this_machine() -> Job:
    """Returns this machine as the only node."""
    return Job("this machine", 1, len(os.sched_getaffinity(0)))


def slurm_job(environment: Mapping[str, str]) -> Job | None:
    """Returns what Slurm says of the job that this process belongs to; None if it does not."""
    nodes = environment.get("SLURM_JOB_NUM_NODES", "")
    if not nodes.isdigit() or int(nodes) < 1:
        return None
    cpus = repeated(environment.get("SLURM_JOB_CPUS_PER_NODE", ""))
    each = environment.get("SLURM_CPUS_PER_TASK", "")
    fewest = min(cpus, default=0) // (int(each) if each.isdigit() and int(each) else 1)
    tasks = environment.get("SLURM_NTASKS", "")
    ranks = int(tasks) if tasks.isdigit() else 0
    return Job(f"Slurm job {environment.get('SLURM_JOB_ID', '')}".strip(), int(nodes), fewest, ranks)


def repeated(text: str) -> list[int]:
    """Returns numbers that Slurm writes as "4(x2),3"; none if it is something else."""
    numbers: list[int] = []
    for word in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", word)
        if not found:
            return []
        numbers += [int(found[1])] * int(found[2] or 1)
    return numbers


def option_of(words: Sequence[str], names: Sequence[str]) -> str | None:
    """Returns the value of the first of some options in a command; None if it has none of them."""
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if is_one_of(name, names):
            if equals:
                return value
            if position + 1 < len(words):
                return words[position + 1]
    return None


def given_hosts(words: Sequence[str]) -> tuple[str, dict[str, int]] | None:
    """Returns the hosts that a launcher's command names, each with its slots, 0 if not said; None if it names none."""
    file = option_of(words, (*OPEN_MPI_OPTIONS.hostfile, *HYDRA_OPTIONS.hostfile))
    if file:
        try:
            begin = Path(file).read_bytes()[: len(codecs.BOM_UTF8)]
            lines = read_own_text(Path(file)).splitlines()
        except (OSError, UnicodeDecodeError):
            return None  # the launcher will say so
        if begin == codecs.BOM_UTF8:
            raise UsageError(
                f"the hostfile '{file}' begins with a byte order mark, which a launcher takes for a part of the first "
                "host; save it without"
            )
        found = hosts_in(line.partition("#")[0].strip() for line in lines)
        return (f"the hostfile '{file}'", found) if found else None
    listed = option_of(words, (*OPEN_MPI_OPTIONS.hosts, *HYDRA_OPTIONS.hosts))
    found = hosts_in(listed.split(",")) if listed else {}
    return ("the launcher's command", found) if found else None


def hosts_in(entries: Iterable[str]) -> dict[str, int]:
    """Returns hosts with their slots out of "name slots=4" or "name:4"; one that is there often has as many."""
    found: dict[str, int] = {}
    for entry in entries:
        if not entry:
            continue
        name, _, rest = entry.partition(" ")
        name, _, number = name.partition(":")
        slots = re.search(r"\bslots\s*=\s*(\d+)", rest)
        count = int(slots[1]) if slots else int(number) if number.isdigit() else 0
        found[name] = max(1, found[name]) + max(1, count) if name in found else count
    return found


# A variable that all processes of a launch inherit, even if another process becomes their parent.
MARK = "_DOWNBEAT_LAUNCH"
KILL_PATIENCE_SECONDS = 10.0  # until processes that were killed are gone
# Memory that ranks share has a name until they end in order: of Open MPI 4, 5, MPICH, Intel MPI.
SEGMENT = re.compile(r"(vader|sm)_segment\.|mpich_shar_tmp|Intel_MPI_")
STEP_SECONDS = 0.02  # time stamps of files lag by up to one tick of the kernel
SHARED_MEMORY = Path("/dev/shm")
# Directories that a launcher removes when it ends in order, by its user and its process: of Open MPI 4 and 5.
SESSIONS = ("ompi.*.{user}/pid.{pid}", "ompi.{pid}")


def processes(name: str, text: bytes) -> list[int]:
    """Returns the processes that have a text in a file of theirs in /proc, as far as we may read it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile, or of another user
                if text in (entry / name).read_bytes():
                    found.append(int(entry.name))
    return found


def end_marked(mark: str) -> None:
    """Kills the processes that have been started with this mark, and waits until they are gone."""
    text = os.fsencode(f"{MARK}={mark}") + b"\0"
    deadline = time.monotonic() + KILL_PATIENCE_SECONDS
    while (left := processes("environ", text)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def remove_segments(since: float) -> None:
    """Removes the shared memory of MPI programs of this user that none of them uses any more.

    Args:
        since: time in s since 1970, by this host; older files are of another program.
    """
    for path in SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ():
        with contextlib.suppress(OSError):  # somebody else removes it, too
            status = path.stat()
            ours = SEGMENT.match(path.name) and status.st_uid == os.getuid() and status.st_ctime >= since - STEP_SECONDS
            if ours and not processes("maps", os.fsencode(path)):
                path.unlink()


def remove_sessions(pid: int) -> None:
    """Removes the directories of a launcher that has ended, however it did."""
    for pattern in SESSIONS:
        for path in Path(tempfile.gettempdir()).glob(pattern.format(user=os.getuid(), pid=pid)):
            shutil.rmtree(path, ignore_errors=True)
            if path.parent != Path(tempfile.gettempdir()):
                with contextlib.suppress(OSError):  # other launchers have theirs there
                    path.parent.rmdir()


class Guard:
    """Another process, which removes what a launch leaves if this one is killed before it can."""

    def __init__(self, mark: str) -> None:
        """Begins.

        Args:
            mark: of the launch, `MARK` in its environment.
        """
        begin = time.time()
        reading, self.writing = os.pipe()
        self.process = os.fork()
        if self.process:
            os.close(reading)
            return
        try:
            os.close(self.writing)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.setsid()  # what a terminal sends is for the others
            with os.fdopen(reading, "rb") as told:
                words = told.read().split()  # until the other end is closed
            if words[-1:] != [b"ended"]:
                remove_all(mark, begin, int(words[0]) if words else None)
        finally:
            os._exit(0)

    def started(self, launcher: int) -> None:
        """Names the process of the launcher."""
        os.write(self.writing, b"%d\n" % launcher)

    def ended(self) -> None:
        """Says that nothing is left to do, and waits for its end."""
        os.write(self.writing, b"ended")
        os.close(self.writing)
        os.waitpid(self.process, 0)


def remove_all(mark: str, since: float, launcher: int | None) -> None:
    """Waits until a launcher has ended, which has been asked to, and removes what it and its ranks leave."""
    deadline = time.monotonic() + KILL_PATIENCE_SECONDS
    while launcher is not None and Path(f"/proc/{launcher}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    end_marked(mark)  # ranks that were starting outlive their launcher, and hold their shared memory
    remove_segments(since)
    if launcher is not None:
        remove_sessions(launcher)
