"""In a notebook: names, help, and the examples of the docs, which run as printed; the same numbers everywhere."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import json
import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.compared import Compared
from downbeat.errors import UsageError
from downbeat.report.compared import starts_of
from downbeat.report.rows import typical_median
from downbeat.run.experiment import Launch
from downbeat.statistics.location import typical_interval
from downbeat.views.results import results_record
from downbeat_command import Run, command
from launch_files import Cell, write_launch

from tests.statistics import kinds
from tests.statistics.simulated import simulate_launch_factors

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = ("data", "compare", "statistics")
NOTEBOOK = DOCS.parent / "examples" / "notebook"
STATISTICS = re.findall(r"`(\w+)`", re.sub(r"(?m)^(?!\| `)[^\n]*", "", (DOCS / "statistics.md").read_text("utf-8")))


def test_completion_offers_what_is_for_users() -> None:
    """In a fresh interpreter, for whatever has been loaded is offered anyway."""
    code = "import downbeat, sys; print(*dir(downbeat)); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    offered, loaded = done.stdout.splitlines()
    assert set(downbeat.__all__) <= set(offered.split())
    assert [name for name in offered.split() if not name.startswith("_") and name not in downbeat.__all__] == []
    assert loaded == "False"
    assert downbeat.__version__ == importlib.metadata.version("downbeat")


def test_help_describes_what_is_for_users() -> None:
    text = pydoc.plain(pydoc.render_doc(downbeat))
    for name in downbeat.__all__:
        assert re.search(rf"(?m)^    (class )?{name}\(", text), name
    assert "docs/data.md" in text


def public_functions() -> dict[str, object]:
    """Returns what users call: of the package, of experiments and launches, and all statistics that the docs list."""
    found: dict[str, object] = {name: getattr(downbeat, name) for name in downbeat.__all__}
    found |= {f"Launch.{name}": getattr(Launch, name) for name in ("samples", "open", "cells", "context")}
    found |= {f"Experiment.{name}": getattr(downbeat.Experiment, name) for name in ("cells", "varying", "machine")}
    modules = [importlib.import_module(f"downbeat.statistics.{path.stem}") for path in statistics_files()]
    for module in modules:
        found |= {name: getattr(module, name) for name in STATISTICS if hasattr(module, name)}
    return found


def statistics_files() -> list[Path]:
    folder = Path(inspect.getfile(downbeat)).parent / "statistics"
    return [path for path in folder.glob("*.py") if path.stem != "__init__"]


def test_the_docs_list_every_module_of_statistics() -> None:
    assert {path.stem for path in statistics_files()} <= set(STATISTICS)
    assert {"holm", "compare_paired", "typical_interval", "power"} <= set(STATISTICS)


@pytest.mark.parametrize("name", public_functions())
def test_what_is_for_users_says_what_it_takes_and_returns(name: str) -> None:
    thing = public_functions()[name]
    text = inspect.getdoc(thing)
    assert text
    if not inspect.isfunction(thing):
        return
    takes = [one for one in inspect.signature(thing).parameters if one != "self"]
    if name.startswith(("Launch.", "Experiment.")):  # one line, which names the function with the rest
        return
    if "as `power`" not in text and "as `variance_components`" not in text:
        assert [one for one in takes if not re.search(rf"(?m)^    {one}: ", text)] == []
    assert "Returns" in text or thing.__annotations__["return"] == "Comparison" or "judged" in text


def write_results(directory: Path) -> None:
    """Writes six launches of a directory `results`: bcast and reduce behind two synchronizers, two sizes."""
    directory.mkdir()
    entry = np.arange(30.0)[:, np.newaxis] + np.zeros((30, 2))
    for number, factor in enumerate(simulate_launch_factors(np.random.default_rng(1), 6)):
        cells = [
            Cell(entry, entry + 1e-6 * factor * slower, operation=operation, size=size, synchronizer=synchronizer)
            for operation in ("bcast", "reduce")
            for size in (8, 1024)
            for synchronizer, slower in (("harmonize", 1.0), ("mpi_barrier", 1.1 if operation == "reduce" else 1.0))
        ]
        write_launch(directory / f"{number}.nc", cells)


def examples(page: str) -> list[str]:
    """Returns the blocks of Python of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)


def run_cell(code: str, names: dict[str, object]) -> list[object]:
    """Runs code as a notebook does; returns the values of the expressions that stand alone."""
    shown = []
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Expr):
            shown.append(eval(compile(ast.Expression(statement.value), "docs", "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), "docs", "exec"), names)
    return shown


def test_examples_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_results(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    shown = {page: [value for code in examples(page) for value in run_cell(code, names)] for page in EXAMPLES}
    table, about, metrics, differences = shown["data"]
    assert isinstance(table, pd.DataFrame)
    assert table.index.tolist() == [8, 1024]
    assert sorted(table.columns) == ["harmonize", "mpi_barrier"]
    assert (table["harmonize"] / table["mpi_barrier"]).tolist() == pytest.approx([1, 1])
    assert about[1]["mpi_library"] == "Some MPI 1.0, of a test"  # type: ignore[index]
    assert metrics.makespan.dims == ("sample",)  # type: ignore[attr-defined]
    assert differences.dims == ("sample", "rank")  # type: ignore[attr-defined]
    slower, attributes = shown["compare"]
    assert slower["operation"].tolist() == ["reduce", "reduce"]  # type: ignore[index]
    assert slower["ratio"].tolist() == pytest.approx([1.1, 1.1])  # type: ignore[index]
    assert attributes == (True, [])
    (of_all,) = shown["statistics"]
    assert of_all.verdict == "slower"  # type: ignore[attr-defined]


def test_the_example_notebook_runs_and_shows_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(NOTEBOOK, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = json.loads((tmp_path / "experiment.ipynb").read_text(encoding="utf-8"))["cells"]
    codes = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    assert all(one.get("outputs", []) == [] for one in cells)
    experiment, ratios, latencies, verdicts, slower, launch, _samples = (
        value for code in codes for value in run_cell(code, names) if value is not None
    )
    for shown in (experiment, verdicts, slower, launch):
        assert len(shown._repr_html_()) < 20_000  # type: ignore[attr-defined]
        assert len(repr(shown)) < 4_000
    assert "5 launches" in experiment._repr_html_()  # type: ignore[attr-defined]
    assert "MPI_Barrier against" in verdicts._repr_html_()  # type: ignore[attr-defined]
    for picture, name in ((ratios, "barrier_ratio"), (latencies, "latency_by_size")):
        assert picture.name == name  # type: ignore[attr-defined]
        assert picture._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="no picture 'x'; choose one of latency_by_size, barrier_ratio"):
        experiment.plot("x")  # type: ignore[attr-defined]


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
    expected = float(np.exp(kinds.pseudo_median(np.log(TIMES)))) * 1e-6
    (shown,) = [
        cell["median"]
        for cell in results_record(experiment, "latency_avg")["cells"]  # type: ignore[attr-defined]
        if cell["synchronizer"] == "harmonize"
    ]
    cells = experiment.cell_table
    reported = typical_median(cells[cells.synchronizer == "harmonize"].metric("latency_avg")).estimate
    compared = downbeat.compare(
        experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"}
    )
    code = next(one for one in re.findall(r"```python\n(.*?)```", (DOCS / "data.md").read_text("utf-8"), re.DOTALL))
    example = re.search(r"cells\[cells.*?estimate\)", code, re.DOTALL)
    assert example
    documented = eval(example[0], {"cells": experiment.cells, "typical_interval": typical_interval})["harmonize"].iloc[
        0
    ]
    assert [shown, reported, compared["a"].iloc[0], documented] == pytest.approx([expected] * 4)


def test_one_direction(experiment: downbeat.Experiment, run: Run) -> None:
    """The ratio is barrier / common start, in whatever order the two are named."""
    ratio = float(starts_of(experiment).ratios.ratio[0])
    found = [ratio]
    for order in (("mpi_barrier", "harmonize"), ("harmonize", "mpi_barrier")):
        file = experiment.path / "c.json"
        run(experiment.path, *(f"synchronizer={name}" for name in order), "--json", file)
        (cell,) = json.loads(file.read_text())["cells"]
        found.append(cell["ratio"])
    assert found == pytest.approx([2.01] * 3, rel=0.01)


def test_one_word(experiment: downbeat.Experiment) -> None:
    few = downbeat.Experiment(experiment.path, "e", experiment.launches[:4], None, ())
    compared = downbeat.compare(few, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
    words = [*map(Compared.of(compared).word, compared["verdict"]), *starts_of(few).ratios.verdict]
    assert [*compared["verdict"], *words] == ["undecided"] * 3
    assert compared["ratio_low"].iloc[0] > 1
