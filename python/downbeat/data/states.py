"""The states of the machine: classes of the round trips around the blocks of cells."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.cells import CHANGED, HIGH, LOW, OK, PATH, Factors
from downbeat.tables import Flags, Floats, Texts, grouped
from downbeat.text import NANOSECONDS

UNKNOWN = "unknown"  # value where there are several, and the cell has no reading
SAME_STATE = 1.5  # round trips that differ by no more are of one state
LINE, MESSAGE = "cache line", "message"


def path_of(hosts: str, ranks: int, configuration: str) -> str:
    """Returns the path of a launch's round trip: a cache line, or a message if each rank is alone on its node.

    Messages of two configurations have no states in common.
    """
    return f"{MESSAGE} of {configuration}" if 1 < ranks == len(hosts.splitlines()) else LINE


def with_states(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns cells of launches with `state`, and the status `CHANGED` for those that were measured in two states.

    Args:
        cells: with `ranks`, `status`, `canary_low`, `canary_high` in s and `canary_path`; without the latter there is
            one state.
    """
    if not {LOW, HIGH, PATH} <= set(cells):
        return cells.assign(state="")
    low, high = (cells[name].to_numpy(dtype=float) for name in (LOW, HIGH))
    state, changed = states_of(cells["ranks"], cells[PATH], low, high)
    return cells.assign(status=cells["status"].where(~changed | (cells["status"] != OK), CHANGED), state=state)


def states_of(ranks: Iterable[int], paths: Iterable[str], low: Floats, high: Floats) -> tuple[Texts, Flags]:
    """Returns the state of each cell, and whether it was measured in two.

    States are classes of round trips, sorted, divided by gaps of more than a factor of 1.5; a cell whose smallest and
    largest are of two saw a change. On a busy machine all readings spread, without a gap; that does not count. The
    readings compared are of equal numbers of ranks, and of one message where they are of messages. Beside several, a
    cell without a reading is of `UNKNOWN`.

    Args:
        ranks: of the launch.
        paths: as of `path_of`.
        low: smallest round trip, s; 0 or NaN without a reading.
        high: largest round trip, s.
    """
    mixed = np.zeros(len(low), dtype=bool)
    state = np.full(len(low), "", dtype=object)
    for _, group in grouped(ranks, paths):
        read = group[low[group] > 0]
        first, last = classes_of(np.concatenate([low[read], high[read]])).reshape(2, -1)
        mixed[read] = first != last
        steady = read[first == last]
        state[steady] = names = names_of(np.sqrt(low[steady] * high[steady]), first[first == last])
        if (names != "").any():
            state[group[~(low[group] > 0)]] = UNKNOWN
        for row in read[first != last] if steady.size else ():  # is set aside beside those that it began like
            state[row] = state[steady[np.abs(np.log(low[steady] / low[row])).argmin()]]
    return state, mixed


def classes_of(trips: NDArray[np.float64]) -> NDArray[np.intp]:
    """Returns for each round trip the number of its class, from 0."""
    order = np.argsort(trips, kind="stable")
    ordered = trips[order]
    numbers = np.zeros(len(trips), dtype=np.intp)
    numbers[order[1:]] = np.cumsum(ordered[1:] > SAME_STATE * ordered[:-1])
    return numbers


def names_of(trips: NDArray[np.float64], classes: NDArray[np.intp]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, `77ns`; empty where all are of one."""
    names = np.full(len(trips), "", dtype=object)
    numbers = np.unique(classes)
    for number in numbers if len(numbers) > 1 else ():
        names[classes == number] = f"{np.median(trips[classes == number]) * NANOSECONDS:.0f}ns"
    return names


def names_of_classes(trips: NDArray[np.float64]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, as `names_of` does."""
    return names_of(trips, classes_of(trips))


def in_main_state(rows: Factors, launches: Iterable[float] | None = None) -> Flags:
    """Returns the rows of one state for each number of ranks, where rows have to be limited to one.

    It is the state that has the most launches of the configuration with the fewest in it, then the most of all, so that
    no effect on times decides.

    Args:
        rows: of cells.
        launches: of each row; None: a row is a launch.
    """
    counts = np.ones(len(rows)) if launches is None else np.nan_to_num(np.asarray(launches, dtype=float))
    kept = np.zeros(len(rows), dtype=bool)
    configurations = rows.values("library", "environment", "variant")
    for _, group in grouped(rows.ranks):
        launches_of = {state: dict.fromkeys((configurations[row] for row in group), 0.0) for state in rows.state[group]}
        for row in group:
            launches_of[rows.state[row]][configurations[row]] += counts[row]
        order = {state: (min(each.values()), sum(each.values())) for state, each in launches_of.items()}
        kept[group] = rows.state[group] == max(order, key=lambda state: order[state])
    return kept
