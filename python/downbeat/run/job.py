"""The nodes that ranks go to: those of a Slurm job, of a hostfile, of a launcher's command, or this machine alone."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError

# Placeholders in a launcher's command; the last two need --ranks-per-node.
RANKS, NODES, RANKS_PER_NODE = "{ranks}", "{nodes}", "{ranks_per_node}"
LAUNCHER = re.compile(r"(mpirun|mpiexec|orterun|prterun|prun|srun)([.\-_].*)?")


@dataclass(frozen=True)
class Options:
    """The options of a launcher that matter to what is made of a command: names, by what follows them.

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
            lines = Path(file).read_text(encoding="utf-8").splitlines()
        except OSError:
            return None  # the launcher will say so
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
