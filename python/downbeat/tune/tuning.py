"""The whole of tuning: probe, sweep, choose, write, prove, measure what was gained."""

from __future__ import annotations

import datetime
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from downbeat.experiment.plan import Library
from downbeat.experiment.progress import Plain
from downbeat.statistics.verdicts import Comparison
from downbeat.tune.barrier_choice import OtherChoice, other_choices
from downbeat.tune.choosing import Decision, choose
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.gain import compare_environments, compare_rules, gain_plan, lost_cells, measure_gain, name_of
from downbeat.tune.probing import Usable, probe
from downbeat.tune.proving import Proof, failures, prove
from downbeat.tune.rules import Cell, Rule, algorithm_for, rules_of, sizeless_rules
from downbeat.tune.sweep import HARMONIZE, Effort, sweep, sweep_plan
from downbeat.tune.target import Target, find_target
from downbeat.tune.writing import PROBE, RECORD_FILE, check_directory, write_files

SWEEP = "sweep"  # directories below that of the tuning
PROOF = "proof"
GAIN = "gain"


@dataclass(frozen=True)
class Question:
    """What is to be tuned, and how."""

    library: Library
    collectives: tuple[str, ...]
    sizes: str  # as downbeat-bench takes them
    ranks: tuple[int, ...]
    effort: Effort
    margin: float
    confidence: float


@dataclass
class Tuning:
    """What came of it."""

    question: Question
    target: Target
    usable: list[Usable] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # what was chosen, but cannot be said in rules
    written: Written = field(default_factory=lambda: Written({}, {}, ()))
    proofs: Mapping[Cell, Proof] = field(default_factory=dict)
    gains: Mapping[Cell, Comparison] = field(default_factory=dict)
    rule_gains: Mapping[Rule, Comparison] = field(default_factory=dict)
    lost: Sequence[Cell] = ()  # cells that could not be measured under the rules, but without them
    others: list[OtherChoice] = field(default_factory=list)

    def in_rules(self, cell: Cell) -> str:
        """Returns the algorithm that the rules name for a cell."""
        return algorithm_for(self.rules, cell)

    def disobeyed(self) -> Sequence[Cell]:
        """Returns the cells in which something else ran than the rules say."""
        return failures(self.proofs)

    def slower(self) -> list[Cell]:
        """Returns the cells that are slower under the rules than without."""
        return [cell for cell, comparison in self.gains.items() if comparison.verdict == "slower"]


def tune(question: Question, directory: Path, tell: Callable[[str], None]) -> Tuning:
    """Tunes an MPI library.

    Args:
        question: what is to be tuned.
        directory: for rules, their proof, and all that was measured.
        tell: is told what happens, in lines.

    Raises:
        UsageError: a collective cannot be tuned, or the directory is another's.
        DownbeatError: the library does not run.
    """
    check_directory(directory)
    target = find_target(question.library, directory / PROBE)
    target.check(question.collectives)
    tuning = Tuning(question, target)
    frame = sweep_all(tuning, directory, tell)
    harmonized = frame[frame["synchronizer"] == HARMONIZE]
    tuning.decisions = choose(harmonized, question.margin, question.confidence)
    tuning.others = other_choices(frame, tuning.decisions, question.margin, question.confidence)
    make_rules(tuning)
    if tuning.rules:
        tuning.written = target.form.write(tuning.rules)
    variables = write_files(target, tuning.written, directory, about(question))
    if tuning.rules:
        prove_rules(tuning, variables, directory, tell)
    return tuning


def about(question: Question) -> list[str]:
    """Returns where rules come from, for whoever finds the file in a year."""
    today = datetime.datetime.now(datetime.UTC).date()
    ranks = ", ".join(map(str, question.ranks))
    return [
        f"Chosen on {socket.gethostname()}, {today}: {' '.join(question.collectives)}; sizes {question.sizes}; "
        f"ranks {ranks}; {question.effort.launches} launches, margin {question.margin:g}.",
        f"Whether they are obeyed and what they gain: {RECORD_FILE} beside this file, once that is proven.",
    ]


def sweep_all(tuning: Tuning, directory: Path, tell: Callable[[str], None]) -> pd.DataFrame:
    """Measures every algorithm that runs of every collective; returns the rows of all."""
    question = tuning.question
    frames = []
    for collective in question.collectives:
        for ranks in question.ranks:
            options = question.effort.options((collective,), question.sizes)
            usable = probe(tuning.target, collective, ranks, options, directory / PROBE, question.effort.timeout)
            tuning.usable.append(usable)
            plan = sweep_plan(tuning.target, usable, question.sizes, question.effort)
            tell(f"{collective} on {ranks} ranks: {len(usable.algorithms)} algorithms beside the default")
            frames.append(sweep(plan, directory / SWEEP / plan.name, question.effort.metric, Plain(tell)))
    return pd.concat(frames, ignore_index=True)


def make_rules(tuning: Tuning) -> None:
    """Turns decisions into rules, as far as the library's form can say them."""
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


def prove_rules(tuning: Tuning, variables: Mapping[str, str], directory: Path, tell: Callable[[str], None]) -> None:
    """Shows whether the rules are obeyed, and what they gain."""
    question, effort = tuning.question, tuning.question.effort
    choices = {decision.cell: tuning.in_rules(decision.cell) for decision in tuning.decisions}
    tell(f"proving {len(tuning.rules)} rule{'' if len(tuning.rules) == 1 else 's'} in {len(choices)} cells")
    tuning.proofs = prove(tuning.target, choices, variables, directory / PROOF)
    plan = gain_plan(tuning.target, question.collectives, question.ranks, question.sizes, variables, effort)
    frame = measure_gain(plan, directory / GAIN / name_of(tuning.written), effort.metric, Plain(tell))
    tuning.lost = lost_cells(frame)
    tuning.gains = compare_environments(frame, question.margin, question.confidence)
    tuning.rule_gains = compare_rules(frame, tuning.rules, question.margin, question.confidence)
