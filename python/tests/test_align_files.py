"""Files of other people: names of kernels, ends of files, ranks, directories; rows with known truth."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from downbeat.align.calls import NoTraceError, RankTrace, rank_in_environment, rank_of
from downbeat.align.formats import events as events_module
from downbeat.align.formats import kernels_of, read, read_all, write_merged, write_moved
from downbeat.align.formats.kernels import Kernels, looks_like_collective
from downbeat.errors import UsageError
from downbeat.output.facts.alignment import EventsLeftOut, FileLeftOut
from downbeat.text import counted
from test_align_recordings import nsight, thread

BASE = 1_764_547_200_000_000_000  # ns


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)", "bcast"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)", "allreduce"),
        ("ncclSymkDevKernel_AllGather_LLMC(ncclSymkDevWorkArgs4K)", "allgather"),
        ("ncclSymDevKernel_ReduceScatter_LD_sum_f32(ncclSymDevArgs)", "reduce_scatter"),
        ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", ""),
        ("mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)", ""),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", ""),
        ("ncclDevKernel_AllGatherV_RING_LL", "allgatherv"),
        ("hcom_allReduce__606_0_1", "allreduce"),
        ("hcom_alltoallvc__018_3_1", "alltoallv"),
        ("hcom_reduceScatter_AicpuKernel_503_490_1", None),
        ("hccl:all_reduce", "allreduce"),
        ("hccl::AllGather", "allgather"),
        ("oneccl_allreduce_pcie", "allreduce"),
        ("barrier_on_stream_kernel_threadgroup", "barrier"),
        ("void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", None),
        ("void deep_ep::internode::dispatch<8>(int)", None),
        ("gemm_allreduce_free", None),
    ],
)
def test_kernels_are_known_by_what_they_do(name: str, operation: str | None) -> None:
    found = Kernels().find(name)
    assert (None if found is None else found.operation) == operation
    assert looks_like_collective(name) == ("deep_ep" not in name and "barrier" not in name)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank1_node0.sqlite", 1),
        ("rank0_node1.sqlite", 0),
        ("node1_rank3_local_rank1.json", 3),
        ("global_rank5_local_rank1.json", 5),
        ("trace_0_of_8.json", 0),
        ("3-of-8.json", 3),
        ("dp0_pp0_tp3_rank3.1759000000.pt.trace.json.gz", 3),
        ("rank_3.1712000000000.pt.trace.json", 3),
        ("worker3.1700000000.pt.trace.json.gz", 3),
        ("worker-3_12345.1700000000.pt.trace.json", None),
        ("node7_12345.1700000000.pt.trace.json", None),
        ("host_2.perfetto_trace.json.gz", 2),
        ("tp_rank1.json", None),
        ("local_rank1.json", None),
        ("rank1_rank2.json", None),
        ("frankfurt4.json", None),
        ("report1.sqlite", None),
        ("job12.json", None),
    ],
)
def test_ranks_in_names_of_files(name: str, rank: int | None) -> None:
    assert rank_of(Path("profiles") / name) == rank


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("HOME=/root\nOMPI_COMM_WORLD_RANK=3\nSLURM_PROCID=0\n", 3),
        ("RANK=5;LOCAL_RANK=1;SLURM_PROCID=1", 5),
        ("LOCAL_RANK=1 NODE_RANK=2", None),
        ("PMI_RANK=x", None),
    ],
)
def test_ranks_in_environments(text: str, rank: int | None) -> None:
    assert rank_in_environment(text) == rank


def one(
    at: float, length: float = 2.0, name: str | None = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", **more: object
) -> str:
    """Returns a kernel at a time in us, as it is without `record_param_comms`."""
    whole = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 20, "ts": at, "dur": length} | more
    return json.dumps({key: value for key, value in whole.items() if value is not None})


def array(*events: str) -> str:
    return "[" + ",\n".join(events)


def whole(*events: str, rank: int = 0) -> str:
    head = {"baseTimeNanoseconds": BASE, "distributedInfo": {"rank": rank, "world_size": 4}}
    return f'{json.dumps(head)[:-1]},\n"traceEvents": [{",".join(events)}]}}'


TWO = (one(1.0), one(5.0))
JAX = '{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}}'
TPU = JAX.replace("GPU", "TPU")
HOST = '{"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/host:CPU"}}'


def xla(name: str, at: float, length: float, process: int = 1, **arguments: str) -> str:
    """Returns a row of XPlane's export: without a category."""
    return one(at, length, name, cat=None, pid=process, tid=1, args={"hlo_module": "jit_step"} | arguments)


# Content of rank0.json; entries and exits (us) that are in it; how many are left out or noted.
READ: tuple[tuple[str, str, list[tuple[float, float]], list[int]], ...] = (
    ("an empty object at the end", whole(*TWO, "{}"), [(1, 3), (5, 7)], []),
    ("null and an empty object", whole("null", TWO[0], "{}", TWO[1], "null"), [(1, 3), (5, 7)], []),
    ("an array", array(*TWO) + "]", [(1, 3), (5, 7)], []),
    ("an array without its end", array(*TWO), [(1, 3), (5, 7)], []),
    ("an array that ends in a comma", array(*TWO) + ",\n", [(1, 3), (5, 7)], []),
    ("an array with a comma before its end", array(*TWO) + ",\n]\n", [(1, 3), (5, 7)], []),
    ("an array that breaks off", array(*TWO, one(9.0)[:40]), [(1, 3), (5, 7)], [2]),
    ("a byte order mark", "\ufeff" + whole(*TWO), [(1, 3), (5, 7)], []),
    ("stamps as strings", whole(one(1, ts="1.000"), one(5, ts="5", dur="2.5")), [(1, 3), (5, 7.5)], []),
    ("short strings", whole(one(1, ts="12.35"), one(5, ts="15.3", dur="2.25")), [(12.35, 14.35), (15.3, 17.55)], []),
    ("begin and end", whole(one(1, ph="B", dur=None), one(3, ph="E", name=None), TWO[1]), [(1, 3), (5, 7)], []),
    (
        "nested, and one without an end",
        whole(one(1, ph="B"), one(2, ph="B", name="x"), one(3, ph="E"), one(4, ph="E"), one(9, ph="B")),
        [(1, 4)],
        [1],
    ),
    ("by an id", whole(one(1, ph="b", id=7), one(2, ph="b", id=8), one(4, ph="e", id=7), one(5, ph="e", id=8)),
     [(1, 4), (2, 5)], []),
    ("a stamp that was lost", whole(TWO[0], one(0.0, 0.0)), [(1, 3)], [1]),
    ("strangers", whole(TWO[0], one(5, name="my_all_reduce<4>(x)"), one(8, name="my_all_reduce<8>(x)")), [(1, 3)], [2]),
    ("point to point", whole(TWO[0], one(5, name="ncclDevKernel_SendRecv(x)")), [(1, 3)], [1]),
    ("what nobody names", whole(TWO[0], one(5, name="ncclDevKernel_Generic_1(x)")), [(1, 3)], [1]),
    ("rows without a category", array(JAX, one(1, cat=None, pid=1), "{}") + "]", [(1, 3)], []),
    ("a start as long as its kernel", array(JAX, xla("all-gather-start.1", 1, 2), "{}") + "]", [(1, 3)], [1]),
    (
        "the same, its kernel, and the host",
        array(
            JAX, HOST, xla("all-gather-start.1", 1, 2), xla("all-gather-start.1", 0.5, 0.1, process=2),
            xla("ncclDevKernel_AllGather_RING_LL(x)", 1, 2, hlo_op="all-gather-start.1"), "{}",
        ),
        [(1, 3)],
        [1, 1],
    ),
    (
        "a kernel that names its operation",
        array(JAX, xla("ncclDevKernel_AllReduce(x)", 1, 2, hlo_op="all-reduce-start.3"), "{}"),
        [(1, 3)],
        [1],
    ),
    ("ends on a GPU", array(JAX, xla("all-reduce-start.1", 1, 1), xla("all-reduce-done.1", 4, 2)), [(1, 6)], []),
    ("start and end", array(TPU, xla("all-reduce-start.1", 1, 1), xla("all-reduce-done.1", 4, 2)), [(1, 6)], []),
    (
        "a start of a TPU without its end",
        array(TPU, xla("all-reduce-start.1", 1, 1), xla("all-reduce.2", 4, 2)),
        [(4, 6)],
        [1],
    ),
    (
        "two devices in one file",
        array(*(one(at, end, cat=None, pid=pid) for pid, at, end in ((1, 1, 3), (2, 2, 1), (1, 9, 2), (2, 8, 4)))),
        [(2, 3), (9, 11)],
        [],
    ),
    (
        "Ascend",
        array(*(one(at, name=f"hcom_allReduce__606_{at}_1", ts=f"{at}.000", cat=None, dur=2.0) for at in (1, 5))),
        [(1, 3), (5, 7)],
        [],
    ),
    (
        "an annotation where copies do the work",
        whole(
            TWO[0], one(5, name="nccl:all_gather", cat="gpu_user_annotation"),
            one(1, name="nccl:all_reduce", cat="gpu_user_annotation"),
        ),
        [(1, 3), (5, 7)],
        [],
    ),
    (
        "an annotation that says the operation",
        whole(one(1, name="mscclKernel_Sum(x)"), one(1, name="nccl:all_reduce", cat="gpu_user_annotation")),
        [(1, 3)],
        [],
    ),
)  # fmt: skip


def numbers_of(traces: Sequence[RankTrace], base: int = 0) -> list[tuple[float, float]]:
    """Returns entries and exits of all calls in us."""
    found = [
        (entry, end)
        for trace in traces
        for calls in trace.calls
        for entry, end in zip(calls.entry.tolist(), calls.exit.tolist(), strict=True)
    ]
    return sorted(((entry - base) / 1e3, (end - base) / 1e3) for entry, end in found)


@pytest.mark.parametrize(("what", "text", "calls", "counts"), READ, ids=[row[0] for row in READ])
def test_what_is_in_a_file(
    tmp_path: Path, what: str, text: str, calls: list[tuple[float, float]], counts: list[int]
) -> None:
    path = tmp_path / "rank0.json"
    path.write_text(text, encoding="utf-8")
    base = BASE if "baseTimeNanoseconds" in text else 0
    traces, left_out = read(path)
    assert numbers_of(traces, base) == calls, what
    assert sorted(count for reason, count in left_out.items() if "no process group" not in reason) == sorted(counts)
    # And it can be written: all of its events, and nothing else.
    write_merged(traces, lambda _, times: times, tmp_path / "merged.json")
    write_moved(traces[0], lambda _, times: times, tmp_path / "moved.json")
    moved = read_all([tmp_path / "moved.json"] if "distributedInfo" in text else [Path(f"0={tmp_path}/moved.json")])[0]
    lengths = [end - begin for begin, end in numbers_of(moved, int(moved[0].calls[0].entry.min()))]
    assert lengths == pytest.approx([end - begin for begin, end in calls])
    merged = json.loads((tmp_path / "merged.json").read_text())["traceEvents"]
    assert sum(each.get("ph") in ("X", "B", "b") for each in merged) == sum(
        text.count(f'"ph": "{x}"') for x in "XBb"
    ) - ("breaks off" in what)


# Content; where its fault is; whole events before that.
FAULTS = (
    (whole(*TWO)[:-40], len(whole(*TWO)) - 40, 1),
    (whole(*TWO)[:-1], len(whole(*TWO)) - 1, 2),
    (whole(*TWO)[:-2], len(whole(*TWO)) - 2, 2),
    (whole(TWO[0], "NaN", TWO[1]), whole(TWO[0], "NaN").index("NaN"), 1),
    (whole(TWO[0], '{"name":\n Infinity}', TWO[1]), whole(TWO[0], '{"name":\n Inf').rindex("Inf"), 1),
    (array(TWO[0], '{"name": NaN}'), array(TWO[0], '{"name": NaN}').index("NaN"), 1),
    (array(*TWO) + "], 3", len(array(*TWO)) + 1, 2),
    (array(*[one(at, args={"a": [{}, {}]}) for at in range(1, 3000)]) + " x", 0, 2999),
)


@pytest.mark.parametrize("blocks", [1 << 22, 1 << 12])
@pytest.mark.parametrize(("text", "place", "count"), FAULTS)
def test_faults_have_a_line_and_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, place: int, count: int, blocks: int
) -> None:
    monkeypatch.setattr(events_module, "BLOCK_BYTES", blocks)
    before = text[: place or len(text) - 1]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    path = tmp_path / "rank0.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        read(path)
    assert f"at line {line}, column {column}, after {counted(count, 'whole event')}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("count", [2, 3000])
def test_an_array_that_breaks_off_is_read_up_to_a_line_and_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(events_module, "BLOCK_BYTES", 1 << 12)
    text = array(*[one(at) for at in range(1, count)], one(9.0)[:40])
    (tmp_path / "rank0.json").write_text(text, encoding="utf-8")
    _, left_out = read(tmp_path / "rank0.json")
    (reason,) = [reason for reason in left_out if "breaks off" in reason]
    assert f"up to line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}, where" in reason


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "(it is empty)"),
        ("[]".encode("utf-16"), "(it is UTF-16: convert it to UTF-8)"),
        (b"[]", "has no collectives"),
        (b"{}", "has no events"),
        (b"[1, 2]", "is damaged"),
        (gzip.compress(array(*[one(at) for at in range(9999)]).encode())[:-3000], "is damaged: Compressed file ended"),
    ],
)
def test_what_is_no_trace_is_one_line(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "rank0.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read(path)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_user_names_kernels_of_other_libraries(tmp_path: Path) -> None:
    (tmp_path / "rank0.json").write_text(
        whole(TWO[0], one(5, name="void my::all_reduce<4>(x)"), one(8, name="ncclDevKernel_AllReduce_y"))
    )
    (trace,), left_out = read(tmp_path / "rank0.json", kernels_of(["my::all_red=allgather", "Reduce_y=none"]))
    assert trace.calls[0].operation.tolist() == ["allreduce", "allgather"]
    assert sorted(left_out.values()) == [1, 2]
    with pytest.raises(UsageError, match="names no kernel"):
        read_all([tmp_path / "rank0.json"], kernels_of(["other=allreduce"]))


@pytest.mark.parametrize("option", ["all_reduce", "=allreduce", "x=", "x=all_reduce", "(=allreduce", ".*=allreduce"])
def test_a_bad_row_of_kernels_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match="--kernel"):
        kernels_of([option])


# Names of files whose content says no rank, as they are given; their ranks, or a part of the line.
NAMES: tuple[tuple[list[str], list[int] | str], ...] = (
    (["report.0.json", "report.1.json"], [0, 1]),
    (["report.1.json", "report.2.json"], "do not say their ranks; say it: RANK=FILE"),
    (["report1.json", "report2.json"], "do not say their ranks"),
    (["a.json", "rank1.json"], "'a.json' does not say its rank; say it: RANK=FILE, as in 0=a.json"),
    (["0=a.json", "rank1.json"], [0, 1]),
    (["5=rank1.json", "rank0.json"], [0, 5]),
    (["rank0.json", "rank0_node1.json"], "are both of rank 0"),
    (["rank0.json", "rank0.json"], "is given twice"),
)


@pytest.mark.parametrize(("names", "ranks"), NAMES)
def test_ranks_of_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], ranks: list[int] | str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        Path(name.rpartition("=")[2]).write_text(array(*TWO))
    if isinstance(ranks, str):
        with pytest.raises(UsageError) as error:
            read_all([Path(name) for name in names])
        assert ranks in str(error.value)
    else:
        assert [trace.rank for trace in read_all([Path(name) for name in names])[0]] == ranks


def test_what_a_file_says_goes_before_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rank1.json"
    path.write_text(whole(*TWO, rank=3))
    assert read(path)[0][0].rank == 3
    with pytest.raises(UsageError, match="is of rank 3, not 1, as it says itself"):
        read_all([Path(f"1={path}")])
    label = '{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 6"}}'
    path.write_text(array(label, *TWO))
    assert read(path)[0][0].rank == 6
    call = ("MPI_COLLECTIVES_EVENTS", (100, 205, thread(10), 1, 0xAB0, None, 64, 64, None))
    said = ("TARGET_INFO_SYSTEM_ENV", (0, "", "DeviceEnvironment", 0, "A=1\nPMIX_RANK=9\n"))
    assert read(nsight(tmp_path / "rank1_node0.sqlite", call, said))[0][0].rank == 9
    assert read(nsight(tmp_path / "rank2_node0.sqlite", call))[0][0].rank == 2


def test_a_directory_is_the_traces_in_it(tmp_path: Path) -> None:
    for rank in (2, 0, 1):
        (tmp_path / f"{'cab'[rank]}.pt.trace.json").write_text(whole(*TWO, rank=rank))
    call = ("MPI_COLLECTIVES_EVENTS", (100, 205, thread(10), 1, 0xAB0, None, 64, 64, None))
    nsight(tmp_path / "rank3.sqlite", call)
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / "clocks.json").write_text("{}")
    (tmp_path / "plugins").mkdir()
    traces, facts = read_all([tmp_path])
    assert [trace.rank for trace in traces] == [0, 1, 2, 3]
    assert sum(isinstance(fact, FileLeftOut) for fact in facts) == 3
    for cycle in (1, 2):
        (tmp_path / f"b.{cycle}.pt.trace.json").write_text(whole(*TWO, rank=1))
    with pytest.raises(UsageError, match=r"are both of rank 1; give one file for each rank, as .*c\.pt\.trace\.json"):
        read_all([tmp_path])
    with pytest.raises(UsageError, match="has no traces: it is empty"):
        read_all([tmp_path / "plugins"])


def test_groups_have_the_names_that_people_know(tmp_path: Path) -> None:
    def call(at: float, group: str, text: str | None) -> str:
        said = {} if text is None else {"Process Group Description": text}
        return one(at, args={"Collective name": "allreduce", "Process Group Name": group} | said)

    for rank, said in ((0, "default_pg"), (1, None)):
        events = (call(1, "0", said), call(5, "3", "mesh_tp"), call(9, "4", "mesh_tp"), call(13, "5", "undefined"))
        (tmp_path / f"{rank}.json").write_text(whole(*events, rank=rank))
    traces, _ = read_all([tmp_path])
    for trace in traces:
        assert sorted(calls.group for calls in trace.calls) == ["5", "default_pg", "mesh_tp (3)", "mesh_tp (4)"]


KNOWN = {
    "allreduce": ("ncclDevKernel_AllReduce_Sum", "ncclSymkDevKernel_AllReduce_x", "oneccl_allreduce"),
    "allgather": ("ncclDevKernel_AllGather_RING", "ncclSymDevKernel_AllGather_ST", "hccl::AllGather"),
    "reduce_scatter": ("ncclDevKernel_ReduceScatter_Sum", "ncclSymkDevKernel_ReduceScatter_LD"),
    "bcast": ("ncclDevKernel_Broadcast_RING", "ncclKernel_Broadcast"),
}  # fmt: skip
OTHERS = (
    "ncclDevKernel_SendRecv(x)",
    "ncclDevKernel_Generic_1(x)",
    "mscclKernel_Sum_half(x)",
    "custom_allreduce<4>(x)",
)
ENDINGS: tuple[Callable[[str], str], ...] = (
    lambda text: f"[{text}",
    lambda text: f"[{text}]",
    lambda text: f"[{text},\n{{}}]\n",
    lambda text: f"[{text},",
    lambda text: f'{{"traceEvents": [{text},\n{{}}\n], "displayTimeUnit": "ns"}}',
    lambda text: f'{{"displayTimeUnit": "ms", "traceEvents" : [{text}], "x": [{{}}, {{}}]}}',
)
FILES = ("rank{}.json", "trace_{}_of_9.json.gz", "rank{}_node7.json", "worker_{}.1700.pt.trace.json", "r.{}.json")


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost_without_a_count(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    ranks, pattern, end = draw.randint(2, 5), draw.choice(FILES), draw.choice(ENDINGS)
    truth: list[list[str]] = []
    lost = 0
    for rank in range(ranks):
        events, said, now = ['{"ph": "M", "name": "thread_name", "args": {}}'], [], 10.0
        for _ in range(draw.randint(3, 30)):
            now += draw.uniform(5, 50)
            length = round(draw.uniform(1, 4), 3)
            operation = draw.choice(list(KNOWN))
            form = draw.randrange(8)
            at = round(now, 3)
            name = draw.choice(KNOWN[operation]) + draw.choice(["", "(x)", "_f32(ncclArgs<4096ul>)"])
            said.append(operation)
            if form == 0:  # its arguments say it
                named = {"Collective name": {"bcast": "broadcast"}.get(operation, operation)}
                events.append(one(at, length, draw.choice(OTHERS[:3]), args=named))
            elif form == 1:
                events += [one(at, ph="B", name=name, dur=None), one(at + length, ph="E", name=None, dur=None)]
            elif form == 2:
                events += [one(at, ph="b", name=name, id=rank, dur=None), one(at + length, ph="e", name=name, id=rank)]
            elif form == 3:
                events.append(one(at, length, name, ts=f"{at:.3f}", dur=str(length)))
            elif form == 4:
                said.pop()
                lost += 1
                events.append(one(at, length, draw.choice(OTHERS)))
            elif form == 5:
                said.pop()
                lost += 1
                events.append(one(0.0, 0.0, name))
            else:
                events.append(one(at, length, name, cat=draw.choice(["kernel", "Kernel", "", None])))
            if draw.random() < 0.3:
                events.append(one(at, 1.0, "gemm", cat="kernel"))
        truth.append(sorted(said))
        content = end(draw.choice([",", ",\n", " , "]).join(events)).encode()
        path = tmp_path / pattern.format(rank)
        path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    paths = [tmp_path] if draw.random() < 0.5 else draw.sample(list(tmp_path.iterdir()), ranks)
    try:
        traces, facts = read_all(paths)
    except NoTraceError:
        assert [] in truth
        return
    if [] not in truth:
        assert [trace.rank for trace in traces] == list(range(ranks))
        assert [sorted(np.concatenate([calls.operation for calls in one.calls]).tolist()) for one in traces] == truth
        left_out = [fact for fact in facts if isinstance(fact, EventsLeftOut)]
        counts = [fact.events for fact in left_out if "no process group" not in fact.kind]
        assert sum(counts) == lost


def test_an_export_of_sqlite_has_one_table(tmp_path: Path) -> None:
    names = ("ncclSymkDevKernel_AllReduce_x", "ncclDevKernel_SendRecv", "my_all_gather", "gemm")
    path = nsight(tmp_path / "rank0.sqlite", *[
        ("CUPTI_ACTIVITY_KIND_KERNEL", (10 * at, 10 * at + 5, 0, 1, 7, at, thread(10, 0), 100 + at, 100 + at))
        for at in range(4)
    ])  # fmt: skip
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", [(100 + at, name) for at, name in enumerate(names)]
        )
        connection.commit()
    (trace,), left_out = read(path)
    assert trace.calls[0].operation.tolist() == ["allreduce"]
    assert sorted(left_out.values()) == [1, 1, 1]
    assert len(read(path, kernels_of(["my_all=allgather"]))[0][0].calls[0].operation) == 2
