"""Programs and launchers that somebody names: their absolute paths, for launches have directories of their own."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.launchers.bench import BENCH


def bench_at(text: str, base: Path) -> str:
    """Returns the absolute path of the downbeat-bench that somebody names."""
    found = shutil.which(str(base.absolute() / text) if "/" in text else text)
    if not found:
        raise UsageError(f"'{text}' is not an executable program; give the path of a {BENCH}")
    return str(Path(found).absolute())


def launcher_at(text: str, base: Path) -> str:
    """Returns the command of a launcher, with the absolute path of a program that is named by a path."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"launcher: '{text}' cannot be split into words: {error}") from error
    if not any("{ranks}" in word for word in words):
        raise UsageError(f"launcher: '{text}' has no {{ranks}} in place of the number of ranks")
    program = str(base.absolute() / words[0]) if "/" in words[0] else words[0]
    if not shutil.which(program):
        raise UsageError(f"launcher: '{words[0]}' is not an executable program")
    return re.sub(r"'([^' ]*\{\w+\}[^' ]*)'", r"\1", shlex.join([program, *words[1:]]))  # braces need no quotes
