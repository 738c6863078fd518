"""Writes rules where a user finds them: the library's own files, and what switches them on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from downbeat.durable import write_text
from downbeat.errors import UsageError
from downbeat.tune.formats import mpich, open_mpi
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.target import Target

ENVIRONMENT_FILE = "rules.env"
RECORD_FILE = "rules.json"
PROBE = "probe"  # directory that each tuning begins with
RULES_FILES = (open_mpi.RULES_FILE, *mpich.VARIABLES)


def check_directory(directory: Path) -> None:
    """Looks whether a directory is empty or that of a tuning, whose files may be replaced.

    Raises:
        UsageError: it holds something else.
    """
    if directory.is_dir() and not (directory / PROBE).is_dir() and any(directory.iterdir()):
        raise UsageError(f"'{directory}' exists and is not the directory of a tuning; give another one (-o)")


def write_files(target: Target, written: Written, directory: Path, about: Sequence[str] = ()) -> dict[str, str]:
    """Writes the files of rules and `rules.env` into a directory, which is made; returns the environment.

    Paths in the environment are absolute: whoever moves the files has to change them. Files of earlier rules go, and so
    does the record of how those were proven.

    Args:
        target: the library.
        written: the rules.
        directory: for the files.
        about: lines on where the rules come from.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in (RECORD_FILE, ENVIRONMENT_FILE, *RULES_FILES):
        (directory / name).unlink(missing_ok=True)
    for name, content in written.files.items():
        write_text(directory / name, content)
    variables = written.environment(directory.resolve())
    write_text(directory / ENVIRONMENT_FILE, environment_text(target, written, variables, directory, about))
    return variables


def environment_text(
    target: Target, written: Written, variables: dict[str, str], directory: Path, about: Sequence[str]
) -> str:
    """Returns the content of `rules.env`: what a shell can source, a line per variable."""
    lines = [f"# Rules for {target.version}, written by downbeat tune.", *(f"# {line}" for line in about)]
    if not variables:
        return "\n".join(
            [*lines, "# No algorithm was better than the library's own choice: there is nothing to set.", ""]
        )
    arguments = shlex.join(target.form.launcher_arguments(variables))
    lines += [
        f"# To switch them on: set -a; . {shlex.quote(str(directory.resolve() / ENVIRONMENT_FILE))}; set +a",
        f"# or as arguments of mpirun: {arguments}",
        *(f"# {note}" for note in written.notes),
        *(f"{name}={shlex.quote(value)}" for name, value in variables.items()),
    ]
    return "\n".join([*lines, ""])
