"""Sites that are simulated: a figure's own cluster, or the one that a user asks for."""

from __future__ import annotations

from collections.abc import Sequence

from downbeat.errors import UsageError
from downbeat.run.bench import find_bench
from downbeat.run.simulation import SIMULATOR, SpecificationError, parse_platform

from downbeat_papers.figure import Figure, System, own_data
from downbeat_papers.site import SAMPLE, Site

LAUNCHES = 3  # with delays and clocks of their own; less differs between them than on a machine


def check_simulated(figures: Sequence[Figure]) -> None:
    """Checks that figures can be simulated.

    Raises:
        UsageError: one cannot; the line says why, and which can.
    """
    for figure in figures:
        simulated_system(figure)


def simulated_system(figure: Figure) -> System:
    """Returns the simulated cluster of a figure.

    Raises:
        UsageError: it has none; the line says why, and which figures have one.
    """
    simulated = own_data(figure).simulated
    if isinstance(simulated, str):
        raise UsageError(f"{figure.name} is not simulated: {simulated}; --list --simulate shows those that are")
    return simulated


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
    system = simulated_system(figure)
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
