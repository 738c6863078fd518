"""The whole of tuning: probe, sweep, choose, write, measure what was gained, prove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from downbeat.experiment.duration import time_limit
from downbeat.experiment.measurement import Measurement
from downbeat.experiment.progress import Plain
from downbeat.tune.left_out import find_left_out
from downbeat.tune.other_choices import measure_prices, other_choices, price_plans
from downbeat.tune.outcome import Question, Tuning
from downbeat.tune.probing import probe
from downbeat.tune.settling import settle_rules
from downbeat.tune.sweep import alternative, sweep, sweep_plan
from downbeat.tune.target import find_target
from downbeat.tune.writing import PROBE, check_directory

SWEEP = "sweep"  # directories below that of the tuning
PRICE = "price"


def tune(question: Question, directory: Path, say: Callable[[str], None]) -> Tuning:
    """Tunes an MPI library.

    Args:
        question: what is to be tuned.
        directory: for rules, their proof, and all that was measured.
        say: receives the progress, in lines.

    Raises:
        UsageError: a collective cannot be tuned, or the directory is another's.
        DownbeatError: the library does not run.
    """
    check_directory(directory)
    target = find_target(question.library, directory / PROBE)
    target.check(question.collectives)
    tuning = Tuning(question, target)
    frame = sweep_all(tuning, directory, say)
    tuning.left_out += find_left_out(SWEEP, frame, "algorithm")
    wrong = settle_rules(tuning, frame, directory, say)
    tuning.others = other_choices(alternative(frame), tuning.decisions, wrong, question.margin, question.confidence)
    if tuning.others:
        say(f"{len(tuning.others)} cells in which measuring {question.otherwise} leads to another choice")
        plans = price_plans(target, tuning.others, question.effort)
        rule = (question.margin, question.confidence)
        tuning.prices = measure_prices(plans, tuning.others, directory / PRICE, question.effort, *rule, Plain(say))
    return tuning


def sweep_all(tuning: Tuning, directory: Path, say: Callable[[str], None]) -> pd.DataFrame:
    """Measures every algorithm that runs of every collective; returns the rows of all."""
    question, effort = tuning.question, tuning.question.effort
    frames = []
    for collective in question.collectives:
        for ranks in question.ranks:
            options = effort.options((collective,), question.sizes)
            limit = effort.timeout or time_limit(Measurement((collective,), options), ranks)
            usable = probe(tuning.target, collective, ranks, options, directory / PROBE, limit)
            tuning.usable.append(usable)
            plan = sweep_plan(tuning.target, usable, question.sizes, effort, effort.synchronizers(collective))
            say(f"{collective} on {ranks} ranks: {len(usable.algorithms)} algorithms beside the default")
            frames.append(sweep(plan, directory / SWEEP / plan.name, effort.metric, Plain(say)))
    return pd.concat(frames, ignore_index=True)
