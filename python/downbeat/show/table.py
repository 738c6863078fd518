"""Plain tables and lines for a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from downbeat.units import PERCENT

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
