"""A page: what stands on it, and how it becomes one file of HTML."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from downbeat.pictures.picture import Picture


@dataclass(frozen=True)
class Table:
    """A table that is always shown; the numbers behind pictures are folded away."""

    title: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Section:
    """A part of a page: text first, then warnings, tables, pictures."""

    title: str
    paragraphs: tuple[str, ...] = ()  # plain text
    warnings: tuple[str, ...] = ()  # each says what was seen, why it matters, what to do
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page: the answer first."""

    title: str
    lead: tuple[str, ...]  # plain text
    sections: tuple[Section, ...] = field(default_factory=tuple)
