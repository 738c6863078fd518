"""Notes on a comparison: how the contexts of its launches differ, states, kinds of launches, what it assumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.judging import Judged, rule_of
from downbeat.comparison.kinds import history_lines, notes_on_kinds
from downbeat.comparison.settings import context_differences, value_of
from downbeat.comparison.sides import SESSION, Side, Sides
from downbeat.data.states import states_line
from downbeat.run import trial
from downbeat.run.experiment import Experiment, span_of
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.sessions import false_verdicts
from downbeat.statistics.slow_launches import unseen_share
from downbeat.text import PERCENT

# The attributes of the context that a factor changes.
VARIANT = (
    "mpi_library",
    "mpi_standard",
    "environment",
    "downbeat_version",
    "git_revision",
    "compiler",
    "user_operations",
)
CONTEXT_OF = {
    "library": ("mpi_library", "mpi_standard", "environment"),
    "environment": ("environment",),
    "ranks": ("hosts",),
    "variant": VARIANT,
}
SESSION_DEVIATION = 0.02  # as on a virtual machine; on quiet ones it is 0.002, and only a history tells


def remarks_on(sides: Sides, left_out: list[str], judged: Sequence[Judged], shares: list[str]) -> tuple[list[str], str]:
    """Returns the notes on a comparison, and what its verdicts assume.

    Notes are simulations first, then launches left out, how contexts differ, the history, states, their shares on
    either side, and kinds of launches.
    """
    lines = list(left_out)
    both = ((sides.of_a, sides.a), (sides.of_b, sides.b))
    contexts = [contexts_of(of, cells) for of, cells in both]
    expected = {attribute for name in sides.compared for attribute in CONTEXT_OF.get(name, ())}
    if not sides.history_is_a and all(isinstance(of, Experiment) for of, _ in both):
        lines += [f"A and B differ in {line}" for line in context_differences(contexts[0], contexts[1], expected)]
    metric = sides.column.rpartition("_")[0]
    for of in {id(of): of for of, _ in both}.values():
        lines += of.lines_on_metric(metric) if isinstance(of, Experiment) else []
    for (of, _), of_side in zip(both, contexts, strict=True):
        found = simulations(of_side)
        if "algorithm" in sides.compared and isinstance(of, Experiment):
            found += [one.seen for one in of.machine if one.check == trial.CHECK]
        lines = [*(line for line in found if line not in lines), *lines]
    if sides.past is not None:
        lines += history_notes(sides, contexts[sides.history_is_a], expected)
    states = states_line(pd.concat([sides.a, sides.b]))
    within = [f"{states}; compared within each"] if states else []
    return [*lines, *within, *shares, *history_lines(judged), *notes_on_kinds(judged)], assumption(sides, judged)


def shorter_span(sides: Sides) -> float:
    """Returns the time that launches cover, `span_of`, of the side where that is shorter."""
    both = ((sides.of_a, sides.a), (sides.of_b, sides.b))[sides.history_is_a :]
    return min(span_of(contexts_of(of, cells)) for of, cells in both)


def contexts_of(side: Side, cells: pd.DataFrame) -> list[Mapping[str, object]]:
    """Returns the contexts of the launches that the cells are from; none of a frame."""
    if not isinstance(side, Experiment):
        return []
    concerned = set(cells[[*LAUNCH_FACTORS, "launch"]].itertuples(index=False, name=None))
    return [one.context for one in side.launches if (*one.configuration, one.number) in concerned]


def history_notes(sides: Sides, reference: Sequence[Mapping[str, object]], expected: Iterable[str]) -> list[str]:
    """Returns a line for each part of the context that sessions of a history do not share with B, or with A.

    Args:
        sides: with a history.
        reference: contexts of the launches that it is the history of.
        expected: attributes that are to differ, as in `context_differences`.
    """
    of, cells = ("B", sides.b) if sides.history_is_a else ("A", sides.a)
    part = taking_part(sides.past, cells, sides.key) if sides.past is not None else set()
    left_out = [name for name in sides.history if name not in part]
    lines = [f"history, without any of the compared cells, left out: {', '.join(left_out)}"] if left_out else []
    if not isinstance(sides.of_b if sides.history_is_a else sides.of_a, Experiment):
        return lines
    sessions = [one for name, one in sides.history.items() if name in part and isinstance(one, Experiment)]
    contexts = [[launch.context for launch in one.launches] for one in sessions]
    found = Counter(line for each in contexts for line in context_differences(reference, each, expected))
    return lines + [
        f"{of} and {count} of the {len(sessions)} experiments of its history differ in {line}; its effect"
        " counts as a deviation between sessions"
        for line, count in found.items()
    ]


def taking_part(past: pd.DataFrame, cells: pd.DataFrame, key: list[str]) -> set[str]:
    """Returns the names of the sessions that have a cell in common with others, by these factors."""
    wanted = set(cells[key].itertuples(index=False, name=None))
    return {
        name
        for name, *values in past[[SESSION, *key]].drop_duplicates().itertuples(index=False, name=None)
        if tuple(values) in wanted
    }


def assumption(sides: Sides, judged: Sequence[Judged]) -> str:
    """Returns the assumptions of verdicts; empty for pairs, which need none."""
    if sides.paired:
        return ""
    comparisons = [one.comparison for one in judged if one.comparison]
    if sides.past is not None:
        sessions = max((one.sessions or 0 for one in comparisons), default=0)
        # With two modes of sessions, 8 to 12 % of equal cells are called different by a history of 5 in one of them.
        missed = f"; {sessions} can miss what {100 * unseen_share(sessions):.0f} % of sessions do" if sessions else ""
        return f"A and B differ in time and circumstances no more than the experiments of the history do{missed}"
    tested = [one for one in comparisons if one.tested]
    price = ""
    if tested:
        rule = rule_of(tested, len(comparisons))
        error, freedom = [one.error for one in tested], [one.freedom for one in tested]
        share = np.median(false_verdicts(error, freedom, SESSION_DEVIATION, rule))
        price = (
            f"; if sessions deviated by {PERCENT * SESSION_DEVIATION:g} %, {PERCENT * share:.0f} % of identical cells"
            f" would be called faster or slower ({PERCENT * SESSION_DEVIATION:g} % is assumed: --history has this"
            " machine's)"
        )
    return f"the machine did not change between A and B{price} (docs/compare.md)"


def simulations(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns a line for each simulated platform: its numbers are of no machine."""
    platforms = dict.fromkeys(value_of("simulated", one) for one in contexts if "simulated" in one)
    return [f"simulated, not measured: {platform.replace(',', ', ')}" for platform in platforms]
