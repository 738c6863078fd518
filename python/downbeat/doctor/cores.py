"""Cores against ranks: a rank without a core of its own waits for the scheduler, far longer than for any message."""

from __future__ import annotations

from downbeat.base.text import counted
from downbeat.doctor.machine import Finding, Machine


def check(machine: Machine, ranks: int) -> list[Finding]:
    """Compares cores and hardware threads with the number of ranks."""
    cores, threads = len(machine.cores), len(machine.allowed)
    has = counted(cores, "core") + (f" with {counted(threads, 'hardware thread')}" if threads > cores else "")
    seen = f"{has} for {counted(ranks, 'rank')}"
    if ranks > threads:
        return [
            Finding(
                "cores",
                seen,
                "problem",
                f"ranks wait for the scheduler, milliseconds at a time; use at most {counted(cores, 'rank')}",
            )
        ]
    if ranks > cores:
        advice = f"ranks share cores and slow each other down; use at most {counted(cores, 'rank')}, or report it"
        return [Finding("cores", seen, "problem", advice)]
    return [Finding("cores", seen, "good")]
