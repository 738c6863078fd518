"""Frequency scaling: a core that changes its speed changes what is measured, and is slow after it was idle."""

from __future__ import annotations

from downbeat.doctor.machine import Finding, Machine

CPUS = "devices/system/cpu"
SLOW_WAKE_US = 10


def check(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks governor, boost and idle states of the processors that may be used."""
    return [governor(machine), *boost(machine), *idle(machine)]


def governor(machine: Machine) -> Finding:
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


def boost(machine: Machine) -> list[Finding]:
    """Checks whether cores may run above their nominal frequency."""
    no_turbo, boosted = machine.system(f"{CPUS}/intel_pstate/no_turbo"), machine.system(f"{CPUS}/cpufreq/boost")
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


def idle(machine: Machine) -> list[Finding]:
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
    if slowest <= SLOW_WAKE_US:
        return []
    advice = (
        "matters where ranks sleep while they wait (more ranks than cores, wait modes, networks with interrupts): "
        "as root, cpupower idle-set -D 10"
    )
    return [Finding("frequency", f"idle state {name} takes {slowest} us to leave", "notice", advice)]
