"""Checks what `downbeat tune` is asked for."""

from __future__ import annotations

from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.lists import split_list


def parse_ranks(text: str) -> tuple[int, ...]:
    """Returns numbers of ranks out of "2,4".

    Raises:
        UsageError: one is no number of ranks that can communicate.
    """
    words = split_list(text)
    for word in words:
        if not word.isascii() or not word.isdigit() or int(word) < 2:
            raise UsageError(f"--ranks cannot have '{word}'; give numbers from 2, e.g. 2,4")
    return tuple(dict.fromkeys(map(int, words)))


def parse_share(name: str, value: float, least: float) -> float:
    """Returns a share.

    Raises:
        UsageError: it is below the least, or not below 1.
    """
    if not least <= value < 1:
        raise UsageError(f"--{name} cannot be {value:g}; give a number from {least:g} to below 1")
    return value


def valid_metric(name: str) -> str:
    """Returns the name of a metric.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in METRICS:
        raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(METRICS)}")
    return name
