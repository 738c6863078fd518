"""Operations of users that do what they must not."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError

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
    options = ["--sync", "mpi_barrier", "-r", "200", "--warmup", "5", "-q", "-o", "out.nc"]
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
        elif not measured(site):
            broken = "the cell that was measured before is not in the file"
        yield Outcome(f"ended, status {ended.status}; the cell before it is there", 1, broken)


def measured(site: Site) -> bool:
    """Whether the file has a cell with all its samples, or the operation came first and there is none."""
    try:
        with open_launch(site.where / "out.nc") as data:
            counts = data["valid"].groupby("sample_cell").sum()
            return bool((counts >= 200).any()) or str(data["operation"].values[0]).startswith("fault")
    except UsageError:
        return True  # cells come in random order


ROWS = tuple(
    Row(
        f"operation-{what}",
        f"an operation of the user's that {words}",
        f"the launch ends, with a non-zero status{' and one line that names it' if named else ''}; other cells are kept",
        functools.partial(misbehaves, what, named),
        20,
        1,
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
