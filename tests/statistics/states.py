"""How often equal variants are called different while the machine changes its state, with and without its canary.

Launches as they were measured on a virtual machine: in one state a broadcast takes 0.19 to 0.23 us and the round trip
of a cache line 75 to 80 ns, in the other 0.71 to 0.87 us and 347 to 416 ns. Every launch has a chance of 1 in 5 to
change the state, and half of those that do change it while they measure.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from downbeat.data.cells import CANARY_HIGH, CANARY_LOW, CANARY_PATH
from downbeat.data.states import with_states
from downbeat.errors import UsageError
from downbeat.views.comparison import compare

from benchmarks.promises import at_least, at_most, by_chance
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.kinds import DEVIATION
from tests.statistics.printed import CELL, cells_of, compare_apart

LAUNCHES = 20
CHANGE = 0.2
TIMES = ((0.19, 0.23), (0.71, 0.87))  # us, by state
TRIPS = ((75, 80), (347, 416))  # ns
EACH = 60  # a fraction of --experiments: each compares frames
A, B = {"synchronizer": "one"}, {"synchronizer": "other"}


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
            measured = {
                CANARY_LOW: min(trips),
                CANARY_HIGH: max(trips),
                CANARY_PATH: "cache line",
                "latency_avg_median": median,
            }
            rows.append({**CELL, "launch": launch, "synchronizer": synchronizer, **measured})
    return pd.DataFrame(rows), truth


def verdicts(random: np.random.Generator, design: str, ratio: float, canary: bool) -> list[str]:
    """Returns the verdicts on B = ratio A, one for each state in which there are both."""
    if design == "in turn":
        both, _ = cells(random, ("one", "other"), ratio)
        sides = [both[both["synchronizer"] == name] for name in ("one", "other")]
    else:
        sides = [cells(random, (name,), ratio)[0] for name in ("one", "other")]
    if not canary:
        sides = [side.drop(columns=[CANARY_LOW, CANARY_HIGH, CANARY_PATH]) for side in sides]
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
    each = max(experiments // (4 * EACH), 10)
    shares = share_rows(random, each)
    for launches, share_b, _, silent, differ in shares:
        what = f"{launches} launches, slow in {SHARE_A:.0%} of A and {share_b} of B"
        if share_b == f"{SHARE_A:.0%}":
            promises.append(at_most(f"{what}: different over all", differ, 0.05 + by_chance(0.05, each)))
        else:
            promises.append(at_most(f"{what}: equivalent, nothing said of states", silent, 0.0))
    columns = ("n", "slow in B", "equivalent over all", "within a state in silence", "different over all")
    about = f"B changes how often launches are {SLOWER:g} times as slow, {SHARE_A:.0%} of A: verdicts within states"
    return Findings([table, Table(about, columns, shares)], promises)


SHARE_A, SLOWER = 0.1, 3.0
CANARIES = (300e-9, 55e-9)  # s, of slow launches and of others
OVERALL = re.compile(r"over all launches .* times as long as A: (\w+)\.")


def share_rows(
    random: np.random.Generator, count: int, counts: Sequence[int] = (10, 20, 40)
) -> list[tuple[int, str, float, float, float]]:
    """Returns how often a B that puts its launches into the slow state is called equivalent within states.

    Rows of launches, share of B's that are slow, and shares of experiments: equivalent over all launches; equivalent
    within a state, without the numbers of slow launches on either side or the ratio over all launches; slower or faster
    over all.
    """
    rows = []
    for launches, share_b in itertools.product(counts, (SHARE_A, 0.5)):
        show_progress(f"states that B causes, {launches} launches")
        alike = silent = differ = 0
        for _ in range(count):
            slow = [random.random(launches) < share for share in (SHARE_A, share_b)]
            sides = [
                cells_of(math.log(SLOWER) * one + random.normal(0, DEVIATION, launches), np.where(one, *CANARIES))
                for one in slow
            ]
            found = compare_apart(sides[0], sides[1])
            a, b = (int(one.sum()) for one in slow)
            said = f"{a} of {launches} launches of A and {b} of {launches} of B" in found.text
            overall = OVERALL.search(found.text)
            alike += overall is not None and overall[1] == "equivalent"
            silent += "equivalent" in found.verdicts and not (said and overall)
            differ += overall is not None and overall[1] in ("faster", "slower")
        rows.append((launches, f"{share_b:.0%}", alike / count, silent / count, differ / count))
    return rows
