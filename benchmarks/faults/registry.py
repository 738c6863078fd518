"""The rows of the fault table, in its order."""

from __future__ import annotations

from benchmarks.faults import (
    clocks,
    communicators,
    deaths,
    failing,
    hosts,
    launchers,
    operations,
    processors,
    stops,
    surroundings,
)

ROWS = (
    *stops.ROWS,
    *processors.ROWS,
    *deaths.ROWS,
    *hosts.ROWS,
    *clocks.ROWS,
    *surroundings.ROWS,
    *launchers.ROWS,
    *failing.ROWS,
    *operations.ROWS,
    *communicators.ROWS,
)
