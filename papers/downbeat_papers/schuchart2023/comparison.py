"""The comparison of nearly all figures: two synchronizers, by the mean latency that OSU reports (section 2)."""

from __future__ import annotations

LATENCY = "mean_of_means"  # the paper's t_avg: mean over ranks of each rank's mean over calls
MEDIAN = "latency_avg_median"  # beside it: median over calls of the mean over ranks, which no single call moves
HARMONIZE, BARRIER = "harmonize", "mpi_barrier"
