"""Figures and their limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Promise:
    """A figure and its limit.

    Attributes:
        what: the figure, in words.
        figure: its value.
        needed: what it must be, e.g. "<= 20".
        met: whether it is.
        unit: of the figure; empty: a ratio or a count.
    """

    what: str
    figure: float
    needed: str
    met: bool
    unit: str = ""


def covers(what: str, share: float) -> Promise:
    """Promises that nominal 95 % intervals hold the truth in this share of the experiments: 92 to 98 %."""
    return Promise(what, share, "0.92 to 0.98", 0.92 <= share <= 0.98)


def by_chance(share: float, experiments: int) -> float:
    """Returns how far off a share so many experiments may be by chance: three standard errors."""
    return 3 * math.sqrt(share * (1 - share) / experiments)


def at_most(what: str, figure: float, limit: float, unit: str = "") -> Promise:
    """Promises that a figure is at most a limit."""
    return Promise(what, figure, f"<= {limit:g}", figure <= limit, unit)


def at_least(what: str, figure: float, limit: float, unit: str = "") -> Promise:
    """Promises that a figure is at least a limit."""
    return Promise(what, figure, f">= {limit:g}", figure >= limit, unit)


def print_promises(promises: Sequence[Promise]) -> None:
    """Prints a line for each promise."""
    width = max(len(promise.what) for promise in promises)
    for promise in promises:
        met = "met" if promise.met else "MISSED"
        print(f"{promise.what:{width}}  {promise.figure:9.4g} {promise.unit:5} {promise.needed:14}{met}")
