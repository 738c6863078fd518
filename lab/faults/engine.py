"""Tries a row of the fault table: makes the fault, judges the promise, and checks that nothing is left behind."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.faults.site import BrokenError, Ended, NotPossibleError, Site, clear

Outcomes = Mapping[str, int]  # how often something happened, e.g. {"launch ended, status 137": 1}
Make = Callable[[Site], Ended]  # makes site.count faults in one run
Judge = Callable[[Ended], Outcomes]  # raises BrokenError


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: as --rows takes it.
        fault: in words.
        promise: in words.
        make: makes the fault.
        judge: counts what happened.
        tries: of the full table.
        quick: of the quick table; 0: not in it.
        batch: tries in one run.
    """

    name: str
    fault: str
    promise: str
    make: Make
    judge: Judge
    tries: int = 10
    quick: int = 0
    batch: int = 1


@dataclasses.dataclass
class Tally:
    """Outcomes of the tries of a row; `not_possible` says why this machine cannot make the fault."""

    name: str
    fault: str
    promise: str
    tries: int = 0
    outcomes: dict[str, int] = dataclasses.field(default_factory=dict)
    broken: list[str] = dataclasses.field(default_factory=list)
    not_possible: str = ""
    seconds: float = 0.0

    @property
    def happened(self) -> str:
        """The outcomes in words."""
        if self.not_possible:
            return f"not tried: {self.not_possible}"
        words = ", ".join(f"{what}: {count}" for what, count in sorted(self.outcomes.items(), key=lambda one: -one[1]))
        return f"{words or 'nothing'}; broken promises: {len(self.broken)}" if self.broken else words


def try_row(row: Row, tries: int, mpi: str, seed: int) -> Tally:
    """Tries a row, in a directory that is removed afterwards."""
    tally = Tally(row.name, row.fault, row.promise)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="downbeat-faults-") as home:
        site = Site(mpi, Path(home), seed)
        try:
            while tally.tries < tries:
                clear(site.where)
                before = site.stock()
                known = len(tally.broken)
                site.count = site.made = min(row.batch, tries - tally.tries)
                try_once(row, site, tally)
                left = site.left_behind(before)
                if left:
                    tally.broken.append(f"left behind: {', '.join(left[:3])}")
                tally.broken[known:] = [f"try {tally.tries}: {each}" for each in tally.broken[known:]]
                site.clean(left)
                show(row, tally, tries, tally.broken[known:])
                if row.batch >= row.tries:  # one run, even if time did not suffice for all
                    break
        except NotPossibleError as reason:
            site.clean([])
            tally.not_possible = "" if tally.tries else str(reason)
    tally.seconds = time.monotonic() - begin
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
    return tally


def try_once(row: Row, site: Site, tally: Tally) -> None:
    try:
        outcomes = row.judge(row.make(site))
    except BrokenError as error:
        outcomes = {"broken": site.count}
        tally.broken.append(str(error))
    site.number += 1
    tally.tries += max(site.made, 1)
    for what, times in outcomes.items():
        tally.outcomes[what] = tally.outcomes.get(what, 0) + times


def show(row: Row, tally: Tally, tries: int, broken: list[str]) -> None:
    """Shows on standard error how far the row is; it can take an hour."""
    for each in broken:
        print(f"\r    ! {each}", file=sys.stderr)
    print(f"\r{row.name}: {tally.tries} of {tries}, {len(tally.broken)} broken ", end="", file=sys.stderr, flush=True)
