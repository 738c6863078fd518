"""The output of `downbeat tune`: warnings, a table 80 columns wide, a record for programs."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import socket
import textwrap
from collections import Counter
from pathlib import Path

import pandas as pd

from downbeat.files import write_text
from downbeat.output.fields import Field
from downbeat.output.terminal import wrapped
from downbeat.show import Sheet
from downbeat.statistics.location import Interval
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, Comparison
from downbeat.text import counted
from downbeat.tune.choosing import Candidate, Decision
from downbeat.tune.rules_format import DEFAULT, Rule
from downbeat.tune.tuning import GAIN, RECORD_FILE, Tuning, switching

MOST_LISTED_CELLS = 3  # that a line names; rules.json has all


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
        more = f" and {len(some.cells) - MOST_LISTED_CELLS} more" if len(some.cells) > MOST_LISTED_CELLS else ""
        warnings.append(
            f"{some.status} cells do not count ({some.where}): {'; '.join(some.cells[:MOST_LISTED_CELLS])}{more}"
        )
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
            f"{len(unconfirmed)} of {len(tuning.rule_gains)} rules gained nothing for certain when they were measured "
            f"anew{f', and {len(tuning.withdrawn)} of them are withdrawn' if tuning.withdrawn else ''}: "
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
    return [*warnings, *tuning.kinds, *tuning.written.notes]


def lacks_launches(decision: Decision) -> bool:
    """Whether a cell has too few launches to judge any algorithm."""
    return bool(decision.candidates) and not any(
        one.comparison and min(one.comparison.launches) >= FEWEST_LAUNCHES for one in decision.candidates
    )


SCHEMA_VERSION = 4


def write_rules_record(tuning: Tuning, directory: Path, warnings: list[str]) -> None:
    """Writes `rules.json` into a directory."""
    record = record_of_rules(tuning, warnings) | {"switch_on": switch_lines(tuning, directory)}
    text = json.dumps(record, indent=2, allow_nan=False)
    write_text(directory / RECORD_FILE, text + "\n")


def record_of_rules(tuning: Tuning, warnings: list[str]) -> dict[str, object]:
    """Returns a tuning as JSON has it. Ratios are times over those of the default: below 1 is faster."""
    question = tuning.question
    return {
        "schema_version": SCHEMA_VERSION,
        "written": datetime.datetime.now(datetime.UTC).isoformat(),
        "host": socket.gethostname(),
        "outcome": outcome(tuning),
        "library": {**dataclasses.asdict(question.library), "version": tuning.target.version},
        "form": tuning.target.form.name,
        "collectives": list(question.collectives),
        "sizes": question.sizes,
        "ranks": list(question.ranks),
        **dataclasses.asdict(question.effort),
        "margin": question.margin,
        "confidence": question.confidence,
        "rules": [
            {
                **dataclasses.asdict(rule),
                "gain": comparison_of(tuning.rule_gains.get(rule)),
                "runner_up": dict(zip(("algorithm", "ratio"), runner_up(tuning, rule), strict=True)),
            }
            for rule in tuning.rules
        ],
        "withdrawn": [
            {**dataclasses.asdict(rule), "gain": comparison_of(tuning.rule_gains.get(rule))}
            for rule in tuning.withdrawn
        ],
        "removed": [dataclasses.asdict(one) for one in tuning.removed],
        "wrong_defaults": [dataclasses.asdict(cell) for cell in tuning.wrong_defaults],
        "files": sorted(tuning.written.files),
        "notes": list(tuning.written.notes),
        "not_expressible": tuning.losses,
        "excluded": [
            {"collective": usable.collective, "ranks": usable.ranks, "algorithm": algorithm, "reason": reason}
            for usable in tuning.usable
            for algorithm, reason in usable.excluded.items()
        ],
        "cells": [cell_of(tuning, decision) for decision in tuning.decisions],
        "other_measurement": question.otherwise,
        "other_choices": [
            {
                **dataclasses.asdict(other.cell),
                "chosen": other.chosen,
                "other": other.other,
                "price": comparison_of(tuning.prices.by_cell.get(other.cell)),
            }
            for other in tuning.others
        ],
        "mean_price": interval_of(tuning.prices.mean),
        "left_out": [dataclasses.asdict(one) for one in tuning.left_out],
        "warnings": warnings,
    }


def cell_of(tuning: Tuning, decision: Decision) -> dict[str, object]:
    """Returns a cell as JSON has it."""
    proof = tuning.proofs.get(decision.cell)
    return {
        **dataclasses.asdict(decision.cell),
        "chosen": decision.algorithm,
        "in_rules": tuning.in_rules(decision.cell),
        "candidates": [candidate_of(one) for one in decision.candidates],
        "proof": dataclasses.asdict(proof) if proof else None,
        "gain": comparison_of(tuning.gains.get(decision.cell)),
    }


def candidate_of(candidate: Candidate) -> dict[str, object]:
    """Returns an algorithm in a cell as JSON has it."""
    comparison = comparison_of(candidate.comparison)
    return {"algorithm": candidate.algorithm, "rejected": candidate.rejected, "against_default": comparison}


def comparison_of(comparison: Comparison | None) -> dict[str, object] | None:
    """Returns a comparison, with the default unless said otherwise."""
    if comparison is None:
        return None
    names = ("p_value", "adjusted_p_value", "rank_p_value", "verdict", "reason")
    return {"ratio": interval_of(comparison.ratio), **{name: known(getattr(comparison, name)) for name in names}}


def interval_of(interval: Interval | None) -> dict[str, object] | None:
    """Returns an interval, with the number of its launches."""
    if interval is None:
        return None
    ends = {name: known(getattr(interval, name)) for name in ("estimate", "low", "high")}
    return {**ends, "launches": interval.count}


def known(value: object) -> object:
    """Returns a value; None in place of a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


LONGEST_REASON = 150


def render_tuning(tuning: Tuning, warnings: list[str]) -> str:
    """Returns the tables, the summary and the warnings."""
    lines = [tuning.target.version, f"rules: {tuning.target.form.name}"]
    if tuning.question.arrivals:
        lines += wrapped(f"arrival pattern: {tuning.question.arrivals}; compared: {tuning.question.effort.metric}")
    lines.append("")
    if tuning.rules:
        lines += [*rules_sheet(tuning).text(), ""]
    lines += wrapped(outcome(tuning))
    if tuning.others:
        lines += ["", *others_sheet(tuning).text()]
    excluded = [
        line
        for usable in tuning.usable
        for algorithm, reason in usable.excluded.items()
        for line in wrapped(f"{usable.collective} on {usable.ranks} ranks by {algorithm}: {short_reason(reason)}")
    ]
    if excluded:
        lines += ["", "not measured:", *excluded]
    lines += ["", *(line for warning in warnings for line in wrapped(f"warning: {warning}"))]
    return "\n".join(lines).rstrip()


CELL_FIELDS = {
    "collective": Field("collective"),
    "ranks": Field("ranks", "number"),
    "bytes": Field("bytes", "number", "byte"),
}


def runner_up(tuning: Tuning, rule: Rule) -> tuple[str, float]:
    """Returns the fastest other algorithm in the sweep, and its time over the default's, geometric mean over the cells.

    Only algorithms that were measured in all cells of the rule count.
    """
    logs: dict[str, list[float]] = {DEFAULT: []}
    cells = [one for one in tuning.decisions if rule.holds(one.cell)]
    for one in cells:
        logs[DEFAULT].append(0.0)
        for other in one.candidates:
            if other.comparison and other.algorithm != rule.algorithm:
                logs.setdefault(other.algorithm, []).append(math.log(other.comparison.ratio.estimate))
    means = {name: sum(each) / max(len(each), 1) for name, each in logs.items() if len(each) == len(cells)}
    name = min(means, key=lambda algorithm: means[algorithm])
    return name, math.exp(means[name])


def switch_lines(tuning: Tuning, directory: Path) -> list[str]:
    """Returns what switches the rules on: a line for a shell, arguments of the launcher; nothing without rules."""
    return [*filter(None, switching(tuning.target, tuning.written.environment(directory.resolve()), directory))]


def rules_sheet(tuning: Tuning) -> Sheet:
    """Returns a row per rule: what it says and gains; below, the runner-up, and how it is known to be obeyed."""
    rows = []
    for rule in tuning.rules:
        gain = tuning.rule_gains.get(rule)
        ratio = gain.ratio if gain else Interval(math.nan, math.nan, math.nan, 0)
        rows.append(
            {
                **{"collective": rule.collective, "ranks": rule.ranks, "bytes": rule.sizes},
                "algorithm": rule.algorithm,
                "gain": 1 / ratio.estimate,
                "interval": (1 / ratio.high, 1 / ratio.low),
                "verdict": (gain.verdict if gain.verdict != "undecided" else "not decided") if gain else "not measured",
            }
        )
    fields = CELL_FIELDS | {
        "algorithm": Field("in place of the default"),
        "gain": Field("times as fast", "ratio"),
        "interval": Field("interval", "interval", meaning=interval_meaning(tuning)),
        "verdict": Field("verdict"),
    }
    notes = []
    for rule in tuning.rules:
        second, other = runner_up(tuning, rule)
        notes.append(
            f"{rule.collective} by {rule.algorithm}, {rule.sizes} bytes: {proven(tuning, rule)}; the runner-up of the "
            f"sweep is {second}, {1 / other:.3f} times as fast as the default"
        )
    return Sheet(pd.DataFrame(rows), fields, len(CELL_FIELDS) + 1, notes=notes)


def interval_meaning(tuning: Tuning) -> str:
    """Returns what the interval of a gain is, and what its launches leave unseen."""
    launches = [min(one.launches) for one in tuning.rule_gains.values()]
    return f"{tuning.question.confidence:.0%}, over launches; {unseen_text(min(launches))}" if launches else ""


def proven(tuning: Tuning, rule: Rule) -> str:
    """Returns how the cells of a rule were proven."""
    proofs = [proof for cell, proof in tuning.proofs.items() if rule.holds(cell)]
    counts = Counter((proof.verdict, proof.by) for proof in proofs)
    return "; ".join(
        f"{verdict}: {short_reason(by)} ({count} of {len(proofs)})" for (verdict, by), count in counts.items()
    )


def outcome(tuning: Tuning) -> str:
    """Returns the line that says how it went."""
    cells = len(tuning.decisions)
    changed = sum(tuning.in_rules(decision.cell) != DEFAULT for decision in tuning.decisions)
    if not tuning.rules:
        return f"no rules: the library's own choice stays in all {cells} cells"
    verdicts = Counter(proof.verdict for cell, proof in tuning.proofs.items() if tuning.in_rules(cell) != DEFAULT)
    proofs = ", ".join(f"{verdicts[name]} {name}" for name in ("proven", "cannot tell", "failed") if verdicts[name])
    rules = counted(len(tuning.rules), "rule")
    return f"{rules} for {changed} of {cells} cells ({proofs}); the library's own choice stays in the others"


def others_sheet(tuning: Tuning) -> Sheet:
    """Returns where the other measurement would have chosen otherwise at a price."""
    others, prices = tuning.others, tuning.prices
    anew = "under the pattern" if tuning.question.arrivals else "from a common start"
    rows = [
        {
            **{"collective": other.cell.collective, "ranks": other.cell.ranks, "bytes": other.cell.size},
            **{"other": other.other, "chosen": other.chosen, "price": prices.by_cell[other.cell].ratio.estimate},
            "interval": (prices.by_cell[other.cell].ratio.low, prices.by_cell[other.cell].ratio.high),
        }
        for other in others
        if other.cell in prices.higher()
    ]
    fields = CELL_FIELDS | {
        "other": Field("choice"),
        "chosen": Field("in place of"),
        "price": Field("times as long", "ratio"),
        "interval": Field("interval", "interval"),
    }
    mean = prices.mean
    average = "unknown" if mean is None else f"{mean.estimate:.3f} ({mean.low:.3f} to {mean.high:.3f})"
    said = (
        f"{tuning.question.otherwise} another algorithm would have been chosen in {len(others)} cells. Measured anew, "
        f"{anew}, its time over that of the choice made is {average} on average; in {len(rows)} cells it is longer "
        "beyond doubt"
    )
    return Sheet(pd.DataFrame(rows, columns=list(fields)), fields, len(CELL_FIELDS) + 2, title=said)


def short_reason(reason: str) -> str:
    """Returns as much of a reason as a table can hold; rules.json has all of it."""
    return textwrap.shorten(reason, LONGEST_REASON, placeholder=" ...")
