"""The output of a tuning: what it prints, and rules.json for programs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from downbeat.errors import UsageError
from downbeat.output.blocks import Command, Numbers, Table
from downbeat.output.terminal import WIDTH
from downbeat.statistics.location import Interval
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.verdicts import Comparison
from downbeat.tune.choosing import Candidate, Decision, LeftOut, OtherChoice, Prices, choose
from downbeat.tune.proving import Proof, compare_cells, compare_rules
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.sweep import LaunchMedians, Usable
from downbeat.tune.table import find_warnings, render_tuning, rules_sheet, runner_up, write_rules_record
from downbeat.tune.tuning import Question, Removed, Tuning
from downbeat.views.report import make_report
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

QUESTION = Question(TARGET.library, ("bcast",), "8", (4,), EFFORT, MARGIN, CONFIDENCE)


def test_cells_that_could_not_be_measured_are_not_passed_off_as_good_defaults() -> None:
    medians = launches({DEFAULT: 10, "a": 5})
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    assert find_warnings(tuning) == []
    # The default has valid samples in four launches: not enough for a verdict on anything.
    medians.value[(medians.algorithm == DEFAULT) & (medians.launch > 4)] = np.nan
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    (warning,) = find_warnings(tuning)
    assert "nothing could be chosen in 1 of 1 cells" in warning and "--tolerance" in warning
    assert "warning: nothing could be chosen" in render_tuning(tuning, [warning])
    # With too few launches only that is said.
    few = dataclasses.replace(QUESTION, effort=dataclasses.replace(EFFORT, launches=4))
    (warning,) = find_warnings(Tuning(few, TARGET, decisions=tuning.decisions))
    assert "4 launches cannot decide anything" in warning


def test_a_gain_that_does_not_come_again_is_a_warning() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    rule, lucky = Rule("bcast", 4, 8, 15, "a"), Rule("bcast", 4, 16, 16, "a")
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "rules": time}, size) for size, time in ((8, 8), (16, 10))])
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=[rule, lucky])
    tuning.gains = compare_cells(medians, MARGIN, CONFIDENCE)
    tuning.rule_gains = compare_rules(medians, tuning.rules, MARGIN, CONFIDENCE)
    (warning,) = find_warnings(tuning)
    assert warning.startswith("1 of 2 rules gained nothing for certain")
    assert "bcast on 4 ranks (16)" in warning


def test_rules_under_which_nothing_runs_are_a_warning() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=[Rule("bcast", 4, 8, 8, "a")])
    tuning.lost = [Cell("bcast", 4, 8)]
    (warning,) = find_warnings(tuning)
    assert "bcast of 8 bytes on 4 ranks was measured without the rules and in no launch under them" in warning


def times_as_long(ratio: float) -> Comparison:
    """Returns the comparison of launches without deviations."""
    return compare_paired(np.full(5, 10.0), np.full(5, 10.0 * ratio))


CELLS = [Cell("bcast", 4, size) for size in (8, 16, 32, 64)]
RULES = [Rule("bcast", 4, 8, 31, "a"), Rule("bcast", 4, 32, 32, "b")]


def test_a_tuning_with_objections_has_a_warning_for_each() -> None:
    tuning = Tuning(QUESTION, TARGET, rules=RULES, losses=["something cannot be said in rules"])
    tuning.removed = [Removed(Rule("bcast", 4, 64, 64, "c"), "wrong results")]
    tuning.wrong_defaults = [CELLS[3]]
    tuning.left_out = [
        LeftOut("sweep", "incomplete", ("one", "two", "three")),
        LeftOut("gain", "failed", ("one", "two", "three", "four", "five")),
    ]
    tuning.proofs = {
        CELLS[0]: Proof("failed", "messages are not those of a"),
        CELLS[1]: Proof("proven", "messages"),
        CELLS[2]: Proof("cannot tell", "nothing"),
    }
    tuning.gains = {CELLS[0]: times_as_long(0.5), CELLS[2]: times_as_long(1.2), CELLS[3]: times_as_long(1.5)}
    tuning.lost = [CELLS[1]]
    tuning.written = Written({}, {}, ("a note of the format",))
    subjects = [
        "something cannot be said in rules",
        "bcast on 4 ranks (64) by c was written, measured and removed: wrong results",
        "bcast of 64 bytes on 4 ranks has wrong results by the library's own choice",
        "incomplete cells do not count (sweep): one; two; three",
        "failed cells do not count (gain): one; two; three and 2 more",
        "not obeyed for bcast of 8 bytes on 4 ranks",
        "bcast of 32 bytes on 4 ranks has a rule and takes 1.200 times as long",
        "bcast of 64 bytes on 4 ranks has no rule and takes 1.500 times as long",
        "bcast of 16 bytes on 4 ranks was measured without the rules and in no launch under them",
        "a note of the format",
    ]
    assert all(subject in said for subject, said in zip(subjects, find_warnings(tuning), strict=True))


def test_anything_against_the_rules_is_an_objection() -> None:
    assert not Tuning(QUESTION, TARGET, rules=RULES).objections()
    for one in (
        Tuning(QUESTION, TARGET, proofs={CELLS[0]: Proof("failed", "messages")}),
        Tuning(QUESTION, TARGET, lost=[CELLS[1]]),
        Tuning(QUESTION, TARGET, gains={CELLS[0]: times_as_long(1.2)}),
        Tuning(QUESTION, TARGET, removed=[Removed(RULES[0], "wrong results")]),
        Tuning(QUESTION, TARGET, wrong_defaults=[CELLS[3]]),
    ):
        assert one.objections()
    fine = {CELLS[0]: Proof("cannot tell", "nothing")}
    assert not Tuning(QUESTION, TARGET, proofs=fine, gains={CELLS[0]: times_as_long(0.8)}).objections()


def test_a_gain_that_was_not_measured_is_a_warning_where_there_are_rules() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=RULES)
    (warning,) = find_warnings(tuning)
    assert warning.startswith("what the rules gain is unknown in 1 cells, which lack launches that count")
    assert find_warnings(dataclasses.replace(tuning, rules=[])) == []
    assert find_warnings(dataclasses.replace(tuning, gains={CELLS[0]: times_as_long(0.5)})) == []


def test_the_whole_output() -> None:
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "a": 5}, size=cell.size) for cell in CELLS])
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE), rules=RULES)
    tuning.proofs = {
        CELLS[0]: Proof("proven", "messages"),
        CELLS[1]: Proof("cannot tell", "messages of a are those of the default, " + "and so on, " * 20),
        CELLS[2]: Proof("proven", "messages"),
        CELLS[3]: Proof("failed", "messages are not those of the default"),
    }
    tuning.rule_gains = {RULES[0]: times_as_long(0.5)}
    tuning.others = [OtherChoice(CELLS[0], "a", "b"), OtherChoice(CELLS[1], "a", "c")]
    tuning.prices = Prices({CELLS[0]: times_as_long(1.25), CELLS[1]: times_as_long(0.8)}, Interval(1.1, 1.0, 1.2, 5))
    tuning.usable = [Usable("bcast", 4, ["a", "b", "c"], {"d": "it crashed"}), Usable("bcast", 4, ["a"], {})]
    sheet = rules_sheet(tuning)
    assert list(sheet.frame[["bytes", "algorithm", "verdict"]].iloc[0]) == ["8-31", "a", "faster"]
    assert abs(sheet.frame["gain"].iloc[0] - 2) < 1e-6
    assert sheet.frame["verdict"].tolist() == ["faster", "not measured"]
    assert unseen_text(tuning.rule_gains[RULES[0]].launches[0]) in sheet.fields["interval"].meaning
    text = render_tuning(tuning, ["take care"])
    assert max(map(len, text.splitlines())) <= WIDTH
    for said in (
        "bcast by a, 8-31 bytes: proven: messages (1 of 2); cannot tell: ",
        "2 rules for 3 of 4 cells (2 proven, 1 cannot tell)",
        "in 1 cells it is longer",
        "bcast on 4 ranks by d: it crashed",
        "warning: take care",
    ):
        assert said in " ".join(text.split())
    bare = dataclasses.replace(tuning, rules=[], others=[])
    assert "no rules: the library's own choice stays in all 4 cells" in render_tuning(bare, [])


# --- rules.json

WHOLE = dataclasses.replace(QUESTION, sizes="8,16")
CHOSEN, KEPT = Cell("bcast", 4, 8), Cell("bcast", 4, 16)
FASTER = compare_paired(np.full(5, 10.0), np.full(5, 5.0))
LONE = compare_paired([1.0], [2.0])  # of a single launch: no interval, no test


def written(tuning: Tuning, directory: Path) -> dict[str, object]:
    """Returns what the file says, when that was written left out."""
    write_rules_record(tuning, directory, ["take care"])
    text = (directory / "rules.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    found: dict[str, object] = json.loads(text)
    del found["written"], found["host"]
    return found


def test_nothing_of_a_tuning_is_missing(tmp_path: Path) -> None:
    rule = Rule("bcast", 4, 8, 15, "a")
    tuning = Tuning(WHOLE, TARGET, rules=[rule], losses=["something"], wrong_defaults=[KEPT])
    tuning.decisions = [
        Decision(CHOSEN, "a", (Candidate("a", FASTER, ""), Candidate("b", None, "it was not measured"))),
        Decision(KEPT, DEFAULT, ()),
    ]
    tuning.removed = [Removed(Rule("bcast", 4, 16, 16, "b"), "wrong results")]
    tuning.rule_gains, tuning.gains = {rule: FASTER}, {CHOSEN: LONE}
    tuning.proofs = {CHOSEN: Proof("proven", "messages")}
    tuning.written = Written({"b.conf": "", "a.conf": ""}, {}, ("a note",))
    tuning.usable = [Usable("bcast", 4, ["a", "b"], {"c": "it crashed"})]
    tuning.others = [OtherChoice(CHOSEN, "a", "b"), OtherChoice(KEPT, DEFAULT, "b")]
    tuning.prices = Prices({CHOSEN: FASTER}, Interval(1.1, 1.0, math.inf, 5))
    tuning.left_out = [LeftOut("sweep", "failed", ("one",))]
    half = {
        "ratio": {"estimate": FASTER.ratio.estimate, "low": FASTER.ratio.low, "high": FASTER.ratio.high, "launches": 5},
        "p_value": 0.0,
        "adjusted_p_value": 0.0,
        "rank_p_value": 0.0625,
        "verdict": "faster",
        "reason": "a significant difference",
    }
    unknown = {
        "ratio": {"estimate": 2.0, "low": None, "high": None, "launches": 1},
        "p_value": None,
        "adjusted_p_value": None,
        "rank_p_value": 1.0,
        "verdict": "undecided",
        "reason": "pairs of launches: 1, 5 are needed",
    }
    of = {"collective": "bcast", "ranks": 4}
    assert written(tuning, tmp_path) == {
        "schema_version": 4,
        "library": {**dataclasses.asdict(TARGET.library), "fixed_at_start": [], "version": "Open MPI v4.1.4"},
        "form": "Open MPI rules file, version 1",
        "collectives": ["bcast"],
        "sizes": "8,16",
        "ranks": [4],
        **dataclasses.asdict(EFFORT),
        "margin": MARGIN,
        "confidence": CONFIDENCE,
        "rules": [
            {
                **of,
                "first": 8,
                "last": 15,
                "algorithm": "a",
                "gain": half,
                "runner_up": {"algorithm": DEFAULT, "ratio": 1.0},
            }
        ],
        "withdrawn": [],
        "removed": [{"rule": {**of, "first": 16, "last": 16, "algorithm": "b"}, "reason": "wrong results"}],
        "wrong_defaults": [{**of, "size": 16}],
        "files": ["a.conf", "b.conf"],
        "notes": ["a note"],
        "not_expressible": ["something"],
        "excluded": [{**of, "algorithm": "c", "reason": "it crashed"}],
        "cells": [
            {
                **of,
                "size": 8,
                "chosen": "a",
                "in_rules": "a",
                "candidates": [
                    {"algorithm": "a", "rejected": "", "against_default": half},
                    {"algorithm": "b", "rejected": "it was not measured", "against_default": None},
                ],
                "proof": {"verdict": "proven", "by": "messages"},
                "gain": unknown,
            },
            {**of, "size": 16, "chosen": DEFAULT, "in_rules": DEFAULT, "candidates": [], "proof": None, "gain": None},
        ],
        "other_measurement": "after MPI_Barrier",
        "other_choices": [
            {**of, "size": 8, "chosen": "a", "other": "b", "price": half},
            {**of, "size": 16, "chosen": DEFAULT, "other": "b", "price": None},
        ],
        "mean_price": {"estimate": 1.1, "low": 1.0, "high": None, "launches": 5},
        "left_out": [{"where": "sweep", "status": "failed", "cells": ["one"]}],
        "warnings": ["take care"],
        "outcome": "1 rule for 1 of 2 cells (1 proven); the library's own choice stays in the others",
        "switch_on": [],
    }


def test_a_tuning_of_nothing_has_empty_lists(tmp_path: Path) -> None:
    found = written(Tuning(WHOLE, TARGET), tmp_path)
    lists = ("rules", "removed", "wrong_defaults", "files", "notes", "not_expressible", "excluded", "cells", "left_out")
    assert [found[name] for name in lists] == [[]] * len(lists)
    assert found["mean_price"] is None


def test_the_runner_up_is_the_fastest_other_one_in_all_cells_of_a_rule() -> None:
    medians = LaunchMedians.joined(
        [launches({DEFAULT: 10, "a": 5, "b": 8, "c": time}, size) for size, time in ((8, 5), (16, 16))]
    )
    decisions = choose(medians, {}, MARGIN, CONFIDENCE)
    tuning = Tuning(QUESTION, TARGET, decisions=decisions)
    name, ratio = runner_up(tuning, Rule("bcast", 4, 8, 16, "a"))
    assert name == "b" and ratio == pytest.approx(0.8, rel=0.05)
    assert runner_up(tuning, Rule("bcast", 4, 8, 8, "a"))[0] == "c"


def test_the_page_of_a_tuning(tmp_path: Path) -> None:
    medians = LaunchMedians.joined(
        [launches({DEFAULT: 10, "a": 5, "b": 20}), launches({DEFAULT: 10, "a": 30}, size=16)]
    )
    rule = Rule("bcast", 4, 8, 8, "a")
    tuning = Tuning(WHOLE, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE), rules=[rule])
    tuning.rule_gains, tuning.proofs = {rule: FASTER}, {CHOSEN: Proof("proven", "messages")}
    tuning.written = TARGET.form.write([rule])
    (tmp_path / "probe").mkdir()
    write_rules_record(tuning, tmp_path, ["take care"])
    page = make_report([tmp_path])
    ((number,),) = (block.numbers for block in page.blocks if isinstance(block, Numbers))
    assert (number.value, "bcast, 8 bytes, a" in number.about) == ("2.00", True)
    (commands,) = (block.lines for block in page.blocks if isinstance(block, Command))
    assert len(commands) == 3 and str(tmp_path / "rules.env") in commands[0]
    (table,) = (block for block in page.blocks if isinstance(block, Table))
    assert table.frame[["bytes", "algorithm", "runner-up", "proof"]].to_numpy().tolist() == [
        ["8", "a", "default 1.00", "1 proven"]
    ]
    (heat,) = page.pictures[0].panels[0].marks
    assert heat.framed == [("a", "8"), (DEFAULT, "16")]
    assert heat.values.loc["a"].tolist() == pytest.approx([2, 1 / 3], rel=0.05)
    assert np.isnan(heat.values.loc["b", "16"])  # was not measured there
    assert "take care." in [line for section in page.sections for line in section.warnings]


def test_a_tuning_that_did_not_end_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "probe").mkdir()
    with pytest.raises(UsageError, match=r"rules\.json"):
        make_report([tmp_path])
