"""Fields have one name: in the program, in every kind of file, and in the documentation."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import pytest
from conftest import ONE_LIBRARY, ROOT, Bench, read_records, run_bench

pytestmark = ONE_LIBRARY

DOCUMENT = (ROOT / "docs/bench-files.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Run:
    """The files of one run, and what the program lists."""

    directory: Path
    parts: list[dict[str, Any]]

    def listed(self, kind: str) -> dict[str, dict[str, Any]]:
        return {part["name"]: part for part in self.parts if part["kind"] == kind}


@pytest.fixture(scope="module")
def run(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with computation, which has variables of its own."""
    directory = tmp_path_factory.mktemp("run")
    arguments = ["ibcast(compute=5us)", "-m", "8", "-r", "3", "--warmup", "1", "--sync", "mpi_barrier", "-q"]
    outcome = run_bench(mpi, directory, *arguments, "-o", "out.nc", "-o", "out.csv", "-o", "out.json")
    assert outcome.status == 0, outcome.stderr
    listed = run_bench(mpi, directory, "list", "field", "metric", "--format", "json", ranks=1)
    return Run(directory, [json.loads(line) for line in listed.stdout.splitlines()])


def documented(heading: str) -> list[list[str]]:
    """Returns the cells of the first table below a heading, row by row."""
    section = DOCUMENT.split(f"\n{heading}\n")[1]
    table = re.search(r"(?m)^\|.*\n\|-.*\n((?:\|.*\n)+)", section)
    assert table
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]


def test_every_variable_is_documented_with_its_dimensions_or_listed_and_none_else(run: Run) -> None:
    found: dict[str, tuple[str, ...]] = {}
    for variables, dimensions, _ in documented("## netCDF (`.nc`)"):
        found |= {name: tuple(dimensions.split(", ")) for name in re.findall(r"`([^`]+)`", variables)}
    assert found.pop("<metric>_<statistic>") == ("cell",)
    metrics = tuple(f"{name}_" for name in run.listed("metric"))
    with netCDF4.Dataset(run.directory / "out.nc") as file:
        assert found == {
            name: tuple(one for one in variable.dimensions if not one.endswith("_len"))
            for name, variable in file.variables.items()
            if not name.startswith(metrics) and name not in run.listed("field")
        }


def test_every_metric_is_documented_with_its_bounds_and_none_else(run: Run) -> None:
    rows = documented("## Metrics")
    found = {name: int(bounds) for names, _, bounds in rows for name in re.findall(r"`([^`]+)`", names)}
    assert found == {name: part["error_bounds"] for name, part in run.listed("metric").items()}


def test_fields_have_one_name_unit_and_meaning_in_all_files(run: Run) -> None:
    fields = run.listed("field")
    metrics = run.listed("metric")
    context, cell, *_ = read_records(run.directory / "out.json")
    assert set(cell) - {"schema_version", "record", "cell", "metrics"} == set(fields)
    assert set(cell["metrics"]) == set(context["metrics"]) == set(metrics)
    statistics = set(cell["metrics"]["makespan"]) - {"unit", "error_bound"}
    said = {name: (one["unit"], one["summary"]) for name, one in fields.items()}
    assert {name: (one["unit"], one["meaning"]) for name, one in context["variables"].items()} == said
    for name, metric in metrics.items():
        assert context["metrics"][name] == {
            "unit": metric["unit"],
            "meaning": metric["summary"],
            "error_bounds": metric["error_bounds"],
        }
    with netCDF4.Dataset(run.directory / "out.nc") as file:
        for name, (unit, meaning) in said.items():
            assert (getattr(file[name], "units", ""), file[name].long_name) == (unit, meaning)
        of_cells = {name for name, one in file.variables.items() if one.dimensions[0] == "cell"} - {"timed"}
    assert of_cells == set(fields) | {f"{name}_{statistic}" for name in metrics for statistic in statistics}
    with (run.directory / "out.csv").open() as file:
        header = next(csv.reader(file))
    units = {f"{name}_{unit}" if unit else name for name, (unit, _) in said.items()}
    assert set(header) >= units | {"cell", "makespan_median_s", "makespan_effective"}
    assert len(header) == len(set(header)) == 1 + len(of_cells)


def test_the_list_shows_units(bench: Bench) -> None:
    lines = bench("list", "field", ranks=1).stdout.splitlines()
    assert any(
        re.fullmatch(r"  largest_delay \[s\] +largest delay of the pattern, as requested", line) for line in lines
    )
