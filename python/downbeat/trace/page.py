"""The report of `downbeat arrivals`: text, a page and its pictures."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pandas as pd

from downbeat.report.page import Fact, Page, Section, Table
from downbeat.report.style import COLORS, GRAY, TEXT_POINTS, Picture, finish, log_axis, new_figure, whole_ticks
from downbeat.text import MICROSECONDS, counted
from downbeat.trace.arrivals import QUANTILES, Arrivals, percent
from downbeat.trace.calls import LATER
from downbeat.trace.patterns import patterns_frame
from downbeat.trace.verdict import mpi_name, verdict, wait_share

WIDTH = 80
MOST_SITES = 12  # in the table; JSON has all
SCHEMA_VERSION = 1
PLAIN_FROM = 1000.0  # us; longer times need no decimals


def render(found: Arrivals, baseline: pd.Series | None, command: str) -> str:
    """Returns what is printed.

    Args:
        found: what was found.
        baseline: of each site, s; None: none was given.
        command: that would measure a baseline; empty: none.
    """
    lines = [line for sentence in verdict(found) for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
    if len(found.sites):
        lines += ["", *site_table(found, baseline)]
        lines += [
            "",
            run_line(found),
        ]
    if len(found.phases):
        lines += ["", *phase_table(found)]
    lines += left_out_lines(found)
    lines += [line for note in found.notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ")]
    if len(found.kinds):
        lines += ["", *kinds_lines(found)]
    if baseline is None and command:
        lines += ["what the operations take from a common start:", f"  {command}", "  then add --baseline baseline"]
    return "\n".join(lines)


def left_out_lines(found: Arrivals) -> list[str]:
    """Returns a line for each kind of calls that nothing can be said about."""
    return [f"left out: {number} records of calls {what}" for what, number in found.left_out.items()]


def run_line(found: Arrivals) -> str:
    """Returns how long the run took, on how many ranks, and how well its times are known."""
    within = f"timestamps within {found.bound * MICROSECONDS:.3g} us{found.bound_is}"
    threads = f", run % is of the time of their {found.threads} threads" if found.threads != found.ranks else ""
    what = f"phase '{found.phase}', mean of ranks" if found.phase else "run"
    return f"{what} {found.run:.4g} s, {counted(found.ranks, 'rank')}{threads}; {within}"


def phases_frame(found: Arrivals) -> pd.DataFrame:
    """Returns a row per phase: how long, what part of that is in collectives, what of that is waiting, for whom."""
    phases = found.phases
    seconds = phases["seconds"].where(phases["seconds"] > 0)
    return pd.DataFrame(
        {
            "phase": phases["phase"],
            "ranks": phases["ranks"],
            "begins": phases["begins"],
            "seconds": phases["seconds"] / phases["ranks"].clip(lower=1),
            "calls": phases["calls"],
            "collectives_percent": 100 * phases["time"] / seconds,
            "wait_percent": [100 * wait_share(one)[0] for _, one in phases.iterrows()],
            "last": [
                f"rank {one['last_rank']}, {percent(one['last_wait'])}" if one["last_rank"] >= 0 else "-"
                for _, one in phases.iterrows()
            ],
        }
    )


def phase_table(found: Arrivals) -> list[str]:
    """Returns a line per phase."""
    lines = [f"{'in phases':<30}{'begins':>9}{'s':>9}{'coll. %':>9}{'wait %':>8}{'last, of waiting':>17}"]
    for _, row in phases_frame(found).iterrows():
        name = textwrap.shorten(row["phase"], 30, placeholder=" ...")
        share = "-" if pd.isna(row["collectives_percent"]) else f"{row['collectives_percent']:.1f}"
        numbers = f"{row['begins']:>9}{row['seconds']:>9.4g}{share:>9}{row['wait_percent']:>8.1f}"
        lines.append(f"{name:<30}{numbers}{row['last']:>17}")
    return lines


def kinds_frame(found: Arrivals) -> pd.DataFrame:
    """Returns a row per kind of MPI calls: calls, share of the run (mean, least, most of the ranks), part analyzed."""
    run = found.run or np.nan
    rows = []
    for kind, some in found.kinds.groupby("kind", sort=False):
        share = 100 * some["time"] / run
        if some["calls"].any():
            places = (int(share.argmin()), int(share.argmax()))
            least, most = (f"{share.iloc[at]:.1f} ({some['rank'].iloc[at]})" for at in places)
            analyzed = some["analyzed"].sum() / some["time"].sum() if some["time"].any() else 0.0
            rows.append((kind, int(some["calls"].sum()), share.mean(), least, most, 100 * analyzed))
    return pd.DataFrame(rows, columns=["calls_of_MPI", "calls", "run_percent", "least", "most", "analyzed_percent"])


def kinds_lines(found: Arrivals) -> list[str]:
    """Returns how long ranks were in MPI calls of each kind."""
    frame = kinds_frame(found)
    lines = [f"{'in MPI calls':<17}{'calls':>13}{'run %':>8}{'least (rank)':>15}{'most (rank)':>15}{'analyzed %':>12}"]
    lines += [
        f"{row[0]:<17}{row[1]:>13}{row[2]:>8.1f}{row[3]:>15}{row[4]:>15}{row[5]:>12.0f}"
        for row in frame.itertuples(index=False)
    ]
    if "point-to-point" in set(frame["calls_of_MPI"]):
        lines.append("waiting for late senders or receivers is not looked for")
    return lines


def site_table(found: Arrivals, baseline: pd.Series | None) -> list[str]:
    """Returns two lines per call site: what and where, and the numbers, times in us."""
    head = f"{'calls':>7}{'bytes':>9}{'run %':>7}{'wait %':>7}{'operation':>11}"
    head += f"{'baseline':>10}" if baseline is not None else ""
    head += f"{'spread p50':>12}{'p95':>9}{'p99':>8}"
    lines = [head]
    for place, (_, site) in enumerate(found.sites.head(MOST_SITES).iterrows()):
        where = f"{mpi_name(site['operation'], site['kind'])}, {counted(int(site['size']), 'rank')}, {site['name']}"
        where += f", in {site['phase']}" if site["phase"] else ""
        if site["kind"] in LATER:
            where += f", overlap {micro(site['overlap'])}"
        lines.append(textwrap.shorten(f"{place + 1} {where}", WIDTH, placeholder=" ..."))
        size = "-" if pd.isna(site["bytes"]) else f"{site['bytes']:.0f}"
        waits = f"{100 * wait_share(site)[0]:.1f}" if site["sampled"] else "-"
        calls = f"{site['calls']}" if site["calls"] < 10**7 else f"{site['calls'] / 1e6:.4g}M"
        row = f"{calls:>7}{size:>9}{100 * site['share']:>7.1f}{waits:>7}{micro(site['after_last']):>11}"
        row += f"{micro(baseline.iloc[place]):>10}" if baseline is not None else ""
        row += "".join(f"{micro(site[name]):>{width}}" for name, width in zip(QUANTILES, (12, 9, 8), strict=True))
        lines.append(row)
    if len(found.sites) > MOST_SITES:
        lines.append(f"{len(found.sites) - MOST_SITES} more call sites are in JSON (--json)")
    return lines


def micro(seconds: float) -> str:
    """Returns a time in us; a dash if it is not known."""
    if pd.isna(seconds):
        return "-"
    number = seconds * MICROSECONDS
    return f"{number:.0f}" if number >= PLAIN_FROM else f"{number:.2f}"


def to_json(found: Arrivals, baseline: pd.Series | None) -> str:
    """Returns what was found, as JSON; times in s, null where nothing is known."""
    sites = found.sites.assign(baseline=baseline if baseline is not None else np.nan)
    content = {
        "schema_version": SCHEMA_VERSION,
        "verdict": verdict(found),
        "run": found.run,
        "ranks": found.ranks,
        "bound": found.bound,
        "records_left_out": sum(found.left_out.values()),
        "left_out": dict(found.left_out),
        "notes": list(found.notes),
        "phase": found.phase or None,
        "phases": json.loads(found.phases.to_json(orient="records", double_precision=15)),
        "kinds": json.loads(found.kinds.to_json(orient="records", double_precision=15)),
        "sites": json.loads(sites.to_json(orient="records", double_precision=15)),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def sites_for_page(found: Arrivals, baseline: pd.Series | None) -> pd.DataFrame:
    """Returns the table of the page: a row per call site, times in us."""
    sites = found.sites
    frame = pd.DataFrame(
        {
            "call": [
                site_title(site) + (f", overlap {micro(site['overlap'])} us" if site["kind"] in LATER else "")
                for _, site in sites.iterrows()
            ],
            "ranks": sites["size"].astype(int),
            "bytes": sites["bytes"],
            "calls": sites["calls"],
            "run_percent": 100 * sites["share"],
            "wait_percent": [100 * wait_share(site)[0] for _, site in sites.iterrows()],
            "last": [
                f"rank {site['last_rank']}, {percent(site['last_share'])}" if site["last_rank"] >= 0 else "-"
                for _, site in sites.iterrows()
            ],
            "operation_us": sites["after_last"] * MICROSECONDS,
            **{f"{name}_us": sites[name] * MICROSECONDS for name in list(QUANTILES)[:2]},  # all do not fit
        }
    )
    if baseline is not None:
        names = list(frame.columns)
        frame.insert(names.index("operation_us") + 1, "baseline_us", baseline * MICROSECONDS)
    return frame


COLUMNS = 120  # of the heat map: stretches of time
MOST_DRAWN = 64  # ranks, or groups of them
MOST_POINTS = 1000  # calls that are drawn as points; more are added up in stretches
STRETCHES = 200
TIMELINES = 4  # calls that are drawn one by one
LEVELS = (0.05, 0.5, 0.95)


def site_title(site: pd.Series) -> str:
    """Returns what is called where."""
    where = f"{mpi_name(site['operation'], site['kind'])} at {site['name']}"
    return f"{where}, in {site['phase']}" if site["phase"] else where


def site_pictures(found: Arrivals, number: int) -> tuple[Picture, ...]:
    """Returns the pictures of a call site of `Arrivals.sites`."""
    rows = found.rows[found.rows["site"] == number]
    calls = found.calls[found.calls["site"] == number]
    site = found.sites.iloc[number]
    title = site_title(site)
    if site["size"] < 2 or rows.empty:
        return ()
    return (
        lateness_map(rows, calls, f"{number + 1}", title),
        spread_over_time(calls, f"{number + 1}", title),
        pattern_shape(rows, f"{number + 1}", title),
        timelines(rows, calls, f"{number + 1}", title),
    )


def lateness_map(rows: pd.DataFrame, calls: pd.DataFrame, number: str, title: str) -> Picture:
    """Draws which rank is late when: the mean lateness of each rank in each stretch of the run."""
    began = calls["first"]
    first = rows["call"].map(began).to_numpy()
    columns = min(COLUMNS, len(calls))
    place = (rows["call"].map(began.rank(method="first")).to_numpy() - 1) * columns // len(calls)
    each = int(np.ceil((rows["comm_rank"].max() + 1) / MOST_DRAWN))
    table = pd.DataFrame(
        {"stretch": place.astype(int), "rank": (rows["comm_rank"] // each * each).astype(int), "time": first}
    ).assign(late_us=rows["late"].to_numpy() * MICROSECONDS)
    numbers = table.groupby(["stretch", "rank"])[["time", "late_us"]].mean().reset_index()
    numbers = numbers.rename(columns={"time": "time_s"})
    grid = numbers.pivot(index="rank", columns="stretch", values="late_us")
    figure = new_figure()
    axes = figure.subplots()
    # A stretch begins with its first call, so that pauses between calls are where they were.
    starts = pd.Series(first - began.min()).groupby(place.astype(int)).min().to_numpy()
    ends = np.append(starts, max(float(began.max() - began.min()), starts[-1] + 1e-9))
    ranks = np.append(grid.index.to_numpy(), grid.index.max() + each) - 0.5
    image = axes.pcolormesh(ends, ranks, grid.to_numpy(), cmap="Blues", vmin=0, rasterized=True)
    axes.invert_yaxis()
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("after the first rank [us]", fontsize=TEXT_POINTS)
    bar.ax.tick_params(labelsize=TEXT_POINTS - 0.5, color=GRAY)
    finish(axes, "time since the first call [s]", "rank")
    axes.grid(visible=False)
    whole_ticks(axes.yaxis)
    groups = f" A row is {each} ranks." if each > 1 else ""
    caption = (
        f"How late each rank comes to {title}, after the first rank of the same call: mean over the calls in a stretch "
        f"of the run. Stretches have the same number of calls.{groups}"
    )
    return Picture(f"lateness-{number}", f"{title}: who is late when", caption, figure, numbers)


def spread_over_time(calls: pd.DataFrame, number: str, title: str) -> Picture:
    """Draws the spread of the arrivals over the run, and the bound of its error: of each call, or of stretches."""
    numbers = pd.DataFrame(
        {
            "time_s": calls["first"] - calls["first"].min(),
            "spread_us": calls["spread"] * MICROSECONDS,
            "bound_us": calls["spread_bound"] * MICROSECONDS,
        }
    )
    what = "a point per call"
    columns = {"spread_us": "spread of the arrivals"}
    if len(numbers) > MOST_POINTS:
        stretch = np.arange(len(numbers)) * STRETCHES // len(numbers)
        groups = numbers.sort_values("time_s", ignore_index=True).groupby(stretch)
        numbers = groups[["time_s", "bound_us"]].first()
        for level, name in ((0.5, "median"), (0.95, "95 %"), (1.0, "widest")):
            columns[f"p{100 * level:.0f}_us"] = f"spread of the arrivals, {name}"
            numbers[f"p{100 * level:.0f}_us"] = groups["spread_us"].quantile(level)
        del columns["spread_us"]
        what = f"points of {STRETCHES} stretches with the same number of calls"
    figure = new_figure()
    axes = figure.subplots()
    for color, (name, label) in zip((0, 2, 3), columns.items(), strict=False):
        shown = numbers[numbers[name] > 0]
        axes.plot(shown["time_s"], shown[name], ".", color=COLORS[color], markersize=3, label=label)
    if (numbers["bound_us"] > 0).any():
        axes.plot(numbers["time_s"], numbers["bound_us"], color=COLORS[1], linewidth=1.2, label="bound of its error")
    finish(axes, "time since the first call [s]", "first to last arrival [us]")
    if (numbers[list(columns)] > 0).any(axis=None):
        log_axis(axes.yaxis)
    axes.legend(fontsize=TEXT_POINTS, frameon=False, loc="best")
    caption = (
        f"From the first rank's arrival at {title} to the last one's, {what}. Below the bound of the clocks' "
        "error nobody can say who was late."
    )
    return Picture(f"spread-{number}", f"{title}: how far apart ranks arrive", caption, figure, numbers)


def pattern_shape(rows: pd.DataFrame, number: str, title: str) -> Picture:
    """Draws the shape of the pattern: each rank's lateness over the calls."""
    quantiles = rows.groupby("comm_rank")["late"].quantile(np.array(LEVELS)).unstack() * MICROSECONDS
    numbers = pd.DataFrame(
        {
            "rank": quantiles.index.astype(int),
            **{f"p{100 * level:.0f}_us": quantiles[level].to_numpy() for level in LEVELS},
        }
    )
    figure = new_figure()
    axes = figure.subplots()
    low, middle, high = (numbers[f"p{100 * level:.0f}_us"] for level in LEVELS)
    axes.fill_between(
        numbers["rank"], low, high, label="5 to 95 % of the calls", color=COLORS[5], alpha=0.35, linewidth=0
    )
    axes.plot(numbers["rank"], middle, color=COLORS[0], marker="o", markersize=4, label="median")
    finish(axes, "rank", "after the first rank [us]")
    whole_ticks(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=TEXT_POINTS, frameon=False, loc="best")
    caption = f"The shape of the arrival pattern at {title}: how late each rank comes after the first of the same call."
    return Picture(f"shape-{number}", f"{title}: the pattern", caption, figure, numbers)


def timelines(rows: pd.DataFrame, calls: pd.DataFrame, number: str, title: str) -> Picture:
    """Draws single calls: the median one by its spread, and the widest ones."""
    order = calls["spread"].sort_values(kind="stable").index
    chosen = list(dict.fromkeys([order[len(order) // 2], *order[::-1][: TIMELINES - 1]]))
    frames = []
    blocking = (~rows["kind"].isin(LATER)).all()
    figure = new_figure(height=1.0 + 1.5 * len(chosen))
    for position, (axes, call) in enumerate(zip(np.atleast_1d(figure.subplots(len(chosen))), chosen, strict=True)):
        mine = rows[rows["call"] == call]
        each = int(np.ceil(len(mine) / MOST_DRAWN))
        mine = mine.iloc[np.unique([*range(0, len(mine), each), int(mine["entry"].argmax())])]
        begin = float(mine["entry"].min())
        entry, returned, waited, end = (
            (mine[name] - begin) * MICROSECONDS for name in ("entry", "returned", "waited", "exit")
        )
        together = mine["together"].clip(lower=1) if "together" in mine else 1
        starts, waits = entry if blocking else waited, mine["wait"] * together * MICROSECONDS
        axes.barh(mine["comm_rank"], waits, left=starts, color=COLORS[5], height=0.7, label="waits for late ranks")
        axes.barh(
            mine["comm_rank"], end - starts - waits, left=starts + waits, color=COLORS[0], height=0.7, label="operation"
        )
        if not blocking:
            axes.barh(mine["comm_rank"], returned - entry, left=entry, color=COLORS[0], height=0.7)
        axes.invert_yaxis()
        what = "median spread" if position == 0 else f"widest spread, {position}"
        finish(axes, "after the first arrival [us]" if call == chosen[-1] else "", "rank", f"call {call + 1}: {what}")
        whole_ticks(axes.yaxis)
        drawn = {
            "call": call + 1,
            "rank": mine["comm_rank"],
            "entry_us": entry,
            "wait_us": waits,
            "time_us": mine["time"] * MICROSECONDS,
            "exit_us": end,
        }
        frames.append(pd.DataFrame(drawn))
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=TEXT_POINTS)
    caption = f"Single calls of {title}: from arrival to exit on each rank. The light part is waiting."
    if each > 1:
        caption += f" One in {each} ranks is drawn, and the last to arrive."
    if not blocking:
        caption += " Between call and wait, where nothing is drawn, the program computes."
    return Picture(f"calls-{number}", f"{title}: single calls", caption, figure, pd.concat(frames, ignore_index=True))


MOST_SECTIONS = 5  # call sites with pictures
MOST_ROWS = 20  # of the table of call sites
WIDEST = 16  # ranks whose representative patterns are a table

TERMS = {
    "waiting": "time in a call before the process that it needs has entered: in an allreduce the last one",
    "overlap": "of a nonblocking collective: from the return of the call to the begin of the wait, median",
    "operation": "time in a call after that; in the table the median, from the last arrival to the last exit",
    "spread": "from the first arrival at a call to the last one",
    "bound": "the error of a spread is less; within it nobody is called late",
}


PHASE_TERMS = {
    "seconds": "in the phase, mean of the ranks that began it",
    "collectives": "part of that time which is in collectives",
    "waiting": "part of the time in collectives",
    "last": "the rank that cost most waiting, and its part of it",
}


def make_page(found: Arrivals, title: str, baseline: pd.Series | None) -> Page:
    """Returns the page.

    Args:
        found: what was found.
        title: of the page.
        baseline: of each site, s; None: none was given.
    """
    sentences = verdict(found)
    run = (
        f"{found.run:.4g} s, {found.ranks} ranks; timestamps within {found.bound * MICROSECONDS:.3g} us{found.bound_is}"
    )
    facts = [Fact("found", sentences[0]), *(Fact("also", sentence) for sentence in sentences[1:]), Fact("run", run)]
    facts += [Fact("note", line) for line in left_out_lines(found)]
    facts += [Fact("note", note) for note in found.notes]
    sections = []
    if len(found.sites):
        count = len(found.sites)
        said = (f"The first {MOST_ROWS} of {count} call sites, by time; --json has all.",) if count > MOST_ROWS else ()
        table = Table("Call sites, by time", sites_for_page(found, baseline).head(MOST_ROWS))
        terms = {
            name: text for name, text in TERMS.items() if name != "overlap" or found.sites["overlap"].notna().any()
        }
        sections.append(Section("Call sites", said, tables=(table,), definitions=tuple(terms.items())))
    if len(found.phases):
        table = Table("Phases by MPI_Pcontrol, with those within them", phases_frame(found))
        sections.append(Section("Phases", tables=(table,), definitions=tuple(PHASE_TERMS.items())))
    if len(found.kinds):
        table = Table("Time in MPI calls by kind, and what part of it is analyzed here", kinds_frame(found))
        late = ("Waiting for late senders or receivers is not looked for.",)
        sections.append(Section("Time in MPI", late, tables=(table,)))
    for number in range(min(MOST_SECTIONS, len(found.sites))):
        sections.append(site_section(found, number))
    return Page(title, (), tuple(sections), tuple(facts))


def site_section(found: Arrivals, number: int) -> Section:
    """Returns the pictures of a call site, and the patterns that stand for its calls."""
    site = found.sites.iloc[number]
    title = f"{number + 1}. {site_title(site)}"
    tables: tuple[Table, ...] = ()
    if 2 <= site["size"] <= WIDEST:
        tables = (Table("Recorded calls that stand for all, and for how many", patterns_frame(found, number)),)
    return Section(title, tables=tables, pictures=site_pictures(found, number))
