"""Cores against ranks: a rank without a core of its own waits for the scheduler, far longer than for any message."""

from __future__ import annotations

from downbeat.doctor.machine import Finding, Machine, count


def check(machine: Machine, ranks: int) -> list[Finding]:
    """Compares cores and hardware threads with the number of ranks."""
    cores, threads = len(machine.cores), len(machine.allowed)
    has = count(cores, "core") + (f" with {count(threads, 'hardware thread')}" if threads > cores else "")
    seen = f"{has} for {count(ranks, 'rank')}"
    if ranks > threads:
        return [
            Finding(
                "cores",
                seen,
                "problem",
                f"ranks wait for the scheduler, milliseconds at a time; use at most {count(cores, 'rank')}",
            )
        ]
    if ranks > cores:
        advice = f"ranks share cores and slow each other down; use at most {count(cores, 'rank')}, or report it"
        return [Finding("cores", seen, "problem", advice)]
    return [Finding("cores", seen, "good")]
