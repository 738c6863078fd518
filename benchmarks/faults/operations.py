"""Operations of users that do what they must not."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from benchmarks.faults.deaths import lost
from benchmarks.faults.row import Outcome, Row
from benchmarks.faults.site import Site, clear
from benchmarks.faults.stops import with_timeout

TIMEOUT_SECONDS = 5.0  # of the launch, where it hangs
LIMIT_SECONDS = 30.0


def misbehaves(what: str, named: bool, site: Site, tries: int) -> Iterator[Outcome]:
    """Measures a barrier, then an operation that misbehaves in its 30th call on the last rank.

    Args:
        what: it does.
        named: whether a line of downbeat-bench names it.
        site: where.
        tries: how many.
    """
    operation = f"{site.library('fault-operation.so')}({what})"
    options = ["--sync", "mpi_barrier", "-r", "200", "--warmup", "5", "-q", "-o", "out.nc", "-o", "out.json"]
    command = with_timeout(site.launch("downbeat-bench", "barrier", operation, *options), TIMEOUT_SECONDS)
    for _ in range(tries):
        clear(site.where)
        ended = site.run(command, seconds=LIMIT_SECONDS)
        broken = ""
        if ended.hung:
            broken = f"the launch went on for {LIMIT_SECONDS:g} s, with a limit of {TIMEOUT_SECONDS:g} s"
        elif ended.status == 0:
            broken = "the launch ended with status 0"
        elif named and sum("fault-operation" in line for line in ended.said) != 1:
            broken = f"no single line names the operation: {ended.last_line}"
        else:
            broken = lost(site, 200)
        yield Outcome(f"ended, status {ended.status}", 1, broken)


ROWS = tuple(
    Row(
        f"operation-{what}",
        f"an operation of the user's that {words}",
        f"the launch ends, non-zero status{', one line that names it' if named else ''}; nothing complete is lost",
        functools.partial(misbehaves, what, named),
        20,
        0 if what == "hang" else 1,  # the others end at once
    )
    for what, named, words in (
        ("crash", False, "crashes"),
        ("abort", False, "aborts"),
        ("exit", False, "calls exit(0)"),
        ("hang", False, "hangs, under `--timeout`"),
        ("fail", True, "returns an error"),
        ("overrun", False, "writes beyond its memory"),
    )
)
