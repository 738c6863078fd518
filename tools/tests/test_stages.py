"""tools/stages runs every stage, counts tests, names what failed, and shows of a runner's progress each tenth."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from marked import is_brief
from uses import Uses, is_test

TOOLS = Path(__file__).resolve().parents[1]
CTEST = """
        Start   1: one
  1/119 Test   #1: one ...............   Passed    0.56 sec
  2/119 Test   #2: two ...............***Failed    0.58 sec
100/119 Test #100: hundred ...........   Passed    0.58 sec

98% tests passed, 2 tests failed out of 119

The following tests FAILED:
\t  2 - two (Failed)
\t 23 - slow (Timeout)
"""
PYTEST = """
........ [ 50%]
FAILED python/tests/test_x.py::test_y - assert 1 == 2
ERROR python/tests/test_x.py::test_z
=========== 1 failed, 7 passed, 2 skipped, 9 warnings, 1 error in 656.44s (0:10:56) ===========
"""


@pytest.fixture
def stages(tmp_path: Path) -> dict[str, Any]:
    module = runpy.run_path(str(TOOLS / "stages"))
    module["main"].__globals__["LOGS"] = tmp_path
    return module


def test_a_failed_stage_stops_those_that_need_it_and_no_other(
    stages: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("printed-by-ctest", CTEST), ("printed-by-pytest", PYTEST)):
        (tmp_path / name).write_text(text, encoding="ascii")
    stage = stages["Stage"]
    listed = [
        stage("ctest", f"cat {tmp_path}/printed-by-ctest; exit 8"),
        stage("needs it", "echo never", needs=("ctest",)),
        stage("pytest", f"cat {tmp_path}/printed-by-pytest; exit 1"),
        stage("good", "echo done"),
    ]
    stages["RUNS"]["test"] = lambda _: listed
    monkeypatch.setattr("sys.argv", ["stages", "test"])
    assert stages["main"]() == 1
    out = capfd.readouterr().out
    assert [one.outcome for one in listed] == ["FAILED", "not run", "FAILED", "ok"]
    assert dict(listed[0].tests) == {"passed": 117, "failed": 2}
    assert dict(listed[2].tests) == {"passed": 7, "failed": 2, "skipped": 2}
    for line in (
        "[1/4] ctest: cat ",
        "2/119 Test   #2: two ...............***Failed    0.58 sec\n100/119 Test #100: hundred",
        "=== 1 failed, 7 passed, 2 skipped, 9 warnings, 1 error in 656.44s (0:10:56) ===",
        "ctest: 2 - two (Failed)\nctest: 23 - slow (Timeout)\npytest: FAILED python/tests/test_x.py::test_y",
        "make test: stages: 2 FAILED, 1 not run, 1 ok; tests: 124 passed, 4 failed, 2 skipped; ",
    ):
        assert line in out
    assert "1/119 Test   #1: one" not in out
    assert "never" not in out.replace("echo never", "")
    assert (tmp_path / "ctest.log").read_text(encoding="utf-8") == CTEST


def test_all_stages_can_be_listed(stages: dict[str, Any]) -> None:
    for run in ("test", "test-all", "nightly"):
        for mpi in ("openmpi", "mpich5"):
            listed = stages["RUNS"][run](mpi)
            names = [stage.name for stage in listed]
            assert len(set(names)) == len(names)
            assert {name for stage in listed for name in stage.needs} <= set(names)


@pytest.fixture(scope="module")
def uses() -> Uses:
    return Uses(TOOLS.parent)


def test_every_module_has_a_test_that_make_dev_runs(stages: dict[str, Any], uses: Uses) -> None:
    modules = [path for path in uses.uses if path.startswith(("papers/downbeat_papers/", "python/downbeat/"))]
    assert len(modules) > 150
    assert [path for path in modules if stages["choose"](uses, [path]).left] == []


@pytest.mark.thorough
@pytest.mark.parametrize("alone", [False, True])
def test_pytest_finds_brief_tests_in_the_same_files(uses: Uses, alone: bool) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-qq",
        "-m",
        f"brief and {'' if alone else 'not '}alone",
    ]
    listed = subprocess.run(command, cwd=uses.root, capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"^(\S+\.py): \d+$", listed, re.MULTILINE))
    assert found == {path for path in uses.uses if is_test(path) and is_brief(uses.root / path, alone=alone)}


# Changed files, and a test that make dev runs for each: one text, since a file that names others is a test of them.
NEAR = """
python/downbeat/statistics/holm.py python/tests/test_rank_tests.py
python/downbeat/align/local_clocks.py python/tests/test_timebase.py
python/downbeat/output/words/comparison.py python/tests/test_comparison_sheet.py
python/downbeat/output/page.css python/tests/test_arrivals.py
papers/downbeat_papers/figures/niethammer2016.toml papers/tests/test_figures.py
docs/ci.md python/tests/test_ci_recipes.py
examples/notebook/experiment.ipynb python/tests/test_notebook.py
tools/packages.toml tools/tests/test_setup.py
python/tests/launch_files.py papers/tests/test_claims.py
tools/tests/test_launch.py tools/tests/test_launch.py
"""


def test_what_uses_a_changed_file_is_tested(stages: dict[str, Any], uses: Uses) -> None:
    for path, test in map(str.split, NEAR.strip().splitlines()):
        choice = stages["choose"](uses, [path, "lib/src/x.c"])
        assert test in choice.shared, path
        assert len(choice.shared) <= stages["NEAREST"]


def test_every_changed_file_has_its_nearest_test(stages: dict[str, Any], uses: Uses) -> None:
    changed = sorted(path for path in uses.uses if path.startswith("python/downbeat/"))
    chosen = stages["choose"](uses, changed).shared
    assert len(chosen) >= stages["MOST"]
    for path in changed:
        brief = [test for test in uses.tests(path) if is_brief(uses.root / test, alone=False)]
        assert brief[:1] == [test for test in brief[:1] if test in chosen]


def test_a_change_without_a_test_fails_unless_it_is_prose(stages: dict[str, Any]) -> None:
    (left,) = stages["left_out"]({"page.md": ["test_far.py"], "a b": [], "lib/CMakeLists.txt": []})
    left.run()
    assert left.outcome == "ok"
    said = (stages["main"].__globals__["LOGS"] / "not-tested.log").read_text(encoding="utf-8")
    assert said.splitlines() == ["page.md: left to make test-all: test_far.py", "a b: no test reads it"]
    (left,) = stages["left_out"]({"test_far.py": ["test_far.py"]})
    left.run()
    assert left.outcome == "FAILED"
    assert stages["left_out"]({"lib/src/x.c": []}) == []


def test_a_planted_change_starts_its_tests(tmp_path: Path) -> None:
    """A tree of its own: a data file that a module names, one that nobody names, a deleted module, a broken one."""
    tree = {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['python']\n",
        "python/room/__init__.py": "",
        "python/room/reader.py": "HERE = X.parent / 'tables'\nTABLE = HERE / 'one.toml'\n",
        "python/room/tables/one.toml": "",
        "python/room/tables/two.json": "",
        "python/room/user.py": "import room.reader\n",
        "python/room/broken.py": "import room.reader as\n",
        "python/tests/conftest.py": "import room.user\n",
        "python/tests/helper.py": "from room import user\n",
        "python/tests/test_far.py": "import helper\n",
        "python/tests/test_near.py": "PROGRAM = 'from room import reader'\nfrom room.gone import x\n",
        "python/tests/test_other.py": "from room.broken import y\n",
    }
    for path, text in tree.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    planted = Uses(tmp_path, ["python/room/gone.py"])
    near, far, other = (f"python/tests/test_{name}.py" for name in ("near", "far", "other"))
    assert planted.tests("python/room/tables/one.toml") == {near: 2, far: 4}
    assert planted.tests("python/room/tables/two.json") == {near: 2, far: 4}
    assert planted.tests("python/room/three.json") == {near: 1, far: 1, other: 1}
    assert planted.tests("python/room/gone.py") == {near: 1}
    assert planted.tests("python/room/broken.py") == {other: 1}
    assert planted.tests("python/room/user.py") == {far: 2}
    assert planted.tests("python/room/__init__.py") == {near: 1, other: 1, far: 2}
    assert set(planted.tests("python/tests/conftest.py")) == {near, far, other}
    assert planted.tests("python/tests/helper.py") == {far: 1}
    assert planted.tests("python/tests/test_far.py") == {far: 0}


def test_one_library_cannot_be_chosen_for_all(
    stages: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["stages", "test-all", "--mpi", "mpich"])
    with pytest.raises(SystemExit):
        stages["main"]()
    assert "make test MPI=mpich runs under one" in capsys.readouterr().err
