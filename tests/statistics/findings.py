"""The result of a family of simulations: tables and promises."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from benchmarks.promises import Promise


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values, one for each column."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | int | float]]

    def text(self) -> str:
        """Returns the table aligned for a terminal."""
        cells = [list(self.columns), *([f"{v:.4f}" if isinstance(v, float) else str(v) for v in r] for r in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        numbers = [not isinstance(v, str) for v in self.rows[0]] if self.rows else [False] * len(widths)
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, numbers, strict=True)
            )
            for row in cells
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results of one family of simulations."""

    tables: list[Table]
    promises: list[Promise]


def worst_of(promises: Sequence[Promise]) -> list[Promise]:
    """Returns of promises on the same, which is what their names end with after a colon, the one that is least met."""
    ends: dict[str, list[Promise]] = {}
    for one in promises:
        ends.setdefault(one.what.rpartition(": ")[2], []).append(one)
    return [max(each, key=missed_by) for each in ends.values()]


def missed_by(promise: Promise) -> float:
    """Returns by how much a figure is beyond its limit, negative if it is within."""
    sign, limit = promise.needed.split()
    return (promise.figure - float(limit)) * (1 if sign == "<=" else -1)


def show_progress(text: str) -> None:
    """Shows the current simulation on standard error, on one line."""
    print(f"\r{text:70}", end="", file=sys.stderr, flush=True)
