"""The figures of Hoefler, Schneider, Lumsdaine: Accurately Measuring Collective Operations at Massive Scale (2008)."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import above, unanimous
from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.figure import Drawn, Figure, Finding, Run
from downbeat.reproduce.hunold2015.drift import drift_lines, drift_runs
from downbeat.reproduce.own_clocks import TWO_CLOCKS, clock_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import MPICH, OPEN_MPI, Site
from downbeat.reproduce.wording import between, microseconds

BINS = 200
SHARE = 0.05  # of round trips more than 10 % above the shortest, from which on they are said to vary
LONGEST = 4.0  # medians: one interruption of a millisecond leaves no room for the rest
NANOSECONDS = 1e9  # per second
# Sockets over the loopback interface: the slowest "network" that a single machine has.
TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}


# Figures 4 and 6: round trips.


def round_trip_runs(site: Site) -> tuple[Run, ...]:
    count = 2000 if site.quick else 50000
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    choices = [
        (f"{open_mpi}", open_mpi, {}),
        (f"{open_mpi}-tcp", open_mpi, TCP),
        (f"{mpich}", mpich, {}),
    ]
    return tuple(
        experiment_run(
            label,
            library,
            2,
            "rtt",
            {"count": str(count), "seed": "1"},
            seconds=4.0 if variables else 1.5,
            variables=variables,
            most_launches=1,
        )
        for label, library, variables in choices
        if library
    ) or (experiment_run(site.main(), site.main(), 2, "rtt", {"count": str(count)}, seconds=1.5, most_launches=1),)


def network(results: Results, label: str) -> str:
    """Returns what messages of a run go through."""
    run = results.run(label)
    if results.site.launcher:
        return f"{run.library}, {'TCP' if run.variables else 'as the launcher has it'}"
    return f"{run.library}, {'TCP over loopback' if run.variables else 'shared memory'}"


def draw_round_trips(results: Results) -> Drawn:
    panels: list[Panel] = []
    told = []
    shares = []
    for label in results.have():
        latencies = results.datasets(label)[0]["rtt"].to_numpy()[0] / 2 * MICROSECONDS
        end = min(float(np.percentile(latencies, 99)), LONGEST * float(np.median(latencies)))
        counts, edges = np.histogram(latencies, bins=BINS, range=(float(latencies.min()), end))
        panels.append(
            Panel(
                [Series("", edges, np.append(counts, 0), colour=len(panels), style="steps")],
                "latency, half a round trip [us]",
                "number of round trips",
                network(results, label),
            )
        )
        told.append(
            f"{network(results, label)}: median {np.median(latencies):.3g} us, "
            f"{np.mean(latencies > end):.1%} beyond {end:.3g} us"
        )
        shares.append(float(np.mean(latencies > 1.1 * latencies.min())))
    picture = draw_panels(
        "hoefler2008-fig4",
        "Distribution of round-trip times",
        f"Half of each round trip between ranks 0 and 1, in {BINS} bins from the shortest to the 99th percentile; the "
        "paper's bins "
        "span all. Where the clock's step is longer than a bin, bins between its steps are empty.",
        panels,
    )
    findings = (
        Finding(
            "round trips vary in a way that nobody can predict, so that a mean or median of offsets is no good",
            "different shapes for InfiniBand, Myrinet and Gigabit Ethernet",
            f"{'; '.join(told)}; {between([100 * share for share in shares], ' %')} are more than 10 % above the "
            "shortest",
            # Of all networks, as in the paper.
            unanimous(share > SHARE for share in shares),
        ),
    )
    return Drawn((picture,), findings)


def draw_stop_rule(results: Results) -> Drawn:
    excesses, costs = [], []
    at_100: dict[str, tuple[float, float]] = {}
    for position, label in enumerate(results.have()):
        data = results.datasets(label)[0]
        n = data["n"].to_numpy()
        excess = data["stop_rule_excess"].to_numpy()[0] * 100
        cost = data["stop_rule_cost"].to_numpy()[0]
        excesses.append(Series(network(results, label), n, excess, colour=position, marker=position))
        costs.append(Series(network(results, label), n, cost, colour=position, marker=position))
        if 100 in n:
            where = list(n).index(100)
            at_100[label] = float(excess[where]), float(cost[where])
    picture = draw_panels(
        "hoefler2008-fig6",
        "Influence of N on quality and cost",
        "The stop rule measures until N round trips in a row were no shorter than the shortest so far. Excess: how "
        "far that is "
        "above the shortest of all; cost: round trips until then. Means over 1000 runs that draw from the recorded "
        "round trips.",
        [
            Panel(excesses, "N", "excess of the shortest round trip [%]", "quality", decades_x=True),
            Panel(costs, "N", "round trips measured", "cost", decades_x=True, log_y=True),
        ],
    )
    findings = []
    if at_100:
        errors, efforts = zip(*at_100.values(), strict=True)
        findings = [
            Finding(
                "N = 100 leaves an error below 10 %",
                "less than 10 % on all networks, saturating around 5 %",
                between(errors, " %"),
                max(errors) < 10,
            ),
            Finding(
                "N = 100 takes about 180 round trips",
                "approximately 180",
                between(efforts),
                # Draws are independent, so the cost depends on ties and tails; within a factor of two it is the same.
                all(90 < effort < 360 for effort in efforts),
            ),
            Finding(
                "the cost hardly depends on the network",
                "the curves for all networks are nearly identical",
                f"at N = 100 largest / smallest {max(efforts) / min(efforts):.2f}",
                max(efforts) < 1.5 * min(efforts) if len(efforts) > 1 else None,
            ),
        ]
    return Drawn((picture,), tuple(findings))


# Figure 5: drift.


def draw_pairs(results: Results) -> Drawn:
    data = results.datasets("drift")[0]
    seconds = float(data["duration"].max())
    picture = draw_panels(
        "hoefler2008-fig5",
        "Clock drift of pairs of ranks",
        "Left: offset of a rank's local clock to rank 0's, less the first. Right: what is left when a line is taken "
        "out. The "
        "clocks are the validation clock's: the drift is made.",
        [
            Panel(drift_lines(results, "drift", MICROSECONDS), "time [s]", "clock difference [us]", "as it is"),
            Panel(drift_lines(results, "residual", NANOSECONDS), "time [s]", "residual [ns]", "a line taken out"),
        ],
    )
    plain = float(np.abs(data["drift_ppm"].to_numpy()).max())
    left = float(np.abs(data["residual_ppm"].to_numpy()).max())
    findings = (
        Finding(
            "a linear correction brings the error below 1 ppm",
            "below 1 ppm with it, up to 300 ppm without, over 14 hours",
            f"{left:.2g} ppm with it, {plain:.3g} ppm without, over {seconds:.0f} s; the drift is made, not found",
            None,
        ),
    )
    return Drawn((picture,), findings)


# Figure 8: synchronization one by one and in a tree.

# The same estimator in both, so that nothing but the order of the pairs differs.
LINEAR, TREE = "skampi(offset=netgauge)", "netgauge"
NAMES = {LINEAR: "linear", TREE: "tree (netgauge)"}


def scheme_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        clock_run(
            site,
            ranks,
            f"{LINEAR},{TREE}",
            site.repetitions(30),
            seconds=3.0 if site.crowded(ranks) else 0.5,
            variables={"DOWNBEAT_VALIDATION": "offset=1e-3,skew=8e-6,seed=8"},
        )
        for ranks in site.counts
    )


def draw_schemes(results: Results) -> Drawn:
    rows: dict[str, list[tuple[int, float, float, float, float]]] = {}
    for label in results.have():
        ranks = results.run(label).ranks
        for data in results.datasets(label)[:1]:
            schemes = [str(scheme) for scheme in data["scheme"].to_numpy()]
        for position, scheme in enumerate(schemes):
            launches = [
                float(np.median(data["duration"].to_numpy()[position])) * 1e3 for data in results.datasets(label)
            ]
            messages = float(
                np.median([data["messages_median"].to_numpy()[position] for data in results.datasets(label)])
            )
            rows.setdefault(NAMES[scheme], []).append(
                (ranks, float(np.median(launches)), min(launches), max(launches), messages)
            )
    series = [
        Series(
            name,
            [row[0] for row in values],
            [row[1] for row in values],
            [row[2] for row in values],
            [row[3] for row in values],
            position,
            "-",
            position,
        )
        for position, (name, values) in enumerate(rows.items())
    ]
    picture = draw_panels(
        "hoefler2008-fig8",
        "Duration of clock synchronization, one by one and in a tree",
        "Largest duration over ranks; median over launches of the launches' medians, bars: smallest to largest "
        "launch. Both "
        "schemes take offsets by Netgauge's estimator; every rank has a clock of its own.",
        [Panel(series, "number of processes", "duration [ms]", log_x=True)],
    )
    findings = []
    linear, tree = rows[NAMES[LINEAR]], rows[NAMES[TREE]]
    for one, other in zip(linear, tree, strict=True):
        ranks = one[0]
        steps = int(np.ceil(np.log2(ranks)))
        ratio = one[1] / other[1]
        alike = ranks <= 2
        findings.append(
            Finding(
                f"the tree is quicker on {ranks} processes (steps: {steps}; one by one: {ranks - 1})",
                "more than 16 times on 128 processes (7 instead of 127 steps)",
                f"{ratio:.2f} times, {microseconds(one[1] * 1e3)} and {microseconds(other[1] * 1e3)}; messages of the "
                "busiest "
                f"process {one[4]:.0f} and {other[4]:.0f}",
                None if alike else results.told_on(ranks, above(one[2] / other[3], one[3] / other[2], 1.0)),
            )
        )
    return Drawn((picture,), tuple(findings))


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="hoefler2008-fig4",
        title="Distribution of round-trip times over three networks",
        setup="Two nodes, InfiniBand, Myrinet and Gigabit Ethernet; 50,000 ping-pongs of 8 bytes, one every second "
        "for 14 hours, RDTSC; "
        "histograms of half the round trip in 200 bins.",
        reports=(
            "Latencies vary, in a way of each network's own, so an offset is best taken from the shortest round trips.",
        ),
        needs="2 nodes, InfiniBand, Myrinet and Gigabit Ethernet, 14 hours",
        shows=lambda _: (
            "2 ranks on one machine, 50,000 round trips back to back, over shared memory and TCP: the method, not "
            "those "
            "networks"
        ),
        runs=round_trip_runs,
        draw=draw_round_trips,
    ),
    Figure(
        name="hoefler2008-fig5",
        title="Clock drift of pairs of nodes",
        setup="Six pairs of nodes, clock differences every second over 14 hours.",
        reports=(
            "The difference grows nearly linearly, so a line corrects it: errors below 1 ppm, where they are up to "
            "300 ppm without.",
        ),
        needs="7 nodes, 14 hours",
        shows=lambda site: f"{site.most} ranks for 20 s; {TWO_CLOCKS}: that a line is found and taken out",
        runs=drift_runs,
        draw=draw_pairs,
        data="hunold2015-fig6",
    ),
    Figure(
        name="hoefler2008-fig6",
        title="Influence of N, after which Netgauge stops, on quality and cost",
        setup="A simulation on the 50,000 recorded round trips: measure until N in a row were no shorter than the "
        "shortest so far.",
        reports=(
            "Quality and cost grow with N nearly alike on all networks; quality saturates at about 5 %.",
            "N = 100 is chosen: less than 10 % error, about 180 measurements.",
        ),
        needs="2 nodes, InfiniBand, Myrinet and Gigabit Ethernet",
        shows=lambda _: "the same simulation on round trips over shared memory and TCP of one machine",
        runs=round_trip_runs,
        draw=draw_stop_rule,
        data="hoefler2008-fig4",
    ),
    Figure(
        name="hoefler2008-fig8",
        title="Synchronization time of a linear scheme and of the tree",
        setup="Odin, 128 nodes with two dual-core Opterons, all cores used, InfiniBand; time of synchronization at "
        "rank 0.",
        reports=("The tree needs log p steps in place of p - 1, and is more than 16 times faster on 128 processes.",),
        needs="128 ranks, InfiniBand",
        shows=lambda site: (
            f"{', '.join(map(str, site.counts))} of 128 ranks over shared memory: the messages exactly, the times "
            "where ranks have cores"
        ),
        runs=scheme_runs,
        draw=draw_schemes,
    ),
)
