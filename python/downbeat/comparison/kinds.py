"""Launches of several kinds in a comparison: correlation of what is compared, shares of states, all states together.

The state of the machine may be what A or B makes of it: where their launches differ, by a launcher, a binding or a
library, a side that is more often in the slow state is slower, whatever launches within a state say.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.comparison.judging import Judged, Match, Matcher, judge_matches
from downbeat.comparison.sides import Sides
from downbeat.data.cells import HIGH, LOW, STATE
from downbeat.data.launch_file import IMPLIED
from downbeat.data.states import ANY, UNKNOWN, trip_of
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.dependence import correlation
from downbeat.statistics.kinds import Series, resemblance_lines
from downbeat.statistics.sessions import LOOKED_AT, last_shift, sessions_of, since, trend
from downbeat.statistics.slow_launches import mcnemar_exact
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.text import PERCENT, counted

MOST_SHIFTS = 2  # that have a line each
RESEMBLANCE = 0.001  # level at which a correlation of sessions is said: of many cells some resemble by chance
GROUP = (*LAUNCH_FACTORS, STATE)


def notes_on_kinds(judged: Sequence[Judged], cells: Sequence[str] = ()) -> list[str]:
    """Returns lines on the correlation of what was compared: of pairs the ratios, else each side's launches.

    Args:
        judged: compared together.
        cells: a name for each; by default the factors that vary.
    """
    names = cells or match_names([one.match for one in judged])
    ratios, medians = [], []
    for name, one in zip(names, judged, strict=True):
        match = one.match
        if one.comparison is None:
            continue
        group = tuple(match.factors.get(factor) for factor in GROUP)
        if one.comparison.paired:
            ratios.append(Series(name, group, match.launches[0], match.b / match.a))
            continue
        sides = (("A", match.a, match.launches[0]), ("B", match.b, match.launches[1]))
        for side, values, launches in sides[match.history_is_a :]:
            medians.append(Series(f"{name} of {side}".strip(), (side, *group), launches, values))
    return [
        *(f"ratios of pairs: {line}" for line in resemblance_lines(ratios)),
        *resemblance_lines(medians),
    ]


def history_lines(judged: Sequence[Judged]) -> list[str]:
    """Returns lines on histories that are not of one kind: shifts of their level, trends, sessions that resemble.

    The session of a shift is counted among those that have the cell.
    """
    series = [sessions_of(one.match.history).means for one in judged if one.match.history and one.comparison]
    used = [means[since(means) :] for means in series]

    def cells(found: Sequence[float]) -> str:
        return f" in {len(found)} of {counted(len(series), 'cell')}" if len(series) > 1 else ""

    shifts: dict[tuple[int, int], list[float]] = {}
    for means, those in zip(series, used, strict=True):
        if shift := last_shift(means[-LOOKED_AT:]):
            at = max(0, means.size - LOOKED_AT) + shift.at
            shifts.setdefault((at + 1, those.size), []).append(PERCENT * math.expm1(shift.logs))
    lines = [
        f"history: a shift of {np.median(sizes):+.2g} % at session {at}{cells(sizes)}; compared with the {left} since"
        for (at, left), sizes in sorted(shifts.items(), key=lambda item: -len(item[1]))[:MOST_SHIFTS]
    ]
    if slopes := [PERCENT * math.expm1(slope) for slope in map(trend, used) if slope]:
        lines.append(f"history: a trend of {np.median(slopes):+.2g} % per session{cells(slopes)}")
    if resembling := [found for found in (correlation(means, RESEMBLANCE) for means in used) if found > 0]:
        lines.append(
            f"history: sessions resemble the one before (correlation {np.median(resembling):.1f}){cells(resembling)}; "
            "intervals may be too narrow"
        )
    return lines


def match_names(matches: Sequence[Match]) -> list[str]:
    """Returns for each match its operation and size, and the other factors that vary."""
    factors = pd.DataFrame([dict(one.factors) for one in matches])
    shown = [
        str(name)
        for name in factors
        if name not in IMPLIED and (name in ("operation", "size") or factors[name].nunique() > 1)
    ]
    return [" ".join(str(one.factors[name]) for name in shown) for one in matches]


def across_states(sides: Sides, matches: Sequence[Match]) -> list[Match]:
    """Returns matches, with one over all launches in place of those in states in which A and B are hardly together.

    Where no state has five launches of both, only a difference beyond what states make can be told: their round trips
    are a factor apart, and so is at most what is measured in them.
    """
    if sides.past is not None or not {LOW, HIGH} <= set(sides.a):
        return list(matches)
    key = [name for name in sides.key if name != STATE]
    by_cell: dict[tuple[object, ...], list[Match]] = {}
    for one in matches:
        by_cell.setdefault(tuple(one.factors[name] for name in key), []).append(one)
    apart = {cell: group for cell, group in by_cell.items() if any(one.factors.get(STATE) for one in group)}
    wanted = {cell for cell, group in apart.items() if not any(enough(one) for one in group)}
    if not wanted:
        return list(matches)
    rows = [
        {cell: some for cell, some in side.groupby(key, sort=False) if cell in wanted} for side in (sides.a, sides.b)
    ]
    found: list[Match] = []
    for cell, group in by_cell.items():
        if cell not in wanted or any(cell not in side for side in rows):
            found += group
            continue
        a, b = (side[cell][side[cell][LOW] > 0] for side in rows)  # of others the state is not known
        both = pd.concat([a, b])
        factors = dict(zip(key, cell, strict=True)) | {STATE: ANY}
        match = Matcher(sides.column, paired=False).launches(factors, a, b, "")
        beyond = float(both[HIGH].max() / both[LOW].min()) if len(both) else 1.0
        usable = not match.obstacle and min(len(match.a), len(match.b)) >= FEWEST_LAUNCHES and beyond > 1
        found += [dataclasses.replace(match, beyond=beyond)] if usable else group
    return found


def enough(match: Match) -> bool:
    """Whether a match has launches enough for a verdict."""
    return not match.obstacle and min(len(match.a), len(match.b)) >= FEWEST_LAUNCHES


@dataclass(frozen=True)
class Shares:
    """In how many launches A and B were in each state, under one configuration.

    Attributes:
        of: values of the factors of a launch that both sides share.
        states: their names, by round trip.
        a: launches of A in each.
        b: of B.
        p_value: that both are in the slower states equally often, of launches that took turns (McNemar 1947), for each
            border between two states; the smallest, corrected for their number. NaN of two experiments: states last for
            many launches, so that equal shares would be called different in 22 to 50 %.
    """

    of: tuple[object, ...]
    states: tuple[str, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]
    p_value: float


def shares_of_states(sides: Sides) -> list[Shares]:
    """Returns the shares of states of A and B for each configuration; none where both are of the same launches."""
    if sides.history_is_a or (sides.same and sides.compared.isdisjoint(LAUNCH_FACTORS)):
        return []
    common = [name for name in LAUNCH_FACTORS if name not in sides.compared and name in sides.key]
    found = []
    of_sides = [launch_states(cells, common) for cells in (sides.a, sides.b)]
    for of in dict.fromkeys([*of_sides[0], *of_sides[1]]):
        a, b = (one.get(of, {}) for one in of_sides)
        states = sorted({*a.values(), *b.values()}, key=trip_of)
        if len(states) < 2 or not a or not b:
            continue
        of_a, of_b = (tuple(list(side.values()).count(state) for state in states) for side in (a, b))
        p_value = math.nan
        if sides.paired:
            places = [[states.index(side[launch]) for launch in a if launch in b] for side in (a, b)]
            slower = [[[place >= i for place in side] for side in places] for i in range(1, len(states))]
            p_value = min(1.0, len(slower) * min(mcnemar_exact(*both) for both in slower))
        found.append(Shares(of, tuple(states), of_a, of_b, p_value))
    return found


def launch_states(cells: pd.DataFrame, common: Sequence[str]) -> dict[tuple[object, ...], dict[object, str]]:
    """Returns the state of each launch, that of most of its cells, by the values of factors of launches."""
    known = cells[~cells[STATE].isin(("", UNKNOWN))]
    found: dict[tuple[object, ...], dict[object, str]] = {}
    for key, states in known.groupby([*LAUNCH_FACTORS, "launch"], sort=False)[STATE]:
        values = dict(zip(LAUNCH_FACTORS, key[:-1], strict=True))
        found.setdefault(tuple(values[name] for name in common), {})[key[-1]] = str(states.mode().iloc[0])
    return found


def over_all_states(sides: Sides, margin: float, confidence: float) -> dict[str, float] | None:
    """Returns B / A over all launches, whatever their state; None where the machine was in one state.

    A cell that is equivalent within a state is so only there: B may bring about the slow state.

    Returns:
        `ratio`, `ratio_low` and `ratio_high`, geometric means over cells; how many cells have each verdict.
    """
    if sides.past is not None or pd.concat([sides.a[STATE], sides.b[STATE]]).nunique() < 2:
        return None
    key = [name for name in sides.key if name != STATE]
    judged = judge_matches(Matcher(sides.column, sides.paired).cells(sides.a, sides.b, key), margin, confidence)
    found = [one.comparison for one in judged if one.comparison]
    ratios = [(one.ratio.estimate, one.ratio.low, one.ratio.high) for one in found if one.ratio.low > 0]
    if not ratios:
        return None
    means = np.exp(np.log(np.array(ratios)).mean(axis=0))
    return {
        **dict(zip(("ratio", "ratio_low", "ratio_high"), map(float, means), strict=True)),
        **Counter(one.verdict for one in found),
    }


def independent_lines(judged: Sequence[Judged], in_pairs: bool) -> list[str]:
    """Returns lines on cells whose launches are not compared as the others, in pairs or within a state."""
    comparisons = [one.comparison for one in judged if one.comparison]
    across = sum(one.beyond > 1 for one in comparisons)
    alone = sum(not one.paired and one.beyond == 1 for one in comparisons)
    few = f"fewer than {FEWEST_LAUNCHES} pairs in their state: launches compared as independent"
    none = f"state {ANY}: {counted(across, 'cell')} with no state in which both sides have {FEWEST_LAUNCHES} launches"
    return [
        *([f"{counted(alone, 'cell')} with {few}"] if alone and in_pairs else []),
        *([f"{none}; only what exceeds the factor between states is a difference"] if across else []),
    ]
