"""Finds the state of the machine in which each cell was measured: classes of the round trips around its blocks.

downbeat-bench measures a round trip between two ranks before and after each block of samples, the canary. If the
machine switches between states, e.g. of power management, the round trips form classes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.cells import CANARY_HIGH, CANARY_LOW, CANARY_PATH, CHANGED, OK, Factors
from downbeat.tables import Flags, Floats, Texts, grouped
from downbeat.text import NANOSECONDS

UNKNOWN = "unknown"  # state of a cell without a round trip, if there are several states
SAME_STATE = 1.5  # ratio of neighboring round trips; a larger gap separates two states
LINE, MESSAGE = "cache line", "message"  # kinds of round trips


def path_of(hosts: str, ranks: int, configuration: str) -> str:
    """Returns the path of the round trips of a launch: a cache line, or a message if each rank is alone on its node.

    Messages of two configurations have no states in common.
    """
    return f"{MESSAGE} of {configuration}" if 1 < ranks == len(hosts.splitlines()) else LINE


def with_states(cells: pd.DataFrame) -> pd.DataFrame:
    """Adds the column `state` to cells, and sets the status `CHANGED` of cells that were measured in two states.

    Args:
        cells: with `ranks`, `status`, `canary_low`, `canary_high` in s and `canary_path`; without the canary columns
            there is one state.
    """
    if not {CANARY_LOW, CANARY_HIGH, CANARY_PATH} <= set(cells):
        return cells.assign(state="")
    low, high = (cells[name].to_numpy(dtype=float) for name in (CANARY_LOW, CANARY_HIGH))
    state, changed = states_of(cells["ranks"], cells[CANARY_PATH], low, high)
    return cells.assign(status=cells["status"].where(~changed | (cells["status"] != OK), CHANGED), state=state)


def states_of(ranks: Iterable[int], paths: Iterable[str], low: Floats, high: Floats) -> tuple[Texts, Flags]:
    """Returns the state of each cell, and flags of the cells that were measured in two states.

    Sorted round trips are divided into states at gaps of more than a factor of `SAME_STATE`. The state changed during a
    cell if its smallest and its largest round trip are in different states. On a busy machine, round trips spread
    without gaps; they are one state. Only round trips with equal numbers of ranks and equal paths are compared. If
    there are several states, a cell without a round trip has the state `UNKNOWN`.

    Args:
        ranks: number of ranks of each cell's launch.
        paths: path of each cell's round trip, from `path_of`.
        low: smallest round trip of each cell, s; 0 or NaN: none.
        high: largest round trip of each cell, s.
    """
    mixed = np.zeros(len(low), dtype=bool)
    state = np.full(len(low), "", dtype=object)
    for _, group in grouped(ranks, paths):
        known = group[low[group] > 0]  # rows with round trips
        class_of_low, class_of_high = class_numbers(np.concatenate([low[known], high[known]])).reshape(2, -1)
        is_steady = class_of_low == class_of_high
        mixed[known] = ~is_steady
        steady = known[is_steady]
        names = class_names(np.sqrt(low[steady] * high[steady]), class_of_low[is_steady])
        state[steady] = names
        if (names != "").any():
            state[group[~(low[group] > 0)]] = UNKNOWN
        if steady.size:  # a cell with a change gets the state of the nearest round trip
            for row in known[~is_steady]:
                state[row] = state[steady[np.abs(np.log(low[steady] / low[row])).argmin()]]
    return state, mixed


def class_numbers(trips: NDArray[np.float64]) -> NDArray[np.intp]:
    """Returns the number of the class of each round trip, from 0, in ascending order of round trips."""
    order = np.argsort(trips, kind="stable")
    ordered = trips[order]
    numbers = np.zeros(len(trips), dtype=np.intp)
    numbers[order[1:]] = np.cumsum(ordered[1:] > SAME_STATE * ordered[:-1])
    return numbers


def class_names(trips: NDArray[np.float64], classes: NDArray[np.intp]) -> NDArray[np.object_]:
    """Returns the name of the class of each round trip: its median, e.g. "77ns"; "" if there is only one class."""
    names = np.full(len(trips), "", dtype=object)
    numbers = np.unique(classes)
    for number in numbers if len(numbers) > 1 else ():
        names[classes == number] = f"{np.median(trips[classes == number]) * NANOSECONDS:.0f}ns"
    return names


def names_of_classes(trips: NDArray[np.float64]) -> NDArray[np.object_]:
    """Divides round trips into classes; returns the name of the class of each round trip (`class_names`)."""
    return class_names(trips, class_numbers(trips))


def in_main_state(rows: Factors, launches: Iterable[float] | None = None) -> Flags:
    """Returns flags of the rows in the main state, which is chosen for each number of ranks.

    Each state has a number of launches of each configuration. In the main state, the smallest of these numbers is
    largest; of equal states, it is the one with the most launches. So the choice does not depend on measured times.

    Args:
        rows: cells.
        launches: number of launches of each row; None: a row is a launch.
    """
    counts = np.ones(len(rows)) if launches is None else np.nan_to_num(np.asarray(launches, dtype=float))
    kept = np.zeros(len(rows), dtype=bool)
    configurations = rows.values("library", "environment", "variant")
    for _, group in grouped(rows.ranks):
        in_group = [configurations[row] for row in group]
        by_state = {state: dict.fromkeys(in_group, 0.0) for state in rows.state[group]}  # configuration -> launches
        for row in group:
            by_state[rows.state[row]][configurations[row]] += counts[row]
        smallest_and_sum = {state: (min(each.values()), sum(each.values())) for state, each in by_state.items()}
        kept[group] = rows.state[group] == max(smallest_and_sum, key=lambda state: smallest_and_sum[state])
    return kept
