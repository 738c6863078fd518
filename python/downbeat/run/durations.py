"""Estimates the duration of launches on a machine, and derives their default time limit."""

from __future__ import annotations

import math

LAUNCH_START_SECONDS = 0.8  # per launch, outside the measurement
RANK_START_SECONDS = 4e-3  # per rank; launchers start the ranks of a node one after another
SAMPLE_SECONDS = 60e-6  # per sample, with its share of warm-up and synchronization
PEER_SECONDS = 1e-6  # per sample and rank: the slowest operations send a message to each rank
LIMIT_FACTOR = 10  # time limit / estimated duration; allows for a busy machine
MIN_LIMIT = 600.0  # s; user-defined operations may be slow


def start_seconds(ranks: int) -> float:
    """The time of a launch without its samples, s."""
    return LAUNCH_START_SECONDS + RANK_START_SECONDS * ranks


def sample_seconds(ranks: int) -> float:
    """The time of a sample if each rank has a core, s."""
    return SAMPLE_SECONDS + PEER_SECONDS * ranks


def time_limit(seconds: float) -> float:
    """The default time limit of a launch that is expected to take `seconds`, s."""
    return max(MIN_LIMIT, math.ceil(LIMIT_FACTOR * seconds))
