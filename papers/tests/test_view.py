"""Views of figures: what each writer makes of them, beside files of expected text, and the facts of JSON.

`DOWNBEAT_EXPECTED=write` writes the files of `expected/` anew; look at the difference before it is committed.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from downbeat.output.blocks import Depth, Line, View, unfolded
from downbeat.output.facts import Fact
from downbeat.output.markdown import markdown_lines
from downbeat.output.records import plain, view_record
from downbeat.output.terminal import view_lines
from downbeat_papers.figure import FIGURES
from downbeat_papers.listing import listing
from downbeat_papers.results import Results
from downbeat_papers.view import assemble_view, figure_view, report_view
from downbeat_papers.words import NotDrawn
from papers_site import site

from tests.statistics.worlds import WORLDS, Maker

EXPECTED = Path(__file__).with_name("expected")


def made(name: str, launches: int = 5, effect: bool = True) -> Results:
    results = WORLDS[name](Maker(np.random.default_rng(1), launches, effect))
    there = {label: launched * launches for label, launched in results.launches.items()}
    on_nodes = xr.Dataset(attrs={"hosts": "a;b"})
    files = {
        label: [data.assign_attrs(hosts="a;b") for data in results.files.get(label, [on_nodes])] for label in there
    }
    return dataclasses.replace(results, launches=there, files=files)


def single(name: str, launches: int = 5, effect: bool = True) -> View:
    results = made(name, launches, effect)
    return report_view([FIGURES[name]], [figure_view(FIGURES[name], results)], results.site)


def limited() -> View:
    """A single quick launch of ranks that share cores, of five that were to be made."""
    results = made("hunold2015-fig10", launches=1)
    few = dataclasses.replace(results, site=dataclasses.replace(results.site, cores=2, quick=True))
    figure = FIGURES["hunold2015-fig10"]
    return report_view([figure], [figure_view(figure, few)], few.site)


def several() -> View:
    """A figure without any claim that holds, one without a library, and one that failed."""
    results, without = made("schuchart2023-fig3", effect=False), site(benches={"mpich5": "bench"})
    figures = [FIGURES[name] for name in ("schuchart2023-fig3", "schuchart2023-fig1", "niethammer2016-fig16")]
    views = [
        figure_view(figures[0], results),
        assemble_view(figures[1], without, [NotDrawn(without.want(figures[1].lacks))]),
        assemble_view(figures[2], without, [NotDrawn("KeyError: 'true_error' (x.py:1)", figures[2].data)]),
    ]
    return report_view(figures, views, results.site)


VIEWS: dict[str, Callable[[], View]] = {
    "confirmed": lambda: single("schuchart2023-fig2"),
    "not-confirmed": lambda: single("schuchart2023-fig12", effect=False),
    "limited": limited,
    "several": several,
    "list": lambda: listing(
        [FIGURES[name] for name in ("schuchart2023-fig1", "niethammer2016-tab2")], lambda _: site()
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_writers_make_the_expected_texts_of_a_view(name: str) -> None:
    view = VIEWS[name]()
    texts = {
        "summary.txt": view_lines(view, Depth.SUMMARY),
        "page.md": markdown_lines(view, Depth.PAGE),
    }
    for form, lines in texts.items():
        path, text = EXPECTED / f"{name}.{form}", "\n".join(lines).rstrip() + "\n"
        if os.environ.get("DOWNBEAT_EXPECTED") == "write":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("name", VIEWS)
def test_json_has_every_fact_and_every_text_of_a_view(name: str) -> None:
    view = VIEWS[name]()
    record = view_record(view)
    text = json.dumps(plain(record), ensure_ascii=False)
    facts = [fact["text"] for fact in record["facts"]]  # type: ignore[attr-defined]
    for line in (block for block in unfolded(view.blocks) if isinstance(block, Line)):
        if isinstance(line.content, Fact):
            assert any(line.text in fact for fact in facts), line.text
        else:
            assert line.content.partition(": ")[2].rstrip(".") in text or line.content in text, line.content
