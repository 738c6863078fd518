"""Mutants that no test can notice, each with the reason: equivalents.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mutation.operators import Mutant

FILE = Path(__file__).with_name("equivalents.toml")


def read_equivalents() -> dict[tuple[str, str, str], str]:
    """Returns the reasons by file, lines before and lines after the change."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["file"], one["before"], one["after"]): one["why"] for one in listed}


def identity(mutant: Mutant) -> tuple[str, str, str]:
    """Returns the name by which the list knows a mutant: its content, not its line number."""
    return mutant.file, mutant.before, mutant.after
