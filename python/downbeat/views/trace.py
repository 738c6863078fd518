"""Builds the views of `downbeat trace` (the recording) and `downbeat arrivals` (late ranks and the cost of waiting).

A call site is a collective at one place of the program, on one communicator; a phase is a section of the program that
MPI_Pcontrol marks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.output.blocks import Block, Characters, Command, Depth, Heading, Line, Table, View
from downbeat.output.facts import Fact
from downbeat.output.facts.trace import KeptCalls, NothingAnalyzed, NothingRecorded, RecordsLeftOut, RunAndAccuracy
from downbeat.output.fields import Field, declared_fields, percent_text
from downbeat.output.records import table_rows
from downbeat.output.terminal import WIDTH
from downbeat.output.words import long
from downbeat.tables import Floats, Ints
from downbeat.text import evenly, microseconds
from downbeat.trace.arrivals import Arrivals, PhaseTimes, Sites
from downbeat.trace.balance import PARTS, KindTimes, RankTimes, part_name
from downbeat.trace.calls import LATER, mpi_name
from downbeat.trace.causes import LateRanks, ratio
from downbeat.trace.file import full_recordings
from downbeat.trace.findings import (
    message_facts,
    phase_facts,
    run_fact,
    site_facts,
    wait_shares,
    waiting_verdict,
    ways_before,
)
from downbeat.trace.patterns import patterns_frame
from downbeat.trace.recording import Recording
from downbeat.trace.starts import Starts
from downbeat.trace.trace import faults_of, recorded, totals_block

SCHEMA_VERSION = 1  # of the record
MAX_SITES = 12  # call sites in the table on a terminal
MAX_SITE_ROWS = 20  # call sites in the table on a page; JSON has all
MAX_SECTIONS = 5  # call sites with pictures
MAX_PATTERN_RANKS = 16  # of a site whose representative calls are shown in a table
MAX_BARS = 8  # ranks with a bar on a terminal; the page has all
SHARES = "of the time of processes, the run of each rank"
SHARES_OF_THREADS = (
    f"shares are {SHARES}, whatever number of threads it has: a moment in which several of them are in collectives is "
    "divided among them, and counts as computing if none is in MPI"
)


def arrivals_view(arrivals: Arrivals, title: str, baseline: Floats | None = None, depth: Depth = Depth.TEXT) -> View:
    """Makes the view of `downbeat arrivals`.

    Args:
        arrivals: the analyzed recording.
        title: title of the page.
        baseline: time of each call site from a common start, s; None without a baseline.
        depth: depth that is shown; pictures are drawn for pages only.
    """
    blocks = (
        *lead_blocks(arrivals, run_fact(arrivals)),
        *time_blocks(arrivals, depth),
        *late_blocks(arrivals),
        *site_blocks(arrivals, baseline),
        *phase_blocks(arrivals),
        *kind_blocks(arrivals),
        *detail_blocks(arrivals, depth),
        *note_blocks(arrivals),
    )
    return View(title, blocks, record=arrivals_record(arrivals, baseline, blocks))


def arrivals_record(arrivals: Arrivals, baseline: Floats | None, blocks: Sequence[Block]) -> dict[str, object]:
    """Returns the record for JSON; times in s."""
    sites = table_rows(arrivals.sites.frame().assign(baseline=np.nan if baseline is None else baseline))
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": [block.text for block in blocks if isinstance(block, Line) and block.role != "note"],
        "run": arrivals.run,
        "ranks": arrivals.ranks,
        "threads": arrivals.threads,
        "shares": SHARES,
        "bound": arrivals.bound if arrivals.bound >= 0 else None,
        "records_left_out": sum(arrivals.left_out.values()),
        "left_out": dict(arrivals.left_out),
        "notes": [long(note) for note in arrivals.notes],
        "phase": arrivals.phase or None,
        "phases": table_rows(arrivals.phases.frame()),
        "kinds": table_rows(arrivals.kinds.frame()),
        "late_ranks": table_rows(arrivals.late_ranks.frame()),
        "by_rank": table_rows(arrivals.by_rank.frame()),
        "sites": sites,
    }


def lead_blocks(
    arrivals: Arrivals, run: RunAndAccuracy, caveats: Sequence[Fact] = (), doubtful: Sequence[int] = ()
) -> list[Block]:
    """Returns the verdict, warnings, and short sentences with labels.

    Args:
        arrivals: the analyzed recording.
        run: the fact on the length of the run and the accuracy of times.
        caveats: facts that put the verdict in doubt.
        doubtful: ranks of these facts.
    """
    verdict, messages = waiting_verdict(arrivals, frozenset(doubtful)), message_facts(arrivals)
    candidates = [*([verdict] if verdict else []), *site_facts(arrivals)[:1], *messages, NothingAnalyzed()]
    labeled = [
        *(("where", fact) for fact in ways_before(arrivals)[:1]),
        *(("messages", fact) for fact in messages),
        *(("also", NothingAnalyzed()) for _ in range(not len(arrivals.sites))),
        *(("phase", fact) for fact in phase_facts(arrivals)[:1]),
        ("phase" if arrivals.phase else "run", run),
    ]
    return [
        Line(candidates[0], "answer"),
        *(Line(fact, "warning") for fact in (*caveats, *arrivals.warnings)),
        *(Line(fact, label=label) for label, fact in labeled if fact != candidates[0]),
    ]


def time_blocks(arrivals: Arrivals, depth: Depth) -> list[Block]:
    """Returns the time of each rank by activity: bars on a terminal, a picture on a page."""
    if not len(arrivals.by_rank):
        return []
    bars = bar_lines(arrivals.by_rank, not len(arrivals.kinds), arrivals.late_ranks.rank[:2].tolist())
    blocks: list[Block] = [Characters(bars, depth=Depth.TEXT)]
    if depth >= Depth.PAGE:
        from downbeat.trace.pictures import time_by_rank

        blocks += [Heading("Where the time goes", depth=Depth.PAGE), time_by_rank(arrivals)]
    return blocks


# Activity -> character of a bar.
MARKS = {"computing": ".", "waiting": "#", "operation": "=", "point_to_point": "+", "other_MPI": "-"}


def bar_lines(by_rank: RankTimes, only_collectives: bool, first: list[int]) -> tuple[str, ...]:
    """Draws the time of each rank by activity as a bar of characters.

    Args:
        by_rank: times of all ranks.
        only_collectives: True if the recording has no other MPI calls.
        first: ranks that are always shown.
    """
    kinds = [name for name in PARTS if by_rank.part(name).sum() > 0]
    keys = "  ".join(f"{MARKS[name]} {part_name(name, only_collectives)}" for name in kinds)
    shown = ranks_to_show(by_rank, MAX_BARS, first)
    names = [f"rank {rank}" for rank in shown.rank]
    name_width, longest = max(map(len, names)), float(by_rank.sums().max())
    with_share = "waiting" in kinds
    bar_width = WIDTH - name_width - 1 - (len(" 100 % waiting") if with_share else 0)
    times = np.stack([shown.part(name) for name in kinds], axis=1) if kinds else np.zeros((len(shown), 0))
    lines = [f"time by rank: {keys}"]
    for name, row, waiting, total in zip(names, times, shown.waiting, shown.sums(), strict=True):
        stops = np.round(bar_width * np.cumsum(row) / longest).astype(int) if longest > 0 else [0] * len(kinds)
        bar = "".join(MARKS[kind] * count for kind, count in zip(kinds, np.diff(stops, prepend=0), strict=True))
        share = f" {100 * waiting / max(float(total), 1e-12):3.0f} % waiting"
        lines.append(f"{name:<{name_width}} {bar:<{bar_width}}{share if with_share else ''}".rstrip())
    left_out = len(by_rank) - len(shown)
    return (*lines, *([f"{left_out} more ranks are on the page and in JSON (--json)"] if left_out else []))


def ranks_to_show(by_rank: RankTimes, count: int, first: list[int]) -> RankTimes:
    """Chooses ranks: `first`, the rank that waits longest, and an evenly spaced sample of the others.

    Args:
        by_rank: times of all ranks.
        count: maximum number of ranks.
        first: ranks that are always shown.
    """
    ranks = by_rank.rank.tolist()
    chosen = [rank for rank in dict.fromkeys([*first, ranks[int(by_rank.waiting.argmax())]]) if rank in ranks][:count]
    between = [rank for rank in ranks if rank not in chosen]
    chosen += evenly(between, count - len(chosen)) if count > len(chosen) else []
    return by_rank[np.isin(by_rank.rank, chosen)]


CAUSE_FIELDS = declared_fields(
    LateRanks.columns(),
    {"calls": "significant", "costly": "significant", "late": "time", "takes": "time", "others": "time"},
    ["calls"],
    {"costly": "costly calls"},
)
LATE_FIELDS = {
    "rank": Field("rank", "number"),
    "caused_s": Field(
        "waiting caused [s]",
        "significant",
        "s",
        "average time another rank spends waiting for this one, i.e. the most that balancing it could save",
    ),
    "share": Field("waiting [%]", "share", "1", "share of all waiting for late ranks"),
    **{name: CAUSE_FIELDS[name] for name in ("calls", "costly", "late")},
    "between": Field("between", "text", meaning="the two collectives between which the rank was before"),
    **{name: CAUSE_FIELDS[name] for name in ("takes", "others")},
}


def late_blocks(arrivals: Arrivals, depth: Depth = Depth.TEXT) -> list[Block]:
    """Returns the ranks that other ranks wait for: sentences from `depth` on, a table on pages."""
    late = arrivals.late_ranks[:MAX_SITE_ROWS]
    if not len(late):
        return []
    pairs = zip(late.before, late.after, strict=True)
    between = [f"{before} and {after}" if before is not None else None for before, after in pairs]
    frame = late.frame("rank", "calls", "costly", "late", "takes", "others").assign(
        caused_s=late.wait / arrivals.ranks,
        share=late.wait / arrivals.sites.wait.sum(),
        calls=late.calls.round(),
        between=np.array(between, dtype=object),
    )
    known = {name: field for name, field in LATE_FIELDS.items() if frame[name].notna().any()}
    title = "Ranks that others wait for, by the waiting that they cause"
    return [
        Heading("Who is late", depth=Depth.PAGE),
        *(Line(fact, depth=depth) for fact in ways_before(arrivals)[1:]),
        Table(title, frame[list(known)], known, depth=Depth.PAGE),
    ]


def site_title(sites: Sites, at: int) -> str:
    """Returns the title of a call site: operation, communicator, source position and phase."""
    on = f" on {sites.communicators[at]}" if sites.communicators[at] else ""
    where = f"{mpi_name(sites.operation[at], sites.kind[at])}{on} at {sites.name[at]}"
    return f"{where}, in {sites.phase[at]}" if sites.phase[at] else where


def ranks_and_shares(rank: Ints, share: Floats) -> list[str]:
    """Formats ranks with the share of the waiting that each causes; a dash stands for rank -1 (unknown)."""
    pairs = zip(rank, share, strict=True)
    return [f"rank {number}, {percent_text(caused)}" if number >= 0 else "-" for number, caused in pairs]


def known_wait_shares(sites: Sites | PhaseTimes) -> Floats:
    """Returns the share of waiting in the time of calls; NaN if no call was recorded by all its ranks."""
    known = (sites.wait > 0) | (sites.wait_sampling < sites.time)
    return np.where(known, wait_shares(sites)[0], np.nan)


WAIT_FIELD = Field(
    "wait [%]",
    "share",
    "1",
    "share of that time before the process that a rank needs has entered: in an allreduce the last one",
)
SITE_FIELDS = {
    "call": Field("call", "title"),
    "size": Field("ranks", "number"),
    "calls": Field("calls", "number"),
    "bytes": Field("bytes", "significant", "B"),
    "share": Field("run [%]", "share", "1", "share of the time of all ranks"),
    "wait_share": WAIT_FIELD,
    "late": Field("late", "text", meaning="the rank that causes most of the waiting there, and its share of it"),
    "after_last": Field("operation [us]", "time", "s", "from the last arrival to the last exit, median"),
    "baseline": Field("baseline [us]", "time", "s", "the same from a common start, measured by downbeat run"),
    "spread_p50": Field("spread [us]", "time", "s", "from the first arrival to the last one, median"),
    "spread_p95": Field("p95 [us]", "time", "s", "likewise, 95 % of the calls"),
    "spread_p99": Field("p99 [us]", "time", "s", "likewise, 99 % of the calls"),
}


def site_blocks(arrivals: Arrivals, baseline: Floats | None, depth: Depth = Depth.TEXT) -> list[Block]:
    """Returns the call sites: sentences on the largest ones, and a table.

    Args:
        arrivals: the analyzed recording.
        baseline: time of each call site from a common start, s; None without a baseline.
        depth: smallest depth that shows them.
    """
    sites, count = arrivals.sites[:MAX_SITE_ROWS], len(arrivals.sites)
    if not count:
        return []
    facts = site_facts(arrivals)
    if waiting_verdict(arrivals) is None:
        facts = facts[1:]  # the first one is the verdict
    numbered = []
    for at in range(len(sites)):
        # The time between call and wait.
        overlap = f", overlap {microseconds(sites.overlap[at])} us" if sites.kind[at] in LATER else ""
        numbered.append(f"{at + 1} {site_title(sites, at)}{overlap}")
    frame = sites.frame("calls", "bytes", "share", "after_last", "spread_p50", "spread_p95", "spread_p99").assign(
        call=numbered,
        size=sites.size.astype(int),
        wait_share=known_wait_shares(sites),
        late=ranks_and_shares(sites.last_rank, sites.last_wait),
        baseline=np.nan if baseline is None else baseline[: len(sites)],
    )
    fields = {name: field for name, field in SITE_FIELDS.items() if frame[name].notna().any()}
    left_out = ("call", "late", "spread_p99")
    choices = [
        [name for name in fields if name not in (*left_out, *more)]
        for more in ((), ("spread_p95",), ("spread_p95", "size"), ("spread_p50", "spread_p95"))
    ]
    return [
        Heading("Call sites", depth=Depth.PAGE),
        *(Line(fact, depth=depth) for fact in facts),
        Table(
            "Call sites, by time",
            frame[list(fields)],
            fields,
            choices=choices,
            max_rows=MAX_SITES,
            noun="call sites",
            more="in JSON (--json)",
            depth=depth,
        ),
        *(
            [Line(f"The first {MAX_SITE_ROWS} of {count}; --json has all.", "note", depth=Depth.PAGE)]
            if count > MAX_SITE_ROWS
            else []
        ),
    ]


PHASE_FIELDS = {
    "phase": Field("phase", "title"),
    "ranks": Field("ranks", "number"),
    "begins": Field("begins", "number"),
    "seconds": Field("time [s]", "significant", "s", "mean of the ranks that began it"),
    "calls": Field("calls", "number"),
    "collectives": Field("collectives [%]", "share", "1", "share of that time in collectives"),
    "wait_share": WAIT_FIELD,
    "late": Field("late", "text", meaning="the rank that causes most of the waiting there, and its share of it"),
}


def phase_blocks(arrivals: Arrivals) -> list[Block]:
    """Returns the phases of the program."""
    phases = arrivals.phases
    if not len(phases):
        return []
    frame = phases.frame("phase", "ranks", "begins", "calls").assign(
        seconds=phases.seconds / phases.ranks.clip(min=1),
        collectives=ratio(phases.time, phases.seconds, np.nan),
        wait_share=known_wait_shares(phases),
        late=ranks_and_shares(phases.last_rank, phases.last_wait),
    )
    title = "Phases by MPI_Pcontrol, with those within them"
    return [
        Heading("Phases", depth=Depth.PAGE),
        *(Line(fact, depth=Depth.TEXT) for fact in phase_facts(arrivals)[1:]),
        Table(title, frame[list(PHASE_FIELDS)], PHASE_FIELDS, depth=Depth.TEXT),
    ]


KIND_FIELDS = {
    "kind": Field("calls of MPI", "text"),
    "calls": Field("calls", "number"),
    "share": Field("run [%]", "share", "1", "mean of the ranks"),
    "least": Field("least (rank)", "number"),
    "most": Field("most (rank)", "number"),
    "analyzed": Field("analyzed [%]", "share", "1", "share of that time at call sites in the table above"),
}


def kind_blocks(arrivals: Arrivals) -> list[Block]:
    """Returns the table of time in MPI calls, by kind."""
    if not len(arrivals.kinds):
        return []
    groups = arrivals.kinds.groups(arrivals.kinds.kind)
    rows = [kind_row(kind, times, arrivals.run) for kind, times in groups if times.calls.any()]
    messages = any(row["kind"] == "point-to-point" for row in rows)
    note = Line("Messages are added up by rank: single late senders are not known.", "note", depth=Depth.TEXT)
    return [
        Heading("Time in MPI", depth=Depth.PAGE),
        Table(
            "Time in MPI calls, by kind", pd.DataFrame(rows, columns=list(KIND_FIELDS)), KIND_FIELDS, depth=Depth.TEXT
        ),
        *([note] if messages else []),
    ]


def kind_row(kind: str, times: KindTimes, run: float) -> dict[str, object]:
    """Returns the row of a kind of MPI calls: calls, share of the run (mean, minimum, maximum), analyzed share."""
    share = times.time / (run or np.nan)
    least, most = (f"{100 * share[at]:.1f} ({times.rank[at]})" for at in (int(share.argmin()), int(share.argmax())))
    analyzed = float(times.analyzed.sum() / times.time.sum()) if times.time.any() else 0.0
    values = (kind, int(times.calls.sum()), float(share.mean()), least, most, analyzed)
    return dict(zip(KIND_FIELDS, values, strict=True))


def detail_blocks(arrivals: Arrivals, depth: Depth) -> list[Block]:
    """Returns pictures of the largest call sites and their representative calls; only for pages."""
    if depth < Depth.PAGE:
        return []
    from downbeat.trace.pictures import site_pictures

    sites, blocks, patterns = arrivals.sites, list[Block](), list[Block]()
    for number in range(min(MAX_SECTIONS, len(sites))):
        title = f"{number + 1}. {site_title(sites, number)}"
        blocks += [Heading(title, depth=Depth.PAGE), *site_pictures(arrivals, number, site_title(sites, number))]
        if sites.sampled[number] and 2 <= sites.size[number] <= MAX_PATTERN_RANKS:
            patterns.append(Table(title, patterns_frame(arrivals, number), depth=Depth.PAGE))
    if patterns:
        use = Line("For downbeat arrivals --export, and downbeat tune: how late each rank came.", depth=Depth.PAGE)
        blocks += [Heading("Recorded calls that stand for all", depth=Depth.PAGE), use, *patterns]
    return blocks


def note_blocks(arrivals: Arrivals) -> list[Block]:
    """Returns notes on omitted records and on the meaning of the numbers."""
    notes: list[Fact | str] = [
        *(RecordsLeftOut(number, reason) for reason, number in arrivals.left_out.items()),
        *([SHARES_OF_THREADS] if arrivals.threads != arrivals.ranks else []),
        *arrivals.notes,
    ]
    lines = (Line(note, "note", depth=Depth.TEXT) for note in notes)
    return [Heading("Notes", depth=Depth.PAGE), *lines] if notes else []


def following(options: Sequence[str], baseline: str, page: Path | None) -> tuple[Block, ...]:
    """Returns the next command after `downbeat arrivals`.

    Args:
        options: options of the command.
        baseline: command that measures a baseline; empty if there is a baseline, or none can be measured.
        page: the written page; None without a page.
    """
    again = shlex.join(["downbeat", "arrivals", *options])
    if baseline:
        commands = (baseline, f"{again} --baseline baseline")
        return (Command(commands, "next, what the operations take from a common start"),)
    return () if page else (Command((f"{again} -o arrivals.html",), "next"),)


START_FIELDS = declared_fields(
    Starts.columns(),
    {
        "operation": "text",
        "size_up_to": "number",
        "samples": "number",
        "mean_s": "time",
        "valid_mean_s": "time",
        "rejected_share": "share",
        "spread_mean_s": "time",
    },
    ["operation", "size_up_to", "samples", "mean_s"],
    {"size_up_to": "up to", "valid_mean_s": "valid", "rejected_share": "rejected", "spread_mean_s": "spread"},
)


def recording_view(recording: Recording, directory: Path, status: int = 0, job: str = "") -> View:
    """Makes the view of `downbeat trace`: totals of a recorded job, faults, and harmonized barriers.

    Args:
        recording: recording of the job.
        directory: directory of the recording.
        status: exit status of the launcher.
        job: name of the job, if the directory has several.
    """
    starts = recording.starts
    if not recording.profile.calls.sum() and not len(starts):
        return View("", (Line(NothingRecorded(len(recording.processes), status), "answer"),))
    kept = len(recording.records)
    totals = recorded(recording)
    blocks: list[Block] = [Line(fact, "warning") for fact in faults_of(recording)]
    if totals.calls:
        blocks += [Line(totals), totals_block(recording)]
        blocks += [Line(KeptCalls(kept))] if recording.sampled else []
    blocks += [Line(fact, "warning") for fact in full_recordings(recording.sections, directory)]
    if len(starts):
        blocks.append(Table("After harmonized barriers, mean over ranks", starts.frame(*START_FIELDS), START_FIELDS))
    following = Command((f"downbeat arrivals {shlex.quote(os.fspath(directory / job))}",), "next")
    return View("", (*blocks, *([following] if totals.calls else [])))
