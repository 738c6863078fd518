"""Accusations by `downbeat locate` in sound machines, and planted faults that it finds, against the stated power.

From logs: six values of each pair. Live: downbeat-bench pairs measures two passes of a tournament and fresh rounds of
its suspects. In sound machines links have 3 % spread, values 1 % noise, and 1 % of them are 2 to 8 times larger. The
power is the share of nodes, or links, that would be named if they were 1.5 times slower; the command states it from
the times of the sound machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from downbeat.locate.live import find_live
from downbeat.output.facts.locate import SlowLinks, SlowNode
from downbeat.statistics.fault_search import locate
from downbeat.tables import Floats

from benchmarks.promises import Promise, at_least, at_most
from tests.statistics.benched import Bench, names_of
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.machines import KINDS, Machine, slow_link, slow_node

RUNS = 100  # machines of each kind; accusations in 1 of 100 sound machines are allowed
FACTORS = (1.5, 2.0, 10.0)  # slowdowns of planted faults
LARGE, LARGE_RUNS = 1024, 10  # nodes, machines; these take minutes
POWER_RUNS = 400  # machines; the counting error is then 2.5 % (standard deviation)
POWERS = (  # planted faults and machines with a power between 0 and 1
    *(("link", Machine(32, values=values, noise=noise)) for noise in (0.05, 0.08, 0.1) for values in (3, 6)),
    ("node", Machine(8, values=3, noise=0.1)),
    ("node", Machine(12, values=3, noise=0.2)),
    ("node", Machine(16, values=3, noise=0.3)),
    ("node", Machine(32, values=2, noise=0.4)),
)
FEW = (4, 5, 6, 7)  # nodes
JOBS = "jobs"
Named = set[tuple[int, ...]]
Accuse = Callable[[Floats, np.random.Generator], tuple[Named, float, float]]


def live_with_jobs(times: Floats, random: np.random.Generator) -> tuple[Named, float, float]:
    """Searches like `live`, beside other jobs."""
    return live(times, random, jobs=True)


def from_logs(times: Floats, _random: np.random.Generator) -> tuple[Named, float, float]:
    """Searches in logs; returns the accused, and the stated power for nodes and for links."""
    located = locate(times)
    return {fault.members for fault in located.faults}, located.node_power, located.link_power


def live(times: Floats, random: np.random.Generator, jobs: bool = False) -> tuple[Named, float, float]:
    """Measures and searches; returns like `from_logs`. The first value of each pair is its true log time."""
    nodes = {name: number for number, name in enumerate(names_of(times.shape[1]))}
    (findings,) = find_live([Bench(times[0], random, noise=0.03 if jobs else 0.01, jobs=jobs).run()])
    accused: Named = set()
    for fact in findings.accused:
        faults = [fact.node] if isinstance(fact, SlowNode) else fact.links if isinstance(fact, SlowLinks) else ()
        accused |= {tuple(sorted(nodes[end] for end in fault.ends)) for fault in faults}
    return accused, findings.located.node_power, findings.located.link_power


@dataclasses.dataclass
class Counted:
    """Counts over machines."""

    false: int = 0  # machines with an accusation other than the planted one
    hits: int = 0  # machines in which the planted fault is named
    stated: list[tuple[float, float]] = dataclasses.field(default_factory=list)  # power for nodes and links


def count(machine: Machine, accuse: Accuse, runs: int, plant: str = "", factor: float = 1.0) -> Counted:
    """Counts accusations in machines; `plant`: "node", "link", or empty for sound machines."""
    counted = Counted()
    for seed in range(runs):
        random = np.random.default_rng((seed, machine.nodes, len(plant)))
        times = machine.times(random)
        a, b = sorted(int(node) for node in random.choice(machine.nodes, 2, replace=False))
        planted: Named = {(a,)} if plant == "node" else {(a, b)} if plant == "link" else set()
        if plant:
            times = slow_node(times, a, factor) if plant == "node" else slow_link(times, a, b, factor)
        accused, *stated = accuse(times, random)
        counted.false += bool(accused - planted)
        counted.hits += bool(planted and planted <= accused)
        counted.stated.append((stated[0], stated[1]))
    return counted


def cases() -> Iterator[tuple[str, Machine, Accuse, int]]:
    """Yields a name, a machine, how it is measured, and the number of such machines."""
    for kind in KINDS:
        yield f"logs, 64 nodes, {kind}", Machine(kind=kind), from_logs, RUNS
        quiet = Machine(kind="flat" if kind == JOBS else kind, values=1, noise=0.0, outliers=0.0)
        yield f"live, 64 nodes, {kind}", quiet, live_with_jobs if kind == JOBS else live, RUNS
        yield f"logs, {LARGE} nodes, {kind}", Machine(LARGE, kind=kind), from_logs, LARGE_RUNS
    yield f"live, {LARGE} nodes, flat", Machine(LARGE, values=1, noise=0.0, outliers=0.0), live, LARGE_RUNS


def simulate(_experiments: int) -> Findings:
    """Counts accusations in sound machines and planted faults that are found; the number of machines is fixed."""
    rows: list[list[str | int | float]] = []
    promises: list[Promise] = []
    for name, machine, accuse, runs in cases():
        show_progress(f"faults: {name}")
        sound = count(machine, accuse, runs)
        stated = np.mean(np.array(sound.stated), axis=0)
        rows.append([name, runs, "none", 1.0, sound.false, 0, float("nan")])
        promises.append(at_most(f"{name}: machines with a false accusation", sound.false, 1))
        if runs < RUNS:
            continue
        for plant, power in zip(("node", "link"), stated, strict=True):
            for factor in FACTORS:
                counted = count(machine, accuse, runs, plant, factor)
                rows.append([name, runs, plant, factor, counted.false, counted.hits, float(power)])
                promises.append(at_most(f"{name}, {plant} {factor:g} times: false accusations", counted.false, 1))
                if JOBS not in name:
                    promises.append(at_least(f"{name}, {plant} {factor:g} times: found", counted.hits, 0.95 * runs))
                if factor == FACTORS[0]:
                    off = abs(power - counted.hits / runs)
                    promises.append(at_most(f"{name}, {plant} {factor:g} times: stated power is off by", off, 0.05))
    columns = ("machine", "runs", "planted", "factor", "false", "found", "stated power of 1.5 times")
    return Findings([Table("Accusations by downbeat locate", columns, rows)], promises)


def simulate_powers(_experiments: int) -> Findings:
    """Compares the stated power with the counted one where it is neither 0 nor 1; the number of machines is fixed."""
    rows: list[list[str | int | float]] = []
    promises: list[Promise] = []
    for plant, machine in POWERS:
        show_progress(f"power of {plant}, {machine.nodes} nodes, noise {machine.noise:g}")
        stated = np.mean(count(machine, from_logs, POWER_RUNS).stated, axis=0)[("node", "link").index(plant)]
        counted = count(machine, from_logs, POWER_RUNS, plant, FACTORS[0])
        found = counted.hits / POWER_RUNS
        rows.append([plant, machine.nodes, machine.noise, machine.values, counted.false, float(stated), found])
        name = f"{plant}, {machine.nodes} nodes, noise {machine.noise:g}, {machine.values} values"
        promises.append(at_most(f"{name}: stated power is off by", abs(stated - found), 0.05))
    columns = ("planted", "nodes", "noise", "values", "false", "stated", "found")
    return Findings([Table(f"Power for 1.5 times, {POWER_RUNS} machines", columns, rows)], promises)


def simulate_few(_experiments: int) -> Findings:
    """Counts accusations among few nodes, from logs; a far leaf has the last third of the nodes."""
    rows: list[list[str | int | float]] = []
    promises: list[Promise] = []
    for kind in ("flat", JOBS, "far"):
        for nodes in FEW:
            machine = Machine(nodes, kind=kind, leaf=nodes - nodes // 3)
            sound = count(machine, from_logs, RUNS)
            planted = [count(machine, from_logs, RUNS, "node", factor) for factor in FACTORS[1:]]
            rows.append([kind, nodes, sound.false, *(each.hits for each in planted), *(each.false for each in planted)])
            for each in (sound, *planted):
                promises.append(at_most(f"{nodes} nodes, {kind}: machines with a false accusation", each.false, 1))
    columns = ("machine", "nodes", "false", "2 times: named", "10 times: named", "2 times: false", "10 times: false")
    return Findings([Table(f"Slow nodes among few, of {RUNS} machines", columns, rows)], promises)
