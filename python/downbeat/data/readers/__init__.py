"""Readers of results of other tools, recognized by content.

A reader of texts is a module with `NAME`, `recognizes` and `read`, listed in READERS. A reader that needs a directory
or an archive as a whole, e.g. for metadata in files of their own, has `recognizes_tree` and `read_tree`, listed in
TREE_READERS.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from downbeat.data.readers import imb, mpibench, nccl, osu, pico, reprompi, skampi
from downbeat.data.readers.results import Results
from downbeat.data.readers.sources import Progress, Source, no_progress
from downbeat.errors import UsageError, refuse_pipe
from downbeat.output.facts.tool_results import Damage


class Reader(Protocol):
    """A module that reads the results of a tool from texts. Damaged content gives damage, never an exception."""

    NAME: str

    def recognizes(self, text: str) -> bool:
        """Whether a text has results of the tool, also among lines of other programs."""

    def read(self, text: str, path: str) -> Results:
        """The results in a text; `path` is for runs and damage."""


class TreeReader(Protocol):
    """A module that reads the results of a tool from directories and archives."""

    NAME: str

    def recognizes_tree(self, source: Source) -> bool:
        """Whether a source holds results of the tool, by its names and small files."""

    def read_tree(self, source: Source, progress: Progress) -> Results:
        """The results in a source; of a directory, `progress` is called for each file."""


READERS: tuple[Reader, ...] = (osu, imb, nccl, reprompi, mpibench, skampi)
TREE_READERS: tuple[TreeReader, ...] = (pico,)


def tool_names() -> str:
    """The tools whose results are read."""
    return ", ".join([*(reader.NAME for reader in READERS), *(reader.NAME for reader in TREE_READERS)])


def read_results(paths: Sequence[str | Path], progress: Progress = no_progress) -> Results:
    """Reads files, directories and tar archives of results of other tools.

    Files that no reader recognizes are left out, with a line that counts them.

    Raises:
        UsageError: a path does not exist, or none has results.
    """
    chunks = []
    for number, path in enumerate(map(Path, paths)):
        if len(paths) > 1:
            progress(number, len(paths))
        if not path.exists():
            raise UsageError(f"'{path}' does not exist")
        refuse_pipe(path)
        chunks.append(read_source(Source(path), progress if len(paths) == 1 else no_progress))
    if not any(each.runs for each in chunks):
        more = f" and {len(paths) - 1} more have" if len(paths) > 1 else " has"
        known = f"netCDF of downbeat-bench, {tool_names()}"
        raise UsageError(f"'{paths[0]}'{more} no results that Downbeat reads; it reads: {known}")
    return Results.joined(chunks)


def read_source(source: Source, progress: Progress = no_progress) -> Results:
    """The results in a source; without runs if no reader recognizes it."""
    for tree_reader in TREE_READERS:
        if tree_reader.recognizes_tree(source):
            return tree_reader.read_tree(source, progress)
    chunks, foreign = [Results.of_rows((), (), ())], []
    for number, member in enumerate(source.members()):
        if source.path.is_dir():
            progress(number, len(source.names))
        results = [reader.read(member.text, member.path) for reader in READERS if reader.recognizes(member.text)]
        chunks += results
        if not results:
            foreign.append(member.path)
    if foreign:
        chunks.append(Results.of_rows((), (), [Damage(foreign[0], 0, UNREAD, len(foreign), len(foreign))]))
    return Results.joined(chunks)


UNREAD = "files without results that Downbeat reads"


def recognizes(path: Path) -> bool:
    """Whether a path exists and has results of another tool."""
    if not path.exists() or not (path.is_file() or path.is_dir()):
        return False
    source = Source(path)
    if any(reader.recognizes_tree(source) for reader in TREE_READERS):
        return True
    return any(reader.recognizes(member.text) for member in source.members() for reader in READERS)


def counted_over_files(damages: Iterable[Damage]) -> tuple[Damage, ...]:
    """Damage of all files, a fact for each kind, with the number of files and the first of them."""
    kinds: dict[str, Damage] = {}
    for damage in damages:
        before = kinds.get(damage.what)
        kinds[damage.what] = (
            dataclasses.replace(before, count=before.count + damage.count, files=before.files + damage.files)
            if before
            else damage
        )
    return tuple(kinds.values())
