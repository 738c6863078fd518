"""Figure 3: how processes leave a barrier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr

from downbeat.experiment.duration import sample_messages, simulated_seconds, start_seconds
from downbeat_papers.building import experiment_run
from downbeat_papers.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat_papers.evidence import Evidence, Undecidable, factor_of, grows, half
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import nodes_seen
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE
from downbeat_papers.site import CROWDED_TOLERANCE, Site
from downbeat_papers.wording import microseconds
from downbeat.units import MICROSECONDS

SINGLE_DIGITS = 10.0  # us
CALLS = 50  # of each synchronizer, in a launch
WARMUP = 10  # of downbeat-bench
ALONE = "alone-"  # begins the labels of runs with one rank on each node
RESOLUTION = 1e-3  # us, of timestamps; ranks of one simulated node start at the same instant
LESS_SKEW = 100.0  # times, of the common start on the slides

Skews = dict[tuple[str, int], list[np.ndarray]]  # us, of valid samples, a launch each, by synchronizer and ranks


def skew_runs(site: Site) -> tuple[Run, ...]:
    """Returns the runs of part (b), whose nodes are filled one after another, and of (a), with a rank on each node."""
    filled = [skew_run(site, f"n{ranks}", ranks, 0) for ranks in site.counts]
    if not site.placed or site.ranks_per_node == 1:
        return tuple(filled)
    spread = {ranks for ranks in (*site.counts, site.nodes) if 2 <= ranks <= site.nodes}
    return (*filled, *(skew_run(site, f"{ALONE}n{ranks}", ranks, 1) for ranks in sorted(spread)))


def skew_run(site: Site, label: str, ranks: int, per_node: int) -> Run:
    crowded = site.crowded(ranks, per_node)
    return experiment_run(
        label,
        site.main(),
        ranks,
        "skew",
        {"sync": f"{BARRIER},{HARMONIZE}", "repetitions": str(site.repetitions(CALLS)), "seed": "1"},
        seconds=skew_seconds(site, ranks),
        variables={"DOWNBEAT_TOLERANCE": CROWDED_TOLERANCE} if crowded else {},
        ranks_per_node=per_node,
    )


def skew_seconds(site: Site, ranks: int) -> float:
    """Returns what a launch takes, without its start."""
    if site.simulated:
        samples = 2 * (site.repetitions(CALLS) + WARMUP)
        return simulated_seconds(ranks, samples * sample_messages(ranks, ())) - start_seconds(ranks)
    return 1 if site.crowded(ranks) else 0.2


def exits(data: xr.Dataset) -> np.ndarray:
    """Returns when ranks left, shape (attempts, ranks): they differ by the exit skew."""
    return np.asarray(data["exit"].to_numpy())


def true_exits(data: xr.Dataset) -> np.ndarray:
    """Returns the same in true time, which a simulation knows, shape (attempts, ranks)."""
    return np.asarray(data["true_exit"].to_numpy())


def best_known_exits(data: xr.Dataset) -> np.ndarray:
    """Returns instants of leaving by which claims are judged: true ones where they are known."""
    return true_exits(data) if "true_exit" in data else exits(data)


def durations(data: xr.Dataset) -> np.ndarray:
    """Returns how long each rank was in the synchronizer, whose range over ranks section 2.2 calls sigma."""
    return np.asarray((data["exit"] - data["entry"]).to_numpy())


def ranges(results: Results, times: Callable[[xr.Dataset], np.ndarray], labels: Sequence[str]) -> Skews:
    """Returns the largest less the smallest over ranks of some times, in some runs."""
    found: Skews = {}
    for label in labels:
        for data in results.datasets(label):
            for position, synchronizer in enumerate(map(str, data["synchronizer"].to_numpy())):
                one = data.isel(synchronizer=position)
                kept = times(one)[one["valid"].to_numpy() == 1]
                if len(kept):
                    key = (synchronizer, results.run(label).ranks)
                    found.setdefault(key, []).append(np.ptp(kept, axis=1) * MICROSECONDS)
    return found


def draw_skew(results: Results) -> Drawn:
    filled = [label for label in results.have() if not label.startswith(ALONE)]
    # Where none were put there on purpose, the launcher may have put one rank on each node.
    alone = [label for label in results.have() if label.startswith(ALONE)] or filled
    skews, sigmas = ranges(results, exits, filled), ranges(results, durations, filled)
    apart = ranges(results, exits, alone) if alone != filled else {}
    known = all("true_exit" in data for label in filled for data in results.datasets(label))
    truth = ranges(results, true_exits, filled) if known else {}
    panels = [
        BoxPanel(
            [Box(str(ranks), name, np.concatenate(launches)) for (name, ranks), launches in found.items()],
            "number of ranks",
            unit,
            title,
            log_y=True,
        )
        for found, unit, title in (
            *([(apart, "exit skew [us]", "(a) one rank per node")] if apart else []),
            (skews, "exit skew [us]", "(b) nodes filled" if apart else "instants of leaving"),
            *([(truth, "true exit skew [us]", f"{'(b) ' if apart else ''}true time")] if truth else []),
            ({key: value for key, value in sigmas.items() if key[0] == BARRIER}, "sigma [us]", "times in the barrier"),
        )
    ]
    picture = draw_boxes(
        "schuchart2023-fig3",
        "Exit skew of the barrier",
        "Instants of leaving: from the first rank's leaving the synchronizer to the last one's, which the text "
        "describes. Times in the barrier: the largest less the smallest of the times that ranks spend in it, which is "
        "sigma as section 2.2 defines it; it contains how far apart they entered. "
        f"{results.site.repetitions(CALLS)} calls in each launch, all launches together. The paper's figure has the "
        "barrier alone; harmonize is beside it, as on the authors' slides. Axes are logarithmic."
        + (" In true time: the same instants without the error of clocks, which a simulation knows." if truth else ""),
        panels,
    )
    # Where the truth is known, it is judged.
    findings = skew_findings(results, truth or skews, sigmas, alone)
    return Drawn((picture,), (*findings, *truth_findings(skews, truth)))


def truth_findings(skews: Skews, truth: Skews) -> list[Finding]:
    """Sets skews that were measured on the global clock beside true ones."""
    return [
        Finding(
            f"what the clock's error does to the skew of {name}",
            "nobody could know",
            ", ".join(
                f"measured {microseconds(float(np.median(np.concatenate(skews[name, ranks]))))}, true "
                f"{microseconds(float(np.median(np.concatenate(launches))))} on {ranks} ranks"
                for (own, ranks), launches in truth.items()
                if own == name
            ),
            None,
        )
        for name in dict.fromkeys(name for name, _ in truth)
    ]


def skew_findings(results: Results, skews: Skews, sigmas: Skews, alone: Sequence[str]) -> list[Finding]:
    """Holds what the paper and the slides say of skews against the data."""
    medians = {key: [float(np.median(launch)) for launch in launches] for key, launches in skews.items()}
    full = results.site.full
    growth = {ranks: medians[BARRIER, ranks] for ranks in results.site.counts if (BARRIER, ranks) in medians}
    described = medians_by_ranks(growth)
    apart = {
        ranks: [float(np.median(launch)) for launch in launches]
        for (name, ranks), launches in ranges(results, best_known_exits, alone).items()
        if name == BARRIER
    }
    most = max(apart, default=0)
    spread = ", ".join(
        f"{microseconds(float(np.median(np.concatenate(launches))))} on {ranks} ranks"
        for (name, ranks), launches in sigmas.items()
        if name == BARRIER
    )
    findings = [
        Finding(
            "with one process per node (a) the skew is mostly in the single digits of us",
            "mostly single digits, outliers up to 14 us, on up to 128 nodes",
            f"medians {medians_by_ranks(apart)}",
            alone_on_nodes(results, alone, most, factor_of(apart.get(most, []), " us").below(SINGLE_DIGITS)),
        ),
        Finding(
            "skew grows with the number of ranks (b)",
            "single digits of us at one process per node; mean 60 us, outliers above 100 us at 16k processes",
            f"medians {described}",
            grows(
                {
                    ranks: values
                    for ranks, values in growth.items()
                    # Nothing delays messages within a simulated node: its ranks leave at one instant.
                    if not results.site.crowded(ranks) and min(values) >= RESOLUTION
                }
            ),
        ),
        Finding(
            "sigma, over the times that ranks spend in the barrier (section 2.2)",
            "the definition; its figure speaks of leaving",
            f"medians {spread}",
            None,
        ),
    ]
    if (BARRIER, full) in medians and (HARMONIZE, full) in medians:
        bound = max(
            0.0 if "true_exit" in data else float(data.attrs.get("error_bound_s", 0.0)) * MICROSECONDS
            for label in results.have()
            if results.run(label).ranks == full
            for data in results.datasets(label)
        )
        barrier, common = np.array(medians[BARRIER, full]), np.array(medians[HARMONIZE, full])
        common_told, barrier_told = (microseconds(float(np.median(values))) for values in (common, barrier))
        findings.append(
            Finding(
                f"a common start has {LESS_SKEW:g} times less skew (slides)",
                "mostly below 0.5 us, outliers below 2 us, about 1/100 of the barrier's",
                f"{common_told}, the barrier's {barrier_told}, on {full} ranks"
                + (f"; known to within {microseconds(bound)}" if bound else ", true values"),
                results.decided_on(full, less_skew(barrier, common, bound)),
            )
        )
        findings.append(
            Finding(
                "a common start mostly has less than 0.5 us of skew (slides)",
                "mostly below 0.5 us",
                f"median {common_told} on {full} ranks",
                results.decided_on(full, factor_of(np.maximum(common + bound, RESOLUTION), " us").below(0.5)),
            )
        )
    return findings


def medians_by_ranks(values: Mapping[int, Sequence[float]]) -> str:
    """Returns medians over launches for each number of ranks."""
    return ", ".join(f"{microseconds(float(np.median(one)))} on {ranks} ranks" for ranks, one in values.items())


def alone_on_nodes(results: Results, labels: Sequence[str], ranks: int, evidence: Evidence) -> Evidence | Undecidable:
    """Returns evidence on one process per node; where several were on one, it cannot be decided."""
    files = [data for label in labels if results.run(label).ranks == ranks for data in results.datasets(label)]
    if files and all(nodes_seen(data) == ranks for data in files):
        return evidence
    return Undecidable("several ranks were on one node; on several nodes --ranks-per-node 1 puts one on each")


def less_skew(barrier: np.ndarray, common: np.ndarray, bound: float) -> Evidence | Undecidable:
    """Returns what launches say of the claim that a common start has far less skew.

    Args:
        barrier: medians of launches, us.
        common: of the same launches.
        bound: how far off either may be, us: a skew is not seen to be smaller.
    """
    pairs = min(len(barrier), len(common))
    wanted = float(np.median(barrier)) / half(LESS_SKEW)
    if wanted < bound:
        return Undecidable(
            f"1/{half(LESS_SKEW):g} of the barrier's skew is {microseconds(wanted)}, and the clock is known to within "
            f"{microseconds(bound)}"
        )
    return factor_of(barrier[:pairs] / np.maximum(common[:pairs] + bound, RESOLUTION)).above(half(LESS_SKEW))
