"""Rules that settle although some have wrong results, and their files: what a shell makes of rules.env."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.errors import UsageError
from downbeat.tune import tuning as settling
from downbeat.tune.open_mpi import RULES_FILE
from downbeat.tune.proving import Proof
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.table import find_warnings, record_of_rules
from downbeat.tune.tuning import ENVIRONMENT_FILE, Question, Tuning, check_directory, settle_rules, write_files
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

QUESTION = Question(TARGET.library, ("bcast",), "8,64", (4,), EFFORT, MARGIN, CONFIDENCE)
SMALL, LARGE = Cell("bcast", 4, 8), Cell("bcast", 4, 64)
# The sweep, with right results: at 64 bytes the default stays.
SWEPT = pd.concat([launches({DEFAULT: 10, "a": 5, "b": 8}, 8), launches({DEFAULT: 10, "a": 11, "b": 12}, 64)])

# Whether results are wrong, by the text of the rules (empty without) and the size.
Wrong = Callable[[str, int], bool]


Settle = Callable[..., Tuning]


@pytest.fixture
def settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settle:
    """Settles the rules of a library whose cells are twice as fast under any rules, and some wrong."""

    def settle(wrong: Wrong, swept: pd.DataFrame = SWEPT) -> Tuning:
        def measure(*_: object) -> pd.DataFrame:
            rules = (tmp_path / RULES_FILE).read_text()
            frame = pd.concat([launches({"default": 10, "rules": 5}, size) for size in (8, 64)])
            frame = frame.rename(columns={"algorithm": "environment", "value": f"{EFFORT.metric}_median"})
            text = frame["environment"].map({"default": "", "rules": rules})
            bad = np.array([wrong(some, size) for some, size in zip(text, frame["size"], strict=True)])
            frame.loc[bad, "status"] = "wrong"
            return frame

        def prove(_: object, choices: Mapping[Cell, str], *__: object) -> dict[Cell, Proof]:
            return {cell: Proof("proven", "messages") for cell in choices}

        monkeypatch.setattr(settling, "cells_of_plan", measure)
        monkeypatch.setattr(settling, "prove", prove)
        tuning = Tuning(QUESTION, TARGET)
        settle_rules(tuning, swept, tmp_path, lambda _: None)
        return tuning

    return settle


def test_rules_with_right_results_stay(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda *_: False)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert not tuning.objections()
    assert find_warnings(tuning) == []


def test_an_algorithm_with_wrong_results_under_the_rules_is_replaced_by_the_next(
    settle: Settle, tmp_path: Path
) -> None:
    """The sweep, in which it is forced, has seen nothing; under the rules it is "faster", and wrong."""
    tuning = settle(lambda rules, size: "# a" in rules and size == 8)
    assert [one.rule for one in tuning.removed] == [Rule("bcast", 4, 8, 8, "a")]
    assert tuning.rules == [Rule("bcast", 4, 8, 8, "b")]
    text = (tmp_path / RULES_FILE).read_text()
    assert "# b" in text and "# a" not in text
    # Proofs and gains are those of the remaining rules.
    assert {cell: tuning.in_rules(cell) for cell in tuning.proofs} == {SMALL: "b", LARGE: DEFAULT}
    assert [(rule.algorithm, gain.verdict) for rule, gain in tuning.rule_gains.items()] == [("b", "faster")]
    assert tuning.objections()
    (warning,) = find_warnings(tuning)
    assert "bcast on 4 ranks (8) by a was written, measured and removed: wrong results at 8 bytes" in warning
    said = json.loads(json.dumps(record_of_rules(tuning, [warning])))
    assert [one["rule"]["algorithm"] for one in said["removed"]] == ["a"]
    assert [one["rejected"] for one in said["cells"][0]["candidates"]] == ["wrong results at 8 bytes", ""]


def test_where_every_algorithm_is_wrong_nothing_is_left_to_switch_on(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda rules, size: bool(rules) and size == 8)
    assert [one.rule.algorithm for one in tuning.removed] == ["a", "b"]
    assert tuning.rules == [] and tuning.objections()
    assert not tuning.gains and not tuning.rule_gains and not tuning.proofs
    assert not (tmp_path / RULES_FILE).exists()
    assert "nothing to set" in (tmp_path / ENVIRONMENT_FILE).read_text()


def test_wrong_results_in_a_cell_without_rule_speak_against_all_rules(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda rules, size: bool(rules) and size == 64)
    assert [(one.rule.algorithm, one.reason) for one in tuning.removed] == [
        ("a", "wrong results in cells without a rule")
    ]
    assert tuning.rules == [] and tuning.objections()
    assert not (tmp_path / RULES_FILE).exists()


def test_wrong_results_of_the_default_are_no_fault_of_the_rules(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda _, size: size == 64)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert tuning.removed == []
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()
    assert any("by the library's own choice" in warning for warning in find_warnings(tuning))


def test_wrong_results_of_the_default_in_the_sweep_are_told(settle: Settle, tmp_path: Path) -> None:
    swept = SWEPT.copy()
    swept.loc[(swept["algorithm"] == DEFAULT) & (swept["size"] == 64) & (swept["launch"] == 3), "status"] = "wrong"
    tuning = settle(lambda *_: False, swept)
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()


# --- Files

RULES = TARGET.form.write([Rule("bcast", 2, 8, 63, "a")])
NOTHING = Written({}, {}, ())


def test_the_command_in_rules_env_switches_the_rules_on_in_any_shell_from_anywhere(tmp_path: Path) -> None:
    """A POSIX shell looks a file without a slash up on the path, not in the directory that it is in."""
    directory = tmp_path / "tüned, it's here"
    variables = write_files(TARGET, RULES, directory, ["Chosen on node 1."])
    lines = (directory / "rules.env").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "# Chosen on node 1."
    (command,) = [line.partition(": ")[2] for line in lines if line.startswith("# To switch them on: ")]
    for place in (directory, tmp_path):
        said = subprocess.run(["sh", "-c", f"{command}; env"], cwd=place, capture_output=True, text=True, check=True)
        assert {f"{name}={value}" for name, value in variables.items()} <= set(said.stdout.splitlines())
    file = Path(variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"])
    assert file == directory / "rules.conf" and file.is_file()


def test_files_of_earlier_rules_and_their_proof_do_not_outlive_them(tmp_path: Path) -> None:
    write_files(TARGET, RULES, tmp_path)
    (tmp_path / "rules.json").write_text("{}")
    write_files(TARGET, NOTHING, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.env"]
    assert "nothing to set" in (tmp_path / "rules.env").read_text()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    check_directory(tmp_path / "new")
    check_directory(tmp_path)
    (tmp_path / "rules.conf").write_text("written by hand")
    with pytest.raises(UsageError, match="is not the directory of a tuning; give another one"):
        check_directory(tmp_path)
    (tmp_path / "probe").mkdir()
    check_directory(tmp_path)
