"""Writes views for terminals: wrapped sentences, and tables with the values of a factor side by side.

A table consists of labels on the left and blocks of columns, one block per value of the factor `Table.across`. If
labels and blocks do not fit side by side, labels become headings above groups of rows.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from downbeat.output.blocks import Block, Characters, Command, Depth, Folded, Heading, Line, Table, Terms, View
from downbeat.output.fields import Field

WIDTH = 80  # columns of the terminal
COLUMN_GAP = "  "
BLOCK_GAP = "   "  # between blocks of columns
MAX_SENTENCE_LINES = 8  # a longer sentence is cut
INDENT = "  "


def view_lines(view: View, depth: Depth = Depth.TEXT) -> list[str]:
    """Writes a view as lines: answers, title, then the other blocks; no title at depth SUMMARY."""
    return block_lines(titled(view, depth))


def titled(view: View, depth: Depth) -> tuple[Block, ...]:
    """The blocks of a depth in display order: answers, title and byline, other blocks; no title at depth SUMMARY."""
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
        begins_group = kind != previous_kind or kind in ("answer", "table", "heading")
        if lines and begins_group and previous_kind != "heading":
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
            return [
                line
                for name, text in block.pairs
                for line in textwrap.wrap(
                    text, WIDTH, initial_indent=f"  {name:<8}", subsequent_indent=" " * 10, break_on_hyphens=False
                )
            ]
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
    """Writes a table as lines: title, rows, number of omitted rows, meanings of the columns."""
    rows = table.frame.iloc[: table.max_rows] if table.max_rows else table.frame
    lines, columns = layout(Table(table.title, rows, table.columns, table.labels, table.across, table.choices))
    omitted = len(table.frame) - len(rows)
    if omitted:
        noun = f" {table.noun}" if table.noun else ""
        where = f": {table.more}" if table.more else ""
        lines = [*lines, f"{omitted} more{noun}{where}"]
    meanings = [line for text in legend(table, columns) for line in wrapped(text, MAX_SENTENCE_LINES)]
    return [*wrapped(table.title), *lines, *meanings]


def legend(table: Table, columns: Iterable[str]) -> list[str]:
    """The meanings of columns, each as "heading: meaning"; columns without meaning are left out."""
    fields = table.columns
    return [f"{fields[name].heading}: {fields[name].meaning}" for name in columns if fields[name].meaning]


def layout(table: Table) -> tuple[list[str], list[str]]:
    """Writes the rows of a table as lines; also returns the names of the columns in them: those that fit.

    The lines have headings, but not the title of the table.
    """
    if table.frame.empty:
        return [], []
    fields = table.columns
    labels = [name for name in list(fields)[: table.labels] if name != table.across]
    texts = {name: field.texts(table.frame[name]) for name, field in fields.items()}
    # The key of a row: the texts of its labels. A block has a title: the text of `across`.
    keys = list(zip(*(texts[name] for name in labels), strict=True)) or [()] * len(table.frame)
    titles = texts[table.across] if table.across else [""] * len(table.frame)
    unique_titles, unique_keys = list(dict.fromkeys(titles)), list(dict.fromkeys(keys))
    row_of = {(title, key): row for row, (title, key) in enumerate(zip(titles, keys, strict=True))}

    def block(title: str, columns: Sequence[str]) -> list[str]:
        """A block of columns as lines of equal width: title, headings, a line per key."""
        shown = [fields[name] for name in columns]
        # The title of a single column replaces its heading.
        headings = [field.heading for field in shown] if len(shown) > 1 or not title else [title]
        rows = [row_of.get((title, key)) for key in unique_keys]
        cells = [[texts[name][row] if row is not None else "" for name in columns] for row in rows]
        lines = aligned([headings, *cells], [not field.is_number for field in shown])
        first_line = title if len(shown) > 1 else ""
        width = max(len(first_line), len(lines[0]))
        return [first_line.ljust(width), *(line.rjust(width) for line in lines)]

    left_side = Labels([fields[name] for name in labels], unique_keys)
    choices = list(table.choices) or [[name for name in fields if name not in labels and name != table.across]]
    has_titles = bool(labels) and all(fields[name].kind == "title" for name in labels)
    # Choose the first list of columns that fits beside all labels; else the first that fits if labels become headings
    # above the rows (all labels of kind "title", else all but the last). With one block, prefer headings to fewer
    # columns.
    candidates = [(columns, [block(title, columns) for title in unique_titles]) for columns in choices]
    preferred = candidates if has_titles or len(unique_titles) > 1 else candidates[:1]
    max_headings = len(labels) if has_titles else max(len(labels) - 1, 0)
    beside_labels = ((columns, blocks) for columns, blocks in preferred if not has_titles and left_side.fits(blocks, 0))
    below_headings = ((columns, blocks) for columns, blocks in candidates if left_side.fits(blocks, max_headings))
    columns, blocks = next(itertools.chain(beside_labels, below_headings, preferred[-1:]))
    return left_side.beside(blocks), [*labels, *columns]


@dataclass(frozen=True)
class Labels:
    """The left side of a table: fields of the labels, and their texts in each row.

    The first labels, `above` in number, may be headings above groups of rows instead.
    """

    fields: Sequence[Field]
    rows: Sequence[Sequence[str]]

    def lines(self, above: int) -> list[str]:
        """The lines of the left side: an empty line beside the titles of blocks, headings, a line per row."""
        headings = [field.heading for field in self.fields]
        is_left = [not field.is_number for field in self.fields[above:]]
        lines = aligned([row[above:] for row in (headings, *self.rows)], is_left)
        return [" " * len(lines[0]), *lines]

    def fits(self, blocks: Sequence[Sequence[str]], above: int) -> bool:
        """True if all blocks fit beside the labels that are not headings."""
        widths = [len(lines[0]) for lines in blocks]
        label_width = len(self.lines(above)[0])
        if label_width:
            widths.insert(0, label_width)
        return sum(widths) + len(BLOCK_GAP) * (len(widths) - 1) <= WIDTH

    def beside(self, blocks: Sequence[Sequence[str]]) -> list[str]:
        """Joins labels and blocks side by side; blocks that do not fit follow in further tables."""
        remaining = list(blocks)
        counts = range(len(self.fields) + 1)
        # As few headings as possible, so that all blocks fit beside the last label; else, so that the widest block
        # fits.
        above = next((count for count in counts[:-1] if self.fits(remaining, count)), None)
        if above is None:
            widest = [max(remaining, key=lambda lines: len(lines[0]))] if remaining else []
            above = next((count for count in counts if self.fits(widest, count)), len(self.fields))
        label_lines = self.lines(above)
        headings = [row[:above] for row in self.rows]
        are_titles = all(field.kind == "title" for field in self.fields[:above])
        result: list[str] = []
        while remaining:
            fitting = [count for count in range(1, len(remaining) + 1) if self.fits(remaining[:count], above)]
            count = max(fitting, default=1)
            joined = [
                BLOCK_GAP.join(filter(None, (label, *lines_of_row))).rstrip()
                for label, *lines_of_row in zip(label_lines, *remaining[:count], strict=True)
            ]
            has_titles = any(lines[0].strip() for lines in remaining[:count])
            if result:
                result.append("")
            result += joined[0 if has_titles else 1 : 2]
            rows = joined[2:]
            if above == 0:
                result += rows
            elif are_titles:  # each row has its titles above it
                for titles, row in zip(headings, rows, strict=True):
                    result += [textwrap.shorten(title, WIDTH, placeholder=" ...") for title in titles]
                    result.append(row)
            else:
                result += under_headings(rows, [field.heading for field in self.fields], headings)
            remaining = remaining[count:]
        return result


def under_headings(lines: Sequence[str], names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Adds a heading `name=value, ...` before each group of rows with equal `values`."""
    result: list[str] = []
    for i, line in enumerate(lines):
        if i == 0 or values[i] != values[i - 1]:
            pairs = ", ".join(f"{name}={value}" for name, value in zip(names, values[i], strict=False))
            result += ["", *wrapped(pairs)]
        result.append(line)
    return result


def aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Joins the cells of each row to a line; all lines have the same width.

    Args:
        rows: texts of the cells.
        left: for each column, True if it is aligned to the left.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        COLUMN_GAP.join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]


def wrapped(text: str, max_lines: int | None = None) -> list[str]:
    """Wraps a text; cuts it after `max_lines` lines."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False, max_lines=max_lines, placeholder=" ... and more"
    )
