"""The documentation describes components, variables of files and metrics as the program does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import pytest
from conftest import ONE_LIBRARY, Bench, run_bench

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytestmark = [ONE_LIBRARY, pytest.mark.shared]


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
    outcome = run_bench(mpi, directory, *arguments, "-o", "out.nc")
    assert outcome.status == 0, outcome.stderr
    listed = run_bench(mpi, directory, "list", "field", "metric", "--format", "json", ranks=1)
    return Run(directory, [json.loads(line) for line in listed.stdout.splitlines()])


def documented(heading: str) -> list[list[str]]:
    """Returns the cells of the first table below a heading, row by row."""
    section = (DOCS / "bench-files.md").read_text(encoding="utf-8").split(f"\n{heading}\n")[1]
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
