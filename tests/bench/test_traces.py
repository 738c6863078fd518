"""Per-process times as text, and traces: the same times as in the netCDF file of the run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, RANKS, read_dataset, run_bench

pytestmark = ONE_LIBRARY

SHOWN = 12
PATTERN = ["--pattern", "one_late", "--delay", "20us"]
TOLERANT = ["--tolerance", "0.1"]  # seconds: a busy machine fails no run whose times alone matter
ARGUMENTS = ["barrier", "bcast", "-m", "8", "-r", "20", "--warmup", "2", "-q", *PATTERN, *TOLERANT]
FILES = ["-o", "out.nc", "-o", "out.perfetto.json", "-o", "out.otf2", "--trace-samples", str(SHOWN)]
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
            assert one.name.startswith(str(data.operation.values[cell]))
            assert f" after {data.synchronizer.values[cell]!s}" in one.name
            assert ("one_late by 20 us" in one.name) == (data.largest_delay.values[cell] > 0)


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
