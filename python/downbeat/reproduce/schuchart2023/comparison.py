"""The comparison of nearly all figures: two synchronizers, by the mean latency that OSU reports."""

from __future__ import annotations

LATENCY = "latency_avg_median"
HARMONIZE, BARRIER = "harmonize", "mpi_barrier"
