"""Figure 3: how processes leave a barrier."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import all_above, grows
from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE
from downbeat.reproduce.site import CROWDED_TOLERANCE, Site
from downbeat.reproduce.wording import between, microseconds


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
    medians: dict[tuple[str, int], list[float]] = {}  # us, of launches
    for label in results.have():
        ranks = results.run(label).ranks
        for synchronizer in (BARRIER, HARMONIZE):
            parts = []
            for data in results.datasets(label):
                one = data.isel(synchronizer=list(data["synchronizer"].to_numpy()).index(synchronizer))
                exits = one["exit"].to_numpy()[one["valid"].to_numpy() == 1]
                if len(exits):
                    parts.append(np.ptp(exits, axis=1) * MICROSECONDS)
            if parts:
                boxes.append(Box(str(ranks), synchronizer, np.concatenate(parts)))
                medians[synchronizer, ranks] = [float(np.median(part)) for part in parts]
    picture = draw_boxes(
        "schuchart2023-fig3",
        "Exit skew of the barrier",
        "Time from the first rank's leaving the synchronizer to the last one's, 50 calls in each launch, all launches "
        "together. The paper's figure has the barrier alone; harmonize stands beside it as on the authors' slides. The "
        "axis is logarithmic, for the one lies far below the other where ranks have cores of their own.",
        [BoxPanel(boxes, "number of ranks", "exit skew [us]", log_y=True)],
    )
    node = results.site.node
    growth = {count: medians[BARRIER, count] for count in results.site.counts if (BARRIER, count) in medians}
    findings = [
        Finding(
            "skew grows with the number of ranks",
            "single digits of us at one process per node; mean 60 us, outliers above 100 us at 16k processes",
            "medians "
            + ", ".join(
                f"{microseconds(float(np.median(values)))} on {count} ranks" for count, values in growth.items()
            ),
            grows({count: values for count, values in growth.items() if not results.site.crowded(count)}),
        )
    ]
    if (BARRIER, node) in medians and (HARMONIZE, node) in medians:
        # Of the same launch. A skew of less than a nanosecond is none that a clock shows.
        pairs = zip(medians[BARRIER, node], medians[HARMONIZE, node], strict=False)
        ratios = [barrier / max(common, 1e-3) for barrier, common in pairs]
        findings.append(
            Finding(
                "a common start has far less skew (slides)",
                "mostly below 0.5 us, outliers below 2 us, about 1/100 of the barrier's",
                f"median {microseconds(float(np.median(medians[HARMONIZE, node])))}, the barrier's is "
                f"{float(np.median(ratios)):.1f} times that on {node} ranks (launches {between(ratios)})",
                results.told_on(node, all_above(ratios, 2.0)),
            )
        )
    return Drawn((picture,), tuple(findings))
