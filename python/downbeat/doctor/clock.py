"""The clock: whether the processor's counter runs evenly, and whether the kernel trusts it."""

from __future__ import annotations

from downbeat.doctor.machine import Finding, Machine

INVARIANT = ("constant_tsc", "nonstop_tsc")  # its rate does not follow the frequency, and it runs on in idle states
SOURCES = "devices/system/clocksource/clocksource0"
ADVICE = "let Downbeat read the kernel's clock instead: DOWNBEAT_CLOCK=monotonic_raw"


def check(machine: Machine, ranks: int) -> list[Finding]:  # noqa: ARG001
    """Checks the flags of the time stamp counter and the clock source of the kernel."""
    source = machine.system(f"{SOURCES}/current_clocksource") or "unknown"
    available = (machine.system(f"{SOURCES}/available_clocksource") or "").split()
    findings = []
    if machine.flags:  # x86
        lacking = [flag for flag in INVARIANT if flag not in machine.flags]
        if lacking:
            seen = f"the time stamp counter is not invariant (no {', '.join(lacking)})"
            findings.append(Finding("clock", seen, "problem", ADVICE))
        elif "tsc" not in available and available:
            seen = f"the kernel does not trust the time stamp counter; its clock source is {source}"
            findings.append(Finding("clock", seen, "problem", ADVICE))
        else:
            findings.append(Finding("clock", "the time stamp counter is invariant", "good"))
    if source == "unknown":
        findings.append(
            Finding(
                "clock", "the clock source of the kernel is unknown", "notice", "look for it in dmesg | grep -i clock"
            )
        )
    elif source in ("hpet", "acpi_pm", "jiffies", "refined-jiffies"):
        seen = f"the kernel's clock source is {source}"
        advice = "reading it takes a microsecond; if the counter is invariant, boot with clocksource=tsc"
        findings.append(Finding("clock", seen, "problem", advice))
    else:
        findings.append(Finding("clock", f"the kernel's clock source is {source}", "good"))
    return findings
