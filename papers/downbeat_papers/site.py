"""The machine at hand, and the papers' experiments that fit on it."""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from downbeat.errors import UsageError
from downbeat.run.bench import built, find_any_bench, library_of, srun_launcher
from downbeat.run.bench_options import launcher_at
from downbeat.run.durations import start_seconds
from downbeat.run.job import RANKS, Job, job_of, nodes_for, places_ranks, with_numbers
from downbeat.run.libraries import LIBRARIES
from downbeat.run.plan import Library
from downbeat.run.planning import check_placing
from downbeat.text import counted, evenly, split_list

OPEN_MPI = ("openmpi", "openmpi5", "simgrid")  # SimGrid's collectives are copies of Open MPI's
# MVAPICH2 and Cray MPI, which the papers use, are made of MPICH. MPICH 5 comes first: of the two it alone leaves the
# processor to others while it waits (docs/install.md).
MPICH = ("mpich5", "mpich")
# Ranks that share processors start when the kernel lets them, not within the usual half microsecond.
CROWDED_TOLERANCE = "1e-4"  # s
CLOCKS = MADE, REAL = ("made", "real")  # that figures about clocks compare
# Most ranks that are compared one by one: 1 % of the paper's 16384 (Schuchart 2023, section 6.5).
SAMPLE = 128


@dataclass(frozen=True)
class Site:
    """The machine at hand, or the nodes of a job.

    Attributes:
        cores: that ranks may use on each node; 0: not known.
        benches: path of downbeat-bench, by MPI library.
        counts: numbers of ranks, rising.
        launches: of each configuration.
        quick: few repetitions, to see whether all works.
        launcher: as "srun --mpi=pmix -n {ranks}"; empty: that of the MPI library, on this machine or in a Slurm job.
        nodes: how many there are; 0: not known.
        ranks_per_node: the most that a node gets; 0: as the launcher does it, which is not known.
        made_clocks: whether figures about clocks give ranks clocks of their own; else the nodes' clocks are compared.
        sample: of ranks that are compared one by one, so many at most.
        seconds: over which clocks are watched as they drift; 0: what the figure has.
        published: whether `MPIX_Harmonize` is measured as its paper has it, too.
    """

    cores: int
    benches: Mapping[str, str]
    counts: tuple[int, ...]
    launches: int = 5
    quick: bool = False
    launcher: str = ""
    nodes: int = 1
    ranks_per_node: int = 0
    made_clocks: bool = True
    sample: int = SAMPLE
    seconds: float = 0.0
    published: bool = False

    # What another kind of site has in place of these.
    node_word: ClassVar[str] = "node"
    linear: ClassVar[str] = "basic_linear"  # name of the broadcast from the root to each
    sizes: ClassVar[str] = "4,16,64,256,1K,4K,16K,64K,256K,1M"  # of figures over message sizes
    exact: ClassVar[bool] = False  # no busy processor disturbs an exchange, and each takes long to make: few do
    verb: ClassVar[str] = "measured here"
    lead: ClassVar[tuple[str, ...]] = ()  # of a page
    remark_on_matrix: ClassVar[str] = ""  # in captions
    remark_on_lines: ClassVar[str] = ""
    paper: str = ""  # the paper's numbers of ranks, in words, where a site has them

    @property
    def here(self) -> str:
        """What the site is called in a sentence."""
        return "this machine" if self.one_machine else "this job"

    @property
    def remark(self) -> str:
        """Choices made for several nodes, in one line before the first launch; empty for one machine."""
        if self.nodes == 1:
            return ""
        return f"clocks: {self.clocks}; ranks compared one by one: at most {self.sample}"

    def described(self, each: str) -> tuple[str, str]:
        """How figures were measured, and whose clocks, in sentences."""
        return (
            f"Measured {self.place} with {self.listed} ranks, {each}, under {', '.join(self.benches)}.",
            f"Figures about clocks: {self.clocks}. Where ranks are compared one by one, at most {self.sample} are.",
        )

    def where(self, library: str, ranks: int, per_node: int) -> dict[str, object]:  # noqa: ARG002
        """Where a run was, as columns of a table."""
        return {"MPI library": library}

    def command(self, library: str, ranks: int, per_node: int, words: Sequence[str]) -> str:
        """Returns the command that starts a run; `words`: arguments of downbeat-bench."""
        launcher = with_numbers(self.launcher_of(library) or f"mpirun -n {RANKS}", ranks, per_node)
        return f"{launcher} downbeat-bench {shlex.join(words)}"

    def library(self, name: str, per_node: int) -> Library:
        """Returns an MPI library, and how it starts programs here."""
        return Library(name, self.benches[name], self.launcher_of(name), ranks_per_node=per_node)

    def choices(self, collective: str, algorithms: list[str]) -> list[str]:  # noqa: ARG002
        """Returns the algorithms of Open MPI that can be chosen, of some."""
        return algorithms

    def launch_seconds(
        self,
        ranks: int,
        measuring: float = 0.0,
        samples: float = 0.0,  # noqa: ARG002
        operations: Sequence[str] = (),  # noqa: ARG002
        messages: float = 0.0,  # noqa: ARG002
    ) -> float:
        """The time of a launch, roughly, which measures for some seconds, or as its samples and messages take."""
        return start_seconds(ranks) + measuring

    @property
    def one_machine(self) -> bool:
        """True if all ranks are on this machine, and read its one clock."""
        return self.nodes == 1

    @property
    def node(self) -> int:
        """The most ranks of one node that have a core each, for figures of one full node."""
        limits = [limit for limit in (self.cores, self.ranks_per_node) if limit]
        if not limits:
            return self.most
        return max((count for count in self.counts if count <= min(limits)), default=self.counts[0])

    @property
    def full(self) -> int:
        """The most ranks that have a core each, on whatever nodes."""
        return max((count for count in self.counts if not self.crowded(count)), default=self.counts[0])

    @property
    def most(self) -> int:
        """The most ranks there are, for figures of many nodes."""
        return self.counts[-1]

    def crowded(self, ranks: int, per_node: int = 0) -> bool:
        """Returns true if so many ranks share cores; `per_node` where a run has its own."""
        return Job("", self.nodes, self.cores).crowded(ranks, per_node or self.ranks_per_node)

    @property
    def all_cores(self) -> int:
        """The cores of all nodes."""
        return self.cores * max(1, self.nodes)

    @property
    def apart(self) -> int:
        """The ranks whose clocks drift apart: one on each node, or as many as one node has at most."""
        return self.nodes if self.placed and not self.made_clocks else self.most

    @property
    def alone(self) -> int:
        """The most ranks with a node each; `full` where a run cannot say how many a node gets."""
        return min(self.nodes, self.most) if self.placed and self.nodes > 1 else self.full

    @property
    def placed(self) -> bool:
        """True if a run can say how many ranks each of several nodes gets."""
        return self.nodes > 1 and self.ranks_per_node > 0

    def spread(self, ranks: int) -> int:
        """Returns the most ranks that a node gets if all nodes get some; 0: as the launcher does it."""
        return math.ceil(ranks / self.nodes) if self.placed else 0

    def sampled(self, numbers: Sequence[int]) -> list[int]:
        """Returns those of some ranks that are compared one by one."""
        return evenly(numbers, self.sample)

    def launcher_of(self, library: str) -> str:
        """Returns the command that starts programs of a library; empty: that which it has itself."""
        return self.launcher or job_launcher(self.benches[library], self.placed)

    @property
    def place(self) -> str:
        """Where ranks run."""
        if self.nodes == 1:
            return f"on {self.cores} cores"
        if not self.nodes:
            return f"under '{self.launcher}'"
        each = f", {counted(self.ranks_per_node, 'rank')} each" if self.ranks_per_node else ""
        return f"on {self.nodes} nodes" + (each or (f", {self.cores} cores each" if self.cores else ""))

    # Phrases of what figures can show at the site.

    @property
    def listed(self) -> str:
        return ", ".join(map(str, self.counts))

    @property
    def at(self) -> str:
        return "" if self.one_machine else f" {self.place}"

    @property
    def each_alone(self) -> str:
        if not self.placed or self.nodes == 1:
            return f"{self.full} ranks{self.at}"
        return f"{self.alone} ranks, each on a {self.node_word} of its own"

    @property
    def on_node(self) -> str:
        return "on one node" if self.one_machine or self.placed else self.place

    @property
    def on_machine(self) -> str:
        return f"on 1 node of 128, {self.cores} cores" if self.one_machine else self.place

    @property
    def two_ranks(self) -> str:
        return "; on 2 ranks most algorithms are the same one message" if self.node == 2 else ""

    @property
    def any(self) -> bool:
        """A condition that every site meets."""
        return True

    @property
    def clocks(self) -> str:
        """Which clocks figures about clocks compare."""
        return "each rank's clock is made different, within 8 ppm" if self.made_clocks else "the nodes' own clocks"

    def want(self, what: str) -> str:
        return f"without {what}; the MPI libraries at hand: {', '.join(self.benches)}"

    def first_of(self, libraries: Sequence[str]) -> str | None:
        """Returns the first of some libraries that there is."""
        return next((name for name in libraries if name in self.benches), None)

    def main(self) -> str:
        """Returns the library of figures that do not compare libraries."""
        return self.first_of((*OPEN_MPI, *MPICH)) or next(iter(self.benches))

    def libraries(self, which: str) -> list[str]:
        """Returns "main", the library of figures that do not compare any, "openmpi" if it is there, or "two"."""
        if which == "two":
            return list(self.two_libraries)
        return [name for name in (self.main() if which == "main" else self.first_of(OPEN_MPI),) if name]

    @property
    def two_libraries(self) -> dict[str, str]:
        """Two libraries with their labels: Hunold's Intel MPI and what stands for MVAPICH first, else any two."""
        families = {
            "intelmpi": "Intel MPI",
            self.first_of(MPICH): "MPICH (for MVAPICH)",
            self.first_of(OPEN_MPI): "Open MPI",
        }
        labels = {name: label for name, label in families.items() if name and name in self.benches}
        return dict(list((labels | {name: name for name in self.benches if name not in labels}).items())[:2])

    @property
    def linear_broadcast(self) -> str:
        """The choice of the linear broadcast of Hoefler's models, where the library is known."""
        return f"bcast={self.linear}" if self.main() in OPEN_MPI else ""

    def repetitions(self, usual: int) -> int:
        """Returns the number of samples."""
        return min(usual, 5) if self.quick else usual

    def worth(self, ranks: int) -> str:
        """Describes where so many ranks run here."""
        if self.crowded(ranks):
            return f"{ranks} ranks on {self.all_cores} cores, so that times contain the wait for a core"
        if not self.placed:
            return f"{ranks} ranks, a core each" if self.nodes == 1 else f"{ranks} ranks {self.place}"
        nodes = counted(nodes_for(ranks, self.ranks_per_node), self.node_word)
        return f"{ranks} ranks on {nodes}"


@functools.cache
def job_launcher(bench: str, placed: bool) -> str:
    """Returns the Slurm launcher of a job; empty outside of one, or if Slurm cannot start the program."""
    owner = library_of(bench)
    return srun_launcher(owner[1], placed) if owner else ""


def site_at_hand(
    ranks: Sequence[int],
    libraries: Sequence[str],
    launches: int,
    quick: bool,
    launcher: str = "",
    ranks_per_node: int = 0,
    clocks: str = "",
    sample: int = SAMPLE,
) -> Site:
    """Returns the machine or the job at hand; empty arguments take its defaults.

    Raises:
        UsageError: fewer than two ranks, or more than there is room for; no downbeat-bench, or none for a library; a
            launcher that cannot be one; clocks that there are not.
    """
    command = launcher_at(launcher, Path()) if launcher else ""
    check_placing(command, ranks_per_node)
    benches = benches_of(libraries)
    job = job_of(command)
    nodes = job.nodes
    if not nodes and ranks_per_node and ranks:
        nodes = nodes_for(max(ranks), ranks_per_node)
    per_node = 0
    if nodes > 1 and (places_ranks(command) or not command):
        per_node = ranks_per_node or math.ceil(job.ranks / nodes) or job.cpus
    counts = sorted(set(ranks)) or usual_counts(job, nodes * per_node)
    if counts[0] < 2:
        raise UsageError(f"--ranks {counts[0]}: every figure needs at least 2 ranks")
    if per_node and counts[-1] > nodes * per_node:
        raise UsageError(
            f"--ranks {counts[-1]}: at {per_node} per node, {nodes} nodes ({job.source}) have room for "
            f"{nodes * per_node}; --ranks-per-node changes that"
        )
    if clocks and clocks not in CLOCKS:
        raise UsageError(f"--clocks {clocks}: unknown; valid are {', '.join(CLOCKS)}")
    if clocks == REAL and nodes == 1:
        raise UsageError(
            f"--clocks {REAL}: all ranks are on one node and read one clock; leave it out, or use more nodes"
        )
    made = clocks == MADE or (not clocks and nodes == 1)
    return Site(job.cpus, benches, tuple(counts), launches, quick, command, nodes, per_node, made, sample)


def usual_counts(job: Job, room: int) -> list[int]:
    """Returns the default numbers of ranks; `room` is how many fit on several nodes, 0 if unknown."""
    most = room or job.ranks or job.nodes * job.cpus
    if not most:
        raise UsageError(f"--ranks: {job.source} does not say how many there can be; give numbers, as in --ranks 2,4")
    if job.nodes == 1 and not job.ranks:
        most *= 2  # what ranks without a core of their own look like
    powers = [2**i for i in range(1, max(2, most).bit_length())]
    return sorted({*powers, most}) if job.nodes > 1 else powers


def benches_of(libraries: Sequence[str]) -> dict[str, str]:
    """Returns the downbeat-bench of each library that may be used; of all that are built if none is named."""
    for name in libraries:
        if name not in LIBRARIES:
            raise UsageError(f"--mpi {name}: unknown; valid are {', '.join(LIBRARIES)}")
    benches = {name: path for name in libraries or LIBRARIES if (path := built(name))}
    missing = [name for name in libraries if name not in benches]
    if missing:
        raise UsageError(f"--mpi {missing[0]}: no downbeat-bench for it; 'make build MPI={missing[0]}' builds it")
    return benches or dict([find_any_bench()])  # no checkout: the installed one


def parse_ranks(text: str) -> list[int]:
    """Parses numbers of ranks, as "2,4".

    Raises:
        UsageError: a word is not a positive number.
    """
    words = split_list(text) if text else []
    for word in words:
        if not word.isascii() or not word.isdigit() or int(word) < 1:
            raise UsageError(f"--ranks {text}: '{word}' is not a number of ranks; write e.g. --ranks 2,4")
    return [int(word) for word in words]
