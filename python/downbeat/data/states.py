"""States of the machine: launches compare within one, which round trips of a cache line around their blocks show.

A host moves the processors of a virtual machine, a frequency falls: for seconds to minutes all that ranks send each
other takes longer. The round trip (the canary of downbeat-bench) depends on the machine alone, so it separates such a
state from an effect of what is measured.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.countable import OK

STATE = "state"  # the factor; empty where there is one state, or none is known
CHANGED = "state changed"  # status of a cell that was measured in two states
SAME = 1.5  # round trips that differ by no more are of one state
LOW, HIGH, PATH = "canary_low", "canary_high", "canary_path"
LINE, MESSAGE = "cache line", "message"
NANOSECONDS = 1e9


def path_of(hosts: str, ranks: int, configuration: str) -> str:
    """Returns what the round trip of a launch is of: a cache line, or where ranks are alone on nodes a message.

    A message is of the configuration, of which nothing else has states in common.
    """
    return f"{MESSAGE} of {configuration}" if 1 < ranks == len(hosts.splitlines()) else LINE


def with_states(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns cells of launches with `state`, and the status `CHANGED` for those that were measured in two states.

    States are classes of cells divided by gaps of more than a factor of 1.5 between their round trips, sorted; of equal
    numbers of ranks, and of one message where it is that.

    Args:
        cells: with `ranks`, `status`, `canary_low`, `canary_high` in s and `canary_path`; without the latter there is
            one state.
    """
    if not {LOW, HIGH, PATH} <= set(cells):
        return cells.assign(state="")
    low, high = cells[LOW].to_numpy(dtype=float), cells[HIGH].to_numpy(dtype=float)
    mixed = high > SAME * low
    state = np.full(len(cells), "", dtype=object)
    for group in cells.groupby(["ranks", PATH], sort=False).indices.values():
        places = np.asarray(group)
        mine = places[~mixed[places] & (low[places] > 0)]
        state[mine] = names_of_classes(np.sqrt(low[mine] * high[mine]))
        for place in places[mixed[places]] if mine.size else ():  # is set aside beside those that it began like
            state[place] = state[mine[np.abs(np.log(low[mine] / low[place])).argmin()]]
    status = cells["status"].where(~mixed | (cells["status"] != OK), CHANGED)
    return cells.assign(status=status, state=state)


def names_of_classes(trips: NDArray[np.float64]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, `77ns`; empty where all are of one."""
    order = np.argsort(trips, kind="stable")
    ordered = trips[order]
    names = np.full(len(trips), "", dtype=object)
    ends = np.flatnonzero(ordered[1:] > SAME * ordered[:-1]) + 1
    for mine in np.split(order, ends) if ends.size else ():
        names[mine] = f"{np.median(trips[mine]) * NANOSECONDS:.0f}ns"
    return names


def states_line(cells: pd.DataFrame) -> str:
    """Says in which states of the machine cells of `with_states` were measured; empty where it is one."""
    named = cells[cells[STATE] != ""]
    if named.empty:
        return ""
    states = sorted(set(named[STATE]), key=lambda name: float(name.removesuffix("ns")))
    what = LINE if (named[PATH] == LINE).all() else MESSAGE
    count = {2: "two", 3: "three"}.get(len(states), str(len(states)))
    numbers = " and ".join([", ".join(one.removesuffix("ns") for one in states[:-1]), states[-1].removesuffix("ns")])
    return f"measured in {count} states of the machine ({what} {numbers} ns)"
