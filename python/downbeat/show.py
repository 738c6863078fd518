"""A frame and its fields as text, Markdown, HTML, JSON and CSV: the one renderer of tables.

A `Sheet` holds the content. Text fits a terminal of 80 columns: values of one factor are side by side, columns that do
not fit are left out, labels become headings. Markdown and HTML have all columns. All three have title, notes and
the sentences that answer.
"""

from __future__ import annotations

import html
import itertools
import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.files import write_text
from downbeat.text import PERCENT, microseconds, printable

WIDTH = 80
GAP = "  "
BETWEEN = "   "  # before a block, so that its columns are seen to belong together
NOTE_LINES = 8  # of one note; more cells than that are better read from a file
NOTEBOOK_ROWS = 60  # of a table in a notebook


def word(value: object) -> str:
    """Returns a factor's value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """Returns a share in percent, without the sign, which is in the heading; `-` for none."""
    if not math.isfinite(share):
        return "-"
    return f"{PERCENT * share:.1f}" if PERCENT * share < 99.95 else f"{PERCENT * share:.0f}"


def decimals(value: float) -> str:
    """Returns a ratio with three decimals; `-` for none."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def ends(interval: tuple[float, float]) -> str:
    """Returns an interval; `-` for none."""
    return "-" if math.isnan(interval[0]) else f"{interval[0]:.3f}-{interval[1]:.3f}"


# How values are written. Words are aligned to the left, numbers to the right.
FIELD_KINDS: dict[str, Callable[[Any], str]] = {
    "word": word,
    "number": word,
    "time": microseconds,  # stored in s, printed in us
    "share": percent,
    "ratio": decimals,
    "interval": ends,  # a pair of ratios
}


@dataclass(frozen=True)
class Field:
    """A column: its heading, how its values are written, their unit in files, and what they mean."""

    heading: str
    kind: str = "word"
    unit: str = ""
    meaning: str = ""

    def text(self, value: object) -> str:
        """Returns a value as text."""
        return FIELD_KINDS[self.kind](value)


FACTOR_UNITS = {"size": "byte", "largest_delay": "s", "computation": "s"}


def factor_field(name: str) -> Field:
    """Returns the field of a factor."""
    return Field(name, "number" if name in ("size", "ranks") else "word", FACTOR_UNITS.get(name, ""))


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

    def text(self) -> list[str]:
        """Returns the lines for a terminal."""
        table, columns = self.table()
        notes = [*self.legend(columns), *self.notes]
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

    def legend(self, columns: Sequence[str]) -> list[str]:
        """Returns what columns mean that do not explain themselves."""
        return [
            f"{self.fields[name].heading}: {self.fields[name].meaning}" for name in columns if self.fields[name].meaning
        ]

    def texts(self) -> list[list[str]]:
        """Returns headings, then a row of texts for each row of the frame, with all columns."""
        rows = [[one.text(row[name]) for name, one in self.fields.items()] for row in self.frame.to_dict("records")]
        return [[one.heading for one in self.fields.values()], *rows]

    def remarks(self) -> list[str]:
        """Returns the texts beside title and table: head, legend, notes."""
        about: list[str] = []
        for name, text in self.about:
            if name or not about:
                about.append(f"{name}: {text}")
            else:
                about[-1] += f"; {text}"
        return [*about, *self.legend(list(self.fields)), *self.notes]

    def markdown(self) -> list[str]:
        """Returns the lines for an issue or a page."""
        head, *rows = [[text.replace("|", "\\|") for text in row] for row in self.texts()]
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        remarks = [f"- {printable(one)}" for one in self.remarks()]
        above = [one for one in (*self.answer, self.title) if one]
        return [*(line for one in above for line in (one, "")), *lines, "", *remarks]

    def html(self) -> str:
        """Returns an element for a notebook."""
        head, *rows = self.texts()
        table = pd.DataFrame(rows, columns=head).to_html(index=False, max_rows=NOTEBOOK_ROWS)
        items = "".join(f"<li>{html.escape(one)}</li>" for one in self.remarks())
        return f"<p>{html.escape(' '.join([*self.answer, self.title]))}</p>{table}<ul>{items}</ul>"

    def table(self) -> tuple[list[str], list[str]]:
        """Returns the table as text, and the columns that it has."""
        if self.frame.empty:
            return [], []
        named = list(self.fields)
        labels = [name for name in named[: self.labels] if name != self.across]
        rows = self.frame.to_dict("records")
        keys = {tuple(self.fields[name].text(row[name]) for name in labels): None for row in rows}
        titles = list(dict.fromkeys(str(row[self.across]) for row in rows)) if self.across else [""]
        cells = {
            (
                str(row[self.across]) if self.across else "",
                tuple(self.fields[name].text(row[name]) for name in labels),
            ): row
            for row in rows
        }

        def block(title: str, columns: Sequence[str]) -> list[str]:
            of = [self.fields[name] for name in columns]
            heads = [one.heading for one in of] if len(of) > 1 or not title else [title]
            found = [cells.get((title, key)) for key in keys]
            texts = [
                [one.text(row[name]) if row else "" for name, one in zip(columns, of, strict=True)] for row in found
            ]
            lines = aligned([heads, *texts], [one.kind == "word" for one in of])
            above = title if len(of) > 1 else ""
            width = max(len(above), len(lines[0]))
            return [above.ljust(width), *(line.rjust(width) for line in lines)]

        side = Labels([self.fields[name] for name in labels], list(keys))
        choices = list(self.choices) or [[name for name in named if name not in labels and name != self.across]]
        # A single block keeps all its columns: labels become headings where it is too wide.
        tried = [
            (columns, [block(title, columns) for title in titles])
            for columns in choices[: None if len(titles) > 1 else 1]
        ]
        whole = (one for one in tried if side.fits(one[1], 0))
        folded = (one for one in tried if side.fits(one[1], max(len(labels) - 1, 0)))
        columns, blocks = next(itertools.chain(whole, folded, tried[-1:]))
        return side.beside(blocks), list(columns)


@dataclass(frozen=True)
class Labels:
    """The left side of a table: fields, and their texts in each row."""

    fields: Sequence[Field]
    rows: Sequence[Sequence[str]]

    def lines(self, above: int) -> list[str]:
        """Returns a line beside the titles, one of headings, then one per row; without `above` labels."""
        heads = [one.heading for one in self.fields]
        lines = aligned(
            [row[above:] for row in (heads, *self.rows)], [one.kind == "word" for one in self.fields[above:]]
        )
        return [" " * len(lines[0]), *lines]

    def fits(self, blocks: Sequence[Sequence[str]], above: int) -> bool:
        """Whether all blocks fit beside these labels; `above` of them are headings."""
        widths = [len(lines[0]) for lines in blocks]
        left = len(self.lines(above)[0])
        return (left + len(BETWEEN) if left else 0) + sum(widths) + len(BETWEEN) * (len(widths) - 1) <= WIDTH

    def beside(self, blocks: Sequence[Sequence[str]]) -> list[str]:
        """Returns labels and blocks side by side; blocks that do not fit follow in further tables."""
        columns = list(blocks)
        many = range(len(self.fields) + 1)
        widest = [max(columns, key=lambda lines: len(lines[0]))] if columns else []
        above = next((i for i in many if i < len(many) - 1 and self.fits(columns, i)), None)
        if above is None:
            above = next((i for i in many if self.fits(widest, i)), len(self.fields))
        left = self.lines(above)
        names = [one.heading for one in self.fields]
        result: list[str] = []
        while columns:
            count = max((i for i in range(1, len(columns) + 1) if self.fits(columns[:i], above)), default=1)
            joined = [
                BETWEEN.join(filter(None, (label, *parts))).rstrip()
                for label, *parts in zip(left, *columns[:count], strict=True)
            ]
            titled = any(lines[0].strip() for lines in columns[:count])
            result += [""] if result else []
            result += joined[0 if titled else 1 : 2]
            result += under_headings(joined[2:], names, [row[:above] for row in self.rows]) if above else joined[2:]
            columns = columns[count:]
        return result


def under_headings(lines: Sequence[str], names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Returns the rows of a table with a heading above each group of them: `values` of these names, for each row."""
    result: list[str] = []
    for i, line in enumerate(lines):
        if i == 0 or values[i] != values[i - 1]:
            result += [
                "",
                *wrapped(", ".join(f"{name}={value}" for name, value in zip(names, values[i], strict=False))),
            ]
        result.append(line)
    return result


def aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Returns rows as lines of one width: columns to the left or to the right, two spaces between them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(
            cell.ljust(width) if words else cell.rjust(width)
            for cell, width, words in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]


def wrapped(text: str, most: int | None = None) -> list[str]:
    """Returns a text in lines, so many at most."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, max_lines=most, placeholder=" ... and more"
    )


def entry(name: str, text: str) -> list[str]:
    """Returns a line of a head, wrapped."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<8}", subsequent_indent=" " * 10, break_on_hyphens=False)


def write_result(content: Mapping[str, object], path: Path) -> None:
    """Writes JSON: null for NaN, "infinite" for infinity.

    Args:
        content: numbers, texts, lists and mappings.
        path: file to write; `-` for standard output.

    Raises:
        DownbeatError: the file cannot be written.
    """
    write_text(path, json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


def plain(value: object) -> object:
    """Returns a value as JSON knows it."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return "infinite" if isinstance(value, float) and math.isinf(value) else value


# With which Excel, LibreOffice and Google Sheets begin a formula (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(frame: pd.DataFrame, target: Any, header: bool = True) -> None:  # noqa: ANN401 - as to_csv has it
    """Writes comma-separated values, with an apostrophe before texts that spreadsheets take for a formula."""
    changed = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            continue
        values = column.unique()  # a name is in many rows
        escaped = {value: f"'{value}" for value in values if isinstance(value, str) and value.startswith(FORMULA)}
        if escaped:
            changed[str(name)] = column.astype(object).map(lambda value, names=escaped: names.get(value, value))
    (frame.assign(**changed) if changed else frame).to_csv(target, index=False, header=header)
