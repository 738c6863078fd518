"""Lists are split as downbeat-bench splits them, wherever downbeat does."""

from __future__ import annotations

from pathlib import Path

import downbeat
import pytest
from downbeat.comparison.conditions import parse_conditions
from downbeat.errors import UsageError
from downbeat.run.bench_options import operations_of
from downbeat.run.plan import Measurement, portions_of
from downbeat.text import split_list
from downbeat.tune.target import parse_ranks
from launch_files import Cell, write_launch

NESTED = "my_op(a,f(x),g(h(1,2),3))"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b", ["a", "b"]),
        ("a(x=1,o=b(y=2,z=3)),c", ["a(x=1,o=b(y=2,z=3))", "c"]),
        (f"{NESTED}, bcast", [NESTED, "bcast"]),
        ("a,", ["a", ""]),
        ("", [""]),
        ("a(x,b", ["a(x,b"]),
        ("a),b", ["a)", "b"]),
    ],
)
def test_commas_in_parentheses_part_nothing(text: str, words: list[str]) -> None:
    assert split_list(text) == words


def test_compare_selects_operations_with_nested_parentheses(tmp_path: Path) -> None:
    assert parse_conditions(f"operation={NESTED},size=8") == {"operation": NESTED, "size": "8"}
    for number in range(3):
        cells = [
            Cell([[0.0, 0.0]] * 3, [[took + number, took + number]] * 3, operation=name)
            for name, took in ((NESTED, 10.0), ("bcast", 20.0))
        ]
        write_launch(tmp_path / f"{number}.nc", cells)
    found = downbeat.compare(
        downbeat.open_experiment(tmp_path),
        where_a=parse_conditions(f"operation={NESTED}"),
        where_b=parse_conditions("operation=bcast"),
    )
    assert found.attrs["where_a"] == {"operation": NESTED}
    assert found["ratio"].item() == pytest.approx((20 * 21 * 22 / (10 * 11 * 12)) ** (1 / 3))


def test_a_request_splits_operations_as_downbeat_bench_does() -> None:
    assert operations_of("operations", [f"{NESTED},bcast", "./my_op.so(a,f(x))"], Path("/base")) == (
        NESTED,
        "bcast",
        "/base/my_op.so(a,f(x))",
    )
    assert operations_of("operations", "./a.so,./b.so", Path("/base")) == ("/base/a.so", "/base/b.so")
    for text in ("bcast,", ",", " "):
        with pytest.raises(UsageError, match="not empty"):
            operations_of("operations", text, Path("/base"))


def test_portions_keep_nested_parentheses_whole() -> None:
    # The synchronizer whose own comma stands two parentheses deep calls no MPI_Barrier, as a whole or in pieces.
    sync = "own(f(x),g(h(1,mpi_barrier),2)),harmonize(after=mpi_barrier)"
    portions = portions_of(Measurement((NESTED,), {"sync": sync, "barrier-algorithm": "1,2"}), ("*",))
    assert [(one.operations, one.options["sync"]) for one in portions] == [
        ((NESTED,), sync),
        ((NESTED,), "harmonize(after=mpi_barrier)"),
    ]


def test_ranks_are_a_list() -> None:
    assert parse_ranks("2, 4") == (2, 4)
