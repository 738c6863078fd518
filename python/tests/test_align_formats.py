"""Readers and writers of Chrome traces: files in the shape of real ones, with known stamps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import launch_files
import numpy as np
import pytest
from downbeat.align.calls import Calls, Integers, RankTrace, normalize, rank_of
from downbeat.align.formats import events as events_module
from downbeat.align.formats import read, read_all, write_merged, write_moved
from downbeat.align.formats.chrome import EMPTY_PARTS, NO_GROUP, SEVERAL_GROUPS
from downbeat.align.formats.collective_events import NO_END, QUEUED
from downbeat.align.formats.events import nanoseconds
from downbeat.align.formats.kernels import OF_POINTS
from downbeat.errors import UsageError
from downbeat.output.facts.alignment import EventsLeftOut

BASE = 1_712_000_000_000_000_000  # ns; in us and as a float, 0.123 more is lost


def parameters(number: int, name: str, at: str, **more: object) -> str:
    """Returns an event as Kineto writes one of a call's parameters (pytorch/kineto, libkineto/src/output_json.cpp).

    The arguments are those of facebookresearch/HolisticTraceAnalysis, hta/configs/event_args_formats, and of
    pytorch/pytorch, torch/csrc/distributed/c10d/ParamCommsUtils.hpp.
    """
    arguments = {
        "External id": number,
        "Record function id": 0,
        "Concrete Inputs": ["", "3", "['0', 'default_pg']", "0", "allreduce", "[]", "[]", "0", "1", "2"],
        "Collective name": name,
        "In msg nelems": 1024,
        "Out msg nelems": 1024,
        "In split size": "[]",
        "Out split size": "[]",
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": "[4, 7]",
        "Rank": 1,
        "Seq": number,
    } | more
    return event("cpu_op", "record_param_comms", at, "12.001", arguments, tid=99)


def event(category: str, name: str, at: str, length: str, arguments: object, pid: object = 0, tid: int = 20) -> str:
    """Returns a complete event, its numbers as they are given."""
    return (
        f'\n  {{\n    "ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {json.dumps(pid)},\n'
        f'    "tid": {tid}, "ts": {at}, "dur": {length},\n    "args": {json.dumps(arguments)}\n  }}'
    )


def kernel(number: int, at: str, length: str, **more: object) -> str:
    """Returns a kernel as Kineto writes it: with what it knows of the call that started it."""
    arguments: dict[str, object] = {
        "External id": number,
        "queued": 0,
        "device": 0,
        "stream": 20,
        "correlation": number + 500,
        "grid": [24, 1, 1],
        "Collective name": "allreduce",
        "In msg nelems": 1024,
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Ranks": "[4, 7]",
        "Seq": number,
    }
    return event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at, length,
                 arguments | more)  # fmt: skip


GROUPS = ({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [4, 7]},)


def kineto(
    path: Path,
    *events: str,
    rank: int | None = 7,
    base: int | None = BASE,
    tail: str = ', "traceName": "x{}[]},"',
    groups: Sequence[dict[str, Any]] = GROUPS,
) -> Path:
    """Writes a file of Kineto's; gzip if its name ends so."""
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU {}, {"}]}
    if rank is not None:
        head |= {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8, "pg_config": groups}}
    if base is not None:
        head |= {"baseTimeNanoseconds": base}
    text = f'{json.dumps(head)[:-1]}, "displayTimeUnit": "ms",\n  "traceEvents": [{",".join(events)}\n  ]{tail}}}'
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def only(path: Path) -> Calls:
    """Returns the calls of a file that has one rank and one group."""
    traces, _ = read(path)
    assert len(traces) == 1
    assert len(traces[0].calls) == 1
    return traces[0].calls[0]


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("allreduce_coalesced", "allreduce"),
        ("_allgather_base", "allgather"),
        ("nccl:all_gather_into_tensor", "allgather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("MPI_Reduce_scatter_block", "reduce_scatter"),
        ("gloo:broadcast", "bcast"),
        ("MPI_Allgatherv", "allgatherv"),
        ("all_to_allv", "alltoallv"),
        ("alltoallvc__12_1_1", "alltoallv"),
        ("AllGatherV_RING_LL", "allgatherv"),
        ("allreduce_v2", "allreduce"),
        ("MPI_Gather", "gather"),
        ("MPI_Ireduce", None),
        ("MPI_Reduce_local", None),
        ("send", None),
        ("collective-permute", None),
    ],
)
def test_names_are_those_of_mpi(name: str, operation: str | None) -> None:
    assert normalize(name) == operation


def test_no_nanosecond_is_lost() -> None:
    assert nanoseconds(b"1712000000000000.123") == 1_712_000_000_000_000_123
    assert nanoseconds(b"9007199254740993.001") == 9_007_199_254_740_993_001
    assert nanoseconds(b"1.7120000000000001e15") == 1_712_000_000_000_000_100
    assert nanoseconds(b"12") == 12_000
    assert (nanoseconds(b"1.0001"), nanoseconds(b"1.0001", up=True)) == (1000, 1001)
    assert (nanoseconds(b"-1.0001"), nanoseconds(b"-1.0001", up=True)) == (-1001, -1000)
    assert nanoseconds(b"-0.5") == -500


@pytest.mark.parametrize("name", ["a.pt.trace.json", "a.pt.trace.json.gz"])
@pytest.mark.parametrize("base", [BASE, None])
def test_kernels_of_nccl_give_the_devices_stamps(tmp_path: Path, name: str, base: int | None) -> None:
    at = "1712000000000000.123" if base is None else "0.123"
    path = kineto(
        tmp_path / name,
        parameters(1, "allreduce", at),
        kernel(1, at, "20.456"),
        event("kernel", "gemm \"},{\"", at, "1.000", {}),
        kernel(2, at.replace("0.123", "9.124"), "5.001", **{"In msg nelems": 3, "dtype": "BFloat16"}),
        base=base,
    )  # fmt: skip
    traces, notes = read(path)
    assert not notes
    assert [trace.rank for trace in traces] == [7]
    (calls,) = traces[0].calls
    assert (calls.group, calls.ranks) == ("0", (4, 7))
    assert calls.operation.tolist() == ["allreduce", "allreduce"]
    assert calls.entry.dtype == np.int64
    first = int(calls.entry[0])
    assert first == BASE + 123
    assert calls.exit[0] - first == 20_456
    assert calls.exit[1] - calls.entry[1] == 5001
    assert calls.sequence is not None
    assert calls.sequence.tolist() == [1, 2]
    assert calls.size.tolist() == [4096, 6]
    assert calls.root.tolist() == [-1, -1]


def test_a_root_comes_from_the_parameters_and_several_kernels_are_one_call(tmp_path: Path) -> None:
    more = {"Collective name": "broadcast"}
    path = kineto(
        tmp_path / "x.json",
        parameters(1, "broadcast", "1.000", Rank=1),
        kernel(1, "10.000", "5.000", **more),
        kernel(1, "16.000", "4.000", **more),
        parameters(2, "broadcast", "2.000", Rank=0, Seq=2),
        kernel(2, "30.000", "4.000", **more),
    )
    calls = only(path)
    assert calls.operation.tolist() == ["bcast", "bcast"]
    assert calls.root.tolist() == [7, 4]
    assert (calls.entry - BASE).tolist() == [10_000, 30_000]
    assert (calls.exit - BASE).tolist() == [20_000, 34_000]


def test_stamps_that_end_once_work_is_queued_are_not_taken(tmp_path: Path) -> None:
    queued = [parameters(1, "allreduce", "1.000"), event("user_annotation", "nccl:all_reduce", "1.000", "2.000", {})]
    with pytest.raises(UsageError, match=r"no collectives that last until.*1 stamps of a library on the host"):
        read(kineto(tmp_path / "a.json", *queued))
    traces, notes = read(kineto(tmp_path / "b.json", *queued, kernel(1, "5.000", "1.000")))
    assert traces[0].calls[0].entry.tolist() == [BASE + 5000]
    assert len(notes) == 1
    # Annotations on the device are around kernels: they serve where there are none.
    device = event("gpu_user_annotation", "nccl:all_reduce", "4.999", "1.002", {"External id": 1, "stream": 20})
    calls = only(kineto(tmp_path / "c.json", *queued, device))
    assert (calls.group, calls.entry.tolist(), calls.exit.tolist()) == ("0", [BASE + 4999], [BASE + 6001])


def test_annotations_of_gloo_take_the_parameters_of_the_call_around_them(tmp_path: Path) -> None:
    # The shape of pytorch/kineto, tb_plugin/test/test_profiler.py (cpu_op), and of newer ones (user_annotation).
    path = kineto(
        tmp_path / "rank-3.json",
        parameters(1, "allreduce", "10.000"),
        event("user_annotation", "gloo:all_reduce", "11.000", "30.000", {"External id": 9}, tid=99),
        parameters(2, "broadcast", "50.000", **{"Process Group Name": "5", "Process Group Ranks": "[7, 9]", "Rank": 1}),
        event("cpu_op", "gloo:broadcast", "51.000", "2.000", {}, tid=99),
        event("cpu_op", "gloo:broadcast", "90.000", "2.000", {}, tid=99),
        rank=None,
    )
    traces, notes = read(path)
    # The first call: the place 1 in a group of 4 and 7.
    assert traces[0].rank == 7
    of_group = {calls.group: calls for calls in traces[0].calls}
    assert (of_group["0"].exit - BASE).tolist() == [41_000]
    assert (of_group["5"].ranks, of_group["5"].root.tolist()) == ((7, 9), [9])
    assert of_group["gloo"].ranks == ()
    assert notes == {NO_GROUP: 1}


def test_gloo_names_no_group_but_each_has_two_threads(tmp_path: Path) -> None:
    # As PyTorch 2.15 writes them, on two groups of a rank; torch.profiler writes no record_param_comms for gloo.
    groups = [
        {"pg_name": name, "pg_desc": "", "backend_config": "cpu:gloo,cuda:gloo", "pg_size": len(ranks), "ranks": ranks}
        for name, ranks in (("0", [0, 1, 7]), ("2", [1, 7]))
    ]
    arguments = {"External id": 513, "Record function id": 0, "Ev Idx": 62}
    events = [
        event("user_annotation", "gloo:all_reduce", f"{number}.000", "0.500", arguments, tid=thread)
        for number, thread in enumerate((1009, 998, 1010, 999))
    ]
    traces, notes = read(kineto(tmp_path / "a.json", *events, groups=groups))
    of_group = {calls.group: calls for calls in traces[0].calls}
    assert (of_group["0"].entry - BASE).tolist() == [1000, 3000]
    assert (of_group["2"].entry - BASE).tolist() == [0, 2000]
    assert of_group["2"].ranks == (1, 7)
    assert not notes
    # Three threads may be two of one group and one of the other, or the other way round.
    some = kineto(tmp_path / "b.json", *events[:3], kernel(1, "1.000", "1.000"), groups=groups)
    assert read_all([some])[1] == [EventsLeftOut(str(some), 0, 3, SEVERAL_GROUPS)]
    assert len(only(some).entry) == 1


def test_what_is_left_out_of_many_files_is_one_line(tmp_path: Path) -> None:
    queued = event("user_annotation", "nccl:all_reduce", "1.000", "2.000", {})
    files = [kineto(tmp_path / f"{rank}.json", kernel(1, "1.000", "1.000"), queued, rank=rank) for rank in range(3)]
    assert read_all(files)[1] == [EventsLeftOut(str(files[0]), 2, 3, QUEUED)]


def test_calls_without_numbers_of_their_own_match_by_order(tmp_path: Path) -> None:
    calls = only(kineto(tmp_path / "x.json", kernel(1, "20.000", "1.000", Seq=4), kernel(2, "10.000", "1.000", Seq=4)))
    assert calls.sequence is None
    assert (calls.entry - BASE).tolist() == [10_000, 20_000]


def test_ranks_of_a_shortened_list_come_from_elsewhere_or_are_not_known(tmp_path: Path) -> None:
    short: dict[str, Any] = {"Process Group Ranks": "[0, 1, ..., 63]", "Group size": 64, "Process Group Name": "9"}
    assert only(kineto(tmp_path / "a.json", kernel(1, "1.000", "1.000", **short))).ranks == ()
    stride = short | {"Global rank start": 0, "Global rank stride": 2}
    assert only(kineto(tmp_path / "b.json", kernel(1, "1.000", "1.000", **stride))).ranks == tuple(range(0, 128, 2))
    whole = short | {"Group size": 8}
    assert only(kineto(tmp_path / "c.json", kernel(1, "1.000", "1.000", **whole))).ranks == tuple(range(8))


def test_what_binds_no_two_ranks_is_named_or_counted(tmp_path: Path) -> None:
    path = kineto(
        tmp_path / "x.json",
        kernel(1, "1.000", "1.000", **{"Collective name": "all_to_allv", "In split size": "[3, 0]"}),
        kernel(2, "3.000", "1.000", **{"Collective name": "all_to_allv", "In split size": "[3, 10]"}),
        kernel(3, "5.000", "1.000", **{"Collective name": "send"}),
        event("kernel", "ncclDevKernel_SendRecv(x)", "7.000", "1.000", {}),
        event("kernel", "ncclDevKernel_AllReduce_x", "8.000", "1.000", {}).replace('"dur": 1.000,', ""),
    )
    traces, notes = read(path)
    assert traces[0].calls[0].operation.tolist() == ["alltoallv", "alltoall"]
    assert notes == {EMPTY_PARTS: 1, NO_END: 1, OF_POINTS: 2}


def xla(path: Path, *events: tuple[int, str, str, str, str]) -> Path:
    """Writes Perfetto's export of XPlane: as marin-community/marin has it in tests of its profile summaries."""
    names: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "XLA Ops"}},
        {},
    ]
    lines = [json.dumps(one) for one in names]
    lines += [
        event("", name, at, length, {"long_name": long, "hlo_module": "jit_step"}, pid=pid, tid=2)
        for pid, name, at, length, long in events
    ]
    text = f'{{"displayTimeUnit":"ns","metadata":{{"highres-ticks":true}}, "traceEvents":[{",".join(lines)}]}}'
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_collectives_of_xla_are_groups_by_operation(tmp_path: Path) -> None:
    path = xla(
        tmp_path / "host_2.perfetto_trace.json.gz",
        (1, "all-reduce.3", "10.0001", "5.0005", "replica_groups={{0,1,2,3}}, use_global_device_ids=true"),
        (2, "all-reduce.3", "11.5", "4.5", "replica_groups={{0,1,2,3}}"),
        (1, "fusion.1", "1", "1", ""),
        (1, "all-gather.1", "20", "5", "replica_groups={{0,1},{2,3}}"),
        (1, "reduce-scatter", "20", "5", "replica_groups=[2,4]<=[8]"),
        (1, "collective-permute.1", "20", "5", ""),
        (1, "all-to-all-start.1", "30", "1", "replica_groups=[1,8]<=[8]"),
        (1, "all-to-all-done.1", "38", "2", ""),
    )
    traces, notes = read(path)
    assert traces[0].rank == 2
    found = {calls.group: (calls.operation[0], int(calls.entry[0]), int(calls.exit[0])) for calls in traces[0].calls}
    # Several devices: the last begin and the first end; below 1 ns, outward.
    assert found == {
        "jit_step all-reduce.3": ("allreduce", 11_500, 15_002),
        "jit_step all-to-all.1": ("alltoall", 30_000, 40_000),
    }
    assert sorted(notes.values()) == [1, 2]


def test_a_bare_array_and_a_rank_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rank_12.json"
    path.write_text(f" [{kernel(1, '1712000000000000.123', '1.000')},\n]", encoding="utf-8")
    traces, _ = read(path)
    assert traces[0].rank == 12
    assert traces[0].calls[0].entry.tolist() == [BASE + 123]


def test_blocks_of_nothing_but_names_leave_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = '{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}'
    many = [named] * 3000  # more than is read at once
    path = written(tmp_path / "rank-4.json", f"[{','.join([*many, kernel(1, '1.000', '1.000'), *many])},]")
    monkeypatch.setattr(events_module, "BLOCK_BYTES", 1 << 12)
    write_merged(read(path)[0], shifted, tmp_path / "merged.json")
    events = read_json(tmp_path / "merged.json")["traceEvents"]
    assert [(one["ph"], one["name"][:12]) for one in events] == [
        ("X", "ncclDevKerne"),
        ("M", "process_name"),
        ("M", "process_sort"),
    ]


def test_the_rank_may_follow_the_events(tmp_path: Path) -> None:
    tail = ', "distributedInfo": {"rank": 5, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": "[4, 7]"}]}'
    assert read(kineto(tmp_path / "x.json", kernel(1, "1", "1"), rank=None, tail=tail))[0][0].rank == 5


@pytest.mark.parametrize("name", ["rank3/trace.json", "host_7.rank-3.json", "worker3.1700000000.pt.trace.json.gz"])
def test_ranks_in_names(name: str) -> None:
    assert rank_of(Path("job12") / name) == 3


def test_blocks_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tricky: dict[str, Any] = {"stack": [{"a": 1}, {"b": "}, {"}], "text": '"traceEvents": [ } ] , {'}
    events = [kernel(i, f"{10 * i}.001", "1.000", **tricky) for i in range(1, 200)]
    path = kineto(tmp_path / "x.json", *events, tail=', "stackFrames": [{"a": [{}, {}]}, {"b": 1}], "traceName": "x"')
    expected = only(path)
    assert len(expected.entry) == 199
    for size in (777, 5000, 20_000):
        monkeypatch.setattr(events_module, "BLOCK_BYTES", size * 16)
        calls = only(path)
        assert calls.entry.tolist() == expected.entry.tolist()
        assert calls.sequence is not None


def cut(path: Path, share: float) -> Path:
    """Cuts a file off."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda d: cut(kineto(d / "a.json.gz", *many()), 0.5), "is damaged: Compressed file ended"),
        (lambda d: cut(kineto(d / "a.json", *many()), 0.5), "breaks off at line 124, column 90, after 24 whole events"),
        (lambda d: kineto(d / "a.json", kernel(1, "NaN", "1")), "not JSON at line 5, column 22, after 0 whole events"),
        (lambda d: kineto(d / "a.json", kernel(1, '"x"', "1")), "is damaged: "),
        (lambda d: written(d / "a.json", '{"events": []}'), "has no events; give a Chrome trace"),
        (lambda d: written(d / "a.txt", "hello"), "is not a trace of a known format"),
        (lambda d: written(d / "a.json", ""), "is not a trace of a known format"),
        (lambda d: kineto(d / "a.json"), "has no collectives"),
        (lambda d: kineto(d / "a.json", bare(), rank=None), "does not say its rank; say it: RANK=FILE"),
        (lambda d: d / "none.json", "does not exist"),
        (lambda d: d, "is not a trace of a known format"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line(tmp_path: Path, make: Callable[[Path], Path], line: str) -> None:
    with pytest.raises(UsageError) as error:
        read(make(tmp_path))
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def many() -> list[str]:
    return [kernel(i, f"{10 * i}.001", "1.000") for i in range(1, 50)]


def bare() -> str:
    """Returns a kernel of an old trace, that says nothing of its call."""
    return event("Kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "1", "1", {"stream": 20})


def test_two_files_of_a_rank_are_refused(tmp_path: Path) -> None:
    files = [kineto(tmp_path / name, kernel(1, "1", "1"), rank=rank) for name, rank in (("a.json", 7), ("b.json", 4))]
    traces, _ = read_all(files)
    assert [trace.rank for trace in traces] == [4, 7]
    kineto(files[1], kernel(1, "1", "1"))
    with pytest.raises(UsageError, match=r"a\.json' and '.*b\.json' are both of rank 7; give one file for each rank"):
        read_all(files)


def shifted(rank: int, times: Integers) -> Integers:
    """Returns times on the common axis: rank 7 is 1 s and 1 ns behind, and 1/4 slower than the axis."""
    return times if rank == 4 else (times - BASE) * 5 // 4 + BASE + 1_000_000_001


def read_json(path: Path) -> dict[str, Any]:
    """Returns a trace, with numbers as they stand."""
    content = path.read_bytes()
    whole: dict[str, Any] = json.loads(
        gzip.decompress(content) if path.name.endswith(".gz") else content, parse_float=str
    )
    return whole


def test_what_cannot_be_kept_is_one_line(tmp_path: Path) -> None:
    call = kernel(1, "10.000", "1.000")
    for number, other in enumerate(
        ('{"ph": "i", "pid": 0, "ts": 9223372036854775.808}', '{"ph": "i", "ts": 1.000, "a\\n": 1}')
    ):
        traces, _ = read(kineto(tmp_path / f"{number}.json", call, other))
        with pytest.raises(UsageError, match="is damaged"):
            write_merged(traces, lambda _, times: times, tmp_path / "merged.json")


@pytest.mark.parametrize("name", ["merged.json", "merged.json.gz"])
def test_merged_traces_keep_all_events_at_exact_times(tmp_path: Path, name: str) -> None:
    arrow = '{"ph": "s", "id": 3, "pid": 0, "tid": 1, "ts": 20.000, "name": "ac2g", "no `name`": [1.50]}'
    named = '{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0.000, "args": {"name": "python"}}'
    order = '{"ph": "M", "name": "process_sort_index", "pid": 0, "tid": 0, "ts": 0.000, "args": {"sort_index": 9}}'
    spans = event("Trace", 'Ünicode "q"', "16.002", "4.000", {"big": 12345678901234567890, "f": 0.1}, pid="Spans")
    files = [
        kineto(tmp_path / "a.json", kernel(1, "8.004", "4.000"), spans, arrow, named, order),
        kineto(tmp_path / "b.json.gz", kernel(2, "1000009.001", "2.001"), arrow, named, rank=4),
    ]
    traces, _ = read_all(files)
    write_merged(traces, shifted, tmp_path / name)
    merged = read_json(tmp_path / name)
    # The earliest is the arrow of rank 4.
    assert merged["baseTimeNanoseconds"] == BASE + 20_000
    events = merged["traceEvents"]
    kernels = [one for one in events if one.get("cat") == "kernel"]
    assert [(one["ts"], one["dur"]) for one in kernels] == [("999989.001", "2.001"), ("999990.006", "5.000")]
    assert [one["args"]["External id"] for one in kernels] == [2, 1]
    (span,) = [one for one in events if one.get("cat") == "Trace"]
    assert (span["name"], span["ts"], span["args"]["big"]) == ('Ünicode "q"', "1000000.003", 12345678901234567890)
    arrows = [one for one in events if one["ph"] == "s"]
    assert [(one["id"], one["ts"]) for one in arrows] == [("4:3", "0.000"), ("7:3", "1000005.001")]
    assert [one["no `name`"] for one in arrows] == [["1.50"]] * 2
    labels = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    assert sorted(labels.values()) == ["rank 4: python", "rank 7", "rank 7: python"]
    assert {labels[one["pid"]] for one in (*kernels, *arrows)} == {"rank 4: python", "rank 7: python"}
    assert labels[span["pid"]] == "rank 7"
    order_of = {one["pid"]: one["args"]["sort_index"] for one in events if one["name"] == "process_sort_index"}
    assert order_of == {pid: int(label.split()[1].strip(":")) for pid, label in labels.items()}
    with pytest.raises(UsageError, match="has 2 ranks, as a merged trace has"):
        read(tmp_path / name)


def test_calls_of_another_format_are_events_of_their_own(tmp_path: Path) -> None:
    one = np.array([BASE + 5, BASE + 1234], dtype=np.int64)
    calls = Calls("world", (4, 7), np.array(["bcast", "barrier"]), np.array([8, 9]), np.array([4, -1]),
                  np.array([16, -1]), one, one + 1001)  # fmt: skip
    path = written(tmp_path / "x.trace", "no JSON")
    write_merged([RankTrace(path, 4, "", (calls,)), RankTrace(path, 7, "", (calls,))], shifted, tmp_path / "m.json")
    merged = read_json(tmp_path / "m.json")
    found = [event for event in merged["traceEvents"] if event["ph"] == "X"]
    assert [(event["name"], event["ts"], event["dur"]) for event in found] == [
        ("bcast", "0.000", "1.001"),
        ("barrier", "1.229", "1.001"),
        ("bcast", "1000000.002", "1.251"),
        ("barrier", "1000001.538", "1.251"),
    ]
    assert found[0]["args"] == {"group": "world", "root": 4, "bytes": 16, "sequence": 8}
    assert found[1]["args"] == {"group": "world", "sequence": 9}
    assert len({event["pid"] for event in found}) == 2


@pytest.mark.parametrize("name", ["moved.json", "moved.json.gz"])
def test_a_moved_trace_is_the_same_but_for_its_stamps(tmp_path: Path, name: str) -> None:
    named = '{"ph": "M", "name": "process_name", "pid": "x", "tid": 0, "ts": 0.000, "args": {"name": "python"}}'
    arrow = '{"ph": "s", "id": 3, "pid": 0, "tid": 1, "ts": 20.000, "cat": "ac2g", "name": "ac2g"}'
    path = kineto(tmp_path / "a.json", named, kernel(1, "8.004", "4.000"), arrow)
    (trace,), _ = read(path)
    write_moved(trace, shifted, tmp_path / name)
    before, after = read_json(path), read_json(tmp_path / name)
    assert after["baseTimeNanoseconds"] == BASE + 1_000_000_001 + 10_005
    assert [(one.get("ts"), one.get("dur")) for one in after["traceEvents"]] == [
        (None, None), ("0.000", "5.000"), ("14.995", None)
    ]  # fmt: skip
    for whole in (before, after):
        whole.pop("baseTimeNanoseconds")
        for one in whole["traceEvents"]:
            one.pop("ts", None)
            one.pop("dur", None)
    assert after == before
    assert only(tmp_path / name).exit.tolist() == [BASE + 1_000_000_001 + 15_005]


def test_only_a_chrome_trace_can_be_moved(tmp_path: Path) -> None:
    (trace, _), _ = read(launch_files.write_trace(tmp_path / "job.trace"))
    with pytest.raises(UsageError, match="is not a Chrome trace"):
        write_moved(trace, shifted, tmp_path / "moved.json")
