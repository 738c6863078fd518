"""Per-process times as text, and traces: the same times as in the netCDF file of the run."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, RANKS, Bench, read_dataset, run_bench

pytestmark = ONE_LIBRARY

SHOWN = 12
PATTERN = ["--pattern", "one_late", "--delay", "20us"]
TOLERANT = ["--tolerance", "0.1"]  # seconds: a busy machine fails no run whose times alone matter
ARGUMENTS = ["barrier", "bcast", "-m", "8", "-r", "20", "--warmup", "2", "-q", *PATTERN, *TOLERANT]
FILES = ["-o", "out.nc", "-o", "out.txt", "-o", "out.perfetto.json", "-o", "out.otf2", "--trace-samples", str(SHOWN)]
VERDICTS = ["valid", "late_flag", "late_entry", "warmup", "overrun"]
WARMUP = VERDICTS.index("warmup")


@dataclass(frozen=True)
class Slice:
    """One rank in one sample, as a trace shows it."""

    cell: int
    sample: int
    rank: int
    verdict: str
    synchronizer: tuple[int, int]  # from, to [ns]
    operation: tuple[int, int]  # from, to [ns]
    name: str


@dataclass(frozen=True)
class Run:
    """A run whose files several tests read."""

    directory: Path
    samples: xr.Dataset


@pytest.fixture(scope="module")
def run(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A complete run with a file of each kind that holds samples."""
    directory = tmp_path_factory.mktemp("run")
    outcome = run_bench(mpi, directory, *ARGUMENTS, *FILES)
    assert outcome.status == 0, outcome.stderr
    return Run(directory, read_dataset(directory / "out.nc"))


def shown_samples(data: xr.Dataset) -> list[int]:
    """Returns the rows of the samples that a trace is to show: the first of each cell, without the warm-up."""
    measured = data.verdict.values != WARMUP
    rows = [np.flatnonzero((data.cell_index.values == cell) & measured)[:SHOWN] for cell in range(data.sizes["cell"])]
    return sorted(int(row) for row in np.concatenate(rows))


def assert_shows_the_samples(slices: list[Slice], data: xr.Dataset) -> None:
    """Each sample that is to be shown is, at the times of the netCDF file to 1 ns, and no other."""
    by_sample = {(one.cell, one.sample, one.rank): one for one in slices}
    assert len(by_sample) == len(slices)
    rows = shown_samples(data)
    assert len(rows) == SHOWN * data.sizes["cell"]
    assert len(slices) == RANKS * len(rows)
    for row in rows:
        cell = int(data.cell_index.values[row])
        for rank in range(RANKS):
            one = by_sample[cell, int(data.attempt.values[row]), rank]
            begin, entry, leave = (
                float(data[name].values[row, rank]) * 1e9 for name in ("sync_entry", "entry", "exit")
            )
            assert one.synchronizer == pytest.approx((begin, entry), abs=1.0, rel=0)
            assert one.operation == pytest.approx((entry, leave), abs=1.0, rel=0)
            assert one.verdict == VERDICTS[int(data.verdict.values[row])]
            assert one.name.startswith(data.operation.values[cell].decode())
            assert f" after {data.synchronizer.values[cell].decode()}" in one.name
            assert ("one_late by 20 us" in one.name) == (data.largest_delay.values[cell] > 0)


def test_text_holds_the_start_and_end_of_every_process(run: Run) -> None:
    table = np.loadtxt(run.directory / "out.txt")
    data = run.samples
    assert table.shape == (data.sizes["sample"] * RANKS, 6)
    cell, sample, verdict, rank, start, end = (column.reshape(-1, RANKS) for column in table.T)
    assert np.array_equal(cell[:, 0], data.cell_index.values)
    assert np.array_equal(sample[:, 0], data.attempt.values)
    assert np.array_equal(verdict[:, 1], data.verdict.values)
    assert np.array_equal(rank, np.tile(np.arange(RANKS), (len(rank), 1)))
    assert np.abs(start - data.entry.values).max() < 1e-12
    assert np.abs(end - data.exit.values).max() < 1e-12

    header = [line for line in (run.directory / "out.txt").read_text().splitlines() if line.startswith("#")]
    assert header[-1] == "# cell sample verdict rank start end"
    assert "# cell 3: barrier after harmonize, one_late by 20 us" in header


def perfetto_time(microseconds: float) -> int:
    """Returns nanoseconds as Perfetto's importer reads them: it drops fractions."""
    return int(microseconds * 1000.0)


def perfetto_slices(trace: dict[str, Any]) -> Iterator[Slice]:
    """Yields what the tracks of the ranks hold."""
    tracks = {
        event["tid"]: int(event["args"]["name"].split()[1])
        for event in trace["traceEvents"]
        if event["name"] == "thread_name" and event["args"]["name"].startswith("rank ")
    }
    assert sorted(tracks.values()) == list(range(RANKS))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for synchronizer, operation in zip(slices[::2], slices[1::2], strict=True):
        assert (synchronizer["cat"], operation["cat"]) == ("synchronizer", "operation")
        begin, leave = perfetto_time(synchronizer["ts"]), perfetto_time(operation["ts"])
        entry, args = begin + perfetto_time(synchronizer["dur"]), operation["args"]
        yield Slice(
            args["cell"],
            args["sample"],
            tracks[operation["tid"]],
            args["verdict"],
            (begin, entry),
            (leave, leave + perfetto_time(operation["dur"])),
            operation["name"],
        )


def test_perfetto_shows_the_first_samples_of_each_cell(run: Run) -> None:
    trace = json.loads((run.directory / "out.perfetto.json").read_text())
    data = run.samples
    assert_shows_the_samples(list(perfetto_slices(trace)), data)
    measured = data.verdict.values != WARMUP
    assert trace["otherData"]["samples_left_out"] == measured.sum() - len(shown_samples(data))
    assert trace["otherData"]["warmup_left_out"] == (~measured).sum()

    deadlines = {
        (event["args"]["cell"], event["args"]["sample"]): perfetto_time(event["ts"])
        for event in trace["traceEvents"]
        if event["ph"] == "i"
    }
    expected = {
        (int(data.cell_index.values[row]), int(data.attempt.values[row])): float(data.deadline.values[row]) * 1e9
        for row in shown_samples(data)
        if not np.isnan(data.deadline.values[row])
    }
    assert deadlines == pytest.approx(expected, abs=1.0, rel=0)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and "entry_after_deadline_ns" in event["args"]:
            after = perfetto_time(event["ts"]) - deadlines[event["args"]["cell"], event["args"]["sample"]]
            assert event["args"]["entry_after_deadline_ns"] == pytest.approx(after, abs=1.5, rel=0)


EVENT = re.compile(r'^(ENTER|LEAVE)\s+(\d+)\s+(\d+)\s+Region: "(.*)" <\d+>$')
ATTRIBUTES = re.compile(r'\("cell" <\d+>; UINT64; (\d+)\), \("sample" <\d+>; UINT64; (\d+)\), \("verdict" .*?"(\w+)" ')


def otf2_slices(path: Path) -> Iterator[Slice]:
    """Yields what otf2-print reads of the locations, which are the ranks."""
    done = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True)
    events: list[list[tuple[str, int, str]]] = [[] for _ in range(RANKS)]
    numbers: list[list[tuple[int, int, str]]] = [[] for _ in range(RANKS)]
    location = 0
    for line in done.stdout.splitlines():
        if event := EVENT.match(line):
            location = int(event[2])
            events[location].append((event[1], int(event[3]), event[4]))
        elif attributes := ATTRIBUTES.search(line):
            numbers[location].append((int(attributes[1]), int(attributes[2]), attributes[3]))
    for rank in range(RANKS):
        for i in range(0, len(events[rank]), 4):
            kinds, times, regions = zip(*events[rank][i : i + 4], strict=True)
            assert kinds == ("ENTER", "LEAVE", "ENTER", "LEAVE")
            assert regions[0] == regions[1]
            assert regions[2] == regions[3]
            assert numbers[rank][i // 2] == numbers[rank][i // 2 + 1]
            cell, sample, verdict = numbers[rank][i // 2]
            yield Slice(cell, sample, rank, verdict, times[:2], times[2:], regions[2])


def test_otf2_shows_the_first_samples_of_each_cell(run: Run) -> None:
    path = run.directory / "out.otf2"
    data = run.samples
    assert_shows_the_samples(list(otf2_slices(path)), data)

    anchor = subprocess.run(["otf2-print", "-I", str(path)], capture_output=True, text=True, check=True).stdout
    left_out = (data.verdict.values != WARMUP).sum() - len(shown_samples(data))
    assert re.search(rf"DOWNBEAT::SAMPLES_LEFT_OUT\s+Property value\s+{left_out}\n", anchor)

    definitions = subprocess.run(["otf2-print", "-G", str(path)], capture_output=True, text=True, check=True).stdout
    clock = re.search(r"Ticks per Seconds: (\d+), Global Offset: (\d+), Length: (\d+)", definitions)
    assert clock is not None
    ticks, offset, length = (int(number) for number in clock.groups())
    rows = shown_samples(data)
    assert ticks == 10**9
    assert offset == pytest.approx(data.sync_entry.values[rows].min() * 1e9, abs=1.0, rel=0)
    assert offset + length - 1 == pytest.approx(data.exit.values[rows].max() * 1e9, abs=1.0, rel=0)
    assert re.findall(r'LOCATION +\d+ +Name: "(.*?)"', definitions) == [f"rank {rank}" for rank in range(RANKS)]
    assert re.search(r'REGION .*Name: "harmonize" .*Role: BARRIER, Paradigm: MPI', definitions)
    assert re.search(
        r'REGION .*Name: "bcast of 8 bytes after harmonize" .*Role: COLL_OTHER, Paradigm: MPI', definitions
    )


def test_an_otf2_archive_is_replaced_but_nothing_else_is(bench: Bench, tmp_path: Path) -> None:
    arguments = ["barrier", "-r", "3", "-q", *TOLERANT, "-o", "out.otf2"]
    for _ in range(2):
        assert bench(*arguments).status == 0
        assert len(list(otf2_slices(tmp_path / "out.otf2"))) >= 2 * 3 * RANKS  # two synchronizers
    (tmp_path / "out" / "mine.txt").write_text("")
    outcome = bench(*arguments)
    assert outcome.status == 1
    assert len(outcome.own_lines) == 1
    assert "folder 'out' is to hold its events, but holds 'mine.txt'" in outcome.own_lines[0]
    assert (tmp_path / "out" / "mine.txt").exists()
