"""The facts, the record and the view of a tuning."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from downbeat.errors import UsageError
from downbeat.output.blocks import Command, Depth, Numbers, Table, View
from downbeat.output.facts.tuning import (
    CellProofs,
    CellWarning,
    ChoicePrice,
    LackOfLaunches,
    NotMeasured,
    RulesOutcome,
    TuningNote,
    UnconfirmedRules,
    UncountedCells,
)
from downbeat.output.records import view_record, write_record
from downbeat.output.terminal import WIDTH, view_lines
from downbeat.statistics.location import Interval
from downbeat.statistics.two_samples import compare_paired
from downbeat.tables import Table as TypedTable
from downbeat.tune.choosing import OtherChoice, Prices, TimedComparison, choose
from downbeat.tune.findings import facts_of, warnings_of
from downbeat.tune.proving import Proof, compare_cells, compare_rules
from downbeat.tune.record import TuningRecord, open_record, record_of
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.sweep import LaunchMedians, Usable
from downbeat.tune.tuning import Question, Tuning
from downbeat.views.report import make_report
from downbeat.views.tuning import tuning_view
from snapshots import check_snapshot
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

QUESTION = Question(TARGET.library, ("bcast",), "8,16,32,64", (4,), EFFORT, MARGIN, CONFIDENCE)
CELLS = [Cell("bcast", 4, size) for size in (8, 16, 32, 64)]
RULES = [Rule("bcast", 4, 8, 31, "a"), Rule("bcast", 4, 32, 32, "b")]


def times_as_long(ratio: float, count: int = 5) -> TimedComparison:
    """The comparison of launches without deviations."""
    compared = compare_paired(np.full(count, 1e-5), np.full(count, 1e-5 * ratio))
    return TimedComparison(**vars(compared), a=1e-5, b=1e-5 * ratio)


def test_cells_that_could_not_be_measured_are_not_passed_off_as_good_defaults() -> None:
    medians = launches({DEFAULT: 10, "a": 5})
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    assert list(warnings_of(tuning)) == []
    # The default has valid samples in four launches: not enough for a verdict on anything.
    medians.value[(medians.algorithm == DEFAULT) & (medians.launch > 4)] = np.nan
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    assert list(warnings_of(tuning)) == [LackOfLaunches("sweep", 1, 1, 10, 5)]
    # With too few launches that is the reason.
    few = dataclasses.replace(QUESTION, effort=dataclasses.replace(EFFORT, launches=4))
    assert list(warnings_of(Tuning(few, TARGET))) == [LackOfLaunches("sweep", 0, 0, 4, 5)]


def test_a_gain_that_does_not_come_again_is_a_warning() -> None:
    rules = [Rule("bcast", 4, 8, 15, "a"), Rule("bcast", 4, 16, 16, "a")]
    medians = LaunchMedians.joined([launches({DEFAULT: 10, "rules": time}, size) for size, time in ((8, 8), (16, 10))])
    tuning = Tuning(QUESTION, TARGET, rules=rules)
    tuning.gains = compare_cells(medians, MARGIN, CONFIDENCE)
    tuning.rule_gains = compare_rules(medians, rules, MARGIN, CONFIDENCE)
    assert list(warnings_of(tuning)) == [UnconfirmedRules(2, ("bcast on 4 ranks (16)",), 0)]


def test_a_tuning_with_objections_has_a_warning_for_each() -> None:
    tuning = Tuning(QUESTION, TARGET, rules=RULES, losses=["something cannot be said in rules"])
    tuning.remove(Rule("bcast", 4, 64, 64, "c"), "wrong results")
    tuning.wrong_defaults = [CELLS[3]]
    tuning.left_out = [UncountedCells("gain", "failed", ("one", "two", "three", "four", "five"))]
    tuning.proofs = {
        CELLS[0]: Proof("failed", "messages are not those of a"),
        CELLS[1]: Proof("proven", "messages"),
        CELLS[2]: Proof("cannot tell", "nothing"),
    }
    tuning.gains = {CELLS[0]: times_as_long(0.5), CELLS[2]: times_as_long(1.2), CELLS[3]: times_as_long(1.5)}
    tuning.lost = [CELLS[1]]
    tuning.written = Written({}, {}, ("a note of the format",))

    def slower(ratio: float) -> Any:  # noqa: ANN401, equal to a tuple
        return pytest.approx((ratio, ratio, ratio))

    assert list(warnings_of(tuning)) == [
        TuningNote("something cannot be said in rules"),
        *tuning.removed,
        CellWarning("bcast", 4, 64, "wrong default", ruled=False),
        *tuning.left_out,
        CellWarning("bcast", 4, 8, "not obeyed", ruled=True, by="messages are not those of a"),
        CellWarning("bcast", 4, 32, "slower", ruled=True, ratio=slower(1.2)),
        CellWarning("bcast", 4, 64, "slower", ruled=False, ratio=slower(1.5)),
        CellWarning("bcast", 4, 16, "lost", ruled=True),
        TuningNote("a note of the format"),
    ]


def test_anything_against_the_rules_is_an_objection() -> None:
    assert not Tuning(QUESTION, TARGET, rules=RULES).objections()
    removed = Tuning(QUESTION, TARGET)
    removed.remove(RULES[0], "wrong results")
    for objected in (
        Tuning(QUESTION, TARGET, proofs={CELLS[0]: Proof("failed", "messages")}),
        Tuning(QUESTION, TARGET, lost=[CELLS[1]]),
        Tuning(QUESTION, TARGET, gains={CELLS[0]: times_as_long(1.2)}),
        removed,
        Tuning(QUESTION, TARGET, wrong_defaults=[CELLS[3]]),
    ):
        assert objected.objections()
    fine = {CELLS[0]: Proof("cannot tell", "nothing")}
    assert not Tuning(QUESTION, TARGET, proofs=fine, gains={CELLS[0]: times_as_long(0.8)}).objections()


def test_a_gain_that_was_not_measured_is_a_warning_where_there_are_rules() -> None:
    decisions = choose(launches({DEFAULT: 10, "a": 5}), {}, MARGIN, CONFIDENCE)
    tuning = Tuning(QUESTION, TARGET, decisions=decisions, rules=RULES)
    assert list(warnings_of(tuning)) == [LackOfLaunches("gain", 1, 1, 10, 5)]
    assert list(warnings_of(dataclasses.replace(tuning, rules=[]))) == []
    assert list(warnings_of(dataclasses.replace(tuning, gains={CELLS[0]: times_as_long(0.5)}))) == []


def tuned() -> Tuning:
    """Two rules for three of four cells, an algorithm that was not measured, and two other choices."""
    medians = LaunchMedians.joined([launches({DEFAULT: 1e-5, "a": 5e-6, "b": 8e-6}, cell.size) for cell in CELLS])
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE), rules=RULES)
    tuning.proofs = {
        CELLS[0]: Proof("proven", "messages"),
        CELLS[1]: Proof("cannot tell", "messages of a are those of the default, " + "and so on, " * 20),
        CELLS[2]: Proof("proven", "messages"),
        CELLS[3]: Proof("failed", "messages are not those of the default"),
    }
    tuning.rule_gains = {RULES[0]: times_as_long(0.5)}
    tuning.gains = {cell: times_as_long(0.5) for cell in CELLS[:2]}
    tuning.other_choices = [OtherChoice(CELLS[0], "a", "b"), OtherChoice(CELLS[1], "a", "c")]
    tuning.prices = Prices({CELLS[0]: times_as_long(1.25), CELLS[1]: times_as_long(0.8)}, Interval(1.1, 1.0, 1.2, 5))
    tuning.usable = [Usable("bcast", 4, ["a", "b", "c"], {"d": "it crashed"}), Usable("bcast", 4, ["a"], {})]
    tuning.written = TARGET.form.write(RULES)
    return tuning


def written(tuning: Tuning, directory: Path) -> TuningRecord:
    """The record of a tuning, whose file is in a directory."""
    record = record_of(tuning, directory)
    (directory / "probe").mkdir(exist_ok=True)
    write_record(view_record(tuning_view(record, Depth.TEXT)), directory / "rules.json")
    return record


def test_the_facts_of_a_tuning_have_its_numbers() -> None:
    proofs = (
        CellProofs("proven", "messages", 2),
        CellProofs("cannot tell", tuned().proofs[CELLS[1]].by, 1),
    )
    outcome, *warnings, price, excluded = facts_of(tuned())
    assert outcome == RulesOutcome(2, 4, 3, proofs)
    assert price == ChoicePrice("after MPI_Barrier", "from a common start", 2, 1, (1.1, 1.0, 1.2))
    assert excluded == NotMeasured("bcast", 4, "d", "it crashed")
    assert [type(each) for each in warnings] == [CellWarning, LackOfLaunches]


def test_the_record_has_all_comparisons(tmp_path: Path) -> None:
    record = record_of(tuned(), tmp_path)
    rules, cells = record.rules, record.cells
    assert list(zip(rules.size, rules.last, rules.sizes, rules.algorithm, rules.verdict, strict=True)) == [
        (8, 31, "8-31", "a", "faster"),
        (32, 32, "32", "b", ""),
    ]
    assert (rules.a[0], rules.b[0], rules.ratio[0], rules.launches[0]) == pytest.approx((1e-5, 5e-6, 0.5, 5))
    assert np.isnan(rules.ratio[1])
    assert list(zip(cells.size, cells.chosen, cells.in_rules, cells.proof, strict=True)) == [
        (8, "a", "a", "proven"),
        (16, "a", "a", "cannot tell"),
        (32, "a", "b", "proven"),
        (64, "a", DEFAULT, "failed"),
    ]
    first = record.candidates[:2]
    assert list(first.algorithm) == ["a", "b"]
    assert list(first.ratio) == pytest.approx([0.5, 0.8], rel=0.02)
    # The launches drift by a common factor, which ratios do not have.
    assert list(first.b / first.a) == pytest.approx([0.5, 0.8], rel=0.05)
    assert list(record.other_choices.verdict) == ["slower", "faster"]


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    wrote = written(tuned(), tmp_path)
    read = open_record(tmp_path)
    assert (read.origin, read.facts) == (wrote.origin, wrote.facts)
    for name, table in vars(wrote).items():
        if isinstance(table, TypedTable):
            assert vars(read)[name].frame().equals(table.frame()), name
    json.loads((tmp_path / "rules.json").read_text(), parse_constant=pytest.fail)


def test_a_single_launch_has_no_interval_in_json(tmp_path: Path) -> None:
    rule = RULES[1]
    tuning = Tuning(QUESTION, TARGET, rules=[rule], rule_gains={rule: times_as_long(2.0, 1)})
    written(tuning, tmp_path)
    (row,) = json.loads((tmp_path / "rules.json").read_text())["rules"]
    assert (row["ratio"], row["ratio_low"], row["ratio_high"], row["p_value"]) == (2.0, None, None, None)
    assert (row["verdict"], row["launches"]) == ("undecided", 1)


def test_a_tuning_of_nothing_has_empty_tables(tmp_path: Path) -> None:
    record = written(Tuning(QUESTION, TARGET), tmp_path)
    assert [len(table) for table in vars(record).values() if isinstance(table, TypedTable)] == [0] * 4
    assert make_report([tmp_path]).pictures == ()


def test_the_runner_up_is_the_fastest_other_algorithm_in_all_cells_of_a_rule(tmp_path: Path) -> None:
    medians = LaunchMedians.joined(
        [launches({DEFAULT: 10, "a": 5, "b": 8, "c": time}, size) for size, time in ((8, 5), (16, 16))]
    )
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    tuning.rules = [Rule("bcast", 4, 8, 16, "a"), Rule("bcast", 4, 8, 8, "a")]
    rules = record_of(tuning, tmp_path).rules
    assert list(rules.runner_up) == ["b", "c"]
    assert rules.runner_up_ratio[0] == pytest.approx(0.8, rel=0.05)


def test_the_page_of_a_tuning(tmp_path: Path) -> None:
    medians = LaunchMedians.joined(
        [launches({DEFAULT: 10, "a": 5, "b": 20}), launches({DEFAULT: 10, "a": 30}, size=16)]
    )
    rule = Rule("bcast", 4, 8, 8, "a")
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE), rules=[rule])
    tuning.rule_gains, tuning.gains = {rule: times_as_long(0.5)}, {CELLS[0]: times_as_long(0.5)}
    tuning.written = TARGET.form.write([rule])
    written(tuning, tmp_path)
    page = make_report([tmp_path])
    ((number,),) = (block.numbers for block in page.blocks if isinstance(block, Numbers))
    assert (number.value, "5.000 us in place of 10.00 us" in number.about) == ("2.00", True)
    shell, arguments = (block.lines for block in page.blocks if isinstance(block, Command))
    assert str(tmp_path / "rules.env") in shell[0] and "rules.conf" in arguments[0]
    rules, cells = (block for block in page.blocks if isinstance(block, Table))
    assert rules.frame[["bytes", "algorithm", "default", "rules"]].to_numpy().tolist() == [["8", "a", 1e-5, 5e-6]]
    assert cells.frame[["bytes", "algorithm"]].to_numpy().tolist() == [[8, "a"], [16, DEFAULT]]
    (panel,) = page.pictures[0].panels
    (heat,) = panel.marks
    assert panel.x == "message size [bytes]"
    assert heat.framed == [("a", "8"), (DEFAULT, "16")]
    assert heat.values.loc["a"].tolist() == pytest.approx([2, 1 / 3], rel=0.05)
    assert np.isnan(heat.values.loc["b", "16"])  # was not measured there


def test_a_record_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "probe").mkdir()
    with pytest.raises(UsageError, match=r"did not end, for it has no rules\.json"):
        make_report([tmp_path])
    written(tuned(), tmp_path)
    file = tmp_path / "rules.json"
    content = json.loads(file.read_text())
    for damage, message in (
        ({"schema_version": 4}, "schema_version 4"),
        ({"rules": [{"ratio": "fast"}]}, "damaged"),
        ({"facts": [{"fact": "nothing known"}]}, "damaged"),
        ({"host": 3}, "damaged"),
    ):
        file.write_text(json.dumps(content | damage))
        with pytest.raises(UsageError, match=message):
            open_record(tmp_path)


def rules() -> View:
    """Rules with a gain, and some objections."""
    return tuning_view(record_of(tuned(), Path("/tuned")), Depth.TEXT)


def no_rules() -> View:
    """A tuning in which nothing was better than the default."""
    medians = launches({DEFAULT: 10, "a": 11})
    tuning = Tuning(QUESTION, TARGET, decisions=choose(medians, {}, MARGIN, CONFIDENCE))
    return tuning_view(record_of(tuning, Path("/tuned")), Depth.TEXT)


def warnings() -> View:
    """A tuning with every warning."""
    tuning = tuned()
    tuning.losses, tuning.wrong_defaults, tuning.lost = ["something cannot be said in rules"], [CELLS[3]], [CELLS[2]]
    tuning.gains = {CELLS[0]: times_as_long(1.2), CELLS[3]: times_as_long(1.5)}
    tuning.rule_gains = {RULES[0]: times_as_long(0.5), RULES[1]: times_as_long(1.0)}
    tuning.left_out = [UncountedCells("gain", "failed", ("one", "two", "three", "four", "five"))]
    tuning.remove(Rule("bcast", 4, 64, 64, "c"), "wrong results at 64 bytes")
    return tuning_view(record_of(tuning, Path("/tuned")), Depth.TEXT)


@pytest.mark.parametrize("case", [rules, no_rules, warnings])
def test_the_text_is_that_of_the_snapshot(case: Callable[[], View]) -> None:
    lines = view_lines(case())
    assert max(len(line) for line in lines if "--mca" not in line) <= WIDTH
    check_snapshot(f"tuning/{case.__name__}", lines)


def test_json_has_every_fact_of_the_text() -> None:
    view = warnings()
    record: Any = view_record(view)
    assert [fact["fact"] for fact in record["facts"]] == [fact.name() for fact in view.facts]
    assert len(view.facts) == 13
