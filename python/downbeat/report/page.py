"""The sections of pages whose subjects are not yet views of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from downbeat.output.blocks import Block, Command, Depth, Folded, Heading, Line, Number, Numbers, Picture, Terms, View
from downbeat.output.blocks import Table as TableBlock


@dataclass(frozen=True)
class Table:
    """A table that is always shown; the numbers of pictures are folded away."""

    title: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class PageSection:
    """A part of a page: text first, then warnings, definitions, commands, tables, pictures; then parts of its own."""

    title: str  # empty: the first, which continues the answer
    paragraphs: tuple[str, ...] = ()  # plain text
    warnings: tuple[str, ...] = ()  # each says what was seen, why it matters, what to do
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()  # a term and its meaning
    commands: tuple[str, ...] = ()  # for a shell, a line each
    beside: tuple[tuple[str, str], ...] = ()  # texts in columns with a heading each, before all others
    parts: tuple[PageSection, ...] = ()  # without headings
    folded: str = ""  # of a part: the line that it is folded into; empty: it is open
    note: str = ""  # beside its title in the table of contents

    def blocks(self) -> tuple[Block, ...]:
        """The section as blocks."""
        blocks: list[Block] = [Heading(self.title, self.note)] if self.title else []
        blocks += [Terms(self.beside, columns=True)] if self.beside else []
        blocks += [Line(text) for text in self.paragraphs]
        blocks += [Line(text, "warning") for text in self.warnings]
        blocks += [Terms(self.definitions)] if self.definitions else []
        blocks += [Command(self.commands)] if self.commands else []
        blocks += [TableBlock(table.title, table.frame, depth=Depth.PAGE) for table in self.tables]
        blocks += self.pictures
        for part in self.parts:
            blocks += [Folded(part.folded, part.blocks())] if part.folded else part.blocks()
        return tuple(blocks)


@dataclass(frozen=True)
class Fact:
    """One finding, in plain text."""

    about: str  # empty: the news, in one sentence
    text: str


@dataclass(frozen=True)
class Page:
    """A page: the answer first."""

    title: str
    lead: tuple[str, ...] = ()  # plain text
    sections: tuple[PageSection, ...] = field(default_factory=tuple)
    found: tuple[Fact, ...] = ()  # a row each, before the lead
    byline: str = ""  # below the title: of what, on what
    numbers: tuple[Number, ...] = ()  # after the news

    def view(self) -> View:
        """The page as blocks."""
        blocks: list[Block] = [Line(fact.text, "answer") for fact in self.found if not fact.about]
        blocks += [Numbers(self.numbers)] if self.numbers else []
        blocks += [Line(fact.text, label=fact.about) for fact in self.found if fact.about]
        blocks += [Line(text) for text in self.lead]
        blocks += [block for section in self.sections for block in section.blocks()]
        return View(self.title, tuple(blocks), self.byline)
