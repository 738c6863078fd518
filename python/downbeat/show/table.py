"""Plain tables and lines for a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

WIDTH = 80
MICROSECONDS = 1e6  # per second


def table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> list[str]:
    """Returns the lines of a table: words to the left, numbers to the right, two spaces between columns.

    Args:
        header: names of the columns.
        rows: their cells.
        words: so many columns, the first ones, stand to the left.
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
    """Returns a table; as many of the first words as make it too wide stand above their rows."""
    for above in range(words):
        lines = table(header[above:], [row[above:] for row in rows], words - above)
        if max(map(len, lines)) <= WIDTH:
            break
    else:
        above = words
        lines = table(["", *header[above:]], [["", *row[above:]] for row in rows], 1)
    if above == 0:
        return lines
    grouped = lines[:1]
    for i, line in enumerate(lines[1:]):
        if i == 0 or rows[i][:above] != rows[i - 1][:above]:
            values = ", ".join(f"{name}={value}" for name, value in zip(header, rows[i][:above], strict=False))
            grouped += ["", *wrapped(values)]
        grouped.append(line)
    return grouped


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


def microseconds(seconds: float) -> str:
    """Returns a time in us with three digits that count, and to the nanosecond below 10 us; `-` for none."""
    if math.isnan(seconds):
        return "-"
    value = seconds * MICROSECONDS
    small = 2 - math.floor(math.log10(abs(value))) if value else 0  # decimals for three digits
    return f"{value:.{min(max(small, 3), 5) if abs(value) < 10 else 2}f}"
