"""Phases of a program: what it says by MPI_Pcontrol(1, name) and MPI_Pcontrol(-1, name)."""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np
import pandas as pd

from downbeat.text import counted
from downbeat.trace.file import Section, text

SEPARATOR = " > "  # between a phase and one within it


def ended_names(sections: list[Section]) -> set[str]:
    """Returns the names of phases that some process ended.

    One that began and was ended by nobody is not one: a call without a name passes what a register has by chance.
    """
    tables = (section.tables["phases"] for section in sections)
    return {text(one["name"]) for table in tables for one in table if one["ends"] or one["strays"]}


def phase_paths(section: Section, names: Container[str]) -> list[str]:
    """Returns the path of each phase of a process by its number, `outer > inner`; the first is "": no phase.

    Args:
        section: what the process recorded.
        names: of phases (`ended_names`); others are left out of paths.
    """
    paths = [""]
    for one in section.tables["phases"]:
        if one["parent"] >= len(paths):
            raise ValueError(f"its phase {len(paths)} is within phase {one['parent']}")
        name, outer = text(one["name"]), paths[one["parent"]]
        paths.append(SEPARATOR.join(filter(None, (outer, name))) if name in names else outer)
    if len(section.tables["profile"]) and section.tables["profile"]["phase"].max() >= len(paths):
        raise ValueError("it has calls of an unknown phase")
    return paths


def phase_rows(section: Section, names: Container[str], tick: float) -> Iterator[dict[str, object]]:
    """Returns the rows of a process in `Trace.phases`; `tick` is in s."""
    paths = phase_paths(section, names)
    for path, one in zip(paths[1:], section.tables["phases"], strict=True):
        if one["begins"] and text(one["name"]) in names:
            yield {"rank": section.rank, "phase": path, "begins": int(one["begins"]), "time": one["ticks"] * tick}


def in_phase(paths: pd.Series, phase: str) -> np.ndarray:
    """Returns which paths are of a phase or of one within it; of no phase if it is ""."""
    paths = paths.astype(str)
    if not phase:
        return (paths == "").to_numpy()
    return ((paths == phase) | paths.str.startswith(phase + SEPARATOR)).to_numpy()


def phase_problems(sections: list[Section]) -> list[str]:
    """Returns a sentence on each phase that was not begun and ended as it should, or not on all ranks."""
    rows = [
        (section.rank, text(one["name"]), *(int(one[name]) for name in ("begins", "ends", "cut", "strays")))
        for section in sections
        for one in section.tables["phases"]
    ]
    frame = pd.DataFrame(rows, columns=["rank", "name", "begins", "ends", "cut", "strays"])
    names = ended_names(sections)
    said = []
    for name in frame["name"].unique().tolist():
        some = frame[frame["name"] == name]
        begins, ends, cut, strays = (int(some[column].sum()) for column in ("begins", "ends", "cut", "strays"))
        ranks = sorted(some.loc[some["begins"] > 0, "rank"].unique().tolist())
        if name not in names:
            said.append(
                f"MPI_Pcontrol(1, '{name}') came {counted(begins, 'time')} on {counted(len(ranks), 'rank')} and no "
                f"MPI_Pcontrol(-1, '{name}'): it is no phase, but may be what a call without a name passes by chance"
            )
            continue
        if cut or strays or begins > ends + cut:
            said.append(
                f"phase '{name}' has {counted(begins, 'begin')} and {counted(ends + strays, 'end')}: {cut} begins were "
                f"ended by the end of the phase around it, {begins - ends - cut} by the end of the program, {strays} "
                "ends came without a begin"
            )
        if 0 < len(ranks) < len(sections):
            which = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
            said.append(f"phase '{name}' was begun on {len(ranks)} of {len(sections)} ranks only: {which}")
    dropped = sum(int(section.header["phases_dropped"]) for section in sections)
    if dropped:
        said.append(f"{dropped} calls of MPI_Pcontrol had no room for their phase: too many names, or a full disk")
    return said


def mixed_calls(rows: pd.DataFrame, begins: np.ndarray) -> list[str]:
    """Returns a sentence if ranks made the same call in different phases.

    Args:
        rows: by call, with `phase`.
        begins: the first row of each call.
    """
    codes, names = pd.factorize(rows["phase"].astype(str))
    if len(names) < 2:
        return []
    mixed = np.flatnonzero(np.minimum.reduceat(codes, begins) != np.maximum.reduceat(codes, begins))
    if not len(mixed):
        return []
    first = begins[mixed[0]]
    call = slice(first, begins[mixed[0] + 1] if mixed[0] + 1 < len(begins) else len(rows))
    other = first + int(np.argmax(codes[call] != codes[first]))
    a, b = (f"'{names[codes[at]]}'" if names[codes[at]] else "no phase" for at in (first, other))
    ranks = rows["rank"].iloc[[first, other]].tolist()
    return [
        f"in {counted(len(mixed), 'call')} ranks are in different phases, e.g. rank {ranks[0]} in {a}, rank {ranks[1]} "
        f"in {b}: a call counts to the phase of its lowest rank"
    ]


def summarize_phases(phases: pd.DataFrame, sites: pd.DataFrame, causes: pd.DataFrame) -> pd.DataFrame:
    """Returns `Arrivals.phases`.

    Args:
        phases: those of `Trace`.
        sites: those of `Arrivals`.
        causes: those of `Arrivals`.
    """
    found = []
    for path in phases["phase"].unique():
        mine, within = phases[phases["phase"] == path], in_phase(sites["phase"], path)
        by_rank = causes[causes["site"].isin(np.flatnonzero(within))].groupby("rank")["wait"].sum()
        sums = sites.loc[within, ["calls", "time", "wait", "wait_error", "wait_sampling"]].sum()
        told = sums["wait"] > 0 and len(by_rank) > 0
        found.append(
            {
                "phase": path,
                "ranks": mine["rank"].nunique(),
                "begins": int(mine["begins"].sum()),
                "seconds": float(mine["time"].sum()),
                **{name: int(value) if name == "calls" else float(value) for name, value in sums.items()},
                "last_rank": int(by_rank.index[int(by_rank.to_numpy().argmax())]) if told else -1,
                "last_wait": float(by_rank.max() / sums["wait"]) if told else 0.0,
            }
        )
    return pd.DataFrame(found)
