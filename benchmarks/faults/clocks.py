"""Clocks that are wrong: stepped, slewed, frozen, going backwards."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.failing import with_failing
from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Site
from benchmarks.faults.stops import failure_of, figures_of, judge_starts, with_timeout

PERIOD = 0.1  # s, between faults
SOURCES = Path("/sys/devices/system/clocksource/clocksource0/available_clocksource")


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


def withdrawn_tsc(site: Site, tries: int) -> Iterator[Outcome]:
    """Has the list of the kernel's clocks lose the TSC while starts are made, in a mount namespace of the launch."""
    sources = SOURCES.read_text(encoding="ascii").split() if SOURCES.exists() else []
    if "tsc" not in sources:
        raise NotPossibleError(f"the kernel here offers no TSC, but {' '.join(sources) or 'nothing'}")
    if site.run(["unshare", "-m", "true"]).status != 0:
        raise NotPossibleError("no mount namespace can be made here")
    listed = site.where / "available_clocksource"
    listed.write_text("tsc acpi_pm\n", encoding="ascii")
    seconds = 2.0 + 2 * tries * PERIOD
    command = with_timeout(site.launch("fault-starts", "prepared", 1 << 40, seconds), seconds + 30)
    mount = f"mount --make-rprivate / && mount --bind {shlex.quote(str(listed))} {SOURCES}"
    running = site.start(["unshare", "-m", "sh", "-c", f"{mount} && exec {shlex.join(map(str, command))}"])
    site.wait_for_ranks("fault-starts", 2)
    for _ in range(tries):
        for text in ("acpi_pm\n", "tsc acpi_pm\n"):
            listed.write_text(text, encoding="ascii")
            time.sleep(site.chance.uniform(0, 2 * PERIOD))
    ended = running.end(seconds + 45)
    figures = figures_of(ended)
    if not figures:
        yield Outcome("failed", tries, failure_of(ended))
        return
    found = f"{figures['on_tsc']} communicators on the TSC, {figures['others']} on another clock"
    yield Outcome("communicators on another clock", figures["others"], "" if figures["others"] else found, 0)
    yield Outcome("communicators on the TSC", figures["on_tsc"], "" if figures["on_tsc"] else found, 0)
    yield from judge_starts(figures, tries)


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
    Row(
        "clock-withdrawn",
        "the kernel's list of clocks loses the TSC, and has it again, while communicators are prepared",
        "no hang; if all flags are 1 and all first stamps are in time, the start was common",
        withdrawn_tsc,
        100,
        0,
    ),
)
