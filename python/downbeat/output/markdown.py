"""Writes views as Markdown for issues and pull requests, and as HTML for notebooks."""

from __future__ import annotations

import html

from downbeat.output.blocks import Block, Command, Depth, Folded, Heading, Line, Table, Terms, View
from downbeat.output.terminal import legend, titled
from downbeat.text import printable

MAX_NOTEBOOK_ROWS = 60  # rows of a table in a notebook


def markdown_lines(view: View, depth: Depth = Depth.TEXT) -> list[str]:
    """Writes a view as lines of Markdown; tables have all columns."""
    return [line for block in titled(view, depth) for line in lines_of(block)]


def lines_of(block: Block) -> list[str]:
    """Writes a block as lines of Markdown; omits pictures."""
    match block:
        case Heading():
            return [f"### {block.text}", ""]
        case Line(role="note"):
            return [f"- {printable(block.text)}"]
        case Line():
            label = block.label or ("warning" if block.role == "warning" else "")
            return [printable(f"**{label}:** {block.text}" if label else block.text), ""]
        case Terms():
            terms = [f"{name}: {text}" if name else text for name, text in block.pairs]
            return [*(f"- {printable(term)}" for term in terms), ""]
        case Table():
            headings, *rows = [[text.replace("|", "\\|") for text in row] for row in table_texts(block)]
            title = [block.title, ""] if block.title else []
            lines = [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]
            remarks = [f"- {printable(text)}" for text in legend(block, block.columns)]
            return [*title, *lines, "", *remarks]
        case Command():
            purpose = [f"{block.purpose}:", ""] if block.purpose else []
            return [*purpose, "```sh", *block.lines, "```", ""]
        case Folded():
            return [line for inner in block.blocks for line in lines_of(inner)]
    return []


def table_texts(table: Table) -> list[list[str]]:
    """The texts of a table with all columns: the headings, then each row."""
    columns = [[field.heading, *field.texts(table.frame[name])] for name, field in table.columns.items()]
    return [list(row) for row in zip(*columns, strict=True)]


def notebook_html(view: View, depth: Depth = Depth.TEXT) -> str:
    """Writes a view as an HTML element for a notebook."""
    elements = []
    for block in titled(view, depth):
        match block:
            case Table():
                headings, *rows = table_texts(block)
                heading_cells = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
                elements.append(f"<table><thead><tr>{heading_cells}</tr></thead><tbody>")
                for row in rows[:MAX_NOTEBOOK_ROWS]:
                    cells = "".join(f"<td>{html.escape(text)}</td>" for text in row)
                    elements.append(f"<tr>{cells}</tr>")
                elements.append("</tbody></table>")
                if len(rows) > MAX_NOTEBOOK_ROWS:
                    elements.append(f"<p>{len(rows) - MAX_NOTEBOOK_ROWS} more rows</p>")
            case Line(role="note"):
                elements.append(f"<li>{html.escape(printable(block.text))}</li>")
            case Line():
                elements.append(f"<p>{html.escape(printable(block.text))}</p>")
            case Terms():
                elements += [f"<li>{html.escape(f'{name}: {text}')}</li>" for name, text in block.pairs]
    return "\n".join(elements)
