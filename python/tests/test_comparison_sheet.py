"""What a comparison shows: outputs as they are, facts with their numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import downbeat
import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import conclusion, open_lines
from downbeat.comparison.questions import against_start
from downbeat.comparison.sheet import comparison_sheet
from downbeat.report.findings import barrier_facts, headline
from downbeat.statistics.verdicts import NOT_AMONG_MANY, NOT_SIGNIFICANT
from report_data import barrier_cells, write_experiment
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


def test_the_text_and_the_markdown_say_the_same() -> None:
    frame = compared_of(
        cell(verdict="equivalent", slow_b=3, slow_p_value=0.25),
        notes=["A and B differ in much"],
    )
    sheet = comparison_sheet(frame)
    assert sheet.text() == [
        "new against old, 1 cell: 1 equivalent.",
        "",
        "  metric  latency_avg in us: time in the operation, mean over ranks (OSU's",
        "          average latency, t_avg)",
        "          median of a launch, the typical launch",
        "  A       before, variant=old, 10 launches",
        "  B       after, variant=new, 10 launches",
        "  ratio   new / old",
        "          pairs of launches, 95 % interval; Holm's correction for 3 cells;",
        "          equivalent: within 2 % of 1",
        "",
        "operation  size     old    new  ratio     interval  new is",
        "bcast         8   2.000  1.000  0.500  0.400-0.600  equivalent",
        "",
        "slow launches (1.3 times typical): bcast 8, new 3, old 0 of 10 (p = 0.25)",
        "A and B differ in much",
        "10 launches: other times may differ; up to 26 % of launches may be slow, unseen",
        "  (docs/statistics.md)",
    ]
    markdown = sheet.markdown()
    assert markdown[2:5] == [
        "| operation | size | old | new | ratio | interval | new is |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| bcast | 8 | 2.000 | 1.000 | 0.500 | 0.400-0.600 | equivalent |",
    ]
    # What lands in a pull request or a notebook has notes and the unseen share, too.
    for said in ("A and B differ in much", "up to 26 % of launches"):
        assert said in "\n".join(markdown) and said in sheet.html()


def test_a_call_after_two_synchronizers_reads_lower_or_higher() -> None:
    cells = [cell(verdict=verdict) for verdict in ("faster", "slower", "equivalent")]
    frame = compared_of(*cells, where_a=COMMON_START, where_b=BARRIER)
    words = ["reads lower", "reads higher", "equivalent"]
    assert [frame.word(each) for each in ("faster", "slower", "equivalent")] == words
    assert compared_of(*cells).word("slower") == "slower"
    assert comparison_sheet(frame).fields["verdict"].heading == "after mpi_barrier"


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
    lines = open_lines(frame)
    assert [line.rpartition(": ")[2] for line in lines[:-1]] == ["bcast 256", "bcast 512"]
    assert [int(one) for one in re.findall(r"\d+", lines[-1])] == [3, 1, 40, 5, 2, 2, 30]  # 1 by Holm's correction


def test_synchronizers_are_side_by_side() -> None:
    frame = compared_of(
        cell(library="some"),
        cell(library="some", synchronizer="mpi_barrier", verdict="slower", ratio=2.0),
        cell(library="some", size=16),
    )
    assert [line.split() for line in comparison_sheet(frame).table()[0]] == [
        ["harmonize", "mpi_barrier"],
        ["operation", "size", "old", "new", "ratio", "new", "is", "old", "new", "ratio", "new", "is"],
        ["bcast", "8", "2.000", "1.000", "0.500", "faster", "2.000", "1.000", "2.000", "slower"],
        ["bcast", "16", "2.000", "1.000", "0.500", "faster"],
    ]


def test_a_single_block_keeps_its_columns_however_wide_its_labels() -> None:
    cells = [cell(operation="x" * 38, library=library) for library in ("openmpi", "mpich")]
    lines = comparison_sheet(compared_of(*cells)).table()[0]
    assert [line.split() for line in lines if "interval" in line] == [
        ["size", "old", "new", "ratio", "interval", "new", "is"]
    ]
    assert sum("x" * 38 in line for line in lines) == 2  # a heading above the row of each library


@pytest.mark.parametrize(
    ("cells", "about", "key", "values"),
    [
        ([cell(), cell()], {}, "times_as_fast", {"a": "new", "b": "old", "ratio": 2.0, "cells": 2}),
        ([cell(verdict="slower", ratio=2.0)], {"where_a": {}}, "times_as_fast", {"a": "before", "b": "after"}),
        ([cell()], {"metric": "exit_skew"}, "times_that", {"ratio": 0.5}),
        ([cell()], {"where_a": COMMON_START, "where_b": BARRIER}, "reads", {"ratio": 0.5, "b": "mpi_barrier"}),
        ([cell(verdict="undecided", ratio=7.0)], {}, "verdicts", {"cells": 1}),
        ([cell(), cell(verdict="undecided")], {}, "verdicts", {"cells": 2}),
        ([cell(), cell(verdict="slower", ratio=2.0)], {}, "verdicts", {"cells": 2}),
    ],
)
def test_a_ratio_over_cells_takes_one_verdict_on_all(
    cells: list[dict[str, object]], about: dict[str, object], key: str, values: dict[str, object]
) -> None:
    (said,) = conclusion(compared_of(*cells, **about))
    assert said.key == key
    assert {name: said.values[name] for name in values} == pytest.approx(values)
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
    counts = Counter(frame["verdict"])
    if said.key == "verdicts":
        found = {one["verdict"]: one for one in said.values["found"]}
        assert {verdict: one["cells"] for verdict, one in found.items()} == counts
        assert all(one["ranged"] == (verdict in ("faster", "slower")) for verdict, one in found.items())
        assert "faster" not in found or found["faster"]["high"] < 1
        assert "slower" not in found or found["slower"]["low"] > 1
    else:
        assert counts == {"faster" if float(str(said.values["ratio"])) < 1 else "slower": len(frame)}
        assert not float(str(said.values["low"])) <= 1 <= float(str(said.values["high"]))
    assert comparison_sheet(frame).text()[0] in str(said)


@pytest.mark.parametrize("seed", range(6))
def test_the_report_and_compare_have_the_same_verdicts(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    launches = int(random.choice([4, 5, 10]))
    deltas = random.choice([0.8, 1.0, 1.3]) * np.exp(random.normal(0, random.choice([0.003, 0.1]), launches))
    experiment = write_experiment(tmp_path, [barrier_cells(1, delta) for delta in deltas])
    frame = downbeat.compare(experiment, where_a=COMMON_START, where_b=BARRIER)
    judged = against_start(experiment)
    assert [one.comparison.verdict for one in judged] == list(frame["verdict"])
    assert [one.comparison.ratio.low for one in judged] == pytest.approx(list(frame["ratio_low"]), rel=1e-15)
    counts = Counter(frame["verdict"]) if launches >= 5 else Counter()
    for said in (headline(judged), *barrier_facts(judged)):
        assert {name: said.values[name] for name in ("faster", "slower", "equivalent", "undecided")} == {
            name: counts[name] for name in ("faster", "slower", "equivalent", "undecided")
        }
