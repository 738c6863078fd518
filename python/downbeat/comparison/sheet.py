"""The output of a comparison: verdicts first, then the cells, then the notes."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.comparison.conditions import BARRIER, COMMON_START, SYNCHRONIZER
from downbeat.comparison.effort import next_step
from downbeat.comparison.judging import UNMATCHED
from downbeat.comparison.shown import shown_rows
from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.run.experiment import FACTORS
from downbeat.sentences import Sentence
from downbeat.show import FACTOR_UNITS, Field, Sheet, factor_field, word, write_result
from downbeat.statistics.kinds import SLOW_LAUNCHES
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEW_ALIKE, FEWEST_LAUNCHES, NOT_AMONG_MANY, NOT_SIGNIFICANT
from downbeat.text import Units, counted, printable

SCHEMA_VERSION = 1  # of the record
UNITS = Units(FACTOR_UNITS | dict.fromkeys(("a", "b", "clock_uncertainty"), "s"))
COUNTS = ("launches_a", "launches_b", "launches_needed", "launches_alike", "sessions", "slow_a", "slow_b")
DECIDED = ("faster", "slower", "equivalent")
VERDICT_ORDER = (*DECIDED, "undecided", UNMATCHED)
# Of one operation after two synchronizers neither is faster: the same call is read lower or higher.
READINGS = {"faster": "reads lower", "slower": "reads higher"}
FACTORS_ALWAYS = {"operation", "size"}
NO_DIFFERENCE = (NOT_SIGNIFICANT, NOT_AMONG_MANY)
MORE_LAUNCHES = (*NO_DIFFERENCE, FEW_ALIKE)  # are what would help
MOST_NAMED = 3  # cells of one reason; of more their number
LONGEST_NAME = 14  # of a value that heads a column
# Columns of a comparison: as many as fit, from the first of these lists that does.
SHEET_COLUMNS = (
    ("a", "b", "ratio", "interval", "verdict"),
    ("a", "b", "ratio", "verdict"),
    ("a", "ratio", "verdict"),
    ("ratio", "verdict"),
)


class Verdicts(pd.DataFrame):
    """The frame of a comparison, which a notebook shows as the command prints it."""

    def _repr_html_(self) -> str:
        return comparison_sheet(self).html()


def comparison_sheet(frame: pd.DataFrame, every_state: bool = False) -> Sheet:
    """Returns the sheet of the result of `compare`; of states with few launches a line, or all rows."""
    frame, few = shown_rows(frame, every_state)
    about = frame.attrs
    launches = frame[["launches_a", "launches_b"]].dropna().astype(int)
    unit = "session" if about["history_is_a"] else "launch"
    head = [
        ("metric", f"{about['metric']} in us: {METRICS[about['metric']].meaning}"),
        ("", f"{about['statistic']} of a launch, the typical launch"),
        ("A", side_text(about["name_a"], about["where_a"], launches["launches_a"], unit)),
        ("B", side_text(about["name_b"], about["where_b"], launches["launches_b"])),
        *([("history", history_text(frame))] if across_sessions(frame) else []),
        ("ratio", ratio_text(frame)),
        ("", method_text(frame)),
    ]
    return cells_sheet(
        frame, head, [*slow_lines(frame), *open_lines(frame), *few, *about["notes"], *standing_lines(frame)]
    )


def cells_sheet(frame: pd.DataFrame, head: list[tuple[str, str]], notes: list[str]) -> Sheet:
    """Returns a row per operation and size; synchronizers, where they are not compared, are side by side."""
    labels = sheet_factors(frame)
    name_a, name_b = heads_of(frame)
    fields = {name: factor_field(name) for name in labels}
    fields |= {
        "a": Field(name_a, "time"),
        "b": Field(name_b, "time"),
        "ratio": Field("ratio", "ratio"),
        "interval": Field("interval", "interval"),
        "verdict": Field(f"after {name_b}" if are_readings(frame) else f"{name_b} is"),
    }
    bounds: list[object] = list(zip(frame["ratio_low"], frame["ratio_high"], strict=True))
    shown = pd.DataFrame(frame).assign(interval=pd.Series(bounds, frame.index), verdict=verdict_words(frame))
    answer = [str(one) for one in (*conclusion(frame), *states_sentences(frame))]
    return Sheet(
        shown,
        fields,
        len(labels),
        SYNCHRONIZER if SYNCHRONIZER in labels else "",
        SHEET_COLUMNS,
        "" if answer else verdict_counts(frame),
        head,
        notes,
        answer,
    )


def write_comparison(frame: pd.DataFrame, path: Path) -> None:
    """Writes the result of `compare` as JSON: its attributes, and `cells`, an object per cell; times in s.

    Raises:
        DownbeatError: the file cannot be written.
    """
    # Pandas makes numbers with a fraction of counts where a cell has none.
    rows = [
        {name: int(value) if name in COUNTS and np.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    write_result(
        {"schema_version": SCHEMA_VERSION, **{str(name): value for name, value in frame.attrs.items()}, "cells": rows},
        path,
    )


def conclusion(frame: pd.DataFrame) -> list[Sentence]:
    """Returns what the verdicts come to; none if no cell is on both sides.

    A ratio over cells is given only where all of them are faster, or all are slower: a geometric mean, as are the ends
    of its interval. That is wide enough however much cells of a launch resemble each other: the deviation of a mean is
    at most the mean of the deviations. Else it is the number of cells with each verdict, and the ratios of these.
    """
    cells = from_common_start(frame[frame["verdict"] != UNMATCHED])
    if cells.empty:
        return []
    about, metric = frame.attrs, frame.attrs["metric"]
    a, b = heads_of(frame) if about["where_a"] else (about["name_a"], about["name_b"])
    verdicts = set(cells["verdict"])
    if len(verdicts) == 1 and verdicts <= set(READINGS):
        ratio, low, high = np.exp(np.log(cells[["ratio", "ratio_low", "ratio_high"]].to_numpy()).mean(axis=0))
        values = {"a": a, "b": b, "metric": metric, "cells": len(cells), "ratio": ratio, "low": low, "high": high}
        if are_readings(frame):
            return [Sentence("reads", values)]
        if not METRICS[metric].is_time:
            return [Sentence("times_that", values)]
        if verdicts == {"faster"}:  # the faster one comes first
            values |= {"a": b, "b": a, "ratio": 1 / ratio, "low": 1 / high, "high": 1 / low}
        return [Sentence("times_as_fast", values)]
    found = []
    for verdict in (one for one in VERDICT_ORDER if one in verdicts):
        rows = cells[cells["verdict"] == verdict]
        ends = {"low": rows["ratio"].min(), "high": rows["ratio"].max()}
        word_of = counted_word(frame, verdict, len(rows))
        found.append({"verdict": verdict, "word": word_of, "cells": len(rows), "ranged": verdict in READINGS, **ends})
    return [Sentence("verdicts", {"a": a, "b": b, "cells": len(cells), "found": found})]


def states_sentences(frame: pd.DataFrame) -> list[Sentence]:
    """Returns the ratio over all launches where the machine was in several states, and how these are shared."""
    about = frame.attrs
    overall = about["overall"]
    if overall is None:
        return []
    a, b = heads_of(frame) if about["where_a"] else (about["name_a"], about["name_b"])
    states = [
        {"state": state, "a": a, "b": b, "in_a": in_a, "in_b": in_b, "of_a": sum(one["a"]), "of_b": sum(one["b"])}
        for one in about["shares"][:1]
        for state, in_a, in_b in list(zip(one["states"], one["a"], one["b"], strict=True))[1:]
    ]
    p_value = about["shares"][0]["p_value"] if states else math.nan
    counts = {verdict: overall[verdict] for verdict in VERDICT_ORDER if verdict in overall}
    one_cell = sum(counts.values()) == 1
    verdicts = [verdict if one_cell else f"{count} {verdict}" for verdict, count in counts.items()]
    ratios = {"ratio": overall["ratio"], "low": overall["ratio_low"], "high": overall["ratio_high"]}
    p_text = f"{p_value:.2g}" if math.isfinite(p_value) else ""
    return [Sentence("within_states", {"a": a, "b": b, "states": states, "p": p_text, "verdicts": verdicts, **ratios})]


def from_common_start(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that count: those from a common start, where the same was measured after a barrier, too."""
    common = frame[SYNCHRONIZER] == COMMON_START if SYNCHRONIZER in frame else pd.Series(False, frame.index)
    return frame[common] if common.any() else frame


def are_readings(frame: pd.DataFrame) -> bool:
    """Whether synchronizers are compared."""
    return set(frame.attrs["where_a"]) == {SYNCHRONIZER}


def heads_of(frame: pd.DataFrame) -> tuple[str, str]:
    """Returns what heads the columns of A and B: the values that are compared, if they are short; else A and B."""
    about = frame.attrs
    if len(about["where_a"]) == 1:
        (a,), (b,) = (map(word, about[where].values()) for where in ("where_a", "where_b"))
        if max(len(a), len(b)) <= LONGEST_NAME:
            return a, b
    return "A", "B"


def verdict_words(frame: pd.DataFrame) -> list[str]:
    """Returns the verdicts in words."""
    words = READINGS if are_readings(frame) else {}
    return [words.get(str(verdict), str(verdict)) for verdict in frame["verdict"]]


def counted_word(frame: pd.DataFrame, verdict: str, cells: int) -> str:
    """Returns a verdict in words, on so many cells."""
    said = READINGS.get(verdict, verdict) if are_readings(frame) else verdict
    return said if cells == 1 else said.replace("reads", "read")


def verdict_counts(frame: pd.DataFrame) -> str:
    """Returns how many cells have which verdict; the verdicts are of B."""
    counts = Counter(frame["verdict"])
    found = [
        f"{counts[one]} {counted_word(frame, one, counts[one])}"
        for one in VERDICT_ORDER
        if counts[one] or one != UNMATCHED
    ]
    of = f"after {heads_of(frame)[1]}" if are_readings(frame) else "B against A"
    return f"{counted(len(frame), 'cell')}: {', '.join(found)} ({of})"


def sheet_factors(frame: pd.DataFrame) -> list[str]:
    """Returns the factors that need a column."""
    shown = [name for name in FACTORS if name in frame and (name in FACTORS_ALWAYS or frame[name].nunique() > 1)]
    return [name for name in shown if name not in IMPLIED]


def ratio_text(frame: pd.DataFrame) -> str:
    """Returns what the ratio is of, and how it relates to delta where a barrier is compared with the common start."""
    names = [frame.attrs[where].get(SYNCHRONIZER) for where in ("where_a", "where_b")]
    if are_readings(frame) and names == [COMMON_START, BARRIER]:
        return "barrier / common start (delta in Schuchart 2023, section 6.1)"
    if are_readings(frame) and names == [BARRIER, COMMON_START]:
        return "common start / barrier (1 / delta in Schuchart 2023, section 6.1)"
    return " / ".join(reversed(heads_of(frame)))


def standing_lines(frame: pd.DataFrame) -> list[str]:
    """Returns what the launches of the cell with the fewest cannot show."""
    sides = ["launches_b"] if frame.attrs.get("history_is_a") else ["launches_a", "launches_b"]
    counts = frame.loc[frame["ratio_low"].notna(), sides].min(axis=1)
    fewest = counts[counts >= FEWEST_LAUNCHES].min() if (counts >= FEWEST_LAUNCHES).any() else counts.min()
    return [unseen_text(int(fewest), frame.attrs.get("span", math.nan))] if fewest > 0 else []


def slow_lines(frame: pd.DataFrame) -> list[str]:
    """Returns how many launches of A and of B are slow in the cell where that differs most; nothing where none is.

    The p-value is corrected for the cells with slow launches, from which this one is picked (Bonferroni).
    """
    some = frame[frame[["slow_a", "slow_b"]].sum(axis=1) > 0]
    if some.empty:
        return []
    most = some.assign(slow=some[["slow_a", "slow_b"]].max(axis=1)).sort_values(
        ["slow_p_value", "slow"], ascending=[True, False], kind="stable"
    )
    row, (a, b) = most.iloc[0], heads_of(frame)
    name = " ".join(printable(word(row[factor])) for factor in sheet_factors(frame))
    in_b, in_a = (f"{int(row[f'slow_{side}'])} of {int(row[f'launches_{side}'])}" for side in "ba")
    p_value = min(1.0, len(some) * float(row["slow_p_value"]))
    return [f"{SLOW_LAUNCHES}: {name}, {in_b} with {b}, {in_a} with {a} (p = {p_value:.2g})"]


def side_text(name: str, where: dict[str, object], launches: pd.Series[int], unit: str = "launch") -> str:
    """Returns what A or B is."""
    values = ", ".join(f"{factor}={value}" for factor, value in where.items())
    numbers = sorted(set(launches))
    count = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "no"
    plural = "" if count == "1" else "es" if unit == "launch" else "s"
    return f"{name}{', ' if values else ''}{values}, {count} {unit}{plural}"


def history_text(frame: pd.DataFrame) -> str:
    """Returns what the history is, and by how much its sessions deviate."""
    part, count = int(frame["sessions"].max()), len(frame.attrs["history"])
    deviations = frame["session_deviation"].dropna()
    found = dict.fromkeys(f"{100 * deviations.agg(end):.1f}" for end in ("min", "max")) if len(deviations) else ()
    beyond = f", which deviate by {' to '.join(found)} % beyond what launches do" if found else ""
    return f"{f'{part} of ' if part < count else ''}{counted(count, 'experiment')}{beyond}"


def across_sessions(frame: pd.DataFrame) -> bool:
    """Whether A and B are compared by the sessions of a history."""
    return bool(frame["sessions"].notna().any())


def method_text(frame: pd.DataFrame) -> str:
    """Returns how A and B are compared."""
    about = frame.attrs
    how = "pairs of launches" if about["paired"] else "independent launches"
    how = "across sessions" if across_sessions(frame) else how
    how += "" if about["paired"] or across_sessions(frame) or about["name_a"] == about["name_b"] else ", of two times"
    tests = {0: "no test", 1: "one test"}.get(about["tests"], f"Holm's correction for {about['tests']} cells")
    margin = f"equivalent: within {100 * about['margin']:g} % of 1"
    return f"{how}, {100 * about['confidence']:g} % interval; {tests}; {margin}"


def open_lines(frame: pd.DataFrame) -> list[str]:
    """Returns why cells are undecided or unmatched, a line for each reason."""
    shown = sheet_factors(frame)
    open_ = frame[frame["verdict"].isin(["undecided", UNMATCHED])]
    lines = []
    for (verdict, why), rows in open_.groupby(["verdict", "reason"], sort=False):
        # Before lines are wrapped, which makes spaces of what control characters are.
        names = [printable(" ".join(word(row[name]) for name in shown)) for _, row in rows.iterrows()]
        many = len(names) > MOST_NAMED or why in MORE_LAUNCHES or len(names) == len(frame)
        which = f"{len(names)} cells" if many and len(names) > 1 else ", ".join(names)
        lines.append(f"{verdict}, {why}: {which}")
    power = open_[np.isfinite(open_["detectable_ratio"]) & open_["reason"].isin(MORE_LAUNCHES)]
    if not len(power):
        return lines
    if power["launches_needed"].notna().all():
        fewest = int(power[["launches_a", "launches_b"]].min(axis=1).min())
        lines.append(next_step(power["launches_needed"], power["launches_alike"], frame.attrs["margin"], fewest))
    else:
        lines.append(
            "more launches do not make up for what differs between sessions: measure A and B in one experiment"
        )
    return lines
