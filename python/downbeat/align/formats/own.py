"""Traces of libdownbeat-preload, on each process' own clock: what it knows of a global one is not used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from downbeat.align.calls import Calls, Integers, RankTrace
from downbeat.align.formats.common import normalize
from downbeat.errors import UsageError, reading
from downbeat.traces.file import COMPLETE, KINDS, MAGIC, SUFFIXES, Section, is_job, read_job, text
from downbeat.traces.trace import identity

NAME = "libdownbeat-preload"
BLOCKING = KINDS.index("blocking")


def recognizes(path: Path) -> bool:
    """Whether there is a trace: a file, by its first bytes, a directory of such files, or a job in one, DIR/JOB."""
    if path.is_dir():
        return any(file.suffix in SUFFIXES for file in path.iterdir())
    if not path.exists():
        return is_job(path)
    with path.open("rb") as file:
        return file.read(len(MAGIC))[:-1] == MAGIC[:-1]


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of a job's processes, and a line for each kind of what was left out.

    Raises:
        UsageError: the trace is damaged, or has no collectives.
    """
    sections = read_job(path)
    members: dict[int, dict[int, int]] = {}
    for section in sections:
        for one in section.tables["communicators"]:
            members.setdefault(int(one["identity"]), {})[int(one["rank"])] = section.rank
    traces = []
    left_out: Counter[str] = Counter()
    for section in sections:
        with reading(section.path):
            trace, skipped = trace_of(section, members)
        traces.append(trace)
        left_out.update(skipped)
    if not any(trace.calls for trace in traces):
        why = "; ".join(f"{count} {what}" for what, count in (+left_out).items())
        raise UsageError(f"'{path}' has no collectives" + (f" to align by: {why}" if why else ""))
    return traces, +left_out


def own_clock(ticks: Integers, section: Section) -> Integers:
    """Returns readings of a process' clock in ns: its ticks, at the rate of its first synchronization throughout."""
    maps = section.tables["maps"]
    first = maps[np.argmin(maps["ticks"])]
    since = (ticks - first["ticks"]).astype(np.float64) * float(first["ns_per_tick"])
    times: Integers = np.rint(since).astype(np.int64) + int(first["global_ns"])
    return times


def trace_of(section: Section, members: dict[int, dict[int, int]]) -> tuple[RankTrace, dict[str, int]]:
    """Returns the trace of a process, and how many of what was left out.

    Args:
        section: what the process recorded.
        members: ranks in the job of each communicator's ranks, as far as processes left a trace.
    """
    records, host = section.tables["records"], text(section.header["host"])
    communicators = section.tables["communicators"]
    names = [normalize(f"MPI_{name}") or "" for name in section.operations]
    collective = np.array([bool(name) for name in names])[section.of_rows("operation", records)]
    complete = records["state"] == COMPLETE
    of = section.of_rows("communicator", records)
    known = of < len(communicators)
    # A rank waits for those of the other group there, which may be another job's.
    between = np.append(communicators["inter"] > 0, False)[np.minimum(of, len(communicators))]
    # From begin to end of one that does not block, a process computes: that is not waiting, and says little of clocks.
    blocking = section.of_rows("kind", records) == BLOCKING
    skipped = {
        "calls of other operations": int((~collective).sum()),
        "collectives without an end": int((collective & ~complete).sum()),
        "collectives that do not block": int((collective & complete & ~blocking).sum()),
        "collectives of an unknown communicator": int((collective & complete & blocking & ~known).sum()),
        "collectives between two groups of ranks (of an intercommunicator)": int(
            (collective & complete & blocking & between).sum()
        ),
        "records that were dropped as it was recorded": int(section.header["records_dropped"]),
    }
    taken = records[collective & complete & blocking & known & ~between]
    if not len(section.tables["maps"]):
        return RankTrace(section.path, section.rank, host, ()), {"collectives without a clock": len(taken)}
    groups = []
    of_communicator = section.of_rows("communicator", taken)
    for number, communicator in enumerate(communicators):
        mine = taken[of_communicator == number]
        mine = mine[np.argsort(mine["entry"], kind="stable")]
        if not len(mine):
            continue
        ranks_by_place = members[int(communicator["identity"])]
        places = range(int(communicator["size"]))
        whole = all(place in ranks_by_place for place in places)
        table = np.array([ranks_by_place.get(place, -1) for place in places] + [-1], dtype=np.int64)
        root = mine["root"]
        groups.append(
            Calls(
                identity(communicator),
                tuple(ranks_by_place[place] for place in places) if whole else (),
                np.array(names, dtype=np.str_)[section.of_rows("operation", mine)],
                mine["sequence"].astype(np.int64),
                table[np.where((root >= 0) & (root < len(places)), root, -1)],
                mine["bytes"].astype(np.int64),
                own_clock(mine["entry"], section),
                own_clock(mine["exit"], section),
            )
        )
    return RankTrace(section.path, section.rank, host, tuple(groups)), skipped
