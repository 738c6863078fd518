"""Figure 1: timelines of a reduction after two barrier algorithms."""

from __future__ import annotations

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat_papers.evidence import factor_of, half
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, LATENCY
from downbeat_papers.site import OPEN_MPI, Site
from downbeat_papers.wording import microseconds
from downbeat.units import MICROSECONDS

SLOWER = 3.6  # times, 9.98 us / 2.78 us


def timeline_runs(site: Site) -> tuple[Run, ...]:
    library = site.first_of(OPEN_MPI)
    if not library:
        return ()
    return tuple(
        operation_run(
            site,
            f"n{ranks}",
            library,
            ranks,
            ["reduce(type=int8)"],
            usual=200,
            sync=BARRIER,
            options={"sizes": "1", "barrier-algorithm": "linear,double_ring"},
            factors=2,
        )
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_timeline(results: Results) -> Drawn:
    timelines: list[Timeline] = []
    findings = []
    for label in results.have():
        data = results.datasets(label)[0]
        ranks = results.run(label).ranks
        medians = {}
        for cell, algorithm in enumerate(data["barrier_algorithm"].to_numpy()):
            line = median_sample(data, cell, "", "latency_avg")
            if line is None:
                continue
            mean = float((line.exit - line.entry).mean())
            timelines.append(
                Timeline(
                    f"barrier {algorithm}, {ranks} ranks: mean time in the reduction {mean:.2f} us",
                    line.begin,
                    line.entry,
                    line.exit,
                )
            )
        for algorithm, group in results.cells.query("label == @label").groupby("barrier_algorithm"):
            medians[str(algorithm)] = group.set_index("launch")[LATENCY]
        ratios = medians["double_ring"] / medians["linear"]
        findings.append(
            Finding(
                f"the same reduction looks {SLOWER:g} times as slow after double_ring as after linear ({ranks} ranks)",
                "2.78 us after linear, 9.98 us after double_ring: 3.6 times (3.5 in the text)",
                f"{microseconds(medians['linear'].median() * MICROSECONDS)} and "
                f"{microseconds(medians['double_ring'].median() * MICROSECONDS)}",
                results.decided_on(ranks, factor_of(ratios).above(half(SLOWER))),
            )
        )
    picture = draw_timelines(
        "schuchart2023-fig1",
        "A reduction of 1 byte after two barrier algorithms",
        "One sample of the first launch for each barrier algorithm: that with the median latency. The "
        "synchronizer's bars end where ranks leave the barrier, which is the arrival pattern of the reduction.",
        timelines,
        results.site.sample,
    )
    return Drawn((picture,), tuple(findings))
