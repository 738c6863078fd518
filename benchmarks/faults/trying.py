"""Tries a row: counts what happens, and looks after each try whether anything is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from downbeat.launchers.leftovers import SHARED_MEMORY, processes

from benchmarks.faults.leftovers import left_behind, take_stock
from benchmarks.faults.row import NotPossibleError, Row
from benchmarks.faults.site import Site, clear
from benchmarks.faults.table import Tally


def clean(site: Site, left: list[str]) -> None:
    """Removes what a try left behind, so that the next ones are not blamed for it."""
    for pid in processes("environ", site.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for one in left:
        path = Path(one.rpartition(" ")[2])
        if path.parent == SHARED_MEMORY:
            path.unlink(missing_ok=True)
    for directory in (site.temporary, site.where):
        clear(directory)


def try_row(row: Row, tries: int, mpi: str, seed: int) -> Tally:
    """Tries a row so many times, in a directory that is gone afterwards."""
    tally = Tally(row.name, row.fault, row.promise)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="downbeat-faults-") as home:
        site = Site(mpi, Path(home), seed)
        before = take_stock(site)
        try:
            for outcome in row.run(site, tries):
                known = len(tally.broken)
                tally.count(outcome)
                left = left_behind(site, before)
                if left:
                    tally.broken.append(f"try {tally.tries}: left behind: {', '.join(left[:3])}")
                clean(site, left)
                show(row, tally, tries, tally.broken[known:])
                before = take_stock(site)
        except NotPossibleError as reason:
            tally.not_possible = str(reason)
    tally.seconds = time.monotonic() - begin
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
    return tally


def show(row: Row, tally: Tally, tries: int, broken: list[str]) -> None:
    """Shows on standard error how far it is, and what was broken now: a row can take an hour."""
    for each in broken:
        print(f"\r    ! {each}", file=sys.stderr)
    print(f"\r{row.name}: {tally.tries} of {tries}, {len(tally.broken)} broken ", end="", file=sys.stderr, flush=True)
