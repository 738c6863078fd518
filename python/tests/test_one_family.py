"""The end of a run, its page and `compare` count the same cells, whatever the experiment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import SYNCHRONIZATION
from downbeat.output.blocks import Line, View
from downbeat.output.facts.comparison import Conclusion, NextStep
from downbeat.output.records import plain, view_record
from downbeat.report.compared import STARTS, contrast_of, starts_of
from downbeat.report.findings import answer_of
from downbeat.run.directory import read_plan
from downbeat.run.estimates import Estimates
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.views.comparison import comparison_view
from downbeat.views.experiment import closing, contrast
from drawn_experiments import write_drawn
from report_data import barrier_cells, write_experiment

EXPERIMENTS = 30


def facts_of(view: View, kind: type, b: str = "") -> list[dict[str, object]]:
    """Returns the facts of a kind in the JSON of a view; conclusions on one B."""
    names = [fact.record()["fact"] for fact in view.facts if isinstance(fact, kind)]
    record = json.loads(json.dumps(plain(view_record(view))))
    return [each for each in record["facts"] if each["fact"] in names and each.get("b", b) == (b or each.get("b", b))]


def page_of(experiment: Experiment) -> View:
    """Returns the facts of a page, without its pictures."""
    compared = contrast_of(experiment)
    answer = answer_of(experiment, compared, compared if compared.factor == STARTS else starts_of(experiment))
    return View("page", tuple(map(Line, (*answer.headlines, *(fact for _, fact in answer.findings)))))


@pytest.mark.parametrize("seed", range(EXPERIMENTS))
def test_three_screens_have_the_same_counts(seed: int, tmp_path: Path) -> None:
    write_drawn(tmp_path / "e", seed)
    plan = read_plan(tmp_path / "e")
    experiment = open_experiment(tmp_path / "e")
    sides = contrast(plan, experiment.cell_table)
    if sides is None:
        pytest.skip("nothing is compared")
    factor, a, b = sides
    compared = comparison_view(comparison_of(experiment, where=({factor: a}, {factor: b})))
    end = closing(plan, tmp_path / "e", Estimates.of(plan, tmp_path / "e"))
    page = page_of(experiment)
    for kind in (Conclusion, NextStep):
        said = facts_of(compared, kind, b)
        assert facts_of(end, kind, b) == said
        if kind is Conclusion:
            assert facts_of(page, kind, b) == said
        else:
            assert all(each in facts_of(page, kind) for each in said)
    assert factor not in SYNCHRONIZATION or len(facts_of(compared, Conclusion)) <= 1


def test_an_exit_status_is_about_the_cells_from_a_common_start(tmp_path: Path) -> None:
    """After the barrier B takes twice as long, from a common start the same: two families would double false alarms."""
    factors = (1, 1.01, 0.99, 1.005, 0.995, 1.002)
    a = write_experiment(tmp_path / "a", [barrier_cells(factor) for factor in factors])
    b = write_experiment(tmp_path / "b", [barrier_cells(factor, 2.0) for factor in factors])
    compared = comparison_of(a, b)
    assert "slower" in compared.verdicts.verdict
    assert set(compared.question.verdicts.synchronizer) == {"harmonize"}
    assert "slower" not in compared.question.verdicts.verdict
