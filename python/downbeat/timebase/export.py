"""Time bases in formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from downbeat.base.files import replacing
from downbeat.errors import DownbeatError
from downbeat.timebase.convert import Timebase
from downbeat.timebase.file import CLOCKS, Reading, Sample

# Name, unit, what it is, and its value in seconds or as a ratio.
METRICS: tuple[tuple[str, str, str, Callable[[Reading], float | None]], ...] = (
    ("offset", "seconds", "The axis minus the clock", lambda one: one.offset_ns * 1e-9),
    ("rate", "ratio", "By how much faster the axis is than the clock", lambda one: one.rate),
    ("bound", "seconds", "Largest possible error of the offset", lambda one: one.bound_ns * 1e-9),
    ("expected_error", "seconds", "Standard deviation of that error", lambda one: one.expected_error_ns * 1e-9),
)
# Perfetto's numbers of clocks: the axis takes the place of its own trace time. Those of hosts are of the kind that is
# global to a trace: multiples of 128.
PERFETTO_BOOTTIME = 6
PERFETTO_GLOBAL = 128


def write_openmetrics(base: Timebase, path: Path) -> None:
    """Writes all samples as OpenMetrics text, which Prometheus takes (promtool tsdb create-blocks-from openmetrics)."""
    with replacing(path) as file:
        for name, unit, meaning, value in METRICS:
            family = f"downbeat_clock_{name}_{unit}"
            file.write(f"# TYPE {family} gauge\n# UNIT {family} {unit}\n# HELP {family} {meaning}.\n")
            for host, clock, samples in series(base):
                label = host.replace("\\", "\\\\").replace('"', '\\"')
                for sample in samples:
                    number = value(sample.clocks[clock])
                    if number is not None:
                        time = f"{sample.axis_ns // 10**9}.{sample.axis_ns % 10**9:09d}"
                        file.write(f'{family}{{host="{label}",clock="{clock}"}} {number!r} {time}\n')
        file.write("# EOF\n")


def series(base: Timebase) -> Iterator[tuple[str, str, list[Sample]]]:
    """Yields the samples of each clock of each host."""
    for host, rank in base.ranks.items():
        for clock in CLOCKS:
            yield host, clock, base.recorded.samples[rank]


def perfetto_clock(place: int, clock: str) -> int:
    """Returns Perfetto's number of a clock of the host at a place in the order of the file, from 0."""
    return PERFETTO_GLOBAL * (1 + len(CLOCKS) * place + CLOCKS.index(clock))


def write_perfetto(base: Timebase, path: Path) -> None:
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
    for place, rank in enumerate(base.ranks.values()):
        for sample in base.recorded.samples[rank]:
            for clock in CLOCKS:
                reading = sample.clocks[clock]
                snapshot = trace.packet.add().clock_snapshot
                snapshot.primary_trace_clock = PERFETTO_BOOTTIME
                for number, time in (
                    (PERFETTO_BOOTTIME, reading.clock_ns + reading.offset_ns),
                    (perfetto_clock(place, clock), reading.clock_ns),
                ):
                    one = snapshot.clocks.add()
                    one.clock_id, one.timestamp = number, time
    with replacing(path, binary=True) as file:
        file.write(trace.SerializeToString())


WRITERS = {"openmetrics": write_openmetrics, "perfetto": write_perfetto}
