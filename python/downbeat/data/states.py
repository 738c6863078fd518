"""The states of the machine: classes of the round trips around the blocks of cells."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.cells import CHANGED, HIGH, LOW, OK, PATH
from downbeat.tables import Flags, Floats, Texts, grouped
from downbeat.text import NANOSECONDS, counted

UNKNOWN = "unknown"  # value where there are several, and the cell has no reading
SAME_STATE = 1.5  # round trips that differ by no more are of one state
LINE, MESSAGE = "cache line", "message"


def path_of(hosts: str, ranks: int, configuration: str) -> str:
    """The path of a launch's round trip: a cache line, or a message if each rank is alone on its node.

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
    """The state of each cell, and whether it was measured in two.

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


def state_text(state: str) -> str:
    """Returns the name of a state as text: `77 ns`."""
    return f"{state.removesuffix('ns')} ns" if state.endswith("ns") else state


def names_of_classes(trips: NDArray[np.float64]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, as `names_of` does."""
    return names_of(trips, classes_of(trips))


def trip_of(state: str) -> float:
    """Returns the round trip of a state by its name, ns."""
    return float(state.removesuffix("ns"))


def states_line(states: Texts, paths: Texts) -> str:
    """The states of the machine in which cells were measured, in words; empty where it is one.

    Args:
        states: of `states_of`, a value per cell.
        paths: what the round trips are of, likewise.
    """
    named = ~np.isin(states, ("", UNKNOWN))
    unread = int((states == UNKNOWN).sum())
    without = f"{counted(unread, 'cell')} of launches without a reading, state {UNKNOWN}" if unread else ""
    if not named.any():
        return without
    trips = [state.removesuffix("ns") for state in sorted(set(states[named]), key=trip_of)]
    what = LINE if (paths[named] == LINE).all() else MESSAGE
    count = {2: "two", 3: "three"}.get(len(trips), str(len(trips)))
    numbers = " and ".join([", ".join(trips[:-1]), trips[-1]])
    return f"measured in {count} states of the machine ({what} {numbers} ns{'; ' if without else ''}{without})"
