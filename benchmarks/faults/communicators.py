"""Communicators and calls where nobody expects them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Site, clear
from benchmarks.faults.stops import with_timeout

NOT_HERE = 77  # status: the MPI library has no such thing
PER_LAUNCH = 1000  # communicators that are made and freed
SECONDS = 60.0


def one(mode: str, site: Site, tries: int) -> Iterator[Outcome]:
    """Runs a mode of fault-communicators so many times."""
    for _ in range(tries):
        clear(site.where)
        ended = site.run(site.launch("fault-communicators", mode), seconds=SECONDS)
        if ended.status == NOT_HERE:
            raise NotPossibleError(f"{site.mpi} does not offer it")
        broken = f"went on for {SECONDS:g} s" if ended.hung else ""
        if ended.status != 0:
            broken = broken or f"status {ended.status}: {ended.last_line}"
        yield Outcome("as promised", 1, broken)


def many(site: Site, tries: int) -> Iterator[Outcome]:
    """Makes, harmonizes and frees so many communicators, in one launch."""
    seconds = SECONDS + tries * 0.02
    command = with_timeout(site.launch("fault-communicators", "many", tries), seconds)
    ended = site.run(command, {"DOWNBEAT_CLOCK": "monotonic"}, seconds=seconds + 15)
    broken = "" if ended.status == 0 else f"status {ended.status}: {ended.last_line}"
    yield Outcome("made, harmonized and freed; memory constant", tries, broken)


ROWS = (
    Row(
        "communicators",
        "communicators made, harmonized and freed in one program",
        "every start succeeds; the last nine tenths need no more memory than the first",
        many,
        100000,
        200,
    ),
    *(
        Row(f"comm-{mode}", words, promise, functools.partial(one, mode), tries, quick)
        for mode, words, promise, tries, quick in (
            ("regions", "a communicator freed while a region on it is open", "no crash, no hang", 10, 1),
            ("threads", "8 threads on 8 communicators (MPI_THREAD_MULTIPLE)", "every start succeeds", 10, 0),
            ("handler", "a start in an error handler of another communicator", "both work", 10, 1),
            ("destructor", "a start in the delete callback of an attribute", "both work", 10, 0),
            ("finalized", "a call after MPI_Finalize", "MPI_ERR_OTHER and a line", 10, 1),
            ("revoked", "a revoked communicator", "no hang", 10, 0),
        )
    ),
)
