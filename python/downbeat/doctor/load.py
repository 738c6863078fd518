"""Load: what else runs interrupts ranks."""

from __future__ import annotations

from downbeat.base.text import counted
from downbeat.doctor.machine import Finding, Machine

# Below this share of a processor it is what a system does by itself.
QUIET = 0.1


def check(machine: Machine, ranks: int) -> list[Finding]:
    """Compares the processes that were ready to run, mean over a minute, with the processors that ranks leave free."""
    words = (machine.process("loadavg") or "").split()
    if not words:
        return [Finding("load", "the load of the system is unknown", "notice", "look for other programs with top")]
    load, processors = float(words[0]), len(machine.online)
    seen = f"load {load:.2f} on {counted(processors, 'processor')}"
    if load <= QUIET * processors:
        return [Finding("load", seen, "good")]
    if load + ranks > processors:
        advice = "other processes take time from the ranks; wait until they are done, or end them (top shows them)"
        return [Finding("load", seen, "problem", advice)]
    advice = "there is room for the ranks, but memory and caches are shared; measure when the machine is idle"
    return [Finding("load", seen, "notice", advice)]
