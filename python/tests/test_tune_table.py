"""What a tuning says of itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
from downbeat.tune.choosing import choose
from downbeat.tune.gain import compare_environments, compare_rules
from downbeat.tune.outcome import Question, Tuning
from downbeat.tune.rules import DEFAULT, Cell, Rule
from downbeat.tune.table import render
from downbeat.tune.warnings import find_warnings
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

QUESTION = Question(TARGET.library, ("bcast",), "8", (4,), EFFORT, MARGIN, CONFIDENCE)


def test_cells_that_could_not_be_measured_are_not_passed_off_as_good_defaults() -> None:
    frame = launches({DEFAULT: 10, "a": 5})
    tuning = Tuning(QUESTION, TARGET, decisions=choose(frame, {}, MARGIN, CONFIDENCE))
    assert find_warnings(tuning) == []
    # The default has valid samples in four launches: not enough for a verdict on anything.
    frame["value"] = frame["value"].mask((frame["algorithm"] == DEFAULT) & (frame["launch"] > 4), np.nan)
    tuning = Tuning(QUESTION, TARGET, decisions=choose(frame, {}, MARGIN, CONFIDENCE))
    (warning,) = find_warnings(tuning)
    assert "nothing could be chosen in 1 of 1 cells" in warning and "--tolerance" in warning
    assert "warning: nothing could be chosen" in render(tuning, [warning])
    # Who asked for fewer launches is told of that alone.
    few = dataclasses.replace(QUESTION, effort=dataclasses.replace(EFFORT, launches=4))
    (warning,) = find_warnings(Tuning(few, TARGET, decisions=tuning.decisions))
    assert "4 launches cannot decide anything" in warning


def test_a_gain_that_does_not_come_again_is_a_warning() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    rule, lucky = Rule("bcast", 4, 8, 15, "a"), Rule("bcast", 4, 16, 16, "a")
    frame = pd.concat([launches({"default": 10, "rules": 8}, size=8), launches({"default": 10, "rules": 10}, size=16)])
    frame = frame.rename(columns={"algorithm": "environment"})
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=[rule, lucky])
    tuning.gains = compare_environments(frame, MARGIN, CONFIDENCE)
    tuning.rule_gains = compare_rules(frame, tuning.rules, MARGIN, CONFIDENCE)
    (warning,) = find_warnings(tuning)
    assert warning.startswith("1 of 2 rules gained nothing for certain")
    assert "bcast on 4 ranks (16)" in warning


def test_rules_under_which_nothing_runs_are_a_warning() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=[Rule("bcast", 4, 8, 8, "a")])
    tuning.lost = [Cell("bcast", 4, 8)]
    (warning,) = find_warnings(tuning)
    assert "bcast of 8 bytes on 4 ranks was measured without the rules and in no launch under them" in warning
