"""A page: its content, and how that becomes one file of HTML."""

from __future__ import annotations

import importlib.metadata
import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from downbeat.data.metrics import METRICS
from downbeat.files import replacing, write_text, writing
from downbeat.report.numbers import csv_link, table_rows
from downbeat.report.style import Picture
from downbeat.show import write_csv
from downbeat.text import printable

SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
# How matplotlib itself writes powers of ten beside an axis.
MATHEMATICS = "$\\mathdefault{"
METADATA = f"{{{SVG}}}metadata"


def anchor(text: str) -> str:
    """Returns a name for a place on a page: letters, digits and dashes of a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def picture_svg(picture: Picture) -> Markup:
    """Returns a picture as an element `svg`: text stays text, no identifier occurs in another picture.

    The same picture gives the same text, so that a report of the same data is the same file.
    """
    set_plain(picture.figure)
    file = io.BytesIO()
    name = anchor(picture.name)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        # Not by `savefig`, which draws everything once more, only to lay it out.
        FigureCanvasSVG(picture.figure).print_svg(file, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK)
    root = ElementTree.fromstring(printable(file.getvalue().decode()))
    for child in root.findall(METADATA):
        root.remove(child)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            element.set(attribute, with_prefix(attribute, value, name))
    # The page decides on the size, by the box that the picture was drawn in.
    del root.attrib["width"], root.attrib["height"]
    title, description = f"{name}.title", f"{name}.caption"
    root.attrib |= {"role": "img", "aria-labelledby": title, "aria-describedby": description}
    texts = (("title", title, picture.title), ("desc", description, picture.caption))
    for position, (tag, identifier, text) in enumerate(texts):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": identifier})
        element.text = printable(text)
        root.insert(position, element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def set_plain(figure: Figure) -> None:
    """Makes the texts of a figure plain: a `$` in a name begins no formula."""
    for text in figure.findobj(Text):
        if not text.get_text().startswith(MATHEMATICS):
            text.set_parse_math(False)


def with_prefix(attribute: str, value: str, prefix: str) -> str:
    """Returns an attribute's value with identifiers, and references to them, made those of one picture."""
    if attribute == "id":
        return f"{prefix}.{value}"
    if attribute in ("href", f"{{{LINK}}}href"):
        return re.sub("^#", f"#{prefix}.", value)
    return value.replace("url(#", f"url(#{prefix}.")


GLOSSARY = (
    ("launch", "one start of downbeat-bench under one mpirun; it measures all cells"),
    ("cell", "one operation, size, algorithm, synchronizer, timing scheme and arrival pattern"),
    ("sample", "one measurement of a cell: every rank's entry and exit"),
    ("synchronizer", "what brings ranks together before each sample: a barrier, a window, or MPIX_Harmonize"),
    ("harmonize", "MPIX_Harmonize: all ranks leave at one instant of a global clock, the deadline (Schuchart 2023)"),
    ("latency", METRICS["latency_avg"].meaning),
    ("global time", METRICS["global_time"].meaning),
    ("makespan", METRICS["makespan"].meaning),
    ("exit skew", METRICS["exit_skew"].meaning),
    (
        "barrier / common start",
        "latency after a barrier / latency after harmonize in the same launch; delta in Schuchart 2023, section 6.1",
    ),
    ("arrival pattern", "planned entries of the ranks, relative to the common start"),
    ("error bound", "of the global clock: no rank's clock is farther off than this"),
    ("rejected sample", "one whose synchronization failed: a rank started later than the tolerance after its time"),
    (
        "interval",
        "95 % confidence interval over launches, by Student's t, of logarithms where a value cannot be negative: "
        "samples of one launch resemble each other and do not count as independent; launches are taken as independent",
    ),
    (
        "slower, faster",
        "significantly so over launches: t test, corrected for the number of cells, with a rank test as guard; "
        "launches of another kind may be unseen",
    ),
    ("reads higher, reads lower", "the same of one operation after two synchronizers, where only these differ"),
    (
        "equivalent",
        "the interval of the ratio is within +-2 % of 1, of this cell alone; launches of another kind may be unseen",
    ),
    (
        "undecided",
        "none of these; more launches would decide. The interval of a cell alone may exclude 1 where the test, "
        "corrected for the number of cells (Holm 1979), does not confirm a difference",
    ),
)


TEMPLATE = "page.html"


@dataclass(frozen=True)
class Table:
    """A table that is always shown; the numbers of pictures are folded away."""

    title: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Section:
    """A part of a page: text first, then warnings, definitions, commands, tables, pictures."""

    title: str
    paragraphs: tuple[str, ...] = ()  # plain text
    warnings: tuple[str, ...] = ()  # each says what was seen, why it matters, what to do
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()  # a term and its meaning
    commands: tuple[str, ...] = ()  # for a shell, a line each


@dataclass(frozen=True)
class Fact:
    """One finding, in plain text."""

    about: str  # empty: the news, in one sentence
    text: str


@dataclass(frozen=True)
class Page:
    """A page: the answer first."""

    title: str
    lead: tuple[str, ...] = ()  # plain text
    sections: tuple[Section, ...] = field(default_factory=tuple)
    found: tuple[Fact, ...] = ()  # a row each, before the lead


def write_page(path: Path, page: Page) -> None:
    """Writes a page as one file of HTML that needs nothing else, neither files nor a network nor JavaScript.

    Args:
        path: where to, `-` for standard output; an existing file is replaced once all of the page is on disk.
        page: its pictures' names must be unique.

    Raises:
        DownbeatError: the file cannot be written.
        ValueError: two pictures have the same name.
    """
    names = Counter(anchor(picture.name) for section in page.sections for picture in section.pictures)
    for name, number in names.items():
        if number > 1:
            raise ValueError(f"{number} pictures are named '{name}'")
    write_text(path, render_page(page))


def shown(value: object) -> object:
    """Returns a value as it is put into a page: XML and HTML have no control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_page(page: Page) -> str:
    """Returns the HTML of a page."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )
    templates.filters |= {"anchor": anchor, "svg": picture_svg, "rows": table_rows, "csv": csv_link}
    return templates.get_template(TEMPLATE).render(page=page, version=importlib.metadata.version("downbeat"))


DOTS_PER_INCH = 200


def write_pictures(directory: Path, page: Page) -> None:
    """Writes each picture as PNG and PDF, and its numbers as CSV; makes the directory.

    Raises:
        DownbeatError: a file cannot be written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for picture in section.pictures:
            name = anchor(picture.name)
            set_plain(picture.figure)
            with replacing(directory / f"{name}.png", binary=True) as file:
                picture.figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
            with replacing(directory / f"{name}.pdf", binary=True) as file:
                # Without the date the same picture is the same file.
                picture.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
            with replacing(directory / f"{name}.csv") as file:
                write_csv(picture.numbers, file)
