"""The words of a comparison: what a cell is called, what its sides are, and why it is undecided."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from downbeat.comparison.table import (
    cell_table,
    cell_texts,
    conclusion,
    describe,
    history,
    legend,
    markdown,
    method,
    names_of,
    percent,
    ratio_line,
    side,
    summary,
    undecided,
    verdict_head,
    verdict_word,
)
from downbeat.statistics.modes import unseen_text
from downbeat.statistics.verdicts import NOT_AMONG_MANY, NOT_SIGNIFICANT

TOO_FEW = "launches: 4, 5 are needed"
NOT_CONFIRMED = "the rank test does not confirm the difference"
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
        "sessions": math.nan,
        "session_deviation": math.nan,
    }
    return usual | values


def frame_of(*cells: dict[str, object], **about: object) -> pd.DataFrame:
    """Returns a comparison, as `compare` does."""
    frame = pd.DataFrame(list(cells))
    frame.attrs.update(ABOUT | about)
    return frame


def open_cell(reason: str, low: float, high: float, **values: object) -> dict[str, object]:
    """Returns an undecided cell."""
    return cell(
        verdict="undecided", reason=reason, ratio=math.sqrt(low * high), ratio_low=low, ratio_high=high, **values
    )


@pytest.mark.parametrize("reason", [NOT_SIGNIFICANT, NOT_AMONG_MANY, NOT_CONFIRMED, TOO_FEW])
@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (1.01, 1.1), (0.9, 0.99)])
def test_a_cell_without_a_verdict_is_undecided(reason: str, low: float, high: float) -> None:
    """One word, in Python, in every table and in the counts; the reason is in the lines below."""
    frame = frame_of(open_cell(reason, low, high))
    assert verdict_word(frame, frame.iloc[0]) == frame["verdict"].iloc[0] == "undecided"
    assert "1 undecided" in describe(frame)[0]
    assert undecided(frame)[0].startswith("undecided, ")


def test_after_two_synchronizers_a_call_reads_lower_or_higher() -> None:
    cells = [cell(verdict=verdict) for verdict in ("faster", "slower", "equivalent")]
    frame = frame_of(*cells, where_a=COMMON_START, where_b=BARRIER)
    assert [verdict_word(frame, row) for _, row in frame.iterrows()] == ["reads lower", "reads higher", "equivalent"]
    assert verdict_head(frame) == "after mpi_barrier"
    assert summary(frame) == "3 cells: 1 reads lower, 1 reads higher, 1 equivalent, 0 undecided (after mpi_barrier)"
    two = frame_of(cells[0], cells[0], where_a=COMMON_START, where_b=BARRIER)
    assert summary(two).startswith("2 cells: 2 read lower, 0 read higher")
    variants = frame_of(*cells)
    assert [verdict_word(variants, row) for _, row in variants.iterrows()] == ["faster", "slower", "equivalent"]
    assert verdict_head(variants) == "new is"
    assert summary(variants) == "3 cells: 1 faster, 1 slower, 1 equivalent, 0 undecided (B against A)"


def test_cells_without_a_partner_are_counted_where_there_are_some() -> None:
    frame = frame_of(cell(verdict="unmatched", reason="only in A"))
    assert summary(frame) == "1 cell: 0 faster, 0 slower, 0 equivalent, 0 undecided, 1 unmatched (B against A)"


def test_columns_are_headed_by_values_that_are_short() -> None:
    assert names_of(frame_of(cell())) == ("old", "new")
    long = {"variant": "x" * 14}
    assert names_of(frame_of(cell(), where_a=long)) == ("x" * 14, "new")
    longer = {"variant": "x" * 15}
    assert names_of(frame_of(cell(), where_a=longer)) == ("A", "B")
    assert names_of(frame_of(cell(), where_b=longer)) == ("A", "B")
    two = {"variant": "old", "size": 8}
    assert names_of(frame_of(cell(), where_a=two, where_b=two)) == ("A", "B")
    assert names_of(frame_of(cell(), where_a={}, where_b={})) == ("A", "B")


def test_the_ratio_is_that_of_the_heads_or_delta() -> None:
    assert ratio_line(frame_of(cell())) == "new / old"
    assert ratio_line(frame_of(cell(), where_a=COMMON_START, where_b=BARRIER)).startswith(
        "barrier / common start (delta"
    )
    assert ratio_line(frame_of(cell(), where_a=BARRIER, where_b=COMMON_START)).startswith("common start / barrier (1 /")
    linear = {"synchronizer": "linear"}
    assert ratio_line(frame_of(cell(), where_a=linear, where_b=BARRIER)) == "mpi_barrier / linear"


def test_the_legend_explains_what_is_there() -> None:
    both = {"where_a": COMMON_START, "where_b": BARRIER}
    reads = "reads lower, higher: the same operation takes less, more time after mpi_barrier than harmonize"
    within = "equivalent: the interval is within 2 % of 1"
    unseen = f"verdicts are on the launches there are: {unseen_text(10)}"
    alone = "; of each cell alone, not corrected for 2 cells"
    assert legend(frame_of(cell(), cell(verdict="equivalent"), **both)) == [reads, within + alone, unseen]
    assert legend(frame_of(cell(verdict="equivalent"), **both)) == [within, unseen]
    assert legend(frame_of(cell(verdict="slower"), **both)) == [reads, unseen]
    assert legend(frame_of(cell(verdict="undecided"))) == []


def test_sides_say_what_they_are() -> None:
    launches = pd.Series([10, 10])
    assert side("one", {"size": 8, "operation": "bcast"}, launches) == "one, size=8, operation=bcast, 10 launches"
    assert side("one", {}, pd.Series([1])) == "one, 1 launch"
    assert side("one", {}, pd.Series([4, 10, 7])) == "one, 4-10 launches"
    assert side("one", {}, pd.Series([1, 2])) == "one, 1-2 launches"
    assert side("one", {}, pd.Series([10]).iloc[:0]) == "one, no launches"
    assert side("one", {}, pd.Series([1]), "session") == "one, 1 session"
    assert side("one", {}, pd.Series([6]), "session") == "one, 6 sessions"


def test_the_method_is_named() -> None:
    assert method(frame_of(cell())) == "pairs of launches, 95 % interval; Holm's correction for 3 cells"
    independent = frame_of(cell(), paired=False, tests=1, confidence=0.99)
    assert method(independent) == "independent launches, 99 % interval; one test"
    assert method(frame_of(cell(), tests=0)) == "pairs of launches, 95 % interval; no test"
    assert method(frame_of(cell(sessions=6))) == "across sessions, 95 % interval; Holm's correction for 3 cells"


def test_a_history_says_how_many_sessions_and_their_deviations() -> None:
    sessions = ["one", "two", "three"]
    some = frame_of(
        cell(sessions=2, session_deviation=0.01), cell(sessions=1, session_deviation=0.025), history=sessions
    )
    assert history(some) == "2 of 3 experiments, which deviate by 1.0 to 2.5 % beyond what launches do"
    alike = frame_of(cell(sessions=3, session_deviation=0.01), history=sessions)
    assert history(alike) == "3 experiments, which deviate by 1.0 % beyond what launches do"
    assert history(frame_of(cell(sessions=1), history=["one"])) == "1 experiment"


def test_what_is_undecided_has_its_reason_and_what_would_help() -> None:
    frame = frame_of(
        cell(),
        open_cell(NOT_SIGNIFICANT, 0.9, 1.1, size=16, detectable_ratio=1.08, launches_needed=30.0),
        open_cell(NOT_SIGNIFICANT, 0.9, 1.1, size=32, detectable_ratio=1.2, launches_needed=90.0),
        open_cell(NOT_AMONG_MANY, 1.01, 1.1, size=64, detectable_ratio=1.1, launches_needed=40.0),
        open_cell(NOT_CONFIRMED, 1.01, 1.1, size=128, detectable_ratio=9.0, launches_needed=900.0),
        open_cell(TOO_FEW, 1.01, 1.1, size=256, detectable_ratio=math.nan, launches_needed=math.nan),
        cell(verdict="unmatched", reason="only in A", size=512, detectable_ratio=math.nan),
    )
    assert undecided(frame) == [
        f"undecided, {NOT_SIGNIFICANT}: 2 cells",
        "undecided, not significant after Holm's correction for 3 cells, although the interval excludes 1: bcast 64",
        f"undecided, {NOT_CONFIRMED}: bcast 128",
        f"undecided, {TOO_FEW}: bcast 256",
        "unmatched, only in A: bcast 512",
        "undecided cells: these launches detect a difference of 8.0 to 20 % with a probability of 90 %; detecting 5 % "
        "takes 30 to 90 launches",
    ]


def test_one_test_is_stricter_than_its_interval() -> None:
    some = undecided(frame_of(open_cell(NOT_SIGNIFICANT, 1.01, 1.1), tests=2))
    assert some[0].startswith("undecided, not significant after Holm's correction for 2 cells, although")
    lines = undecided(frame_of(open_cell(NOT_SIGNIFICANT, 1.01, 1.1), tests=1))
    assert lines[0].startswith("undecided, not significant by a test that is stricter than the interval, although")
    assert lines[1].endswith("detect a difference of 10 % with a probability of 90 %; detecting 5 % takes 20 launches")


def test_more_launches_do_not_make_up_for_sessions() -> None:
    frame = frame_of(open_cell(NOT_SIGNIFICANT, 0.9, 1.1, sessions=6, launches_needed=math.nan))
    assert undecided(frame)[1].startswith("undecided cells: these sessions detect a difference of 10 %")
    assert "measure A and B in one experiment" in undecided(frame)[1]


def test_nothing_open_needs_no_lines() -> None:
    assert undecided(frame_of(cell(), cell(verdict="equivalent"))) == []


def test_percent_has_a_decimal_below_10() -> None:
    assert [percent(ratio) for ratio in (1.05, 1.0994, 1.1001, 1.5, 3.0)] == ["5.0", "9.9", "10", "50", "200"]


def test_texts_of_a_cell_and_of_none() -> None:
    frame = frame_of(cell(), cell(ratio=math.nan, ratio_low=math.nan, ratio_high=math.nan, b=math.nan))
    columns = ("a", "b", "ratio", "interval", "verdict")
    assert cell_texts(frame, frame.iloc[0], columns) == ["2.000", "1.000", "0.500", "0.400-0.600", "faster"]
    assert cell_texts(frame, frame.iloc[1], columns) == ["2.000", "-", "-", "-", "faster"]
    assert cell_texts(frame, None, ("a", "verdict")) == ["", ""]


def test_synchronizers_are_side_by_side() -> None:
    frame = frame_of(
        cell(library="some"),
        cell(library="some", synchronizer="mpi_barrier", verdict="slower", ratio=2.0),
        cell(library="some", size=16),
    )
    assert [line.split() for line in cell_table(frame)] == [
        ["harmonize", "mpi_barrier"],
        ["operation", "size", "old", "new", "ratio", "new", "is", "old", "new", "ratio", "new", "is"],
        ["bcast", "8", "2.000", "1.000", "0.500", "faster", "2.000", "1.000", "2.000", "slower"],
        ["bcast", "16", "2.000", "1.000", "0.500", "faster"],
    ]


def test_columns_go_before_labels_become_headings() -> None:
    cells = [
        cell(library=library, synchronizer=synchronizer)
        for library in ("openmpi", "mpich")
        for synchronizer in ("harmonize", "mpi_barrier")
    ]
    heads = cell_table(frame_of(*cells))[1].split()
    assert heads == ["library", "operation", "size", *["old", "ratio", "new", "is"] * 2]


def test_a_single_block_keeps_its_columns_however_wide_its_labels() -> None:
    cells = [cell(operation="x" * 38, library=library) for library in ("openmpi", "mpich")]
    lines = cell_table(frame_of(*cells))
    assert [line.split() for line in lines if "interval" in line] == [
        ["size", "old", "new", "ratio", "interval", "new", "is"]
    ]
    assert sum("x" * 38 in line for line in lines) == 2  # a heading above the row of each library


def test_the_description_has_all_parts_in_order() -> None:
    frame = frame_of(cell(verdict="equivalent"), notes=["A and B differ in much"], assumes="that launches are alike")
    assert describe(frame) == [
        "1 cell: 0 faster, 0 slower, 1 equivalent, 0 undecided (B against A)",
        "",
        "  metric  latency_avg in us: time in the operation, mean over ranks (OSU's",
        "          average latency)",
        "          median of a launch, geometric mean over launches",
        "  A       before, variant=old, 10 launches",
        "  B       after, variant=new, 10 launches",
        "  ratio   new / old",
        "          pairs of launches, 95 % interval; Holm's correction for 3 cells",
        "  assumes that launches are alike",
        "",
        "operation  size     old    new  ratio     interval  new is",
        "bcast         8   2.000  1.000  0.500  0.400-0.600  equivalent",
        "",
        "equivalent: the interval is within 2 % of 1",
        "verdicts are on the launches there are: 10 launches leave unseen what happens in",
        "  up to 26 % of launches (29 show 10 %, 59 show 5 %), and whether launches are",
        "  correlated",
        "A and B differ in much",
        "",
        "new is 2.00 (1.67 to 2.50) times as fast as old.",
    ]
    assert markdown(frame)[2:] == [
        "| operation | size | old | new | ratio | interval | new is |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| bcast | 8 | 2.000 | 1.000 | 0.500 | 0.400-0.600 | equivalent |",
        "",
        "new is 2.00 (1.67 to 2.50) times as fast as old.",
    ]
    with_history = frame_of(
        cell(sessions=6, launches_a=6), where_a={}, where_b={}, history=["x"] * 6, history_is_a=True
    )
    lines = describe(with_history)
    assert lines[5:8] == ["  A       before, 6 sessions", "  B       after, 10 launches", "  history 6 experiments"]
    assert lines[-5].startswith("verdicts are on the launches there are: 10 launches")  # not of sessions


@pytest.mark.parametrize(
    ("cells", "about", "sentence"),
    [
        (
            [cell(), cell(ratio=2.0, ratio_low=1.5, ratio_high=2.5)],
            {},
            "old is 1.00 (0.77 to 1.22) times as fast as new, over 2 cells; the interval includes 1.",
        ),
        (
            [cell(ratio=1.25, ratio_low=1.2, ratio_high=1.3)],
            {"where_a": {}, "where_b": {}},
            "before is 1.25 (1.20 to 1.30) times as fast as after.",
        ),
        ([cell(ratio_low=math.nan, ratio_high=math.nan)], {}, "new is 2.00 times as fast as old; no verdict."),
        ([cell()], {"metric": "exit_skew"}, "exit_skew of new is 0.50 (0.40 to 0.60) times that of old."),
        (
            [cell()],
            {"where_a": COMMON_START, "where_b": BARRIER},
            "After mpi_barrier latency_avg reads 0.50 (0.40 to 0.60) times as much as after harmonize.",
        ),
    ],
)
def test_a_comparison_comes_to_a_sentence(
    cells: list[dict[str, object]], about: dict[str, object], sentence: str
) -> None:
    assert conclusion(frame_of(*cells, **about)) == [sentence]
    assert conclusion(frame_of(cell(ratio=math.nan))) == []
