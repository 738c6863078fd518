"""A page: its content, numbers for people, and how that becomes one file of HTML."""

from __future__ import annotations

import base64
import importlib.metadata
import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype, is_numeric_dtype

from downbeat.data.metrics import METRICS
from downbeat.files import replacing, write_text, writing
from downbeat.report.style import Picture
from downbeat.show import write_csv
from downbeat.text import printable


def digits(value: float) -> str:
    """Returns a number with three significant digits, without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def span(low: float, high: float) -> str:
    """Returns two numbers as a range, or as one where they look the same."""
    ends = digits(low), digits(high)
    if ends[0] == ends[1]:
        return ends[0]
    if any("." in end and digits_shown(end) == 3 for end in ends):
        # Where one end shows three digits, the other keeps its zeros: 1.40 to 1.43.
        ends = with_zeros(low), with_zeros(high)
    return f"{ends[0]} to {ends[1]}"


def digits_shown(text: str) -> int:
    """Returns how many digits of a number count, as it is written: 3 of 0.0142."""
    return len(re.sub(r"^-?[0.]*|\.", "", text.partition("e")[0]))


def with_zeros(value: float) -> str:
    """Returns a number as `digits`, with all three digits where some are after the point."""
    return f"{value:#.3g}".removesuffix(".") if 1e-3 <= abs(value) < 1000 else digits(value)


# A longer table is cut in the page; its CSV is whole.
MOST_ROWS = 200
# Characters of a text that is broken into lines where there is little room.
LONG = 30
# Columns that readers look for, whatever they hold.
KEPT = ("paper", "verdict")
# Units by which the names of columns end.
PAGE_UNITS = ("us", "ns", "ms", "s", "bytes", "ppm", "percent")


@dataclass(frozen=True)
class Column:
    """Heads a column."""

    title: str
    style: str  # "number"; "verdict"; "long": texts that take more than one line where there is little room


@dataclass(frozen=True)
class Rows:
    """A frame as text."""

    columns: tuple[Column, ...]
    cells: tuple[tuple[str, ...], ...]
    left_out: int  # rows
    constant: str = ""  # values that all rows have


def table_rows(frame: pd.DataFrame) -> Rows:
    """Returns a frame as text: four significant digits, a `-` where there is no value. The index is left out.

    `low` and `high` become one column. A column with one value for several rows becomes a note, but for those `KEPT`.
    """
    shown = frame.head(MOST_ROWS)
    same = [name for name in frame if len(frame) > 1 and frame[name].nunique(dropna=False) == 1]
    constant = [name for name in same if name not in KEPT]
    texts = {str(name): column_texts(shown[name]) for name in shown if name not in constant}
    for high in [name for name in texts if re.match("high(_|$)", name) and name.replace("high", "low") in texts]:
        low = high.replace("high", "low")
        ends = zip(texts.pop(high), texts[low], strict=True)
        texts = {name.replace("low", "interval") if name == low else name: column for name, column in texts.items()} | {
            high.replace("high", "interval"): [f"{least} to {most}" if least != "-" else "-" for most, least in ends]
        }
    columns = tuple(Column(column_title(name), style_of(name, frame, column)) for name, column in texts.items())
    values = ", ".join(f"{column_title(str(name))} {as_text(frame[name].iloc[0], False)}" for name in constant)
    return Rows(columns, tuple(zip(*texts.values(), strict=True)), max(0, len(frame) - MOST_ROWS), values)


def style_of(name: str, frame: pd.DataFrame, texts: list[str]) -> str:
    """Returns the `Column.style` of a column."""
    if name == "verdict":
        return name
    if name not in frame or (is_numeric_dtype(frame[name]) and not is_bool_dtype(frame[name])):
        return "number"
    return "long" if max(map(len, texts), default=0) > LONG else ""


def column_texts(column: pd.Series[Any]) -> list[str]:
    """Returns the values of a column; where one needs four digits, all keep their zeros: 1.420 beside 1.434."""
    whole = is_integer_dtype(column)
    texts = [as_text(value, whole) for value in column]
    if not is_float_dtype(column) or not any("." in text and digits_shown(text) == 4 for text in texts):
        return texts
    return [
        f"{value:#.4g}" if 0 < abs(value) < 1e3 and "e" not in text else text
        for value, text in zip(column, texts, strict=True)
    ]


def column_title(name: str) -> str:
    """Returns the heading of a column, with the unit at the end of its name in brackets."""
    stem, _, unit = name.rpartition("_")
    if stem and unit in PAGE_UNITS:
        return f"{stem.replace('_', ' ')} [{'%' if unit == 'percent' else unit}]"
    return name.replace("_", " ")


def as_text(value: object, whole: bool) -> str:
    """Returns a value as the text of a table."""
    if value is None or value is pd.NA or value != value:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if whole:
        return f"{value}"
    if isinstance(value, float):
        # Plain digits where they are few; 0.00001234 and 1.234e+09 are left to the exponent.
        return f"{value:.4g}" if value == 0 or not 1e3 <= abs(value) < 1e9 else f"{value:.0f}"
    return str(value)


def csv_link(frame: pd.DataFrame) -> str:
    """Returns a link that holds the frame as a CSV file, in full precision."""
    text = io.StringIO()
    write_csv(frame, text)
    content = text.getvalue().encode()
    return "data:text/csv;base64," + base64.b64encode(content).decode()


SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
# How matplotlib itself writes powers of ten beside an axis.
MATHEMATICS = "$\\mathdefault{"
SVG_METADATA = f"{{{SVG}}}metadata"


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
    for child in root.findall(SVG_METADATA):
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
class PageSection:
    """A part of a page: text first, then warnings, definitions, commands, tables, pictures; then parts of its own."""

    title: str  # empty: the first, which continues the answer
    paragraphs: tuple[str, ...] = ()  # plain text
    warnings: tuple[str, ...] = ()  # each says what was seen, why it matters, what to do
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()  # a term and its meaning
    commands: tuple[str, ...] = ()  # for a shell, a line each
    beside: tuple[tuple[str, str], ...] = ()  # texts in columns with a heading each, before all others
    parts: tuple[PageSection, ...] = ()  # without headings
    folded: str = ""  # of a part: the line that it is folded into; empty: it is open
    note: str = ""  # beside its title in the table of contents

    def all_pictures(self) -> tuple[Picture, ...]:
        """Returns its pictures, and those of its parts."""
        return self.pictures + tuple(picture for part in self.parts for picture in part.all_pictures())


@dataclass(frozen=True)
class Fact:
    """One finding, in plain text."""

    about: str  # empty: the news, in one sentence
    text: str


@dataclass(frozen=True)
class Number:
    """A number in large figures, as text."""

    value: str
    unit: str  # may be empty
    interval: str  # empty where there is none
    about: str


@dataclass(frozen=True)
class Page:
    """A page: the answer first."""

    title: str
    lead: tuple[str, ...] = ()  # plain text
    sections: tuple[PageSection, ...] = field(default_factory=tuple)
    found: tuple[Fact, ...] = ()  # a row each, before the lead
    byline: str = ""  # below the title: of what, on what
    numbers: tuple[Number, ...] = ()  # after the news


def write_page(path: Path, page: Page) -> None:
    """Writes a page as one file of HTML that needs nothing else, neither files nor a network nor JavaScript.

    Args:
        path: where to, `-` for standard output; an existing file is replaced once all of the page is on disk.
        page: its pictures' names must be unique.

    Raises:
        DownbeatError: the file cannot be written.
        ValueError: two pictures have the same name.
    """
    names = Counter(anchor(picture.name) for section in page.sections for picture in section.all_pictures())
    for name, number in names.items():
        if number > 1:
            raise ValueError(f"{number} pictures are named '{name}'")
    write_text(path, render_page(page))


def page_value(value: object) -> object:
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
        finalize=page_value,
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
        for picture in section.all_pictures():
            name = anchor(picture.name)
            set_plain(picture.figure)
            with replacing(directory / f"{name}.png", binary=True) as file:
                picture.figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
            with replacing(directory / f"{name}.pdf", binary=True) as file:
                # Without the date the same picture is the same file.
                picture.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
            with replacing(directory / f"{name}.csv") as file:
                write_csv(picture.numbers, file)
