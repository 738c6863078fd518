"""Builds the view of `downbeat align`: traces on one time axis, the accuracy of their clocks, and late ranks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from downbeat.align.clocks import STANDARD_ERRORS, Aligned, RankClocks, late_or_slow
from downbeat.output.blocks import Block, Command, Depth, Heading, Line, Table, View
from downbeat.output.facts.alignment import LastOrClockOff
from downbeat.output.fields import declared_fields
from downbeat.output.records import table_rows
from downbeat.output.words import long
from downbeat.trace.findings import named_ranks, run_fact
from downbeat.views.trace import (
    arrivals_record,
    detail_blocks,
    late_blocks,
    lead_blocks,
    note_blocks,
    site_blocks,
    time_blocks,
)

MAX_CLOCKS = 8  # rows of the table of clocks on a terminal


def alignment_view(aligned: Aligned, depth: Depth = Depth.TEXT) -> View:
    """Returns the late ranks on the common axis, and the accuracy of the clocks.

    Args:
        aligned: the clocks and calls of all ranks.
        depth: up to which the view is shown; pictures are drawn only for pages.
    """
    arrivals = late_or_slow(aligned)
    late = set(arrivals.late_ranks.rank[named_ranks(arrivals)].tolist())
    caveats = [note for note in aligned.notes if isinstance(note, LastOrClockOff) and note.rank in late]
    doubtful = [caveat.rank for caveat in caveats]
    largest_bound = float(np.max(aligned.ranks.largest_bound_s))
    blocks = (
        *lead_blocks(arrivals, run_fact(arrivals, STANDARD_ERRORS, largest_bound), caveats, doubtful),
        *time_blocks(arrivals, depth),
        *late_blocks(arrivals, Depth.PAGE),
        *site_blocks(arrivals, None, Depth.PAGE),
        *clock_blocks(aligned, depth, caveats),
        *detail_blocks(arrivals, depth),
        *note_blocks(arrivals),
    )
    record = alignment_record(aligned) | {"arrivals": arrivals_record(arrivals, None, blocks)}
    return View("Late or slow: traces on one axis", blocks, record=record)


def alignment_record(aligned: Aligned) -> dict[str, object]:
    """Returns the clocks for JSON; times in s."""
    return {
        "schema_version": 1,
        "reference_rank": aligned.axis.rank,
        "steered": aligned.axis.steered,
        "movements": aligned.movements,
        "ranks": table_rows(aligned.ranks.frame()),
        "notes": [long(note) for note in aligned.notes],
    }


CLOCK_FIELDS = declared_fields(
    RankClocks.columns(),
    {
        "rank": "number",
        "offset_s": "seconds",
        "rate": "ppm",
        "rate_error": "ppm",
        "bound_s": "time",
        "expected_error_s": "time",
        "calls": "number",
        "host": "text",
    },
    ["rank", "rate_error", "calls", "host"],
    {"rate_error": "+-", "expected_error_s": "error"},  # short, so that the table fits the width of a terminal
)


def clock_blocks(aligned: Aligned, depth: Depth, stated: list[LastOrClockOff]) -> list[Block]:
    """Returns the clocks: a table, the least accurate clocks first if there are more than it shows; pictures on a page.

    Args:
        aligned: the clocks and calls of all ranks.
        depth: up to which the view is shown.
        stated: notes that the view shows with the verdict, not again here.
    """
    clocks = aligned.ranks
    names = [name for name in CLOCK_FIELDS if name != "host" or any(clocks.host)]
    title = "Clocks of the ranks against the axis, in the middle of the run"
    if len(clocks) > MAX_CLOCKS:
        errors = np.stack([clocks.expected_error_s, clocks.bound_s])  # the last row is the first sort key
        clocks = clocks[np.lexsort(np.where(np.isnan(errors), -np.inf, -errors))]
        title += "; the least known first"
    blocks: list[Block] = [
        Heading("Clocks", depth=Depth.PAGE),
        Table(
            title,
            clocks.frame(*names),
            {name: CLOCK_FIELDS[name] for name in names},
            max_rows=MAX_CLOCKS,
            noun="ranks",
            more="on the page (--page FILE)",
            depth=Depth.TEXT,
        ),
        Line(aligned.axis, depth=Depth.TEXT),
        *(Line(note, "warning", depth=Depth.TEXT) for note in aligned.notes if note not in stated),
    ]
    if depth >= Depth.PAGE:
        from downbeat.align.pictures import before_and_after, calls_to_show, clocks_over_time

        shown = calls_to_show(aligned)
        pictures = (clocks_over_time(aligned), before_and_after(aligned, *shown) if shown else None)
        blocks += [picture for picture in pictures if picture]
    return blocks


MAX_NAMED_FILES = 4  # file names in a printed command


def following(traces: Sequence[Path], output: Path | None, page: Path | None) -> tuple[Command, ...]:
    """Returns the next command after `downbeat align`.

    Args:
        traces: files and directories that were read.
        output: the trace of all ranks; None: it was not written.
        page: the page; None: it was not written.
    """
    missing = [*([] if output else ["-o", "merged.json.gz"]), *([] if page else ["--page", "late.html"])]
    if not missing or len(traces) > MAX_NAMED_FILES:
        return ()
    return (Command((shlex.join(["downbeat", "align", *map(str, traces), *missing]),), "next"),)
