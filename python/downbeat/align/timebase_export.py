"""Time bases in formats of other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from downbeat.align.timebase import Timebase
from downbeat.errors import DownbeatError
from downbeat.files import replacing
from downbeat.trace.file import SYSTEM_CLOCKS

# Name, unit, meaning; column of `Timebase.offsets`, and what it is multiplied by.
GAUGES = (
    ("offset", "seconds", "The axis minus the clock", "offset_ns", 1e-9),
    ("rate", "ratio", "By how much faster the axis is than the clock", "rate", 1.0),
    ("bound", "seconds", "Largest possible error of the offset", "bound_ns", 1e-9),
    ("expected_error", "seconds", "Standard deviation of that error", "expected_error_ns", 1e-9),
)
# Perfetto's numbers of clocks: the axis takes the place of its own trace time. Those of hosts are of the kind that is
# global to a trace: multiples of 128.
PERFETTO_BOOTTIME = 6
PERFETTO_GLOBAL = 128


def write_openmetrics(base: Timebase, path: Path) -> None:
    """Writes all samples as OpenMetrics text, which Prometheus takes (promtool tsdb create-blocks-from openmetrics)."""
    with replacing(path) as file:
        for name, unit, meaning, column, scale in GAUGES:
            family = f"downbeat_clock_{name}_{unit}"
            file.write(f"# TYPE {family} gauge\n# UNIT {family} {unit}\n# HELP {family} {meaning}.\n")
            rows: Any = base.offsets[["host", "clock", "axis_ns", column]].itertuples(index=False)
            for host, clock, axis, value in rows:
                if not np.isnan(value):
                    label = host.replace("\\", "\\\\").replace('"', '\\"')
                    time = f"{axis // 10**9}.{axis % 10**9:09d}"
                    file.write(f'{family}{{host="{label}",clock="{clock}"}} {float(value * scale)!r} {time}\n')
        file.write("# EOF\n")


def perfetto_clock(place: int, clock: str) -> int:
    """Returns Perfetto's number of a clock of the host at a place in the order of ranks, from 0."""
    return PERFETTO_GLOBAL * (1 + len(SYSTEM_CLOCKS) * place + SYSTEM_CLOCKS.index(clock))


def write_perfetto_clocks(base: Timebase, path: Path) -> None:
    """Writes the samples as clock snapshots of Perfetto: a trace that can be joined to others (cat).

    Trace time is the axis. Packets whose timestamp_clock_id is a host's clock (`perfetto_clock`) are moved by the last
    snapshot before them. Perfetto's own synchronization of machines (RemoteClockSync) has one offset for a whole trace,
    which drifts by milliseconds a minute.

    Raises:
        DownbeatError: the library for it is not there.
    """
    try:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    except ImportError as error:
        raise DownbeatError("clock snapshots need Perfetto's library; run pip install perfetto") from error
    trace = Trace()
    places = {host: place for place, host in enumerate(base.ranks)}
    row: Any
    for row in base.offsets.itertuples(index=False):
        snapshot = trace.packet.add().clock_snapshot
        snapshot.primary_trace_clock = PERFETTO_BOOTTIME
        for number, time in (
            (PERFETTO_BOOTTIME, row.clock_ns + row.offset_ns),
            (perfetto_clock(places[row.host], row.clock), row.clock_ns),
        ):
            one = snapshot.clocks.add()
            one.clock_id, one.timestamp = number, time
    with replacing(path, binary=True) as file:
        file.write(trace.SerializeToString())


CLOCK_WRITERS: dict[str, Callable[[Timebase, Path], None]] = {
    "openmetrics": write_openmetrics,
    "perfetto-clocks": write_perfetto_clocks,
}
