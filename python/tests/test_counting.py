"""Choices of algorithms are counted before an experiment: what has no effect ends it, what is unknown is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from downbeat.errors import UsageError
from downbeat.run.execute import execute
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import Library, Measurement, Plan
from downbeat.run.trial import check_choices, choices_of, largest_size
from fake_programs import FakeBench

ROW = """printf '{"record":"row","operation":"%s","algorithm":"%s","verdict":"%s"}\\n'"""


def bench_that_counts(directory: Path, verdicts: dict[tuple[str, str], str], status: int = 0) -> FakeBench:
    """Returns a downbeat-bench whose `algorithms` has these verdicts."""
    rows = "; ".join(f"{ROW} {operation} {name} '{verdict}'" for (operation, name), verdict in verdicts.items())
    return FakeBench(directory, f'if [ "$1" = algorithms ]; then {rows or ":"}; exit {status}; fi')


def plan_of(library: Library, algorithm: str) -> Plan:
    return Plan("test", Measurement(("bcast",), {"sizes": "8", "algorithm": algorithm}), (library,), launches=1)


BCAST = "bcast=default,chain,tree"
RUNS = [
    # option, verdicts, status of counting: refused; the algorithms that are doubtful
    (BCAST, ("in force", "in force"), 0, False, ""),
    (BCAST, ("in force", "cannot tell"), 0, False, "bcast tree"),
    (BCAST, ("cannot tell", "cannot tell"), 0, False, "bcast chain, tree"),
    (BCAST, ("ignored", "ignored"), 0, True, ""),
    ("bcast=2", ("ignored", "ignored"), 0, True, ""),
    (BCAST, ("refused", "in force"), 0, False, ""),  # the launch says why
    (BCAST, ("in force", "in force"), 1, False, "not be counted"),
]


@pytest.mark.parametrize(("option", "verdicts", "status", "refused", "doubtful"), RUNS)
def test_what_counting_shows(
    tmp_path: Path, option: str, verdicts: tuple[str, str], status: int, refused: bool, doubtful: str
) -> None:
    counted = dict(zip((("bcast", "chain"), ("bcast", "tree")), verdicts, strict=True))
    fake = bench_that_counts(tmp_path / "fake", {("bcast", "default"): "in force", **counted}, status)
    plan = plan_of(fake.library(), option)
    where = tmp_path / "experiment"
    if refused:
        with pytest.raises(UsageError):
            execute(plan, where)
        assert not where.exists()
        assert [arguments.split()[0] for _, _, arguments in fake.starts()] == ["algorithms"]
        return
    assert not execute(plan, where).lacking
    found = [one.seen for one in open_experiment(where).machine if one.check == "algorithms"]
    assert len(found) == (1 if doubtful else 0)
    assert all(doubtful in seen for seen in found)


def test_what_cannot_be_counted_in_one_launch_is_said(tmp_path: Path) -> None:
    fake = bench_that_counts(tmp_path / "fake", {("bcast", "chain"): "ignored"})
    for fixed in ("*", "bcast"):
        (finding,) = check_choices(plan_of(fake.library(fixed_at_start=(fixed,)), BCAST))
        assert finding.seen.endswith("bcast chain, tree")
    assert fake.starts() == []
    with pytest.raises(UsageError):
        check_choices(plan_of(fake.library(fixed_at_start=("allgatherv",)), BCAST))


def test_options_in_words() -> None:
    assert choices_of({}) == {}
    assert choices_of({"algorithm": "reduce=linear,default,in-order,bcast=chain", "barrier-algorithm": "tree"}) == {
        "reduce": ["linear", "in_order"],
        "bcast": ["chain"],
        "barrier": ["tree"],
    }
    sizes = {"": 65536, "8": 8, "4": 8, "512,8K": 8192, "8:1M": 65536, "1000:2001": 2000}
    assert {text: largest_size(text) for text in sizes} == sizes
