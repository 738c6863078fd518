"""Why a run left no trace, as far as files show it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from downbeat.trace.command import PRELOAD, is_script, mpi_programs, text_of

ELF = b"\x7fELF"
NO_CALL = "did not call MPI_Init or MPI_Init_thread (MPI_Session_init alone is not recorded)"


def privileged(program: str) -> bool:
    """Whether the loader ignores LD_PRELOAD for a program: it is setuid or setgid, or has capabilities."""
    if Path(program).stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return True
    try:
        return "security.capability" in os.listxattr(program)
    except OSError:
        return False


def is_static(program: str) -> bool:
    """Whether a program has no loader, which is who heeds LD_PRELOAD."""
    with Path(program).open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return False
    done = subprocess.run(["ldd", program], capture_output=True, text=True, errors="replace", check=False)
    return "statically linked" in done.stdout or "not a dynamic" in done.stderr + done.stdout


def why_nothing(words: Sequence[str]) -> str:
    """Returns why the programs of a command may have left nothing: what can be seen, else what it can be.

    Args:
        words: the command.
    """
    programs = [(word, found) for word in words if (found := shutil.which(word))]
    for word, found in programs:
        if os.access(found, os.R_OK) and privileged(found):
            return f"'{word}' is setuid, setgid or has capabilities, so it ignores {PRELOAD}; record it without these"
    for word in words:
        if is_script(word) and PRELOAD in text_of(word):
            return f"the script '{word}' changes {PRELOAD}; let it begin with the value that it has there"
    linked = next(mpi_programs(words), None)
    if linked:
        return f"unless a line above says why, '{linked[0]}' {NO_CALL}, or something removed {PRELOAD} before it began"
    for word, found in programs:
        if os.access(found, os.R_OK) and is_static(found):
            return (
                f"'{word}' is linked statically, so nothing can be preloaded; link it again with libdownbeat-preload "
                "before MPI (docs/unmodified-programs.md)"
            )
    return (
        f"no program of the command shows a shared MPI library; unless a line above says why, it {NO_CALL}, has MPI "
        f"linked statically, or {PRELOAD} did not reach it"
    )
