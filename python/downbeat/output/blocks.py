"""The blocks that a view is made of. A view chooses and orders them, the writers beside this file lay them out."""

from __future__ import annotations

import enum
import io
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
    """How much of a view a reader gets: each depth has all blocks of those before it."""

    SUMMARY = 1  # the end of a command that did something else
    TEXT = 2  # a command whose output this is
    PAGE = 3  # a page, with pictures and definitions


@dataclass(frozen=True, kw_only=True)
class Block:
    """The base of blocks.

    Attributes:
        depth: from which on the block is shown.
    """

    depth: Depth = Depth.SUMMARY


@dataclass(frozen=True)
class Heading(Block):
    """The beginning of a section.

    Attributes:
        text: of the heading, unique in a view: it is the section's anchor.
        note: beside its link in the table of contents.
    """

    text: str
    note: str = ""


# An answer is what the numbers come to, in front of all; a note is what they do not show.
Role = Literal["answer", "text", "warning", "note"]


@dataclass(frozen=True)
class Line(Block):
    """A sentence, of a fact or fixed.

    Attributes:
        content: the fact, or plain text.
        role: of the sentence.
        label: in front of it, one or two words: "where", "next".
        brief: whether a fact is in its short wording.
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
        value: as text.
        unit: may be empty.
        interval: as text; empty without an interval.
        about: the quantity, and its cell.
    """

    value: str
    unit: str
    interval: str
    about: str


@dataclass(frozen=True)
class Numbers(Block):
    """At most three numbers in large figures; on a terminal the sentences say them."""

    numbers: tuple[Number, ...]
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class Terms(Block):
    """Words with their meanings.

    Attributes:
        pairs: word and meaning.
        columns: whether they are texts of equal rank side by side, such as a paper's statement and ours.
    """

    pairs: tuple[tuple[str, str], ...]
    columns: bool = False
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class Table(Block):
    """A table.

    Attributes:
        title: above it; also the name of its CSV file. Empty where the sentences before it say what it is.
        frame: its rows.
        fields: the columns that are shown, in their order; empty: all of the frame, numbers with four digits, units
            at the end of names ("latency_us").
        labels: how many of the fields, from the first, say what a row is.
        across: the label whose values are side by side on a terminal; empty: none.
        choices: lists of the other columns: a terminal has those of the first list that fits; empty: all.
        more: what lists the rows that a writer leaves out, such as "downbeat show"; empty: the CSV file.
        most: rows on a terminal; 0: all.
        noun: what a row is, in the plural, where the rows left out are counted: "ranks".
    """

    title: str
    frame: pd.DataFrame
    fields: Mapping[str, Field] = field(default_factory=dict)
    labels: int = 1
    across: str = ""
    choices: Sequence[Sequence[str]] = ()
    more: str = ""
    most: int = 0
    noun: str = ""

    @property
    def columns(self) -> Mapping[str, Field]:
        """The fields, those of the frame where none were chosen."""
        return self.fields or fields_of(self.frame)


@dataclass(frozen=True)
class Picture(Block):
    """A picture, on pages alone.

    Attributes:
        name: that of the file that draws it, with its subject: "size_scaling-bcast"; unique in a view: its anchor.
        title: of the picture.
        caption: how to read it, and where its definition comes from; plain text.
        figure: made without pyplot, so that nothing is global; `downbeat.report.style` has sizes and colors.
        numbers: the data, a row per point; units in the names of the columns ("latency_us").
        panels: the same as `downbeat.report.panel.Panel`s, where it was drawn from them.
        narrow: the same with a panel a row, for a phone; None: the figure serves both.
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
        """The picture in a notebook."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=SCREEN_DOTS)
        return file.getvalue()


SCREEN_DOTS = 110  # per inch


@dataclass(frozen=True)
class Characters(Block):
    """A picture of characters, for terminals alone; pages have a `Picture` of the same."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Command(Block):
    """Commands to copy.

    Attributes:
        lines: of a shell.
        purpose: in front of them: "next", "measures the baseline".
    """

    lines: tuple[str, ...]
    purpose: str = ""


@dataclass(frozen=True)
class Folded(Block):
    """Blocks behind a line that opens them on a page; a text that is deep enough has them open.

    Attributes:
        summary: the line.
        blocks: behind it.
    """

    summary: str
    blocks: tuple[Block, ...]
    depth: Depth = field(default=Depth.PAGE, kw_only=True)


@dataclass(frozen=True)
class View:
    """A subject, as blocks.

    Attributes:
        title: of the page; the first line of a text.
        blocks: in the order of a page.
        byline: below the title: of what, on what.
        record: the numbers for JSON beside the facts of the blocks.
    """

    title: str
    blocks: tuple[Block, ...]
    byline: str = ""
    record: Mapping[str, object] = field(default_factory=dict)

    def at(self, depth: Depth) -> tuple[Block, ...]:
        """The blocks of a depth; no heading without a block behind it."""
        shown = [block for block in self.blocks if block.depth <= depth]
        after = [*shown[1:], Heading("")][: len(shown)]
        return tuple(
            block
            for block, following in zip(shown, after, strict=True)
            if not (isinstance(block, Heading) and isinstance(following, Heading))
        )

    def every(self) -> Iterator[Block]:
        """All blocks, with those that are folded."""
        yield from unfolded(self.blocks)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of all sentences, each once."""
        lines = (block.content for block in self.every() if isinstance(block, Line))
        return tuple(dict.fromkeys(fact for fact in lines if isinstance(fact, Fact)))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures."""
        return tuple(block for block in self.every() if isinstance(block, Picture))


def unfolded(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks and those within them."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)


def anchor(text: str) -> str:
    """The name of a position on a page: letters, digits and dashes of a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
