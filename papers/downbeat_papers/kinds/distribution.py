"""Distributions: how far apart ranks leave a barrier and a common start, and how single offsets scatter.

Schuchart 2023, Fig. 3; Niethammer 2016, Table II.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from downbeat.data.clock_files import DimensionTable
from downbeat.output.blocks import Picture
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel, box_of
from downbeat.run.durations import start_seconds
from downbeat.tables import Floats, Ints, Texts, column
from downbeat.text import MICROSECONDS

from downbeat_papers.claims import Facts, Measure, Measured, between, each
from downbeat_papers.evidence import half as half_of
from downbeat_papers.results import Results, nodes_seen
from downbeat_papers.runs import Run
from downbeat_papers.site import CROWDED_TOLERANCE, Site

CALLS = 50  # of each synchronizer, in a launch
WARMUP = 10  # of downbeat-bench
ALONE = "alone-"  # begins the labels of runs with one rank on each node
RESOLUTION = 1e-3  # us, of timestamps; without delays the ranks of a node start at the same instant
LESS_SKEW = 100.0  # times, of the common start on the authors' slides


class Exits(DimensionTable):
    """A launch of `downbeat-bench skew`: samples of synchronizers."""

    synchronizer: Texts = column("synchronizer")
    valid: Ints = column("1 for samples that count, shape (synchronizers, attempts)", "1")
    entry: Floats = column("instants of entering, shape (synchronizers, attempts, ranks)", "s")
    exit: Floats = column("instants of leaving, likewise", "s")
    true_exit: Floats = column("instants of leaving in true time, likewise; NaN where it is not known", "s")

    @property
    def truth_known(self) -> bool:
        return self.true_exit.ndim > 1


Skews = dict[tuple[str, int], list[np.ndarray]]  # us, of valid samples, a launch each, by synchronizer and ranks
# Instants of leaving; the same in true time, where it is known; the better of both; and how long each rank was
# in the synchronizer, whose range over ranks section 2.2 calls sigma.
TIMES: dict[str, Callable[[Exits], Floats]] = {
    "exit": lambda file: file.exit,
    "true exit": lambda file: file.true_exit,
    "best": lambda file: file.true_exit if file.truth_known else file.exit,
    "duration": lambda file: file.exit - file.entry,
}


def ranges(results: Results, times: str, labels: Sequence[str]) -> Skews:
    """Returns the largest less the smallest over ranks of some times, in some runs."""
    skews: Skews = {}
    for label in labels:
        for file in map(Exits.of, results.datasets(label)):
            for synchronizer, valid, samples in zip(file.synchronizer, file.valid, TIMES[times](file), strict=True):
                if (valid == 1).any():
                    key = (str(synchronizer), results.run(label).ranks)
                    skews.setdefault(key, []).append(np.ptp(samples[valid == 1], axis=1) * MICROSECONDS)
    return skews


def medians(skews: Skews, name: str) -> dict[int, np.ndarray]:
    """Returns medians of launches, in us, of a synchronizer by number of ranks."""
    return {
        ranks: np.array([float(np.median(skew)) for skew in launches])
        for (synchronizer, ranks), launches in sorted(skews.items(), key=lambda item: item[0])
        if synchronizer == name
    }


class ExitSkew:
    """Part (b), whose nodes are filled one after another, and (a), with one rank on each node."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        filled = [self.run(site, f"n{ranks}", ranks, 0) for ranks in site.counts]
        if not site.placed or site.ranks_per_node == 1:
            return tuple(filled)
        spread = {ranks for ranks in (*site.counts, site.nodes) if 2 <= ranks <= site.nodes}
        return (*filled, *(self.run(site, f"{ALONE}n{ranks}", ranks, 1) for ranks in sorted(spread)))

    def run(self, site: Site, label: str, ranks: int, per_node: int) -> Run:
        calls = site.repetitions(CALLS)
        seconds = site.launch_seconds(ranks, 1.0 if site.crowded(ranks) else 0.2, samples=2 * (calls + WARMUP))
        options = {"sync": f"{BARRIER},{COMMON_START}", "repetitions": str(calls), "seed": "1"}
        tolerance = {"DOWNBEAT_TOLERANCE": CROWDED_TOLERANCE} if site.crowded(ranks, per_node) else {}
        return Run(label, site.main(), ranks, ("skew",), options, tolerance, seconds, ranks_per_node=per_node)

    def parts(self, results: Results) -> tuple[list[str], list[str]]:
        """Returns the labels of part (b), and of (a); where no run is (a), the launcher may have spread ranks."""
        filled = [label for label in results.have() if not label.startswith(ALONE)]
        return filled, [label for label in results.have() if label.startswith(ALONE)] or filled

    def truth(self, results: Results) -> Skews:
        """Returns the true skews of part (b); nothing where they are not known."""
        filled, _ = self.parts(results)
        known = all("true_exit" in data for label in filled for data in results.datasets(label))
        return ranges(results, "true exit", filled) if known else {}

    def facts(self, results: Results) -> Facts:
        filled, alone = self.parts(results)
        measured, truth = ranges(results, "exit", filled), self.truth(results)
        skews = truth or measured  # where the truth is known, it is judged
        barrier, common, full = medians(skews, BARRIER), medians(skews, COMMON_START), results.site.full
        # Where nothing delays messages within a node, its ranks leave at one instant.
        seen = {n: skew for n, skew in barrier.items() if not results.site.crowded(n) and min(skew) >= RESOLUTION}
        measures: dict[str, Measured] = {
            "alone": alone_on_nodes(results, alone),
            "skew": each(seen, " us"),
            "skew_by_ranks": each(barrier, " us"),
            "sigma": each(medians(ranges(results, "duration", filled), BARRIER), " us"),
        }
        for name in dict.fromkeys(name for name, _ in truth):
            measures[f"measured_{name}"] = each(medians(measured, name), " us")
            measures[f"true_{name}"] = each(medians(truth, name), " us")
        if full in barrier and full in common:
            measures |= common_start(results, full, barrier[full], common[full])
            largest = np.array([launch.max() for launch in skews[COMMON_START, full]]) + skew_bound(results, full)
            measures |= {"common_start_outliers": Measure(largest, " us", obstacle=results.crowding(full))}
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        filled, alone = self.parts(results)
        skews, truth = ranges(results, "exit", filled), self.truth(results)
        sigmas = ranges(results, "duration", filled)
        apart = alone if alone != filled else []
        synchronizers = (BARRIER, COMMON_START)
        shown = [
            (ranges(results, "exit", apart), apart, synchronizers, "exit skew [us]", "(a) one rank per node"),
            (skews, filled, synchronizers, "exit skew [us]", "(b) nodes filled" if apart else "instants of leaving"),
            (
                truth,
                filled if truth else [],
                synchronizers,
                "true exit skew [us]",
                f"{'(b) ' if apart else ''}true time",
            ),
            (sigmas, filled, (BARRIER,), "sigma [us]", "times in the barrier"),
        ]
        panels = []
        for skews_shown, labels, names, unit, title in shown:
            boxes = [
                box_of(str(ranks), synchronizer, np.concatenate([[], *skews_shown.get((synchronizer, ranks), ())]))
                for synchronizer in names
                for ranks in (results.run(label).ranks for label in labels)
            ]
            panels += [Panel(boxes, "number of ranks", unit, title, y_scale="log")] if boxes else []
        caption = (
            "Instants of leaving: from the first rank's leaving the synchronizer to the last one's, which the text "
            "describes. Times in the barrier: the largest less the smallest of the times that ranks spend in it, which "
            "is sigma as section 2.2 defines it; it contains how far apart they entered. "
            f"{results.site.repetitions(CALLS)} calls in each launch, all launches together. The paper's figure has "
            "the barrier alone; harmonize is beside it, as on the authors' slides. Axes are logarithmic."
        )
        if truth:
            caption += " In true time: the same instants without the error of clocks, which a simulation knows."
        return (make_picture(name, "Exit skew of the barrier", caption, panels),)


def alone_on_nodes(results: Results, labels: Sequence[str]) -> Measure:
    """Returns the barrier's skew on the most ranks; where several were on one node, it decides nothing."""
    apart = medians(ranges(results, "best", labels), BARRIER)
    most = max(apart, default=0)
    files = [data for label in labels if results.run(label).ranks == most for data in results.datasets(label)]
    spread = files and all(nodes_seen(data) == most for data in files)
    shared = "" if spread else "several ranks were on one node; on several nodes --ranks-per-node 1 puts one on each"
    return Measure(apart.get(most, []), " us", obstacle=shared, note=f"on {most} ranks")


def skew_bound(results: Results, ranks: int) -> float:
    """Returns the error of skews in us, by the bounds of the clocks; no smaller skew can be measured."""
    return max(
        0.0 if "true_exit" in data else float(data.attrs.get("error_bound_s", 0.0)) * MICROSECONDS
        for label in results.have()
        if results.run(label).ranks == ranks
        for data in results.datasets(label)
    )


def common_start(results: Results, full: int, barrier: np.ndarray, common: np.ndarray) -> dict[str, Measured]:
    """Returns the skew that a common start has at most, and that of the barrier, from medians of launches in us."""
    bound = skew_bound(results, full)
    crowding = results.crowding(full)
    note = f"known to within {bound:.3g} us" if bound else "true values"
    at_most = np.maximum(common + bound, RESOLUTION)
    needed = float(np.median(barrier)) / half_of(LESS_SKEW)
    unknown = f"1/{half_of(LESS_SKEW):g} of the barrier's skew is {needed:.3g} us, and the clock is {note}"
    pairs = min(len(barrier), len(common))
    return {
        "barrier": Measure(barrier[:pairs], " us", obstacle=crowding or (unknown if needed < bound else "")),
        "common_start_at_most": Measure(at_most[:pairs], " us", obstacle=crowding, note=note),
        "common_start": Measure(at_most, " us", obstacle=crowding, note=note),
    }


OFFSETS = 100
MOST_RANKS, PER_NODE = 12, 4  # as in the table
BACK_TO_BACK = 0.001  # s for all measurements: 10 us for each
RESTED = "-rested"  # of labels; 10 ms before each measurement, in which ranks sleep and their caches cool


class Offsets(DimensionTable):
    """A launch of `downbeat-bench drift`: offsets of pairs."""

    pair: Texts = column("ranks of the pair")
    answerer: Ints = column("rank whose offset is measured", "1")
    offset: Floats = column("offset, shape (pairs, times)", "s")
    offset_bound: Floats = column("bound of its error, likewise", "s")


def statistics(files: Sequence[Offsets]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns means, standard deviations and mean bounds of offsets in us, each of shape (launches, ranks but 0)."""
    offsets = np.stack([file.offset for file in files]) * MICROSECONDS
    bounds = np.stack([file.offset_bound for file in files]) * MICROSECONDS
    return offsets.mean(axis=2), offsets.std(axis=2, ddof=1), bounds.mean(axis=2)


@dataclass(frozen=True)
class OffsetTable:
    """Offsets by single exchanges, back to back as in the paper, and of ranks that rest before each."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        counts = [(ranks, 0) for ranks in (site.node, site.most)]
        if site.placed:  # the table's own: three nodes of four ranks
            per_node = min(PER_NODE, site.ranks_per_node)
            counts = [(max(2, per_node * min(MOST_RANKS // PER_NODE, site.nodes)), per_node)]
        return tuple(
            Run(
                f"n{ranks}{kind}",
                site.main(),
                ranks,
                ("drift",),
                # One exchange at a time, and none chosen from several, so that their spread is seen.
                {
                    "pairs": ",".join(f"0:{rank}" for rank in site.sampled(range(1, min(ranks, MOST_RANKS)))),
                    "duration": f"{duration:g}",
                    "interval": f"{duration / (OFFSETS - 1):.9f}",
                    "estimator": "cristian(exchanges=1)",
                    "rounds": "1",
                },
                seconds=start_seconds(ranks) + 1.0 + duration,
                variables={"DOWNBEAT_CLOCK": "realtime"},  # the paper's clock is gettimeofday
                ranks_per_node=per_node,
            )
            for ranks, per_node in dict.fromkeys(counts)
            for kind, duration in (("", BACK_TO_BACK), (RESTED, 0.05 if site.quick else 1.0))
        )

    def facts(self, results: Results) -> Facts:
        measures: dict[str, dict[int, dict[str, Measure]]] = {}
        for label in results.have():
            ranks, files = results.run(label).ranks, [*map(Offsets.of, results.datasets(label))]
            means, deviations, bounds = statistics(files)
            rested = "_rested" if label.endswith(RESTED) else ""
            where = rested or ("" if nodes_seen(results.datasets(label)[0]) == 1 else "_on_nodes")
            crowding = results.crowding(ranks)
            room = f"half a round trip, {between(bounds.ravel(), ' us')}, leaves room for them: paths are asymmetric"
            for name, table, signed, note in (
                (f"deviation{rested}", deviations, False, ""),
                (f"mean{where}", means, True, room),
            ):
                columns = dict(zip(files[0].answerer, table.T, strict=True))
                look = {"signed": signed, "obstacle": crowding, "note": note}
                measures.setdefault(name, {})[ranks] = each(columns, " us", "rank {}", **look)
        # Those back to back, if there are any.
        labels = [label for label in results.have() if not label.endswith(RESTED)] or results.have()
        datasets = results.datasets(labels[-1])
        alone = "the ranks are on one node, and read one clock" if nodes_seen(datasets[0]) == 1 else ""
        means, _, _ = statistics([*map(Offsets.of, datasets)])
        largest = Measure(np.abs(means).max(axis=1), " us", obstacle=alone)
        return Facts({**measures, "largest_mean_offset": largest})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels: list[Panel] = []
        tables = []
        for label in results.have():
            ranks, files = results.run(label).ranks, [*map(Offsets.of, results.datasets(label))]
            numbers = [0, *files[0].answerer.tolist()]
            # One launch, as in the paper: the first.
            mean, deviation = (np.array([0.0, *values[0]]) for values in statistics(files)[:2])
            series = Line("offset", numbers, mean, mean - deviation, mean + deviation, len(panels), "", 0)
            how = "10 ms apart" if label.endswith(RESTED) else "back to back"
            panels.append(Panel([series], "rank", "mean offset [us]", f"{ranks} ranks, {how}", "whole"))
            columns = {"ranks": ranks, "measured": how, "rank": numbers}
            seconds = {"mean_offset_s": mean / MICROSECONDS, "standard_deviation_s": deviation / MICROSECONDS}
            tables.append(pd.DataFrame({**columns, **seconds}))
        caption = (
            f"The table as a picture, its numbers below: mean of {OFFSETS} single exchanges in the first launch, bars "
            "of one standard deviation on either side. The clock is the paper's, gettimeofday's. Ranks of one node "
            "read one clock: what is seen of them is the error of single exchanges. Ranks of other nodes read those of "
            "their nodes."
        )
        picture = make_picture(name, "Clock offset of each rank to rank 0", caption, panels)
        return (replace(picture, numbers=pd.concat(tables, ignore_index=True)),)
