"""The fault table: counts, findings, and the quick table of this build."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.launchers.libraries import ROOT

from lab.faults import __main__ as command
from lab.faults.judge import common_start
from lab.faults.rows import ROWS
from lab.faults.trial import Make, NotPossibleError, Outcomes, Row, Run, Site, Tally, try_row

FIGURES = {"calls": 100, "valid": 90, "false_flags": 0, "unexplained": 0, "false_stamps": 0, "worst_stamp_us": 0.1}
FIGURES |= {"on_tsc": 0, "others": 0}


def shell(text: str, seconds: float = 20.0) -> Make:
    return lambda site: site.run(["sh", "-c", text.format(site=site)], seconds=seconds)


def ends(run: Run) -> Outcomes:
    return f"{run.status} {run.stdout.strip()} {run.last_line}"


def in_time(run: Run) -> Outcomes:
    run.must_succeed()
    return {}


def tally_of(make: Make, judge: object = ends, tries: int = 2) -> Tally:
    assert callable(judge)
    return try_row(Row("a-row", "a fault", "a promise", make, judge), tries, "openmpi", 1)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("echo >{site.temporary}/left", "temporary file"),
        ("sleep 600 & sleep 0.3", "sleep"),
        ("echo >/dev/shm/downbeat-test-{site.output.parent.name}-{site.number}", "shared memory"),
    ],
)
def test_what_is_left_behind_is_a_broken_promise(text: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.faults.trial.PATIENCE_SECONDS", 0.05)
    tally = tally_of(shell(text))
    assert tally.tries == 2
    assert len(tally.broken) == 2  # each try is blamed for its own
    assert all("left behind" in one and word in one for one in tally.broken)
    assert tally_of(shell("true")).broken == []


def test_tries_are_counted_by_what_happened() -> None:
    tally = tally_of(shell("echo out; echo err >&2; exit 3"), tries=3)
    assert (tally.tries, tally.outcomes, tally.broken) == (3, {"3 out err": 3}, [])
    assert tally.happened == "3 out err: 3"


def test_what_hangs_is_ended_with_all_that_it_has_started() -> None:
    tally = tally_of(shell("sleep 600 & sleep 600", 0.2), in_time, 1)
    assert tally.broken == ["try 1: hung"]
    assert tally.seconds < 10


def test_what_this_machine_cannot_make_is_said() -> None:
    def impossible(site: Site) -> Run:
        raise NotPossibleError("not here")

    tally = tally_of(impossible)
    assert (tally.tries, tally.happened, tally.broken) == (0, "not tried: not here", [])


@pytest.mark.parametrize("name", ["unexplained", "false_stamps"])
def test_a_false_verdict_breaks_the_promise(name: str) -> None:
    def broken(**figures: int) -> list[str]:
        return tally_of(
            shell(f"echo '{json.dumps(FIGURES | figures)}'".replace("{", "{{").replace("}", "}}")), common_start, 1
        ).broken

    assert broken() == broken(false_flags=3) == []
    assert broken(**{name: 1}) != []


def test_names_of_rows_are_names() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(row.tries >= row.quick for row in ROWS)


def test_an_unknown_row_is_named(capsys: pytest.CaptureFixture[str]) -> None:
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
    quick = [sys.executable, "-m", "lab.faults", "--quick", "--output", str(output)]
    done = subprocess.run(quick, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert sum(row["tries"] for row in rows) > len(rows)
    assert f"| `{rows[0]['name']}` |" in output.with_suffix(".md").read_text(encoding="utf-8")
