"""Statistics of a communicator: its starts and its clock."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, get_type_hints


class Stats(NamedTuple):
    """Statistics of a communicator since it was prepared; the counts are of this process if nothing else is said.

    Attributes:
        calls: harmonized starts; the same on all processes.
        late_arrivals: flag False: the deadline had passed when this process received it.
        late_exits: flag False: left later than the tolerance, the wait was interrupted.
        unsure_clocks: flag False: late or not, the clock's expected error was too large, or it was refuted.
        contradictions: times that this process's clock did what max_skew and max_wander exclude.
        unflagged_exits: flag True, but left later than the tolerance: only with slack=published.
        invalid_calls: calls in which any process's flag was False, without the last call; the same on all processes.
        syncs: clock synchronizations.
        sync_seconds: time spent in clock synchronizations, s.
        sync_share: the same as a share of the time since the communicator was prepared.
        sync_messages: messages that this process sent or received for them, without collective operations.
        slack: from the decision of process 0 to the deadline, last call, s; the same on all processes.
        lag: from the decision to the moment this process was ready, last call, s.
        error_bound: how far this process's global clock can be from process 0's now, s.
        expected_error: how far it is likely to be, one standard deviation, s.
        sync_error: the same directly after the last synchronization, without what no exchange shows, s: while it is
        flag_error: larger than this, s, flags are False here.
        tolerance: in force, s; it changes with the setting tolerance=auto.
        clock_domains: groups of processes verified to share a clock; one of each is synchronized.
        oversubscribed: a node has more processes than processors.
    """

    calls: int
    late_arrivals: int
    late_exits: int
    unsure_clocks: int
    contradictions: int
    unflagged_exits: int
    invalid_calls: int
    syncs: int
    sync_seconds: float
    sync_share: float
    sync_messages: int
    slack: float
    lag: float
    error_bound: float
    expected_error: float
    sync_error: float
    flag_error: float
    tolerance: float
    clock_domains: int
    oversubscribed: bool


C_TYPES: dict[type, Any] = {int: ctypes.c_longlong, float: ctypes.c_double, bool: ctypes.c_int}


class CStats(ctypes.Structure):
    """MPIX_Harmonize_stats of mpix_harmonize.h."""

    _fields_ = [
        (name, ctypes.c_int if name == "clock_domains" else C_TYPES[kind])
        for name, kind in get_type_hints(Stats).items()
    ]


def from_c(found: CStats) -> Stats:
    """Returns statistics as Python has them."""
    values = {name: getattr(found, name) for name in Stats._fields}
    return Stats(**{**values, "oversubscribed": bool(found.oversubscribed)})
