"""Rules with wrong results: made-up launches of a library that breaks under some rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.tune import tuning as settling
from downbeat.tune.formats.open_mpi import RULES_FILE
from downbeat.tune.formats.rules_format import DEFAULT, Cell, Rule
from downbeat.tune.proving import Proof
from downbeat.tune.table import find_warnings, record
from downbeat.tune.tuning import ENVIRONMENT_FILE, Question, Tuning, settle_rules
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

QUESTION = Question(TARGET.library, ("bcast",), "8,64", (4,), EFFORT, MARGIN, CONFIDENCE)
SMALL, LARGE = Cell("bcast", 4, 8), Cell("bcast", 4, 64)
# The sweep, with right results: at 64 bytes the default stays.
SWEPT = pd.concat([launches({DEFAULT: 10, "a": 5, "b": 8}, 8), launches({DEFAULT: 10, "a": 11, "b": 12}, 64)])

# Whether results are wrong, by the text of the rules (empty without) and the size.
Wrong = Callable[[str, int], bool]


def settled(directory: Path, monkeypatch: pytest.MonkeyPatch, wrong: Wrong, swept: pd.DataFrame = SWEPT) -> Tuning:
    """Settles the rules of a library whose cells are twice as fast under any rules, and some wrong."""

    def measure(*_: object) -> pd.DataFrame:
        rules = (directory / RULES_FILE).read_text()
        frame = pd.concat([launches({"default": 10, "rules": 5}, size) for size in (8, 64)])
        frame = frame.rename(columns={"algorithm": "environment"})
        text = frame["environment"].map({"default": "", "rules": rules})
        bad = np.array([wrong(some, size) for some, size in zip(text, frame["size"], strict=True)])
        frame.loc[bad, "status"] = "wrong"
        return frame.rename(columns={"value": f"{EFFORT.metric}_median"})

    def prove(_: object, choices: Mapping[Cell, str], *__: object) -> dict[Cell, Proof]:
        return {cell: Proof("proven", "messages") for cell in choices}

    monkeypatch.setattr(settling, "cells_of_plan", measure)
    monkeypatch.setattr(settling, "prove", prove)
    tuning = Tuning(QUESTION, TARGET)
    settle_rules(tuning, swept, directory, lambda _: None)
    return tuning


def test_rules_with_right_results_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = settled(tmp_path, monkeypatch, lambda *_: False)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert not tuning.objections()
    assert find_warnings(tuning) == []


def test_an_algorithm_with_wrong_results_under_the_rules_makes_room_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep, in which it is forced, has seen nothing; under the rules it is "faster", and wrong."""
    tuning = settled(tmp_path, monkeypatch, lambda rules, size: "# a" in rules and size == 8)
    assert [one.rule for one in tuning.removed] == [Rule("bcast", 4, 8, 63, "a")]
    assert tuning.rules == [Rule("bcast", 4, 8, 63, "b")]
    text = (tmp_path / RULES_FILE).read_text()
    assert "# b" in text and "# a" not in text
    # Proofs and gains are those of the remaining rules.
    assert {cell: tuning.in_rules(cell) for cell in tuning.proofs} == {SMALL: "b", LARGE: DEFAULT}
    assert [(rule.algorithm, gain.verdict) for rule, gain in tuning.rule_gains.items()] == [("b", "faster")]
    assert tuning.objections()
    (warning,) = find_warnings(tuning)
    assert "bcast on 4 ranks (8-63) by a was written, measured and removed: wrong results at 8 bytes" in warning
    said = json.loads(json.dumps(record(tuning, [warning])))
    assert [one["rule"]["algorithm"] for one in said["removed"]] == ["a"]
    assert [one["rejected"] for one in said["cells"][0]["candidates"]] == ["wrong results at 8 bytes", ""]


def test_where_every_algorithm_is_wrong_nothing_is_left_to_switch_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = settled(tmp_path, monkeypatch, lambda rules, size: bool(rules) and size == 8)
    assert [one.rule.algorithm for one in tuning.removed] == ["a", "b"]
    assert tuning.rules == [] and tuning.objections()
    assert not tuning.gains and not tuning.rule_gains and not tuning.proofs
    assert not (tmp_path / RULES_FILE).exists()
    assert "nothing to set" in (tmp_path / ENVIRONMENT_FILE).read_text()


def test_wrong_results_in_a_cell_without_rule_speak_against_all_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = settled(tmp_path, monkeypatch, lambda rules, size: bool(rules) and size == 64)
    assert [(one.rule.algorithm, one.reason) for one in tuning.removed] == [
        ("a", "wrong results in cells without a rule")
    ]
    assert tuning.rules == [] and tuning.objections()
    assert not (tmp_path / RULES_FILE).exists()


def test_wrong_results_of_the_default_are_no_fault_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = settled(tmp_path, monkeypatch, lambda _, size: size == 64)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert tuning.removed == []
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()
    assert any("by the library's own choice" in warning for warning in find_warnings(tuning))


def test_wrong_results_of_the_default_in_the_sweep_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = SWEPT.copy()
    swept.loc[(swept["algorithm"] == DEFAULT) & (swept["size"] == 64) & (swept["launch"] == 3), "status"] = "wrong"
    tuning = settled(tmp_path, monkeypatch, lambda *_: False, swept)
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()
