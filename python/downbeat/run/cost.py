"""Estimates how long a launch takes, real or simulated, and when it counts as hung."""

from __future__ import annotations

import math
from collections.abc import Sequence

START_SECONDS = 0.8  # of a launch, before and after it measures
RANK_START_SECONDS = 4e-3  # and of each rank; launchers start ranks of a node one after another
# Per sample with its share of warm-up and synchronization; the slowest operations take time for each peer.
SAMPLE_SECONDS = 60e-6
PEER_SECONDS = 1e-6
# Simulation takes processor time by messages.
MESSAGE_SECONDS = 30e-6
SIMULATED_START_SECONDS, SIMULATED_RANK_SECONDS = 1.0, 6e-3
# SMPI makes a nonblocking collective of messages from each rank to each, and looks for each among all that wait:
# measured with iallreduce and ialltoall on 32 to 128 ranks.
NONBLOCKING_SECONDS = 3.3e-8  # of a call, times ranks to the fourth power
PATIENCE = 10  # times the estimate, for a busy machine
LEAST_LIMIT = 600.0  # s; a user's own operation may take long


def start_seconds(ranks: int) -> float:
    """Returns the time that a launch takes in addition to measuring."""
    return START_SECONDS + RANK_START_SECONDS * ranks


def sample_seconds(ranks: int) -> float:
    """Returns what a sample takes on ranks with a core each."""
    return SAMPLE_SECONDS + PEER_SECONDS * ranks


def simulated_seconds(ranks: int, messages: float) -> float:
    """Returns what a launch takes that simulates so many messages."""
    return SIMULATED_START_SECONDS + SIMULATED_RANK_SECONDS * ranks + MESSAGE_SECONDS * messages


def sample_messages(ranks: int, operations: Sequence[str]) -> float:
    """Returns how many messages a sample has, roughly; in alltoall each rank sends to each."""
    trees = 2.0 * ranks * math.log2(ranks)
    return trees + (ranks**2 / 2 if any("alltoall" in one for one in operations) else 0.0)


def nonblocking_seconds(ranks: int, operations: Sequence[str]) -> float:
    """Returns what simulating a sample takes beyond that, on average over the operations."""
    slow = [one for one in operations if one.startswith(("iall", "ireduce_scatter"))]
    return NONBLOCKING_SECONDS * ranks**4 * len(slow) / len(operations)


def time_limit(operations: Sequence[str], samples: float, ranks: int, simulated: bool = False) -> float:
    """Returns after how many seconds a launch that takes so many samples counts as hung, by default."""
    if simulated:
        seconds = simulated_seconds(ranks, samples * sample_messages(ranks, operations))
        seconds += samples * nonblocking_seconds(ranks, operations)
    else:
        seconds = start_seconds(ranks) + samples * sample_seconds(ranks)
    return max(LEAST_LIMIT, math.ceil(PATIENCE * seconds))
