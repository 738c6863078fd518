"""The rows of the fault table, in its order."""

from __future__ import annotations

from benchmarks.faults import deaths, launchers, operations, processors, stops, surroundings

ROWS = (*stops.ROWS, *processors.ROWS, *deaths.ROWS, *operations.ROWS, *surroundings.ROWS, *launchers.ROWS)
