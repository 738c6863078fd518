"""Figures 15 and 16: how long clock synchronization takes, and how exact it is."""

from __future__ import annotations

import numpy as np

from downbeat_papers.clock_errors import TRUE, explained, judged, shown, within
from downbeat_papers.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat_papers.evidence import every, factor_of, grows
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import clock_run
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between
from downbeat.units import MICROSECONDS

REPETITIONS = 50
MOST_SHARE = 0.02  # of the time, for a synchronization per second


def clock_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        clock_run(site, ranks, "hca3_offset", site.repetitions(REPETITIONS), seconds=3 if site.crowded(ranks) else 0.5)
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
        f"{results.site.repetitions(REPETITIONS)} synchronizations in each launch by hca3_offset, the paper's scheme, "
        f"all launches together; largest over ranks. {clock_words(results)} The first synchronization of a launch, "
        "which sets up connections, is not among them; in the paper it is, and is the outlier.",
        [BoxPanel(boxes, "number of processes", "duration [ms]")],
    )
    on_cores = {ranks: values for ranks, values in medians.items() if not results.site.crowded(ranks)}
    shares = {ranks: np.array(values) / MICROSECONDS for ranks, values in medians.items()}
    judged_on = on_cores or shares
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
            f"at most {max(float(share.max()) for share in shares.values()):.2%}",
            results.decided_on(
                results.site.full, every(factor_of(shares[ranks]).below(MOST_SHARE) for ranks in judged_on)
            ),
        ),
    ]
    return Drawn((picture,), tuple(findings))


def clock_words(results: Results) -> str:
    """Says for a caption which clocks were synchronized."""
    if results.site.made_clocks:
        return "Every rank has a clock of its own, as if it were a node."
    return "Clocks are those of the nodes, over all of which ranks are spread."


def draw_clock_accuracy(results: Results) -> Drawn:
    boxes = []
    largest: dict[int, list[float]] = {}  # us, of launches
    means: dict[int, list[float]] = {}
    outside = 0
    everything = [data for label in results.have() for data in results.datasets(label)]
    kinds, kind = shown(everything), judged(everything)
    for label in results.have():
        ranks = results.run(label).ranks
        files = results.datasets(label)
        errors = {one: one.pooled(files) for one in kinds}
        bounds = np.concatenate([data["error_bound"].to_numpy()[..., 1:].ravel() for data in files]) * MICROSECONDS
        boxes += [Box(str(ranks), one.title, values) for one, values in errors.items()]
        launches = [kind.pooled([data]) for data in files]
        largest[ranks] = [float(launch.max()) for launch in launches if len(launch)]
        means[ranks] = [float(launch.mean()) for launch in launches if len(launch)]
        outside += int((errors[kind] > bounds).sum()) if kind is TRUE else 0
    # An exchange of ranks that share a core takes as long as they wait for it.
    counted = [ranks for ranks in largest if not results.site.crowded(ranks)] or list(largest)
    picture = draw_boxes(
        "schuchart2023-fig16",
        "Synchronization accuracy",
        "Absolute offset of every rank's global clock to rank 0's directly after each of "
        f"{results.site.repetitions(REPETITIONS)} synchronizations, all launches together: measured by ping-pong, the "
        "smallest of ten as the papers do, and beside it "
        f"{explained(everything)}. The paper checks 1 % of the processes in 20 repetitions.",
        [BoxPanel(boxes, "number of processes", "offset [us]")],
    )
    findings = [
        Finding(
            f"the mean {kind.words} stays well below 1 us",
            "below 1 us at all numbers of processes",
            f"means {by_ranks(means)}{within(everything)}",
            results.decided_on(
                results.site.full, every(factor_of(means[ranks], " us").below(1.0) for ranks in counted)
            ),
        ),
        Finding(
            f"outliers of the {kind.words} stay below 2 us: the largest of a launch, in the mean over launches",
            "below 2 us",
            f"largest of launches {by_ranks(largest)}{within(everything)}",
            results.decided_on(
                results.site.full, every(factor_of(largest[ranks], " us").below(2.0) for ranks in counted)
            ),
        ),
    ]
    if kind is TRUE:
        findings.append(
            Finding(
                "true errors beyond the bound that the library reports",
                "no bound is known there",
                f"{outside}",
                None,
            )
        )
    return Drawn((picture,), tuple(findings))


def by_ranks(values: dict[int, list[float]]) -> str:
    """Returns the range over launches for each number of ranks."""
    return ", ".join(f"{between(launches, ' us')} on {ranks} ranks" for ranks, launches in values.items())
