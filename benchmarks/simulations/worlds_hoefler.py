"""Worlds of the figures of Hoefler 2008: launches without any effect, and with what the paper reports.

The effects of figures 1 to 3 are those of the paper's model of a linear broadcast on four processes, with a latency of
1 us and a gap of a quarter of that between messages; where it names an effect without a number, it is half as much
again.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from downbeat_papers.kinds import clocks
from downbeat_papers.kinds.round_trips import CHOSEN, EXCHANGES

from benchmarks.simulations.made_up_launches import RANKS, Maker, SimulatedResults, World, results_of, run_of

US = 1e-6
# Synchronizations, as in the entries of the figures.
COMMON_START, NOTHING, LINEAR, AFTER_LINEAR = "harmonize", "nothing", "linear", "harmonize(after=linear)"
CALLS, DELAYS, SIZES = (1, 3, 10, 100), (2, 5, 10, 20), (8, 65536)
LATENCY, GAP = 1.0, 0.25  # of the model, us
SINGLE, THREE, ROOT = LATENCY + 2 * GAP, (8 * GAP + LATENCY) / 3, 2 * GAP
READING = 0.05  # us, between two stamps around nothing
BORDER = 10.0  # %, of the error that the paper allows N = 100
MORE = 1.5  # an effect without a number
NETWORKS = ("a", "b", "c")


def pipeline_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 1."""
    synchronizers = (COMMON_START, "mpi_barrier", "none", "mpi_barrier(count=2)")
    operations = (NOTHING, "bcast", "allreduce")
    frame = pd.DataFrame(product(operations, synchronizers, CALLS), columns=["operation", "synchronizer", "calls"])
    broadcast = frame["operation"] == "bcast"
    in_a_row = np.where(broadcast & (frame["calls"] > 1), maker.pick(THREE, SINGLE), SINGLE)
    root = np.where(broadcast, maker.pick(ROOT, SINGLE), SINGLE)
    nothing = frame["operation"] == NOTHING
    whole, first = (np.where(nothing, READING, READING + times) * US for times in (in_a_row, root))
    cells = maker.cells(frame, latency_max_median=whole, latency_observed_median=first)
    return results_of([run_of("calls", 4)], cells)


def skew_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 2."""
    ranks, last, delay = 4, "one_late(rank=3)", max(DELAYS)
    patterns = [("none", 0.0), *product(("one_late", last), [one / 1e6 for one in DELAYS])]
    subjects = [(NOTHING, 0), *(("bcast", size) for size in SIZES)]
    frame = pd.DataFrame(
        [
            (*subject, synchronizer, *pattern)
            for subject, synchronizer, pattern in product(subjects, ("none", COMMON_START), patterns)
        ],
        columns=["operation", "size", "synchronizer", "pattern", "largest_delay"],
    )
    nothing, late = frame["operation"] == NOTHING, frame["pattern"] == last
    waiting = np.where(frame["pattern"] == "one_late", SINGLE + delay, SINGLE)
    times = np.where(late, maker.pick(GAP, SINGLE), waiting)
    apart = np.where(nothing, 0.1, maker.pick(LATENCY, 0.1))
    coming = np.where(frame["synchronizer"] == "none", maker.pick(LATENCY, 0.1), 0.1)
    cells = maker.cells(
        frame,
        latency_observed_median=np.where(nothing, READING, READING + times) * US,
        end_skew_median=apart * US,
        imbalance_worst_median=coming * US,
    )
    return results_of([run_of("skew", ranks)], cells)


def barrier_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 3."""
    frame = pd.DataFrame({"operation": "bcast", "synchronizer": [LINEAR, "mpi_barrier", COMMON_START, AFTER_LINEAR]})
    linear = frame["synchronizer"] == LINEAR
    disturbed = linear | (frame["synchronizer"] == AFTER_LINEAR)
    cells = maker.cells(
        frame,
        exit_skew_median=np.where(linear, maker.pick(2 * GAP, 0.1), 0.1) * US,
        latency_avg_median=np.where(disturbed, maker.pick(MORE, 1.0), 1.0) * SINGLE * US,
    )
    # Without a sample no timeline is drawn.
    names = ("cell", frame["synchronizer"].to_numpy())
    file = xr.Dataset({"synchronizer": names, "cell_index": ("sample", []), "valid": ("sample", [])})
    return results_of([run_of("barriers", 4)], cells, {"barriers": [file]})


def round_trip_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 4: latencies vary much, and most in one direction; or hardly at all.

    Without variation one direction takes longer by a constant, and all rules for choosing an offset are equally wrong.
    """
    count = 20 * EXCHANGES
    random = maker.random
    files: dict[str, list[xr.Dataset]] = {}
    for network in NETWORKS:
        files[network] = []
        for _ in range(maker.launches):
            jitter = np.abs(random.normal(0.0, 20e-9, (2, count)))
            tail = random.pareto(1.5, (2, count)) * (random.random((2, count)) < 0.6) * US
            longer = np.array([[random.normal(100e-9, 20e-9)], [0.0]])
            forth, back = 1.5e-6 + jitter + (tail * [[1.0], [0.3]] if maker.effect else longer)
            files[network].append(
                xr.Dataset(
                    {
                        "rtt": (("pair", "sample"), [forth + back]),
                        "clock_difference": (("pair", "sample"), [forth]),
                        "true_offset_before": ("pair", [0.0]),
                        "true_offset_after": ("pair", [0.0]),
                    }
                )
            )
    return results_of([run_of(network, 2) for network in NETWORKS], files=files)


def stop_rule_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 6: an error of 5 %, or of as much as the paper allows for."""
    files = {
        network: [
            xr.Dataset(
                {
                    "n": ("n", [CHOSEN]),
                    "stop_rule_excess": (("pair", "n"), [[excess / 100]]),
                    "stop_rule_cost": (("pair", "n"), [[180.0]]),
                }
            )
            for excess in maker.values(maker.pick(BORDER / 2, BORDER))
        ]
        for network in NETWORKS
    }
    return results_of([run_of(network, 2) for network in NETWORKS], files=files)


def scheme_world(maker: Maker) -> SimulatedResults:
    """Returns launches of figure 8: as much quicker and fewer messages as there are fewer steps, or as many."""
    schemes = [clocks.LINEAR, clocks.TREE]
    files = {}
    for ranks in RANKS:
        effect = maker.pick((ranks - 1) / clocks.steps(ranks), 1.0)
        durations, messages = maker.medians([1e-3 * effect, 1e-3]), maker.medians([100.0 * effect, 100.0])
        files[f"n{ranks}"] = [
            xr.Dataset(
                {
                    "scheme": ("scheme", schemes),
                    "duration": (("scheme", "repetition"), duration[:, np.newaxis]),
                    "messages_median": ("scheme", busiest),
                }
            )
            for duration, busiest in zip(durations, messages, strict=True)
        ]
    return results_of([run_of(f"n{ranks}", ranks) for ranks in RANKS], files=files)


# Figure 5 has no claim here: the drift is made.
WORLDS: dict[str, World] = {
    "hoefler2008-fig1": pipeline_world,
    "hoefler2008-fig2": skew_world,
    "hoefler2008-fig3": barrier_world,
    "hoefler2008-fig4": round_trip_world,
    "hoefler2008-fig6": stop_rule_world,
    "hoefler2008-fig8": scheme_world,
}
