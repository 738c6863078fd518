"""Figure 4: when each rank leaves MPI_Barrier."""

from __future__ import annotations

import numpy as np
from scipy import special

from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.evidence import Undecidable, factor_between
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.hunold2015.library_comparison import two_libraries
from downbeat.reproduce.own_clocks import made
from downbeat.reproduce.results import Results
from downbeat.reproduce.run import Run
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds
from downbeat.sampling import drawn_of
from downbeat.units import MICROSECONDS

BESIDE = 0.15  # ranks, by which points of one rank are apart
FACTOR = 2.0  # between spreads that are called different


def exit_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            library,
            library,
            site.full,
            "skew",
            {"sync": "mpi_barrier", "repetitions": str(site.repetitions(1000)), "seed": "1"},
            seconds=1.5,
            variables={**made(site), "DOWNBEAT_SYNC": "hca"},
        )
        for library, _ in two_libraries(site)
    )


def over_all(means: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the mean over launches of each rank's mean, and its 95 % t interval; without one of a single launch."""
    count = len(means)
    middle = means.mean(axis=0)
    half = np.zeros_like(middle)
    if count > 1:
        half = special.stdtrit(count - 1, 0.975) * means.std(axis=0, ddof=1) / np.sqrt(count)
    return middle, middle - half, middle + half


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
        ranks = np.array(results.site.sampled(range(len(mean))))
        panels.append(
            Panel(
                [
                    Series("one launch", ranks, mean[ranks], (mean - half)[ranks], (mean + half)[ranks], 0, "", 0),
                    Series("all launches", ranks + BESIDE, *over_all(means[:, ranks]), 1, "", 1),
                ],
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
        "with the 95 % interval of the mean. One launch, as in the paper: the one with the middle spread; its interval "
        "knows the deviation between calls. All launches: mean of their means; its interval knows that of launches."
        + drawn_of(results.site.full, results.site.sample),
        panels,
    )
    described = ", ".join(f"{name} {microseconds(float(np.median(values)))}" for name, values in spreads.items())
    found = Undecidable("two MPI libraries are needed")
    findings = [
        Finding(
            "libraries leave different exit patterns: the spread of the mean exits differs by more than twice",
            "MVAPICH 2.0a: ranks 0 and 15 more than 40 us apart in the mean; Intel MPI 5: no such skew",
            f"largest difference of mean exits: {described}",
            factor_between(*spreads.values()).beyond(FACTOR) if len(spreads) > 1 else found,
        )
    ]
    return Drawn((picture,), tuple(findings))
