"""Checks of `downbeat doctor`: reads the state of the machine before a measurement, and judges it.

Each check returns findings (downbeat/run/machine.py): an observation, its severity and advice. The checks stand in
display order; all of them have the parameters of `Check`, and some do not use `ranks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from downbeat.run.machine import Finding, Machine, check_variables, parse_cpus
from downbeat.text import counted, listed


def check_cores(machine: Machine, ranks: int) -> list[Finding]:
    """Compares cores and hardware threads with the number of ranks."""
    cores, threads = len(machine.cores), len(machine.allowed)
    with_threads = f" with {counted(threads, 'hardware thread')}" if threads > cores else ""
    seen = f"{counted(cores, 'core')}{with_threads} for {counted(ranks, 'rank')}"
    if ranks > threads:
        advice = f"ranks wait for the scheduler, milliseconds at a time; use at most {counted(cores, 'rank')}"
        return [Finding("cores", seen, "problem", advice)]
    if ranks > cores:
        advice = f"ranks share cores and slow each other down; use at most {counted(cores, 'rank')}, or report it"
        return [Finding("cores", seen, "problem", advice)]
    return [Finding("cores", seen, "good")]


def check_limits(machine: Machine, ranks: int) -> list[Finding]:
    """Checks CPU affinity and the CPU quotas of control groups, which stop processes for milliseconds."""
    findings = []
    if machine.online - machine.allowed:
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
    """The smallest CPU quota of this process's control groups, in processors; None without a quota."""
    quotas = []
    for line in (machine.process("self/cgroup") or "").splitlines():
        # hierarchy:controllers:path (cgroups(7)); missing fields become "".
        hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        version_2 = hierarchy == "0" and not controllers
        if not version_2 and "cpu" not in controllers.split(","):
            continue
        # The group and its ancestors. In a container the path may be the host's, and only the root exists.
        names = [name for name in path.split("/") if name]
        for depth in range(len(names), -1, -1):
            group = "/".join(names[:depth])
            quota = unified_quota(machine, group) if version_2 else legacy_quota(machine, group)
            if quota is not None:
                quotas.append(quota)
    return min(quotas, default=None)


def unified_quota(machine: Machine, group: str) -> float | None:
    """The quota of a cgroup v2 group in processors, from "quota period" in us; None for "max period"."""
    words = (machine.system(f"fs/cgroup/{group}/cpu.max") or "max").split()
    return None if words[0] == "max" else float(words[0]) / float(words[1])


def legacy_quota(machine: Machine, group: str) -> float | None:
    """The quota of a cgroup v1 group in processors; None without a quota, which the kernel writes as -1."""
    quota = machine.system(f"fs/cgroup/cpu/{group}/cpu.cfs_quota_us")
    period = machine.system(f"fs/cgroup/cpu/{group}/cpu.cfs_period_us")
    return float(quota) / float(period) if quota and period and float(quota) > 0 else None


QUIET = 0.1  # load per processor that the system causes by itself


def check_load(machine: Machine, ranks: int) -> list[Finding]:
    """Compares the load average over one minute with the processors that ranks leave free."""
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


# Flags of an invariant time stamp counter: it counts at a constant rate, and continues in idle states.
INVARIANT = ("constant_tsc", "nonstop_tsc")
CLOCK_SOURCES = "devices/system/clocksource/clocksource0"  # below /sys
CLOCK_ADVICE = "let Downbeat read the kernel's clock instead: DOWNBEAT_CLOCK=monotonic_raw"


def check_clock(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks the flags of the time stamp counter and the clock source of the kernel."""
    source = machine.system(f"{CLOCK_SOURCES}/current_clocksource") or "unknown"
    available = (machine.system(f"{CLOCK_SOURCES}/available_clocksource") or "").split()
    findings = []
    if machine.flags:  # x86
        lacking = [flag for flag in INVARIANT if flag not in machine.flags]
        if lacking:
            seen = f"the time stamp counter is not invariant (no {', '.join(lacking)})"
            findings.append(Finding("clock", seen, "problem", CLOCK_ADVICE))
        elif "tsc" not in available and available:
            seen = f"the kernel does not trust the time stamp counter; its clock source is {source}"
            findings.append(Finding("clock", seen, "problem", CLOCK_ADVICE))
        else:
            findings.append(Finding("clock", "the time stamp counter is invariant", "good"))
    if source == "unknown":
        seen = "the clock source of the kernel is unknown"
        findings.append(Finding("clock", seen, "notice", "look for it in dmesg | grep -i clock"))
    elif source in ("hpet", "acpi_pm", "jiffies", "refined-jiffies"):
        seen = f"the kernel's clock source is {source}"
        advice = "reading it takes a microsecond; if the counter is invariant, boot with clocksource=tsc"
        findings.append(Finding("clock", seen, "problem", advice))
    else:
        findings.append(Finding("clock", f"the kernel's clock source is {source}", "good"))
    return findings


CPUS = "devices/system/cpu"  # below /sys
MAX_WAKE_US = 10  # exit latency of an idle state; a longer one delays a rank that slept by more than a small collective


def check_frequency(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks governor, boost and idle states of the processors that may be used."""
    return [check_governor(machine), *check_boost(machine), *check_idle(machine)]


def check_governor(machine: Machine) -> Finding:
    """Checks the frequency governor."""
    governors = machine.governors(machine.allowed)
    if not governors:
        seen = "the frequency governor is unknown"
        advice = "in a virtual machine the host sets the frequency; on the host, cpupower frequency-set -g performance"
        return Finding("frequency", seen, "notice", advice)
    if governors == "performance":
        return Finding("frequency", "governor performance", "good")
    advice = "the speed of a core follows its load; as root, cpupower frequency-set -g performance"
    return Finding("frequency", f"governor {governors}", "problem", advice)


def check_boost(machine: Machine) -> list[Finding]:
    """Checks whether cores may run above their nominal frequency."""
    no_turbo = machine.system(f"{CPUS}/intel_pstate/no_turbo")  # Intel: 0 means that boost is on
    boosted = machine.system(f"{CPUS}/cpufreq/boost")  # other drivers: 1 means that boost is on
    if no_turbo == "1" or boosted == "0":
        return [Finding("frequency", "boost is off", "good")]
    if no_turbo == "0" or boosted == "1":
        where = "intel_pstate/no_turbo" if no_turbo == "0" else "cpufreq/boost"
        advice = (
            "the speed of a core then depends on the other cores and on heat; switch it off for repeatable figures "
            f"(/sys/{CPUS}/{where}), leave it on for what users will see"
        )
        return [Finding("frequency", "boost is on", "notice", advice)]
    return []


def check_idle(machine: Machine) -> list[Finding]:
    """Checks the exit latency of the deepest idle state."""
    slowest, name = 0, ""
    for cpu in sorted(machine.allowed):
        state = 0
        while (latency := machine.system(f"{CPUS}/cpu{cpu}/cpuidle/state{state}/latency")) is not None:
            disabled = machine.system(f"{CPUS}/cpu{cpu}/cpuidle/state{state}/disable") == "1"
            if not disabled and latency.isdigit() and int(latency) > slowest:
                slowest = int(latency)
                name = machine.system(f"{CPUS}/cpu{cpu}/cpuidle/state{state}/name") or f"state{state}"
            state += 1
    if slowest <= MAX_WAKE_US:
        return []
    advice = (
        "matters where ranks sleep while they wait (more ranks than cores, wait modes, networks with interrupts): "
        "as root, cpupower idle-set -D 10"
    )
    return [Finding("frequency", f"idle state {name} takes {slowest} us to leave", "notice", advice)]


STEAL_COLUMN = 7  # of the line "cpu" in /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice
TIME_COLUMNS = 8  # guest time is part of user time
MAX_STEAL = 0.001  # of all processor time since start; with more, the host has fewer processors than its guests use


def check_virtualization(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks for a hypervisor and for steal time since boot."""
    steal = stolen(machine)
    share = f"; {steal:.2%} of the processors' time since start went to others" if steal else ""
    if steal and steal > MAX_STEAL:
        advice = "the host is overcommitted; use a machine of your own, or one that is not shared"
        return [Finding("virtualization", f"virtual machine{hypervisor(machine)}{share}", "problem", advice)]
    if "hypervisor" in machine.flags or machine.system("hypervisor/type"):
        advice = "its interruptions show only as noise; trust medians, not maxima, and repeat launches"
        return [Finding("virtualization", f"virtual machine{hypervisor(machine)}{share}", "notice", advice)]
    return [Finding("virtualization", "no hypervisor", "good")]


def hypervisor(machine: Machine) -> str:
    """Vendor and product of the virtual machine, in parentheses; "" if unknown."""
    words = [machine.system(f"class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    name = " ".join(word for word in words if word) or machine.system("hypervisor/type")
    return f" ({name})" if name else ""


def stolen(machine: Machine) -> float | None:
    """The steal time since boot as a share of processor time; None if the kernel does not report it."""
    for line in (machine.process("stat") or "").splitlines():
        words = line.split()
        if words[0] == "cpu" and len(words) > STEAL_COLUMN + 1:
            times = [int(word) for word in words[1 : TIME_COLUMNS + 1]]
            return times[STEAL_COLUMN] / sum(times) if sum(times) else None
    return None


MIN_AVAILABLE = 0.1  # of all memory; with less, the kernel swaps pages out


def check_memory(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks free memory, swap, and whether the kernel moves pages between NUMA nodes."""
    sizes = {
        name: int(kilobytes) * 1024
        for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", machine.process("meminfo") or "", re.MULTILINE)
    }
    findings = []
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if total and available is not None:
        seen = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB of memory are available"
        swapped = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
        if available < MIN_AVAILABLE * total:
            seen += f", {swapped / 2**30:.1f} GiB are swapped out" if swapped else ""
            advice = "pages go to disk and come back while ranks wait; free some"
            findings.append(Finding("memory", seen, "problem", advice))
        else:
            findings.append(Finding("memory", seen, "good"))
    nodes = parse_cpus(machine.system("devices/system/node/online") or "0")
    if len(nodes) > 1 and machine.process("sys/kernel/numa_balancing") not in (None, "0"):
        advice = "it unmaps pages to find their users, which interrupts ranks; as root, sysctl kernel.numa_balancing=0"
        findings.append(Finding("memory", f"NUMA balancing is on, over {len(nodes)} nodes", "notice", advice))
    return findings


# Check -> measurements that its problems spoil. Problems of other checks spoil all measurements.
SPOILED = {
    **dict.fromkeys(("load", "virtualization", "memory", "noise"), "tails"),
    "states": "comparisons across states",
    "frequency": "comparisons across launches",
    "libraries": "the libraries that do not start",
}


def fitness(findings: Sequence[Finding]) -> str:
    """One line: the measurements that the machine is fit for, and the checks whose problems spoil others of them."""
    verdicts = {
        check: [finding.verdict for finding in findings if finding.check == check]
        for check in (finding.check for finding in findings)
    }
    spoiled: dict[str, list[str]] = {}  # measurement, "" for all -> checks whose problems spoil it
    for check, severities in verdicts.items():
        # Noise spoils percentiles above the median even if it is only a notice.
        if "problem" in severities or (check == "noise" and "notice" in severities):
            spoiled.setdefault(SPOILED.get(check, ""), []).append(check)
    if "" in spoiled:
        return f"not fit: {listed(spoiled[''])}"
    fit = "fit for medians"
    if "noise" in verdicts and "tails" not in spoiled:
        fit += " and tails"
    if SPOILED["states"] in spoiled:
        fit += " within a state"
    clauses = [fit, *(f"not for {what}: {listed(names)}" for what, names in spoiled.items())]
    # These two checks need a measurement: without it they have no finding, or only a notice.
    unmeasured = [name for name in ("noise", "states") if set(verdicts.get(name, ["notice"])) == {"notice"}]
    unmeasured = [name for name in unmeasured if name not in spoiled.get("tails", [])]
    if unmeasured:
        clauses.append(f"not known: {listed(unmeasured)}")
    return "; ".join(clauses)


Check = Callable[[Machine, int], list[Finding]]  # arguments: the machine, the planned number of ranks
CHECKS: tuple[Check, ...] = (
    check_cores,
    check_limits,
    check_load,
    check_clock,
    check_frequency,
    check_virtualization,
    check_memory,
    check_variables,
)


def examine(ranks: int, machine: Machine | None = None) -> list[Finding]:
    """Checks a machine without starting anything; takes milliseconds.

    Args:
        ranks: planned number of ranks.
        machine: by default the one this process runs on.

    Returns:
        The findings, in the order of `CHECKS`.
    """
    machine = machine or Machine()
    return [finding for check in CHECKS for finding in check(machine, ranks)]
