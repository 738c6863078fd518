"""Comparisons and tunings that are not yet views of blocks: a table with the texts above and below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from downbeat.output.blocks import Depth, Line, Table, Terms, View
from downbeat.output.fields import Field
from downbeat.output.markdown import markdown_lines, notebook_html
from downbeat.output.terminal import NOTE_LINES, entry, layout, legend, wrapped


@dataclass(frozen=True)
class Sheet:
    """A table with the texts above and below it.

    Attributes:
        frame: the rows.
        fields: the columns that are shown, in this order.
        labels: how many of these, from the first, say what a row is.
        across: the label whose values are side by side in text; empty: none.
        choices: lists of the other columns: text has those of the first list that fits; empty: all.
        title: the first line.
        about: lines of a head: name and text.
        notes: what the numbers alone do not show.
        answer: sentences before all else: what the numbers come to.
    """

    frame: pd.DataFrame
    fields: Mapping[str, Field]
    labels: int
    across: str = ""
    choices: Sequence[Sequence[str]] = ()
    title: str = ""
    about: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    answer: Sequence[str] = field(default=())

    def block(self) -> Table:
        """The table alone."""
        return Table("", self.frame, self.fields, self.labels, self.across, self.choices)

    def text(self) -> list[str]:
        """The lines for a terminal."""
        table, columns = layout(self.block())
        names = list(self.fields)[: self.labels]
        notes = [*legend(self.block(), [name for name in columns if name not in names]), *self.notes]
        return [
            *(line for sentence in self.answer for line in (*wrapped(sentence), "")),
            *wrapped(self.title),
            *([""] if self.about and self.title else []),
            *(line for name, text in self.about for line in entry(name, text)),
            *([""] if (self.title or self.about) and table else []),
            *table,
            *([""] if notes else []),
            *(line for note in notes for line in wrapped(note, NOTE_LINES)),
        ]

    def view(self) -> View:
        """The sheet as blocks, for Markdown and notebooks."""
        about: list[tuple[str, str]] = []
        for name, text in self.about:
            if name or not about:
                about.append((name, text))
            else:
                about[-1] = (about[-1][0], f"{about[-1][1]}; {text}")
        return View(
            self.title,
            (
                *(Line(sentence, "answer") for sentence in self.answer),
                self.block(),
                *([Terms(tuple(about), depth=Depth.TEXT)] if about else []),
                *(Line(note, "note") for note in self.notes),
            ),
        )

    def markdown(self) -> list[str]:
        """The lines for an issue or a page."""
        return markdown_lines(self.view())

    def html(self) -> str:
        """An element for a notebook."""
        return notebook_html(self.view())
