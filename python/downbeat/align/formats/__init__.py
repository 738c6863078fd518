"""Readers of traces of other tools and of our own, by what is in a file; writers of what they become on one axis."""

from __future__ import annotations

from collections import Counter, defaultdict
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
        read: the traces in a file, and how many of each kind were left out.
    """

    name: str
    recognizes: Callable[[Path], bool]
    read: Callable[[Path], tuple[list[RankTrace], Counter[str]]]


FORMATS = tuple(Format(module.NAME, module.recognizes, module.read) for module in (own, nsight, otf2, chrome))


def format_of(path: Path) -> Format:
    """Returns the format of a file.

    Raises:
        UsageError: there is no file, or it is of none.
    """
    if not path.exists() and not own.recognizes(path):  # DIR/JOB
        raise UsageError(f"'{path}' does not exist")
    refuse_pipe(path)
    found = next((one for one in FORMATS if one.recognizes(path)), None)
    if found is None:
        raise UsageError(f"'{path}' is not a trace of a known format ({', '.join(one.name for one in FORMATS)})")
    return found


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces in a file of any format, and how many of each kind were left out."""
    return format_of(path).read(path)


def read_all(paths: Sequence[Path]) -> tuple[list[RankTrace], list[str]]:
    """Returns the traces in files of any format by rank, and a line for each kind of what was left out.

    Raises:
        UsageError: two are of the same rank.
    """
    traces: dict[int, RankTrace] = {}
    left_out: defaultdict[str, Counter[Path]] = defaultdict(Counter)
    for path in paths:
        found, skipped = read(path)
        for what, count in skipped.items():
            left_out[what][path] = count
        for trace in found:
            other = traces.setdefault(trace.rank, trace)
            if other is not trace:
                raise UsageError(
                    f"'{other.path}' and '{path}' are both of rank {trace.rank}; give one file for each rank"
                )
    lines = []
    for what, files in left_out.items():
        others = f" and {counted(len(files) - 1, 'more file')}" if len(files) > 1 else ""
        lines.append(f"'{next(iter(files))}'{others}: {files.total()} {what}")
    return [traces[rank] for rank in sorted(traces)], lines
