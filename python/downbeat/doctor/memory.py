"""Memory: a rank is late if it waits for the disk, or for a page that moves to another node."""

from __future__ import annotations

import re

from downbeat.doctor.machine import Finding, Machine, parse_cpus

LITTLE = 0.1  # of all memory


def check(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks free memory, swap, and whether the kernel moves pages between nodes."""
    sizes = {
        name: int(kilobytes) * 1024
        for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", machine.process("meminfo") or "", re.MULTILINE)
    }
    findings = []
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if total and available is not None:
        seen = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB of memory are available"
        swapped = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
        if available < LITTLE * total:
            seen += f", {swapped / 2**30:.1f} GiB are swapped out" if swapped else ""
            findings.append(
                Finding("memory", seen, "problem", "pages go to disk and come back while ranks wait; free some")
            )
        else:
            findings.append(Finding("memory", seen, "good"))
    nodes = parse_cpus(machine.system("devices/system/node/online") or "0")
    if len(nodes) > 1 and machine.process("sys/kernel/numa_balancing") not in (None, "0"):
        advice = "it unmaps pages to find their users, which interrupts ranks; as root, sysctl kernel.numa_balancing=0"
        findings.append(Finding("memory", f"NUMA balancing is on, over {len(nodes)} nodes", "notice", advice))
    return findings
