"""Finds the rules file of Open MPI's coll_tuned that is in force in a launch, and warns if that version misreads it.

A rules file chooses algorithms of collectives by communicator size and message size. It is a list of numbers (classic
form), or JSON since Open MPI 6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from downbeat.run.machine import Finding, Setting

MCA = "OMPI_MCA_"  # environment variable of a parameter: this prefix and the parameter's name
PREFIX = f"{MCA}coll_tuned_"
FILENAME = f"{PREFIX}dynamic_rules_filename"
USE_RULES = f"{PREFIX}use_dynamic_rules"

JSON_SINCE = 6  # major version of the first reader of JSON, which misreads the classic form
# Begin of a classic file: a version line, or a number after white space and comments.
CLASSIC = re.compile(r"rule-file-version-\d|(\s|#.*\n)*\d")


def major_version(text: str) -> int | None:
    """Major version from the library's version text, "Open MPI v5.0.11"; None for another library."""
    number = re.match(r"Open MPI v(\d+)\.", text)
    return int(number[1]) if number else None


def rules_in_force(settings: Mapping[str, Setting]) -> str:
    """Path of the rules file that the library reads; "" if none."""
    unset = Setting("", "")
    if settings.get(USE_RULES, unset).value not in ("1", "true"):
        return ""
    return settings.get(FILENAME, unset).value


def misread_rules(version: str, settings: Mapping[str, Setting]) -> str:
    """Path of the rules file in force if this version of the library misreads it; "" otherwise.

    From 6.0 on, an entry of a classic file holds for the communicator sizes below its own; before, it held from its own
    size on (ompi_coll_tuned_read_rules_config_file_classic, ompi/mca/coll/tuned/coll_tuned_dynamic_file.c).
    """
    path = rules_in_force(settings)
    return path if path and (major_version(version) or 0) >= JSON_SINCE and is_classic(Path(path)) else ""


def is_classic(path: Path) -> bool:
    """Whether a rules file is a list of numbers; False for JSON, and for a file that cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    try:
        json.loads(text)
    except ValueError:
        return bool(CLASSIC.match(text))
    return False


def check_rules(library: str, version: str, settings: Mapping[str, Setting]) -> list[Finding]:
    """Warns of a rules file in force that the library misreads."""
    path = misread_rules(version, settings)
    if not path:
        return []
    origin = settings[FILENAME].origin or "environment"
    seen = f"{library} reads the classic rules file '{path}' ({origin}) with its communicator sizes shifted"
    advice = f"{version} applies an entry below its size, not from it on; unset {FILENAME}, or write the rules as JSON"
    return [Finding("variables", seen, "problem", advice)]
