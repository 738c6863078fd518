"""Virtualization: a hypervisor may take a processor away at any moment, and the clocks run on."""

from __future__ import annotations

from downbeat.doctor.machine import Finding, Machine

STEAL_COLUMN = 7  # of the line "cpu" in /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice
TIME_COLUMNS = 8  # guest time is part of user time
MUCH_STEAL = 0.001  # of all processor time since start


def check(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for a hypervisor, and for the processor time that it has stolen since start."""
    steal = stolen(machine)
    share = f"; {steal:.2%} of the processors' time since start went to others" if steal else ""
    if steal and steal > MUCH_STEAL:
        advice = "the host is overcommitted; use a machine of your own, or one that is not shared"
        return [Finding("virtualization", f"virtual machine{by(machine)}{share}", "problem", advice)]
    if "hypervisor" in machine.flags or machine.system("hypervisor/type"):
        advice = "its interruptions show only as noise; trust medians, not maxima, and repeat launches"
        return [Finding("virtualization", f"virtual machine{by(machine)}{share}", "notice", advice)]
    return [Finding("virtualization", "no hypervisor", "good")]


def by(machine: Machine) -> str:
    """Returns the names of vendor and product."""
    words = [machine.system(f"class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    named = " ".join(word for word in words if word) or machine.system("hypervisor/type")
    return f" ({named})" if named else ""


def stolen(machine: Machine) -> float | None:
    """Returns the share of processor time that a hypervisor gave to others; None where the kernel does not say."""
    for line in (machine.process("stat") or "").splitlines():
        words = line.split()
        if words[0] == "cpu" and len(words) > STEAL_COLUMN + 1:
            times = [int(word) for word in words[1 : TIME_COLUMNS + 1]]
            return times[STEAL_COLUMN] / sum(times) if sum(times) else None
    return None
