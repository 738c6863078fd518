"""Writes views for browsers: one HTML file that contains its style, script, pictures (SVG) and numbers (CSV).

Texts become `Markup`, which markupsafe does not escape again; `Markup.format` escapes its arguments.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib.metadata
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import matplotlib
import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from downbeat.files import replacing, write_text, writing
from downbeat.output.blocks import (
    Block,
    Characters,
    Command,
    Depth,
    Folded,
    Heading,
    Line,
    Numbers,
    Picture,
    Table,
    Terms,
    View,
    anchor,
)
from downbeat.output.fields import heading
from downbeat.output.records import write_csv
from downbeat.text import printable

STYLE = Path(__file__).with_name("page.css")
SCRIPT = Path(__file__).with_name("page.js")
# Content security policy: no other file, no network, no form, and no script except that of the page ({}: its hash).
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; "
    "form-action 'none'"
)
# Rows of a table on a page; its CSV link has all rows.
MAX_ROWS = 200
# Characters; columns with longer texts are broken into lines on a narrow screen.
MAX_SHORT_TEXT = 30
# Columns that are shown even if all values are equal.
ALWAYS_SHOWN = ("paper", "verdict")
MIN_SWITCHED = 2  # series; with fewer, a picture has no boxes to hide them
MIN_LINKED = 3  # sections; with fewer, a page has no table of contents


class Page(Protocol):
    """An object that has a view, such as a report."""

    def view(self) -> View:
        """The blocks of the page."""


def view_of(page: Page | View) -> View:
    """The view of a page; a view itself is returned as it is."""
    return page if isinstance(page, View) else page.view()


def write_page(path: Path, page: Page | View) -> None:
    """Writes a view as one file of HTML that needs no other files and no network.

    Args:
        path: file to write, `-` for standard output; an existing file is replaced once the whole page is on disk.
        page: a view, or an object that has one; the names of its pictures must be unique.

    Raises:
        DownbeatError: the file cannot be written.
        ValueError: two pictures have the same name.
    """
    view = view_of(page)
    names = Counter(anchor(picture.name) for picture in view.pictures)
    for name, number in names.items():
        if number > 1:
            raise ValueError(f"{number} pictures are named '{name}'")
    write_text(path, render_page(view))


def render_page(content: Page | View) -> str:
    """The HTML of a view: header, sentences and numbers (lead), first other blocks (answer), contents, sections."""
    view = view_of(content)
    first_section, *sections = sections_of(view.at(Depth.PAGE))
    blocks = first_section.blocks
    lead_end = next((i for i, block in enumerate(blocks) if not isinstance(block, Line | Numbers)), len(blocks))
    after_lead = blocks_html(blocks[lead_end:])
    answer = Markup('<section id="answer">\n{}</section>\n').format(after_lead) if after_lead else Markup("")
    headings = [section.heading for section in sections]
    table_of_contents = contents(headings) if len(headings) >= MIN_LINKED else Markup("")
    byline = Markup('<p class="byline">{}</p>\n').format(text_of(view.byline)) if view.byline else ""
    script = SCRIPT.read_text(encoding="utf-8")
    page = Markup(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>{title}</title>\n<style>\n{style}</style>\n</head>\n"
        "<body>\n<header>\n<h1>{title}</h1>\n{byline}</header>\n<main>\n"
        '<section class="lead" aria-label="What was found">\n{lead}</section>\n{answer}{contents}{body}</main>\n'
        "<footer>\n<p>Made by downbeat {version}. This file needs no other file and no network.</p>\n</footer>\n"
        "<script>{script}</script>\n</body>\n</html>\n"
    )
    return str(
        page.format(
            policy=Markup(POLICY.format(base64.b64encode(hashlib.sha256(script.encode()).digest()).decode())),
            script=Markup(script),
            title=text_of(view.title),
            style=Markup(STYLE.read_text(encoding="utf-8")),
            byline=byline,
            lead=blocks_html(blocks[:lead_end]),
            answer=answer,
            contents=table_of_contents,
            body=Markup("").join(section_html(section) for section in sections),
            version=importlib.metadata.version("downbeat"),
        )
    )


@dataclass(frozen=True)
class Section:
    """A heading with the blocks up to the next heading."""

    heading: Heading
    blocks: tuple[Block, ...]


def sections_of(blocks: Sequence[Block]) -> list[Section]:
    """Divides blocks into sections at headings; the first section has an empty heading, and may have no blocks."""
    sections: list[Section] = []
    title = Heading("")
    in_section: list[Block] = []
    for block in [*blocks, Heading("")]:
        if isinstance(block, Heading):
            sections.append(Section(title, tuple(in_section)))
            title, in_section = block, []
        else:
            in_section.append(block)
    return sections


def contents(headings: Iterable[Heading]) -> Markup:
    """The table of contents: a link to each section."""
    links = Markup("")
    for title in headings:
        note = Markup("<br>{}").format(text_of(title.note)) if title.note else ""
        link = Markup('<li><a href="#{}">{}</a>{}</li>\n')
        links += link.format(anchor(title.text), text_of(title.text), note)
    return Markup('<nav aria-label="Contents">\n<ul>\n{}</ul>\n</nav>\n').format(links)


def section_html(section: Section) -> Markup:
    """A section with its heading, as HTML."""
    title = section.heading.text
    element = Markup('<section id="{}">\n<h2>{}</h2>\n{}</section>\n')
    return element.format(anchor(title), text_of(title), blocks_html(section.blocks))


def blocks_html(blocks: Iterable[Block]) -> Markup:
    """Blocks as HTML; adjacent blocks with the same `group_key` become one element."""
    groups = (tuple(group) for _, group in itertools.groupby(blocks, key=group_key))
    return Markup("").join(map(group_html, groups))


def group_key(block: Block) -> object:
    """The same key for adjacent sentences with labels, or of one role; a different one for each other block."""
    if isinstance(block, Line):
        return "labeled" if block.label else block.role
    return id(block)


def group_html(blocks: Sequence[Block]) -> Markup:
    """A group of `blocks_html` as an element of HTML."""
    first = blocks[0]
    if isinstance(first, Line):
        return lines_html([block for block in blocks if isinstance(block, Line)])
    match first:
        case Characters():
            return Markup("")
        case Numbers():
            return numbers_html(first)
        case Terms():
            return terms_html(first)
        case Table():
            return table_html(first, first.title) + csv_html(first.frame, anchor(first.title))
        case Picture():
            return picture_html(first)
        case Command():
            purpose = Markup("<p>{}:</p>\n").format(text_of(first.purpose)) if first.purpose else Markup("")
            lines = Markup("").join(Markup("{}\n").format(text_of(line)) for line in first.lines)
            return purpose + Markup('<pre tabindex="0">{}</pre>\n').format(lines)
        case Folded():
            element = Markup('<details class="part">\n<summary>{}</summary>\n{}</details>\n')
            return element.format(text_of(first.summary), blocks_html(first.blocks))
    raise TypeError(f"a page has no {type(first).__name__}")


def lines_html(lines: Sequence[Line]) -> Markup:
    """Sentences of one role as paragraphs, warnings as a list; sentences with labels as a table."""
    if lines[0].label:
        row = Markup('<tr><th scope="row">{}</th><td>{}</td></tr>\n')
        rows = (row.format(text_of(line.label), text_of(line.text)) for line in lines)
        return Markup('<table class="found">\n{}</table>\n').format(Markup("").join(rows))
    texts = [text_of(line.text) for line in lines]
    match lines[0].role:
        case "warning":
            items = (Markup("<li>{}</li>\n").format(text) for text in texts)
            return Markup('<ul class="warnings">\n{}</ul>\n').format(Markup("").join(items))
        case "answer":
            return Markup("").join(Markup('<p class="headline">{}</p>\n').format(text) for text in texts)
        case "note":
            return Markup("").join(Markup('<p class="note">{}</p>\n').format(text) for text in texts)
    return Markup("").join(Markup("<p>{}</p>\n").format(text) for text in texts)


def numbers_html(block: Numbers) -> Markup:
    """Numbers in large figures, as a list."""
    items = []
    for number in block.numbers:
        unit = f" {number.unit}" if number.unit else ""
        interval = Markup(" <i>({})</i>").format(text_of(number.interval)) if number.interval else ""
        item = Markup("<li><b>{}</b>{}{}<br>{}</li>\n")
        items.append(item.format(text_of(number.value), text_of(unit), interval, text_of(number.about)))
    return Markup('<ul class="numbers">\n{}</ul>\n').format(Markup("").join(items))


def terms_html(block: Terms) -> Markup:
    """Terms with their definitions, below each other, or side by side if `columns`."""
    pair = Markup("<div><dt>{}</dt><dd>{}</dd></div>\n")
    pairs = Markup("").join(pair.format(text_of(name), text_of(text)) for name, text in block.pairs)
    element = Markup('<dl class="beside">\n{}</dl>\n') if block.columns else Markup("<dl>\n{}</dl>\n")
    return element.format(pairs)


def picture_html(picture: Picture) -> Markup:
    """A picture with its caption; its numbers are a table that the reader can open."""
    element = Markup(
        '<figure id="{name}">\n<h3>{title}</h3>\n{drawings}'
        "<figcaption>{caption}</figcaption>\n<details>\n<summary>The numbers</summary>\n{table}{csv}</details>\n"
        "</figure>\n"
    )
    name = anchor(picture.name)
    return element.format(
        name=name,
        title=text_of(picture.title),
        drawings=drawings_html(picture),
        caption=text_of(picture.caption),
        table=table_html(Table(picture.title, picture.numbers), picture.title),
        csv=csv_html(picture.numbers, name),
    )


def drawings_html(picture: Picture) -> Markup:
    """The drawings of a picture, for wide and for narrow screens if they differ; the style sheet shows one of them."""
    box = Markup('<div class="{}" tabindex="0">{}</div>\n')
    if picture.narrow is None:
        return switches_html(picture) + box.format("drawing", picture_svg(picture))
    narrow = dataclasses.replace(picture, name=f"{picture.name}-narrow", figure=picture.narrow)
    drawings = (("drawing wide-screen", picture), ("drawing narrow-screen", narrow))
    boxes = Markup("").join(box.format(style, picture_svg(drawing)) for style, drawing in drawings)
    return switches_html(picture) + boxes


def switches_html(picture: Picture) -> Markup:
    """Boxes that show and hide the series of a picture; the script of the page makes them visible."""
    labels = dict.fromkeys(line.label for panel in picture.panels for line in panel.lines.values() if line.label)
    if len(labels) < MIN_SWITCHED:
        return Markup("")
    switch = Markup('<label><input type="checkbox" checked value="{}"> {}</label>\n')
    switches = Markup("").join(switch.format(anchor(label), text_of(label)) for label in labels)
    return Markup('<p class="switches" hidden>Show:\n{}</p>\n').format(switches)


@dataclass(frozen=True)
class ShownColumn:
    """A column of a table on a page."""

    title: str  # heading
    # Class in the style sheet: "number"; "verdict"; "long": texts that may be broken into lines; "": short texts.
    style: str
    texts: Sequence[str]  # a text per row


def table_html(table: Table, caption: str) -> Markup:
    """A table in a box that scrolls; below it meanings of columns, constant values and the number of omitted rows."""
    columns, constant = shown_columns(table)
    heading_cell, cell = Markup('<th scope="col" class="{}">{}</th>'), Markup('<td class="{}">{}</td>')
    headings = Markup("").join(heading_cell.format(column.style, text_of(column.title)) for column in columns)
    body = Markup("")
    for texts in zip(*(column.texts for column in columns), strict=True):
        row = Markup("")
        for text, column in zip(texts, columns, strict=True):
            style = f"verdict {anchor(text)}" if column.style == "verdict" else column.style
            row += cell.format(style, text_of(text))
        body += Markup("<tr>{}</tr>\n").format(row)
    element = Markup(
        '<div class="wide" tabindex="0" role="region" aria-label="{0}">\n<table>\n<caption>{0}</caption>\n'
        "<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody>\n</table>\n</div>\n"
    ).format(text_of(caption), headings, body)
    omitted = max(0, len(table.frame) - MAX_ROWS)
    meanings = tuple((field.heading, field.meaning) for field in table.columns.values() if field.meaning)
    element += terms_html(Terms(meanings)) if meanings else Markup("")
    remarks = [f"In all rows: {constant}."] if constant else []
    remarks += [f"{omitted} more rows are in the CSV file."] if omitted else []
    return element + Markup("").join(Markup('<p class="note">{}</p>\n').format(text_of(text)) for text in remarks)


def shown_columns(table: Table) -> tuple[list[ShownColumn], str]:
    """The columns of a table on a page, and the constant values as text, e.g. "size [byte] 8, pattern none".

    A column with the same value in several rows becomes part of that text, unless it is `ALWAYS_SHOWN`. The columns
    `low...` and `high...` become one column, an interval.
    """
    frame, fields = table.frame, table.columns
    rows = frame.head(MAX_ROWS)
    may_be_constant = [name for name in fields if name in frame and name not in ALWAYS_SHOWN and len(frame) > 1]
    constant = [name for name in may_be_constant if is_constant(frame[name])]
    texts = {name: field.texts(rows[name]) for name, field in fields.items() if name not in constant}
    titles = {name: field.heading for name, field in fields.items()}
    styles = {name: style_of(name, fields[name].is_number, column) for name, column in texts.items()}
    for high in [name for name in texts if re.match("high(_|$)", name) and name.replace("high", "low") in texts]:
        low = high.replace("high", "low")
        pairs = zip(texts[low], texts.pop(high), strict=True)
        texts[low] = [f"{low_text} to {high_text}" if low_text != "-" else "-" for low_text, high_text in pairs]
        titles[low] = heading(low.replace("low", "interval"))
    constants = ", ".join(f"{titles[name]} {fields[name].text(frame[name].iloc[0])}" for name in constant)
    return [ShownColumn(titles[name], styles[name], column) for name, column in texts.items()], constants


def is_constant(column: pd.Series) -> bool:
    """True if all values of a column are equal."""
    try:
        return bool(column.nunique(dropna=False) == 1)
    except TypeError:  # values such as lists
        return False


def style_of(name: str, is_number: bool, texts: Sequence[str]) -> str:
    """The value of `ShownColumn.style` for a column."""
    if name == "verdict":
        return name
    if is_number:
        return "number"
    return "long" if max(map(len, texts), default=0) > MAX_SHORT_TEXT else ""


def csv_html(frame: pd.DataFrame, name: str) -> Markup:
    """A link that contains the frame as a CSV file in full precision."""
    text = io.StringIO()
    write_csv(frame, text)
    content = base64.b64encode(text.getvalue().encode()).decode()
    link = Markup('<p class="note"><a download="{0}.csv" href="data:text/csv;base64,{1}">{0}.csv</a></p>\n')
    return link.format(name, content)


def text_of(text: str) -> Markup:
    """Escapes a text for HTML, and makes its control characters visible, which HTML forbids."""
    return escape(printable(text))


# Namespaces of XML.
SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
# Beginning of the formulas that matplotlib itself writes: powers of ten beside an axis.
MATHEMATICS = "$\\mathdefault{"
SVG_METADATA = f"{{{SVG}}}metadata"


def picture_svg(picture: Picture) -> Markup:
    """A picture as an element `svg`. Its texts can be selected, and its identifiers are unique on the page.

    Equal pictures give equal texts, so that reports of the same data are equal files.
    """
    set_plain(picture.figure)
    file = io.BytesIO()
    name = anchor(picture.name)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        # `savefig` would draw the figure twice, first for its layout.
        FigureCanvasSVG(picture.figure).print_svg(file, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    values = hover_values(picture.figure)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(printable(file.getvalue().decode()))
    for child in root.findall(SVG_METADATA):
        root.remove(child)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            element.set(attribute, with_prefix(attribute, value, name))
    root.extend(values)
    # The style sheet sets the size; the viewBox keeps the proportions.
    del root.attrib["width"], root.attrib["height"]
    title, description = f"{name}.title", f"{name}.caption"
    root.attrib |= {"role": "img", "aria-labeledby": title, "aria-describedby": description}
    texts = (("title", title, picture.title), ("desc", description, picture.caption))
    for position, (tag, identifier, text) in enumerate(texts):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": identifier})
        element.text = printable(text)
        root.insert(position, element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


HOVER_RADIUS = 6.0  # points; a value is shown if the pointer is this close to it
MAX_HOVER = 600  # values of a picture; with more, no value is shown on hovering, because the page would be slow


def hover_values(figure: Figure) -> list[ElementTree.Element]:
    """Invisible circles on the points of a figure drawn as SVG; a browser shows their title under the pointer."""
    scale, height = 72.0 / figure.dpi, 72.0 * figure.get_figheight()
    circles: list[ElementTree.Element] = []
    for axes in figure.axes:
        for line in axes.get_lines():
            if line.get_marker() in ("", "None", None, "_", "|") or line.get_transform() != axes.transData:
                continue
            name = str(line.get_label())
            points = np.asarray(line.get_xydata(), dtype=float)
            # SVG measures from the top, in points; matplotlib from the bottom, in dots.
            for (x, y), (left, bottom) in zip(points, scale * axes.transData.transform(points), strict=True):
                if not np.isfinite((left, bottom)).all():
                    continue
                text = f"{axes.get_xlabel() or 'x'} {x:.5g}, {axes.get_ylabel() or 'y'} {y:.4g}"
                shape = {"cx": f"{left:.1f}", "cy": f"{height - bottom:.1f}", "r": f"{HOVER_RADIUS:g}"}
                circle = ElementTree.Element(f"{{{SVG}}}circle", shape | {"fill": "transparent"})
                title = ElementTree.SubElement(circle, f"{{{SVG}}}title")
                title.text = printable(text if name.startswith("_") else f"{name}: {text}")
                circles.append(circle)
    return circles if len(circles) <= MAX_HOVER else []


def set_plain(figure: Figure) -> None:
    """Switches off formulas in the texts of a figure, so that a `$` in a name is printed."""
    for text in figure.findobj(Text):
        if not text.get_text().startswith(MATHEMATICS):
            text.set_parse_math(False)


def with_prefix(attribute: str, value: str, prefix: str) -> str:
    """The value of an attribute of SVG; identifiers and references to them get the prefix of their picture."""
    if attribute == "id":
        return f"{prefix}.{value}"
    if attribute in ("href", f"{{{LINK}}}href"):
        return re.sub("^#", f"#{prefix}.", value)
    return value.replace("url(#", f"url(#{prefix}.")


PNG_DOTS = 200  # dots per inch in PNG files


def write_pictures(directory: Path, page: Page | View) -> None:
    """Writes each picture as PNG and PDF, and its numbers as CSV; makes the directory.

    Raises:
        DownbeatError: a file cannot be written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for picture in view_of(page).pictures:
        name = anchor(picture.name)
        set_plain(picture.figure)
        with replacing(directory / f"{name}.png", binary=True) as file:
            picture.figure.savefig(file, format="png", dpi=PNG_DOTS)
        with replacing(directory / f"{name}.pdf", binary=True) as file:
            # Without the date, equal pictures are equal files.
            picture.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
        with replacing(directory / f"{name}.csv") as file:
            write_csv(picture.numbers, file)
