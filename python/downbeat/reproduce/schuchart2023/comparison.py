"""What nearly all figures compare: two synchronizers, by the mean latency as OSU reports it."""

from __future__ import annotations

LATENCY = "latency_avg_median"
HARMONIZE, BARRIER = "harmonize", "mpi_barrier"
