"""Readers of traces of other tools and of our own, by what is in a file; writers of what they become on one axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from downbeat.align.calls import RankTrace
from downbeat.align.formats import chrome, nsight, otf2, own
from downbeat.align.formats.write import check_moved, write_merged, write_moved
from downbeat.base.text import counted
from downbeat.errors import UsageError, refuse_pipe

__all__ = ["FORMATS", "Format", "check_moved", "format_of", "read", "read_all", "write_merged", "write_moved"]


class Format(NamedTuple):
    """A format of traces.

    Attributes:
        name: for messages.
        recognizes: whether a file is of it, by its content.
        read: the traces in a file, and a line for each kind of what was left out.
    """

    name: str
    recognizes: Callable[[Path], bool]
    read: Callable[[Path], tuple[list[RankTrace], list[str]]]


FORMATS = tuple(Format(module.NAME, module.recognizes, module.read) for module in (own, nsight, otf2, chrome))


def format_of(path: Path) -> Format:
    """Returns the format of a file.

    Raises:
        UsageError: there is no file, or it is of none.
    """
    if not path.exists():
        raise UsageError(f"'{path}' does not exist")
    refuse_pipe(path)
    found = next((one for one in FORMATS if one.recognizes(path)), None)
    if found is None:
        raise UsageError(f"'{path}' is not a trace of a known format ({', '.join(one.name for one in FORMATS)})")
    return found


def read(path: Path) -> tuple[list[RankTrace], list[str]]:
    """Returns the traces in a file of any format, and a line for each kind of what was left out."""
    return format_of(path).read(path)


def read_all(paths: Sequence[Path]) -> tuple[list[RankTrace], list[str]]:
    """Returns the traces in files of any format by rank, and a line for each kind of what was left out.

    Raises:
        UsageError: two are of the same rank.
    """
    traces: dict[int, RankTrace] = {}
    notes = []
    for path in paths:
        found, left_out = read(path)
        notes += left_out
        for trace in found:
            other = traces.setdefault(trace.rank, trace)
            if other is not trace:
                raise UsageError(
                    f"'{other.path}' and '{path}' are both of rank {trace.rank}; give one file for each rank"
                )
    return [traces[rank] for rank in sorted(traces)], summed(notes)


def summed(notes: Sequence[str]) -> list[str]:
    """Returns lines that say the same of several files as one, with the sum of their counts."""
    counts: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for note in notes:
        where, _, rest = note.rpartition("': ")
        count, _, what = rest.partition(" ")
        counts[what].append((f"{where}'", int(count)))
    lines = []
    for what, found in counts.items():
        others = f" and {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        lines.append(f"{found[0][0]}{others}: {sum(count for _, count in found)} {what}")
    return lines
