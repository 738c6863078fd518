"""tools/stages runs every stage, counts tests, names what failed, and shows of a runner's progress each tenth."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

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


def test_what_imports_a_changed_module_is_tested(stages: dict[str, Any]) -> None:
    found = stages["python_tests"](["python/downbeat/statistics/holm.py", "lib/src/x.c", "tools/tests/test_launch.py"])
    assert {"python/tests/test_rank_tests.py", "tools/tests/test_launch.py"} <= set(found)
    assert "python/tests/test_site.py" not in found


def test_one_library_cannot_be_chosen_for_all(
    stages: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["stages", "test-all", "--mpi", "mpich"])
    with pytest.raises(SystemExit):
        stages["main"]()
    assert "make test MPI=mpich runs under one" in capsys.readouterr().err
