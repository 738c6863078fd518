"""Late ranks: at which collective, how late, and what that costs."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.base.text import MICROSECONDS, counted
from downbeat.experiment.experiment import open_experiment
from downbeat.tables.summaries import plain_cells
from downbeat.traces.trace import Trace
from downbeat.tune.sweep import HARMONIZE

UNKNOWN = "??"
SECONDS = 60.0  # a program with gigabytes of debugging information takes its time


def site_names(sites: Iterable[tuple[str, int, str]]) -> dict[tuple[str, int], str]:
    """Returns module and offset of return addresses -> how people call that place.

    Args:
        sites: module, offset, symbol of each; the symbol may be empty.
    """
    frame = pd.DataFrame(list(dict.fromkeys(sites)), columns=["module", "offset", "symbol"])
    found: dict[tuple[str, int], str] = {}
    for module, some in frame.groupby("module", sort=False):
        offsets = [int(offset) for offset in some["offset"]]
        lines = source_lines(str(module), offsets)
        for offset, symbol, line in zip(offsets, some["symbol"], lines, strict=True):
            plain = f"{Path(str(module)).name}+{offset:#x}"
            named = f"{symbol} ({plain})" if symbol and offset else symbol  # offset 0: no place in a program
            found[str(module), offset] = line or named or plain
    return found


def source_lines(module: str, offsets: list[int]) -> list[str]:
    """Returns `file:line` of calls that return to these offsets of a module; "" if unknown."""
    tool = shutil.which("addr2line")
    if not (tool and Path(module).is_file()):
        return [""] * len(offsets)
    # A call returns to the instruction after it, which may belong to the next line.
    addresses = [f"{max(0, offset - 1):#x}" for offset in offsets]
    try:
        said = subprocess.run(
            [tool, "-e", module, *addresses],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
        ).stdout.splitlines()
    except (subprocess.TimeoutExpired, OSError):
        return [""] * len(offsets)
    said += [UNKNOWN] * (len(offsets) - len(said))
    return ["" if line.startswith(UNKNOWN) else short_line(line) for line in said[: len(offsets)]]


def short_line(line: str) -> str:
    """Returns `file:line` without directories, and without what else addr2line says of it."""
    path, _, number = line.partition(" (")[0].rpartition(":")
    return "" if number in ("?", "0") else f"{Path(path).name}:{number}"


LATER = ("nonblocking", "persistent")  # kinds that are complete after the call; "collective" is not MPI's
FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("gather", "gatherv", "reduce")
FROM_LOWER = ("exscan", "scan")
NEIGHBOR = "neighbor_"  # waits between neighbors are not recorded

CALL = ["communicator", "sequence", "round"]
SITE = ["module", "offset", "operation", "kind", "size"]

Floats = NDArray[np.float64]


def arrivals(records: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns what every process did in every whole call, and the calls.

    A call is whole if all processes of its communicator recorded it, from entry to completion.

    Returns:
        A row per process and call, by call and rank in the communicator: the columns of `trace.records`, and `call`
        (index of the second frame); `late`, after the first entry; `time` in MPI, of a nonblocking collective in the
        call and in the one that waited for its completion; `overlap`, between the two, NaN if blocking; `wait`, the
        part of `time` for processes that had not entered; `wait_error`, how wrong that may be.
        And a row per call, by time: `SITE` of its first process, `first`, `last` (entries), `spread`, `spread_bound`
        (of its error), `last_rank` (-1: within the bounds it may be another one), `bytes` (median), `after_last` (from
        the last entry to the last exit; NaN if nonblocking). All times in seconds.
    """
    rows = whole_calls(records)
    begins = np.flatnonzero(np.diff(rows["call"].to_numpy(), prepend=-1))
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    calls = summarize(rows, begins)
    of = rows["call"].to_numpy()
    awaited, awaited_bound = awaited_entries(rows, begins, calls)
    blocking = ~rows["kind"].isin(LATER).to_numpy()
    returned, waited, end = (rows[name].to_numpy() for name in ("returned", "waited", "exit"))
    begin = np.where(blocking, entry, waited)  # of what can be waiting for others: a nonblocking call returns at once
    wait = np.minimum(end, awaited) - begin
    either = bound + awaited_bound
    known = awaited - begin > either
    error = np.where(awaited > begin - either, either, 0.0)
    rows["late"] = entry - calls["first"].to_numpy()[of]
    rows["time"] = np.where(blocking, 0.0, returned - entry) + end - begin
    rows["overlap"] = np.where(blocking, np.nan, waited - returned)
    rows["wait"] = np.where(known, wait.clip(min=0.0), 0.0)
    rows["wait_error"] = np.minimum(error, np.abs(rows["time"]))
    return rows, calls


def whole_calls(records: pd.DataFrame) -> pd.DataFrame:
    """Returns the records of whole calls, by call and rank in the communicator, with `call` numbered by time."""
    good = records[records["complete"] & records["entry"].notna() & records["size"].notna()]
    if good.empty:
        return good.assign(call=pd.Series(dtype=np.int64)).reset_index(drop=True)
    call = good.groupby(CALL, sort=False, observed=True).ngroup().to_numpy()
    members = np.bincount(call)
    first = np.full(len(members), np.inf)
    np.minimum.at(first, call, good["entry"].to_numpy())
    whole = members[call] == good["size"].to_numpy()
    good, call = good[whole], call[whole]
    order = np.lexsort((good["comm_rank"].to_numpy(), call, first[call]))
    call = call[order]
    number = np.cumsum(np.diff(call, prepend=-1) != 0) - 1
    ordered: pd.DataFrame = good.iloc[order].reset_index(drop=True).assign(call=number)
    return ordered


def summarize(rows: pd.DataFrame, begins: NDArray[np.intp]) -> pd.DataFrame:
    """Returns the row per call of `arrivals`."""
    if not len(begins):
        names = [*SITE, "first", "last", "spread", "spread_bound", "last_rank", "bytes", "after_last"]
        return pd.DataFrame(columns=names)
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    of = rows["call"].to_numpy()
    calls = rows.iloc[begins][SITE].reset_index(drop=True)
    order = np.lexsort((entry, of))
    ends = np.append(begins[1:], len(rows))
    earliest, latest = order[begins], order[ends - 1]
    before = order[np.maximum(ends - 2, begins)]
    calls["first"], calls["last"] = entry[earliest], entry[latest]
    calls["spread"] = entry[latest] - entry[earliest]
    # Any process of the call may be the first or the last one in truth, also one whose clock is known least.
    least_known = np.maximum.reduceat(bound, begins)
    calls["spread_bound"] = np.where(latest == earliest, 0.0, 2.0 * least_known)
    clear = (entry[latest] - entry[before] > 2.0 * least_known) & (ends - begins > 1)
    calls["last_rank"] = np.where(clear, rows["rank"].to_numpy()[latest], -1)
    calls["bytes"] = rows.groupby("call")["bytes"].median().to_numpy()
    done = np.maximum.reduceat(rows["exit"].to_numpy(), begins)
    calls["after_last"] = np.where(~calls["kind"].isin(LATER), done - calls["last"], np.nan)
    return calls


def awaited_entries(rows: pd.DataFrame, begins: NDArray[np.intp], calls: pd.DataFrame) -> tuple[Floats, Floats]:
    """Returns of each row the last entry that it has to wait for, its own if none, and the bound of its error."""
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    if not len(begins):
        return entry, bound
    of = rows["call"].to_numpy()
    operation = rows["operation"].astype(str)
    order = np.lexsort((entry, of))
    latest = order[np.append(begins[1:], len(rows)) - 1][of]
    which = latest.copy()
    is_root = (rows["comm_rank"] == rows["root"]).to_numpy()
    mine = np.arange(len(rows))

    from_root = operation.isin(FROM_ROOT).to_numpy()
    root_row = np.full(len(calls), -1)
    root_row[of[is_root]] = mine[is_root]
    which = np.where(from_root, np.where(root_row[of] >= 0, root_row[of], mine), which)
    which = np.where(operation.isin(TO_ROOT).to_numpy() & ~is_root, mine, which)
    which = np.where(operation.str.startswith(NEIGHBOR).to_numpy(), mine, which)

    lower = operation.isin(FROM_LOWER).to_numpy()
    if lower.any():
        some = rows[lower]
        highest = some.groupby("call")["entry"].cummax()
        reached = pd.Series(np.where(some["entry"] == highest, some.index, -1), index=some.index)
        which[lower] = reached.groupby(some["call"]).cummax().to_numpy()
    least_known = np.maximum.reduceat(bound, begins)[of]
    return entry[which], np.where((which == mine) | from_root, bound[which], least_known)


def run_seconds(trace: Trace) -> float:
    """Returns how long the run took, from MPI_Init to MPI_Finalize, or until the last exit that was seen."""
    begins, ends = [], []
    for section in trace.sections:
        maps = section.tables["maps"]
        if len(maps):
            begins.append(int(maps["global_ns"].min()) * 1e-9)
            ends.append(int(maps["global_ns"].max()) * 1e-9)
    last = trace.records[["entry", "exit"]].max().max()
    return max([*ends, last if pd.notna(last) else 0.0]) - min(begins) if begins else 0.0


QUANTILES = {"spread_p50": 0.5, "spread_p95": 0.95, "spread_p99": 0.99}


@dataclass(frozen=True)
class Arrivals:
    """Arrivals in a trace.

    Attributes:
        rows: a row per process and call (`arrivals`), with `site`, the index of `sites`.
        calls: a row per call (likewise), with `site`.
        sites: a row per call site, by time in it: `SITE` and `name`; `calls`, `bytes` (median); `time` and `wait`, sums
            over processes; `wait_error` (the sum of the errors of waits); `share` of the run's time; `overlap` (between
            call and wait, median; NaN if blocking); `after_last` (median over calls); `QUANTILES` of the spread;
            `bound` (of a spread's error, median); `apart` (share of the calls whose spread is more than its bound);
            `last_rank` and `last_share` (of the calls). Times in s.
        run: duration, s.
        ranks: of the job.
        not_whole: records of calls that some process did not record whole.
        bound: largest bound of a timestamp's error, s.
        bound_is: what that is, if it is not hard; begins with a comma.
    """

    rows: pd.DataFrame
    calls: pd.DataFrame
    sites: pd.DataFrame
    run: float
    ranks: int
    not_whole: int
    bound: float
    bound_is: str = ""


def find_arrivals(trace: Trace) -> Arrivals:
    """Returns the arrivals in a trace."""
    return arrivals_of(trace.records, run_seconds(trace), int(trace.processes["world_size"].max()))


def arrivals_of(records: pd.DataFrame, run: float, ranks: int) -> Arrivals:
    """Returns the arrivals in records.

    Args:
        records: columns as in `Trace.records`.
        run: duration, s.
        ranks: of the job.
    """
    rows, calls = arrivals(records)
    calls["site"] = calls.groupby(SITE, sort=False, observed=True).ngroup() if len(calls) else 0
    rows["site"] = calls["site"].to_numpy()[rows["call"].to_numpy()] if len(calls) else 0
    bound = float(records["bound"].max()) if len(records) else 0.0
    sites = site_rows(rows, calls, run * ranks)
    order = {int(number): place for place, number in enumerate(sites["number"])}
    for frame in (rows, calls):
        frame["site"] = frame["site"].map(order).astype(int) if len(frame) else frame["site"]
    symbols = rows.drop_duplicates(["module", "offset"])[["module", "offset", "symbol"]]
    names = site_names((str(a), int(b), str(c)) for a, b, c in symbols.itertuples(index=False))
    sites["name"] = [names[str(a), int(b)] for a, b in zip(sites["module"], sites["offset"], strict=True)]
    return Arrivals(rows, calls, sites.drop(columns="number"), run, ranks, len(records) - len(rows), bound)


def site_rows(rows: pd.DataFrame, calls: pd.DataFrame, available: float) -> pd.DataFrame:
    """Returns `Arrivals.sites` without names; `number` is the site's number in the frames.

    Args:
        rows: with `site`.
        calls: with `site`.
        available: seconds that all processes had together.
    """
    found = []
    for number, some in calls.groupby("site", sort=False):
        mine = rows[rows["site"] == number]
        time = float(mine["time"].sum())
        last = some["last_rank"][some["last_rank"] >= 0]
        last_rank = int(last.mode().iloc[0]) if len(last) else -1
        found.append(
            {
                "number": number,
                **{name: some.iloc[0][name] for name in SITE},
                "calls": len(some),
                "bytes": float(some["bytes"].median()),
                "time": time,
                "wait": float(mine["wait"].sum()),
                "wait_error": float(mine["wait_error"].sum()),
                "share": time / available if available > 0 else np.nan,
                "overlap": float(mine["overlap"].median()),
                "after_last": float(some["after_last"].median()),
                **{name: float(some["spread"].quantile(level)) for name, level in QUANTILES.items()},
                "bound": float(some["spread_bound"].median()),
                "apart": float((some["spread"] > some["spread_bound"]).mean()),
                "last_rank": last_rank,
                "last_share": float((some["last_rank"] == last_rank).mean()) if last_rank >= 0 else 0.0,
            }
        )
    columns = ["number", *SITE, "calls", "bytes", "time", "wait", "wait_error", "share", "overlap", "after_last"]
    columns += [*QUANTILES, "bound", "apart", "last_rank", "last_share"]
    frame = pd.DataFrame(found, columns=columns)
    return frame.sort_values("time", ascending=False, kind="stable", ignore_index=True)


MENTIONED = 0.01  # share of the run from which a call site is mentioned
MOST_SENTENCES = 3
OFTEN = 0.25  # share of the calls in which a rank is last, from which it is named


def mpi_name(operation: str, kind: str) -> str:
    """Returns an operation as MPI calls it."""
    if kind == "collective":
        return operation
    if kind == "persistent":
        return f"MPI_{operation.capitalize()}_init"
    return f"MPI_I{operation}" if kind == "nonblocking" else f"MPI_{operation.capitalize()}"


def percent(share: float) -> str:
    """Returns a share in percent, without digits that say nothing."""
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"


def wait_share(site: pd.Series) -> tuple[float, float, float]:
    """Returns which share of the time at a site is waiting for late ranks, with its least and its largest value."""
    time = float(site["time"])
    if time <= 0:
        return 0.0, 0.0, 0.0
    share, error = float(site["wait"]) / time, float(site["wait_error"]) / time
    return share, max(0.0, share - error), min(1.0, share + error)


def share_text(site: pd.Series) -> str:
    """Returns the share of waiting, with its limits where they differ from it."""
    share, low, high = wait_share(site)
    limits = f" ({100 * low:.0f} to {100 * high:.0f} %)" if high - low > 0.01 else ""
    return f"{percent(share)}{limits}"


def site_sentence(site: pd.Series) -> str:
    """Returns the sentence on a call site."""
    where = f"{percent(site['share'])} of the run is in {mpi_name(site['operation'], site['kind'])} at {site['name']}"
    if site["kind"] in LATER:
        where += f" and in waiting for it, {site['overlap'] * MICROSECONDS:.4g} us later"
    if site["apart"] == 0.0:
        bound = site["bound"] * MICROSECONDS
        return f"{where}; its ranks arrive together as far as these clocks can show, within {bound:.3g} us"
    share = wait_share(site)[0]
    text = f"{where}; {share_text(site)} of that is waiting for late ranks, {percent(1 - share)} is the operation"
    if site["last_rank"] >= 0 and site["last_share"] >= OFTEN and share > 0:
        text += f"; rank {site['last_rank']:.0f} is last in {percent(site['last_share'])} of the calls"
    return text


def verdict(found: Arrivals) -> list[str]:
    """Returns the sentences, the most important one first."""
    if found.sites.empty:
        return ["no collective was recorded on all of its ranks: there is nothing to say about arrivals"]
    sites = [site for _, site in found.sites.iterrows()]
    large = [site for site in sites if site["share"] >= MENTIONED][:MOST_SENTENCES] or sites[:1]
    sentences = [site_sentence(site) for site in large]
    others = sites[len(large) :]
    if others:
        rest = sum(float(site["share"]) for site in others)
        sentences.append(f"{counted(len(others), 'other call site')}: {percent(rest)} of the run together")
    return sentences


METRIC = "after_last_entry_median"
FACTOR = 2.0  # sizes that differ by more are other cells


def with_baseline(found: Arrivals, path: Path) -> pd.Series:
    """Returns for each call site what its operation takes from a common start, in s; NaN where nothing fits.

    A cell fits if operation and number of ranks are the same, and the size is the nearest of those within a factor of
    two. Several launches give the median.

    Args:
        found: the call sites.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: nothing of the kind is there.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells["synchronizer"] == HARMONIZE]
    return pd.Series([nearest(cells, site) for _, site in found.sites.iterrows()], index=found.sites.index, dtype=float)


def nearest(cells: pd.DataFrame, site: pd.Series) -> float:
    """Returns the time of the cells that are nearest to a call site."""
    same = cells[(cells["operation"] == site["operation"]) & (cells["ranks"] == site["size"])]
    if site["kind"] in LATER or same.empty:
        return np.nan
    size = 0.0 if pd.isna(site["bytes"]) else float(site["bytes"])
    apart = (np.log2(same["size"].clip(lower=1)) - np.log2(max(1.0, size))).abs()
    if apart.min() > np.log2(FACTOR):
        return np.nan
    return float(same[apart == apart.min()][METRIC].median())


def baseline_command(found: Arrivals) -> str:
    """Returns the command that measures the baseline of all call sites on as many ranks; empty if there are none."""
    sites = found.sites[~found.sites["kind"].isin(LATER)]
    if sites.empty:
        return ""
    ranks = sorted({int(size) for size in sites["size"] if size > 1})
    sizes = sorted({max(1, int(size)) for size in sites["bytes"].dropna() if size > 0})
    words = ["downbeat", "run", *dict.fromkeys(map(str, sites["operation"])), "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sizes))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
