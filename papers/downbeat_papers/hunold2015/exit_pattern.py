"""Figure 4: when each rank leaves MPI_Barrier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy import special

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Undecidable, factor_between
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.library_comparison import two_libraries
from downbeat_papers.hunold2015.over_time import FIT_SECONDS, ONCE
from downbeat_papers.own_clocks import made
from downbeat_papers.results import NoSamplesError, Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import microseconds
from downbeat.sampling import drawn_of
from downbeat.units import MICROSECONDS

BARRIERS = 1000
WINDOW = "window(size=100us,growth=1)"
BESIDE = 0.15  # ranks, by which points of one rank are apart
FACTOR = 2.0  # between spreads that are called different


def exit_runs(site: Site) -> tuple[Run, ...]:
    """Returns the runs: barriers that begin with a window, on clocks that HCA synchronized once."""
    runs = (
        operation_run(
            site,
            library,
            library,
            site.full,
            ["barrier"],
            usual=BARRIERS,
            sync=WINDOW,
            variables=made(site) | ONCE | {"DOWNBEAT_SYNC": "hca"},
        )
        for library, _ in two_libraries(site)
    )
    return tuple(replace(run, seconds=run.seconds + FIT_SECONDS) for run in runs)


def exits_after_the_first(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Returns when each rank leaves the barrier after the first one, in us: mean over calls, half of its 95 % interval.

    Both have shape (ranks,), NaN where no call is valid.
    """
    exits = data["exit"].to_numpy()[data["valid"].to_numpy() == 1]
    late = (exits - exits.min(axis=1, keepdims=True)) * MICROSECONDS
    count = len(late)
    if count < 2:
        return np.full(exits.shape[1], np.nan), np.full(exits.shape[1], np.nan)
    return late.mean(axis=0), special.stdtrit(count - 1, 0.975) * late.std(axis=0, ddof=1) / np.sqrt(count)


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
        launches = [exits_after_the_first(data) for data in results.datasets(label)]
        launches = [one for one in launches if np.isfinite(one[0]).all()]
        if not launches:
            continue
        means, halves = (np.stack(values) for values in zip(*launches, strict=True))
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
    if not panels:
        raise NoSamplesError("no launch has two valid calls")
    picture = draw_panels(
        "hunold2015-fig4",
        "When each rank leaves MPI_Barrier",
        f"Mean over {results.site.repetitions(BARRIERS)} calls of the time after the rank that left first. Calls begin "
        "with windows of 100 us, on clocks that HCA synchronized once, as in the paper; "
        "with the 95 % interval of the mean. One launch, as in the paper: the one with the middle spread; its interval "
        "knows the deviation between calls. All launches: mean of their means; its interval knows that of launches."
        + drawn_of(results.site.full, results.site.sample),
        panels,
    )
    described = ", ".join(f"{name} {microseconds(float(np.median(values)))}" for name, values in spreads.items())
    found = Undecidable("two MPI libraries with valid calls are needed")
    findings = [
        Finding(
            "libraries leave different exit patterns: the spread of the mean exits differs by more than twice",
            "MVAPICH 2.0a: ranks 0 and 15 more than 40 us apart in the mean; Intel MPI 5: no such skew",
            f"largest difference of mean exits: {described}",
            factor_between(*spreads.values()).beyond(FACTOR) if len(spreads) > 1 else found,
        )
    ]
    return Drawn((picture,), tuple(findings))
