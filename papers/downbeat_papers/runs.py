"""Builds the runs of downbeat-bench that figures of papers need.

A run is a configuration that is launched several times. Ranks are crowded if they share cores.

On a single machine all ranks share a clock, and nothing drifts. For figures about clocks the validation clock
(docs/clock-experiments.md) simulates a clock for each rank, within +-8 ppm like real oscillators, with known true
error. These clocks are called made clocks. Nodes of a cluster have separate clocks, which are used unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from downbeat.run.durations import sample_seconds

from downbeat_papers.site import CROWDED_TOLERANCE, Site

CROWDED_SAMPLE_SECONDS = 1.5e-3  # duration of a sample of crowded ranks; only for the estimated duration of a run
CROWDED_REPETITIONS = 30  # samples of crowded ranks; more do not make their times more precise
WARMUP = "3"  # warm-up calls before each block
QUICK_ATTEMPTS = "100"  # attempts per sample in quick runs, so that at least a few samples are valid
MAX_ATTEMPTS = "5"  # attempts per sample; limits the duration on a busy machine, at the cost of fewer samples

# Parameters of made clocks. Two clocks differ by up to 16 ppm and wander, within the 20 ppm that the library allows
# (max_skew); ranks 0 and 1 differ by 12 ppm with this seed.
CLOCKS = "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"
EXCHANGES = 20  # message exchanges of a rank in a synchronization without a fit
CHECK_EXCHANGES = 10  # message exchanges that measure the clock offset of a rank
CHECK_SECONDS = 1e-3  # time to measure the clock offset of a rank
# By default, one rank of a node synchronizes for all ranks of the node. In the papers every process does.
EVERY_PROCESS = {"DOWNBEAT_SHARE": "never"}
# Scheme with fewer exchanges, for sites with exact exchanges (see Site).
FEW_FIT = "fit=100,offset=mean_rtt(exchanges=10)"


@dataclass(frozen=True)
class Run:
    """A configuration of a figure, which is launched several times."""

    label: str  # name of the run's directory, in frames and in drawings; unique within the figure
    library: str  # name of the MPI library in `downbeat.run.libraries`
    ranks: int  # ranks of each launch
    operations: tuple[str, ...]  # operations of downbeat-bench, or the name of another experiment, e.g. "skew"
    options: Mapping[str, str]  # options of downbeat-bench, as in `Measurement`
    variables: Mapping[str, str] = field(default_factory=dict)  # environment variables, e.g. DOWNBEAT_VALIDATION
    seconds: float = 1.0  # estimated duration of a launch
    max_launches: int = 0  # 0: no maximum
    ranks_per_node: int = 0  # maximum number of ranks of a node; 0: the maximum of the site

    def launches(self, site: Site) -> int:
        """Returns the number of launches at a site."""
        return min(site.launches, self.max_launches or site.launches)

    def per_node(self, site: Site) -> int:
        """Returns the maximum number of ranks of a node at a site; 0: the launcher decides."""
        return (self.ranks_per_node or site.ranks_per_node) if site.placed else 0

    def crowded(self, site: Site) -> bool:
        """Returns true if the ranks share cores."""
        return site.crowded(self.ranks, self.per_node(site))


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
    more_seconds: float = 0.0,
    ranks_per_node: int = 0,
) -> Run:
    """Returns a run that measures operations.

    Args:
        site: the machine.
        label: of the run.
        library: the MPI library.
        ranks: of each launch.
        operations: of downbeat-bench.
        usual: samples per cell if each rank has a core; crowded ranks take at most `CROWDED_REPETITIONS`.
        sync: synchronizers, separated by commas.
        options: further options of downbeat-bench.
        variables: environment variables.
        factors: number of cells for each operation and synchronizer; only for the estimated duration.
        more_seconds: time beside that of the samples; only for the estimated duration.
        ranks_per_node: as in `Run`.
    """
    crowded = site.crowded(ranks, ranks_per_node if site.placed else 0)
    repetitions = site.repetitions(min(usual, CROWDED_REPETITIONS) if crowded else usual)
    all_options = {
        "sync": sync,
        "repetitions": str(repetitions),
        "warmup": WARMUP,
        "max-attempts": QUICK_ATTEMPTS if site.quick else MAX_ATTEMPTS,
        "seed": "1",
        **({"tolerance": CROWDED_TOLERANCE} if crowded else {}),
        **(options or {}),
    }
    samples = len(operations) * (1 + sync.count(",")) * factors * repetitions
    seconds = site.launch_seconds(
        ranks, samples * (CROWDED_SAMPLE_SECONDS if crowded else sample_seconds(ranks)), samples, operations
    )
    return Run(
        label,
        library,
        ranks,
        tuple(operations),
        all_options,
        dict(variables or {}),
        seconds=seconds + more_seconds,
        ranks_per_node=ranks_per_node,
    )


def declared_runs(
    site: Site,
    label: str,
    ranks: Sequence[str] = ("full",),
    libraries: str = "main",
    options: Mapping[str, str] | None = None,
    **measured: Any,  # noqa: ANN401
) -> tuple[Run, ...]:
    """Returns the runs that an entry of `figures/*.toml` declares, one for each library and number of ranks.

    Args:
        site: the machine.
        label: of the runs; may contain {library} and {ranks}.
        ranks: names of attributes of `Site` that are numbers of ranks, e.g. "full".
        libraries: argument of `Site.libraries`.
        options: of downbeat-bench; values may contain {site} and {last}, the last rank. An option whose value is empty
            at the site is left out.
        measured: further arguments of `operation_run`.
    """
    return tuple(
        operation_run(
            site,
            label.format(library=library, ranks=count),
            library,
            count,
            options={
                name: text
                for name, value in (options or {}).items()
                if (text := value.format(site=site, last=count - 1))
            },
            **measured,
        )
        for library in site.libraries(libraries)
        for count in dict.fromkeys(getattr(site, name) for name in ranks)
    )


def clock_variables(site: Site, clocks: str = CLOCKS) -> dict[str, str]:
    """Returns the environment variable that makes clocks; none if the site compares the clocks of its nodes."""
    return {"DOWNBEAT_VALIDATION": clocks} if site.made_clocks else {}


def clock_run(
    site: Site,
    ranks: int,
    schemes: str,
    repetitions: int,
    seconds: float,
    waits: str = "0",
    exchanges: int = EXCHANGES,
    clocks: str = CLOCKS,
    every_process: bool = False,
) -> Run:
    """Returns a run that synchronizes clocks and measures their errors, with ranks on as many nodes as possible.

    Args:
        site: the machine.
        ranks: of each launch.
        schemes: that synchronize clocks, separated by commas.
        repetitions: synchronizations by each scheme.
        seconds: estimated time of all synchronizations, without the measurement of errors.
        waits: times after a synchronization at which errors are measured, s, separated by commas.
        exchanges: estimated exchanges of a rank, summed over one synchronization by each scheme.
        clocks: parameters of made clocks, if the site has them.
        every_process: True: every process synchronizes by itself; False: one rank of a node for all of them.
    """
    options = {"schemes": schemes, "waits": waits, "repetitions": str(repetitions), "seed": "1"}
    checked = ranks - 1
    # downbeat-bench draws the sample from the upper half of the ranks, where errors are largest.
    if checked > site.sample:
        checked = min(site.sample, ranks - ranks // 2)
        options["sample"] = str(checked)
    checks = checked * repetitions * (1 + waits.count(",")) * (1 + schemes.count(","))
    messages = 2 * (ranks * repetitions * exchanges + checks * CHECK_EXCHANGES)
    return Run(
        f"n{ranks}",
        site.main(),
        ranks,
        ("clock",),
        options,
        seconds=site.launch_seconds(ranks, seconds + CHECK_SECONDS * checks, messages=messages),
        variables=clock_variables(site, clocks) | (EVERY_PROCESS if every_process else {}),
        ranks_per_node=site.spread(ranks),
    )
