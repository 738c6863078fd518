"""Writes views for terminals: wrapped sentences, and tables with the values of a factor side by side.

A table consists of labels on the left and blocks of columns, one block per value of the factor `Table.across`.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from downbeat.output.blocks import Block, Characters, Command, Depth, Folded, Heading, Line, Table, Terms, View
from downbeat.output.fields import Field

WIDTH = 80
GAP = "  "  # between columns
BETWEEN = "   "  # between blocks of columns
MAX_SENTENCE_LINES = 8  # a longer sentence is cut
INDENT = "  "


def view_lines(view: View, depth: Depth = Depth.TEXT) -> list[str]:
    """Writes a view as lines: answers, title, then the other blocks; no title at depth SUMMARY."""
    return block_lines(titled(view, depth))


def titled(view: View, depth: Depth) -> tuple[Block, ...]:
    """The blocks of a depth: answers, title and byline, then the other blocks; at depth SUMMARY without title."""
    blocks = view.at(depth)
    if depth == Depth.SUMMARY:
        return blocks
    answers = [block for block in blocks if isinstance(block, Line) and block.role == "answer"]
    head = [Line(text) for text in (view.title, view.byline) if text]
    return (*answers, *head, *(block for block in blocks if block not in answers))


def block_lines(blocks: Iterable[Block]) -> list[str]:
    """Writes blocks as lines, with an empty line between blocks of different kinds."""
    lines: list[str] = []
    previous_kind = ""
    for block in blocks:
        text = lines_of(block)
        if not text:
            continue
        kind = kind_of(block)
        if lines and (kind != previous_kind or kind in ("answer", "table", "heading")) and previous_kind != "heading":
            lines.append("")
        lines += text
        previous_kind = kind
    return lines


def kind_of(block: Block) -> str:
    """The kind of a block; an empty line separates blocks of different kinds."""
    if isinstance(block, Line):
        return "answer" if block.role == "answer" else "line"
    return type(block).__name__.lower()


def lines_of(block: Block) -> list[str]:
    """Writes a block as lines; empty for blocks that only pages show."""
    match block:
        case Heading():
            return [block.text]
        case Line():
            label = block.label or ("warning" if block.role == "warning" else "")
            return wrapped(f"{label}: {block.text}" if label else block.text, MAX_SENTENCE_LINES)
        case Terms():
            return [line for name, text in block.pairs for line in entry(name, text)]
        case Table():
            return table_lines(block)
        case Characters():
            return list(block.lines)
        case Command():
            return command_lines(block)
        case Folded():
            return block_lines(block.blocks)
    return []


def command_lines(command: Command) -> list[str]:
    """Writes commands below their purpose; a single command beside a purpose of one word if both fit into a line."""
    lines = [f"{INDENT}{line}" for line in command.lines]
    if not command.purpose:
        return lines
    one_line = f"{command.purpose}: {command.lines[0]}"
    beside = len(lines) == 1 and " " not in command.purpose and len(one_line) <= WIDTH
    return [one_line] if beside else [f"{command.purpose}:", *lines]


def table_lines(table: Table) -> list[str]:
    """Writes a table as lines: title, rows, number of omitted rows, meanings of its columns."""
    rows = table.frame.iloc[: table.most] if table.most else table.frame
    lines, columns = layout(Table(table.title, rows, table.columns, table.labels, table.across, table.choices))
    left_out = len(table.frame) - len(rows)
    noun, where = (f" {table.noun}" if table.noun else ""), (f": {table.more}" if table.more else "")
    more = [f"{left_out} more{noun}{where}"] if left_out else []
    return [
        *wrapped(table.title),
        *lines,
        *more,
        *(line for text in legend(table, columns) for line in wrapped(text, MAX_SENTENCE_LINES)),
    ]


def legend(table: Table, columns: Iterable[str]) -> list[str]:
    """The meanings of the columns that have one."""
    fields = table.columns
    return [f"{fields[name].heading}: {fields[name].meaning}" for name in columns if fields[name].meaning]


def layout(table: Table) -> tuple[list[str], list[str]]:
    """Writes the rows of a table as lines, without its title; also returns the names of the columns that fit."""
    if table.frame.empty:
        return [], []
    fields = table.columns
    labels = [name for name in list(fields)[: table.labels] if name != table.across]
    texts = {name: field.texts(table.frame[name]) for name, field in fields.items()}
    keys = list(zip(*(texts[name] for name in labels), strict=True)) or [()] * len(table.frame)
    groups = texts[table.across] if table.across else [""] * len(table.frame)
    titles, unique_keys = list(dict.fromkeys(groups)), list(dict.fromkeys(keys))
    row_of = {(group, key): row for row, (group, key) in enumerate(zip(groups, keys, strict=True))}

    def block(title: str, columns: Sequence[str]) -> list[str]:
        shown = [fields[name] for name in columns]
        heads = [field.heading for field in shown] if len(shown) > 1 or not title else [title]
        rows = [row_of.get((title, key)) for key in unique_keys]
        cells = [[texts[name][row] if row is not None else "" for name in columns] for row in rows]
        lines = aligned([heads, *cells], [not field.is_number for field in shown])
        above = title if len(shown) > 1 else ""
        width = max(len(above), len(lines[0]))
        return [above.ljust(width), *(line.rjust(width) for line in lines)]

    side = Labels([fields[name] for name in labels], unique_keys)
    choices = list(table.choices) or [[name for name in fields if name not in labels and name != table.across]]
    titled = bool(labels) and all(fields[name].kind == "title" for name in labels)
    # Choose the first list of columns that fits beside all labels; else the first that fits if labels become headings
    # above the rows (all labels of kind "title", else all but the last). With one block, prefer headings to fewer
    # columns.
    tried = [(columns, [block(title, columns) for title in titles]) for columns in choices]
    uncut = tried if titled or len(titles) > 1 else tried[:1]
    max_above = len(labels) if titled else max(len(labels) - 1, 0)
    beside_labels = ((columns, blocks) for columns, blocks in uncut if not titled and side.fits(blocks, 0))
    below_headings = ((columns, blocks) for columns, blocks in tried if side.fits(blocks, max_above))
    columns, blocks = next(itertools.chain(beside_labels, below_headings, uncut[-1:]))
    return side.beside(blocks), [*labels, *columns]


@dataclass(frozen=True)
class Labels:
    """The left side of a table: fields of the labels, and their texts in each row."""

    fields: Sequence[Field]
    rows: Sequence[Sequence[str]]

    def lines(self, above: int) -> list[str]:
        """An empty line beside the titles, a line of headings, a line per row; skips the first `above` labels."""
        heads = [field.heading for field in self.fields]
        lines = aligned(
            [row[above:] for row in (heads, *self.rows)], [not field.is_number for field in self.fields[above:]]
        )
        return [" " * len(lines[0]), *lines]

    def fits(self, blocks: Sequence[Sequence[str]], above: int) -> bool:
        """True if all blocks fit beside the labels without the first `above`, which are headings."""
        widths = [len(lines[0]) for lines in blocks]
        label_width = len(self.lines(above)[0])
        return (label_width + len(BETWEEN) if label_width else 0) + sum(widths) + len(BETWEEN) * (
            len(widths) - 1
        ) <= WIDTH

    def beside(self, blocks: Sequence[Sequence[str]]) -> list[str]:
        """Joins labels and blocks side by side; blocks that do not fit follow in further tables."""
        columns = list(blocks)
        counts = range(len(self.fields) + 1)
        widest = [max(columns, key=lambda lines: len(lines[0]))] if columns else []
        above = next((i for i in counts if i < len(counts) - 1 and self.fits(columns, i)), None)
        if above is None:
            above = next((i for i in counts if self.fits(widest, i)), len(self.fields))
        label_lines = self.lines(above)
        names = [field.heading for field in self.fields]
        result: list[str] = []
        while columns:
            count = max((i for i in range(1, len(columns) + 1) if self.fits(columns[:i], above)), default=1)
            joined = [
                BETWEEN.join(filter(None, (label, *blocks_of_row))).rstrip()
                for label, *blocks_of_row in zip(label_lines, *columns[:count], strict=True)
            ]
            titled = any(lines[0].strip() for lines in columns[:count])
            result += [""] if result else []
            result += joined[0 if titled else 1 : 2]
            rows = [row[:above] for row in self.rows]
            if above and all(field.kind == "title" for field in self.fields[:above]):
                result += [line for row, numbers in zip(rows, joined[2:], strict=True) for line in (*cut(row), numbers)]
            else:
                result += under_headings(joined[2:], names, rows) if above else joined[2:]
            columns = columns[count:]
        return result


def cut(titles: Sequence[str]) -> list[str]:
    """Shortens the titles of a row to a line each."""
    return [textwrap.shorten(title, WIDTH, placeholder=" ...") for title in titles]


def under_headings(lines: Sequence[str], names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Adds a heading `name=value, ...` before each group of rows with equal `values`."""
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
    """Joins the cells of rows to lines of the same width; `left` is True for columns that are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(
            cell.ljust(width) if words else cell.rjust(width)
            for cell, width, words in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]


def wrapped(text: str, max_lines: int | None = None) -> list[str]:
    """Wraps a text; cuts it after `max_lines` lines."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False, max_lines=max_lines, placeholder=" ... and more"
    )


def entry(name: str, text: str) -> list[str]:
    """Wraps a term and its definition."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<8}", subsequent_indent=" " * 10, break_on_hyphens=False)
