"""The wordings of facts on tunings."""

from __future__ import annotations

import textwrap

from downbeat.output.facts.tuning import (
    AloneInCells,
    CellWarning,
    ChoicePrice,
    DecidedCells,
    LackOfLaunches,
    LaunchesForHalf,
    NotMeasured,
    RuleRemoved,
    RulesOutcome,
    TuningNote,
    UnconfirmedRules,
    UncountedCells,
    UnprovenRules,
)
from downbeat.output.words.wording import long
from downbeat.text import bytes_text, counted

MAX_REASON = 150  # characters of a reason in a line; JSON has the whole reason
MAX_CELLS = 3  # cells that a line names; JSON has all cells


def reason_text(reason: str) -> str:
    """A reason, cut after `MAX_REASON` characters."""
    return textwrap.shorten(reason, MAX_REASON, placeholder=" ...")


@long.register
def _(fact: RulesOutcome) -> str:
    if not fact.rules:
        return f"No rules for {counted(fact.cells, 'cell')}: the library's own choice stays."
    clauses = []
    for proof in fact.proofs:
        link = " by " if proof.verdict == "proven" else ": "
        clauses.append(f"{proof.cells} {proof.verdict}{link}{reason_text(proof.by)}")
    proofs = "; ".join(clauses)
    rules = f"{counted(fact.rules, 'rule')} for {fact.ruled} of {fact.cells} cells"
    return f"{rules} ({proofs or 'not checked'}); the library's own choice stays in the others."


@long.register
def _(fact: ChoicePrice) -> str:
    chosen = f"Chosen {fact.otherwise}, {counted(fact.cells, 'cell')} would have another algorithm."
    if fact.ratio is None:
        return f"{chosen} Too few launches compare both choices {fact.like}."
    ratio = "{:.3f} ({:.3f} to {:.3f}) times as long".format(*fact.ratio)
    certain = f"in {counted(fact.longer, 'cell')} certainly longer"
    return f"{chosen} Measured anew {fact.like}, those take {ratio} on average, {certain}."


@long.register
def _(fact: NotMeasured) -> str:
    algorithm = f"{fact.collective} on {fact.ranks} ranks by {fact.algorithm}"
    return f"{algorithm} was not measured: {reason_text(fact.reason)}"


@long.register
def _(fact: TuningNote) -> str:
    return fact.remark


@long.register
def _(fact: DecidedCells) -> str:
    share = f"The fastest algorithm is beyond doubt in {fact.decided} of {counted(fact.cells, 'cell')}"
    if fact.enough:
        return f"{share}; {fact.enough} have the {fact.needed} launches that a verdict needs."
    return f"{share}: a verdict needs {fact.needed} launches, and none has more than {fact.most}."


@long.register
def _(fact: LaunchesForHalf) -> str:
    open_cells = f"the other {counted(fact.cells, 'cell')}"
    if not fact.known:
        return f"One launch each: how much launches differ is unknown, and so is how many would decide {open_cells}."
    known = f"if launches differ as in the {counted(fact.known, 'cell')} with two or more"
    if fact.launches is None:
        reason = "too few are known"
        if fact.same:
            reason = "algorithms differ by less than the margin in more than half of them"
        return f"No number of launches would decide half of {open_cells}, {known}: {reason}."
    return f"{fact.launches} launches would decide half of {open_cells}, {known}."


@long.register
def _(fact: AloneInCells) -> str:
    return f"{counted(fact.cells, 'cell')} {'has' if fact.cells == 1 else 'have'} one algorithm alone."


@long.register
def _(fact: UnprovenRules) -> str:
    return (
        f"{counted(fact.rules, 'rule')} for {fact.library} from results of {fact.measured}: not proven on this "
        "machine. Nothing shows that the library obeys them, or what they gain here."
    )


@long.register
def _(fact: LackOfLaunches) -> str:
    if fact.launches < fact.needed:
        return (
            f"{fact.launches} launches cannot decide anything, so all defaults stay; use at least {fact.needed}, "
            "usually 10"
        )
    effect = "their defaults stay, untested" if fact.where == "sweep" else "the gain of the rules is unknown there"
    return (
        f"{fact.lacking} of {fact.cells} cells lack launches that count, so {effect}; see {fact.where}/*/failed, "
        "measure on an idle machine, or allow a larger --tolerance or --late-ranks (after --)"
    )


@long.register
def _(fact: UncountedCells) -> str:
    more = f" and {len(fact.cells) - MAX_CELLS} more" if len(fact.cells) > MAX_CELLS else ""
    return f"{fact.status} cells do not count ({fact.where}): {'; '.join(fact.cells[:MAX_CELLS])}{more}"


@long.register
def _(fact: RuleRemoved) -> str:
    return (
        f"the rule for {fact.collective} on {fact.ranks} ranks ({fact.sizes}) by {fact.algorithm} was written, "
        f"measured and removed: {fact.reason}; report it to the developers of the library"
    )


@long.register
def _(fact: UnconfirmedRules) -> str:
    withdrawn = f", and {fact.withdrawn} of them are withdrawn" if fact.withdrawn else ""
    return (
        f"{len(fact.unconfirmed)} of {fact.rules} rules gained nothing for certain when they were measured "
        f"anew{withdrawn}: {'; '.join(fact.unconfirmed)}. The luckiest of many algorithms looks better than it is; "
        "tune with more launches or repetitions, or a larger --margin"
    )


@long.register
def _(fact: CellWarning) -> str:
    cell = f"{fact.collective} of {bytes_text(fact.size)} bytes on {fact.ranks} ranks"
    match fact.problem:
        case "wrong default":
            check = f"downbeat-bench {fact.collective} -m {fact.size} --validate"
            return f"{cell} has wrong results by the library's own choice, which no rule replaces; {check} shows them"
        case "not obeyed":
            return f"the rules are not obeyed for {cell}: {fact.by}; do not use them before you know why"
        case "lost":
            return (
                f"{cell} was measured without the rules and in no launch under them; do not use them before you know "
                "why: gain/*/failed has the errors of the launches"
            )
    ratio = "{:.3f} times as long under the rules ({:.3f} to {:.3f})".format(*fact.ratio or ())
    return (
        f"{cell} has {'a' if fact.ruled else 'no'} rule and takes {ratio}; tune again on an idle machine, or leave it "
        "out"
    )
