"""A row of the fault table: what is promised, and how it is tried."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

from benchmarks.faults.site import Site


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of one try, or of several that ended in the same way.

    Attributes:
        what: in few words, e.g. "held" or "named error"; outcomes of the same words are counted together.
        count: of tries.
        broken: the promise that was broken, with figures; empty: none was.
        tries: that this is the outcome of, where something else is counted; None: as many as are counted.
    """

    what: str
    count: int = 1
    broken: str = ""
    tries: int | None = None


class NotPossibleError(Exception):
    """This machine cannot make the fault; the message says why."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: as --rows takes it.
        fault: in words.
        promise: in words.
        run: makes the fault, so many times, and yields what happened. Between two outcomes nothing may be left behind.
        tries: of the full table.
        quick: of the quick one; 0: the row is left out.
    """

    name: str
    fault: str
    promise: str
    run: Callable[[Site, int], Iterator[Outcome]]
    tries: int
    quick: int


def log_uniform(site: Site, low: float, high: float) -> float:
    """Returns a number between two, each order of magnitude as likely as another."""
    return math.exp(site.chance.uniform(math.log(low), math.log(high)))
