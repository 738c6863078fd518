"""Recordings and launches in formats of trace viewers: the stamps are those of the files, on the global clock."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import downbeat_command
import launch_files
import numpy as np
import pytest
from downbeat.align.formats import read_all
from downbeat.errors import UsageError
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.file import ENTERED, HEADER, HEADER_SIZE, TABLES
from downbeat.trace.trace import open_trace
from launch_files import Cell, write_launch

EPOCH = 1_700_000_000_000_000_000  # in trace_files
AHEAD = 7_000  # ns of rank 1's clock


def recording(path: Path, change: Callable[[dict[str, np.ndarray]], None] | None = None) -> Path:
    """Writes a recording whose rank 1 has another clock; its tables may be changed."""
    path.mkdir()
    sections = [bytearray(launch_files.section(rank)) for rank in (0, 1)]
    header = np.frombuffer(sections[1], HEADER, 1)[0]
    tables, place = {}, 2 * HEADER_SIZE
    for name, dtype in TABLES.items():
        tables[name] = np.frombuffer(sections[1], dtype, int(header[name]), place)
        place += tables[name].nbytes
    tables["maps"]["global_ns"] -= AHEAD
    tables["maps"]["variance"], tables["maps"]["walk"] = 100.0, 1e-21
    if change:
        change(tables)
    (path / "job.trace").write_bytes(b"".join(sections))
    return path


def export(where: Path, to: str, output: str) -> Path:
    done = downbeat_command.downbeat("export", "trace", "--to", to, "-o", output, where=where)
    assert done.returncode == 0, done.stderr
    return where / output


def test_align_reads_the_times_back(tmp_path: Path) -> None:
    truth = open_trace(recording(tmp_path / "trace")).records
    traces, notes = read_all(sorted(export(tmp_path, "kineto", "out").glob("*.gz")))
    assert not notes
    for trace in traces:
        mine = truth[truth["rank"] == trace.rank]
        (calls,) = trace.calls
        assert calls.operation.tolist() == mine["operation"].astype(str).tolist()
        for name in ("entry", "exit"):
            expected = (mine[name] * 1e9).round().astype("int64").to_numpy()
            assert (getattr(calls, name) - EPOCH == expected).all()
        assert calls.ranks == (0, 1)
        assert (calls.size == 8).all()


def chrome(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return events


def test_perfetto_shows_bound_and_expected_error(tmp_path: Path) -> None:
    recording(tmp_path / "trace")
    events = chrome(export(tmp_path, "perfetto", "out.json"))
    calls = [event for event in events if event["ph"] == "X"]
    base = json.loads((tmp_path / "out.json").read_text())["baseTimeNanoseconds"] - EPOCH
    entries = sorted(round(event["ts"] * 1000) + base for event in calls)
    assert entries == sorted(10_000 * call + rank * (1000 - AHEAD) for call in range(6) for rank in (0, 1))
    assert {event["args"]["site"] for event in calls} == {"solve (app+0x10)"}
    errors = [event["args"] for event in events if event["ph"] == "C" and event["pid"] == 2]
    assert len(errors) > 100
    # In the middle of 1 s: 50 ns at the ends and 2 * 1e-6 / 4 s; 10 ns and 1e-21 / 48 * (1e9)**3 ns**2.
    assert max(one["bound"] for one in errors) == pytest.approx(0.55, abs=1e-3)
    assert max(one["expected"] for one in errors) == pytest.approx((100 + 1e-21 * 1e27 / 48) ** 0.5 / 1e3, rel=1e-3)
    assert all(0 < one["expected"] < one["bound"] for one in errors)


def mixed(tables: dict[str, np.ndarray]) -> None:
    """Makes the barriers, calls 0 and 3, nonblocking, and leaves the last call without an end."""
    records = tables["records"]
    tables["profile"]["kind"][0] = 1
    for call in (0, 3):
        records["returned"][call], records["waited"][call] = records["entry"][call] + 200, records["exit"][call] - 500
    records["state"][5] = ENTERED


def test_calls_that_do_not_block_or_end(tmp_path: Path) -> None:
    recording(tmp_path / "trace", mixed)
    events = [event for event in chrome(export(tmp_path, "perfetto", "out.json")) if event.get("pid") == 2]
    later = [(event["name"], event["dur"]) for event in events if event.get("cat") == "nonblocking"]
    assert later == 2 * [("MPI_Ibarrier", 0.2), ("wait for MPI_Ibarrier", 0.5)]
    assert [event["ph"] for event in events if event.get("cat") == "flow"] == 2 * ["s", "f"]
    assert [event["name"] for event in events if event["ph"] == "B"] == ["MPI_Allreduce"]
    kineto = json.loads(gzip.decompress((export(tmp_path, "kineto", "out") / "rank-1.json.gz").read_bytes()))
    names = [event["name"] for event in kineto["traceEvents"] if event["ph"] == "X"]
    assert names.count("record_param_comms") == 5  # the call that did not end is not there
    assert "mpi:barrier" not in names[:2]  # it does not say when the work was done


@pytest.mark.parametrize("known", [1, 2])
def test_ranks_of_a_group_are_there_if_all_are_known(tmp_path: Path, known: int) -> None:
    """Without rank 1's section nobody knows which rank of the job the second of the group is."""
    path = recording(tmp_path / "trace") / "job.trace"
    path.write_bytes(b"".join(launch_files.section(rank) for rank in range(known)))
    kineto = json.loads(gzip.decompress((export(tmp_path, "kineto", "out") / "rank-0.json.gz").read_bytes()))
    calls = [event["args"] for event in kineto["traceEvents"] if event["name"] == "record_param_comms"]
    assert len(calls) == 6
    ranks = "[0, 1]" if known == 2 else None
    assert {call.get("Process Group Ranks") for call in calls} == {ranks}
    assert [group["ranks"] for group in kineto["distributedInfo"]["pg_config"]] == ([[0, 1]] if ranks else [])


@pytest.mark.parametrize("abroad", [0, 1])
def test_calls_between_two_groups_are_matched_nowhere(tmp_path: Path, abroad: int) -> None:
    """Rank 0 alone in a group, rank 1 in the other; or each with another job's."""
    sections = [bytearray(launch_files.section(rank)) for rank in (0, 1)]
    for rank, section in enumerate(sections):
        one = np.frombuffer(section, TABLES["communicators"], 1, 2 * HEADER_SIZE + 2 * TABLES["maps"].itemsize)[0]
        one["size"], one["rank"], one["inter"], one["second"], one["has_outside_members"] = (
            1,
            0,
            1,
            rank * (1 - abroad),
            abroad,
        )
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "job.trace").write_bytes(b"".join(sections))
    trace = open_trace(tmp_path / "trace" / "job")
    assert trace.records["size"].unique().tolist() == trace.profile["size"].dropna().unique().tolist() == [2 - abroad]
    assert trace.records["beyond"].unique().tolist() == [abroad]
    assert find_arrivals(trace.recording).sites.sampled.sum() == (0 if abroad else 6)
    with pytest.raises(UsageError, match="12 collectives between two groups"):
        read_all([tmp_path / "trace" / "job"])
    kineto = json.loads(gzip.decompress((export(tmp_path, "kineto", "out") / "rank-1.json.gz").read_bytes()))
    assert not [event for event in kineto["traceEvents"] if event["ph"] == "X"]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    recording(tmp_path / "trace")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    for arguments, said in (
        (
            ["--to", "csv", "-o", "x"],
            "unknown format 'csv' of a recording; choose one of perfetto, kineto, openmetrics, perfetto-clocks",
        ),
        (
            ["--to", "perfetto", "--rows", "samples", "-o", "x"],
            "--rows samples is for csv, parquet and json; timelines and clocks are exported whole",
        ),
        (["--to", "kineto"], "give the directory to write with --output"),
        (["--to", "kineto", "-o", "full"], "'full' is not empty; give another directory with --output"),
    ):
        done = downbeat_command.downbeat("export", "trace", *arguments, where=tmp_path)
        assert done.returncode == 2
        assert done.stderr == f"downbeat: {said}\n"


def test_times_of_the_profile_and_bounds_are_those_of_the_clock(tmp_path: Path) -> None:
    """Two ticks a nanosecond, synchronized first when the program is over: entries are known least."""

    def late(tables: dict[str, np.ndarray]) -> None:
        tables["maps"]["ticks"], tables["maps"]["ns_per_tick"] = [10**9, 3 * 10**9], 0.5
        tables["maps"]["growth"], tables["profile"]["waits"] = 1e-3, 1000

    trace = open_trace(recording(tmp_path / "trace", late))
    profile, records = (frame[frame["rank"] == 1] for frame in (trace.profile, trace.records))
    assert profile["wait_time"].to_numpy()[:-1] == pytest.approx(500e-9)
    before = 10**9 - (np.arange(len(records)) * 10_000 + 1000)  # ticks from the entry to the first map
    assert records["bound"].to_numpy() == pytest.approx((50 + before * 0.5 * 1e-3) * 1e-9, rel=1e-9)


SHOWN = 3  # samples of each cell


def launch(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Writes a file of two cells, whose first two samples are warm-up; returns entries and exits of those shown."""
    random = np.random.default_rng(3)
    cells: list[Cell] = []
    entries, exits = [], []
    for operation in ("bcast", "barrier"):
        entry = np.arange(8)[:, None] * 1e-3 + len(cells) + random.random((8, 2)) * 1e-6
        end = entry + random.random((8, 2)) * 1e-5
        verdict = np.array([3, 3, 1, 0, 0, 0, 0, 0])  # warmup, late_flag, valid
        other: dict[str, object] = {"pattern": "one_late", "largest_delay": 2e-5, "algorithm": "chain"}
        cells.append(
            Cell(entry, end, operation, synchronizer="harmonize", verdict=verdict, deadline=entry.min(axis=1) - 1e-7)
            if cells
            else Cell(entry, end, operation, verdict=verdict, other=other)
        )
        entries.append(entry[2 : 2 + SHOWN])
        exits.append(end[2 : 2 + SHOWN])
    write_launch(path, cells, simulated="cluster(nodes=2)")
    return entries, exits


def test_timelines_of_a_launch_are_its_stamps(tmp_path: Path) -> None:
    entries, exits = launch(tmp_path / "out.nc")
    done = downbeat_command.downbeat(
        *("export", "out.nc", "--to", "perfetto", "--samples", SHOWN, "-o", "out.json"), where=tmp_path
    )
    assert done.returncode == 0
    assert "6 samples are left out" in done.stderr
    assert "4 samples of warm-up are left out" in done.stderr
    whole = json.loads((tmp_path / "out.json").read_text())
    assert whole["otherData"]["simulated"] == "cluster(nodes=2)"
    events = whole["traceEvents"]
    for rank in (0, 1):
        mine = [event for event in events if event["ph"] == "X" and event["pid"] == rank + 1]
        for kind, begins, ends in (
            ("operation", entries, exits),
            ("synchronizer", [entry - 1e-6 for entry in entries], entries),
        ):
            some = [event for event in mine if event["cat"] == kind]
            found = np.array([[event["ts"], event["ts"] + event["dur"]] for event in some]) * 1e3
            for place, truth in enumerate((begins, ends)):
                expected = np.concatenate(truth)[:, rank] * 1e9
                np.testing.assert_allclose(found[:, place], expected, rtol=0, atol=1)
    operations = [event for event in events if event.get("cat") == "operation"]
    assert operations[0]["name"] == "bcast[chain] of 8 bytes after harmonize, one_late by 20 us"
    assert {event["args"]["verdict"] for event in operations} == {"late_flag", "valid"}
    assert {event["args"].get("entry_after_deadline_ns") is None for event in operations} == {True, False}
    assert len([event for event in events if event["ph"] == "i"]) == SHOWN


def test_timelines_are_of_one_launch(tmp_path: Path) -> None:
    launch(tmp_path / "out.nc")
    for arguments, said in (
        (["--to", "kineto", "-o", "x"], "kineto is a format of recordings; of a launch choose perfetto"),
        (["--to", "perfetto"], "give the file to write with --output"),
        (["--to", "perfetto", "-o", "out.nc"], "'out.nc' is the source of the export"),
    ):
        done = downbeat_command.downbeat("export", "out.nc", *arguments, where=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
