"""Verdicts in words: neighboring sizes with the same verdict are one range, with the range of their ratios.

Nothing is said that the verdicts do not say: a size that is not decided ends a range.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd

from downbeat.comparison.effort import AFFORDABLE, next_step
from downbeat.comparison.judging import UNMATCHED
from downbeat.comparison.sheet import MORE_LAUNCHES, READINGS, are_readings
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.text import PERCENT, bytes_text

MOST_RANGES = 3  # with a difference, of one operation; of more, one for each verdict
MOST_LISTED = 4  # parts of a set of sizes
TIMES = 2.0  # from here on a ratio is said in times, below in percent


def verdict_ranges(frame: pd.DataFrame, brief: bool = False) -> list[str]:
    """Returns what the verdicts on one operation are: differences by size, sizes that are equal, sizes that are open.

    Args:
        frame: rows of `compare` that differ in their size alone, with its attributes.
        brief: say of open ones no more than that there are some.
    """
    rows = frame.sort_values("size").reset_index(drop=True)
    sizes = list(rows["size"])
    different = [
        (verdict, list(places))
        for verdict, places in itertools.groupby(rows.index, key=lambda place: str(rows["verdict"][place]))
        if verdict in READINGS
    ]
    if len(different) > MOST_RANGES:
        verdicts = dict.fromkeys(verdict for verdict, _ in different)
        different = [(one, list(rows.index[rows["verdict"] == one])) for one in verdicts]
    parts = [(places, effect_text(frame, verdict, rows["ratio"][places])) for verdict, places in different]
    equal = list(rows.index[rows["verdict"] == "equivalent"])
    parts += [(equal, f"within {PERCENT * frame.attrs['margin']:g} %")] if equal else []
    open_ = rows[rows["verdict"].isin(("undecided", UNMATCHED))]
    whys = open_.apply(open_kind, axis=1) if len(open_) else pd.Series(dtype=object)
    if brief and len(whys) > 1:
        return [*texts(parts, sizes), NOT_DECIDED if len(whys) == len(rows) else f"{NOT_DECIDED} elsewhere"]
    for why in whys.unique():
        mine = whys.index[whys == why]
        parts.append((list(mine), str(why)))
    return texts(parts, sizes)


def texts(parts: Sequence[tuple[list[int], str]], sizes: Sequence[int]) -> list[str]:
    """Returns parts, each with its sizes in front."""
    return [f"{sizes_text(places, sizes)}{': ' if any(sizes) else ''}{text}" for places, text in parts]


def sizes_text(places: Sequence[int], sizes: Sequence[int]) -> str:
    """Returns a set of sizes, by their places among all that were measured: `8 to 256, 4K`; empty without a size."""
    if not any(sizes):
        return ""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) > MOST_LISTED:
        return f"{len(places)} sizes from {bytes_text(sizes[places[0]])} to {bytes_text(sizes[places[-1]])}"
    return ", ".join(" to ".join(dict.fromkeys(bytes_text(sizes[one[end]]) for end in (0, -1))) for one in runs)


def effect_text(frame: pd.DataFrame, verdict: str, ratios: pd.Series[float]) -> str:
    """Returns a difference in words, from the smallest to the largest of some ratios B / A with one verdict."""
    factors = ratios if verdict == "slower" else 1 / ratios
    if factors.max() >= TIMES:
        amount = f"{span_text(factors)} times"
        if are_readings(frame):
            return f"{amount} too {'high' if verdict == 'slower' else 'low'}"
        return f"{amount} as {'long' if verdict == 'slower' else 'fast'}"
    amount = f"{span_text((PERCENT * (ratios - 1)).abs())} %"
    if are_readings(frame):
        return f"{amount} too {'high' if verdict == 'slower' else 'low'}"
    return f"{amount} {'longer' if verdict == 'slower' else 'shorter'}"


def span_text(values: pd.Series[float]) -> str:
    """Returns the smallest and the largest of some numbers: `14 to 19`."""
    texts = [f"{value:.1f}" if value < 9.95 else f"{value:.0f}" for value in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(texts))


NOT_DECIDED = "not decided"


def open_kind(row: pd.Series) -> str:
    """Returns why a row has no verdict, in words."""
    if row["verdict"] == UNMATCHED:
        return str(row["reason"])
    if min(row["launches_a"], row["launches_b"]) < FEWEST_LAUNCHES:
        return f"no verdict below {FEWEST_LAUNCHES} launches"
    if row["reason"] not in MORE_LAUNCHES:
        return f"{NOT_DECIDED}: {row['reason']}"
    return f"{NOT_DECIDED}: launches deviate too much" if row["launches_needed"] > AFFORDABLE else NOT_DECIDED


def helpful_step(frame: pd.DataFrame, launches: int) -> str:
    """Returns what decides more of a comparison; empty where nothing is known to.

    Args:
        frame: the rows of `compare` that are shown.
        launches: of each configuration so far, as they are asked for.
    """
    few = frame[["launches_a", "launches_b"]].min(axis=1) < FEWEST_LAUNCHES
    if len(frame) and few.all():
        return f"--launches {2 * launches}: too few so far in one state of the machine"
    rows = frame[(frame["verdict"] == "undecided") & frame["reason"].isin(MORE_LAUNCHES)]
    rows = rows[rows["launches_needed"].notna()]
    return next_step(rows["launches_needed"], rows["launches_alike"], frame.attrs["margin"], launches, "--launches")
