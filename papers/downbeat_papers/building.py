"""How runs of downbeat-bench are put together, the same for all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from downbeat.experiment.duration import (
    nonblocking_seconds,
    sample_messages,
    sample_seconds,
    simulated_seconds,
    start_seconds,
)
from downbeat_papers.run import Run
from downbeat_papers.site import CROWDED_TOLERANCE, Site

# Of a sample; only the estimated duration rests on it.
CROWDED_SAMPLE_SECONDS = 1.5e-3
CROWDED_REPETITIONS = 30  # what takes turns on a core is not measured more exactly by repetition
WARMUP = "3"
QUICK_ATTEMPTS = "100"  # of few samples, so that there are any
MOST_ATTEMPTS = "5"  # per sample; a figure from fewer samples is better than one that a busy machine never ends


def operation_run(
    site: Site,
    label: str,
    library: str,
    ranks: int,
    operations: Sequence[str],
    *,
    usual: int,
    sync: str = "mpi_barrier,harmonize",
    options: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    factors: int = 1,
) -> Run:
    """Returns a run that measures operations.

    Args:
        site: where.
        label: of the run.
        library: MPI library.
        ranks: of each launch.
        operations: of downbeat-bench.
        usual: samples per cell where each rank has a core.
        sync: synchronizers, as downbeat-bench takes them.
        options: further ones.
        variables: of the environment.
        factors: cells for each operation and synchronizer, for the estimated duration.
    """
    crowded = site.crowded(ranks)
    repetitions = site.repetitions(min(usual, CROWDED_REPETITIONS) if crowded else usual)
    tolerance = {"tolerance": CROWDED_TOLERANCE} if crowded else {}
    all_options = {
        "sync": sync,
        "repetitions": str(repetitions),
        "warmup": WARMUP,
        "max-attempts": QUICK_ATTEMPTS if site.quick else MOST_ATTEMPTS,
        "seed": "1",
        **tolerance,
    }
    samples = len(operations) * (1 + sync.count(",")) * factors * repetitions
    return Run(
        label=label,
        library=library,
        ranks=ranks,
        operations=tuple(operations),
        options=all_options | dict(options or {}),
        variables=dict(variables or {}),
        seconds=simulated_seconds(ranks, samples * sample_messages(ranks, operations))
        + samples * nonblocking_seconds(ranks, operations)
        if site.simulated
        else start_seconds(ranks) + samples * (CROWDED_SAMPLE_SECONDS if crowded else sample_seconds(ranks)),
    )


def experiment_run(
    label: str,
    library: str,
    ranks: int,
    experiment: str,
    options: Mapping[str, str],
    *,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    most_launches: int = 0,
    ranks_per_node: int = 0,
) -> Run:
    """Returns a run of the experiment `skew`, `clock`, `drift` or `rtt`, with its seconds without the start."""
    return Run(
        label,
        library,
        ranks,
        (experiment,),
        dict(options),
        dict(variables or {}),
        start_seconds(ranks) + seconds,
        most_launches,
        ranks_per_node,
    )
