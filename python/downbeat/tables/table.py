"""Tables for a terminal, also with a column for each value of a factor."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from downbeat.base.text import PERCENT

WIDTH = 80


def table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> list[str]:
    """Returns the lines of a table: words to the left, numbers to the right, two spaces between columns.

    Args:
        header: names of the columns.
        rows: their cells.
        words: number of columns, from the first, that are aligned to the left.
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if i < words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *rows]
    ]


def folded(header: list[str], rows: list[list[str]], words: int) -> list[str]:
    """Returns a table; leading words that make it too wide become headings above their rows."""
    for above in range(words):
        lines = table(header[above:], [row[above:] for row in rows], words - above)
        if max(map(len, lines)) <= WIDTH:
            break
    else:
        above = words
        lines = table(["", *header[above:]], [["", *row[above:]] for row in rows], 1)
    return lines[:1] + grouped(lines[1:], header, [row[:above] for row in rows]) if above else lines


def grouped(lines: Sequence[str], names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Returns the rows of a table with a heading above each group of them.

    Args:
        lines: the rows.
        names: of what a heading says.
        values: of these names, for each row.
    """
    result: list[str] = []
    for i, line in enumerate(lines):
        if i == 0 or values[i] != values[i - 1]:
            heading = ", ".join(f"{name}={value}" for name, value in zip(names, values[i], strict=False))
            result += ["", *wrapped(heading)]
        result.append(line)
    return result


def wrapped(text: str, most: int | None = None) -> list[str]:
    """Returns a text in lines, so many at most."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, max_lines=most, placeholder=" ... and more"
    )


def entry(name: str, text: str) -> list[str]:
    """Returns a line of a head, wrapped."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<8}", subsequent_indent=" " * 10, break_on_hyphens=False)


def word(value: object) -> str:
    """Returns a factor's value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def share(value: float) -> str:
    """Returns a share in percent, without the sign, which is in the heading; `-` for none."""
    if not math.isfinite(value):
        return "-"
    percent = PERCENT * value
    return f"{percent:.1f}" if percent < 99.95 else f"{percent:.0f}"


GAP = "  "
BETWEEN = "   "  # before a block, so that its columns are seen to belong together
NUMBERS = ("size", "ranks")  # labels that are aligned to the right


@dataclass(frozen=True)
class Block:
    """Columns with a common title, for example those of one synchronizer.

    Attributes:
        title: above the columns; empty if their headings say enough.
        heads: headings of the columns.
        rows: cells, as text; shape (rows of the table, columns).
        ends_in_words: whether the last column is aligned to the left.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    ends_in_words: bool = False

    def lines(self) -> list[str]:
        """Returns title, headings and rows, all of one width."""
        widths = [max(len(cell) for cell in column) for column in zip(self.heads, *self.rows, strict=True)]
        words = len(widths) - 1 if self.ends_in_words else len(widths)
        lines = [
            GAP.join(
                cell.rjust(width) if i < words else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in (self.heads, *self.rows)
        ]
        width = max(len(self.title), len(lines[0]))
        return [self.title.ljust(width), *(line.rjust(width) for line in lines)]


def side_by_side(names: Sequence[str], labels: Sequence[Sequence[str]], blocks: Sequence[Block]) -> list[str]:
    """Returns a table that fits a terminal.

    Leading labels that make it too wide become headings above their rows; blocks that still do not fit follow in
    further tables.

    Args:
        names: headings of the labels with which each row begins.
        labels: their values; shape (rows, labels).
        blocks: in their order from left to right, at least one.
    """
    columns = [block.lines() for block in blocks]
    widths = [len(lines[0]) for lines in columns]
    last = len(names) - 1
    above = next((i for i in range(last + 1) if fits(names, labels, blocks, i)), None)
    if above is None:
        above = next((i for i in range(last + 1) if width_of(names, labels, i) + max(widths) <= WIDTH), last + 1)
    left = label_lines(names[above:], [row[above:] for row in labels])
    room = WIDTH - width_of(names, labels, above) + len(BETWEEN)
    result: list[str] = []
    while columns:
        ends = itertools.accumulate(len(lines[0]) + len(BETWEEN) for lines in columns)
        count = max(1, sum(end <= room for end in ends))
        joined = [
            BETWEEN.join(filter(None, (label, *parts))).rstrip()
            for label, *parts in zip(left, *columns[:count], strict=True)
        ]
        titled = any(lines[0].strip() for lines in columns[:count])
        rows = joined[2:]
        result += [""] if result else []
        result += joined[0 if titled else 1 : 2]
        result += grouped(rows, names, [row[:above] for row in labels]) if above else rows
        columns = columns[count:]
    return result


def fits(
    names: Sequence[str], labels: Sequence[Sequence[str]], blocks: Sequence[Block], above: int | None = None
) -> bool:
    """Whether all blocks fit side by side; with `above` labels as headings, by default all but the last."""
    widths = [len(block.lines()[0]) for block in blocks]
    left = width_of(names, labels, len(names) - 1 if above is None else above)
    return left + sum(widths) + len(BETWEEN) * (len(widths) - 1) <= WIDTH


def width_of(names: Sequence[str], labels: Sequence[Sequence[str]], above: int) -> int:
    """Returns the width of the labels that are not headings, with the gap that follows them."""
    width = len(label_lines(names[above:], [row[above:] for row in labels])[0])
    return width + len(BETWEEN) if width else 0


def label_lines(names: Sequence[str], labels: Sequence[Sequence[str]]) -> list[str]:
    """Returns the left side of a table: a line beside the titles, one of headings, then one per row."""
    widths = [max(len(name), *(len(row[i]) for row in labels)) for i, name in enumerate(names)]
    lines = [
        GAP.join(
            cell.rjust(width) if name in NUMBERS else cell.ljust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        )
        for row in (names, *labels)
    ]
    return [" " * len(lines[0]), *lines]
