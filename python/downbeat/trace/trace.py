"""The one reader of recordings: frames of processes, clocks, communicators, and calls added up; their summary."""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.text import counted
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.calls import UNPLACED
from downbeat.trace.clocks import starts_of
from downbeat.trace.file import CALL_KINDS, ENDINGS, SIZE_UNKNOWN, SUMS, TABLES, Section, read_job, room_lines, text
from downbeat.trace.phases import ended_names, phase_paths, phase_rows
from downbeat.trace.records import (
    NOT_KNOWN,
    RECORD_COLUMNS,
    SAME_CALLS,
    WORDS,
    Words,
    add_kept_records,
    group_of,
    identity,
    ranks_and_beyond,
    thinned,
)

ELSEWHERE, UNSEEN = 1, 2  # of processes that a call has beyond the trace: of another job; of a group that left nothing


def processes_of(sections: Iterable[Section]) -> dict[int, tuple[int, int]]:
    """Returns by identity of communicators: processes, of both groups if there are two, and whether it has others.

    The second is 0 if all of them belong to the job, else ELSEWHERE or UNSEEN; then the first counts those of the own
    group.
    """
    groups: dict[int, dict[int, int]] = {}
    beyond: dict[int, bool] = {}
    inter = set()
    for section in sections:
        for one in section.tables["communicators"]:
            number = int(one["identity"])
            groups.setdefault(number, {})[int(one["second"])] = int(one["size"])
            beyond[number] = beyond.get(number, False) or bool(one["has_outside_members"])
            if one["inter"]:
                inter.add(number)
    found = {}
    for number, sizes in groups.items():
        unseen = number in inter and len(sizes) < 2  # also in files without the groups of ranks
        found[number] = (sum(sizes.values()), ELSEWHERE if beyond[number] else UNSEEN if unseen else 0)
    return found


class Trace:
    """The recording of a job as frames.

    Attributes:
        sections: what each process recorded, as in its file.
        most: records are thinned further until no more than so many are left; None: they are not.
        own_clocks: times of records are on each process' own clock, from its first synchronization on at that one's
            rate: what later ones say of a global clock is not used.
    """

    def __init__(self, sections: list[Section], most: int | None = None, own_clocks: bool = False) -> None:
        self.sections = sections
        self.most = most
        self.own_clocks = own_clocks

    def __repr__(self) -> str:
        """Returns ranks, hosts, calls and the error of the clocks, in a line."""
        processes, calls = self.processes, int(self.profile["calls"].sum())
        bound = self.records["bound"].max() * 1e6  # NaN: there are none
        within = f", clocks within {bound:.3g} us" if bound >= 0 else ""
        hosts = counted(processes["host"].nunique(), "host")
        return f"<Trace: {counted(len(processes), 'rank')} on {hosts}, {calls} calls of collectives{within}>"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: that line, and a row per operation; times in s."""
        return f"<p>{html.escape(repr(self)[1:-1])}</p>" + call_totals(self).to_html(index=False)

    def arrivals(self) -> pd.DataFrame:
        """Returns when each process came to each call and for whom it waited: a row per process and call.

        The columns of `records`, and those of `match_arrivals` and `with_gaps` in downbeat.trace: among them `call`,
        `late`, `wait`, `cause` (the rank that it waits for, -1: none), `before` (the collective before) and `gap`
        (since that), times in s; `name` of the call site. `find_arrivals` of downbeat.trace.arrivals has all that
        `downbeat arrivals` says of them.
        """
        found = find_arrivals(self)
        return found.rows.assign(name=found.sites["name"].loc[found.rows["site"]].to_numpy())

    @cached_property
    def processes(self) -> pd.DataFrame:
        """A row per process: rank, host, file, how it ended, records kept and dropped, clocks, bounds."""
        rows = []
        for section in self.sections:
            with reading(section.path):
                rows.append(process_row(section))
        return pd.DataFrame(rows)

    @cached_property
    def clocks(self) -> pd.DataFrame:
        """A row per process and clock synchronization: rank, and the fields of `struct trace_map` in trace_file.h."""
        return pd.concat(
            [pd.DataFrame(section.tables["maps"]).assign(rank=section.rank) for section in self.sections],
            ignore_index=True,
        )

    @cached_property
    def communicators(self) -> pd.DataFrame:
        """A row per process and communicator: rank, communicator (its name in records), comm_rank, size, group.

        Size and comm_rank are those of the process' own group; `group` as in `records`.
        """
        frames = []
        for section in self.sections:
            table = section.tables["communicators"]
            names = list(map(identity, table))
            known = {"rank": section.rank, "communicator": names, "comm_rank": table["rank"], "size": table["size"]}
            frames.append(pd.DataFrame(known | {"group": group_of(table)}))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def members(self) -> dict[str, tuple[int, ...]]:
        """The rank in the job of each rank of a communicator, by its name; -1: that left no file, or another group's.

        A communicator of two groups has none.
        """
        found = {}
        rows = self.communicators
        rows = rows[(rows["group"] < 0) & rows["comm_rank"].between(0, rows["size"] - 1)]
        for name, some in rows.groupby("communicator", sort=False):
            ranks = np.full(int(some["size"].max()), -1)
            ranks[some["comm_rank"]] = some["rank"]
            found[str(name)] = tuple(ranks.tolist())
        return found

    @cached_property
    def _processes_of(self) -> dict[int, tuple[int, int]]:
        return processes_of(self.sections)

    @cached_property
    def starts(self) -> pd.DataFrame:
        """Samples after barriers with a common start: see `starts_of`."""
        return starts_of(self.sections)

    @cached_property
    def phases(self) -> pd.DataFrame:
        """A row per process and phase of MPI_Pcontrol: rank, phase (`outer > inner`), begins, time (in it, s)."""
        names = ended_names(self.sections)
        found: list[dict[str, object]] = []
        for section in self.sections:
            with reading(section.path):
                found += phase_rows(section, names, tick_of(section))
        return pd.DataFrame(found, columns=["rank", "phase", "begins", "time"])

    @cached_property
    def profile(self) -> pd.DataFrame:
        """All calls of the run, added up: a row per process, call site, communicator, operation and class of sizes.

        Columns: rank, operation, kind, communicator, size (its ranks), beyond (as in `records`), size_up_to (bytes, a
        power of two; NaN: not known), phase (`outer > inner`; "": none), module, offset, symbol, build_id (of
        the module), calls, bytes (all of them), call_time (in the calls), wait_time (in calls that began persistent
        ones, or saw a completion), thinning: records are of one call in 2^thinning, the same one on all processes.
        """
        found = []
        names = ended_names(self.sections)
        for section in self.sections:
            with reading(section.path):
                found.append(profile_of(section, self._processes_of, phase_paths(section, names)))
        frame = pd.concat(found, ignore_index=True)
        if frame["thinning"].any():
            frame["thinning"] = frame.groupby(SAME_CALLS, dropna=False, sort=False)["thinning"].transform("max")
        if self.most is not None:
            frame["thinning"] = thinned(self.sections, frame, self.most)
        return frame

    @property
    def sampled(self) -> bool:
        """Whether `records` are a sample of the calls."""
        return bool((self.profile["thinning"] > 0).any())

    @cached_property
    def sums(self) -> pd.DataFrame:
        """Time in all calls of MPI, a row per process and kind: rank, kind (as in `SUMS`), calls, time (s)."""
        rows = []
        for section in self.sections:
            with reading(section.path):
                kinds = section.header["kinds"]
                calls, ticks = kinds["calls"], kinds["ticks"] * tick_of(section)
                rows += [(section.rank, *row) for row in zip(SUMS, calls.tolist(), ticks.tolist(), strict=True)]
        return pd.DataFrame(rows, columns=["rank", "kind", "calls", "time"])

    @cached_property
    def records(self) -> pd.DataFrame:
        """A row per collective and process, by rank and time of entry: of all of them, or of a sample (`sampled`).

        Columns: rank (in MPI_COMM_WORLD), operation, kind (blocking, nonblocking, persistent), communicator, size and
        comm_rank (of the communicator), sequence (number of the collective on its communicator), round (number of the
        start of a persistent one), bytes (NaN: not known), root (NaN: none), entry, returned, waited, exit (seconds on
        the global clock; waited is when the call began that saw the completion, NaN of a blocking one; exit is NaN
        where no completion was seen), bound (s, of the error of each of them), elsewhere (of the thread in other MPI
        calls since it left a collective, s), module, offset, symbol (of the call
        site), thread, together (collectives that the same call saw complete), row (index of `profile`), phase (of
        that row), complete.
        The `size` of an intercommunicator is that of both groups, `group` the number of the rank's own (-1: there is
        one), comm_rank is in the own, root in the other. is_root: it is the root. beyond: 0, or ELSEWHERE or UNSEEN if
        not all processes of the communicator can be in the trace; then `size` is that of the own group.
        """
        tables = [section.tables["records"] for section in self.sections]
        total = sum(len(table) for table in tables)
        columns = {name: np.empty(total, dtype=dtype) for name, dtype in RECORD_COLUMNS.items()}
        words = {name: Words() for name in WORDS}
        words["kind"].codes(CALL_KINDS)
        filled = first = 0
        thinning = self.profile["thinning"].to_numpy()
        names = ended_names(self.sections)
        for section in self.sections:
            rows = len(section.tables["profile"])
            with reading(section.path):
                kept, paths = thinning[first : first + rows], phase_paths(section, names)
                maps = section.tables["maps"][:1] if self.own_clocks else section.tables["maps"]
                filled += add_kept_records(
                    columns, words, section, filled, kept, first, self._processes_of, paths, maps
                )
            first += rows + 1
        return pd.DataFrame(
            {
                name: words[name].column(values[:filled]) if name in words else values[:filled]
                for name, values in columns.items()
            },
            copy=False,
        )


def process_row(section: Section) -> dict[str, object]:
    """Returns the row of a process in `Trace.processes`."""
    header = section.header
    maps = section.tables["maps"]
    return {
        "rank": section.rank,
        "world_size": int(header["world_size"]),
        "host": text(header["host"]),
        "file": section.path,
        "pid": int(header["pid"]),
        "ending": ENDINGS.get(int(header["ending"]), "unknown"),
        "abort_code": int(header["abort_code"]),
        "began": pd.Timestamp(int(header["began_ns"]), unit="ns", tz="UTC"),
        "records": len(section.tables["records"]),
        "processors": int(header["processors"]),
        "ready": int(header["ready_ns"]) * 1e-9 if header["ready_ns"] >= 0 else np.nan,
        "records_dropped": int(header["records_dropped"]),
        "communicators_dropped": int(header["communicators_dropped"]),
        "sites_dropped": int(header["sites_dropped"]),
        "clock": text(header["clock"]),
        "max_wander": float(header["max_wander"]),
        "syncs": len(maps),
        "bound_at_sync": float(maps["bound_ns"].max()) * 1e-9 if len(maps) else np.nan,
    }


def tick_of(section: Section) -> float:
    """Returns the length of a tick over the run, s."""
    maps = section.tables["maps"]
    if not len(maps):
        return np.nan
    ticks = int(maps["ticks"][-1] - maps["ticks"][0])
    return (
        int(maps["global_ns"][-1] - maps["global_ns"][0]) / ticks if ticks else float(maps["ns_per_tick"][0])
    ) * 1e-9


def profile_of(section: Section, processes: dict[int, tuple[int, int]], phases: list[str]) -> pd.DataFrame:
    """Returns the rows of a process in `Trace.profile`; the last one is of calls that had no room for a row.

    Args:
        section: what the process recorded.
        processes: from `processes_of`.
        phases: from `phase_paths`.
    """
    table, communicators, sites = (section.tables[name] for name in ("profile", "communicators", "sites"))
    communicator, site = np.minimum(table["communicator"], len(communicators)), np.minimum(table["site"], len(sites))
    names = np.array([*map(identity, communicators), "freed"], dtype=object)
    known = {name: np.array([*map(text, sites[name]), NOT_KNOWN], dtype=object) for name in ("module", "symbol")}
    known["symbol"][-1] = ""
    tick = tick_of(section)
    both = np.append(table, np.array(section.header["unplaced"], dtype=TABLES["profile"]))
    sizes = both["size"].astype(np.float64)
    ranks, beyond = ranks_and_beyond(communicators, processes)
    ranks = np.append(np.where(communicator < len(communicators), ranks[communicator], table["ranks"]), np.nan)
    return pd.DataFrame(
        {
            "rank": section.rank,
            "operation": [*np.array(section.operations, dtype=object)[table["operation"]], UNPLACED],
            "kind": [*np.array(CALL_KINDS, dtype=object)[table["kind"]], "blocking"],
            "communicator": [*names[communicator], NOT_KNOWN],
            "size": ranks,
            "beyond": [*beyond[communicator], 0],
            "size_up_to": np.where(
                sizes == SIZE_UNKNOWN, np.nan, np.where(sizes > 0, np.exp2(sizes.clip(max=64) - 1), 0)
            ),
            "phase": [*np.array(phases, dtype=object)[table["phase"]], ""],
            "module": [*known["module"][site], NOT_KNOWN],
            "offset": np.append(np.append(sites["offset"], np.uint64(0))[site], np.uint64(0)),
            "symbol": [*known["symbol"][site], ""],
            "build_id": [*np.array([*map(text, sites["build_id"]), ""], dtype=object)[site], ""],
            "calls": both["calls"],
            "bytes": both["bytes"],
            "call_time": both["ticks"] * tick,
            "wait_time": both["waits"] * tick,
            "thinning": [*table["thinning"], 0],
        }
    )


def open_trace(path: str | Path, job: str | None = None, most: int | None = None, own_clocks: bool = False) -> Trace:
    """Opens what libdownbeat-preload recorded, even if the program crashed.

    Args:
        path: the directory, or one file of it, or DIR/JOB.
        job: which of several jobs in the directory; their names begin the files' names.
        most: records to read, of all processes; of more, a sample is read.
        own_clocks: see `Trace`.

    Returns:
        The trace: `trace.records` and `trace.processes` are pandas frames; times are seconds.
    """
    return Trace(read_job(Path(path), job), most, own_clocks)


def call_totals(trace: Trace) -> pd.DataFrame:
    """Returns a row per operation and kind: calls of all processes, bytes (mean), time in them (median, total, s)."""
    names = ["operation", "kind"]
    profile = trace.profile.assign(total=trace.profile["call_time"] + trace.profile["wait_time"])
    found = profile[profile["calls"] > 0].groupby(names, sort=False)[["calls", "bytes", "total"]].sum().reset_index()
    found["bytes"] /= found["calls"]
    records = trace.records
    times = (records["exit"] - records["entry"]).groupby([records[name].astype(str) for name in names]).median()
    return found.join(times.rename("median"), on=names)


def number_text(value: float, form: str) -> str:
    """Returns a number as text; "" if it is not known."""
    return "" if pd.isna(value) else format(value, form)


def trace_lines(trace: Trace, directory: Path) -> list[str]:
    """Returns what people want to know of a job first."""
    processes = trace.processes
    found = call_totals(trace)
    said = []
    ended = processes["ending"].ne("finalized")
    if ended.any():
        said.append(f"{ended.sum()} of {len(processes)} ranks ended without MPI_Finalize; what they recorded is there")
    if (missing := int(processes["world_size"].max()) - len(processes)) > 0:
        said.append(f"{missing} of {processes['world_size'].max()} ranks left no file")
    starts = trace.starts
    if found.empty and starts.empty:
        said.append(f"{len(processes)} ranks, no call was recorded: there is nothing to show")
    elif not found.empty:
        bound = trace.records["bound"].max() * 1e6
        said.append(
            f"{len(processes)} ranks, {found['calls'].sum()} collectives"
            + (f", clock within {bound:.3g} us" if bound >= 0 else "")
        )
        said.append(f"{'operation':24} {'calls':>9} {'bytes':>9} {'median us':>11} {'total s':>9}")
        for row in found.to_dict("records"):
            name = row["operation"] if row["kind"] == "blocking" else f"{row['operation']} ({row['kind']})"
            size = number_text(row["bytes"], ".0f")
            median = number_text(row["median"] * 1e6, ".2f") or "-"
            said.append(f"{name:24} {row['calls']:>9} {size:>9} {median:>11} {row['total']:>9.4g}")
        if trace.sampled:
            said.append(f"all calls are added up; {len(trace.records)} of them are kept one by one, as a sample")
    said += room_lines(trace.sections, directory)
    if not starts.empty:
        said.append("after harmonized barriers, mean over ranks [us]")
        said.append(
            f"{'operation':24} {'up to B':>8} {'samples':>8} {'mean':>9} {'valid':>9} {'rejected':>9} {'spread':>9}"
        )
        for row in starts.to_dict("records"):
            cells = (number_text(row[name] * 1e6, ".3f") for name in ("mean_s", "valid_mean_s"))
            share = number_text(row["rejected_share"], ".1%")
            spread = number_text(row["spread_mean_s"] * 1e6, ".3f")
            said.append(
                f"{row['operation']:24} {row['size_up_to']:>8} {row['samples']:>8} "
                + " ".join(f"{cell:>9}" for cell in (*cells, share, spread))
            )
    return said
