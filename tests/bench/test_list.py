"""The other commands accept what `downbeat-bench list` lists."""

from __future__ import annotations

import json
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
    outcome = run_bench(mpi, tmp_path_factory.mktemp("list"), "list", "--format", "json")
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


@ONE_LIBRARY
def test_one_kind(bench: Bench) -> None:
    lines = bench("list", "operation", "--format", "json").stdout.splitlines()
    parts = [json.loads(line) for line in lines]
    assert {part["kind"] for part in parts} == {"operation"}
    assert {"barrier", "ibarrier", "barrier_init", "nothing", "synthetic"} <= {part["name"] for part in parts}


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


def test_what_the_papers_describe_is_there(parts: list[dict[str, Any]]) -> None:
    names = {kind: {part["name"] for part in parts if part["kind"] == kind} for kind in KINDS}
    assert names["scheme"] >= {
        "skampi",
        "netgauge",
        "jk",
        "hca",
        "hca2",
        "hca3",
        "hca3_offset",
        "hierarchical",
        "cristian",
    }
    assert names["offset"] >= {"skampi", "netgauge", "mean_rtt", "cristian", "best_rtt"}


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


@ONE_LIBRARY
def test_a_number_beyond_its_range_is_refused_and_the_range_named(bench: Bench, parts: list[dict[str, Any]]) -> None:
    hca3 = next(part for part in parts if part["kind"] == "scheme" and part["name"] == "hca3")
    fit = next(parameter for parameter in hca3["parameters"] if parameter["name"] == "fit")
    outcome = bench("clock", "--schemes", f"hca3(fit={fit['low'] - 1:.0f})")
    assert outcome.status == 2
    assert f"from {fit['low']:.0f} to {fit['high']:.0f}" in outcome.own_lines[0]


def test_no_launcher_is_needed(mpi: str, tmp_path: Path) -> None:
    outcome = run_bench(mpi, tmp_path, "list", "scheme", ranks=0)
    assert outcome.status == 0
    assert "hca3_offset" in outcome.stdout
