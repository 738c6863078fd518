"""Writes views as Markdown for issues and pull requests, and as HTML for notebooks."""

from __future__ import annotations

import html

from downbeat.output.blocks import Block, Command, Depth, Folded, Heading, Line, Table, Terms, View
from downbeat.output.terminal import legend, titled
from downbeat.text import printable

NOTEBOOK_ROWS = 60  # of a table in a notebook


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
            return [*(f"- {printable(f'{name}: {text}' if name else text)}" for name, text in block.pairs), ""]
        case Table():
            head, *rows = [[text.replace("|", "\\|") for text in row] for row in table_texts(block)]
            title = [block.title, ""] if block.title else []
            remarks = [f"- {printable(text)}" for text in legend(block, block.columns)]
            return [*title, *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)), "", *remarks]
        case Command():
            return [*([f"{block.purpose}:", ""] if block.purpose else []), "```sh", *block.lines, "```", ""]
        case Folded():
            return [line for inner in block.blocks for line in lines_of(inner)]
    return []


def table_texts(table: Table) -> list[list[str]]:
    """Headings, then the texts of each row, with all columns."""
    columns = [[field.heading, *field.texts(table.frame[name])] for name, field in table.columns.items()]
    return [list(row) for row in zip(*columns, strict=True)]


def notebook_html(view: View, depth: Depth = Depth.TEXT) -> str:
    """Writes a view as an HTML element for a notebook."""
    elements = []
    for block in titled(view, depth):
        match block:
            case Table():
                head, *rows = table_texts(block)
                body = rows[:NOTEBOOK_ROWS]
                cells = ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in body]
                heads = "".join(f"<th>{html.escape(text)}</th>" for text in head)
                elements.append(f"<table><thead><tr>{heads}</tr></thead><tbody>")
                elements += [f"<tr>{row}</tr>" for row in cells]
                elements.append("</tbody></table>")
                if len(rows) > len(body):
                    elements.append(f"<p>{len(rows) - len(body)} more rows</p>")
            case Line(role="note"):
                elements.append(f"<li>{html.escape(printable(block.text))}</li>")
            case Line():
                elements.append(f"<p>{html.escape(printable(block.text))}</p>")
            case Terms():
                elements += [f"<li>{html.escape(f'{name}: {text}')}</li>" for name, text in block.pairs]
    return "\n".join(elements)
