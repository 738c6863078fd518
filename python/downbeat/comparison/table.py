"""The table of a comparison, for a terminal of 80 columns: verdicts first, then the cells, then what was left out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import FACTORS
from downbeat.show.table import entry, folded, microseconds, word, wrapped
from downbeat.statistics.power import POWER
from downbeat.statistics.verdicts import NOT_AMONG_MANY, NOT_SIGNIFICANT

NOTE_LINES = 8  # of one note; more cells than that are better read from a file
ORDER = ("faster", "slower", "equivalent", "undecided", "unmatched")
DELTA = {"mpi_barrier", "harmonize"}
ALWAYS = {"operation", "size"}
MORE_LAUNCHES = (NOT_SIGNIFICANT, NOT_AMONG_MANY)  # are what would help


def describe(frame: pd.DataFrame) -> list[str]:
    """Returns the lines that tell what `compare` found."""
    about = frame.attrs
    launches = frame[["launches_a", "launches_b"]].dropna().astype(int)
    lines = [summary(frame), ""]
    lines += entry("metric", f"{about['metric']}, {METRICS[about['metric']].meaning}")
    lines += entry("", f"{about['statistic']} of a launch, geometric mean over launches [us]")
    lines += entry("A", side(about["name_a"], about["where_a"], launches["launches_a"]))
    lines += entry("B", side(about["name_b"], about["where_b"], launches["launches_b"]))
    lines += entry("B/A", method(frame))
    delta = delta_line(frame)
    lines += entry("", delta) if delta else []
    shown = [name for name in FACTORS if name in frame and (name in ALWAYS or frame[name].nunique() > 1)]
    shown = [name for name in shown if name not in IMPLIED]
    rows = [
        [
            *(word(row[name]) for name in shown),
            microseconds(row["a"]),
            microseconds(row["b"]),
            ratio(row),
            str(row["verdict"]),
        ]
        for _, row in frame.iterrows()
    ]
    lines += ["", *folded([*shown, "A us", "B us", "B/A", "verdict"], rows, len(shown))]
    notes = [*undecided(frame, shown), *about["notes"]]
    return [*lines, *([""] if notes else []), *(line for note in notes for line in wrapped(note, NOTE_LINES))]


def summary(frame: pd.DataFrame) -> str:
    """Returns how many cells have which verdict; the verdicts are of B."""
    counts = Counter(frame["verdict"])
    told = ", ".join(f"{counts[one]} {one}" for one in ORDER if counts[one] or one != "unmatched")
    return f"{len(frame)} cell{'s' if len(frame) > 1 else ''}: {told} (B against A)"


def side(name: str, where: dict[str, object], launches: pd.Series[int]) -> str:
    """Returns what A or B is."""
    values = ", ".join(f"{factor}={value}" for factor, value in where.items())
    numbers = sorted(set(launches))
    count = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "no"
    return f"{name}{', ' if values else ''}{values}, {count} launch{'' if count == '1' else 'es'}"


def method(frame: pd.DataFrame) -> str:
    """Returns how A and B are compared."""
    about = frame.attrs
    confidence = f"{100 * about['confidence']:g} %"
    how = "of pairs of launches" if about["paired"] else "of independent launches"
    tests = {0: "no test", 1: "one test"}.get(about["tests"], f"Holm's correction for {about['tests']} cells")
    return f"ratio {how}, {confidence} interval; {tests}; within +-{100 * about['margin']:g} % equivalent"


def delta_line(frame: pd.DataFrame) -> str:
    """Returns how the ratio relates to delta, where a barrier is compared with the common start."""
    about = frame.attrs
    names = [about[where].get("synchronizer") for where in ("where_a", "where_b")]
    if set(names) != DELTA or set(about["where_a"]) != {"synchronizer"}:
        return ""
    relation = "1 / delta" if names[0] == "mpi_barrier" else "delta"
    return f"here {relation}; delta = mpi_barrier / harmonize (Schuchart 2023, section 6.1)"


def ratio(row: pd.Series) -> str:
    """Returns the ratio with its interval."""
    if pd.isna(row["ratio"]):
        return "-"
    interval = "" if pd.isna(row["ratio_low"]) else f" [{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]"
    return f"{row['ratio']:.3f}{interval}"


def undecided(frame: pd.DataFrame, shown: list[str]) -> list[str]:
    """Returns why cells are undecided or unmatched, and what more launches would do."""
    open_ = frame[frame["verdict"].isin(["undecided", "unmatched"])]
    lines = []
    for (verdict, reason), rows in open_.groupby(["verdict", "reason"], sort=False):
        names = [" ".join(word(row[name]) for name in shown) for _, row in rows.iterrows()]
        many = reason in MORE_LAUNCHES or len(names) == len(frame)
        which = f"{len(names)} cells" if many and len(names) > 1 else ", ".join(names)
        lines.append(f"{verdict}, {reason}: {which}")
    power = open_[np.isfinite(open_["detectable_ratio"]) & open_["reason"].isin(MORE_LAUNCHES)]
    if len(power):
        found = dict.fromkeys(percent(power["detectable_ratio"].agg(end)) for end in ("min", "max"))
        needed = dict.fromkeys(str(int(power["launches_needed"].agg(end))) for end in ("min", "max"))
        lines.append(
            f"where undecided, these launches show a difference of {' to '.join(found)} % with a probability of"
            f" {POWER:g}; for one of 5 % it takes {' to '.join(needed)} launches"
        )
    return lines


def percent(ratio: float) -> str:
    """Returns by how many percent a ratio is above 1."""
    value = 100 * (ratio - 1)
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
