"""Each row of the fault table makes one fault, again and again, and holds one promise (docs/reliability.md)."""

from __future__ import annotations

import pytest

from tests.faults.rows import ROWS
from tests.faults.trial import Row, Run, Site, try_row


def hold(row: Row, tries: int, config: pytest.Config) -> None:
    """Tries a row as often as --tries says, else `tries` times; shows what happened."""
    outcomes, broken = try_row(row, config.getoption("--tries") or tries, config.getoption("--mpi"), seed=1)
    print(f"{row.fault}: {row.promise}")
    print(*(f"{count:9} {what}" for what, count in outcomes.most_common()), sep="\n")
    assert broken == []


@pytest.mark.alone
@pytest.mark.parametrize("row", [row for row in ROWS if row.quick], ids=lambda row: row.name)
def test_quick(row: Row, pytestconfig: pytest.Config) -> None:
    hold(row, row.quick, pytestconfig)


@pytest.mark.nightly
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_fault(row: Row, pytestconfig: pytest.Config) -> None:
    hold(row, row.tries, pytestconfig)


@pytest.mark.alone  # shared memory and temporary files of other tests would be blamed on it
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("echo >{site.temporary}/left", "temporary file"),
        ("sleep 600 & sleep 0.3", "sleep"),
        ("echo >/dev/shm/downbeat-test-{site.output.parent.name}-{site.number}", "shared memory"),
        ("sleep 600 & sleep 600", "hung"),
        ("true", ""),
    ],
)
def test_what_is_left_behind_or_hangs_breaks_the_promise(text: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try is blamed for its own, and ends what it started."""
    monkeypatch.setattr("tests.faults.trial.PATIENCE_SECONDS", 0.05)

    def make(site: Site) -> Run:
        return site.run(["sh", "-c", text.format(site=site)], seconds=1.0)

    def judge(run: Run) -> str:
        run.must_succeed()
        return "ended"

    _, broken = try_row(Row("a-row", "a fault", "a promise", make, judge), 2, "openmpi", 1)
    assert len(broken) == (2 if word else 0)
    assert all(word in one for one in broken)
