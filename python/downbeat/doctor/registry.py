"""The checks, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable

from downbeat.doctor import clock, cores, frequency, limits, load, memory, variables, virtualization
from downbeat.doctor.machine import Finding, Machine

Check = Callable[[Machine, int], list[Finding]]

CHECKS: tuple[Check, ...] = (
    cores.check,
    limits.check,
    load.check,
    clock.check,
    frequency.check,
    virtualization.check,
    memory.check,
    variables.check,
)


def examine(ranks: int, machine: Machine | None = None) -> list[Finding]:
    """Checks a machine without starting anything; takes milliseconds.

    Args:
        ranks: that are to run on it.
        machine: this one by default.

    Returns:
        The findings of all checks, in their order.
    """
    machine = machine or Machine()
    return [finding for check in CHECKS for finding in check(machine, ranks)]
