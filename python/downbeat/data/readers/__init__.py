"""Reads results of other benchmarks (OSU, IMB, nccl-tests ...), recognized by their content.

A reader of texts is a module with `NAME`, `recognizes` and `read`, listed in READERS. A reader that needs a whole
directory or archive, e.g. for metadata in separate files, has `recognizes_tree` and `read_tree`, listed in
TREE_READERS. Results are the runs in a source, their numbers, and its damage: contents that cannot be read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from downbeat.data.readers import imb, mpibench, nccl, osu, pico, reprompi, skampi
from downbeat.data.readers.results import Results
from downbeat.data.readers.sources import Progress, Source, is_archive, no_progress
from downbeat.errors import UsageError, refuse_pipe
from downbeat.output.facts.tool_results import Damage


class Reader(Protocol):
    """A module that reads the results of a tool from texts. Damaged content becomes `Damage`, not an exception."""

    NAME: str

    def recognizes(self, text: str) -> bool:
        """Returns true if a text has results of the tool, possibly among lines of other programs."""

    def read(self, text: str, path: str) -> Results:
        """Reads the results in a text; runs and damage refer to `path`."""


class TreeReader(Protocol):
    """A module that reads the results of a tool from directories and archives."""

    NAME: str

    def recognizes_tree(self, source: Source) -> bool:
        """Returns true if a source has results of the tool, judged by the names of its files and by small files."""

    def read_tree(self, source: Source, progress: Progress) -> Results:
        """Reads the results in a source; calls `progress` for each file of a directory."""


READERS: tuple[Reader, ...] = (osu, imb, nccl, reprompi, mpibench, skampi)
TREE_READERS: tuple[TreeReader, ...] = (pico,)


def tool_names() -> str:
    """Lists the tools whose results can be read, for messages."""
    return ", ".join([*(reader.NAME for reader in READERS), *(reader.NAME for reader in TREE_READERS)])


def read_results(paths: Sequence[str | Path], progress: Progress = no_progress) -> Results:
    """Reads files, directories and tar archives of results of other tools.

    Skips files that no reader recognizes; a `Damage` counts them.

    Raises:
        UsageError: a path does not exist, or no path has results.
    """
    chunks = []  # the results of each path
    for number, path in enumerate(map(Path, paths)):
        if len(paths) > 1:
            progress(number, len(paths))
        if not path.exists():
            raise UsageError(f"'{path}' does not exist")
        refuse_pipe(path)
        chunks.append(read_source(Source(path), progress if len(paths) == 1 else no_progress))
    if not any(results.runs for results in chunks):
        have = f" and {len(paths) - 1} more have" if len(paths) > 1 else " has"
        known = f"netCDF of downbeat-bench, {tool_names()}"
        raise UsageError(f"'{paths[0]}'{have} no results that Downbeat reads; it reads: {known}")
    return Results.joined(chunks)


def read_source(source: Source, progress: Progress = no_progress) -> Results:
    """Reads the results in a source; the results have no runs if no reader recognizes it."""
    for tree_reader in TREE_READERS:
        if tree_reader.recognizes_tree(source):
            return tree_reader.read_tree(source, progress)
    chunks = [Results.of_rows((), (), ())]
    without_results: list[str] = []  # paths of files
    for number, member in enumerate(source.members()):
        if source.path.is_dir():
            progress(number, len(source.names))
        if source.path.is_dir() and is_archive(Path(member.name)):
            results = [read_source(Source(Path(member.path)))]
        else:
            results = [reader.read(member.text, member.path) for reader in READERS if reader.recognizes(member.text)]
        chunks += results
        if not any(each.runs or each.damages for each in results):
            without_results.append(member.path)
    if without_results:
        count = len(without_results)
        chunks.append(Results.of_rows((), (), [Damage(without_results[0], 0, UNREAD, count, count)]))
    return Results.joined(chunks)


UNREAD = "files without results that Downbeat reads"  # text of a `Damage`


def recognizes(path: Path) -> bool:
    """Returns true if a path exists and has results of another tool."""
    if not path.exists() or not (path.is_file() or path.is_dir()):
        return False
    source = Source(path)
    if any(reader.recognizes_tree(source) for reader in TREE_READERS):
        return True
    for member in source.members():
        if path.is_dir() and is_archive(Path(member.name)):
            if recognizes(Path(member.path)):
                return True
        elif any(reader.recognizes(member.text) for reader in READERS):
            return True
    return False


def counted_over_files(damages: Iterable[Damage]) -> tuple[Damage, ...]:
    """Adds up damage over files: one fact per kind, with the number of files and the first file."""
    kinds: dict[str, Damage] = {}
    for damage in damages:
        if damage.what in kinds:
            total = kinds[damage.what]
            count, files = total.count + damage.count, total.files + damage.files
            kinds[damage.what] = dataclasses.replace(total, count=count, files=files)
        else:
            kinds[damage.what] = damage
    return tuple(kinds.values())
