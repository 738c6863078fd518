"""Collects the facts of a tuning: its outcome, and the warnings that users must read before they rely on its rules."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator

from downbeat.output.facts import Fact
from downbeat.output.facts.tuning import (
    CellProblem,
    CellProofs,
    CellWarning,
    ChoicePrice,
    LackOfLaunches,
    NotMeasured,
    RulesOutcome,
    TuningNote,
    TuningWarning,
    UnconfirmedRules,
)
from downbeat.statistics.location import Interval
from downbeat.statistics.verdicts import MIN_LAUNCHES
from downbeat.tune.choosing import Decision
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.tuning import GAIN, SWEEP, Tuning


def facts_of(tuning: Tuning) -> Iterator[Fact]:
    """Returns the outcome of a tuning, the warnings, the price of other choices, the algorithms left out."""
    cells_with_rule = [decision.cell for decision in tuning.decisions if tuning.in_rules(decision.cell) != DEFAULT]
    proofs = Counter(
        (tuning.proofs[cell].verdict, tuning.proofs[cell].by) for cell in cells_with_rule if cell in tuning.proofs
    )
    checked = tuple(CellProofs(verdict, by, cells) for (verdict, by), cells in proofs.items())
    yield RulesOutcome(len(tuning.rules), len(tuning.decisions), len(cells_with_rule), checked)
    yield from warnings_of(tuning)
    if tuning.other_choices:
        start = "under the pattern" if tuning.question.arrivals else "from a common start"
        price, slower = tuning.prices.mean, len(tuning.prices.higher())
        yield ChoicePrice(
            tuning.question.otherwise, start, len(tuning.other_choices), slower, ends_of(price) if price else None
        )
    for usable in tuning.usable:
        for algorithm, reason in usable.excluded.items():
            yield NotMeasured(usable.collective, usable.ranks, algorithm, reason)


def ends_of(ratio: Interval) -> tuple[float, float, float]:
    """Returns the estimate of a ratio and the ends of its interval, as facts store them."""
    return ratio.estimate, ratio.low, ratio.high


def warnings_of(tuning: Tuning) -> Iterator[TuningWarning]:
    """Returns the facts that users must know before they rely on the rules."""
    yield from map(TuningNote, tuning.losses)
    launches, cells = tuning.question.effort.launches, len(tuning.decisions)
    untested = sum(map(lacks_launches, tuning.decisions))
    if untested or launches < MIN_LAUNCHES:
        yield LackOfLaunches(SWEEP, untested, cells, launches, MIN_LAUNCHES)
    yield from tuning.removed
    yield from (cell_warning(tuning, cell, "wrong default") for cell in tuning.wrong_defaults)
    yield from tuning.left_out
    yield from (cell_warning(tuning, cell, "not obeyed") for cell in tuning.disobeyed())
    yield from (cell_warning(tuning, cell, "slower") for cell in tuning.slower())
    yield from (cell_warning(tuning, cell, "lost") for cell in tuning.lost)
    unconfirmed = [rule for rule, comparison in tuning.rule_gains.items() if comparison.verdict != "faster"]
    if unconfirmed:
        names = tuple(f"{rule.collective} on {rule.ranks} ranks ({rule.sizes})" for rule in unconfirmed)
        yield UnconfirmedRules(len(tuning.rule_gains), names, len(tuning.withdrawn))
    known = {*tuning.gains, *tuning.lost}
    unknown = sum(decision.cell not in known for decision in tuning.decisions) if tuning.rules else 0
    if unknown and launches >= MIN_LAUNCHES:
        yield LackOfLaunches(GAIN, unknown, cells, launches, MIN_LAUNCHES)
    yield from map(TuningNote, (*tuning.kinds, *tuning.written.notes))


def cell_warning(tuning: Tuning, cell: Cell, problem: CellProblem) -> CellWarning:
    """Returns a warning about a cell, with the numbers or the proof that show it."""
    warning = CellWarning(cell.collective, cell.ranks, cell.size, problem, tuning.in_rules(cell) != DEFAULT)
    if problem == "not obeyed":
        return dataclasses.replace(warning, by=tuning.proofs[cell].by)
    if problem == "slower":
        return dataclasses.replace(warning, ratio=ends_of(tuning.gains[cell].ratio))
    return warning


def lacks_launches(decision: Decision) -> bool:
    """Returns true if a cell has too few launches to judge any algorithm."""
    return bool(decision.candidates) and not any(
        candidate.comparison and min(candidate.comparison.launches) >= MIN_LAUNCHES for candidate in decision.candidates
    )
