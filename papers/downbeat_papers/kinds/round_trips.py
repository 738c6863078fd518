"""Measures round-trip times, errors of clock offsets estimated from round trips, and when to stop measuring them.

Hoefler 2008, Figs 4 and 6.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from downbeat.data.clock_files import DimensionTable
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.run.durations import start_seconds
from downbeat.tables import Floats, Texts, column
from downbeat.text import MICROSECONDS

from downbeat_papers.claims import Facts, Measure, Outcome, missing
from downbeat_papers.draw import median_line
from downbeat_papers.results import Results
from downbeat_papers.runs import Run
from downbeat_papers.site import MPICH, OPEN_MPI, Site

BINS = 200  # of a histogram
MAX_PERCENTILE = 99.0  # percentile at which histograms end; another panel shows the whole tail
TAIL_POINTS = 400  # maximum number of points of the line of the tail
NANOSECONDS = 1e9  # per second
# Makes Open MPI use TCP: on a single machine over the loopback interface, its slowest "network".
TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
# Made clocks of the same rate with a known offset, so that errors of estimated offsets are known.
CLOCKS = {"DOWNBEAT_VALIDATION": "offset=1e-3,seed=8"}
EXCHANGES = 180  # round trips from which an offset is estimated, about as many as Netgauge makes (section 3.1)
CHOSEN = 100  # N of Netgauge, which stops after N round trips in a row that were no shorter than the shortest
# If no two round trips are equally long, the expected number of round trips until the stop depends on N alone: for
# large N, it is N times this factor, e to the power of Euler's constant (theory of records).
COUNTED = float(np.exp(np.euler_gamma))


def network(results: Results, label: str) -> str:
    """Returns the library and the path of messages of a run in words, e.g. "openmpi, shared memory"."""
    run = results.run(label)
    tcp = set(TCP) <= set(run.variables)
    if results.site.placed:
        return f"{run.library}, {'shared memory' if run.ranks_per_node > 1 else 'TCP' if tcp else 'between nodes'}"
    if results.site.nodes != 1:
        return f"{run.library}, {'TCP' if tcp else 'as the launcher has it'}"
    return f"{run.library}, {'TCP over loopback' if tcp else 'shared memory'}"


class Trips(DimensionTable):
    """A launch of `downbeat-bench rtt`: round trips of a pair, and the stop rule on them."""

    pair: Texts = column("ranks of the pair")
    rtt: Floats = column("round trips, shape (pairs, samples)", "s")
    clock_difference: Floats = column("peer's clock at its reply minus caller's clock at its message, same shape", "s")
    true_offset_before: Floats = column("true offset of the clocks before the round trips; NaN: not known", "s")
    true_offset_after: Floats = column("true offset after them; NaN: not known", "s")
    stop_rule_excess: Floats = column("shortest round trip until the stop / the shortest of all - 1, (pairs, n)", "1")
    stop_rule_cost: Floats = column("round trips until the rule stops, same shape", "1")

    @property
    def latency_us(self) -> Floats:
        """Half of each round trip of the first pair."""
        return np.asarray(self.rtt[0] / 2 * MICROSECONDS)


def offset_of_shortest(offsets: Floats, rtts: Floats) -> Floats:
    """Estimates offsets by the exchange with the shortest round trip; see `ESTIMATORS`."""
    return np.take_along_axis(offsets, rtts.argmin(axis=1)[:, None], axis=1)[:, 0]


def mean_of_shortest_quarter(offsets: Floats, rtts: Floats) -> Floats:
    """Estimates offsets by the mean over the quarter of the exchanges with the shortest round trips."""
    shortest = np.argsort(rtts, axis=1, kind="stable")[:, : rtts.shape[1] // 4]
    return np.asarray(np.take_along_axis(offsets, shortest, axis=1).mean(axis=1))


# Estimators of an offset from many exchanges. Arguments are the offset and the round trip of each exchange, both of
# shape (estimates, exchanges); the result has an offset per estimate.
ESTIMATORS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "shortest": offset_of_shortest,
    "mean_of_the_shortest_quarter": mean_of_shortest_quarter,
    "median": lambda offsets, _: np.asarray(np.median(offsets, axis=1)),
    "mean": lambda offsets, _: np.asarray(offsets.mean(axis=1)),
}


def offset_errors(data: xr.Dataset) -> dict[str, float] | None:
    """Returns estimator -> root mean square error of offsets that it estimates from `EXCHANGES` exchanges, in s.

    The offset of an exchange is the difference of the clocks (listing 4) less half of the round trip.

    Args:
        data: a file of the experiment `rtt` with one pair.

    Returns:
        None if the true offset is not known.
    """
    file = Trips.of(data)
    if np.isnan(file.true_offset_before[0]):
        return None
    rtts = file.rtt[0]
    # The clocks have the same rate except for a small error, so the true offset changes linearly.
    true_offset = np.linspace(float(file.true_offset_before[0]), float(file.true_offset_after[0]), len(rtts))
    errors = file.clock_difference[0] - rtts / 2 - true_offset
    used = len(rtts) // EXCHANGES * EXCHANGES
    error_groups, rtt_groups = errors[:used].reshape(-1, EXCHANGES), rtts[:used].reshape(-1, EXCHANGES)
    return {
        name: float(np.sqrt((estimate(error_groups, rtt_groups) ** 2).mean())) for name, estimate in ESTIMATORS.items()
    }


def survival(values: Floats) -> tuple[Floats, Floats]:
    """Returns times, and for each the share of values that are longer or equal: at most `TAIL_POINTS` points.

    The last point is the longest value.
    """
    ordered = np.sort(values)
    shares = np.geomspace(1.0, 1.0 / len(ordered), TAIL_POINTS)
    indices = np.unique((len(ordered) * (1.0 - shares)).astype(int).clip(0, len(ordered) - 1))
    return ordered[indices], 1.0 - indices / len(ordered)


class RoundTrips:
    """Distributions of round trips, and errors of offsets that are estimated from them."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        """Returns runs of two ranks, on one node and on two, or over shared memory and TCP."""
        count = 2000 if site.quick else 50000
        open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
        # Label, library, variables, and ranks per node if the site can place ranks: 2 is one node, 1 is two nodes.
        choices = [(f"{open_mpi}", open_mpi, {}, 2), (f"{open_mpi}-tcp", open_mpi, TCP, 1), (f"{mpich}", mpich, {}, 2)]
        if site.placed:
            # Between two nodes, instead of MPICH on one.
            choices[2:] = [(f"{open_mpi}-nodes", open_mpi, {}, 1), (f"{mpich}-nodes", mpich, {}, 1)]
            if site.ranks_per_node == 1:
                choices = choices[1:]  # the run with both ranks on a node is not possible
        available = [
            (label, library, variables, per_node) for label, library, variables, per_node in choices if library
        ]
        return tuple(
            Run(
                label,
                library,
                2,
                ("rtt",),
                {"count": str(count), "seed": "1"},
                seconds=start_seconds(2) + (4.0 if variables else 1.5),
                # Between nodes, clocks are not made, and the true offset is unknown.
                variables={**(CLOCKS if site.made_clocks or (site.placed and per_node > 1) else {}), **variables},
                ranks_per_node=per_node if site.placed else 0,
            )
            for label, library, variables, per_node in available or [(site.main(), site.main(), {}, 2)]
        )

    def facts(self, results: Results) -> Facts:
        described = []
        errors: dict[str, dict[str, Measure]] = {name: {} for name in ESTIMATORS}
        for label in results.labels():
            files, name = results.datasets(label), network(results, label)
            latencies = Trips.of(files[0]).latency_us
            middle, beyond = np.median(latencies), float(np.mean(latencies > 1.1 * latencies.min()))
            described.append(
                f"{name}: median {middle:.3g} us, {beyond:.0%} more than 10 % above the shortest, the longest "
                f"{latencies.max() / middle:.3g} medians"
            )
            launches = [offset_errors(data) for data in files]
            known_errors = [launch for launch in launches if launch]
            if known_errors and len(known_errors) == len(launches):
                for estimator, measures in errors.items():
                    measures[name] = Measure([launch[estimator] * NANOSECONDS for launch in known_errors], " ns")
        unknown = missing("nobody knows the true offset between these clocks")
        known = {name: measures or unknown for name, measures in errors.items()}
        return Facts({**known, "spread": Outcome(None, "; ".join(described))})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels, tails = [], []
        for position, label in enumerate(results.labels()):
            latencies = Trips.of(results.datasets(label)[0]).latency_us
            end = float(np.percentile(latencies, MAX_PERCENTILE))
            counts, edges = np.histogram(latencies, bins=BINS, range=(float(latencies.min()), end))
            histogram = Line("", edges, np.append(counts, 0), color=position, style="steps")
            title = network(results, label)
            panels.append(Panel([histogram], "latency, half a round trip [us]", "number of round trips", title))
            tails.append(Line(title, *survival(latencies), color=position))
        x, y = "latency, half a round trip [us]", "share that takes longer"
        caption = (
            f"Half of each round trip between ranks 0 and 1 of the first launch, in {BINS} bins that end at the "
            f"{MAX_PERCENTILE:.0f}th percentile; the paper's bins span all. The last panel has all, to the single "
            "longest. Where the clock's step is longer than a bin, bins between its steps are empty."
        )
        panels.append(Panel(tails, x, y, "the tail", x_scale="log", y_scale="log"))
        return (make_picture(name, "Distribution of round-trip times", caption, panels),)


class StopRule:
    """Quality and cost of the stop rule for numbers N, simulated by downbeat-bench on the recorded round trips."""

    runs = RoundTrips.runs

    def recorded(self, results: Results) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Returns network -> numbers N, excess in % and cost; the last two have shape (launches, numbers N)."""
        recorded = {}
        for label in results.labels():
            datasets = results.datasets(label)
            files = [*map(Trips.of, datasets)]
            excess = np.stack([file.stop_rule_excess[0] for file in files]) * 100
            cost = np.stack([file.stop_rule_cost[0] for file in files])
            recorded[network(results, label)] = datasets[0].n.to_numpy(), excess, cost
        return recorded

    def facts(self, results: Results) -> Facts:
        excesses, costs = {}, {}
        for name, (n, excess, cost) in self.recorded(results).items():
            chosen = list(n).index(CHOSEN)
            excesses[name] = Measure(excess[:, chosen], " %", signed=True)
            counted = f"by counting {COUNTED * CHOSEN:.0f}, and less where round trips are equally long"
            costs[name] = Measure(cost[:, chosen], note=f"{counted}: nothing that data could deny")
        return Facts({"excess": excesses, "cost": costs})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        recorded = self.recorded(results)
        excesses, costs = [], []
        for position, (words, (n, excess, cost)) in enumerate(recorded.items()):
            excesses.append(median_line(words, n, list(excess.T), position))
            costs.append(median_line(words, n, list(cost.T), position))
        costs.append(Line("by counting", n, COUNTED * n, color="#888888", style="--"))
        caption = (
            "The stop rule measures until N round trips in a row were no shorter than the shortest so far. Excess: how "
            "far that is above the shortest of all; cost: round trips until then. Means over 1000 runs that draw from "
            "the recorded round trips; median over launches, bars: smallest to largest launch. By counting: what any "
            "distribution costs in which no two round trips are equally long."
        )
        panels = [
            Panel(excesses, "N", "excess of the shortest round trip [%]", "quality", x_scale="log"),
            Panel(costs, "N", "round trips measured", "cost", x_scale="log", y_scale="log"),
        ]
        return (make_picture(name, "Influence of N on quality and cost", caption, panels),)
