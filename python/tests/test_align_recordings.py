"""Readers of Nsight Systems' exports, OTF2 and our own recordings: files in their shape, with known stamps."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from pathlib import Path

import launch_files
import numpy as np
import pytest
from downbeat.align.formats import read
from downbeat.align.formats.collective_events import NO_END
from downbeat.errors import DownbeatError, UsageError
from downbeat.trace.file import HEADER_SIZE, TABLES, TRACE_MAGIC
from test_align_formats import BASE, cut

# As `nsys export --type sqlite` makes them: docs.nvidia.com/nsight-systems; payloads: GindaChen/nsys-ai, in its tests.
NSIGHT = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
    domainId INTEGER, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER,
    name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
INSERT INTO StringIds VALUES (1, 'MPI_Allreduce'), (2, 'MPI_Iallreduce'), (3, 'MPI_Barrier'), (4, 'ncclAllReduce'),
    (5, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (6, 'ncclCommInitRankConfig'), (7, 'ncclDevKernel_SendRecv'),
    (8, 'gemm');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1712000000000000000, '', '');
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 0, 'node7');
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 11, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, 0),
    (1, 11, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8), (1, 11, 2, NULL, 5, 'Rank', NULL, NULL, 12),
    (1, 12, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, 0),
    (1, 12, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8);
"""


def nsight(path: Path, *statements: tuple[str, tuple[object, ...]]) -> Path:
    """Writes an export of Nsight Systems, with rows."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(NSIGHT)
        for table, row in statements:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return path


def thread(process: int, number: int = 1) -> int:
    """Returns how Nsight Systems names a thread of a process."""
    return (1 << 48) | (process << 24) | number


def test_nsight_has_mpis_calls_by_process(tmp_path: Path) -> None:
    call = "MPI_COLLECTIVES_EVENTS"
    path = nsight(
        tmp_path / "x.sqlite",
        ("MPI_RANKS", (thread(10), 3)),
        ("MPI_RANKS", (thread(11), 2)),
        (call, (100, 205, thread(10), 1, 0xAB0, None, 64, 64, None)),
        (call, (300, 400, thread(10, 5), 3, 0xAB0, None, None, None, None)),
        (call, (310, 320, thread(10), 2, 0xAB0, None, 64, 64, 77)),
        (call, (330, None, thread(10), 1, 0xAB0, None, 64, 64, None)),
        (call, (150, 206, thread(11), 1, 0xCD0, None, 64, 64, None)),
    )
    traces, notes = read(path)
    assert [(trace.rank, trace.host) for trace in traces] == [(2, "node7"), (3, "node7")]
    (calls,) = traces[1].calls
    assert calls.group == traces[0].calls[0].group
    assert calls.operation.tolist() == ["allreduce", "barrier"]
    assert calls.entry.tolist() == [BASE + 100, BASE + 300]
    assert calls.exit.tolist() == [BASE + 205, BASE + 400]
    assert calls.size.tolist() == [64, -1]
    assert notes == {"calls of MPI that do not wait, or are of another kind": 1, NO_END: 1}


@pytest.mark.parametrize(("kept", "size"), [(24, 4096), (12, -1)])  # bytes of a range's payload
def test_nsight_has_kernels_of_nccl_and_ranges_name_their_communicator(tmp_path: Path, kept: int, size: int) -> None:
    def nvtx(start: int, end: int, text: int, schema: int, payload: bytes) -> tuple[str, tuple[object, ...]]:
        data = struct.pack("<4Q", 1, schema, len(payload), 32) + payload
        return "NVTX_EVENTS", (start, end, 59, *[None] * 4, thread(10), None, text, 1, None, None, data)

    def run(number: int, start: int, name: int) -> list[tuple[str, tuple[object, ...]]]:
        return [
            ("CUPTI_ACTIVITY_KIND_RUNTIME", (start, start + 5, 0, thread(10), number, 1, 0)),
            ("CUPTI_ACTIVITY_KIND_KERNEL", (start + 1000, start + 1500, 0, 1, 7, number, thread(10, 0), name, name)),
        ]

    path = nsight(
        tmp_path / "x.sqlite",
        nvtx(1, 9, 6, 11, struct.pack("<QiiI4x", 0xF00000000000ABCD, 8, 5, 0)),
        nvtx(10, 30, 4, 12, struct.pack("<QQI4x", 0xF00000000000ABCD, 4096, 0)[:kept]),
        *run(1, 20, 5),
        *run(2, 40, 5),
        *run(3, 60, 7),
        *run(4, 25, 8),
    )
    traces, notes = read(path)
    assert [trace.rank for trace in traces] == [5]
    of_group = {calls.group: calls for calls in traces[0].calls}
    named = of_group["f00000000000abcd"]
    assert (named.entry.tolist(), named.exit.tolist()) == ([BASE + 1020], [BASE + 1520])
    assert (named.ranks, named.size.tolist()) == (tuple(range(8)), [size])
    assert of_group["stream 7"].entry.tolist() == [BASE + 1040]
    assert len(notes) == 2


def test_bad_exports_of_nsight_are_one_line(tmp_path: Path) -> None:
    call = ("MPI_COLLECTIVES_EVENTS", (100, 205, thread(10), 1, 0xAB0, None, 64, 64, None))
    assert read(nsight(tmp_path / "rank_4.sqlite", call))[0][0].rank == 4
    with pytest.raises(UsageError, match="does not say its rank; say it: RANK=FILE"):
        read(nsight(tmp_path / "x.sqlite", call))
    with pytest.raises(UsageError, match="has no collectives; trace with nsys"):
        read(nsight(tmp_path / "y.sqlite"))
    with pytest.raises(UsageError, match="is damaged: "):
        read(cut(tmp_path / "rank_4.sqlite", 0.3))
    (tmp_path / "z.sqlite").touch()
    with contextlib.closing(sqlite3.connect(tmp_path / "z.sqlite")) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    with pytest.raises(UsageError, match="no export of Nsight Systems: it has no table StringIds"):
        read(tmp_path / "z.sqlite")


def test_our_own_traces_are_on_each_process_own_clock(tmp_path: Path) -> None:
    path = launch_files.write_trace(tmp_path / "job.trace")
    content = bytearray(path.read_bytes())
    # Rank 1's second synchronization says that its clock is off by 5 us: its own clock knows nothing of that.
    place = content.index(TRACE_MAGIC, 1) + 2 * HEADER_SIZE + TABLES["maps"].itemsize + 8
    content[place : place + 8] = struct.pack("<q", 10**9 + 5000)
    path.write_bytes(content)
    traces, notes = read(path)
    assert not notes
    assert [(trace.rank, trace.host) for trace in traces] == [(0, "node"), (1, "node")]
    assert all(trace.oscillator for trace in traces)  # on the time stamp counter, which NTP does not steer
    other = launch_files.write_trace(tmp_path / "other.trace")
    other.write_bytes(other.read_bytes().replace(b"tsc", b"tai"))
    assert not any(trace.oscillator for trace in read(other)[0])
    other.unlink()
    (calls,) = traces[1].calls
    assert (calls.group, calls.ranks) == ("MPI_COMM_WORLD (0000000000001234)", (0, 1))
    assert calls.operation.tolist() == ["barrier", "bcast", "allreduce"] * 2
    assert calls.entry.tolist() == [10_000 * call + 1000 for call in range(6)]
    assert calls.exit.tolist() == [10_000 * call + 3000 for call in range(6)]
    assert calls.sequence is not None
    assert calls.sequence.tolist() == list(range(6))
    assert calls.size.tolist() == [8] * 6
    assert [trace.rank for trace in read(tmp_path)[0]] == [0, 1]
    with pytest.raises(DownbeatError, match="of another program, or was cut off"):
        read(cut(path, 0.6))


def test_what_our_own_traces_have_beside_blocking_collectives_is_counted(tmp_path: Path) -> None:
    section = bytearray(launch_files.section(0))
    counts = {"maps": 2, "communicators": 1, "sites": 1, "starts": 1, "phases": 1}
    at = 2 * HEADER_SIZE + sum(TABLES[name].itemsize * count for name, count in counts.items())
    rows = np.frombuffer(section, TABLES["profile"], len(launch_files.OPERATIONS), at)
    records = np.frombuffer(section, TABLES["records"], offset=at + rows.nbytes)  # two of each row
    records["state"][0] = 1
    records["root"][3] = 0
    rows["kind"][1] = 1
    rows["communicator"][2] = 2**32 - 1
    (tmp_path / "job.trace").write_bytes(section + launch_files.section(1))
    traces, notes = read(tmp_path / "job.trace")
    assert traces[0].calls[0].root.tolist() == [0]
    assert notes == {NO_END: 1, "collectives that do not block": 2, "collectives of an unknown communicator": 2}


def archive(path: Path, unfinished: bool = False) -> Path:
    """Writes an OTF2 archive as Score-P's have it: ranks 0 to 2, each a process; a communicator of the last two."""
    pytest.importorskip("otf2")
    from otf2.enums import CollectiveOp, GroupType, Paradigm
    from otf2.writer import Writer

    with contextlib.closing(Writer(str(path), timer_resolution=2 * 10**9)) as writer:
        known = writer.definitions
        node = known.system_tree_node("node7")
        threads = [
            known.location("Master thread", group=known.location_group(f"MPI Rank {rank}", system_tree_parent=node))
            for rank in range(3)
        ]
        mpi = {"paradigm": Paradigm.MPI}
        known.group("MPI", group_type=GroupType.COMM_LOCATIONS, members=threads, **mpi)
        groups = [
            known.group("", group_type=GroupType.COMM_GROUP, members=some, **mpi) for some in (threads, threads[1:])
        ]
        world, pair = (known.comm(name, group=group) for name, group in zip(("WORLD", "pair"), groups, strict=True))
        for rank, location in enumerate(threads):
            out = writer.event_writer_from_location(location)
            out.mpi_collective_begin(1000 + 2 * rank)
            out.mpi_collective_end(2001 + 2 * rank, CollectiveOp.ALLREDUCE, world, 2**32 - 1, 64, 64)
            if rank:
                out.mpi_collective_begin(3000)
                out.mpi_collective_end(3002, CollectiveOp.BCAST, pair, 1, 8, 8)
            if unfinished:
                out.mpi_collective_begin(4000)
    return path


def test_an_archive_of_otf2_has_all_ranks(tmp_path: Path) -> None:
    path = archive(tmp_path / "scorep", unfinished=True)
    traces, notes = read(path / "traces.otf2")
    assert [(trace.rank, trace.host) for trace in traces] == [(0, "node7"), (1, "node7"), (2, "node7")]
    world = [trace.calls[0] for trace in traces]
    first = int(world[0].entry[0])
    assert first > 1_700_000_000 * 10**9
    assert [int(calls.entry[0]) - first for calls in world] == [0, 1, 2]
    assert [int(calls.exit[0]) - first for calls in world] == [500, 501, 502]
    assert {(calls.group, calls.ranks) for calls in world} == {("WORLD (0)", (0, 1, 2))}
    pair = traces[2].calls[1]
    assert (pair.group, pair.ranks, pair.operation.tolist(), pair.root.tolist()) == ("pair (1)", (1, 2), ["bcast"], [2])
    assert (world[0].root.tolist(), world[0].size.tolist()) == ([-1], [64])
    assert notes == {NO_END: 3}
    assert len(read(path)[0]) == 3


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    path = archive(tmp_path / "scorep")
    (path / "traces.def").write_bytes(b"")
    with pytest.raises(UsageError, match="is damaged: ") as error:
        read(path)
    assert "\n" not in str(error.value)
