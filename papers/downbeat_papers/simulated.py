"""Builds simulated sites: the cluster of a figure, or the cluster that the user describes with --platform.

SimGrid simulates a launch of downbeat-bench in one process; its time is virtual.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from downbeat.errors import UsageError
from downbeat.run.job import nodes_for
from downbeat.run.plan import Library
from downbeat.run.planning import find_simulator
from downbeat.run.simulation import (
    SIMULATOR,
    Platform,
    SpecificationError,
    model_lines,
    parse_platform,
    platforms_of,
    simulated_seconds,
)
from downbeat.text import counted

from downbeat_papers.figure import Figure, data_figure
from downbeat_papers.site import SAMPLE, Site

LAUNCHES = 3  # default; each has its own random delays and clocks, and launches differ less than on a machine
MAX_REPETITIONS = 20  # samples per cell; simulating more takes too long
# The simulator has algorithms of Open MPI; of these collectives also "mvapich2", the selection that MVAPICH2 makes.
MVAPICH, MVAPICH_COLLECTIVES = "mvapich2", ("reduce", "bcast")


@dataclass(frozen=True)
class SimulatedSite(Site):
    """A simulated cluster.

    Attributes:
        platform: its specification, with all parameters.
    """

    platform: str = ""

    # These replace values of Site, which explains them.
    node_word = "simulated node"
    linear = "linear"
    sizes = "4,64,1K,16K,256K"  # few, since simulating a size takes minutes
    exact = True
    verb = "simulated"
    lead = ("Simulated, not measured: numbers are those of a model of a cluster, and of no machine.",)
    here = "this simulation"
    one_machine = False
    remark = ""
    remark_on_matrix = " Simulated: the simulator's copies of Open MPI's algorithms."
    remark_on_lines = (
        " Simulated: all algorithms are the simulator's; that of MPICH (for MVAPICH2) is the one that "
        "MVAPICH2 has, knomial that of MVAPICH2, too, with radix 4; Open MPI's default is its binomial tree."
    )

    @property
    def topology(self) -> str:
        """The network, e.g. "fat_tree"."""
        return self.platform.partition("(")[0]

    @property
    def placed(self) -> bool:
        """True if the number of ranks of a node is set; a single node is enough, unlike on a machine."""
        return self.ranks_per_node > 0

    @property
    def place(self) -> str:
        each = counted(self.ranks_per_node, "rank")
        return f"on {counted(self.nodes, self.node_word)} ({self.topology}), {each} each"

    @property
    def clocks(self) -> str:
        return f"simulated nodes' clocks, within {parse_platform(self.platform).values['skew'] * 1e6:g} ppm"

    def described(self, each: str) -> tuple[str, str]:
        return (
            f"Simulated, {each}, with delays and clocks of their own.",
            "True time is known: true errors and true skews are beside measured ones, and decide.",
        )

    def where(self, library: str, ranks: int, per_node: int) -> dict[str, object]:  # noqa: ARG002
        each = f"up to {per_node} ranks each" if per_node > 1 else "one rank each"
        return {"simulated on": f"{self.topology}, {nodes_for(ranks, per_node)} of {self.nodes} nodes, {each}"}

    def command(self, library: str, ranks: int, per_node: int, words: Sequence[str]) -> str:  # noqa: ARG002
        start = ["tools/launch", "--simulate", self.platform_for(per_node), "-n", str(ranks)]  # in a checkout
        return shlex.join([*start, "build/simgrid/bin/downbeat-bench", *words])

    def library(self, name: str, per_node: int) -> Library:
        return Library(name, self.benches[name], simulate=self.platform_for(per_node))

    def choices(self, collective: str, algorithms: list[str]) -> list[str]:
        """Returns the algorithms that the simulator can select (bench/smpi/operations/families.cc).

        Of collectives other than reduce, bcast and allreduce it has only the default.
        """
        if collective in MVAPICH_COLLECTIVES:
            return [*algorithms, MVAPICH]
        return algorithms if collective == "allreduce" else ["default"]

    def launch_seconds(
        self,
        ranks: int,
        measuring: float = 0.0,  # noqa: ARG002
        samples: float = 0.0,
        operations: Sequence[str] = (),
        messages: float = 0.0,
    ) -> float:
        return simulated_seconds(ranks, samples, operations, messages)

    def repetitions(self, usual: int) -> int:
        return super().repetitions(min(usual, MAX_REPETITIONS))

    def platform_for(self, per_node: int) -> str:
        """Returns the platform with another number of ranks per node; 0: unchanged."""
        platform = parse_platform(self.platform)
        values = {**platform.values, "ranks_per_node": float(per_node or platform.ranks_per_node)}
        return str(Platform(platform.topology, values))


def platforms(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns the platforms of simulated launches, without the ranks per node, which the table of runs has."""
    return list(dict.fromkeys(re.sub(r"ranks_per_node=\d+, ", "", platform) for platform in platforms_of(contexts)))


def model_line(platform: str) -> str:
    """Returns the sentence that numbers are those of a model."""
    (line,) = model_lines([platform])
    return line


def simulated_site(
    figure: Figure,
    ranks: Sequence[int],
    platform: str = "",
    launches: int = LAUNCHES,
    quick: bool = False,
    sample: int = SAMPLE,
) -> SimulatedSite:
    """Returns the simulated cluster of a figure.

    Args:
        figure: to simulate.
        ranks: numbers of ranks; empty: those of the figure that fit on the cluster.
        platform: specification of another cluster; empty: the cluster of the figure.
        launches: of each configuration.
        quick: True: few repetitions.
        sample: as in `Site`.

    Raises:
        UsageError: the platform is not valid; fewer than two ranks, or more than the cluster has room for; there is no
            simulator; the figure has no cluster.
    """
    system = data_figure(figure).simulated
    if isinstance(system, str):
        raise UsageError(f"{figure.name} is not simulated: {system}; --list --simulate shows those that are")
    try:
        cluster = parse_platform(platform or system.platform)
    except SpecificationError as error:
        raise UsageError(f"--platform: {error}") from error
    counts = sorted(set(ranks)) or [count for count in system.ranks if count <= cluster.ranks] or [cluster.ranks]
    if counts[0] < 2:
        raise UsageError(
            f"--ranks {counts[0]}: every figure needs at least 2 ranks"
            if ranks
            else f"--platform: {cluster.nodes} node of {cluster.ranks_per_node} has room for no 2 ranks; raise nodes"
        )
    if counts[-1] > cluster.ranks:
        raise UsageError(
            f"--ranks {counts[-1]}: {cluster.nodes} simulated nodes of {cluster.ranks_per_node} have room for "
            f"{cluster.ranks}; --platform changes that"
        )
    return SimulatedSite(
        cores=0,  # not known: each simulated rank has a core
        benches={SIMULATOR: find_simulator()},
        counts=tuple(counts),
        launches=launches,
        quick=quick,
        nodes=cluster.nodes,
        ranks_per_node=cluster.ranks_per_node,
        made_clocks=False,
        sample=sample,
        paper=system.paper,
        platform=str(cluster),
    )


def site_finder(
    simulate: bool, named: bool, of_machine: bool, machine: Callable[[], Site], cluster: Callable[[Figure], Site]
) -> Callable[[Figure], Site | str]:
    """Returns a function that returns the site of a figure, or the reason why it has none.

    Args:
        simulate: True: figures are simulated; False: measured on the machine at hand.
        named: True: the user named figures, so that a figure without a site is an error.
        of_machine: True: an option is set that simulations do not have.
        machine: returns the machine at hand.
        cluster: returns the simulated cluster of a figure; raises UsageError if the figure has none.

    Raises:
        UsageError: `simulate` and `of_machine` are both true, or `machine` raises.
    """
    if not simulate:
        site = machine()
        return lambda _: site
    if of_machine:
        raise UsageError(
            "--simulate: a simulation uses no MPI library and no launcher, and its platform sets clocks and ranks per "
            "node; leave out --mpi, --launcher, --clocks and --ranks-per-node"
        )

    def site_of(figure: Figure) -> Site | str:
        system = data_figure(figure).simulated
        return f"not simulated: {system}" if isinstance(system, str) and not named else cluster(figure)

    return site_of
