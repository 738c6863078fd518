"""Shows two distributions: exit skews of MPI_Barrier and of the common start, and offsets by single exchanges.

The exit skew of a synchronizer is the time between the first and the last rank that leave it. Schuchart 2023, Fig. 3;
Niethammer 2016, Table II.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
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

from downbeat_papers.claims import Facts, Measure, Measured, between, measures_by_position
from downbeat_papers.evidence import half as half_of
from downbeat_papers.results import Results, node_count
from downbeat_papers.runs import Run
from downbeat_papers.site import CROWDED_TOLERANCE, Site

CALLS = 50  # samples of each synchronizer in a launch
WARMUP = 10  # warm-up calls of downbeat-bench, by default
ALONE = "alone-"  # prefix of the labels of runs with one rank on each node
RESOLUTION = 1e-3  # us, of timestamps; smaller skews count as 0
LESS_SKEW = 100.0  # factor between the skews of the barrier and the common start on the authors' slides


class Exits(DimensionTable):
    """A launch of `downbeat-bench skew`: samples of synchronizers."""

    synchronizer: Texts = column("synchronizer")
    valid: Ints = column("1 for samples that count, shape (synchronizers, attempts)", "1")
    entry: Floats = column("instants of entering, shape (synchronizers, attempts, ranks)", "s")
    exit: Floats = column("instants of leaving, same shape", "s")
    true_exit: Floats = column("instants of leaving in true time, same shape; NaN where it is not known", "s")

    @property
    def truth_known(self) -> bool:
        """True if the file has true times; else the column is filled with NaN of fewer dimensions."""
        return self.true_exit.ndim > 1


Skews = dict[tuple[str, int], list[np.ndarray]]  # (synchronizer, ranks) -> skews of valid samples of each launch, us
# Times of ranks whose range over ranks is a skew. "best" is true time if known, else measured time. The range of
# "duration", the time of each rank in the synchronizer, is sigma in section 2.2.
TIMES: dict[str, Callable[[Exits], Floats]] = {
    "exit": lambda file: file.exit,
    "true exit": lambda file: file.true_exit,
    "best": lambda file: file.true_exit if file.truth_known else file.exit,
    "duration": lambda file: file.exit - file.entry,
}


def ranges(results: Results, times: str, labels: Sequence[str]) -> Skews:
    """Returns the range over ranks of a time in `TIMES`, of each valid sample in the runs with some labels."""
    skews: Skews = {}
    for label in labels:
        for file in map(Exits.of, results.datasets(label)):
            for synchronizer, valid, samples in zip(file.synchronizer, file.valid, TIMES[times](file), strict=True):
                if (valid == 1).any():
                    key = (str(synchronizer), results.run(label).ranks)
                    skews.setdefault(key, []).append(np.ptp(samples[valid == 1], axis=1) * MICROSECONDS)
    return skews


def medians(skews: Skews, name: str) -> dict[int, np.ndarray]:
    """Returns number of ranks -> median skew of each launch, in us, of the synchronizer `name`."""
    return {
        ranks: np.array([float(np.median(skew)) for skew in launches])
        for (synchronizer, ranks), launches in sorted(skews.items(), key=lambda item: item[0])
        if synchronizer == name
    }


class ExitSkew:
    """Exit skews over numbers of ranks: part (a) has one rank on each node, part (b) fills one node after another."""

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
        """Returns the labels of the runs of part (b), and of part (a).

        If the site has no runs of part (a), those of part (b) serve, since the launcher may have spread their ranks.
        """
        filled = [label for label in results.labels() if not label.startswith(ALONE)]
        return filled, [label for label in results.labels() if label.startswith(ALONE)] or filled

    def truth(self, results: Results) -> Skews:
        """Returns the true skews of part (b); empty: unknown."""
        filled, _ = self.parts(results)
        known = all("true_exit" in data for label in filled for data in results.datasets(label))
        return ranges(results, "true exit", filled) if known else {}

    def facts(self, results: Results) -> Facts:
        filled, alone = self.parts(results)
        measured, truth = ranges(results, "exit", filled), self.truth(results)
        skews = truth or measured  # claims are judged by true skews if known
        barrier, common, full = medians(skews, BARRIER), medians(skews, COMMON_START), results.site.full
        # In a simulation without delays within a node, the skew is 0, which has no logarithm.
        positive = {n: skew for n, skew in barrier.items() if not results.site.crowded(n) and min(skew) >= RESOLUTION}
        measures: dict[str, Measured] = {
            "alone": alone_on_nodes(results, alone),
            "skew": measures_by_position(positive, " us"),
            "skew_by_ranks": measures_by_position(barrier, " us"),
            "sigma": measures_by_position(medians(ranges(results, "duration", filled), BARRIER), " us"),
        }
        for name in dict.fromkeys(name for name, _ in truth):
            measures[f"measured_{name}"] = measures_by_position(medians(measured, name), " us")
            measures[f"true_{name}"] = measures_by_position(medians(truth, name), " us")
        if full in barrier and full in common:
            measures |= common_start(results, full, barrier[full], common[full])
            largest = np.array([launch.max() for launch in skews[COMMON_START, full]]) + skew_bound(results, full)
            measures |= {"common_start_outliers": Measure(largest, " us", obstacle=results.crowding(full))}
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        filled, alone = self.parts(results)
        skews, truth = ranges(results, "exit", filled), self.truth(results)
        sigmas = ranges(results, "duration", filled)
        has_part_a = alone != filled
        panels: list[Panel] = []

        def add_panel(
            title: str,
            axis: str,
            skews: Skews,
            labels: Sequence[str],
            synchronizers: Sequence[str] = (BARRIER, COMMON_START),
        ) -> None:
            boxes = [
                box_of(str(ranks), synchronizer, np.concatenate([[], *skews.get((synchronizer, ranks), ())]))
                for synchronizer in synchronizers
                for ranks in (results.run(label).ranks for label in labels)
            ]
            if boxes:
                panels.append(Panel(boxes, "number of ranks", axis, title, y_scale="log"))

        if has_part_a:
            add_panel("(a) one rank per node", "exit skew [us]", ranges(results, "exit", alone), alone)
        add_panel("(b) nodes filled" if has_part_a else "instants of leaving", "exit skew [us]", skews, filled)
        if truth:
            add_panel(f"{'(b) ' if has_part_a else ''}true time", "true exit skew [us]", truth, filled)
        add_panel("times in the barrier", "sigma [us]", sigmas, filled, (BARRIER,))
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
    """Returns the barrier's skew on the largest number of ranks; an obstacle if several ranks were on one node."""
    skews = medians(ranges(results, "best", labels), BARRIER)
    max_ranks = max(skews, default=0)
    files = [data for label in labels if results.run(label).ranks == max_ranks for data in results.datasets(label)]
    spread = files and all(node_count(data) == max_ranks for data in files)
    shared = "" if spread else "several ranks were on one node; on several nodes --ranks-per-node 1 puts one on each"
    return Measure(skews.get(max_ranks, []), " us", obstacle=shared, note=f"on {max_ranks} ranks")


def skew_bound(results: Results, ranks: int) -> float:
    """Returns the largest error of measured skews in us, by the error bounds of the clocks; 0: skews are true."""
    return max(
        0.0 if "true_exit" in data else float(data.attrs.get("error_bound_s", 0.0)) * MICROSECONDS
        for label in results.labels()
        if results.run(label).ranks == ranks
        for data in results.datasets(label)
    )


def common_start(results: Results, full: int, barrier: np.ndarray, common: np.ndarray) -> dict[str, Measured]:
    """Returns measures of the barrier's skew, and of an upper bound of the common start's skew.

    Args:
        results: the launches.
        full: number of ranks.
        barrier: skew of MPI_Barrier, median of each launch, us.
        common: skew of the common start, median of each launch, us.
    """
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


OFFSETS = 100  # measured offsets of a rank in a launch
MAX_RANKS, PER_NODE = 12, 4  # as in the table
BACK_TO_BACK = 0.001  # s, duration of all measurements: 10 us for each
RESTED = "-rested"  # suffix of labels of runs whose ranks sleep 10 ms before each measurement, so that caches cool


class Offsets(DimensionTable):
    """A launch of `downbeat-bench drift`: offsets of pairs."""

    pair: Texts = column("ranks of the pair")
    answerer: Ints = column("rank whose offset is measured", "1")
    offset: Floats = column("offset, shape (pairs, times)", "s")
    offset_bound: Floats = column("bound of the error of the offset, same shape", "s")


def statistics(files: Sequence[Offsets]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns means, standard deviations and mean bounds of offsets in us, each of shape (launches, ranks except 0)."""
    offsets = np.stack([file.offset for file in files]) * MICROSECONDS
    bounds = np.stack([file.offset_bound for file in files]) * MICROSECONDS
    return offsets.mean(axis=2), offsets.std(axis=2, ddof=1), bounds.mean(axis=2)


@dataclass(frozen=True)
class OffsetTable:
    """Offsets by single exchanges: back to back as in the paper, and with a rest before each exchange."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        counts = [(ranks, 0) for ranks in (site.node, site.most)]  # ranks, and ranks per node
        if site.placed:  # as in the table: three nodes with four ranks each
            per_node = min(PER_NODE, site.ranks_per_node)
            counts = [(max(2, per_node * min(MAX_RANKS // PER_NODE, site.nodes)), per_node)]
        return tuple(
            Run(
                f"n{ranks}{kind}",
                site.main(),
                ranks,
                ("drift",),
                # Each offset is from a single exchange, without choosing the best of several, to show their spread.
                {
                    "pairs": ",".join(f"0:{rank}" for rank in site.sampled(range(1, min(ranks, MAX_RANKS)))),
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
        for label in results.labels():
            ranks, files = results.run(label).ranks, [*map(Offsets.of, results.datasets(label))]
            means, deviations, bounds = statistics(files)
            rested = "_rested" if label.endswith(RESTED) else ""
            where = rested or ("" if node_count(results.datasets(label)[0]) == 1 else "_on_nodes")
            crowding = results.crowding(ranks)
            room = f"half a round trip, {between(bounds.ravel(), ' us')}, leaves room for them: paths are asymmetric"
            for name, table, signed, note in (
                (f"deviation{rested}", deviations, False, ""),
                (f"mean{where}", means, True, room),
            ):
                by_rank = dict(zip(files[0].answerer, table.T, strict=True))
                options = {"signed": signed, "obstacle": crowding, "note": note}
                measures.setdefault(name, {})[ranks] = measures_by_position(by_rank, " us", "rank {}", **options)
        # The largest mean offset is that of the runs back to back, if there are any.
        labels = [label for label in results.labels() if not label.endswith(RESTED)] or results.labels()
        datasets = results.datasets(labels[-1])
        alone = "the ranks are on one node, and read one clock" if node_count(datasets[0]) == 1 else ""
        means, _, _ = statistics([*map(Offsets.of, datasets)])
        largest = Measure(np.abs(means).max(axis=1), " us", obstacle=alone)
        return Facts({**measures, "largest_mean_offset": largest})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels: list[Panel] = []
        tables = []
        for label in results.labels():
            ranks, files = results.run(label).ranks, [*map(Offsets.of, results.datasets(label))]
            numbers = [0, *files[0].answerer.tolist()]
            # The first launch only, since the paper has a single one.
            means, deviations, _ = statistics(files)
            mean, deviation = np.array([0.0, *means[0]]), np.array([0.0, *deviations[0]])  # 0: rank 0
            series = Line("offset", numbers, mean, mean - deviation, mean + deviation, len(panels), "", 0)
            interval = "10 ms apart" if label.endswith(RESTED) else "back to back"
            panels.append(Panel([series], "rank", "mean offset [us]", f"{ranks} ranks, {interval}", "whole"))
            columns = {"ranks": ranks, "measured": interval, "rank": numbers}
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
