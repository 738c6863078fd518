"""Settles the rules: chooses, writes, measures and proves, until none is left under which results are wrong."""

from __future__ import annotations

import datetime
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from downbeat.experiment.plan import DEFAULT_ENVIRONMENT
from downbeat.experiment.progress import Plain
from downbeat.text import counted
from downbeat.tune.choosing import choose, wrong_results
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.gain import (
    RULES,
    compare_environments,
    compare_rules,
    gain_plan,
    lost_cells,
    measure_gain,
    name_of,
    wrong_cells,
    wrong_under,
)
from downbeat.tune.left_out import find_left_out
from downbeat.tune.outcome import Question, Removed, Tuning
from downbeat.tune.proving import prove
from downbeat.tune.rules import DEFAULT, rules_of, sizeless_rules
from downbeat.tune.sweep import decisive
from downbeat.tune.writing import RECORD_FILE, write_files

PROOF = "proof"  # directories below that of the tuning
GAIN = "gain"


def settle_rules(
    tuning: Tuning, frame: pd.DataFrame, directory: Path, say: Callable[[str], None]
) -> dict[tuple[str, int, str], list[int]]:
    """Chooses, writes, measures the gain and proves; again without what computes wrong results under the rules.

    Returns:
        The algorithms with wrong results, in the form for `choose`.
    """
    question = tuning.question
    wrong = wrong_results(frame)
    some = decisive(frame)
    while True:
        tuning.decisions = choose(some, wrong, question.margin, question.confidence)
        make_rules(tuning)
        variables = write_rules(tuning, directory)
        gains = measure_rules(tuning, variables, directory, say)
        by_default = wrong_cells(gains, DEFAULT_ENVIRONMENT)
        under_rules = wrong_cells(gains, RULES)
        at_fault = wrong_under(tuning.rules, under_rules)
        if not at_fault:
            break
        for rule in tuning.rules:
            sizes = at_fault.get((rule.collective, rule.ranks, rule.algorithm))
            if sizes:
                tuning.removed.append(Removed(rule, f"wrong results at {', '.join(map(str, sizes))} bytes"))
        say(f"wrong results under the rules: choosing again without {', '.join(name for *_, name in at_fault)}")
        wrong |= at_fault
    if set(under_rules) - set(by_default):
        # Cells without a rule: there is no telling which of the rules does it.
        tuning.removed += [Removed(rule, "wrong results in cells without a rule") for rule in tuning.rules]
        tuning.rules = []
        write_rules(tuning, directory)
    elif tuning.rules:
        judge_rules(tuning, gains, variables, directory, say)
    cells = [decision.cell for decision in tuning.decisions]
    swept = [cell for cell in cells if cell.size in wrong.get((cell.collective, cell.ranks, DEFAULT), ())]
    tuning.wrong_defaults = sorted({*swept, *by_default})
    return wrong


def make_rules(tuning: Tuning) -> None:
    """Turns decisions into rules, as far as the library's form can say them."""
    tuning.rules, tuning.losses = [], []
    for collective in tuning.question.collectives:
        choices = {one.cell: one.algorithm for one in tuning.decisions if one.cell.collective == collective}
        if tuning.target.form.has_sizes(collective):
            tuning.rules += rules_of(choices)
        else:
            rules, losses = sizeless_rules(choices)
            tuning.rules += rules
            tuning.losses += losses
    tuning.rules, losses = tuning.target.form.sayable(tuning.rules, tuning.question.ranks)
    tuning.losses += losses


def write_rules(tuning: Tuning, directory: Path) -> dict[str, str]:
    """Writes the rules in place of earlier ones; returns the environment that switches them on."""
    tuning.written = tuning.target.form.write(tuning.rules) if tuning.rules else Written({}, {}, ())
    return write_files(tuning.target, tuning.written, directory, about(tuning.question))


def measure_rules(
    tuning: Tuning, variables: Mapping[str, str], directory: Path, say: Callable[[str], None]
) -> pd.DataFrame:
    """Measures all cells with and without the rules, as `measure_gain` does; nothing if there are none."""
    question = tuning.question
    if not tuning.rules:
        return pd.DataFrame(columns=["collective", "ranks", "size", "environment", "status"])
    plan = gain_plan(tuning.target, question.collectives, question.ranks, question.sizes, variables, question.effort)
    say(f"measuring {counted(len(tuning.rules), 'rule')} against the library's own choice")
    return measure_gain(plan, directory / GAIN / name_of(tuning.written), question.effort.metric, Plain(say))


def judge_rules(
    tuning: Tuning, gains: pd.DataFrame, variables: Mapping[str, str], directory: Path, say: Callable[[str], None]
) -> None:
    """Shows what the rules gain, and whether they are obeyed."""
    question = tuning.question
    gains = decisive(gains)
    choices = {decision.cell: tuning.in_rules(decision.cell) for decision in tuning.decisions}
    tuning.left_out += find_left_out(GAIN, gains, "environment")
    tuning.lost = lost_cells(gains)
    tuning.gains = compare_environments(gains, question.margin, question.confidence)
    tuning.rule_gains = compare_rules(gains, tuning.rules, question.margin, question.confidence)
    say(f"proving {counted(len(tuning.rules), 'rule')} in {len(choices)} cells")
    tuning.proofs = prove(tuning.target, choices, tuning.usable, variables, directory / PROOF)


def about(question: Question) -> list[str]:
    """Returns where rules come from, for whoever finds the file in a year."""
    today = datetime.datetime.now(datetime.UTC).date()
    ranks = ", ".join(map(str, question.ranks))
    return [
        f"Chosen on {socket.gethostname()}, {today}: {' '.join(question.collectives)}; sizes {question.sizes}; "
        f"ranks {ranks}; {question.effort.launches} launches, margin {question.margin:g}.",
        *([f"For ranks that arrive so: {question.arrivals}."] if question.arrivals else []),
        f"Whether they are obeyed and what they gain: {RECORD_FILE} beside this file, once that is proven.",
    ]
