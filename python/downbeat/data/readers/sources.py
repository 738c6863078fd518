"""Reads the files of a source: a single file, a directory, or a tar archive. A member is a file with its content."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from downbeat.errors import UsageError

Progress = Callable[[int, int], None]  # shows progress; arguments: number of the file, from 0; number of files


def no_progress(_number: int, _count: int) -> None:
    """A `Progress` that shows nothing."""


# Control sequences of terminals, e.g. colors.
COLORS = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst")


def is_archive(path: Path) -> bool:
    """Returns true if a path has the name of a tar archive."""
    return path.name.endswith(ARCHIVES)


@dataclass(frozen=True)
class Member:
    """A file of a source.

    Attributes:
        name: path relative to the source; name of a single file.
        path: path of the file, or `archive:name`, for messages.
        content: bytes of the file.
    """

    name: str
    path: str
    content: bytes

    @property
    def text(self) -> str:
        """The content as text, with spaces for tabs and without colors of terminals; empty for binary files."""
        if b"\0" in self.content[:4096]:
            return ""
        text = self.content.decode("utf-8-sig", errors="replace").replace("\t", " ")
        return COLORS.sub("", text) if "\x1b" in text else text


@dataclass(frozen=True)
class Source:
    """A file, a directory with all files in it, or a tar archive."""

    path: Path

    @cached_property
    def names(self) -> list[str]:
        """Names of the files, in the order of `members`."""
        if self.path.is_dir():
            return sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file())
        if is_archive(self.path):
            with tarfile.open(self.path) as archive:
                return [entry.name for entry in archive if entry.isfile()]
        return [self.path.name]

    def members(self) -> Iterator[Member]:
        """Yields the files with their contents; reads an archive once, from beginning to end.

        Raises:
            UsageError: the archive is damaged.
        """
        if is_archive(self.path):
            try:
                with tarfile.open(self.path) as archive:
                    for entry in archive:
                        if entry.isfile() and (file := archive.extractfile(entry)):
                            yield Member(entry.name, f"{self.path}:{entry.name}", file.read())
            except (tarfile.TarError, EOFError, OSError) as error:
                raise UsageError(f"'{self.path}' is damaged: {error}") from error
            return
        for name in self.names:
            path = self.path / name if self.path.is_dir() else self.path
            yield Member(name, str(path), path.read_bytes())
