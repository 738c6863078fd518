"""How long launches take."""

from __future__ import annotations

import math

LAUNCH_START_SECONDS = 0.8  # of a launch, before and after it measures
RANK_START_SECONDS = 4e-3  # and of each rank; launchers start ranks of a node one after another
# Per sample with its share of warm-up and synchronization; the slowest operations take time for each peer.
SAMPLE_SECONDS = 60e-6
PEER_SECONDS = 1e-6
PATIENCE = 10  # times the estimate, for a busy machine
LEAST_LIMIT = 600.0  # s; a user's own operation may take long


def start_seconds(ranks: int) -> float:
    """The time that a launch takes in addition to measuring."""
    return LAUNCH_START_SECONDS + RANK_START_SECONDS * ranks


def sample_seconds(ranks: int) -> float:
    """The time of a sample on ranks with a core each."""
    return SAMPLE_SECONDS + PEER_SECONDS * ranks


def time_limit(seconds: float) -> float:
    """The seconds after which a launch that should take some counts as hung, by default."""
    return max(LEAST_LIMIT, math.ceil(PATIENCE * seconds))
