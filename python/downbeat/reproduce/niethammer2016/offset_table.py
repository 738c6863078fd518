"""Table II: the clock offset of each rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import between

OFFSETS = 100


def offset_runs(site: Site) -> tuple[Run, ...]:
    duration = 0.05 if site.quick else 1.0
    return tuple(
        experiment_run(
            f"n{ranks}",
            site.main(),
            ranks,
            "drift",
            # An exchange at a time, so that their spread is seen.
            {
                "pairs": ",".join(f"0:{rank}" for rank in range(1, min(ranks, 12))),
                "duration": f"{duration:g}",
                "interval": f"{duration / (OFFSETS - 1):.6f}",
                "estimator": "cristian(exchanges=1)",
            },
            seconds=2.0,
            most_launches=1,
        )
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_offset_table(results: Results) -> Drawn:
    panels: list[Panel] = []
    tables = []
    findings = []
    for label in results.have():
        run = results.run(label)
        data = results.datasets(label)[0]
        offsets = data["offset"].to_numpy()
        ranks = [0, *(int(rank) for rank in data["answerer"].to_numpy())]
        means = np.array([0.0, *offsets.mean(axis=1)])
        deviations = np.array([0.0, *offsets.std(axis=1, ddof=1)])
        low, high = (means - deviations) * MICROSECONDS, (means + deviations) * MICROSECONDS
        series = Series("", ranks, means * MICROSECONDS, low, high, len(panels), "", 0)
        panels.append(Panel([series], "rank", "mean offset [us]", f"{run.ranks} ranks"))
        tables.append(
            pd.DataFrame(
                {"ranks": run.ranks, "rank": ranks, "mean_offset_s": means, "standard_deviation_s": deviations}
            )
        )
        findings.append(
            Finding(
                f"offsets on one node are measured with a standard deviation of at most 2 us ({run.ranks} ranks)",
                "0 to 2 us",
                f"{between(deviations[1:] * MICROSECONDS, ' us')}",
                results.told_on(run.ranks, bool((deviations * MICROSECONDS <= 2).all())),
            )
        )
        bounds = data["offset_bound"].to_numpy().mean(axis=1)
        findings.append(
            Finding(
                f"ranks of a node have the same offset, to a microsecond ({run.ranks} ranks)",
                "0.000000 s within the first node, the same for the four ranks of each other",
                f"means {between(means[1:] * MICROSECONDS, ' us')}, which half a round trip, "
                f"{between(bounds * MICROSECONDS, ' us')}, leaves room for: messages to and fro differ",
                results.told_on(run.ranks, bool((np.abs(means) * MICROSECONDS < 1).all())),
            )
        )
    findings.append(
        Finding(
            "nodes differ by milliseconds",
            "-17.258 and -11.140 ms of the second and the third node",
            "one node, whose ranks read one clock",
            None,
        )
    )
    picture = draw_panels(
        "niethammer2016-tab2",
        "Clock offset of each rank to rank 0",
        f"The table as a picture, its numbers below: mean of {OFFSETS} measurements, bars of one standard deviation on "
        "either side. All ranks read one clock: what is seen is the error of single exchanges.",
        panels,
    )
    return Drawn((replace(picture, numbers=pd.concat(tables, ignore_index=True)),), tuple(findings))
