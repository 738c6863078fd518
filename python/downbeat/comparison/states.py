"""States of the machine in comparisons: the main one, shares of launches, verdicts over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.comparison.compared import Compared
from downbeat.comparison.judging import judge_matches
from downbeat.comparison.matching import Matcher
from downbeat.comparison.sides import SideCells, Sides
from downbeat.data.cells import CHANGED, Cells
from downbeat.data.states import UNKNOWN, trip_of
from downbeat.output.facts import Fact
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import FEWEST_LAUNCHES


def main_states(cells: Cells | SideCells) -> frozenset[tuple[int, str]]:
    """The state whose numbers are shown for each number of ranks: the most frequent one of all configurations.

    Launches of one configuration without any in that state show none.
    """
    kept = cells[cells.status != CHANGED]
    launches: dict[int, dict[str, Counter[tuple[object, ...]]]] = {}
    for (*configuration, _, state), _ in Counter(kept.values(*LAUNCH_FACTORS, "launch", "state")).items():
        ranks = int(configuration[LAUNCH_FACTORS.index("ranks")])
        launches.setdefault(ranks, {}).setdefault(state, Counter())[tuple(configuration)] += 1
    states = set()
    for ranks, counts in launches.items():
        every = {configuration for of_state in counts.values() for configuration in of_state}
        order = {state: (min(counts[state][each] for each in every), counts[state].total()) for state in counts}
        states.add((ranks, max(order, key=lambda state: order[state])))
    return frozenset(states)


def main_of(sides: Sides) -> tuple[tuple[int, str], ...]:
    """The main states of a comparison; of one experiment those of all its cells, so that all comparisons agree."""
    if sides.same and isinstance(sides.of_a, Experiment):
        return tuple(sorted(main_states(sides.of_a.cell_table)))
    return tuple(sorted(main_states(SideCells.joined([sides.a, sides.b]))))


@dataclass(frozen=True)
class HiddenState(Fact):
    """A state whose rows are not shown.

    Attributes:
        state: of the machine.
        launches: in it, of the side with fewer.
        of: launches in all states.
    """

    state: str
    launches: int
    of: int


def shown_rows(compared: Compared, every_state: bool = False) -> tuple[Compared, list[HiddenState]]:
    """The rows of states with enough launches for verdicts, and a fact on each other state.

    Where no state has enough, the one with the most launches is shown. No number changes: tests are those of all rows.

    Args:
        compared: all rows.
        every_state: leave no row out.
    """
    states = dict.fromkeys(compared.verdicts.state)
    if every_state or "state" not in compared.factors or len(states) < 2:
        return compared, []
    configurations = compared.verdicts.values(*(name for name in LAUNCH_FACTORS if name in compared.factors))
    launches = np.nan_to_num(compared.fewest).astype(int).tolist()
    of_state: dict[tuple[object, str], int] = {}
    most: dict[object, int] = {}
    for configuration, state, count in zip(configurations, compared.verdicts.state, launches, strict=True):
        of_state[configuration, state] = max(of_state.get((configuration, state), 0), count)
        most[configuration] = max(most.get(configuration, 0), count)
    kept = np.array(
        [
            of_state[configuration, state] >= FEWEST_LAUNCHES or of_state[configuration, state] == most[configuration]
            for configuration, state in zip(configurations, compared.verdicts.state, strict=True)
        ]
    )
    counts = {state: max(count for (_, each), count in of_state.items() if each == state) for state in states}
    hidden = [state for state in states if not kept[compared.verdicts.state == state].any()]
    return compared[kept], [HiddenState(state, counts[state], sum(counts.values())) for state in hidden]


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


def launch_states(cells: SideCells, common: Sequence[str]) -> dict[tuple[object, ...], dict[object, str]]:
    """The state of each launch, that of most of its cells, by the values of factors of launches."""
    known = cells[~np.isin(cells.state, ("", UNKNOWN))]
    launches: dict[tuple[object, ...], dict[object, str]] = {}
    for (values, _), rows in known.groups(known.values(*LAUNCH_FACTORS), known.launch):
        counts = Counter(rows.state.tolist())
        state = min(counts, key=lambda each: (-counts[each], each))
        launches.setdefault(rows.values(*common)[0], {})[(values, rows.launch[0])] = state
    return launches


def over_all_states(sides: Sides, margin: float, confidence: float) -> dict[str, float] | None:
    """B / A over all launches, whatever their state; None where the machine was in one state.

    A cell that is equivalent within a state is so only there: B may bring about the slow state.

    Returns:
        `ratio`, `ratio_low` and `ratio_high`, geometric means over cells; the number of cells with each verdict.
    """
    if sides.past is not None or len({*sides.a.state, *sides.b.state}) < 2:
        return None
    key = [name for name in sides.key if name != "state"]
    judged = judge_matches(Matcher(sides.paired).cells(sides.a, sides.b, key), margin, confidence)
    comparisons = [cell.comparison for cell in judged if cell.comparison]
    ratios = [(test.ratio.estimate, test.ratio.low, test.ratio.high) for test in comparisons if test.ratio.low > 0]
    if not ratios:
        return None
    means = np.exp(np.log(np.array(ratios)).mean(axis=0))
    return {
        **dict(zip(("ratio", "ratio_low", "ratio_high"), map(float, means), strict=True)),
        **Counter(test.verdict for test in comparisons),
    }
