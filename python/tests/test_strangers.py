"""What is wrong on launches that no method presumes is said: `make bench-statistics` has more kinds, and many more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistics import kinds, printed
from tests.statistics.kinds import Kind
from tests.statistics.powers import Design
from tests.statistics.printed import Cause
from tests.statistics.states import share_rows
from tests.statistics.strangers import FALSE, MISSED, one_side, ratio_of_pairs, shares_of
from tests.statistics.strangers import Design as Sides

EXPERIMENTS, PRINTED = 400, 0.15  # of each kind, and a factor on how many are printed


@pytest.mark.parametrize(
    ("design", "kind", "launches"),
    [
        (ratio_of_pairs, kinds.CORRELATED[0], 29),
        (ratio_of_pairs, kinds.RUNS[2], 29),
        (one_side, kinds.RUNS[1], 29),
    ],
    ids=lambda one: getattr(one, "__name__", getattr(one, "name", str(one))),
)
def test_what_is_wrong_is_said(design: Sides, kind: Kind, launches: int) -> None:
    random = np.random.default_rng(1)
    found = shares_of(random, design(random, kind, EXPERIMENTS, launches, launches), kind, PRINTED)
    assert found.overlooked == 0
    assert found.holds < 1 - 2 * MISSED  # else nothing had to be said
    assert found.missed <= 2 * MISSED  # of 5 experiments that are printed, one may be silent
    assert max(found.false_unsaid, found.alike_unsaid) <= 2 * FALSE


def test_only_a_cause_that_is_named_is_said() -> None:
    random = np.random.default_rng(1)
    alone = printed.show(printed.cells_of(kinds.normal(random, 1, 29).logs[0]))  # leaves up to 10 % unseen
    assert printed.names_cause(alone, 29, Cause(missed=0.08, rare=True))
    assert not printed.names_cause(alone, 29, Cause(missed=0.2, rare=True))
    assert printed.names_cause(alone, 29, Cause(missed=0.2, rare=True, in_order=True, run=5))
    assert printed.said(alone, Cause(in_order=True)) == printed.STANDING
    in_runs = printed.show(printed.cells_of(np.log(1.3) * (np.arange(29) < 9) + kinds.normal(random, 1, 29).logs[0]))
    assert printed.said(in_runs, Cause(rare=True)) == printed.DATA
    assert printed.said(in_runs, Cause(in_order=True)) == printed.DATA


def test_what_b_does_to_the_state_is_not_equivalent() -> None:
    *_, (_, _, alike, silent, differ) = share_rows(np.random.default_rng(1), 12, (40,))
    assert (alike, silent) == (0.0, 0.0)
    assert differ >= 0.75


@pytest.mark.parametrize(("deviation", "hidden"), [(0.002, 0.0), (0.01, 0.01)])
def test_a_difference_that_is_said_to_be_detected_is_found(deviation: float, hidden: float) -> None:
    random = np.random.default_rng(1)
    one = Design(deviation, 10, paired=True, hidden=hidden)
    prints = [one.printed(random) for _ in range(5)]
    assert np.mean([one.found(random, each.detectable[0]) for each in prints]) >= 0.8
    assert min(each.needed[0] for each in prints) >= 5
