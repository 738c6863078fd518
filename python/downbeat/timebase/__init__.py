"""Time bases, the clock tables of recordings: any tool's stamps on any host's clock, moved to one axis with a bound.

    from downbeat.timebase import to_global

    moved = to_global("node7", "realtime", 1_700_000_000_123_456_789, "timebase")
    moved.ns, moved.bound_ns, moved.expected_error_ns

docs/align.md explains the numbers.
"""

from downbeat.timebase.convert import Moved, Timebase, open_timebase, to_global

__all__ = ["Moved", "Timebase", "open_timebase", "to_global"]
