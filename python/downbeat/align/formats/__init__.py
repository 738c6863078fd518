"""Readers of traces of other tools and of our own, by content; writers of traces on one axis."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from downbeat.align.calls import NoTraceError, RankTrace, with_ranks
from downbeat.align.formats import chrome, nsight, otf2, own
from downbeat.align.formats.kernels import Kernels, kernels_of
from downbeat.align.formats.write import check_moved, write_merged, write_moved
from downbeat.errors import UsageError, refuse_pipe
from downbeat.output.facts import Fact
from downbeat.output.facts.alignment import EventsLeftOut, FileLeftOut

__all__ = [
    "FORMATS",
    "TraceFormat",
    "check_moved",
    "format_of",
    "kernels_of",
    "read",
    "read_all",
    "write_merged",
    "write_moved",
]

GIVEN = re.compile(r"(\d+)=(.+)", re.DOTALL)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class TraceFormat(NamedTuple):
    """A format of traces.

    Attributes:
        name: for messages.
        recognizes: whether a file has this format, by its content.
        read: the traces in a file, and the number of omitted events of each kind.
        has_kernels: whether `read` takes a table of kernels.
    """

    name: str
    recognizes: Callable[[Path], bool]
    read: Callable[..., tuple[list[RankTrace], Counter[str]]]
    has_kernels: bool = False


FORMATS = (
    TraceFormat(own.NAME, own.recognizes, own.read),
    TraceFormat(nsight.NAME, nsight.recognizes, nsight.read, has_kernels=True),
    TraceFormat(otf2.NAME, otf2.recognizes, otf2.read),
    TraceFormat(chrome.NAME, chrome.recognizes, chrome.read, has_kernels=True),
)


def format_of(path: Path) -> TraceFormat:
    """Returns the format of a file.

    Raises:
        UsageError: there is no file, or it is of none.
    """
    if not path.exists() and not own.recognizes(path):  # DIR/JOB
        raise UsageError(f"'{path}' does not exist")
    refuse_pipe(path)
    trace_format = next((candidate for candidate in FORMATS if candidate.recognizes(path)), None)
    if trace_format is None:
        begin = b"" if path.is_dir() else path.open("rb").read(2)
        why = (
            " (it is UTF-16: convert it to UTF-8)"
            if begin in UTF_16
            else ""
            if begin or path.is_dir()
            else " (it is empty)"
        )
        raise NoTraceError(
            f"'{path}' is not a trace of a known format ({', '.join(candidate.name for candidate in FORMATS)}){why}"
        )
    return trace_format


def read(path: Path, kernels: Kernels | None = None) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces in a file of any format by rank, and the number of omitted events of each kind."""
    traces, skipped = read_file(path, kernels or Kernels())
    return list(with_ranks([(path, traces)], {}).values()), skipped


def read_file(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the result of `read`, with `UNKNOWN_RANK` where the file has no rank."""
    trace_format = format_of(path)
    return trace_format.read(path, kernels) if trace_format.has_kernels else trace_format.read(path)


def files_of(path: Path) -> list[Path]:
    """The files that a path of the command line stands for: itself, or the files directly in a directory, by name.

    A directory of recordings or an OTF2 archive counts as one file, next to the other files in it.
    """
    if not path.is_dir():
        return [path]
    inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    archives = [reader for reader in (own, otf2) if reader.recognizes(path)]
    return ([path] if archives else []) + [
        file for file in inside if not any(reader.recognizes(file) for reader in archives)
    ]


def read_all(names: Sequence[Path], kernels: Kernels | None = None) -> tuple[list[RankTrace], list[Fact]]:
    """Returns the traces in files of any format by rank, and facts on omitted events and files.

    Args:
        names: of files, or of directories; or RANK=FILE.
        kernels: names of kernels; None: those that are known here.

    Raises:
        UsageError: a file has nothing to be aligned, the rank of one is not known, two are of the same rank, or a
            row of `--kernel` names no kernel.
    """
    kernels = kernels or Kernels()
    user_ranks: dict[Path, int] = {}
    files: list[tuple[Path, list[RankTrace]]] = []
    left_out: defaultdict[str, Counter[Path]] = defaultdict(Counter)
    passed: list[str] = []
    for name in names:
        before = len(files), len(passed)
        stated = None if name.exists() else GIVEN.fullmatch(str(name))
        path = Path(stated[2]) if stated else name
        inside = files_of(path)
        for file in inside:
            if any(file == other for other, _ in files):
                raise UsageError(f"'{file}' is given twice")
            try:
                traces, skipped = read_file(file, kernels)
            except NoTraceError as error:
                if inside == [path]:
                    raise
                passed.append(str(error))
                continue
            if stated:
                user_ranks[file] = int(stated[1])
            files.append((file, traces))
            for what, count in skipped.items():
                left_out[what][file] = count
        below = sum(entry.is_dir() for entry in path.iterdir()) if inside != [path] else 0
        if below:
            passed.append(f"{below} of the entries of '{path}' are directories: give these")
        if len(files) == before[0]:
            why = passed[before[1] :] or ["it is empty"]
            more = f"; and {len(why) - 1} more like it" if len(why) > 1 else ""
            raise UsageError(f"'{path}' has no traces: {why[0]}{more}")
    unused = [row.option for row in kernels.rows if row.option and row.option not in kernels.used]
    if unused:
        raise UsageError(f"--kernel '{unused[0]}' names no kernel of these traces")
    facts: list[Fact] = [FileLeftOut(reason) for reason in passed]
    for kind, counts in left_out.items():
        facts.append(EventsLeftOut(str(next(iter(counts))), len(counts) - 1, counts.total(), kind))
    return with_descriptions(list(with_ranks(files, user_ranks).values())), facts


def with_descriptions(traces: list[RankTrace]) -> list[RankTrace]:
    """Traces whose groups are named by their description, if it is unique."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for trace in traces:
        for calls in trace.calls:
            texts[calls.group] |= {calls.description} - {""}
    names = {group: some.copy().pop() for group, some in texts.items() if len(some) == 1}
    uses = Counter(names.values())

    def name_of(group: str) -> str:
        name = names.get(group, group)
        return name if uses[name] <= 1 and (name == group or name not in texts) else f"{name} ({group})"

    return [
        replace(trace, calls=tuple(replace(calls, group=name_of(calls.group)) for calls in trace.calls))
        for trace in traces
    ]
