"""Figure 4: how long round trips take, and what an offset is worth that is drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from downbeat_papers.building import experiment_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Evidence, Undecidable, every, factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import MPICH, OPEN_MPI, Site
from downbeat_papers.wording import between
from downbeat.units import MICROSECONDS

Floats = NDArray[np.float64]
BINS = 200
MOST_DRAWN = 99.0  # percentile at which histograms end; the tail is drawn whole beside them
TAIL_POINTS = 400
NANOSECONDS = 1e9  # per second
# Sockets over the loopback interface: the slowest "network" that a single machine has.
TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
# Clocks that run alike and are a known offset apart, so that an offset drawn from exchanges can be judged.
CLOCKS = {"DOWNBEAT_VALIDATION": "offset=1e-3,seed=8"}
# Exchanges that an offset is drawn from: what Netgauge stops after, about (section 3.1).
EXCHANGES = 180


def round_trip_runs(site: Site) -> tuple[Run, ...]:
    count = 2000 if site.quick else 50000
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    # Name, library, variables, and how many of the two ranks a node gets, where that can be chosen.
    choices = [(f"{open_mpi}", open_mpi, {}, 2), (f"{open_mpi}-tcp", open_mpi, TCP, 1), (f"{mpich}", mpich, {}, 2)]
    if site.placed:
        alone = site.ranks_per_node == 1
        choices[2:] = [(f"{open_mpi}-nodes", open_mpi, {}, 1), (f"{mpich}-nodes", mpich, {}, 1)]
        choices = choices[1:] if alone else choices  # two ranks on a node are more than it is to have
    there = [(label, library, variables, each) for label, library, variables, each in choices if library]
    return tuple(
        experiment_run(
            label,
            library,
            2,
            "rtt",
            {"count": str(count), "seed": "1"},
            seconds=4.0 if variables else 1.5,
            variables={**known(site, each), **variables},
            ranks_per_node=each if site.placed else 0,
        )
        for label, library, variables, each in there or [(site.main(), site.main(), {}, 2)]
    )


def known(site: Site, per_node: int) -> dict[str, str]:
    """Returns what makes clocks with a known offset; between nodes nobody knows it, and clocks are as they are."""
    return CLOCKS if site.made_clocks or (site.placed and per_node > 1) else {}


def network(results: Results, label: str) -> str:
    """Returns what messages of a run go through."""
    run = results.run(label)
    tcp = set(TCP) <= set(run.variables)
    if results.site.placed:
        return f"{run.library}, {'shared memory' if run.ranks_per_node > 1 else 'TCP' if tcp else 'between nodes'}"
    if results.site.nodes != 1:
        return f"{run.library}, {'TCP' if tcp else 'as the launcher has it'}"
    return f"{run.library}, {'TCP over loopback' if tcp else 'shared memory'}"


# The ways to draw one offset from many: each takes offsets and round trips, (exchanges, drawings), of each drawing.


def shortest(offsets: Floats, rtts: Floats) -> Floats:
    return np.take_along_axis(offsets, rtts.argmin(axis=1)[:, None], axis=1)[:, 0]


def best_quarter(offsets: Floats, rtts: Floats) -> Floats:
    best = np.argsort(rtts, axis=1, kind="stable")[:, : rtts.shape[1] // 4]
    return np.asarray(np.take_along_axis(offsets, best, axis=1).mean(axis=1))


WAYS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "shortest round trip": shortest,
    "mean of the quarter with the shortest": best_quarter,
    "median": lambda offsets, _: np.asarray(np.median(offsets, axis=1)),
    "mean": lambda offsets, _: np.asarray(offsets.mean(axis=1)),
}


def offset_errors(data: xr.Dataset) -> dict[str, float] | None:
    """Returns the root mean square error of an offset, in s, by the way it is drawn from EXCHANGES exchanges.

    The offset of an exchange is the difference of the clocks (listing 4) less half of the round trip.

    Args:
        data: a file of the experiment `rtt` with one pair.

    Returns:
        None where the true offset is not known.
    """
    if "true_offset_before" not in data:
        return None
    rtts = data["rtt"].to_numpy()[0]
    # The clocks run alike but for how exactly their rate is known, so that what is left of drift is linear.
    before, after = (float(data[f"true_offset_{end}"][0]) for end in ("before", "after"))
    errors = data["clock_difference"].to_numpy()[0] - rtts / 2 - np.linspace(before, after, len(rtts))
    whole = len(rtts) // EXCHANGES * EXCHANGES
    drawn, of = errors[:whole].reshape(-1, EXCHANGES), rtts[:whole].reshape(-1, EXCHANGES)
    return {name: float(np.sqrt((way(drawn, of) ** 2).mean())) for name, way in WAYS.items()}


def survival(values: Floats) -> tuple[Floats, Floats]:
    """Returns times, and the share of values that are longer: at most TAIL_POINTS, down to the single longest."""
    ordered = np.sort(values)
    shares = np.geomspace(1.0, 1.0 / len(ordered), TAIL_POINTS)
    places = np.unique((len(ordered) * (1.0 - shares)).astype(int).clip(0, len(ordered) - 1))
    return ordered[places], 1.0 - places / len(ordered)


def draw_round_trips(results: Results) -> Drawn:
    panels: list[Panel] = []
    tails: list[Series] = []
    described = []
    errors: dict[str, list[dict[str, float] | None]] = {}
    for position, label in enumerate(results.have()):
        files = results.datasets(label)
        latencies = files[0]["rtt"].to_numpy()[0] / 2 * MICROSECONDS
        end = float(np.percentile(latencies, MOST_DRAWN))
        counts, edges = np.histogram(latencies, bins=BINS, range=(float(latencies.min()), end))
        name = network(results, label)
        panels.append(
            Panel(
                [Series("", edges, np.append(counts, 0), color=position, style="steps")],
                "latency, half a round trip [us]",
                "number of round trips",
                name,
            )
        )
        tails.append(Series(name, *survival(latencies), color=position))
        beyond = float(np.mean(latencies > 1.1 * latencies.min()))
        described.append(
            f"{name}: median {np.median(latencies):.3g} us, {beyond:.0%} more than 10 % above the shortest, the "
            f"longest {latencies.max() / np.median(latencies):.3g} medians"
        )
        errors[name] = [offset_errors(data) for data in files]
    tail = Panel(
        tails, "latency, half a round trip [us]", "share that takes longer", "the tail", decades_x=True, log_y=True
    )
    picture = draw_panels(
        "hoefler2008-fig4",
        "Distribution of round-trip times",
        f"Half of each round trip between ranks 0 and 1 of the first launch, in {BINS} bins that end at the "
        f"{MOST_DRAWN:.0f}th percentile; the paper's bins span all. The last panel has all, to the single longest. "
        "Where the clock's step is longer than a bin, bins between its steps are empty.",
        [*panels, tail],
    )
    return Drawn((picture,), round_trip_findings(errors, "; ".join(described)))


def round_trip_findings(errors: Mapping[str, Sequence[dict[str, float] | None]], described: str) -> tuple[Finding, ...]:
    """Holds the paper's claim on offsets against errors.

    Args:
        errors: by network, those of each launch, as `offset_errors`.
        described: how round trips are distributed.
    """
    _, best, median, mean = WAYS
    # Between nodes nobody knows the true offset.
    judged = {name: launches for name, launches in errors.items() if launches and all(launches)}
    return (
        Finding(
            "an offset is better drawn from the shortest quarter of the round trips than as a mean or median of all",
            "mean or median is not viable, because latencies vary a lot; differences with a latency below a threshold "
            "are better",
            here(errors),
            every(viable(judged, (mean, median), best))
            if judged
            else Undecidable("nobody knows the true offset between these clocks"),
        ),
        Finding(
            "round trips are distributed in another way on each network",
            "different shapes for InfiniBand, Myrinet and Gigabit Ethernet",
            described,
            None,
        ),
    )


def viable(errors: Mapping[str, Sequence[dict[str, float] | None]], others: Sequence[str], best: str) -> list[Evidence]:
    """Returns what launches say of each network and each other way: that its error is larger than the best way's."""
    return [
        factor_of([one[other] / one[best] for one in launches if one]).above(1.0)
        for launches in errors.values()
        for other in others
    ]


def here(errors: Mapping[str, Sequence[dict[str, float] | None]]) -> str:
    """Says how large errors are, in the median over launches."""
    parts = []
    for name, launches in errors.items():
        known = [one for one in launches if one]
        if known:
            listed = ", ".join(f"{way} {np.median([one[way] for one in known]) * NANOSECONDS:.3g} ns" for way in WAYS)
            parts.append(f"{name}: {listed}")
    if not parts:
        return "true offsets are not known"
    spread = between([len(launches) for launches in errors.values()])
    return f"root mean square error of an offset from {EXCHANGES} exchanges, {spread} launches: {'; '.join(parts)}"
