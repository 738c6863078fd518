"""One word, one direction and one estimator, in Python, on the command line, in reports, and in the docs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import downbeat
import numpy as np
import pytest
import scipy.stats
from compare_command import Run, command
from downbeat.comparison.questions import against_start, against_start_frame
from downbeat.comparison.sheet import verdict_words
from downbeat.comparison.summaries import launch_ratios, summarize
from downbeat.comparison.tables import experiment_record
from launch_files import Cell, write_launch

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Launches whose median and geometric mean differ, us; after the barrier a call takes twice as long.
TIMES = np.array([0.1, 0.11, 0.1, 0.12, 0.1, 0.11, 0.5, 0.6, 0.1, 0.12])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return command(monkeypatch, capsys)


@pytest.fixture
def experiment(tmp_path: Path) -> downbeat.Experiment:
    for number, time in enumerate(TIMES):
        cells = [
            Cell(np.zeros((3, 2)), np.full((3, 2), factor * time * 1e-6), synchronizer=name)
            for name, factor in (("mpi_barrier", 2 + 0.01 * (number % 3)), ("harmonize", 1.0))
        ]
        write_launch(tmp_path / f"{number}.nc", cells)
    return downbeat.open_experiment(tmp_path)


def test_one_estimator(experiment: downbeat.Experiment) -> None:
    expected = float(np.exp(np.log(TIMES).mean())) * 1e-6
    (shown,) = [
        cell["median"]
        for cell in experiment_record(experiment, "latency_avg")["cells"]  # type: ignore[attr-defined]
        if cell["synchronizer"] == "harmonize"
    ]
    reported = summarize(experiment.cells, ["synchronizer"], "latency_avg_median").set_index("synchronizer")["estimate"]
    compared = downbeat.compare(
        experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"}
    )
    code = next(one for one in re.findall(r"```python\n(.*?)```", (DOCS / "data.md").read_text("utf-8"), re.DOTALL))
    example = re.search(r"cells\[cells.*?gmean\)", code, re.DOTALL)
    assert example
    documented = eval(example[0], {"cells": experiment.cells, "scipy": scipy})["harmonize"].iloc[0]
    assert [shown, reported["harmonize"], compared["a"].iloc[0], documented] == pytest.approx([expected] * 4)


def test_one_direction(experiment: downbeat.Experiment, run: Run) -> None:
    """The ratio is barrier / common start, in whatever order the two are named."""
    ratio = float(summarize(launch_ratios(experiment.cells), ["synchronizer"], "ratio")["estimate"].iloc[0])
    (judged,) = against_start(experiment)
    found = [ratio, judged.comparison.ratio.estimate]
    for order in (("mpi_barrier", "harmonize"), ("harmonize", "mpi_barrier")):
        file = experiment.path / "c.json"
        run(experiment.path, *(f"synchronizer={name}" for name in order), "--json", file)
        (cell,) = json.loads(file.read_text())["cells"]
        found.append(cell["ratio"])
    assert found == pytest.approx([2.01] * 4, rel=0.01)


def test_one_word(experiment: downbeat.Experiment) -> None:
    few = downbeat.Experiment(experiment.path, "e", experiment.launches[:4], None, ())
    compared = downbeat.compare(few, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
    words = [*verdict_words(compared), *against_start_frame(against_start(few))["verdict"]]
    assert [*compared["verdict"], *words] == ["undecided"] * 3
    assert compared["ratio_low"].iloc[0] > 1
