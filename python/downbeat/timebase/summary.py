"""A few lines about a time base: how far the hosts' realtime clocks are apart, and how well that is known."""

from __future__ import annotations

from downbeat.timebase.convert import Timebase

CLOCK = "realtime"


def render(base: Timebase) -> list[str]:
    """Returns a table of the realtime clocks against the axis: offset at the first and last sample, rate, bounds."""
    head = f"{'host':24}{'first':>14}{'last':>14}{'rate':>10}{'bound':>10}{'expected':>10}{'samples':>9}"
    lines = [head, f"{'':24}{'us':>14}{'us':>14}{'ppm':>10}{'us':>10}{'us':>10}"]
    for host, rank in base.ranks.items():
        samples = base.recorded.samples[rank]
        first, last = (samples[place].clocks[CLOCK] for place in (0, -1))
        rate = (last.offset_ns - first.offset_ns) / (last.clock_ns - first.clock_ns)
        bound = max(sample.clocks[CLOCK].bound_ns for sample in samples)
        error = max(sample.clocks[CLOCK].expected_error_ns for sample in samples)
        lines.append(
            f"{host:24}{first.offset_ns / 1e3:>14.3f}{last.offset_ns / 1e3:>14.3f}{rate * 1e6:>10.3f}"
            f"{bound / 1e3:>10.3f}{error / 1e3:>10.3f}{len(samples):>9}"
        )
    lines.append(f"axis minus realtime clock; the axis is that of {base.recorded.head.reference['host']} at the start")
    return lines
