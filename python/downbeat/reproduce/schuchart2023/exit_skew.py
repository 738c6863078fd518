"""Figure 3: how processes leave a barrier."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE
from downbeat.reproduce.site import CROWDED_TOLERANCE, Site
from downbeat.reproduce.wording import microseconds


def skew_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            f"n{ranks}",
            site.main(),
            ranks,
            "skew",
            {"sync": f"{BARRIER},{HARMONIZE}", "repetitions": str(site.repetitions(50)), "seed": "1"},
            seconds=1 if site.crowded(ranks) else 0.2,
            variables={"DOWNBEAT_TOLERANCE": CROWDED_TOLERANCE} if site.crowded(ranks) else {},
        )
        for ranks in site.counts
    )


def draw_skew(results: Results) -> Drawn:
    boxes = []
    medians: dict[tuple[str, int], float] = {}
    for label in results.have():
        ranks = results.run(label).ranks
        for synchronizer in (BARRIER, HARMONIZE):
            parts = []
            for data in results.datasets(label):
                one = data.isel(synchronizer=list(data["synchronizer"].to_numpy()).index(synchronizer))
                exits = one["exit"].to_numpy()[one["valid"].to_numpy() == 1]
                parts.append(np.ptp(exits, axis=1) * MICROSECONDS)
            values = np.concatenate(parts)
            if len(values):
                boxes.append(Box(str(ranks), synchronizer, values))
                medians[synchronizer, ranks] = float(np.median(values))
    picture = draw_boxes(
        "schuchart2023-fig3",
        "Exit skew of the barrier",
        "Time from the first rank's leaving the synchronizer to the last one's, 50 calls in each launch, all launches "
        "together. The paper's figure has the barrier alone; harmonize stands beside it as on the authors' slides. The "
        "axis is logarithmic, for the one lies far below the other where ranks have cores of their own.",
        [BoxPanel(boxes, "number of ranks on this node", "exit skew [us]", log_y=True)],
    )
    node = results.site.node
    growth = [medians[BARRIER, count] for count in results.site.counts if (BARRIER, count) in medians]
    findings = [
        Finding(
            "skew grows with the number of ranks",
            "single digits of us at one process per node; mean 60 us, outliers above 100 us at 16k processes",
            "medians " + ", ".join(microseconds(value) for value in growth),
            results.told_on(results.site.most, growth == sorted(growth) if len(growth) > 1 else None),
        )
    ]
    if (BARRIER, node) in medians and (HARMONIZE, node) in medians:
        ratio = medians[BARRIER, node] / max(medians[HARMONIZE, node], 1e-3)
        findings.append(
            Finding(
                "a common start has far less skew (slides)",
                "mostly below 0.5 us, outliers below 2 us, about 1/100 of the barrier's",
                f"median {microseconds(medians[HARMONIZE, node])}, the barrier's is {ratio:.1f} times that "
                f"on {node} ranks",
                ratio > 2,
            )
        )
    return Drawn((picture,), tuple(findings))
