"""The rows of the fault table, in its order."""

from __future__ import annotations

from benchmarks.faults import communicators, deaths, failing, launchers, operations, processors, stops, surroundings

ROWS = (
    *stops.ROWS,
    *processors.ROWS,
    *deaths.ROWS,
    *surroundings.ROWS,
    *launchers.ROWS,
    *failing.ROWS,
    *operations.ROWS,
    *communicators.ROWS,
)
