"""Limits on processor time: what a batch system or a container lets this process have of the machine."""

from __future__ import annotations

from downbeat.base.text import counted
from downbeat.doctor.machine import Finding, Machine


def check(machine: Machine, ranks: int) -> list[Finding]:
    """Checks affinity, and the quota of control groups, by which the kernel stops processes for milliseconds."""
    findings = []
    left_out = len(machine.online - machine.allowed)
    if left_out:
        seen = f"{len(machine.allowed)} of {counted(len(machine.online), 'processor')} may be used here"
        advice = "fine if a batch system reserves them; else programs on the others disturb"
        findings.append(Finding("limits", seen, "notice", advice))
    quota = smallest_quota(machine)
    if quota is None:
        if not findings:
            findings.append(Finding("limits", "all processors may be used, without a quota of time", "good"))
        return findings
    seen = f"a control group limits all its processes together to the time of {quota:g} processors"
    if quota < ranks:
        advice = f"{counted(ranks, 'rank')} will be stopped for milliseconds in every period; lift the quota (cpu.max)"
        findings.append(Finding("limits", seen, "problem", advice))
    else:
        advice = (
            "waiting ranks use all their time, and the launcher needs some too; lift the quota (cpu.max) if you can"
        )
        findings.append(Finding("limits", seen, "notice", advice))
    return findings


def smallest_quota(machine: Machine) -> float | None:
    """Returns the processors whose time the control groups of this process grant it; None: there is no limit."""
    quotas = []
    for line in (machine.process("self/cgroup") or "").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        version_2 = number == "0" and not controllers
        if not version_2 and "cpu" not in controllers.split(","):
            continue
        # The group itself and all above it; in a container the path may be one of the host, and only the root is there.
        names = [name for name in path.split("/") if name]
        for depth in range(len(names), -1, -1):
            below = "/".join(names[:depth])
            quota = unified(machine, below) if version_2 else legacy(machine, below)
            quotas += [quota] if quota is not None else []
    return min(quotas, default=None)


def unified(machine: Machine, group: str) -> float | None:
    """Returns the quota of a group of version 2, "quota period" in us, or "max period"."""
    words = (machine.system(f"fs/cgroup/{group}/cpu.max") or "max").split()
    return None if words[0] == "max" else float(words[0]) / float(words[1])


def legacy(machine: Machine, group: str) -> float | None:
    """Returns the quota of a group of version 1, -1 where there is none."""
    quota = machine.system(f"fs/cgroup/cpu/{group}/cpu.cfs_quota_us")
    period = machine.system(f"fs/cgroup/cpu/{group}/cpu.cfs_period_us")
    return float(quota) / float(period) if quota and period and float(quota) > 0 else None
