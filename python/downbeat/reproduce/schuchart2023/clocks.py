"""Figures 15 and 16: how long clock synchronization takes, and how exact it is."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import grows
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.own_clocks import clock_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site


def clock_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        clock_run(site, ranks, "hca3_offset", site.repetitions(50), seconds=3 if site.crowded(ranks) else 0.5)
        for ranks in site.counts
    )


def draw_clock_duration(results: Results) -> Drawn:
    boxes = []
    medians: dict[int, list[float]] = {}  # us, of launches
    for label in results.have():
        ranks = results.run(label).ranks
        parts = [data["duration"].to_numpy().ravel() for data in results.datasets(label)]
        boxes.append(Box(str(ranks), "hca3_offset", np.concatenate(parts) * 1e3))
        medians[ranks] = [float(np.median(part)) * MICROSECONDS for part in parts]
    picture = draw_boxes(
        "schuchart2023-fig15",
        "Duration of clock synchronization",
        "50 synchronizations in each launch by hca3_offset, the paper's scheme, all launches together; largest over "
        "ranks. "
        "Every rank has a clock of its own, as if it were a node. The first synchronization of a launch, which sets up "
        "connections, is not among them; in the paper it is, and is the outlier.",
        [BoxPanel(boxes, "number of processes", "duration [ms]")],
    )
    on_cores = {ranks: values for ranks, values in medians.items() if not results.site.crowded(ranks)}
    shares = [value / MICROSECONDS for values in medians.values() for value in values]
    findings = [
        Finding(
            "it takes longer the more processes there are",
            "a few hundred us, some ms at 16k processes (below 2 % of the second between synchronizations)",
            ", ".join(f"{ranks} ranks {np.median(values):.3g} us" for ranks, values in medians.items()),
            grows(on_cores),
        ),
        Finding(
            "one per second costs below 2 %",
            "less than 2 % at 16k processes",
            f"at most {max(shares):.2%}",
            max(shares) < 0.02,
        ),
    ]
    return Drawn((picture,), tuple(findings))


def draw_clock_accuracy(results: Results) -> Drawn:
    boxes = []
    largest: dict[int, float] = {}
    means: dict[int, float] = {}
    outside = 0
    for label in results.have():
        ranks = results.run(label).ranks
        files = results.datasets(label)
        measured = np.concatenate([np.abs(data["offset"].to_numpy()[..., 1:]).ravel() for data in files]) * MICROSECONDS
        true = np.concatenate([np.abs(data["true_error"].to_numpy()[..., 1:]).ravel() for data in files]) * MICROSECONDS
        bounds = np.concatenate([data["error_bound"].to_numpy()[..., 1:].ravel() for data in files]) * MICROSECONDS
        boxes += [Box(str(ranks), "measured, as in the paper", measured), Box(str(ranks), "true error", true)]
        largest[ranks] = float(true.max())
        means[ranks] = float(true.mean())
        outside += int((true > bounds).sum())
    # An exchange of ranks that share a core takes as long as they wait for it.
    judged = [ranks for ranks in largest if not results.site.crowded(ranks)] or list(largest)
    picture = draw_boxes(
        "schuchart2023-fig16",
        "Synchronization accuracy",
        "Absolute offset of every rank's global clock to rank 0's directly after each of 50 synchronizations, all "
        "launches "
        "together: measured by ping-pong, the smallest of ten as the papers do, and computed from the clocks' known "
        "errors. The paper checks 1 % of the processes in 20 repetitions.",
        [BoxPanel(boxes, "number of processes", "offset [us]")],
    )
    findings = [
        Finding(
            "the mean error stays well below 1 us",
            "below 1 us at all numbers of processes",
            "true errors: means " + ", ".join(f"{value:.3g} us on {ranks} ranks" for ranks, value in means.items()),
            results.told_on(results.site.node, max(means[ranks] for ranks in judged) < 1),
        ),
        Finding(
            "outliers stay below 2 us",
            "below 2 us",
            "largest true errors " + ", ".join(f"{value:.3g} us on {ranks} ranks" for ranks, value in largest.items()),
            results.told_on(results.site.node, max(largest[ranks] for ranks in judged) < 2),
        ),
        Finding(
            "true errors beyond the bound that the library reports",
            "no bound is known there",
            f"{outside}",
            None,
            is_claim=False,
        ),
    ]
    return Drawn((picture,), tuple(findings))
