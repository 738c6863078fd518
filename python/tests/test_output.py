"""The writers of blocks: what a page may contain, how numbers read, that every fact of a text is in JSON."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.errors import DownbeatError
from downbeat.output.blocks import (
    Characters,
    Command,
    Depth,
    Folded,
    Heading,
    Line,
    Number,
    Numbers,
    Picture,
    Table,
    Terms,
    View,
)
from downbeat.output.facts import Fact
from downbeat.output.fields import Field, declared_fields, digits, span
from downbeat.output.markdown import markdown_lines, notebook_html
from downbeat.output.page import MAX_ROWS, csv_html, render_page, shown_columns, table_html, write_page
from downbeat.output.records import plain, table_rows, view_record
from downbeat.output.terminal import WIDTH, block_lines, view_lines
from downbeat.output.words import long, short
from downbeat.report.style import new_figure
from downbeat.tables import Floats, Ints, column
from downbeat.tables import Table as Record
from downbeat.text import counted, listed

NASTY = "<script>alert('&')</script>"


class References(HTMLParser):
    """The targets that a page refers to, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.elements: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.targets += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "data")
        ]


def nasty_picture(name: str = "a-picture") -> Picture:
    figure = new_figure()
    figure.subplots().plot([1, 2], [3, 4], label=NASTY)
    figure.axes[0].legend()
    figure.axes[0].set_title(NASTY)
    numbers = pd.DataFrame(
        {"name": [NASTY, "b"], "latency_us": [0.123456, 123456.7], "count": [1, 2], "x_s": [np.nan, 1e-9]}
    )
    return Picture(name, NASTY, NASTY, figure, numbers)


def nasty_view(*pictures: Picture) -> View:
    """A view with a hostile text wherever there is one."""
    return View(
        NASTY,
        (
            Line(NASTY, "answer"),
            Numbers((Number(NASTY, NASTY, NASTY, NASTY),)),
            Line(NASTY, label=NASTY),
            Line(NASTY),
            Heading(NASTY, NASTY),
            Line(NASTY, "warning"),
            Line(NASTY, "note"),
            Terms(((NASTY, NASTY),)),
            Terms(((NASTY, NASTY),), columns=True),
            Command((NASTY,), NASTY),
            Table(NASTY, pictures[0].numbers),
            *pictures[:-1],
            Folded(NASTY, pictures[-1:]),
            Heading("Two"),
            Line(NASTY),
            Heading("Three"),
            Line(NASTY),
        ),
        NASTY,
    )


def test_a_page_is_one_file_that_refers_to_nothing_and_runs_its_own_script() -> None:
    page = render_page(nasty_view(nasty_picture(), nasty_picture("b")))
    references = References(page)
    assert page.count("<script") == 1  # the page's own, which its policy names by hash
    digest = hashlib.sha256(re.findall("<script>(.*?)</script>", page, flags=re.DOTALL)[0].encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in page
    assert references.elements.isdisjoint({"link", "img", "iframe", "object", "embed", "base", "form"})
    assert all(target.startswith(("#", "data:text/csv;base64,")) for target in references.targets)
    assert {"svg", "table", "details", "figure", "nav"} <= references.elements
    assert set(re.findall(r"url\(([^)]*)\)", page)) == set(re.findall(r"url\((#[^)]*)\)", page))
    assert "@import" not in page
    assert re.findall(r"https?://[^\"' ]+", re.sub(r'xmlns(:xlink)?="[^"]*"', "", page)) == []


def test_names_are_escaped_everywhere() -> None:
    view = nasty_view(nasty_picture())
    page = render_page(view)
    assert page.count("<script") == 1
    assert page.count("&lt;script&gt;") > 20
    assert "<script" not in notebook_html(view)


def test_identifiers_of_pictures_do_not_meet_and_are_all_there() -> None:
    page = render_page(nasty_view(nasty_picture("x(y=1)"), nasty_picture("x(y=2)")))
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    targets = set(re.findall(r'(?:url\(|href=")#([^")]+)', page))
    assert targets <= set(identifiers)
    assert any(name.startswith("x-y-1.") for name in targets)


def test_the_same_page_is_the_same_file() -> None:
    assert render_page(nasty_view(nasty_picture())) == render_page(nasty_view(nasty_picture()))


def test_two_pictures_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 pictures are named 'a-b'"):
        write_page(tmp_path / "a.html", nasty_view(nasty_picture("a_b"), nasty_picture("a-b")))


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DownbeatError, match=r"cannot write '.*none/a\.html': No such file or directory"):
        write_page(tmp_path / "none" / "a.html", View("a", ()))


def test_tables_are_for_people_and_csv_is_exact() -> None:
    frame = nasty_picture().numbers
    columns, constant = shown_columns(Table("", frame))
    assert constant == ""
    assert [(column.title, column.style) for column in columns] == [
        ("name", ""),
        ("latency [us]", "number"),
        ("count", "number"),
        ("x [s]", "number"),
    ]
    assert [column.texts for column in columns] == [
        [NASTY, "b"],
        ["0.1235", "123457"],
        ["1", "2"],
        ["-", "1e-09"],
    ]
    content = re.search(r"base64,([^\"]+)", csv_html(frame, "a"))
    assert content
    read = pd.read_csv(io.BytesIO(base64.b64decode(content[1])))
    pd.testing.assert_frame_equal(read, frame, check_exact=True, check_dtype=False)
    cut = table_html(Table("", pd.DataFrame({"a": range(MAX_ROWS + 3)})), "")
    assert cut.count("<td") == MAX_ROWS


def test_equal_columns_become_a_note_and_ends_an_interval() -> None:
    frame = pd.DataFrame({"a": [1, 2], "low_us": [1.0, math.nan], "high_us": [2.0, math.nan], "x": [7, 7]})
    columns, constant = shown_columns(Table("", frame))
    assert {column.title: column.texts for column in columns} == {"a": ["1", "2"], "interval [us]": [span(1, 2), "-"]}
    assert constant == "x 7"


def test_numbers_in_sentences() -> None:
    assert [digits(value) for value in (0.0123456, 1.5, 999.4, 123456.7)] == ["0.0123", "1.5", "999", "123,457"]
    assert (span(1.0, 1.0001), span(1, 2).split()) == ("1", ["1", "to", "2"])
    assert (counted(1, "launch"), counted(2, "launch"), counted(3, "cell")) == ("1 launch", "2 launches", "3 cells")
    assert [listed("abc"[:count]).split() for count in range(3)] == [[], ["a"], ["a", "and", "b"]]
    assert listed("abc").split() == ["a,", "b", "and", "c"]
    assert re.findall(r"\d+", listed(range(10))) == [*"01234567", "2"]


def test_numbers_beside_each_other_keep_their_zeros() -> None:
    texts = Field("", "significant").texts
    assert texts([1.42, 1.434, 12.0, math.nan]) == ["1.420", "1.434", "12.00", "-"]
    assert texts([0.5, 2.0]) == ["0.5", "2"]  # no value has more digits
    assert texts([0.01234, 1.0, 123456.0]) == ["0.01234", "1.000", "123456"]
    ends = [span(1.4, 1.43), span(1.4, 1.4), span(2, 52.5), span(10, 200)]
    assert [end.split(" to ") for end in ends] == [["1.40", "1.43"], ["1.4"], ["2.00", "52.5"], ["10", "200"]]


@dataclass(frozen=True)
class Moved(Fact):
    """A fact of this test."""

    rank: int
    seconds: float


@long.register
def _(fact: Moved) -> str:
    return f"The clock of rank {fact.rank} moved by {fact.seconds:g} s."


@short.register
def _(fact: Moved) -> str:
    return f"rank {fact.rank}: {fact.seconds:g} s"


def test_each_fact_of_a_text_is_in_json_once() -> None:
    fact = Moved(3, 1e-6)
    view = View("t", (Line(fact, brief=True), Folded("more", (Line(fact), Line(Moved(4, 2e-6))))), record={"n": 2})
    assert view_lines(view, Depth.SUMMARY) == [short(fact)]
    record = view_record(view)
    assert record["n"] == 2
    assert record["facts"] == [
        {"fact": "moved", "rank": 3, "seconds": 1e-6, "text": long(fact)},
        {"fact": "moved", "rank": 4, "seconds": 2e-6, "text": long(Moved(4, 2e-6))},
    ]


def test_a_depth_has_its_blocks_and_no_heading_without_any() -> None:
    view = View("t", (Line("a"), Heading("H", depth=Depth.TEXT), Line("b", depth=Depth.PAGE)))
    assert [len(view.at(depth)) for depth in Depth] == [1, 1, 3]


def test_tables_of_all_writers_have_the_same_cells() -> None:
    frame = pd.DataFrame({"size": [8, 64], "time": [1e-6, 2.5e-6]})
    table = Table("T", frame, {"size": Field("bytes", "number"), "time": Field("us", "time")}, max_rows=1, more="show")
    assert [line.split() for line in block_lines([table])] == [
        ["T"],
        ["bytes", "us"],
        ["8", "1.000"],
        ["1", "more:", "show"],
    ]
    rows = [line.strip("| ").split(" | ") for line in markdown_lines(View("", (table,)))]
    assert ["64", "2.500"] in rows
    assert [column.texts for column in shown_columns(table)[0]] == [["8", "64"], ["1.000", "2.500"]]


def test_a_terminal_is_as_wide_as_it_is() -> None:
    words = " ".join(["word"] * 60)
    lines = block_lines([Line(words, "answer"), Line(words, "warning"), Terms((("name", words),), depth=Depth.TEXT)])
    assert max(map(len, lines)) <= WIDTH


class Times(Record):
    """A record type of this test."""

    rank: Ints = column("of the process")
    wait_s: Floats = column("time of waiting; NaN: not known", "s")
    rate: Floats = column("of the clock", "1")


def test_units_and_meanings_of_columns_are_those_declared() -> None:
    times = Times(rank=np.array([0, 1]), wait_s=np.array([1.5e-6, np.nan]), rate=np.array([2e-6, -1e-7]))
    fields = declared_fields(Times.columns(), {"rank": "number", "wait_s": "time", "rate": "ppm"}, ["rank"])
    meanings = [column.meaning.partition(";")[0] for column in Times.columns()]
    headings = ["rank", "wait [us]", "rate [ppm]"]
    assert [(field.heading, field.meaning) for field in fields.values()] == [
        *zip(headings, ["", *meanings[1:]], strict=True)
    ]
    lines = block_lines([Table("", times.frame(), fields)])
    assert [line.split() for line in lines[1:3]] == [["0", "1.500", "2.0000"], ["1", "-", "-0.1000"]]
    assert table_rows(times.frame().assign(wait_s=[np.inf, 1.0]))[1] == {"rank": 1, "wait_s": 1.0, "rate": -1e-7}
    assert plain(table_rows(times.frame().assign(wait_s=np.inf)))[0]["wait_s"] is None  # type: ignore[index]


def test_a_title_stands_above_its_row_where_both_do_not_fit_into_a_line() -> None:
    fields = {"name": Field("name", "title"), "a": Field("a", "number"), "b": Field("b", "number")}
    frame = pd.DataFrame({"name": ["x" * WIDTH, "y"], "a": [1, 2], "b": [3, 4]})
    assert block_lines([Table("", frame, fields)]) == ["a  b", "x" * WIDTH, "1  3", "y", "2  4"]
    short_names = frame.assign(name=["x", "y"])
    assert [line.split() for line in block_lines([Table("", short_names, fields)])[1:]] == [
        ["x", "1", "3"],
        ["y", "2", "4"],
    ]
    wide = frame.assign(b=["9" * WIDTH, "8"])
    assert block_lines([Table("", wide, fields, choices=[["a", "b"], ["a"]])])[0] == "a"


def test_a_command_stands_beside_its_purpose_where_both_fit() -> None:
    assert block_lines([Command(("ls",), "next")]) == ["next: ls"]
    assert block_lines([Command(("ls", "cd"), "next")]) == ["next:", "  ls", "  cd"]
    assert len(block_lines([Command(("x" * WIDTH,), "next")])) == 2


def test_pictures_of_characters_are_for_terminals() -> None:
    picture = Characters(("##", "#"))
    assert block_lines([picture]) == ["##", "#"]
    assert "##" not in render_page(View("t", (picture,)))
    cut = Table("", pd.DataFrame({"a": [1, 2, 3]}), max_rows=1, noun="rows", more="page")
    assert block_lines([cut])[-1].split() == ["2", "more", "rows:", "page"]
