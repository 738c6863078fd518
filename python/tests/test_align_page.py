"""The page of `downbeat align`: its numbers are those of the clocks, and calls stand where they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from downbeat.align.clocks import Aligned, align
from downbeat.align.page import (
    align_page,
    before_and_after,
    calls_to_show,
    clock_section,
    clocks_frame,
    clocks_over_time,
)
from downbeat.report.page import Page, render_page
from test_align_axis import Condition, Program

CONDITION = Condition(latency=150e3, scatter=150e3, late=500e3, offset=3e6)


@pytest.fixture(scope="module", name="aligned")
def some_clocks() -> Aligned:
    return align(Program(3, CONDITION).traces, 2e-9)


def test_the_table_has_the_clocks(aligned: Aligned) -> None:
    frame = clocks_frame(aligned)
    assert [float(text) for text in frame["offset_s"]] == pytest.approx(aligned.ranks["offset_s"], abs=1e-9)
    assert frame["rate_ppm"].to_numpy() == pytest.approx(aligned.ranks["rate"].to_numpy() * 1e6)
    assert frame["bound_us"].to_numpy() == pytest.approx(aligned.ranks["bound_s"].to_numpy() * 1e6)
    assert frame["expected_error_us"].to_numpy() == pytest.approx(aligned.ranks["expected_error_s"].to_numpy() * 1e6)


def test_the_picture_has_drift_bound_and_error_over_time(aligned: Aligned) -> None:
    picture = clocks_over_time(aligned)
    assert picture is not None
    table = aligned.ranks.set_index("rank")
    assert set(picture.numbers["rank"]) == set(table.index) - {0}
    for rank, clock in picture.numbers.groupby("rank"):
        length = clock["time_s"].iloc[-1]
        slope = (clock["drift_us"].iloc[-1] - clock["drift_us"].iloc[0]) / length
        assert slope == pytest.approx(1e6 * table["rate"][rank], abs=0.01 / length)
        assert clock["bound_us"].max() <= 1e6 * table["largest_bound_s"][rank] * 1.01
        assert clock["expected_error_us"].median() == pytest.approx(1e6 * table["expected_error_s"][rank], rel=0.5)


def test_calls_are_drawn_before_and_after(aligned: Aligned) -> None:
    shown = calls_to_show(aligned)
    assert shown is not None
    group, rows = shown
    assert len(rows) == 4
    numbers = before_and_after(aligned, group, rows).numbers
    for clock in ("own", "axis"):
        first = None
        for call, row in zip(group.number[rows], rows, strict=True):
            mine = numbers[(numbers["clock"] == clock) & (numbers["call"] == call)].set_index(["phase", "rank"])
            for place, rank in enumerate(group.ranks.tolist()):
                stamps = np.array([group.entry[row, place], group.exit[row, place]])
                entry, end = (aligned.corrected(rank, stamps) if clock == "axis" else stamps).tolist()
                begin, stop = mine["begin_us"]["wait", rank], mine["end_us"]["operation", rank]
                first = entry - 1e3 * begin if first is None else first
                assert (begin, stop) == pytest.approx(((entry - first) / 1e3, (end - first) / 1e3), abs=0.6)
            # Nobody waits on a clock of its own; on the axis all wait for the last.
            last = mine["begin_us"]["wait"].max()
            waited = mine["end_us"]["wait"].to_numpy()
            assert (waited == (last if clock == "axis" else mine["begin_us"]["wait"].to_numpy())).all()


def test_the_page_says_what_is_not_known(aligned: Aligned) -> None:
    assert next(one.title for one in align_page(aligned).sections) == "Clocks"
    program = Program(3, CONDITION)
    apart = [
        replace(one, calls=tuple(replace(c, group=f"g{one.rank // 4}") for c in one.calls)) for one in program.traces
    ]
    torn = align(apart, 2e-9)
    section = clock_section(torn)
    assert section.warnings == torn.notes
    assert len(section.tables[0].frame) == 8
    assert "4</td>" in render_page(Page("", sections=(section,)))
