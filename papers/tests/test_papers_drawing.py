"""Drawers of the papers' figures, on data whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from downbeat.data.launch_file import open_launch
from downbeat_papers.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat_papers.drawing.matrix import draw_matrix
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.drawing.timeline import draw_timelines, median_sample
from downbeat_papers.schuchart2023.reduce_matrix import MATRIX
from downbeat.units import bytes_text
from launch_files import Cell, write_launch


def test_panels_draw_what_they_are_given() -> None:
    one = Series("a", [2, 4], [1.5, 3.0], [1.0, 2.0], [2.0, 4.0])
    two = Series("b", [2, 4], [10.0, 20.0], style=":")
    picture = draw_panels("p", "t", "c", [Panel([one, two], "ranks", "time [us]", log_x=True, log_y=True)])
    lines = picture.figure.axes[0].get_lines()
    assert [list(map(float, line.get_ydata())) for line in lines] == [[1.5, 3.0], [10.0, 20.0]]  # type: ignore[arg-type]
    assert [list(map(float, line.get_xdata())) for line in lines] == [[2.0, 4.0], [2.0, 4.0]]  # type: ignore[arg-type]
    assert picture.figure.axes[0].get_xscale() == picture.figure.axes[0].get_yscale() == "log"
    assert picture.numbers["time [us]"].tolist() == [1.5, 3.0, 10.0, 20.0]
    assert picture.numbers["low"].tolist()[:2] == [1.0, 2.0]


def test_boxes_show_quartiles() -> None:
    values = np.arange(101.0)
    picture = draw_boxes("p", "t", "c", [BoxPanel([Box("2", "a", values), Box("4", "a", values + 1)], "ranks", "us")])
    assert picture.numbers["median"].tolist() == [50.0, 51.0]
    assert picture.numbers["p25"].tolist() == [25.0, 26.0]
    assert picture.numbers["values"].tolist() == [101, 101]


def test_a_matrix_has_its_values_written_in() -> None:
    frame = MATRIX.copy()
    frame.loc["linear", "tree"] = np.nan
    picture = draw_matrix("p", "t", "c", frame, "reduce", "barrier")
    written = [text.get_text() for text in picture.figure.axes[0].texts]
    assert written[:6] == ["7.68", "16.35", "0.24", "8.10", "7.59", "-"]
    assert len(written) == 24


def test_sizes_are_written_as_people_do() -> None:
    assert [bytes_text(size) for size in (4, 1024, 1536, 65536, 1 << 20)] == ["4", "1K", "1536", "64K", "1M"]


def test_the_median_sample_is_chosen_and_drawn_from_the_first_exit_on(tmp_path: Path) -> None:
    entry = np.array([[10.0, 10.0], [20.0, 20.0 + 1e-6], [30.0, 30.0 + 2e-6]])
    cell = Cell(entry, entry + np.array([[5e-6], [1e-6], [3e-6]]), verdict=0)
    with open_launch(write_launch(tmp_path / "a.nc", [cell])) as data:
        line = median_sample(data, 0, "x", "latency_avg")
        assert line is not None
        assert median_sample(data, 1, "none such", "latency_avg") is None
    assert line.entry == pytest.approx([0.0, 2.0], abs=1e-6)
    assert line.exit == pytest.approx([3.0, 5.0], abs=1e-6)
    assert line.spread == pytest.approx(2.0, abs=1e-6)
    picture = draw_timelines("p", "t", "c", [line], 128)
    bars = picture.figure.axes[0].patches
    assert [bar.get_width() for bar in bars[2:]] == pytest.approx([3.0, 3.0], abs=1e-6)  # type: ignore[attr-defined]
    assert picture.numbers["operation_exit_us"].tolist() == pytest.approx([3.0, 5.0], abs=1e-6)
