"""Warnings for the user of rules: what was seen, why it matters, what to do."""

from __future__ import annotations

from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tune.choosing import Decision
from downbeat.tune.outcome import Tuning
from downbeat.tune.rules import DEFAULT
from downbeat.tune.settling import GAIN

MOST_CELLS = 3  # that a line names; rules.json has all


def find_warnings(tuning: Tuning) -> list[str]:
    """Returns what a user must know: what was seen, why it matters, what to do."""
    warnings = list(tuning.losses)
    launches = tuning.question.effort.launches
    if launches < FEWEST_LAUNCHES:
        warnings.append(
            f"{launches} launches cannot decide anything, so all defaults stay; use at least {FEWEST_LAUNCHES}, "
            "usually 10"
        )
    undecidable = [decision.cell for decision in tuning.decisions if lacks_launches(decision)]
    if undecidable and launches >= FEWEST_LAUNCHES:
        warnings.append(
            f"nothing could be chosen in {len(undecidable)} of {len(tuning.decisions)} cells, where no algorithm has "
            f"{FEWEST_LAUNCHES} launches that count beside the default: their defaults stay untested; see "
            "sweep/*/failed, measure on an idle machine, or allow a larger --tolerance or --late-ranks (after --)"
        )
    for one in tuning.removed:
        rule = one.rule
        warnings.append(
            f"the rule for {rule.collective} on {rule.ranks} ranks ({rule.sizes}) by {rule.algorithm} was written, "
            f"measured and removed: {one.reason}; report it to the developers of the library"
        )
    for cell in tuning.wrong_defaults:
        warnings.append(
            f"{cell} has wrong results by the library's own choice, which no rule replaces; downbeat-bench "
            f"{cell.collective} -m {cell.size} --validate shows them"
        )
    for some in tuning.left_out:
        more = f" and {len(some.cells) - MOST_CELLS} more" if len(some.cells) > MOST_CELLS else ""
        warnings.append(f"{some.status} cells do not count ({some.where}): {'; '.join(some.cells[:MOST_CELLS])}{more}")
    for cell in tuning.disobeyed():
        warnings.append(
            f"the rules are not obeyed for {cell}: {tuning.proofs[cell].by}; do not use them before you know why"
        )
    for cell in tuning.slower():
        ratio = tuning.gains[cell].ratio
        kind = "has a rule" if tuning.in_rules(cell) != DEFAULT else "has no rule"
        warnings.append(
            f"{cell} {kind} and takes {ratio.estimate:.3f} times as long under the rules ({ratio.low:.3f} to "
            f"{ratio.high:.3f}); tune again on an idle machine, or leave it out"
        )
    for cell in tuning.lost:
        warnings.append(
            f"{cell} was measured without the rules and in no launch under them; do not use them before you know why: "
            f"{GAIN}/*/failed has what the launches said"
        )
    unconfirmed = [rule for rule, comparison in tuning.rule_gains.items() if comparison.verdict != "faster"]
    if unconfirmed:
        warnings.append(
            f"{len(unconfirmed)} of {len(tuning.rules)} rules gained nothing for certain when they were measured anew: "
            f"{'; '.join(f'{rule.collective} on {rule.ranks} ranks ({rule.sizes})' for rule in unconfirmed)}. The "
            "luckiest of many algorithms looks better than it is; tune with more launches or repetitions, or a larger "
            "--margin"
        )
    lacking = [
        decision.cell
        for decision in tuning.decisions
        if tuning.rules and decision.cell not in tuning.gains and decision.cell not in tuning.lost
    ]
    if lacking:
        warnings.append(
            f"what the rules gain is unknown in {len(lacking)} cells, which lack launches that count; see "
            f"{GAIN}/*/failed, or allow a larger --tolerance or --late-ranks (after --)"
        )
    return [*warnings, *tuning.written.notes]


def lacks_launches(decision: Decision) -> bool:
    """Whether a cell has too few launches to judge any algorithm."""
    return bool(decision.candidates) and not any(
        one.comparison and min(one.comparison.launches) >= FEWEST_LAUNCHES for one in decision.candidates
    )
