"""Writes the notes on a comparison: different contexts, shifts and trends of a history, correlated launches.

The context of a launch is the mapping of attributes in its file; a session is one experiment of a history.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from downbeat.comparison.judging import Judged, rule_of
from downbeat.comparison.matching import Match
from downbeat.comparison.settings import context_differences
from downbeat.comparison.sides import Side, SideCells, Sides
from downbeat.data.attributes import ATTRIBUTES
from downbeat.data.launch_file import IMPLIED
from downbeat.run import trial
from downbeat.run.experiment import GROUP, Experiment, span_of
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.run.simulation import platforms_of
from downbeat.statistics.dependence import correlation
from downbeat.statistics.kinds import Series, resemblance_lines
from downbeat.statistics.sessions import SEARCHED, false_verdicts, last_shift, sessions_of, since, trend
from downbeat.statistics.slow_launches import unseen_share
from downbeat.statistics.verdicts import MIN_LAUNCHES
from downbeat.text import PERCENT, counted

# Assumed standard deviation of logarithms between sessions, measured on a virtual machine. Quiet machines have 0.002
# (five years of PHP's nightly runs); only a history shows the value of a machine.
SESSION_DEVIATION = 0.02
MAX_SHIFTS = 2  # lines on shifts
RESEMBLANCE = 0.001  # significance level of a correlation of sessions; low, because many cells are tested


def remarks_on(sides: Sides, left_out: list[str], judged: Sequence[Judged]) -> list[str]:
    """Returns the notes: simulations, excluded launches, differences between contexts, history, correlated launches."""
    lines = list(left_out)
    both_sides = ((sides.of_a, sides.a), (sides.of_b, sides.b))
    contexts = [contexts_of(of, cells) for of, cells in both_sides]
    expected = {name for name, row in ATTRIBUTES.items() if set(row.factors) & set(sides.compared)}
    if not sides.history_is_a and all(isinstance(of, Experiment) for of, _ in both_sides):
        lines += [f"A and B differ in {line}" for line in context_differences(contexts[0], contexts[1], expected)]
    for of in {id(of): of for of, _ in both_sides}.values():
        lines += of.lines_on_metric(sides.metric) if isinstance(of, Experiment) else []
    for (of, _), of_side in zip(both_sides, contexts, strict=True):
        first = [f"simulated, not measured: {platform}" for platform in platforms_of(of_side)]
        if "algorithm" in sides.compared and isinstance(of, Experiment):
            first += [finding.seen for finding in of.machine if finding.check == trial.CHECK]
        lines = [*(line for line in first if line not in lines), *lines]
    if sides.past is not None:
        lines += history_notes(sides, contexts[sides.history_is_a], expected)
    without_pairs = sum(not cell.comparison.paired for cell in judged if cell.comparison)
    if without_pairs and sides.paired:
        few = f"fewer than {MIN_LAUNCHES} pairs: launches compared as independent"
        lines.append(f"{counted(without_pairs, 'cell')} with {few}")
    return [*lines, *history_lines(judged), *notes_on_kinds(judged)]


def shorter_span(sides: Sides) -> float:
    """Returns the time that the launches of a side cover, `span_of`, of the side with the shorter time."""
    both_sides = ((sides.of_a, sides.a), (sides.of_b, sides.b))[sides.history_is_a :]
    return min(span_of(contexts_of(of, cells)) for of, cells in both_sides)


def contexts_of(side: Side, cells: SideCells) -> list[Mapping[str, object]]:
    """Returns the contexts of the launches with these cells; empty for a frame."""
    if not isinstance(side, Experiment):
        return []
    launches = set(zip(cells.values(*LAUNCH_FACTORS), cells.launch.tolist(), strict=True))
    return [launch.context for launch in side.launches if (launch.configuration, launch.number) in launches]


def history_notes(sides: Sides, reference: Sequence[Mapping[str, object]], expected: Iterable[str]) -> list[str]:
    """Returns lines on sessions without compared cells, and on attributes that differ between sessions and reference.

    Args:
        sides: a comparison with a history.
        reference: contexts of the launches of A; if the history is A, of B.
        expected: attributes that differ because they are compared.
    """
    of, cells = ("B", sides.b) if sides.history_is_a else ("A", sides.a)
    with_cells = sessions_with(sides.past, cells, sides.key) if sides.past is not None else set()
    left_out = [name for name in sides.history if name not in with_cells]
    lines = [f"history, without any of the compared cells, left out: {', '.join(left_out)}"] if left_out else []
    if not isinstance(sides.of_b if sides.history_is_a else sides.of_a, Experiment):
        return lines
    sessions = [side for name, side in sides.history.items() if name in with_cells and isinstance(side, Experiment)]
    contexts = [[launch.context for launch in side.launches] for side in sessions]
    counts = Counter(line for session in contexts for line in context_differences(reference, session, expected))
    return lines + [
        f"{of} and {count} of the {len(sessions)} experiments of its history differ in {line}; its effect"
        " counts as a deviation between sessions"
        for line, count in counts.items()
    ]


def sessions_with(past: SideCells, cells: SideCells, key: Sequence[str]) -> set[str]:
    """Returns the names of the sessions that have a cell in common with `cells`, by the factors `key`."""
    cell_keys = set(cells.values(*key))
    return {str(name) for name, values in zip(past.session, past.values(*key), strict=True) if values in cell_keys}


def assumption(sides: Sides, judged: Sequence[Judged]) -> str:
    """Returns the assumption about the machine on which the verdicts depend; empty for pairs, which need none."""
    if sides.paired:
        return ""
    comparisons = [cell.comparison for cell in judged if cell.comparison]
    if sides.past is not None:
        sessions = max((comparison.sessions or 0 for comparison in comparisons), default=0)
        # With two modes of sessions and a history of five in one mode, 8 to 12 % of equal cells differ.
        missed = (
            f"; {sessions} can miss what {PERCENT * unseen_share(sessions):.0f} % of sessions do" if sessions else ""
        )
        return f"A and B differ in time and circumstances no more than the experiments of the history do{missed}"
    tested, price = [comparison for comparison in comparisons if comparison.tested], ""
    if tested:
        error, freedom = [comparison.error for comparison in tested], [comparison.freedom for comparison in tested]
        shares = false_verdicts(error, freedom, SESSION_DEVIATION, rule_of(tested, len(comparisons)))
        assumed = f"{PERCENT * SESSION_DEVIATION:g} %"
        price = (
            f"; if sessions deviated by {assumed}, {PERCENT * np.median(shares):.0f} % of identical cells would be"
            f" called faster or slower ({assumed} is assumed: --history has this machine's)"
        )
    return f"the machine did not change between A and B{price} (docs/compare.md)"


def notes_on_kinds(judged: Sequence[Judged], cells: Sequence[str] = ()) -> list[str]:
    """Returns lines on correlated launches: for pairs the ratios are tested, else the values of each side.

    Args:
        judged: cells that were judged together.
        cells: a name for each cell; by default the factors that vary.
    """
    names = cells or match_names([cell.match for cell in judged])
    ratios, medians = [], []
    for name, cell in zip(names, judged, strict=True):
        match = cell.match
        if cell.comparison is None:
            continue
        group = tuple(match.factors.get(factor) for factor in GROUP)
        if cell.comparison.paired:
            ratios.append(Series(name, group, match.launches[0], match.b / match.a))
            continue
        sides = (("A", match.a, match.launches[0]), ("B", match.b, match.launches[1]))
        for side, values, launches in sides[match.history_is_a :]:
            medians.append(Series(f"{name} of {side}".strip(), (side, *group), launches, values))
    return [*(f"ratios of pairs: {line}" for line in resemblance_lines(ratios)), *resemblance_lines(medians)]


def match_names(matches: Sequence[Match]) -> list[str]:
    """Returns the name of each match: operation, size, and other factors that vary."""
    names = [name for name in (matches[0].factors if matches else ()) if name not in IMPLIED]
    shown = [
        name for name in names if name in ("operation", "size") or len({match.factors[name] for match in matches}) > 1
    ]
    return [" ".join(str(match.factors[name]) for name in shown) for match in matches]


def history_lines(judged: Sequence[Judged]) -> list[str]:
    """Returns lines on shifts and trends of the history, and on correlated sessions.

    A shift is at a session number, counted among the sessions that have the cell.
    """
    series = [sessions_of(cell.match.history).means for cell in judged if cell.match.history and cell.comparison]
    used = [means[since(means) :] for means in series]

    def cells(values: Sequence[float]) -> str:
        return f" in {len(values)} of {counted(len(series), 'cell')}" if len(series) > 1 else ""

    shifts: dict[tuple[int, int], list[float]] = {}
    for means, since_shift in zip(series, used, strict=True):
        if shift := last_shift(means[-SEARCHED:]):
            at = max(0, means.size - SEARCHED) + shift.at
            shifts.setdefault((at + 1, since_shift.size), []).append(PERCENT * math.expm1(shift.logs))
    lines = [
        f"history: a shift of {np.median(sizes):+.2g} % at session {at}{cells(sizes)}; compared with the {count} since"
        for (at, count), sizes in sorted(shifts.items(), key=lambda item: -len(item[1]))[:MAX_SHIFTS]
    ]
    if slopes := [PERCENT * math.expm1(slope) for slope in map(trend, used) if slope]:
        lines.append(f"history: a trend of {np.median(slopes):+.2g} % per session{cells(slopes)}")
    if resembling := [r1 for r1 in (correlation(means, RESEMBLANCE) for means in used) if r1 > 0]:
        lines.append(
            f"history: sessions resemble the one before (correlation {np.median(resembling):.1f}){cells(resembling)}; "
            "intervals may be too narrow"
        )
    return lines
