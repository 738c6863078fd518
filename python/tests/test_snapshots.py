"""The texts of views, each in a file of `snapshots`: views of data that never change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from align_worlds import Run, World
from downbeat.align.clocks import align_traces
from downbeat.output.blocks import View
from downbeat.output.terminal import WIDTH, view_lines
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.phases import Phases
from downbeat.trace.starts import Starts
from downbeat.views.alignment import alignment_view
from downbeat.views.trace import arrivals_view, recording_view
from snapshots import check_snapshot
from test_arrivals import call, recording_of, with_tables


def arrivals() -> View:
    """Rank 2 of 3 is 9 ms late in three calls of four, in a phase; processors are shared."""
    calls = [
        call([0, 200, late], [late + 210] * 3, begin=1e-2 * number, sequence=number, phase="solve", bytes=8.0)
        for number, late in enumerate(np.resize([0.0, 9000.0, 9000.0, 9000.0], 100))
    ]
    calls += [call([0, 5, 0], [9, 9, 9], "bcast", 1e-2 * n + 9.5e-3, 100 + n, root=0, offset=32) for n in range(10)]
    rows = [{"rank": rank, "phase": "solve", "begins": 1, "time": 0.9} for rank in range(3)]
    recording = with_tables(recording_of(*calls), phases=Phases.of_rows(rows))
    busy = recording.processes.replaced(processors=np.full(3, 2))
    return arrivals_view(find_arrivals(with_tables(recording, processes=busy)), "Arrivals", np.array([7e-6, np.nan]))


def nothing_recorded() -> View:
    """A program that ended with status 3 before any collective."""
    recording = recording_of(call([0, 0], [1, 1], complete=False))
    empty = with_tables(recording, profile=recording.profile[:0], starts=Starts.of_rows([]))
    return recording_view(empty, Path("trace"), status=3)


def recorded() -> View:
    """A recording of two operations."""
    calls = [
        call([0, 1], [5, 5], ("bcast", "allreduce")[n % 2], 1e-3 * n, n, root=n % 2 - 1, bytes=8.0) for n in range(8)
    ]
    return recording_view(with_tables(recording_of(*calls), starts=Starts.of_rows([])), Path("trace"))


def alignment() -> View:
    """Twelve ranks, of which rank 5 always comes last."""
    run = Run(4, World(ranks=12, op=445e3, late=5e3, always=(5, 1.5e6)))
    return alignment_view(align_traces(run.traces, 2e-9))


CASES: dict[str, Callable[[], View]] = {
    each.__name__: each for each in (arrivals, nothing_recorded, recorded, alignment)
}


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_that_of_the_snapshot(name: str) -> None:
    lines = view_lines(CASES[name]())
    assert max(map(len, lines)) <= WIDTH
    check_snapshot(name, lines)
