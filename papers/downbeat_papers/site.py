"""Describes the site of figures: the machine at hand or the nodes of a job, their MPI libraries and numbers of ranks.

Figures choose their runs by attributes of the site, e.g. `full`, the largest number of ranks with a core each. Entries
of `figures/*.toml` use the attributes by name. simulated.py has the subclass for simulated clusters.
"""

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
# MVAPICH2 and Cray MPI, which the papers use, derive from MPICH. MPICH 5 comes first, because it yields the processor
# while it waits, and MPICH 4 does not (docs/install.md).
MPICH = ("mpich5", "mpich")
# Tolerance of the start of ranks that share processors, s: the kernel schedules them later than the usual 0.5 us.
CROWDED_TOLERANCE = "1e-4"
CLOCKS = MADE, REAL = ("made", "real")  # values of --clocks: clocks that figures about clocks compare
# Maximum number of ranks that are compared one by one: 1 % of the paper's 16384 (Schuchart 2023, section 6.5).
SAMPLE = 128


@dataclass(frozen=True)
class Site:
    """The machine at hand, or the nodes of a job.

    Attributes:
        cores: number of cores of each node that ranks may use; 0: unknown.
        benches: MPI library -> path of downbeat-bench.
        counts: numbers of ranks, rising.
        launches: of each configuration.
        quick: True: few repetitions, for a test of the setup.
        launcher: command, e.g. "srun --mpi=pmix -n {ranks}"; empty: the launcher of the MPI library, or Slurm's.
        nodes: number of nodes; 0: unknown.
        ranks_per_node: maximum number of ranks of a node; 0: the launcher decides, so that it is unknown.
        made_clocks: True: figures about clocks give each rank a made clock (see runs.py); False: they compare the
            nodes' clocks.
        sample: maximum number of ranks that are compared one by one.
        seconds: time for which the drift of clocks is observed; 0: the default of the figure.
        published: True: `MPIX_Harmonize` is also measured as its paper configures it.
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

    # Values that the subclass for simulated clusters replaces.
    node_word: ClassVar[str] = "node"
    linear: ClassVar[str] = "basic_linear"  # algorithm of MPI_Bcast: a message from the root to each rank
    sizes: ClassVar[str] = "4,16,64,256,1K,4K,16K,64K,256K,1M"  # of figures over message sizes
    # True: exchanges of clocks are not disturbed by a busy processor, but slow to simulate, so that schemes use few.
    exact: ClassVar[bool] = False
    verb: ClassVar[str] = "measured here"
    lead: ClassVar[tuple[str, ...]] = ()  # first lines of a page
    remark_on_matrix: ClassVar[str] = ""  # ends captions of matrices
    remark_on_lines: ClassVar[str] = ""  # ends captions of lines
    paper: str = ""  # the paper's numbers of ranks, in words; empty: not of a simulation

    @property
    def here(self) -> str:
        """The name of the site in a sentence."""
        return "this machine" if self.one_machine else "this job"

    @property
    def remark(self) -> str:
        """A line on defaults for several nodes, printed before the first launch; empty for one machine."""
        if self.nodes == 1:
            return ""
        return f"clocks: {self.clocks}; ranks compared one by one: at most {self.sample}"

    def described(self, each: str) -> tuple[str, str]:
        """Returns two texts: how figures were measured, and the clocks that were compared.

        Args:
            each: number of launches of each configuration, in words.
        """
        return (
            f"Measured {self.place} with {self.listed} ranks, {each}, under {', '.join(self.benches)}.",
            f"Figures about clocks: {self.clocks}. Where ranks are compared one by one, at most {self.sample} are.",
        )

    def where(self, library: str, ranks: int, per_node: int) -> dict[str, object]:  # noqa: ARG002
        """Returns columns of the table of runs that say where a run was executed."""
        return {"MPI library": library}

    def command(self, library: str, ranks: int, per_node: int, words: Sequence[str]) -> str:
        """Returns the command that starts a run; `words`: arguments of downbeat-bench."""
        launcher = with_numbers(self.launcher_of(library) or f"mpirun -n {RANKS}", ranks, per_node)
        return f"{launcher} downbeat-bench {shlex.join(words)}"

    def library(self, name: str, per_node: int) -> Library:
        """Returns an MPI library with its downbeat-bench and launcher, for a plan."""
        return Library(name, self.benches[name], self.launcher_of(name), ranks_per_node=per_node)

    def choices(self, collective: str, algorithms: list[str]) -> list[str]:  # noqa: ARG002
        """Returns the algorithms of Open MPI that this site can choose, from those that a figure has."""
        return algorithms

    def launch_seconds(
        self,
        ranks: int,
        measuring: float = 0.0,
        samples: float = 0.0,  # noqa: ARG002
        operations: Sequence[str] = (),  # noqa: ARG002
        messages: float = 0.0,  # noqa: ARG002
    ) -> float:
        """Returns the estimated duration of a launch, s.

        On a machine, that is the start of the ranks and the time `measuring`, s. A simulation takes as long as its
        samples, operations and messages take to simulate.
        """
        return start_seconds(ranks) + measuring

    @property
    def one_machine(self) -> bool:
        """True if all ranks are on this machine, and read the same clock."""
        return self.nodes == 1

    @property
    def node(self) -> int:
        """The largest number of ranks that have a core each on one node, for figures of one full node."""
        limits = [limit for limit in (self.cores, self.ranks_per_node) if limit]
        if not limits:
            return self.most
        return max((count for count in self.counts if count <= min(limits)), default=self.counts[0])

    @property
    def full(self) -> int:
        """The largest number of ranks that have a core each, on all nodes together."""
        return max((count for count in self.counts if not self.crowded(count)), default=self.counts[0])

    @property
    def most(self) -> int:
        """The largest number of ranks, for figures of many nodes."""
        return self.counts[-1]

    def crowded(self, ranks: int, per_node: int = 0) -> bool:
        """Returns true if this number of ranks share cores.

        Args:
            ranks: of a launch.
            per_node: maximum number of ranks of a node; 0: that of the site.
        """
        return Job("", self.nodes, self.cores).crowded(ranks, per_node or self.ranks_per_node)

    @property
    def all_cores(self) -> int:
        """The number of cores of all nodes."""
        return self.cores * max(1, self.nodes)

    @property
    def apart(self) -> int:
        """The number of ranks with separate clocks: one on each node; with made clocks, all ranks."""
        return self.nodes if self.placed and not self.made_clocks else self.most

    @property
    def alone(self) -> int:
        """The largest number of ranks with a node each; `full` if runs cannot place ranks on nodes."""
        return min(self.nodes, self.most) if self.placed and self.nodes > 1 else self.full

    @property
    def placed(self) -> bool:
        """True if there are several nodes and a run can set the number of ranks of a node."""
        return self.nodes > 1 and self.ranks_per_node > 0

    def spread(self, ranks: int) -> int:
        """Returns the ranks per node that spread ranks evenly over all nodes; 0: the launcher decides."""
        return math.ceil(ranks / self.nodes) if self.placed else 0

    def sampled(self, numbers: Sequence[int]) -> list[int]:
        """Chooses the ranks that are compared one by one, at most `sample`."""
        return evenly(numbers, self.sample)

    def launcher_of(self, library: str) -> str:
        """Returns the command that starts programs of a library; empty: the library's default."""
        return self.launcher or job_launcher(self.benches[library], self.placed)

    @property
    def place(self) -> str:
        """The place of the ranks in words, e.g. "on 4 nodes, 8 ranks each"."""
        if self.nodes == 1:
            return f"on {self.cores} cores"
        if not self.nodes:
            return f"under '{self.launcher}'"
        each = f", {counted(self.ranks_per_node, 'rank')} each" if self.ranks_per_node else ""
        return f"on {self.nodes} nodes" + (each or (f", {self.cores} cores each" if self.cores else ""))

    # Phrases for texts of figures, and conditions of `Figure.can_show`.

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
        """A condition that every site meets."""  # `can_show` reads it by name
        return True

    @property
    def clocks(self) -> str:
        """The clocks that figures about clocks compare, in words."""
        return "each rank's clock is made different, within 8 ppm" if self.made_clocks else "the nodes' own clocks"

    def want(self, what: str) -> str:
        """Returns the reason why a figure cannot be measured without `what`, e.g. a library."""
        return f"without {what}; the MPI libraries at hand: {', '.join(self.benches)}"

    def first_of(self, libraries: Sequence[str]) -> str | None:
        """Returns the first of some libraries that is available; None: none is."""
        return next((name for name in libraries if name in self.benches), None)

    def main(self) -> str:
        """Returns the library of figures that do not compare libraries."""
        return self.first_of((*OPEN_MPI, *MPICH)) or next(iter(self.benches))

    def libraries(self, which: str) -> list[str]:
        """Returns the libraries of a figure.

        Args:
            which: "main": the library of figures that do not compare libraries. "openmpi": Open MPI if available, else
                none. "two": two libraries to compare.
        """
        if which == "two":
            return list(self.two_libraries)
        if which == "main":
            return [self.main()]
        open_mpi = self.first_of(OPEN_MPI)
        return [open_mpi] if open_mpi else []

    @property
    def two_libraries(self) -> dict[str, str]:
        """Two libraries with their labels: if available those of Hunold 2015 (MPICH for MVAPICH), else any two."""
        families = {
            "intelmpi": "Intel MPI",
            self.first_of(MPICH): "MPICH (for MVAPICH)",
            self.first_of(OPEN_MPI): "Open MPI",
        }
        labels = {name: label for name, label in families.items() if name and name in self.benches}
        return dict(list((labels | {name: name for name in self.benches if name not in labels}).items())[:2])

    @property
    def linear_broadcast(self) -> str:
        """Option --algorithm for the linear broadcast of Hoefler's models; empty if the library's name is unknown."""
        return f"bcast={self.linear}" if self.main() in OPEN_MPI else ""

    def repetitions(self, usual: int) -> int:
        """Returns the number of samples per cell."""
        return min(usual, 5) if self.quick else usual

    def worth(self, ranks: int) -> str:
        """Describes the cores and nodes of a number of ranks at this site."""
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
    """Returns the machine or the job at hand; arguments that are empty or 0 take its defaults.

    Raises:
        UsageError: fewer than two ranks, or more than there is room for; no downbeat-bench, or none for a library; the
            launcher is not valid; unknown clocks, or real clocks on one node.
    """
    command = launcher_at(launcher, Path()) if launcher else ""
    check_placing(command, ranks_per_node)
    benches = benches_of(libraries)
    job = job_of(command)
    nodes = job.nodes
    if not nodes and ranks_per_node and ranks:
        nodes = nodes_for(max(ranks), ranks_per_node)
    per_node = 0  # unknown if the launcher does not take the number of ranks per node
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
    """Returns the default numbers of ranks: powers of two, and on several nodes also the maximum.

    Args:
        job: the machine or the job.
        room: maximum number of ranks on several nodes; 0: unknown.
    """
    max_ranks = room or job.ranks or job.nodes * job.cpus
    if not max_ranks:
        raise UsageError(f"--ranks: {job.source} does not say how many there can be; give numbers, as in --ranks 2,4")
    if job.nodes == 1 and not job.ranks:
        max_ranks *= 2  # includes a number of ranks that share cores, to show their effect
    powers = [2**i for i in range(1, max(2, max_ranks).bit_length())]
    return sorted({*powers, max_ranks}) if job.nodes > 1 else powers


def benches_of(libraries: Sequence[str]) -> dict[str, str]:
    """Returns library -> path of downbeat-bench; without names, of all libraries for which it is built."""
    for name in libraries:
        if name not in LIBRARIES:
            raise UsageError(f"--mpi {name}: unknown; valid are {', '.join(LIBRARIES)}")
    benches = {name: path for name in libraries or LIBRARIES if (path := built(name))}
    missing = [name for name in libraries if name not in benches]
    if missing:
        raise UsageError(f"--mpi {missing[0]}: no downbeat-bench for it; 'make build MPI={missing[0]}' builds it")
    return benches or dict([find_any_bench()])  # no checkout: the installed one


def parse_ranks(text: str) -> list[int]:
    """Parses numbers of ranks, e.g. "2,4"; empty text is an empty list.

    Raises:
        UsageError: a word is not a positive number.
    """
    words = split_list(text) if text else []
    for word in words:
        if not word.isascii() or not word.isdigit() or int(word) < 1:
            raise UsageError(f"--ranks {text}: '{word}' is not a number of ranks; write e.g. --ranks 2,4")
    return [int(word) for word in words]
