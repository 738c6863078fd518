"""Table II: the clock offset of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from downbeat_papers.building import experiment_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Evidence, Undecidable, every, factor_of, mean_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import nodes_seen
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

OFFSETS = 100
MOST_RANKS, PER_NODE = 12, 4  # as in the table
BACK_TO_BACK = 0.001  # s for all measurements: 10 us for each
RESTED = "-rested"  # of labels; 10 ms before each measurement, in which ranks sleep and their caches cool
SPREAD_US = 2.0  # the largest standard deviation of the table
ALIKE_US = 1.0  # the last digit of the table's offsets
APART_US = 1000.0  # nodes that differ by milliseconds differ by more


def offset_runs(site: Site) -> tuple[Run, ...]:
    """Returns the measurements back to back, as in the paper, and those of ranks that rest before each."""
    counts = [(ranks, 0) for ranks in (site.node, site.most)]
    if site.placed:  # the table's own: three nodes of four ranks
        per_node = min(PER_NODE, site.ranks_per_node)
        counts = [(max(2, per_node * min(MOST_RANKS // PER_NODE, site.nodes)), per_node)]
    return tuple(
        experiment_run(
            f"n{ranks}{kind}",
            site.main(),
            ranks,
            "drift",
            # One exchange at a time, and none chosen from several, so that their spread is seen.
            {
                "pairs": ",".join(f"0:{rank}" for rank in site.sampled(range(1, min(ranks, MOST_RANKS)))),
                "duration": f"{duration:g}",
                "interval": f"{duration / (OFFSETS - 1):.9f}",
                "estimator": "cristian(exchanges=1)",
                "rounds": "1",
            },
            seconds=1.0 + duration,
            variables={"DOWNBEAT_CLOCK": "realtime"},  # the paper's clock is gettimeofday
            ranks_per_node=per_node,
        )
        for ranks, per_node in dict.fromkeys(counts)
        for kind, duration in (("", BACK_TO_BACK), (RESTED, 0.05 if site.quick else 1.0))
    )


def statistics(files: list[xr.Dataset]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns means, standard deviations and mean bounds of offsets in us, each of shape (launches, ranks but 0)."""
    offsets, bounds = (
        np.stack([data[name].to_numpy() for data in files]) * MICROSECONDS for name in ("offset", "offset_bound")
    )
    return offsets.mean(axis=2), offsets.std(axis=2, ddof=1), bounds.mean(axis=2)


def deviations_below(deviations: np.ndarray) -> Evidence:
    """Returns what is said of the claim that standard deviations, shape (launches, ranks), are at most 2 us."""
    return every(factor_of(column / SPREAD_US).below(1.0) for column in deviations.T)


def means_alike(means: np.ndarray) -> Evidence:
    """Returns what is said of the claim that mean offsets, shape (launches, ranks), are none to a microsecond."""
    return every(mean_of(column, " us").within(-ALIKE_US, ALIKE_US) for column in means.T)


def nodes_differ(largest: Sequence[float], alone: bool) -> Finding:
    """Returns the finding on the largest absolute mean offsets of launches, in us."""
    return Finding(
        "nodes differ by milliseconds",
        "-17.258 and -11.140 ms of the second and the third node",
        f"largest mean offset {microseconds(float(np.median(largest)))}",
        Undecidable("the ranks are on one node, and read one clock")
        if alone
        else factor_of(np.divide(largest, APART_US)).above(1.0),
    )


def rested(ranks: int, deviations: np.ndarray, means: np.ndarray) -> Finding:
    """Returns what comes of exchanges between ranks that have just slept."""
    return Finding(
        f"the same of ranks that rest for 10 ms before each exchange ({ranks} ranks)",
        "not measured",
        f"standard deviations {between(deviations.ravel(), ' us')}, means {between(means.ravel(), ' us')}",
        None,
    )


def draw_offset_table(results: Results) -> Drawn:
    panels: list[Panel] = []
    tables = []
    findings: list[Finding] = []
    for label in results.have():
        ranks = results.run(label).ranks
        files = results.datasets(label)
        means, deviations, bounds = statistics(files)
        numbers = [0, *(int(rank) for rank in files[0]["answerer"].to_numpy())]
        # One launch, as in the paper: the first.
        mean, deviation = (np.array([0.0, *values[0]]) for values in (means, deviations))
        series = Series("", numbers, mean, mean - deviation, mean + deviation, len(panels), "", 0)
        how = "10 ms apart" if label.endswith(RESTED) else "back to back"
        panels.append(Panel([series], "rank", "mean offset [us]", f"{ranks} ranks, {how}"))
        tables.append(
            pd.DataFrame(
                {
                    "ranks": ranks,
                    "measured": how,
                    "rank": numbers,
                    "mean_offset_s": mean / MICROSECONDS,
                    "standard_deviation_s": deviation / MICROSECONDS,
                }
            )
        )
        if label.endswith(RESTED):
            findings.append(rested(ranks, deviations, means))
            continue
        findings += [
            Finding(
                f"offsets on one node are measured with a standard deviation of at most 2 us ({ranks} ranks)",
                "0 to 2 us",
                f"{between(deviations.ravel(), ' us')} in single exchanges",
                results.decided_on(ranks, deviations_below(deviations)),
            ),
            Finding(
                f"ranks of a node have the same offset, to a microsecond ({ranks} ranks)",
                "0.000000 s within the first node, the same for the four ranks of each other",
                f"means {between(means.ravel(), ' us')}, which half a round trip, {between(bounds.ravel(), ' us')}, "
                "leaves room for: messages there and back differ",
                results.decided_on(ranks, means_alike(means)),
            )
            if nodes_seen(files[0]) == 1
            else Finding(
                f"offsets of ranks on several nodes ({ranks} ranks)",
                "the same within each node",
                f"means {between(means.ravel(), ' us')}",
                None,
            ),
        ]
    # Those back to back, if there are any.
    labels = [label for label in results.have() if not label.endswith(RESTED)] or results.have()
    files = results.datasets(labels[-1])
    largest = np.abs(statistics(files)[0]).max(axis=1)
    findings.append(nodes_differ(largest.tolist(), nodes_seen(files[0]) == 1))
    picture = draw_panels(
        "niethammer2016-tab2",
        "Clock offset of each rank to rank 0",
        f"The table as a picture, its numbers below: mean of {OFFSETS} single exchanges in the first launch, bars of "
        "one standard deviation on either side. The clock is the paper's, gettimeofday's. Ranks of one node read one "
        "clock: what is seen of them is the error of single exchanges. Ranks of other nodes read those of their nodes.",
        panels,
    )
    return Drawn((replace(picture, numbers=pd.concat(tables, ignore_index=True)),), tuple(findings))
