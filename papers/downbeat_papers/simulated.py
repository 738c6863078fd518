"""Which figures are drawn from simulated clusters, of which size, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from downbeat.errors import UsageError
from downbeat.run.bench import find_bench
from downbeat.run.simulation import SIMULATOR, SpecificationError, parse_platform

from downbeat_papers.figure import Figure, own_data
from downbeat_papers.site import SAMPLE, Site

LAUNCHES = 3  # with delays and clocks of their own; less differs between them than on a machine
# A network and processors that are not quiet; clocks are within 10 ppm, which is the default of all platforms.
NOISE = "overhead=200ns,jitter=100ns,tail=1us,tail_share=1e-3,late=2us,late_share=1e-3"


@dataclass(frozen=True)
class System:
    """A simulated figure: its cluster, and numbers of ranks."""

    platform: str  # as large as the paper's
    ranks: tuple[int, ...]  # by default: as many as take minutes
    paper: str  # the paper's numbers of ranks, in words


HAWK = f"fat-tree(nodes=128,ranks_per_node=128,{NOISE})"
TUWIEN = f"fat-tree(nodes=32,ranks_per_node=16,{NOISE})"
VSC3 = f"fat-tree(nodes=16,{NOISE})"
FOUR = f"fat-tree(nodes=4,{NOISE})"
TWO_NODES = f"fat-tree(nodes=2,ranks_per_node=24,{NOISE})"
ODIN = f"fat-tree(nodes=128,{NOISE})"  # a clock for each rank, as the tree of the figure takes them
HORNET = f"fat-tree(nodes=512,ranks_per_node=32,{NOISE})"
NODES_OF_HAWK = "128 to 16384 on 1 to 128 nodes"
UP_TO_16K = "up to 16384"

# By the figure that has the data.
SYSTEMS: Mapping[str, System] = {
    "schuchart2023-fig1": System(HAWK, (16,), "16"),
    "schuchart2023-fig2": System(HAWK, (128,), "128 on one node"),
    "schuchart2023-fig3": System(HAWK, (16, 64, 128, 256, 512, 1024, 2048), "up to 16384 on 128 nodes"),
    **{f"schuchart2023-{name}": System(HAWK, (128,), "128 on one node") for name in ("fig6", "fig9", "fig12", "sec66")},
    **{f"schuchart2023-{name}": System(HAWK, (1024,), "16384 on 128 nodes") for name in ("fig7", "fig10", "fig13")},
    **{f"schuchart2023-fig{number}": System(HAWK, (128, 256, 512, 1024), NODES_OF_HAWK) for number in (8, 11, 14)},
    "schuchart2023-fig15": System(HAWK, (128, 256, 512, 1024, 2048), NODES_OF_HAWK),
    "hunold2015-fig3": System(VSC3, (16,), "16 on 16 nodes"),
    "hunold2015-fig8": System(TUWIEN, (2, 4, 8, 16, 32, 64), "1 to 32, and 16 on each of 1 to 32 nodes"),
    "hunold2015-fig9": System(TUWIEN, (128,), "512 on 32 nodes"),
    "hunold2015-fig10": System(TUWIEN, (64,), "512 on 32 nodes"),
    **{f"hoefler2008-{name}": System(FOUR, (4,), "4, a model") for name in ("fig1", "fig2")},
    "hoefler2008-fig3": System(ODIN, (128,), "4, a model"),
    "hoefler2008-fig8": System(ODIN, (2, 4, 8, 16, 32, 64, 128), "128"),
    **{f"niethammer2016-{name}": System(TWO_NODES, (48,), "24 to 48 on 2 nodes") for name in ("fig2", "fig3")},
    "niethammer2016-fig5": System(HORNET, (16, 32, 64, 128), UP_TO_16K),
    **{f"niethammer2016-{name}": System(HORNET, (8, 16, 32, 48), UP_TO_16K) for name in ("fig7", "fig11")},
    "niethammer2016-fig15": System(HORNET, (32, 64, 128, 256), UP_TO_16K),
}

TWO_LIBRARIES = "it compares MPI libraries, and none is simulated"
DRIFTS = "it is about clocks that drift over thousands of calls, and no more than 20 are simulated"
NETWORKS = "it is about the noise of real networks and clocks"
# By name.
REFUSED: Mapping[str, str] = {
    **{f"hunold2015-{name}": DRIFTS for name in ("fig1", "fig7", "fig11")},
    "hunold2015-fig2": "it is about what benchmarks report, not about size",
    **{f"hunold2015-{name}": TWO_LIBRARIES for name in ("fig4", "fig5")},
    **{f"hunold2015-{name}": NETWORKS for name in ("fig6", "sec6")},
    **{f"hoefler2008-{name}": NETWORKS for name in ("fig4", "fig5", "fig6")},
    "niethammer2016-tab2": NETWORKS,
}


def check_simulated(figures: Sequence[Figure]) -> None:
    """Checks that figures can be simulated.

    Raises:
        UsageError: one cannot; the line says why, and which can.
    """
    for figure in figures:
        if own_data(figure).name not in SYSTEMS:
            raise UsageError(
                f"{figure.name} is not simulated: {REFUSED[figure.name]}; --list --simulate shows those that are"
            )


def simulated_site(
    figure: Figure,
    ranks: Sequence[int],
    platform: str = "",
    launches: int = LAUNCHES,
    quick: bool = False,
    sample: int = SAMPLE,
) -> Site:
    """Returns the cluster that is simulated for a figure: its own, or a platform and numbers of ranks in place of it.

    Raises:
        UsageError: a platform that cannot be, fewer than two ranks, or more than it has room for; no simulator.
    """
    system = SYSTEMS[own_data(figure).name]
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
    return Site(
        0,
        {SIMULATOR: find_bench(SIMULATOR)},
        tuple(counts),
        launches,
        quick,
        nodes=cluster.nodes,
        ranks_per_node=cluster.ranks_per_node,
        made_clocks=False,
        sample=sample,
        platform=str(cluster),
    )
