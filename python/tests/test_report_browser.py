"""Pages in a real browser: on a screen, on a phone, on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromium
import numpy as np
import pytest
from downbeat.output.page import SCRIPT, write_page
from downbeat.views.report import make_report
from matplotlib.image import imread
from numpy.typing import NDArray
from report_data import barrier_cells, cell, write_experiment

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed"),
]
LONG = "iallreduce(compute=auto,tests=4,type=double_complex,in_place=true)"
PHONE, NARROW, SCREEN = 360, 420, 1280
HEIGHT = 3000  # of a window: its screenshot has several pictures
LEGIBLE = 4.5  # contrast of text (WCAG 2.1, success criterion 1.4.3)


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


@pytest.fixture(scope="module")
def seen_at(page: Path) -> Callable[[int], dict[str, Any]]:
    """The page in a browser, by the width of its window; the narrow one is dark."""
    kept: dict[int, dict[str, Any]] = {}

    def seen(width: int) -> dict[str, Any]:
        if width not in kept:
            dark, screenshot = width == NARROW, page.with_name(f"{width}.png")
            kept[width] = chromium.look(page, page.parent, width, HEIGHT, dark, screenshot) | {"pixels": screenshot}
        return kept[width]

    return seen


def luminance(color: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the relative luminance of sRGB colors from 0 to 1, shape (..., 3), as WCAG 2.1 defines it."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the contrast of luminances, from 1 to 21."""
    return np.asarray((np.maximum(one, other) + 0.05) / (np.minimum(one, other) + 0.05))


@pytest.mark.parametrize(("width", "dark"), [(NARROW, True), (SCREEN, False)])
def test_text_and_pictures_are_legible(seen_at: Callable[[int], dict[str, Any]], width: int, dark: bool) -> None:
    seen = seen_at(width)
    for name, *colors in seen["colors"]:
        ink, paper = (luminance(np.array(re.findall(r"\d+", text)[:3], float) / 255) for text in colors)
        assert (paper < 0.05) if dark else (paper > 0.9), name
        assert contrast(ink, paper) >= LEGIBLE, name
    light = luminance(imread(seen["pixels"])[:, :, :3].astype(float))
    page_light = light[2:3, 2]  # a corner of the margin
    shown = [box for box in seen["pictures"] if box[4] + box[3] < HEIGHT]
    assert shown
    for left, right, _, height, top in shown:
        picture = light[int(top) : int(top + height), int(left) : int(min(right, width))]
        assert contrast(np.median(picture, keepdims=True), page_light).max() < 1.2
    # Below what is covered by a scroll bar no letter is asked for.
    letters = [box for box in seen["lettering"] if box[4] + box[3] < HEIGHT and box[1] < width - 32 and box[2] > 12]
    assert len(letters) > 10
    for left, right, _, height, top in letters:
        drawn = light[int(top) : int(top + height) + 1, int(left) : int(right) + 1]
        assert contrast(drawn, page_light).max() >= LEGIBLE


@pytest.mark.parametrize("width", [PHONE, NARROW, SCREEN])
def test_the_page_fits(page: Path, seen_at: Callable[[int], dict[str, Any]], width: int) -> None:
    seen = seen_at(width)
    assert seen["window"] == width
    assert seen["width"] <= width
    assert len(seen["pictures"]) == page.read_text(encoding="utf-8").count("<figure ") > 10
    for left, _, across, down, _ in seen["pictures"]:
        assert left >= 0
        assert across > 300
        assert down > 60
    assert seen["console"] == []
    assert "system-ui" in seen["fonts"][0]


def test_words_come_in_their_order(seen_at: Callable[[int], dict[str, Any]]) -> None:
    text = seen_at(SCREEN)["text"]
    places = [
        text.rindex(words)  # the last: the contents have them too
        for words in (
            "MPI_Barrier against a common start, ",
            "\nexperiment: Pictures",
            "\nexperiment: Also found",
            "\nexperiment: Warnings",
            "\nexperiment: More pictures",
            "\nexperiment: What was measured, and how",
            "\nexperiment: Machine and software",
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
    assert "MPI_Barrier against a common start" in text
    assert "message size [bytes]" in text  # in a picture
    assert "The numbers" not in text


def test_names_in_a_file_are_text_and_run_no_script(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\"onload='x'"
    algorithm, pattern = "</style><svg onload=alert(1)>", "javascript:alert(1)"
    cells = [
        cell(5, operation, synchronizer=synchronizer, algorithm=algorithm, pattern=pattern)
        for operation in ("<b>bcast</b>", "'><script>x()")
        for synchronizer in ("mpi_barrier", "harmonize")
    ]
    context = dict.fromkeys(("mpi_library", "hosts", "warnings", "environment", "command_line", "compiler"), hostile)
    directory = tmp_path / "<script>document.title='run'<"
    write_experiment(directory, [cells, cells], **context)
    page = tmp_path / "page.html"
    write_page(page, make_report([directory]))
    seen = chromium.look(page, tmp_path, SCREEN)
    assert [element for element in seen["active"] if SCRIPT.read_text(encoding="utf-8") not in element] == []
    assert seen["console"] == []
    assert seen["title"] != "run"
    assert hostile in seen["text"]
    assert "<b>bcast</b>" in seen["text"]
