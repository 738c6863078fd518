"""What `downbeat tune` prints, at 80 columns."""

from __future__ import annotations

import textwrap
from collections import Counter

from downbeat.statistics.location import Interval
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tune.barrier_choice import OtherChoice
from downbeat.tune.choosing import Decision
from downbeat.tune.rules import DEFAULT, Rule
from downbeat.tune.tuning import GAIN, Tuning

WIDTH = 80
LONGEST_REASON = 150


def render(tuning: Tuning, warnings: list[str]) -> str:
    """Returns the tables, the summary and the warnings."""
    lines = [tuning.target.version, f"rules: {tuning.target.form.name}", ""]
    if tuning.rules:
        lines += [*rules_table(tuning), ""]
    lines += wrap(summary(tuning))
    if tuning.others:
        lines += ["", *others_table(tuning.others)]
    excluded = [
        line for usable in tuning.usable for line in excluded_lines(usable.collective, usable.ranks, usable.excluded)
    ]
    if excluded:
        lines += ["", "not measured:", *excluded]
    lines += ["", *(line for warning in warnings for line in wrap(f"warning: {warning}"))]
    return "\n".join(lines).rstrip()


def rules_table(tuning: Tuning) -> list[str]:
    """Returns three lines per rule: what it says, what it gains, how it is known to be obeyed."""
    lines = [f"{'collective':<20} {'ranks':>5} {'bytes':>17}  in place of the default"]
    for rule in tuning.rules:
        lines.append(f"{rule.collective:<20} {rule.ranks:>5} {sizes(rule):>17}  {rule.algorithm}")
        comparison = tuning.rule_gains.get(rule)
        gain = "not measured" if comparison is None else f"{gained(comparison.ratio)}, {comparison.verdict}"
        lines += wrap(f"gain: {gain}", "    ", " " * 10)
        lines += wrap(f"proof: {proven(tuning, rule)}", "    ", " " * 11)
    return lines


def sizes(rule: Rule) -> str:
    """Returns the sizes of a rule."""
    if rule.last is None:
        return "all"
    return f"{rule.first}-{rule.last}" if rule.first != rule.last else str(rule.first)


def gained(ratio: Interval) -> str:
    """Returns by what a time was divided, with its interval, out of the ratio of times."""
    return f"{1 / ratio.estimate:.3f} times as fast ({1 / ratio.high:.3f} to {1 / ratio.low:.3f})"


def proven(tuning: Tuning, rule: Rule) -> str:
    """Returns how the cells of a rule were proven."""
    proofs = [proof for cell, proof in tuning.proofs.items() if rule.holds(cell)]
    counts = Counter((proof.verdict, proof.by) for proof in proofs)
    return "; ".join(
        f"{verdict}: {shortened(by)} ({count} of {len(proofs)})" for (verdict, by), count in counts.items()
    )


def summary(tuning: Tuning) -> str:
    """Returns the line that says how it went."""
    cells = len(tuning.decisions)
    changed = sum(tuning.in_rules(decision.cell) != DEFAULT for decision in tuning.decisions)
    if not tuning.rules:
        return f"no rules: in all {cells} cells the library's own choice stays"
    verdicts = Counter(proof.verdict for cell, proof in tuning.proofs.items() if tuning.in_rules(cell) != DEFAULT)
    proofs = ", ".join(f"{verdicts[name]} {name}" for name in ("proven", "cannot tell", "failed") if verdicts[name])
    rules = f"{len(tuning.rules)} rule{'s' if len(tuning.rules) > 1 else ''}"
    return f"{rules} for {changed} of {cells} cells ({proofs}); in the others the library's own choice stays"


def others_table(others: list[OtherChoice]) -> list[str]:
    """Returns where measuring behind MPI_Barrier would have chosen otherwise."""
    lines = [
        "behind MPI_Barrier another algorithm would have been chosen; its time from a",
        "common start, over that of the choice made:",
    ]
    for other in others:
        cell = other.cell
        cost = (
            "unknown"
            if other.cost is None
            else f"{other.cost.estimate:.3f} ({other.cost.low:.3f} to {other.cost.high:.3f})"
        )
        lines.append(f"  {cell.collective:<18} {cell.ranks:>5} ranks {cell.size:>9} bytes  {cost}")
        lines.append(f"      {other.behind_barrier} in place of {other.harmonized}")
    return lines


def excluded_lines(collective: str, ranks: int, excluded: dict[str, str]) -> list[str]:
    """Returns a paragraph for each algorithm that was left out."""
    return [
        line
        for algorithm, reason in excluded.items()
        for line in wrap(f"{collective} on {ranks} ranks by {algorithm}: {shortened(reason)}", "  ", "      ")
    ]


def shortened(reason: str) -> str:
    """Returns as much of a reason as a table can hold; rules.json has all of it."""
    return textwrap.shorten(reason, LONGEST_REASON, placeholder=" ...")


def find_warnings(tuning: Tuning) -> list[str]:
    """Returns what a user must know: what was seen, why it matters, what to do."""
    warnings = list(tuning.losses)
    launches = tuning.question.effort.launches
    if launches < FEWEST_LAUNCHES:
        warnings.append(
            f"{launches} launches can decide nothing, so that every default stays; {FEWEST_LAUNCHES} are the least, "
            "10 are usual"
        )
    undecidable = [decision.cell for decision in tuning.decisions if lacks_launches(decision)]
    if undecidable and launches >= FEWEST_LAUNCHES:
        warnings.append(
            f"nothing could be chosen in {len(undecidable)} of {len(tuning.decisions)} cells, where no algorithm has "
            f"{FEWEST_LAUNCHES} launches with valid samples beside the default: their defaults stay untested; see "
            "sweep/*/failed, measure on an idle machine, or allow a larger --tolerance"
        )
    for cell in tuning.disobeyed():
        warnings.append(
            f"the rules are not obeyed for {cell.collective} of {cell.size} bytes on {cell.ranks} ranks: "
            f"{tuning.proofs[cell].by}; do not use them before you know why"
        )
    for cell in tuning.slower():
        ratio = tuning.gains[cell].ratio
        kind = "has a rule" if tuning.in_rules(cell) != DEFAULT else "has no rule"
        warnings.append(
            f"{cell.collective} of {cell.size} bytes on {cell.ranks} ranks {kind} and takes {ratio.estimate:.3f} times "
            f"as long under the rules ({ratio.low:.3f} to {ratio.high:.3f}); tune again on an idle machine, or leave "
            "it out"
        )
    for cell in tuning.lost:
        warnings.append(
            f"{cell.collective} of {cell.size} bytes on {cell.ranks} ranks was measured without the rules and in no "
            f"launch under them; do not use them before you know why: {GAIN}/*/failed has what the launches said"
        )
    unconfirmed = [rule for rule, comparison in tuning.rule_gains.items() if comparison.verdict != "faster"]
    if unconfirmed:
        warnings.append(
            f"{len(unconfirmed)} of {len(tuning.rules)} rules gained nothing for certain when they were measured anew: "
            f"{'; '.join(f'{rule.collective} on {rule.ranks} ranks ({sizes(rule)})' for rule in unconfirmed)}. The "
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
            f"what the rules gain is unknown in {len(lacking)} cells, which lack launches with valid samples; see "
            f"{GAIN}/*/failed, or allow a larger --tolerance"
        )
    return [*warnings, *tuning.written.notes]


def lacks_launches(decision: Decision) -> bool:
    """Whether nothing can be said of any algorithm in a cell, for want of launches."""
    return bool(decision.candidates) and not any(
        one.comparison and min(one.comparison.launches) >= FEWEST_LAUNCHES for one in decision.candidates
    )


def wrap(text: str, first: str = "", rest: str = "  ") -> list[str]:
    """Returns a paragraph in lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False)
