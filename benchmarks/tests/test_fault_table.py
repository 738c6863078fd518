"""The fault table: what it counts, what it finds, and the quick one of this build."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from downbeat.launchers.libraries import ROOT

from benchmarks.faults import __main__ as command
from benchmarks.faults.registry import ROWS
from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Site
from benchmarks.faults.stops import judge_starts
from benchmarks.faults.trying import try_row

FIGURES = {"calls": 100, "valid": 90, "false_flags": 0, "unexplained": 0, "false_stamps": 0, "worst_stamp_us": 0.1}


def leaves_file(site: Site, tries: int) -> Iterator[Outcome]:
    for _ in range(tries):
        (site.temporary / "left").write_text("x")
        yield Outcome("done")


def leaves_process(site: Site, tries: int) -> Iterator[Outcome]:
    for _ in range(tries):
        site.start(["sleep", "600"])
        yield Outcome("done")


def leaves_memory(site: Site, tries: int) -> Iterator[Outcome]:
    for number in range(tries):
        site.run(["sh", "-c", f"echo >/dev/shm/downbeat-test-{site.home.name}-{number}"])
        yield Outcome("done")


def leaves_nothing(site: Site, tries: int) -> Iterator[Outcome]:
    for _ in range(tries):
        ended = site.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        yield Outcome(f"{ended.status} {ended.stdout.strip()} {ended.last_line}")


def hangs(site: Site, tries: int) -> Iterator[Outcome]:
    for _ in range(tries):
        ended = site.run(["sh", "-c", "sleep 600 & sleep 600"], seconds=0.2)
        yield Outcome("hung", 1, "hung" if ended.hung else "")


def impossible(site: Site, tries: int) -> Iterator[Outcome]:
    raise NotPossibleError("not here")
    yield


def row_of(run: object) -> Row:
    assert callable(run)
    return Row("a-row", "a fault", "a promise", run, 2, 1)


@pytest.mark.parametrize(
    ("run", "word"), [(leaves_file, "temporary file"), (leaves_process, "sleep"), (leaves_memory, "shared memory")]
)
def test_what_is_left_behind_is_a_broken_promise(run: object, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.faults.leftovers.PATIENCE_SECONDS", 0.05)
    tally = try_row(row_of(run), 2, "openmpi", 1)
    assert tally.tries == 2
    assert len(tally.broken) == 2  # each try is blamed for its own
    assert all("left behind" in one and word in one for one in tally.broken)
    again = try_row(row_of(leaves_nothing), 1, "openmpi", 1)
    assert again.broken == []


def test_tries_are_counted_by_what_happened() -> None:
    tally = try_row(row_of(leaves_nothing), 3, "openmpi", 1)
    assert (tally.tries, tally.outcomes, tally.broken) == (3, {"3 out err": 3}, [])
    assert tally.happened == "3 out err: 3"


def test_what_hangs_is_ended_with_all_that_it_has_started() -> None:
    tally = try_row(row_of(hangs), 1, "openmpi", 1)
    assert tally.broken == ["try 1: hung"]
    assert tally.seconds < 10


def test_what_this_machine_cannot_make_is_said() -> None:
    tally = try_row(row_of(impossible), 1, "openmpi", 1)
    assert (tally.tries, tally.happened, tally.broken) == (0, "not tried: not here", [])


@pytest.mark.parametrize("name", ["unexplained", "false_stamps"])
def test_a_false_verdict_breaks_the_promise(name: str) -> None:
    assert not any(one.broken for one in judge_starts(FIGURES, 1))
    assert not any(one.broken for one in judge_starts({**FIGURES, "false_flags": 3}, 1))
    assert any(one.broken for one in judge_starts({**FIGURES, "false_flags": 3, name: 1}, 1))


def test_names_of_rows_are_names() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(row.tries >= row.quick for row in ROWS)


def test_a_row_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["--rows", "stop-start,stop-stat"])
    error = capsys.readouterr().err
    assert error.startswith("bench-faults: --rows: there is no row 'stop-stat'; valid are: stop-start, ")
    assert error.count("\n") == 1


def test_documentation_has_every_row() -> None:
    page = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    assert [row.name for row in ROWS if f"`{row.name}`" not in page] == []


@pytest.mark.alone
def test_the_quick_table_holds(tmp_path: Path) -> None:
    """A minute of faults; the whole table is in `make bench-faults`."""
    output = tmp_path / "faults.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", "--quick", "--output", str(output)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert sum(row["tries"] for row in rows) > len(rows)
    assert f"| `{rows[0]['name']}` |" in output.with_suffix(".md").read_text(encoding="utf-8")
