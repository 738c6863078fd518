"""Compares B with A over all launches, whatever the state of the machine (`data/states.py`) in each launch.

Verdicts are within a state. But a launcher, a binding or a library can cause a slow state: then B is equivalent in
every state, and slower over all launches.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import VERDICT_ORDER
from downbeat.comparison.judging import judge_matches
from downbeat.comparison.matching import Matcher
from downbeat.comparison.sides import Sides
from downbeat.data.cells import STATE
from downbeat.output.facts.comparison import StateShare, WithinStates
from downbeat.run.plan import LAUNCH_FACTORS


def shares_of_states(sides: Sides) -> list[dict[str, object]]:
    """Counts the launches of A and of B in each state; empty with one state, or if A and B are of the same launches.

    The shares are not tested: states last for many launches, so a test would reject 22 to 50 % of equal shares.
    """
    in_states = [side[side.state != ""] for side in (sides.a, sides.b)]  # some numbers of ranks may have one state only
    states = dict.fromkeys([*in_states[0].state, *in_states[1].state])
    if len(states) < 2 or sides.history_is_a or (sides.same and sides.compared.isdisjoint(LAUNCH_FACTORS)):
        return []
    of_a, of_b = (len(set(side.values(*LAUNCH_FACTORS, "launch"))) for side in in_states)
    a, b = (Counter(state for *_, state in set(side.values(*LAUNCH_FACTORS, "launch", STATE))) for side in in_states)
    return [{STATE: state, "a": a[state], "of_a": of_a, "b": b[state], "of_b": of_b} for state in states]


def over_all(sides: Sides, margin: float, confidence: float) -> dict[str, float] | None:
    """Compares B with A over all launches, whatever their state; None if the machine was in one state.

    A cell can be equivalent within each state although B causes the slow state.

    Returns:
        `ratio`, `ratio_low` and `ratio_high`, geometric means over cells; the number of cells with each verdict.
    """
    if sides.past is not None or len({*sides.a.state, *sides.b.state}) < 2:
        return None
    key = [name for name in sides.key if name != STATE]
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


def within_states(compared: Compared) -> list[WithinStates]:
    """Returns the states, and the comparison over all launches; empty if the machine was in one state."""
    states, overall = tuple(dict.fromkeys(filter(None, compared.verdicts.state))), compared.overall or {}
    if len(states) < 2:
        return []
    shares = tuple(
        StateShare(share["state"], share["a"], share["of_a"], share["b"], share["of_b"]) for share in compared.shares
    )
    verdicts = tuple((verdict, int(overall[verdict])) for verdict in VERDICT_ORDER if verdict in overall)
    ratios = (overall.get(name, np.nan) for name in ("ratio", "ratio_low", "ratio_high"))
    return [WithinStates(*compared.sides, states, shares, verdicts, *ratios)]
