"""Worlds of the figures of Niethammer 2016: launches without any effect, and with what the paper reports.

Without means that nothing is positive, better or flatter, that what is said to be none is twice what counts as none,
and that growth follows the other law. Global times are the smallest of 100, which cells of a launch repeat to 2 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from downbeat_papers.kinds.barrier_pattern import release_rounds
from downbeat_papers.kinds.drift import OFFSETS
from downbeat_papers.kinds.late_arrival import (
    BARRIER_LATE,
    BARRIER_SHORTER,
    BY_CLOCK,
    EFFECT,
    FIRST_LATE,
    JUDGED,
    LATE,
    SHORTER,
    SIZES,
    SMALL,
    SYNCHRONIZERS,
)
from downbeat_papers.results import BARRIER

from benchmarks.simulations.made_up_launches import RANKS, Maker, SimulatedResults, World, results_of, run_of
from benchmarks.simulations.simulated import simulate_launch_factors

US = 1e-6
# Borders of the claims on Table II and Fig. 3.
SPREAD_US, ALIKE_US, APART_US, FLATTER = 2.0, 1.0, 1000.0, 0.5
PAPERS_RANKS = (16, 32, 64, 128, 256, 512, 1024)  # on which a law of growth shows
OWN = 0.02  # relative deviation of a smallest global time within its launch
# The true time without delay, us: of (ranks, nonblocking).
Time = Callable[[int, bool], float]
# The true benefit, %: of (nonblocking, size, index of the delay).
Benefit = Callable[[bool, int, int], float]
OPERATIONS = {6: "barrier", 8: "allreduce", 10: "allreduce", 12: "alltoall", 14: "alltoall", 16: "bcast"}


def late_arrivals(
    maker: Maker, operation: str, time: Time, benefit: Benefit, counts: Sequence[int] = RANKS
) -> SimulatedResults:
    """Returns cells with and without delays."""
    barrier = operation == "barrier"
    delays = (0.0, *((*BARRIER_SHORTER, *BARRIER_LATE) if barrier else (*SHORTER, *LATE)))
    scales = {ranks: simulate_launch_factors(maker.random, maker.launches) for ranks in counts}
    rows = []
    for ranks in counts:
        for nonblocking in (False, True):
            for size in (0,) if barrier else SIZES:
                t0 = time(ranks, nonblocking)
                for place, delay in enumerate(delays):
                    share = benefit(nonblocking, size, place - 1) / 100 if delay else 0.0
                    own = t0 * maker.random.normal(0.0, OWN, maker.launches)
                    rows.append(
                        {
                            "ranks": ranks,
                            "operation": f"i{operation}" if nonblocking else operation,
                            "size": size,
                            "synchronizer": JUDGED,
                            "pattern": FIRST_LATE if delay else "none",
                            "largest_delay": delay * US,
                            "overlap_benefit_min": share,
                            "global_time_min": US * ((t0 * scales[ranks] + delay) / (1 + share) + own),
                            "launch": np.arange(1, maker.launches + 1),
                        }
                    )
    cells = pd.DataFrame(rows).explode(["global_time_min", "launch"], ignore_index=True)
    cells["global_time_min"] = cells["global_time_min"].astype(float)
    return results_of([run_of(f"n{ranks}", ranks) for ranks in counts], cells, ranks=counts)


def short(ranks: int, nonblocking: bool) -> float:
    """Returns a time that delays of 1 to 5 us do not dwarf."""
    return 1.0 + 0.1 * float(np.log2(ranks)) + 0.2 * nonblocking


def wrong_form(nonblocking: bool, size: int) -> bool:
    """Whether a cell is of the one form of which a claim on small messages is wrong."""
    return not nonblocking and size == SMALL


def sign(nonblocking: bool) -> int:
    return -1 if nonblocking else 1


NO_BENEFIT: dict[int, Benefit] = {
    6: lambda _, __, ___: 0.0,
    8: lambda _, size, __: (-1 if size == SMALL else 1) * EFFECT if size != max(SIZES) else -EFFECT,
    10: lambda _, __, ___: 0.0,
    12: lambda nonblocking, size, _: 2 * EFFECT * wrong_form(nonblocking, size),
    14: lambda _, size, __: 2 * EFFECT * (size == SMALL),
    16: lambda nonblocking, size, _: -2 * EFFECT * wrong_form(nonblocking, size),
}
PAPERS_BENEFIT: dict[int, Benefit] = {
    6: lambda nonblocking, _, delay: EFFECT * (8 + nonblocking - 1.5 * delay),
    8: lambda _, __, ___: 2 * EFFECT,
    10: lambda _, __, ___: 2 * EFFECT,
    12: lambda _, __, ___: 0.0,
    14: lambda nonblocking, _, __: sign(nonblocking) * EFFECT / 2,
    16: lambda _, __, ___: 0.0,
}


def benefit_world(number: int) -> World:
    def world(maker: Maker) -> SimulatedResults:
        benefit = (PAPERS_BENEFIT if maker.effect else NO_BENEFIT)[number]
        return late_arrivals(maker, OPERATIONS[number], short, benefit)

    return world


def logarithmic(ranks: int, _: bool) -> float:
    return 5.0 + 2.5 * float(np.log2(ranks))


def linear(ranks: int, _: bool) -> float:
    return 5.0 + 0.1 * ranks


PAPERS_TIMES: dict[int, tuple[str, Time, Time]] = {  # without the effect, and with it
    5: ("barrier", linear, logarithmic),
    7: ("allreduce", linear, logarithmic),
    11: ("alltoall", logarithmic, linear),
    13: ("alltoall", lambda _, __: 10.0, lambda _, nonblocking: 10.0 * (1.1 if nonblocking else 1.0)),
}


def time_world(number: int) -> World:
    def world(maker: Maker) -> SimulatedResults:
        operation, without, papers = PAPERS_TIMES[number]
        return late_arrivals(
            maker, operation, papers if maker.effect else without, lambda _, __, ___: 0.0, PAPERS_RANKS
        )

    return world


def offsets(maker: Maker) -> SimulatedResults:
    """Ranks of one node, and of two; without effect nothing that is said of rank 1 is true."""
    files = {}
    for ranks, hosts, mean in (
        (4, "a: 4 ranks", maker.pick(0.0, 2 * ALIKE_US)),
        (8, "a: 4 ranks; b: 4 ranks", maker.pick(17258.0, APART_US / 10)),
    ):
        shape = (maker.launches, ranks - 1, OFFSETS)
        noise = maker.random.standard_normal(shape)
        noise = (noise - noise.mean(axis=2, keepdims=True)) / noise.std(axis=2, ddof=1, keepdims=True)
        deviations = maker.medians(np.full(ranks - 1, maker.pick(SPREAD_US / 2, 2 * SPREAD_US)))
        means = maker.random.normal(0.0, 0.1, shape[:2])
        means[:, 0] += mean * maker.medians([1.0])[:, 0]
        values = means[..., np.newaxis] + deviations[..., np.newaxis] * noise
        files[f"n{ranks}"] = [offset_file(one, hosts) for one in values]
    return results_of([run_of(label, int(label[1:])) for label in files], files=files)


def offset_file(offsets_us: np.ndarray, hosts: str) -> xr.Dataset:
    """Returns a launch with offsets of shape (ranks but 0, measurements)."""
    dims = ("pair", "time")
    return xr.Dataset(
        {
            "offset": (dims, offsets_us * US),
            "offset_bound": (dims, np.full(offsets_us.shape, 10 * US)),
            "answerer": ("pair", np.arange(1, 1 + len(offsets_us))),
        },
        attrs={"hosts": hosts},
    )


def exits(maker: Maker) -> SimulatedResults:
    """Ranks leave a barrier in the rounds of a tree, or as it happens."""
    ranks = max(RANKS)
    rounds = release_rounds(ranks)["binomial tree, farthest first"] * maker.pick(1.0, 0.0)
    files = []
    for _ in range(maker.launches):
        lags = np.abs(rounds + maker.random.normal(0.0, 0.5, ranks)) + maker.random.exponential(0.1, (20, ranks))
        files.append(sample_file(np.concatenate([US * lags] * len(SYNCHRONIZERS))))
    frame = pd.DataFrame({"ranks": ranks, "synchronizer": list(SYNCHRONIZERS)})
    cells = maker.cells(frame, exit_skew_median=US * np.full(len(SYNCHRONIZERS), 4.0))
    return results_of([run_of("n16", ranks)], cells, {"n16": files})


def sample_file(entry: np.ndarray) -> xr.Dataset:
    """Returns a launch of as many cells as there are synchronizers, with entries of shape (samples, ranks) in s."""
    dims = ("sample", "rank")
    count = len(entry)
    return xr.Dataset(
        {
            "entry": (dims, entry),
            "exit": (dims, entry + US),
            "sync_entry": (dims, entry - US),
            "delay": (dims, np.zeros_like(entry)),
            "deadline": ("sample", np.full(count, np.nan)),
            "valid": ("sample", np.ones(count, int)),
            "cell_index": ("sample", np.arange(count) * len(SYNCHRONIZERS) // count),
            "synchronizer": ("cell", list(SYNCHRONIZERS)),
        }
    )


def starts(maker: Maker) -> SimulatedResults:
    """Starts by the clock are a quarter as skewed as those after a barrier, or just as skewed."""
    ranks = max(RANKS)
    frame = pd.DataFrame({"ranks": ranks, "synchronizer": [BARRIER, BY_CLOCK, JUDGED]})
    ratio = maker.pick(FLATTER / 2, 1.0)
    cells = maker.cells(frame, exit_skew_median=US * np.array([4.0, 4.0 * ratio, 0.1]))
    return results_of([run_of("n16", ranks)], cells, {"n16": [sample_file(np.zeros((3, ranks)))]})


WORLDS: dict[str, World] = {
    "niethammer2016-tab2": offsets,
    "niethammer2016-fig2": exits,
    "niethammer2016-fig3": starts,
    **{f"niethammer2016-fig{number}": time_world(number) for number in PAPERS_TIMES},
    **{f"niethammer2016-fig{number}": benefit_world(number) for number in OPERATIONS},
}
