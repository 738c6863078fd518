"""Reads traces of other tools and of libdownbeat-preload; the format of a file is recognized by its content.

Each format has a module with functions `recognizes` and `read`. write.py writes traces on the common axis.
"""

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

RANK_AND_FILE = re.compile(r"(\d+)=(.+)", re.DOTALL)  # argument of the command line with the rank of a file
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class TraceFormat(NamedTuple):
    """A format of traces.

    Attributes:
        name: for messages.
        recognizes: returns true if a file has this format.
        read: returns the traces in a file, and reason -> number of omitted events.
        has_kernels: True: `read` takes a table of kernels.
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
        UsageError: the file does not exist.
        NoTraceError: the file has no known format.
    """
    if not path.exists() and not own.recognizes(path):  # DIR/JOB
        raise UsageError(f"'{path}' does not exist")
    refuse_pipe(path)
    trace_format = next((candidate for candidate in FORMATS if candidate.recognizes(path)), None)
    if trace_format is None:
        reason = ""
        if not path.is_dir():
            begin = path.open("rb").read(2)
            if begin in UTF_16:
                reason = " (it is UTF-16: convert it to UTF-8)"
            elif not begin:
                reason = " (it is empty)"
        raise NoTraceError(
            f"'{path}' is not a trace of a known format ({', '.join(candidate.name for candidate in FORMATS)}){reason}"
        )
    return trace_format


def read(path: Path, kernels: Kernels | None = None) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces in a file of any format, sorted by rank, and reason -> number of omitted events."""
    traces, skipped = read_file(path, kernels or Kernels())
    return list(with_ranks([(path, traces)], {}).values()), skipped


def read_file(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Like `read`, in the order of the file; the rank is `UNKNOWN_RANK` if the file does not have it."""
    trace_format = format_of(path)
    return trace_format.read(path, kernels) if trace_format.has_kernels else trace_format.read(path)


def files_of(path: Path) -> list[Path]:
    """Returns the files of a path on the command line: the file itself, or the files in a directory, sorted by name.

    The recording or the OTF2 archive in a directory is one item, the directory itself; other files in it follow.
    Subdirectories are not searched.
    """
    if not path.is_dir():
        return [path]
    inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    archives = [reader for reader in (own, otf2) if reader.recognizes(path)]
    return ([path] if archives else []) + [
        file for file in inside if not any(reader.recognizes(file) for reader in archives)
    ]


def read_all(names: Sequence[Path], kernels: Kernels | None = None) -> tuple[list[RankTrace], list[Fact]]:
    """Returns the traces in files of any format, sorted by rank, and facts on omitted events and files.

    Args:
        names: arguments of the command line: files, directories, or RANK=FILE.
        kernels: table of kernels; None: the known families.

    Raises:
        UsageError: an argument has no traces, the rank of a file is unknown, two files have the same rank, or an option
            --kernel matches no kernel.
    """
    kernels = kernels or Kernels()
    user_ranks: dict[Path, int] = {}  # ranks from RANK=FILE
    files: list[tuple[Path, list[RankTrace]]] = []
    left_out: defaultdict[str, Counter[Path]] = defaultdict(Counter)  # reason -> number of events by file
    omitted_files: list[str] = []  # reasons
    for name in names:
        files_before, omitted_before = len(files), len(omitted_files)
        rank_and_file = None if name.exists() else RANK_AND_FILE.fullmatch(str(name))
        path = Path(rank_and_file[2]) if rank_and_file else name
        inside = files_of(path)
        for file in inside:
            if any(file == other for other, _ in files):
                raise UsageError(f"'{file}' is given twice")
            try:
                traces, skipped = read_file(file, kernels)
            except NoTraceError as error:
                if inside == [path]:  # a file that the user named must have a trace
                    raise
                omitted_files.append(str(error))
                continue
            if rank_and_file:
                user_ranks[file] = int(rank_and_file[1])
            files.append((file, traces))
            for reason, count in skipped.items():
                left_out[reason][file] = count
        directories = sum(entry.is_dir() for entry in path.iterdir()) if inside != [path] else 0
        if directories:
            omitted_files.append(f"{directories} of the entries of '{path}' are directories: give these")
        if len(files) == files_before:
            reasons = omitted_files[omitted_before:] or ["it is empty"]
            more = f"; and {len(reasons) - 1} more like it" if len(reasons) > 1 else ""
            raise UsageError(f"'{path}' has no traces: {reasons[0]}{more}")
    unused = [row.option for row in kernels.rows if row.option and row.option not in kernels.used]
    if unused:
        raise UsageError(f"--kernel '{unused[0]}' names no kernel of these traces")
    facts: list[Fact] = [FileLeftOut(reason) for reason in omitted_files]
    for reason, counts in left_out.items():
        facts.append(EventsLeftOut(str(next(iter(counts))), len(counts) - 1, counts.total(), reason))
    return with_descriptions(list(with_ranks(files, user_ranks).values())), facts


def with_descriptions(traces: list[RankTrace]) -> list[RankTrace]:
    """Names groups by their descriptions; if two groups would have the same name, the group's own name is added."""
    descriptions: defaultdict[str, set[str]] = defaultdict(set)
    for trace in traces:
        for calls in trace.calls:
            descriptions[calls.group] |= {calls.description} - {""}
    names = {group: next(iter(texts)) for group, texts in descriptions.items() if len(texts) == 1}
    uses = Counter(names.values())

    def name_of(group: str) -> str:
        name = names.get(group, group)
        is_unique = uses[name] <= 1 and (name == group or name not in descriptions)
        return name if is_unique else f"{name} ({group})"

    return [
        replace(trace, calls=tuple(replace(calls, group=name_of(calls.group)) for calls in trace.calls))
        for trace in traces
    ]
