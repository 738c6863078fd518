"""A page: its content, and how that becomes one file of HTML."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from downbeat.durable import write_text
from downbeat.pictures.picture import Picture
from downbeat.report.numbers import csv_link, table_rows
from downbeat.report.svg import anchor, picture_svg
from downbeat.text import printable

TEMPLATE = "page.html"


@dataclass(frozen=True)
class Table:
    """A table that is always shown; the numbers of pictures are folded away."""

    title: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Section:
    """A part of a page: text first, then warnings, definitions, commands, tables, pictures."""

    title: str
    paragraphs: tuple[str, ...] = ()  # plain text
    warnings: tuple[str, ...] = ()  # each says what was seen, why it matters, what to do
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()  # a term and its meaning
    commands: tuple[str, ...] = ()  # for a shell, a line each


@dataclass(frozen=True)
class Fact:
    """One finding, in plain text."""

    about: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page: the answer first."""

    title: str
    lead: tuple[str, ...] = ()  # plain text
    sections: tuple[Section, ...] = field(default_factory=tuple)
    found: tuple[Fact, ...] = ()  # a row each, before the lead


def write_page(path: Path, page: Page) -> None:
    """Writes a page as one file of HTML that needs nothing else, neither files nor a network nor JavaScript.

    Args:
        path: where to, `-` for standard output; an existing file is replaced once all of the page is on disk.
        page: its pictures' names must be unique.

    Raises:
        DownbeatError: the file cannot be written.
        ValueError: two pictures have the same name.
    """
    names = Counter(anchor(picture.name) for section in page.sections for picture in section.pictures)
    for name, number in names.items():
        if number > 1:
            raise ValueError(f"{number} pictures are named '{name}'")
    write_text(path, render_page(page))


def shown(value: object) -> object:
    """Returns a value as it is put into a page: XML and HTML have no control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_page(page: Page) -> str:
    """Returns the HTML of a page."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )
    templates.filters |= {"anchor": anchor, "svg": picture_svg, "rows": table_rows, "csv": csv_link}
    return templates.get_template(TEMPLATE).render(page=page, version=importlib.metadata.version("downbeat"))
