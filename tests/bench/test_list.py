"""The other commands accept what `downbeat-bench list` lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Bench, run_bench

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
    row = next(line for line in bench("list", "operation").stdout.splitlines() if line.startswith("  gather "))
    assert row.split() == ["gather", "from", "each", "rank", "yes", "yes", "yes"]


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
