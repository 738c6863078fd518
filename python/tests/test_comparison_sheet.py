"""What a comparison shows: outputs as they are, facts with their numbers."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import conclusion, open_cells, step_of
from downbeat.output.blocks import Table
from downbeat.output.facts.comparison import Conclusion
from downbeat.output.markdown import markdown_lines
from downbeat.output.terminal import layout, view_lines
from downbeat.output.words import long
from downbeat.report.compared import contrast_of
from downbeat.report.findings import comparison_facts
from downbeat.statistics.verdicts import NOT_AMONG_MANY, NOT_SIGNIFICANT
from downbeat.views.comparison import comparison_view
from report_data import barrier_cells, write_experiment
from snapshots import check_snapshot
from test_compare import rows

ABOUT: dict[str, object] = {
    "metric": "latency_avg",
    "statistic": "median",
    "name_a": "before",
    "name_b": "after",
    "where_a": {"variant": "old"},
    "where_b": {"variant": "new"},
    "margin": 0.02,
    "confidence": 0.95,
    "paired": True,
    "tests": 3,
    "assumes": "",
    "history": [],
    "history_is_a": False,
    "notes": [],
    "span": math.nan,
    "shares": [],
    "overall": None,
}
COMMON_START, BARRIER = {"synchronizer": "harmonize"}, {"synchronizer": "mpi_barrier"}


def cell(**values: object) -> dict[str, object]:
    """Returns a cell that is faster, but for what is given."""
    usual: dict[str, object] = {
        "operation": "bcast",
        "size": 8,
        "synchronizer": "harmonize",
        "a": 2e-6,
        "b": 1e-6,
        "ratio": 0.5,
        "ratio_low": 0.4,
        "ratio_high": 0.6,
        "verdict": "faster",
        "reason": "a significant difference",
        "launches_a": 10,
        "launches_b": 10,
        "detectable_ratio": 1.1,
        "launches_needed": 20.0,
        "launches_alike": 30.0,
        "sessions": math.nan,
        "session_deviation": math.nan,
        "slow_a": 0,
        "slow_b": 0,
        "slow_p_value": 1.0,
    }
    return usual | values


def compared_of(*cells: dict[str, object], **about: object) -> Compared:
    """Returns a comparison, as `compare` does."""
    frame = pd.DataFrame(list(cells))
    frame.attrs.update(ABOUT | about)
    return Compared.of(frame)


def open_cell(reason: str, low: float, high: float, **values: object) -> dict[str, object]:
    """Returns an undecided cell."""
    return cell(
        verdict="undecided", reason=reason, ratio=math.sqrt(low * high), ratio_low=low, ratio_high=high, **values
    )


def tables_of(frame: Compared) -> list[Table]:
    return [block for block in comparison_view(frame).blocks if isinstance(block, Table)]


def test_the_text_and_the_markdown_are_those_of_the_snapshots() -> None:
    frame = compared_of(
        cell(verdict="equivalent", slow_b=3, slow_p_value=0.25),
        cell(synchronizer="mpi_barrier", verdict="slower", ratio=2.0),
        notes=["A and B differ in much"],
    )
    view = comparison_view(frame)
    check_snapshot("comparison", view_lines(view))
    check_snapshot("comparison-markdown", markdown_lines(view))


def test_a_call_after_two_synchronizers_reads_lower_or_higher() -> None:
    cells = [cell(verdict=verdict) for verdict in ("faster", "slower", "equivalent")]
    frame = compared_of(*cells, where_a=COMMON_START, where_b=BARRIER)
    words = ["reads lower", "reads higher", "equivalent"]
    assert [frame.word(each) for each in ("faster", "slower", "equivalent")] == words
    assert compared_of(*cells).word("slower") == "slower"


def test_columns_are_headed_by_values_that_are_short() -> None:
    assert compared_of(cell()).heads == ("old", "new")
    assert compared_of(cell(), where_b={"variant": "x" * 15}).heads == ("A", "B")
    two = {"variant": "old", "size": 8}
    assert compared_of(cell(), where_a=two, where_b=two).heads == ("A", "B")


def test_what_is_undecided_has_its_reason() -> None:
    frame = compared_of(
        cell(),
        open_cell(NOT_SIGNIFICANT, 0.9, 1.1, size=16, detectable_ratio=1.08, launches_needed=30.0),
        open_cell(NOT_SIGNIFICANT, 0.9, 1.1, size=32, detectable_ratio=1.2, launches_needed=90.0),
        open_cell(NOT_AMONG_MANY, 1.01, 1.1, size=64, detectable_ratio=1.1, launches_needed=40.0),
        open_cell("launches: 4, 5 are needed", 1.01, 1.1, size=256, detectable_ratio=math.nan),
        cell(verdict="unmatched", reason="only in A", size=512, detectable_ratio=math.nan),
    )
    assert [each.cells for each in open_cells(frame)] == [("bcast 256",), ("bcast 512",)]
    (step,) = step_of(frame)
    assert (step.cells, step.by_holm, step.needed, step.shown, step.equal) == (3, 1, 40, 2, 30)


def test_cells_from_a_common_start_are_first() -> None:
    frame = compared_of(
        cell(library="some"),
        cell(library="some", synchronizer="mpi_barrier", verdict="slower", ratio=2.0),
        cell(library="some", size=16),
    )
    answer, others = tables_of(frame)
    assert (list(answer.frame["size"]), list(others.frame["verdict"])) == ([8, 16], ["slower"])
    (said,) = conclusion(frame)
    assert isinstance(said, Conclusion)
    assert (said.cells, said.count("faster")) == (2, 2)


def test_a_single_block_keeps_its_columns_however_wide_its_labels() -> None:
    cells = [cell(operation="x" * 38, library=library) for library in ("openmpi", "mpich")]
    lines = layout(tables_of(compared_of(*cells))[0])[0]
    assert [line.split() for line in lines if "interval" in line] == [
        ["size", "old", "new", "ratio", "interval", "new", "is"]
    ]
    assert sum("x" * 38 in line for line in lines) == 2  # a heading above the row of each library


@pytest.mark.parametrize(
    ("cells", "about", "values"),
    [
        ([cell(), cell()], {}, {"a": "old", "b": "new", "ratio": 0.5, "cells": 2}),
        ([cell(verdict="slower", ratio=2.0)], {"where_a": {}}, {"a": "before", "b": "after", "ratio": 2.0}),
        ([cell()], {"metric": "exit_skew"}, {"ratio": 0.5, "is_time": False}),
        ([cell()], {"where_a": COMMON_START, "where_b": BARRIER}, {"ratio": 0.5, "b": "mpi_barrier", "readings": True}),
        ([cell(verdict="undecided", ratio=7.0)], {}, {"cells": 1, "ratio": math.nan}),
        ([cell(), cell(verdict="undecided")], {}, {"cells": 2, "ratio": math.nan}),
        ([cell(), cell(verdict="slower", ratio=2.0)], {}, {"cells": 2, "ratio": math.nan}),
    ],
)
def test_a_ratio_over_cells_takes_one_verdict_on_all(
    cells: list[dict[str, object]], about: dict[str, object], values: dict[str, object]
) -> None:
    (said,) = conclusion(compared_of(*cells, **about))
    assert {name: getattr(said, name) for name in values} == pytest.approx(values, nan_ok=True)
    assert long(said)
    assert conclusion(compared_of(cell(verdict="unmatched"))) == []


def drawn_cells(random: np.random.Generator) -> pd.DataFrame:
    """Returns cells after two synchronizers, of some launches, some effects and some noise."""
    launches = int(random.choice([4, 5, 10, 20]))
    noise = random.choice([0.002, 0.02, 0.2])
    effects = random.choice([0.7, 0.97, 1.0, 1.03, 1.4], size=random.integers(1, 5))
    parts = []
    for place, effect in enumerate(effects):
        for name, factor in (("harmonize", 1.0), ("mpi_barrier", effect)):
            medians = factor * np.exp(random.normal(0, noise, launches))
            parts.append(rows(medians, size=8 << place, synchronizer=name))
    return pd.concat(parts)


@pytest.mark.parametrize("seed", range(60))
def test_the_first_sentence_claims_what_the_verdicts_say(seed: int) -> None:
    frame = downbeat.compare(drawn_cells(np.random.default_rng(seed)), where_a=COMMON_START, where_b=BARRIER)
    (said,) = conclusion(Compared.of(frame))
    assert isinstance(said, Conclusion)
    assert {each.verdict: each.cells for each in said.counts} == Counter(frame["verdict"])
    assert all(each.high < 1 for each in said.counts if each.verdict == "faster")
    assert all(each.low > 1 for each in said.counts if each.verdict == "slower")
    if not math.isnan(said.ratio):
        assert set(frame["verdict"]) == {"faster" if said.ratio < 1 else "slower"}
        assert not said.low <= 1 <= said.high


@pytest.mark.parametrize("seed", range(6))
def test_the_report_and_compare_have_the_same_verdicts(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    launches = int(random.choice([4, 5, 10]))
    deltas = random.choice([0.8, 1.0, 1.3]) * np.exp(random.normal(0, random.choice([0.003, 0.1]), launches))
    experiment = write_experiment(tmp_path, [barrier_cells(1, delta) for delta in deltas])
    frame = downbeat.compare(experiment, where_a=COMMON_START, where_b=BARRIER)
    (table,) = contrast_of(experiment).tables.values()
    assert list(table.verdicts.verdict) == list(frame["verdict"])
    assert table.verdicts.ratio_low == pytest.approx(frame["ratio_low"].to_numpy(), rel=1e-15)
    (said,) = comparison_facts(contrast_of(experiment))
    assert isinstance(said, Conclusion)
    assert {each.verdict: each.cells for each in said.counts} == Counter(frame["verdict"])
