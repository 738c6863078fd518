"""The blocks of a view: sentences, tables, pictures, commands and so on.

A view (`views/`) chooses and orders blocks; the writers of this folder (terminal, markdown, page, records) format them.
"""

from __future__ import annotations

import enum
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from downbeat.output.facts import Fact
from downbeat.output.fields import Field, fields_of
from downbeat.output.words import long, short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Depth(enum.IntEnum):
    """The detail of a view: each depth also has the blocks of the depths before it."""

    SUMMARY = 1  # end of the output of another command, such as `downbeat run`
    TEXT = 2  # output of a command that shows the view
    PAGE = 3  # a page, with pictures and definitions


@dataclass(frozen=True, kw_only=True)
class Block:
    """The base of blocks.

    Attributes:
        depth: smallest depth that shows the block.
    """

    depth: Depth = Depth.SUMMARY


@dataclass(frozen=True)
class Heading(Block):
    """The beginning of a section.

    Attributes:
        text: text of the heading; unique in a view, because it becomes the anchor of the section.
        note: text beside its link in the table of contents.
    """

    text: str
    note: str = ""


# Role of a sentence: "answer" is the conclusion and comes first; "note" is a limit of the numbers.
Role = Literal["answer", "text", "warning", "note"]


@dataclass(frozen=True)
class Line(Block):
    """A sentence: the wording of a fact, or a fixed text.

    Attributes:
        content: the fact, or plain text.
        role: role of the sentence.
        label: one or two words in front of it, e.g. "where", "next".
        brief: True for the short wording of a fact.
    """

    content: Fact | str
    role: Role = "text"
    label: str = ""
    brief: bool = False

    @property
    def text(self) -> str:
        """The sentence."""
        if isinstance(self.content, str):
            return self.content
        return short(self.content) if self.brief else long(self.content)


@dataclass(frozen=True)
class Number:
    """A number in large figures.

    Attributes:
        value: the formatted number.
        unit: unit of the number; may be empty.
        interval: the formatted interval; empty without an interval.
        about: name of the quantity and its cell.
    """

    value: str
    unit: str
    interval: str
    about: str


@dataclass(frozen=True)
class Numbers(Block):
    """At most three numbers in large figures, on pages only; sentences of the view also have them."""

    numbers: tuple[Number, ...]
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class Terms(Block):
    """Terms with their definitions.

    Attributes:
        pairs: term and definition.
        columns: True if a page shows the pairs side by side, e.g. a statement of a paper and Downbeat's result.
    """

    pairs: tuple[tuple[str, str], ...]
    columns: bool = False
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class Table(Block):
    """A table.

    Attributes:
        title: text above the table, and name of its CSV file; empty if the sentences before introduce the table.
        frame: rows of the table.
        fields: column of the frame -> field, for the shown columns in their order; empty: all columns (`fields_of`).
        labels: number of fields, from the first, that identify a row.
        across: name of a label whose values are side by side on a terminal; empty: none.
        choices: lists of columns without labels; a terminal shows the first list that fits; empty: all columns.
        more: command or file that has the rows beyond `max_rows`, e.g. "downbeat show"; empty: the CSV file.
        max_rows: maximum number of rows on a terminal; 0: no limit.
        noun: plural noun for rows, used to count omitted rows, e.g. "ranks".
    """

    title: str
    frame: pd.DataFrame
    fields: Mapping[str, Field] = field(default_factory=dict)
    labels: int = 1
    across: str = ""
    choices: Sequence[Sequence[str]] = ()
    more: str = ""
    max_rows: int = 0
    noun: str = ""

    @property
    def columns(self) -> Mapping[str, Field]:
        """The fields; if there are none, fields of all columns of the frame."""
        return self.fields or fields_of(self.frame)


@dataclass(frozen=True)
class Picture(Block):
    """A picture, on pages only.

    Attributes:
        name: unique name, e.g. "latency_by_processes-bcast"; anchor of the picture, and name of its files.
        title: title of the picture.
        caption: how to read the picture, and the source of its definition; plain text.
        figure: a matplotlib figure, made without pyplot, which would keep it in memory.
        numbers: the data, a row per point; names of columns end with units ("latency_us").
        panels: the `downbeat.report.panel.Panel`s of the figure, if it has any.
        narrow: figure with one panel per row, for a phone; None: `figure` fits on a phone, too.
    """

    name: str
    title: str
    caption: str
    figure: Figure
    numbers: pd.DataFrame
    panels: Sequence[Any] = ()
    narrow: Figure | None = None
    depth: Depth = field(default=Depth.PAGE, kw_only=True)

    def _repr_png_(self) -> bytes:
        """The picture as PNG, for notebooks."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=SCREEN_DOTS)
        return file.getvalue()


SCREEN_DOTS = 110  # dots per inch in notebooks


@dataclass(frozen=True)
class Characters(Block):
    """A picture of characters, for terminals only; pages have a `Picture` instead."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Command(Block):
    """Commands to copy.

    Attributes:
        lines: shell commands.
        purpose: text in front of them, e.g. "next", "measures the baseline".
    """

    lines: tuple[str, ...]
    purpose: str = ""


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that a page hides until the reader opens them; a text of depth PAGE shows them.

    Attributes:
        summary: line that opens the blocks.
        blocks: hidden blocks.
    """

    summary: str
    blocks: tuple[Block, ...]
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class View:
    """The output on a subject, as blocks.

    Attributes:
        title: title of a page, and first line of a text.
        blocks: blocks in their order.
        byline: line below the title, on the measurement and its machine.
        record: numbers for JSON in addition to the facts of the blocks.
    """

    title: str
    blocks: tuple[Block, ...]
    byline: str = ""
    record: Mapping[str, object] = field(default_factory=dict)

    def at(self, depth: Depth) -> tuple[Block, ...]:
        """The blocks that a depth shows, without headings of empty sections."""
        blocks = [block for block in self.blocks if block.depth <= depth]
        shown: list[Block] = []
        for block, following in itertools.pairwise([*blocks, Heading("")]):
            is_empty_section = isinstance(block, Heading) and isinstance(following, Heading)
            if not is_empty_section:
                shown.append(block)
        return tuple(shown)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all sentences, without duplicates."""
        lines = (block.content for block in unfolded(self.blocks) if isinstance(block, Line))
        return tuple(dict.fromkeys(fact for fact in lines if isinstance(fact, Fact)))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures, including those in folded blocks."""
        return tuple(block for block in unfolded(self.blocks) if isinstance(block, Picture))


def unfolded(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yields blocks, each followed by the blocks in it if it is folded."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)


def anchor(text: str) -> str:
    """Converts a text to an anchor of a page: letters and digits, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
