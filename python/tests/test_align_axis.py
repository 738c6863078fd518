"""Clocks from collectives alone, against clocks that are known, and the page about them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.align.calls import Calls, RankTrace
from downbeat.align.clocks import Aligned, align_traces, late_or_slow
from downbeat.align.matching import FROM_ROOT, TO_ROOT, Floats
from downbeat.align.pictures import before_and_after, calls_to_show, clocks_over_time
from downbeat.errors import UsageError
from downbeat.output.blocks import Depth, Heading, Line, Table
from downbeat.output.facts.alignment import (
    CallsContradict,
    CallsOverlap,
    NoBound,
    OperationsDiffer,
    RanksWithoutTrace,
    SeparateAxis,
)
from downbeat.output.page import render_page
from downbeat.views.alignment import alignment_view

EPOCH = 1_764_000_000_000_000_000  # ns; a double has steps of 256 ns there


@dataclass(frozen=True)
class Condition:
    """A simulated program and its clocks. Times in ns."""

    ranks: int = 8
    calls: int = 400
    operation: str = "allreduce"
    latency: float = 20e3
    scatter: float = 100e3
    gap: float = 2e6
    noise: float = 0.3  # of the latency, exponential
    late: float = 0.0  # of the rank in the middle
    ppm: float = 50.0
    wander: float = 0.0  # 1/s
    offset: float = 3e9
    stamp: int = 1
    groups: tuple[tuple[int, ...], ...] = ()
    lost: float = 0.0  # share of the calls
    roots: int = 0  # how many of the first ranks take turns as root; 0: all


class Program:
    """A program whose true times are known."""

    def __init__(self, seed: int, condition: Condition) -> None:
        random, self.condition = np.random.default_rng(seed), condition
        ranks = condition.ranks
        self.rate = 1.0 + random.uniform(-condition.ppm, condition.ppm, ranks) * 1e-6
        self.offset = random.uniform(-condition.offset, condition.offset, ranks)
        self.ramp = random.uniform(-condition.wander, condition.wander, ranks) * 1e-9
        self.middle = condition.calls * condition.gap / 2
        members = condition.groups or (tuple(range(ranks)),)
        self.entry: dict[int, Floats] = {}
        calls: dict[int, list[Calls]] = {rank: [] for rank in range(ranks)}
        for number, group in enumerate(members):
            begin = np.cumsum(condition.gap * random.uniform(0.5, 1.5, condition.calls))
            late = random.exponential(condition.scatter, (condition.calls, len(group)))
            if condition.late:
                late[:, len(group) // 2] += condition.late * random.uniform(0.5, 1.5, condition.calls)
            entry = begin[:, None] + late
            root = random.integers(condition.roots or len(group), size=condition.calls)
            at_root = np.arange(len(group)) == root[:, None]
            if condition.operation in FROM_ROOT:
                ready = np.maximum(entry, np.take_along_axis(entry, root[:, None], axis=1))
            elif condition.operation in TO_ROOT:
                ready = np.where(at_root, entry.max(axis=1, keepdims=True), entry)
            else:
                ready = entry.max(axis=1, keepdims=True)
            end = ready + condition.latency * (1.0 + condition.noise * random.exponential(1.0, late.shape))
            kept = random.random(late.shape) >= condition.lost
            for column, rank in enumerate(group):
                there = kept[:, column]
                self.entry.setdefault(rank, entry[there, column])
                calls[rank].append(
                    Calls(
                        group=f"group {number}",
                        ranks=group,
                        operation=np.full(int(there.sum()), condition.operation),
                        sequence=np.flatnonzero(there),
                        root=np.array(group)[root[there]],
                        size=np.full(int(there.sum()), 8),
                        entry=self.stamps(rank, entry[there, column]),
                        exit=self.stamps(rank, end[there, column]),
                    )
                )
        self.traces = [RankTrace(Path(f"rank{rank}.json"), rank, "", tuple(mine)) for rank, mine in calls.items()]

    def clock(self, rank: int, true: Floats) -> Floats:
        """Returns what a clock shows, ns after the epoch."""
        away = true - self.middle
        shown: Floats = self.offset[rank] + true * self.rate[rank] + self.ramp[rank] * away**2 / 2
        return shown

    def stamps(self, rank: int, true: Floats) -> np.ndarray:
        stamp = self.condition.stamp
        return EPOCH + np.floor(self.clock(rank, true) / stamp).astype(np.int64) * stamp

    def errors(self, aligned: Aligned) -> tuple[Floats, Floats, Floats]:
        """Returns the error of each rank's first group, its bounds and expected errors, ns, but those of rank 0."""
        errors, bounds, expected = [], [], []
        for rank in range(1, self.condition.ranks):
            moved, bound, error = aligned.correct(rank, self.traces[rank].calls[0].entry)
            errors.append(moved - EPOCH - self.clock(0, self.entry[rank]))
            bounds.append(bound)
            expected.append(error)
        return np.concatenate(errors), np.concatenate(bounds), np.concatenate(expected)


def some_condition(random: np.random.Generator) -> Condition:
    """Returns a condition of all that the page promises, and beyond: calls of 2 us to 5 ms, clocks of up to 100 ppm."""
    latency = 10 ** random.uniform(3.3, 6.7)
    ranks = int(random.integers(2, 13))
    halves = (tuple(range(0, ranks, 2)), tuple(range(1, ranks, 2)), tuple(range(ranks)))
    return Condition(
        ranks=ranks,
        calls=int(10 ** random.uniform(1.5, 2.8)),
        operation=str(random.choice(["allreduce", "barrier", "allgather", *FROM_ROOT, *TO_ROOT])),
        latency=latency,
        scatter=latency * 10 ** random.uniform(-1, 1),
        gap=latency * 30,
        noise=10 ** random.uniform(-2, 0.5),
        late=latency * random.uniform(0, 10) * random.integers(2),
        ppm=random.uniform(0, 100),
        wander=random.uniform(0, 2e-9),
        stamp=int(random.choice([1, 1, 1000])),
        groups=halves if ranks >= 4 and random.random() < 0.3 else (),
        lost=random.choice([0.0, 0.0, 0.05]),
    )


@pytest.mark.parametrize("seed", range(30))
def test_no_bound_is_broken(seed: int) -> None:
    condition = some_condition(np.random.default_rng(seed))
    program = Program(seed, condition)
    aligned = align_traces(program.traces, 2e-9)
    error, bound, _ = program.errors(aligned)
    assert (np.abs(error) <= bound).all(), condition
    assert not any(isinstance(note, CallsContradict) for note in aligned.notes), aligned.notes


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_clock_that_is_set_is_named_and_has_no_bound_there(ranks: int) -> None:
    program = Program(3, Condition(ranks=ranks, calls=600, gap=50e6))
    calls = program.traces[-1].calls[0]
    step = np.where(np.arange(600) >= 300, 1_000_000, 0)
    program.traces[-1] = replace(
        program.traces[-1], calls=(replace(calls, entry=calls.entry + step, exit=calls.exit + step),)
    )
    aligned = align_traces(program.traces, 2e-9)
    fact = aligned.notes[0]
    assert isinstance(fact, CallsContradict)
    assert fact.rank == ranks - 1
    assert fact.by_s == pytest.approx(1e-3, rel=0.5)
    assert np.isnan(aligned.ranks.frame()["bound_s"].iloc[-1])
    _, bound, _ = aligned.correct(ranks - 1, calls.entry + step)
    assert np.isinf(bound[300])
    assert np.isfinite(bound[[0, -1]]).all()


def test_a_wrong_match_is_named() -> None:
    program = Program(5, Condition(ranks=5))
    calls = program.traces[3].calls[0]
    program.traces[3] = replace(program.traces[3], calls=(replace(calls, sequence=np.roll(np.arange(400), 7)),))
    fact = align_traces(program.traces, 2e-9).notes[0]
    assert isinstance(fact, CallsContradict)
    assert fact.rank == 3


def test_calls_without_numbers_match_by_their_ends() -> None:
    program = Program(7, Condition(ranks=3))
    plain = [
        replace(trace, calls=tuple(replace(calls, sequence=None) for calls in trace.calls)) for trace in program.traces
    ]
    expected, found = align_traces(program.traces, 2e-9), align_traces(plain, 2e-9)
    assert found.ranks.frame().equals(expected.ranks.frame())
    short = replace(plain[1], calls=(first(plain[1].calls[0], 390),))
    assert align_traces([plain[0], short, plain[2]], 2e-9).ranks.frame()["calls"].tolist() == [400, 390, 400]


def first(calls: Calls, count: int) -> Calls:
    """Returns the first calls."""
    return replace(
        calls,
        operation=calls.operation[:count],
        root=calls.root[:count],
        size=calls.size[:count],
        entry=calls.entry[:count],
        exit=calls.exit[:count],
    )


def test_calls_of_different_operations_are_left_out() -> None:
    program = Program(9, Condition(ranks=2))
    calls = program.traces[1].calls[0]
    operation = np.where(np.arange(400) == 17, "barrier", calls.operation)
    program.traces[1] = replace(program.traces[1], calls=(replace(calls, operation=operation),))
    aligned = align_traces(program.traces, 2e-9)
    assert aligned.notes == (OperationsDiffer("group 0", 1, 17, ("allreduce", "barrier")),)
    assert aligned.ranks.frame()["calls"].tolist() == [399, 399]


def test_ranks_that_nothing_ties_have_an_axis_of_their_own() -> None:
    program = Program(2, Condition(ranks=5, groups=((0, 2), (1, 3), (4,))))
    aligned = align_traces(program.traces, 2e-9)
    assert aligned.ranks.frame()["axis"].tolist() == [0, 1, 0, 1, 4]
    assert aligned.ranks.frame()["bound_s"].isna().tolist() == [False, False, False, False, True]
    assert not aligned.whole
    assert SeparateAxis((1, 3), 0) in aligned.notes
    times = program.traces[1].calls[0].entry
    assert (aligned.corrected(1, times) == times).all()
    assert (aligned.corrected(4, times) == times).all()
    moved, bound, _ = aligned.correct(3, program.traces[3].calls[0].entry)
    error = moved - EPOCH - program.clock(1, program.entry[3])
    assert (np.abs(error) <= bound).all()
    assert np.isfinite(bound).all()
    assert late_or_slow(aligned).run < 1.0
    assert CallsOverlap() not in aligned.notes
    program.traces[4] = replace(program.traces[4], calls=(), host="n4")
    assert align_traces(program.traces, 2e-9).ranks.frame()["host"].tolist()[4] == "n4"
    overlapping = align_traces(Program(2, Condition(ranks=2, groups=((0, 1), (0, 1)), gap=100e3)).traces, 2e-9)
    assert CallsOverlap() in overlapping.notes


def test_calls_without_data_bind_nobody() -> None:
    program = Program(2, Condition(ranks=2))
    for rank, trace in enumerate(program.traces):
        calls = trace.calls[0]
        size, end = calls.size.copy(), calls.exit.copy()
        size[::5] = 0
        end[::5] = calls.entry[::5] + 1  # whether the other has come or not
        program.traces[rank] = replace(trace, calls=(replace(calls, size=size, exit=end),))
    aligned = align_traces(program.traces, 2e-9)
    error, bound, _ = program.errors(aligned)
    assert (np.abs(error) <= bound).all()
    assert not aligned.notes


def test_the_resolution_of_every_clock_is_in_the_bound() -> None:
    for seed in range(10):
        program = Program(seed, Condition(ranks=3, latency=2e3, noise=0.01))
        calls = program.traces[2].calls[0]
        coarse = replace(calls, entry=calls.entry // 10_000 * 10_000, exit=calls.exit // 10_000 * 10_000)
        program.traces[2] = replace(program.traces[2], calls=(coarse,))
        error, bound, _ = program.errors(align_traces(program.traces, 2e-9))
        assert (np.abs(error[:400]) <= bound[:400]).all()


def test_ranks_without_a_trace_are_named() -> None:
    program = Program(2, Condition(ranks=4))
    assert align_traces(program.traces[::2], 2e-9).notes[0] == RanksWithoutTrace("group 0", (1, 3))


def test_one_trace_cannot_be_aligned() -> None:
    with pytest.raises(UsageError, match="give the traces of two ranks or more"):
        align_traces(Program(1, Condition()).traces[:1], 2e-9)
    apart = Program(1, Condition(ranks=2, groups=((0,), (1,)))).traces
    with pytest.raises(UsageError, match="no two of these ranks have a collective in common"):
        align_traces(apart, 2e-9)


@pytest.mark.parametrize("operation", ["allreduce", *FROM_ROOT, *TO_ROOT])
def test_late_or_slow_is_right_or_silent(operation: str) -> None:
    """At least 95 % of the ranks that are named last are, and in most calls one is named."""
    said, right, calls = 0, 0, 0
    for seed in range(3):
        late = float(np.random.default_rng(seed).uniform(0, 200e3))
        program = Program(seed, Condition(operation=operation, calls=200, late=late))
        found = late_or_slow(align_traces(program.traces, 2e-9))
        last = np.argmax([program.entry[rank] for rank in range(8)], axis=0)
        named = found.calls.frame().sort_values("first")["last_rank"].to_numpy()
        calls += len(named)
        said += int((named >= 0).sum())
        right += int((named == last)[named >= 0].sum())
    assert right >= 0.95 * said
    assert said >= 0.5 * calls


@pytest.mark.parametrize("operation", [*FROM_ROOT, *TO_ROOT])
def test_one_root_limits_clocks_from_one_side_only_and_nobody_is_called_late(operation: str) -> None:
    program = Program(1, Condition(operation=operation, calls=100, late=200e3, roots=1))
    aligned = align_traces(program.traces, 2e-9)
    assert np.isinf(program.errors(aligned)[1]).all()
    assert aligned.notes == (NoBound((1, 2, 3, 4, 5, 6, 7), steered=False),)
    assert not (late_or_slow(aligned).calls.last_rank >= 0).any()


@pytest.mark.thorough
def test_the_command_writes_what_it_found(tmp_path: Path) -> None:
    program = Program(4, Condition(ranks=3, calls=100))
    names = []
    for trace in program.traces:
        calls = trace.calls[0]
        events = [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                "pid": 0,
                "tid": 7,
                "ts": (int(begin) - EPOCH) / 1e3,
                "dur": int(end - begin) / 1e3,
                "args": {"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2]"},
            }
            for begin, end in zip(calls.entry, calls.exit, strict=True)
        ]
        names.append(str(tmp_path / f"rank{trace.rank}.json"))
        content = {"distributedInfo": {"rank": trace.rank}, "baseTimeNanoseconds": EPOCH, "traceEvents": events}
        Path(names[-1]).write_text(json.dumps(content))
    out = ["-o", "merged.json", "--moved", "moved", "--json", "clocks.json", "--page", "late.html"]
    ended = command("align", *names, *out, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "the axis is the clock of rank 0" in ended.stdout
    clocks = json.loads((tmp_path / "clocks.json").read_text())["ranks"]
    true = [program.offset[rank] - program.offset[0] for rank in range(3)]
    middle = (program.rate - program.rate[0]) * program.middle
    for rank, clock in enumerate(clocks):
        assert abs(clock["offset_s"] * 1e9 - true[rank] - middle[rank]) <= clock["bound_s"] * 1e9 + 20e3
    assert len(json.loads((tmp_path / "merged.json").read_text())["traceEvents"]) >= 300
    moved = [str(tmp_path / "moved" / Path(name).name) for name in names]
    again = command("align", *moved, "--json", "-", cwd=tmp_path)
    assert all(abs(clock["offset_s"]) < 2e-6 for clock in json.loads(again.stdout)["ranks"])
    assert (tmp_path / "late.html").stat().st_size > 10_000
    assert again.returncode == 0
    later = [dict(one, ts=float(str(one["ts"])) + 1e6 * (number > 50)) for number, one in enumerate(events)]
    (tmp_path / "set-rank2.json").write_text(json.dumps(content | {"traceEvents": later}))
    torn = command("align", *names[:2], "set-rank2.json", "--json", "torn.json", cwd=tmp_path)
    assert (torn.returncode, torn.stderr) == (3, "")
    found = json.loads((tmp_path / "torn.json").read_text())
    assert [(one["rank"], round(one["by_s"])) for one in found["movements"]] == [(2, 1)]
    assert found["ranks"][2]["bound_s"] is None
    refused = command("align", *names, "--moved", ".", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "would overwrite" in refused.stderr
    before = Path(names[0]).read_bytes()
    assert "would overwrite" in command("align", *names, "-o", names[0], cwd=tmp_path).stderr
    assert Path(names[0]).read_bytes() == before
    (tmp_path / "other").mkdir()
    twin = Path(names[1]).rename(tmp_path / "other" / "rank0.json")
    twins = command("align", names[0], str(twin), "--moved", "both", cwd=tmp_path)
    assert (twins.returncode, twins.stderr.count("\n")) == (2, 1)
    assert "have the same name" in twins.stderr


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "downbeat", *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


CONDITION = Condition(latency=150e3, scatter=150e3, late=500e3, offset=3e6)


@pytest.fixture(scope="module", name="aligned")
def some_clocks() -> Aligned:
    return align_traces(Program(3, CONDITION).traces, 2e-9)


def test_the_table_has_the_clocks(aligned: Aligned) -> None:
    view = alignment_view(aligned)
    (table,) = (block for block in view.blocks if isinstance(block, Table) and "offset_s" in block.columns)
    shown = {name: field.texts(table.frame[name]) for name, field in table.columns.items()}
    clocks = aligned.ranks
    scales = {"offset_s": 1.0, "rate": 1e6, "rate_error": 1e6, "bound_s": 1e6, "expected_error_s": 1e6}
    for name, scale in scales.items():
        numbers = [float(text) if text != "-" else np.nan for text in shown[name]]
        assert numbers == pytest.approx(getattr(clocks, name) * scale, abs=6e-3 if scale > 1 else 1e-9, nan_ok=True)
    assert "host" not in shown  # it is not known


def test_the_picture_has_drift_bound_and_error_over_time(aligned: Aligned) -> None:
    picture = clocks_over_time(aligned)
    assert picture is not None
    table = aligned.ranks.frame().set_index("rank")
    assert set(picture.numbers["rank"]) == set(table.index) - {0}
    for rank, clock in picture.numbers.groupby("rank"):
        length = clock["time_s"].iloc[-1]
        slope = (clock["drift_us"].iloc[-1] - clock["drift_us"].iloc[0]) / length
        if pd.notna(table["rate"][rank]):
            assert slope == pytest.approx(1e6 * table["rate"][rank], abs=0.01 / length)
        else:
            assert abs(slope) <= 5e6 * table["rate_error"][rank] + 0.01 / length
        assert clock["bound_us"].max() <= 1e6 * table["largest_bound_s"][rank] * 1.01
        assert clock["expected_error_us"].median() == pytest.approx(1e6 * table["expected_error_s"][rank], rel=0.5)


def test_calls_are_drawn_before_and_after(aligned: Aligned) -> None:
    shown = calls_to_show(aligned)
    assert shown is not None
    group, rows = shown
    assert len(rows) == 4
    numbers = before_and_after(aligned, group, rows).numbers
    for clock in ("own", "axis"):
        first = None
        for call, row in zip(group.number[rows], rows, strict=True):
            mine = numbers[(numbers["clock"] == clock) & (numbers["call"] == call)].set_index(["phase", "rank"])
            for place, rank in enumerate(group.ranks.tolist()):
                stamps = np.array([group.entry[row, place], group.exit[row, place]])
                entry, end = (aligned.corrected(rank, stamps) if clock == "axis" else stamps).tolist()
                begin, stop = mine["begin_us"]["wait", rank], mine["end_us"]["operation", rank]
                first = entry - 1e3 * begin if first is None else first
                assert (begin, stop) == pytest.approx(((entry - first) / 1e3, (end - first) / 1e3), abs=0.6)
            # Nobody waits on a clock of its own; on the axis all wait for the last.
            last = mine["begin_us"]["wait"].max()
            waited = mine["end_us"]["wait"].to_numpy()
            assert (waited == (last if clock == "axis" else mine["begin_us"]["wait"].to_numpy())).all()


def test_the_page_says_what_is_not_known(aligned: Aligned) -> None:
    assert Heading("Clocks", depth=Depth.PAGE) in alignment_view(aligned).blocks
    program = Program(3, CONDITION)
    apart = [
        replace(one, calls=tuple(replace(c, group=f"g{one.rank // 4}") for c in one.calls)) for one in program.traces
    ]
    torn = align_traces(apart, 2e-9)
    view = alignment_view(torn, Depth.PAGE)
    assert set(torn.notes) <= {block.content for block in view.blocks if isinstance(block, Line)}
    assert "4</td>" in render_page(view)
