"""Launches of several kinds in a comparison: correlation of what is compared, shares of states, all states together.

The state of the machine may be what A or B makes of it: where their launches differ, by a launcher, a binding or a
library, a side that is more often in the slow state is slower, whatever launches within a state say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.judging import Judged, judge_matches
from downbeat.comparison.matching import Match, Matcher
from downbeat.comparison.sides import Sides
from downbeat.data.cells import STATE
from downbeat.data.launch_file import IMPLIED
from downbeat.data.states import UNKNOWN, trip_of
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.dependence import correlation
from downbeat.statistics.kinds import Series, resemblance_lines
from downbeat.statistics.sessions import LOOKED_AT, last_shift, sessions_of, since, trend
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


def shares_of_states(sides: Sides) -> list[dict[str, object]]:
    """Launches of A and of B in each state, a dictionary for each configuration; none of the same launches.

    Without a test: states last for many launches, so that equal shares would be called different in 22 to 50 %.
    """
    if sides.history_is_a or (sides.same and sides.compared.isdisjoint(LAUNCH_FACTORS)):
        return []
    common = [name for name in LAUNCH_FACTORS if name not in sides.compared and name in sides.key]
    states_a, states_b = (launch_states(cells, common) for cells in (sides.a, sides.b))
    shares: list[dict[str, object]] = []
    for configuration in states_a:
        a, b = (list(side.get(configuration, {}).values()) for side in (states_a, states_b))
        states = sorted({*a, *b}, key=trip_of)
        if len(states) > 1 and a and b:
            shares.append({"states": states, "a": list(map(a.count, states)), "b": list(map(b.count, states))})
    return shares


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
    """A line on cells whose launches are not compared in pairs, as the others are."""
    alone = sum(not one.comparison.paired for one in judged if one.comparison)
    few = f"fewer than {FEWEST_LAUNCHES} pairs in their state: launches compared as independent"
    return [f"{counted(alone, 'cell')} with {few}"] if alone and in_pairs else []
