"""Made-up launches in which the structure of the data is the point: delays, single offsets, drifts and round trips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr
from downbeat_papers.figure import Figure
from downbeat_papers.kinds.distribution import OFFSETS
from downbeat_papers.kinds.exits import release_rounds
from downbeat_papers.kinds.late_arrival import EFFECT, FIRST_LATE, LAST_LATE, MANY, SMALL, SYNCHRONIZERS, LateArrival
from downbeat_papers.kinds.round_trips import CHOSEN, EXCHANGES
from downbeat_papers.runs import Run

if TYPE_CHECKING:
    from tests.statistics.worlds import Maker

US = 1e-6
Files: TypeAlias = dict[str, list[xr.Dataset]]

# Late ranks (Niethammer 2016, Figs 5 to 16). Without effect nothing is positive or better, what is said to be none is
# twice what counts as none, and growth follows the other law.

OWN = 0.02  # relative deviation of a smallest global time within its launch
# The true time without delay, us, of ranks and whether the form is nonblocking.
Time: TypeAlias = Callable[[int, bool], float]
# The true benefit, %, of the form, the size, the place of the delay, and whether there are more than 1024 ranks.
Benefit: TypeAlias = Callable[[bool, int, int, bool], float]


def brief(ranks: int, nonblocking: bool) -> float:
    """Returns a time that delays of 1 to 5 us do not dwarf."""
    return 1.0 + 0.1 * float(np.log2(ranks)) + 0.2 * nonblocking


def logarithmic(ranks: int, _: bool) -> float:
    return 5.0 + 2.5 * float(np.log2(ranks))


def linear(ranks: int, _: bool) -> float:
    return 5.0 + 0.1 * ranks


# By figure: without the effect, and with it.
TIMES: Mapping[str, tuple[Time, Time]] = {
    "fig5": (linear, logarithmic),
    "fig7": (linear, logarithmic),
    "fig11": (logarithmic, linear),
    "fig13": (lambda _, __: 10.0, lambda _, nonblocking: 11.0 if nonblocking else 10.0),
}
BENEFITS: Mapping[str, tuple[Benefit, Benefit]] = {
    "fig6": (
        lambda *_: 0.0,
        lambda nonblocking, _, delay, many: EFFECT * (8 + nonblocking + (1.5 * delay - 5 if many else -1.5 * delay)),
    ),
    "fig8": (lambda _, size, *__: EFFECT if 8 < size < 1024 else -EFFECT / 2, lambda *at: 2 * EFFECT * (-1) ** at[-1]),
    "fig10": (lambda *_: 0.0, lambda *_: 2 * EFFECT),
    "fig12": (lambda nonblocking, size, *_: 2 * EFFECT * (size == SMALL and not nonblocking), lambda *_: 0.0),
    "fig14": (
        lambda _, size, *__: 2 * EFFECT * (size == SMALL),
        lambda nonblocking, *_: EFFECT * (-0.5 if nonblocking else 0.5),
    ),
    "fig16": (lambda nonblocking, size, *_: -2 * EFFECT * (size == SMALL and not nonblocking), lambda *_: 0.0),
}


def late_arrivals(maker: Maker, figure: Figure, runs: Sequence[Run]) -> pd.DataFrame:
    """Returns cells with and without delays."""
    kind, number = figure.kind, figure.name.partition("-")[2]
    assert isinstance(kind, LateArrival)
    time = TIMES.get(number, (brief, brief))[maker.effect]
    benefit = BENEFITS.get(number, (lambda *_: 0.0,) * 2)[maker.effect]
    delays, rows = (0.0, *kind.shorter, *kind.late), []
    for run in runs:
        scales = maker.factors(maker.launches)
        late = (FIRST_LATE, f"{LAST_LATE}{run.ranks - 1})")
        for form, size, synchronizer in product(kind.forms, kind.sizes or (0,), SYNCHRONIZERS):
            nonblocking = form != kind.operation
            t0 = time(run.ranks, nonblocking)
            for place, delay in enumerate(delays):
                share = benefit(nonblocking, size, place - 1, run.ranks > MANY) / 100 if delay else 0.0
                times = (t0 * scales + delay) / (1 + share) + t0 * maker.random.normal(0.0, OWN, maker.launches)
                cell = {"ranks": run.ranks, "operation": form, "size": size, "synchronizer": synchronizer}
                for pattern in late if delay else ("none",):
                    delayed = {"pattern": pattern, "largest_delay": delay * US, "overlap_benefit_min": share}
                    rows += [cell | delayed | {"global_time_min": US * t, "launch": n} for n, t in enumerate(times, 1)]
    return pd.DataFrame(rows)


# Single offsets (Niethammer 2016, Table II), and the order in which ranks leave (Fig. 2).

# Borders of the claims.
SPREAD_US, ALIKE_US, APART_US = 2.0, 1.0, 1000.0


def offsets(maker: Maker, _: Figure, runs: Sequence[Run]) -> Files:
    """Ranks of one node, and of two; without effect nothing that is said of rank 1 is true."""
    files: Files = {}
    hosts = ("a: 4 ranks", "a: 4 ranks; b: 4 ranks")
    means_of = (maker.pick(0.0, 2 * ALIKE_US), maker.pick(17258.0, APART_US / 10))
    for run in runs:
        second = run.ranks > 4
        count = run.options["pairs"].count(",") + 1
        noise = maker.random.standard_normal((maker.launches, count, OFFSETS))
        noise = (noise - noise.mean(axis=2, keepdims=True)) / noise.std(axis=2, ddof=1, keepdims=True)
        deviations = maker.pick(SPREAD_US / 2, 2 * SPREAD_US) * maker.factors(maker.launches, count)
        means = maker.random.normal(0.0, 0.1, (maker.launches, count))
        means[:, 0] += means_of[second] * maker.factors(maker.launches)
        values = means[..., np.newaxis] + deviations[..., np.newaxis] * noise
        files[run.label] = [offset_file(one, hosts[second]) for one in values]
    return files


def offset_file(offsets_us: np.ndarray, hosts: str) -> xr.Dataset:
    """Returns a launch with offsets of shape (ranks but 0, measurements)."""
    dims = ("pair", "time")
    variables = {"offset": (dims, offsets_us * US), "offset_bound": (dims, np.full(offsets_us.shape, 10 * US))}
    answerer = ("pair", np.arange(1, 1 + len(offsets_us)))
    return xr.Dataset({**variables, "answerer": answerer}, attrs={"hosts": hosts})


def rounds_of_a_tree(maker: Maker, ranks: int) -> list[tuple[np.ndarray]]:
    """Ranks leave a barrier in the rounds of a tree, of which some last longer, or as it happens.

    Returns:
        Entries of launches in s, shape (samples, ranks).
    """
    rounds = release_rounds(ranks)["binomial tree, farthest first"] * maker.pick(1.0, 0.0)
    longer = maker.pick(10.0, 1.0) ** (np.arange(20) % 4 == 0)[:, np.newaxis]
    exits = [np.abs(rounds + maker.random.normal(0.0, 0.5, ranks)) for _ in range(maker.launches)]
    return [(US * (longer * one + maker.random.exponential(0.1, (20, ranks))),) for one in exits]


def double_ring(maker: Maker, ranks: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ranks leave a barrier one after another, the root last; without effect together, and the root first.

    Returns:
        Entries of launches, and how long ranks take afterwards, in s, shape (samples, ranks).
    """
    turns = np.arange(ranks, dtype=float) * maker.pick(1.0, 0.0)
    turns[0] = maker.pick(ranks, -0.1)
    takes = np.where(np.arange(ranks) < ranks // 2, 10.0, maker.pick(0.5, 10.0))
    exits = [turns + maker.random.normal(0.0, 0.2, ranks) for _ in range(maker.launches)]
    shape = (20, ranks)
    return [(US * (one + maker.random.exponential(0.1, shape)), US * takes * maker.factors(*shape)) for one in exits]


# Clocks that drift apart (Hunold 2015, Fig. 6; Hoefler 2008, Fig. 5).


def drifts(maker: Maker, _: Figure, runs: Sequence[Run]) -> Files:
    return {run.label: drift_files(maker.random, partners(run)) for run in runs}


def partners(run: Run) -> list[int]:
    return [int(pair.partition(":")[2]) for pair in run.options["pairs"].split(",")]


def fits(maker: Maker, _: Figure, runs: Sequence[Run]) -> Files:
    """Slopes that are known to 1e-8, and round trips of 2 us; without effect to 3e-8, and 5 ms."""
    noise_us, rtt_us = maker.pick(0.1, 0.4), maker.pick(2.0, 5000.0)
    return {run.label: drift_files(maker.random, partners(run), noise_us=noise_us, rtt_us=rtt_us) for run in runs}


def drift_files(
    random: np.random.Generator,
    ranks: Sequence[int] = (1,),
    ppm: float = 5.0,
    noise_us: float = 0.2,
    whose: str = "off",
    hosts: str = "ab",
    rtt_us: float = 2.0,
) -> list[xr.Dataset]:
    """Returns what the subcommand `drift` writes of pairs of clocks that drift apart, in a line but for noise."""
    time, dims, files, pairs = np.arange(0.0, 20.0, 0.25), ("pair", "time"), [], len(ranks)
    for launch in range(5):
        slopes = ppm * (1 + launch / 50) * np.arange(1, pairs + 1)[:, np.newaxis]
        residual = random.normal(0, noise_us * US, (pairs, len(time)))
        drift = slopes * US * time + residual
        variables = {
            "drift": drift,
            "residual": residual,
            "rtt": 0 * drift + rtt_us * US,
            "offset_bound": 0 * drift + US,
        }
        variables |= {"offset": 1e-3 + drift, "at": 0 * drift + time}
        numbers = dict.fromkeys(("drift_ppm", "skew_low", "skew_high", "r_squared"), slopes[:, 0])
        numbers |= {"duration": np.full(pairs, 20.0), "answerer": np.array(ranks)}
        numbers["residual_ppm"] = np.full(pairs, noise_us / 20 * (1 + launch / 50))
        places = {"time": time, "pair": [f"0:{rank}" for rank in ranks]}
        data = xr.Dataset({name: (dims, values) for name, values in variables.items()}, places)
        data = data.assign({name: ("pair", values) for name, values in numbers.items()})
        files.append(data.assign(host=("rank", list(hosts))).assign_attrs(clock_validation=whose))
    return files


# Round trips (Hoefler 2008, Figs 4 and 6).

BORDER = 10.0  # %, of the error that the paper allows N = 100


def trips(maker: Maker, _: Figure, runs: Sequence[Run]) -> Files:
    """Latencies vary much, and most in one direction; or hardly at all, and one direction takes longer by a constant.

    Without variation all rules for choosing an offset are equally wrong. The stop rule has an error of 5 %, or of as
    much as the paper allows for.
    """
    count, random = 20 * EXCHANGES, maker.random
    files: Files = {run.label: [] for run in runs}
    for label, excess in ((run.label, one) for run in runs for one in maker.values(maker.pick(BORDER / 2, BORDER))):
        jitter = np.abs(random.normal(0.0, 20e-9, (2, count)))
        tail = random.pareto(1.5, (2, count)) * (random.random((2, count)) < 0.6) * US
        longer = np.array([[random.normal(100e-9, 20e-9)], [0.0]])
        forth, back = 1.5e-6 + jitter + (tail * [[1.0], [0.3]] if maker.effect else longer)
        n = np.array([10, CHOSEN, 1000])
        variables = {
            "rtt": (("pair", "sample"), [forth + back]),
            "clock_difference": (("pair", "sample"), [forth]),
            **dict.fromkeys(("true_offset_before", "true_offset_after"), ("pair", [0.0])),
            "stop_rule_excess": (("pair", "n"), [excess / 100 * CHOSEN / n]),
            "stop_rule_cost": (("pair", "n"), [1.8 * n]),
        }
        files[label].append(xr.Dataset(variables, coords={"n": n}))
    return files
