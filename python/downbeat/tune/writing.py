"""Writes rules where a user finds them: the library's own files, and what switches them on."""

from __future__ import annotations

import shlex
from pathlib import Path

from downbeat.tune.formats.rules_format import Written
from downbeat.tune.target import Target

ENVIRONMENT_FILE = "rules.env"


def write_files(target: Target, written: Written, directory: Path) -> dict[str, str]:
    """Writes the files of rules and `rules.env` into a directory, which is made; returns the environment.

    Paths in the environment are absolute: whoever moves the files has to change them.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in written.files.items():
        (directory / name).write_text(content, encoding="utf-8")
    variables = written.environment(directory.resolve())
    (directory / ENVIRONMENT_FILE).write_text(environment_text(target, written, variables), encoding="utf-8")
    return variables


def environment_text(target: Target, written: Written, variables: dict[str, str]) -> str:
    """Returns the content of `rules.env`: what a shell can source, a line per variable."""
    lines = [f"# Rules for {target.version}, written by downbeat tune."]
    if not variables:
        return "\n".join(
            [*lines, "# No algorithm was better than the library's own choice: there is nothing to set.", ""]
        )
    arguments = shlex.join(target.form.launcher_arguments(variables))
    lines += [
        f"# To switch them on: set -a; . {ENVIRONMENT_FILE}; set +a",
        f"# or as arguments of mpirun: {arguments}",
        *(f"# {note}" for note in written.notes),
        *(f"{name}={shlex.quote(value)}" for name, value in variables.items()),
    ]
    return "\n".join([*lines, ""])
