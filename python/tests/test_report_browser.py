"""Pages in a real browser: on a screen, on a phone, on paper."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest
from downbeat.report.assemble import make_report
from downbeat.report.page import write_page
from report_data import barrier_cells, cell, write_experiment

pytestmark = pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed")
LONG = "iallreduce(compute=auto,tests=4,type=double_complex,in_place=true)"
PHONE, NARROW, SCREEN = 360, 420, 1280


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an experiment with several operations, one of a name that is long, and of a launch beside it."""
    directory = tmp_path_factory.mktemp("page")
    operations = ("bcast", "allreduce", LONG)
    launches = [barrier_cells(factor, operations=operations) for factor in (1, 1.1, 0.9, 1, 1.2)]
    write_experiment(directory / "experiment", launches, warnings="a very-" + "long-" * 30 + "warning")
    write_experiment(directory / "launch", [[cell(5, ranks=16), cell(6, synchronizer="mpi_barrier", ranks=16)]])
    write_page(directory / "report.html", make_report([directory / "experiment", directory / "launch"]))
    return directory / "report.html"


@pytest.mark.parametrize("width", [PHONE, NARROW, SCREEN])
def test_the_page_fits(page: Path, tmp_path: Path, width: int) -> None:
    seen = chromium.look(page, tmp_path, width)
    assert seen["window"] == width
    assert seen["width"] <= width
    assert len(seen["pictures"]) == page.read_text(encoding="utf-8").count("<figure ") > 10
    for left, _, across, down in seen["pictures"]:
        assert left >= 0
        assert across > 300
        assert down > 60
    assert seen["console"] == []
    assert "system-ui" in seen["fonts"][0]


def test_words_come_in_their_order(page: Path, tmp_path: Path) -> None:
    text = chromium.look(page, tmp_path, SCREEN)["text"]
    places = [
        text.rindex(words)  # the last: the contents have them too
        for words in (
            "experiment: effect of the barrier",
            "Behind mpi_barrier, latencies are 1.2 times",
            "\nexperiment: Barrier / common start",
            "\nexperiment: Verdicts",
            "\nexperiment: Pictures",
            "\nexperiment: Warnings",
            "\nexperiment: What was measured, and how",
            "\nexperiment: On what",
            "\nexperiment: Every launch",
            "\nlaunch: Warnings",
            "\nTerms",
        )
    ]
    assert places == sorted(places)


def test_a_page_that_wanted_more_would_be_told_so(page: Path, tmp_path: Path) -> None:
    content = page.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    other.write_text(content.replace("<main>", '<main><img src="https://example.org/a.png"><script>1</script>'))
    assert len(chromium.look(other, tmp_path, SCREEN)["console"]) == 2
    other.write_text(content.replace("<main>", '<main><p style="width: 500px; max-width: none">wide</p>'))
    assert chromium.look(other, tmp_path, PHONE)["width"] > PHONE


def test_on_paper_there_is_text_and_no_folded_table(page: Path, tmp_path: Path) -> None:
    pdf = chromium.print_page(page, tmp_path)
    assert chromium.pdf_pages(pdf) > 3
    text = chromium.pdf_text(pdf)
    assert "Behind mpi_barrier" in text
    assert "message size [bytes]" in text  # in a picture
    assert "The numbers" not in text
