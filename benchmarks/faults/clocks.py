"""Clocks that are wrong: stepped, slewed, frozen, going backwards."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.failing import with_failing
from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Site
from benchmarks.faults.stops import failure_of, figures_of, judge_starts, with_timeout

PERIOD = 0.1  # s, between faults


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a clock.

    Attributes:
        clock: the kernel's, and the library's.
        kinds: as fault-clock takes them, in turns.
        alone: whether one process has it, as on a host of its own; else all, as on one host.
        variables: more settings of the library.
    """

    clock: str
    kinds: tuple[str, ...]
    alone: bool = False
    variables: tuple[tuple[str, str], ...] = ()


def wrong_clock(fault: Fault, site: Site, tries: int) -> Iterator[Outcome]:
    """Makes harmonized starts while a clock is wrong again and again."""
    each = max(1, tries // len(fault.kinds))
    for kind in fault.kinds:
        seconds = each * PERIOD
        variables = {
            "DOWNBEAT_CLOCK": fault.clock,
            "FAULT_CLOCK": f"{fault.clock}:{kind}:{PERIOD}",
            "DOWNBEAT_SHARE": "never" if fault.alone else "verified",
            "FAULT_RANK": "1" if fault.alone else None,
            **dict(fault.variables),
        }
        command = with_timeout(site.launch("fault-starts", "starts", 1 << 40, seconds), seconds + 30)
        ended = site.run(with_failing(site, command, "fault-starts", "fault-clock.so"), variables, seconds=seconds + 45)
        figures = figures_of(ended)
        if figures:
            yield from judge_starts(figures, each)
        else:
            yield Outcome("failed", each, f"{kind}: {failure_of(ended)}")


def unstable_tsc(site: Site, tries: int) -> Iterator[Outcome]:  # noqa: ARG001
    """Has the kernel withdraw the TSC, where that can be done."""
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    found = source.read_text(encoding="ascii").strip() if source.exists() else "unknown"
    raise NotPossibleError(f"no kernel withdraws the TSC on request; the clock source here is {found}")
    yield


def row(name: str, fault: str, how: Fault, quick: int = 0) -> Row:
    """Returns a row of these."""
    promise = "no hang; if all flags are 1 and all first stamps are in time, the start was common"
    return Row(name, fault, promise, functools.partial(wrong_clock, how), 100, quick)


ROWS = (
    row(
        "clock-stepped",
        "`realtime` stepped by 1 ms and 8 s, forwards and backwards, on all processes of a host",
        Fault("realtime", ("step:1e-3", "step:-1e-3", "step:8", "step:-8")),
        8,
    ),
    row(
        "clock-leap-second", "`realtime` repeats a second, on all processes of a host", Fault("realtime", ("step:-1",))
    ),
    row(
        "clock-slewed",
        "`monotonic` slewed by 500 ppm on one host, with `DOWNBEAT_MAX_SKEW=1e-3`",
        Fault("monotonic", ("slew:500e-6",), True, (("DOWNBEAT_MAX_SKEW", "1e-3"),)),
        4,
    ),
    row(
        "clock-frozen",
        "`monotonic` stands still for 1 and 20 ms, on all processes of a host",
        Fault("monotonic", ("freeze:1e-3", "freeze:20e-3")),
    ),
    row(
        "clock-backwards",
        "`monotonic` goes back by 1 us and 1 ms, on all processes of a host",
        Fault("monotonic", ("step:-1e-6", "step:-1e-3")),
    ),
    Row("clock-withdrawn", "the kernel finds the TSC unstable", "as clock-stepped", unstable_tsc, 100, 0),
)
