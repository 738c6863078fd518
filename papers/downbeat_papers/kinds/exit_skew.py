"""How far apart ranks leave the barrier and a common start, over numbers of ranks (Schuchart 2023, Fig. 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from downbeat.base.text import MICROSECONDS
from downbeat.experiment.plan import sample_messages, simulated_seconds, start_seconds
from downbeat.pictures.panel import Panel, box_of, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured, each
from downbeat_papers.evidence import half
from downbeat_papers.results import BARRIER, HARMONIZE, Results, nodes_seen
from downbeat_papers.runs import Run
from downbeat_papers.site import CROWDED_TOLERANCE, Site

CALLS = 50  # of each synchronizer, in a launch
WARMUP = 10  # of downbeat-bench
ALONE = "alone-"  # begins the labels of runs with one rank on each node
RESOLUTION = 1e-3  # us, of timestamps; ranks of one simulated node start at the same instant
LESS_SKEW = 100.0  # times, of the common start on the authors' slides

Skews = dict[tuple[str, int], list[np.ndarray]]  # us, of valid samples, a launch each, by synchronizer and ranks
# Instants of leaving; the same in true time, which a simulation knows; the better of both; and how long each rank was
# in the synchronizer, whose range over ranks section 2.2 calls sigma.
TIMES: dict[str, Callable[[xr.Dataset], xr.DataArray]] = {
    "exit": lambda data: data["exit"],
    "true exit": lambda data: data["true_exit"],
    "best": lambda data: data["true_exit" if "true_exit" in data else "exit"],
    "duration": lambda data: data["exit"] - data["entry"],
}


def ranges(results: Results, times: str, labels: Sequence[str]) -> Skews:
    """Returns the largest less the smallest over ranks of some times, in some runs."""
    found: Skews = {}
    for label in labels:
        for data in results.datasets(label):
            values, valid = (part.to_numpy() for part in (TIMES[times](data), data["valid"] == 1))
            for position, synchronizer in enumerate(map(str, data["synchronizer"].to_numpy())):
                kept = values[position][valid[position]]
                if len(kept):
                    key = (synchronizer, results.run(label).ranks)
                    found.setdefault(key, []).append(np.ptp(kept, axis=1) * MICROSECONDS)
    return found


def medians(skews: Skews, name: str) -> dict[int, np.ndarray]:
    """Returns medians of launches, in us, of a synchronizer by number of ranks."""
    return {
        ranks: np.array([float(np.median(one)) for one in launches])
        for (own, ranks), launches in sorted(skews.items(), key=lambda item: item[0])
        if own == name
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
        seconds = start_seconds(ranks) + (1.0 if site.crowded(ranks) else 0.2)
        if site.simulated:
            seconds = simulated_seconds(ranks, 2 * (calls + WARMUP) * sample_messages(ranks, ()))
        options = {"sync": f"{BARRIER},{HARMONIZE}", "repetitions": str(calls), "seed": "1"}
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
        barrier, common, full = medians(skews, BARRIER), medians(skews, HARMONIZE), results.site.full
        # Nothing delays messages within a simulated node: its ranks leave at one instant.
        seen = {n: one for n, one in barrier.items() if not results.site.crowded(n) and min(one) >= RESOLUTION}
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
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        filled, alone = self.parts(results)
        skews, truth = ranges(results, "exit", filled), self.truth(results)
        sigmas = {key: one for key, one in ranges(results, "duration", filled).items() if key[0] == BARRIER}
        apart = ranges(results, "exit", alone) if alone != filled else {}
        shown = (
            (apart, "exit skew [us]", "(a) one rank per node"),
            (skews, "exit skew [us]", "(b) nodes filled" if apart else "instants of leaving"),
            (truth, "true exit skew [us]", f"{'(b) ' if apart else ''}true time"),
            (sigmas, "sigma [us]", "times in the barrier"),
        )
        panels = []
        for found, unit, title in shown:
            boxes = [box_of(str(ranks), own, np.concatenate(launches)) for (own, ranks), launches in found.items()]
            panels += [Panel(boxes, "number of ranks", unit, title, y_scale="log")] if found else []
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


def common_start(results: Results, full: int, barrier: np.ndarray, common: np.ndarray) -> dict[str, Measured]:
    """Returns the skew that a common start has at most, and that of the barrier, from medians of launches in us."""
    # How far off either may be, us: a skew is not seen to be smaller.
    bound = max(
        0.0 if "true_exit" in data else float(data.attrs.get("error_bound_s", 0.0)) * MICROSECONDS
        for label in results.have()
        if results.run(label).ranks == full
        for data in results.datasets(label)
    )
    crowding = results.crowding(full)
    note = f"known to within {bound:.3g} us" if bound else "true values"
    at_most = np.maximum(common + bound, RESOLUTION)
    wanted = float(np.median(barrier)) / half(LESS_SKEW)
    unknown = f"1/{half(LESS_SKEW):g} of the barrier's skew is {wanted:.3g} us, and the clock is {note}"
    pairs = min(len(barrier), len(common))
    return {
        "barrier": Measure(barrier[:pairs], " us", obstacle=crowding or (unknown if wanted < bound else "")),
        "common_start_at_most": Measure(at_most[:pairs], " us", obstacle=crowding, note=note),
        "common_start": Measure(at_most, " us", obstacle=crowding, note=note),
    }
