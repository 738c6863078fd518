"""The texts of the papers' figures, from `figures.toml` of each paper."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any, TypedDict


class Prose(TypedDict):
    """The name and the texts of a `Figure`, by its attributes."""

    name: str
    title: str
    setup: str
    reports: tuple[str, ...]
    needs: str


@functools.cache
def figures_of(paper: str) -> dict[str, Any]:
    """Returns what the file of a paper holds, by figure."""
    return tomllib.loads((Path(__file__).parent / paper / "figures.toml").read_text(encoding="utf-8"))


def prose(name: str) -> Prose:
    """Returns the texts of a figure, as "schuchart2023-fig2"."""
    paper, _, figure = name.partition("-")
    texts = figures_of(paper)[figure]
    return Prose(
        name=name, title=texts["title"], setup=texts["setup"], reports=tuple(texts["reports"]), needs=texts["needs"]
    )
