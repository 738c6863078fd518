"""How often equal variants are called different while the machine changes its state, with and without its canary.

Launches as they were measured on a virtual machine: in one state a broadcast takes 0.19 to 0.23 us and the round trip
of a cache line 75 to 80 ns, in the other 0.71 to 0.87 us and 347 to 416 ns. Every launch has a chance of 1 in 5 to
change the state, and half of those that do change it while they measure.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from downbeat.comparison.compare import compare
from downbeat.data.cells import HIGH, LOW, PATH, with_states
from downbeat.errors import UsageError

from benchmarks.promises import at_least, at_most
from tests.statistics.findings import Findings, Table, show_progress

LAUNCHES = 20
CHANGE = 0.2
TIMES = ((0.19, 0.23), (0.71, 0.87))  # us, by state
TRIPS = ((75, 80), (347, 416))  # ns
EACH = 25  # a fraction of --experiments: each compares frames
A, B = {"synchronizer": "one"}, {"synchronizer": "other"}
FACTORS = {
    "library": "some", "environment": "default", "variant": "default", "operation": "bcast", "size": 512,
    "datatype": "MPI_BYTE", "algorithm": "default", "barrier_algorithm": "default", "timing": "per_call",
    "pattern": "none", "largest_delay": 0.0, "computation": 0.0, "error_bound": 0.0, "ranks": 2, "status": "ok",
}  # fmt: skip


def cells(random: np.random.Generator, synchronizers: tuple[str, ...], ratio: float) -> tuple[pd.DataFrame, list[int]]:
    """Returns cells of launches, and the state that each was in, 2 where it changed."""
    state = int(random.integers(2))
    rows, truth = [], []
    for launch in range(LAUNCHES):
        for synchronizer in synchronizers:
            before = state
            state = 1 - state if random.random() < CHANGE else state
            changed = before != state and random.random() < 0.5
            shares = random.random() if changed else 1.0
            times = [random.uniform(*TIMES[one]) for one in (before if changed else state, state)]
            trips = [random.uniform(*TRIPS[one]) * 1e-9 for one in (before if changed else state, state)]
            median = times[0] if shares > 0.5 else times[1]
            truth.append(2 if changed else state)
            median *= (ratio if synchronizer == "other" else 1.0) * 1e-6
            measured = {LOW: min(trips), HIGH: max(trips), PATH: "cache line", "latency_avg_median": median}
            rows.append(FACTORS | {"launch": launch, "synchronizer": synchronizer} | measured)
    return pd.DataFrame(rows), truth


def verdicts(random: np.random.Generator, design: str, ratio: float, canary: bool) -> list[str]:
    """Returns the verdicts on B = ratio A, one for each state in which there are both."""
    if design == "in turn":
        both, _ = cells(random, ("one", "other"), ratio)
        sides = [both[both["synchronizer"] == name] for name in ("one", "other")]
    else:
        sides = [cells(random, (name,), ratio)[0] for name in ("one", "other")]
    if not canary:
        sides = [side.drop(columns=[LOW, HIGH, PATH]) for side in sides]
    try:
        if design == "in turn":
            return list(compare(with_states(pd.concat(sides)), where_a=A, where_b=B)["verdict"])
        return list(compare(*map(with_states, sides), where_a=A, where_b=B)["verdict"])
    except UsageError:  # they have no state in common
        return ["unmatched"]


def separated(random: np.random.Generator) -> bool:
    """Whether the states of all launches of an experiment are found as they were."""
    frame, truth = cells(random, ("one",), 1.0)
    found = with_states(frame)
    changed = np.array(truth) == 2
    if not (changed == (found["status"] != "ok").to_numpy()).all():
        return False
    pairs = set(zip(np.array(truth)[~changed], found["state"][~changed], strict=True))
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def simulate(experiments: int) -> Findings:
    """Returns shares of verdicts on equal and unequal variants."""
    random = np.random.default_rng(2026)
    count = max(experiments // EACH, 20)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for design in ("in turn", "apart"):
        for canary in (False, True):
            show_progress(f"states of the machine, {design}")
            equal = [verdicts(random, design, 1.0, canary) for _ in range(count)]
            slower = [verdicts(random, design, 1.15, canary) for _ in range(count)]
            false = sum(bool({"faster", "slower"} & set(one)) for one in equal) / count
            seen = sum("slower" in one and "faster" not in one for one in slower) / count
            rows.append((design, "within states" if canary else "all together", false, seen))
            if canary:
                promises.append(at_most(f"equal variants {design}, states change: called different", false, 0.05))
    share = sum(separated(random) for _ in range(count)) / count
    promises.append(at_least("states of all launches of an experiment found", share, 0.99))
    title = f"Verdicts while the machine changes its state, {LAUNCHES} launches on either side"
    table = Table(title, ("design", "compared", "false if equal", "15 % slower found"), rows)
    return Findings([table], promises)
