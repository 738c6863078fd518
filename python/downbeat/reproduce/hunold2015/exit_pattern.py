"""Figure 4: when each rank leaves MPI_Barrier."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import above, below, ratios, some
from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.libraries import two_libraries
from downbeat.reproduce.own_clocks import DRIFTING
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds

FACTOR = 2.0  # between spreads that are called different


def exit_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            library,
            library,
            site.node,
            "skew",
            {"sync": "mpi_barrier", "repetitions": str(site.repetitions(1000)), "seed": "1"},
            seconds=1.5,
            variables={**DRIFTING, "DOWNBEAT_SYNC": "hca"},
        )
        for library, _ in two_libraries(site)
    )


def draw_exits(results: Results) -> Drawn:
    labels = dict(two_libraries(results.site))
    panels: list[Panel] = []
    spreads: dict[str, np.ndarray] = {}  # us, of launches
    for label in results.have():
        means, halves = (
            np.stack([data[name].to_numpy()[0] for data in results.datasets(label)]) * MICROSECONDS
            for name in ("exit_mean", "exit_half")
        )
        middle = len(means) // 2
        chosen = int(np.argsort(np.ptp(means, axis=1))[middle])  # one launch, as in the paper: the middle one
        mean, half = means[chosen], halves[chosen]
        ranks = np.arange(len(mean))
        panels.append(
            Panel(
                [Series("", ranks, mean, mean - half, mean + half, len(panels), "", 0)],
                "rank",
                "exit after the first [us]",
                labels[label],
            )
        )
        spreads[labels[label]] = np.ptp(means, axis=1)
    picture = draw_panels(
        "hunold2015-fig4",
        "When each rank leaves MPI_Barrier",
        "Mean over the calls of a launch of the time after the rank that left first, on clocks synchronized by HCA, "
        "with the "
        "95 % interval of the mean; of the launches the one with the middle spread.",
        panels,
    )
    told = ", ".join(f"{name} {microseconds(float(np.median(values)))}" for name, values in spreads.items())
    findings = [
        Finding(
            "libraries leave different exit patterns",
            "MVAPICH 2.0a: ranks 0 and 15 more than 40 us apart in the mean; Intel MPI 5: no such skew",
            f"largest difference of mean exits: {told}",
            None if len(spreads) < 2 else apart(*spreads.values()),
        )
    ]
    return Drawn((picture,), tuple(findings))


def apart(one: np.ndarray, other: np.ndarray) -> bool | None:
    """Whether every launch of one library spreads more than twice as far as every one of the other."""
    low, high = ratios(one, other)
    return some((above(low, high, FACTOR), below(low, high, 1 / FACTOR)))
