"""The other commands accept what `downbeat-bench list` lists, and the documentation describes it so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ONE_LIBRARY, Bench, run_bench

pytestmark = pytest.mark.shared

KINDS = [
    "scheme",
    "offset",
    "clock",
    "slack",
    "published",
    "operation",
    "algorithm",
    "synchronizer",
    "timing",
    "pattern",
    "stopping",
    "warmup",
    "metric",
    "field",
    "sample",
    "attribute",
    "format",
]


def to_number(text: str) -> float:
    """Returns the number that a parameter is given as, seconds where it is a duration."""
    for unit, seconds in {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * seconds
    return float(text)


@pytest.fixture(scope="module")
def parts(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Returns all parts as JSON has them."""
    outcome = run_bench(mpi, tmp_path_factory.mktemp("list"), "list", "--format", "json", ranks=0)
    assert outcome.status == 0
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_all_kinds_are_listed(bench: Bench, parts: list[dict[str, Any]]) -> None:
    assert list(dict.fromkeys(part["kind"] for part in parts)) == KINDS
    table = bench("list").stdout.splitlines()
    assert [line.split(":")[0] for line in table if line and not line.startswith(" ")] == KINDS
    assert all(len(line) <= 80 for line in table)
    for part in parts:
        name = part.get("collective") or part["name"]
        assert any(line.startswith(f"  {name} ") for line in table)


def test_operations_tell_what_they_call(bench: Bench) -> None:
    lines = bench("list", "operation", "--format", "json").stdout.splitlines()
    parts = {part["name"]: part for part in map(json.loads, lines)}
    assert parts["igather"]["call"] == "MPI_Igather, MPI_Wait"
    assert parts["gather_init"]["call"] in (f"{prefix}_Gather_init; MPI_Start, MPI_Wait" for prefix in ("MPI", "MPIX"))
    assert {parts[name]["collective"] for name in ("gather", "igather", "gather_init")} == {"gather"}
    assert parts["gather"]["size_meaning"] == "from each rank"
    assert parts["barrier"]["size_meaning"] == ""
    gather = bench("list", "operation").stdout.partition("\n  gather ")[2].partition("\n  igather ")[0]
    assert "bytes: from each rank" in " ".join(gather.split())


def test_parameters_are_complete(parts: list[dict[str, Any]]) -> None:
    listed = [parameter for part in parts for parameter in part["parameters"]]
    assert listed
    for parameter in listed:
        assert parameter["meaning"]
        if "kind" in parameter:
            kind = [part["name"] for part in parts if part["kind"] == parameter["kind"]]
            assert parameter["default"].split("(")[0] in [*kind, *parameter["meaning"].replace(",", "").split()]
        elif "choices" in parameter:
            assert parameter["default"] in [*parameter["choices"], "auto"]
        elif "low" in parameter:
            assert parameter["low"] < parameter["high"]
            if parameter["default"] != "auto":
                assert parameter["low"] <= to_number(parameter["default"]) <= parameter["high"]


DOCS = Path(__file__).resolve().parents[2] / "docs"


def plain(markdown: str) -> str:
    """Returns text without links and backticks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").strip()


def table(page: str, heading: str) -> dict[str, list[str]]:
    """Returns the cells of the table with this first heading, by the first cell of each row."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"(?m)^\| {re.escape(heading)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)
    assert found, f"{page} has no table '{heading}'"
    rows = [[plain(cell) for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    return {row[0]: row[1:] for row in rows}


@ONE_LIBRARY
@pytest.mark.parametrize(
    ("page", "heading", "kind"),
    [
        ("clocks.md", "`DOWNBEAT_CLOCK`", "clock"),
        ("clocks.md", "scheme", "scheme"),
        ("clocks.md", "estimator", "offset"),
        ("downbeat-bench.md", "synchronizer", "synchronizer"),
        ("downbeat-bench.md", "timing scheme", "timing"),
        ("downbeat-bench.md", "stopping rule (`--stop`)", "stopping"),
        ("downbeat-bench.md", "warm-up rule (`--warmup`)", "warmup"),
    ],
)
def test_components_are_described_as_list_does(bench: Bench, page: str, heading: str, kind: str) -> None:
    listed = [json.loads(line) for line in bench("list", kind, "--format", "json").stdout.splitlines()]
    documented = table(page, heading)
    assert set(documented) == {component["name"] for component in listed}
    for component in listed:
        cells = documented[component["name"]]
        assert cells[0].startswith(component["summary"]), component["name"]
        if kind in ("scheme", "offset"):
            assert cells[-1] == component["source"], component["name"]
