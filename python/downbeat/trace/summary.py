"""A few lines about a trace: how many calls, how long, how many starts were in time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from downbeat.trace.trace import Trace


def calls(trace: Trace) -> pd.DataFrame:
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
    found = calls(trace)
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
            said.append(f"{name:24} {row['calls']:>9} {size:>9} {row['median'] * 1e6:>11.2f} {row['total']:>9.4g}")
        if trace.sampled:
            said.append(f"all calls are added up; {len(trace.records)} of them are kept one by one, as a sample")
    dropped = int(processes["records_dropped"].sum())
    if dropped:
        said.append(f"the sample lacks {dropped} records for lack of room; free space in '{directory}'")
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
