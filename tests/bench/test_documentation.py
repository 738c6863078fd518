"""The documentation describes components as the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ONE_LIBRARY, Bench

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
