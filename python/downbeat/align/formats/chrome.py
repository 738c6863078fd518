"""Traces in Chrome's JSON: of PyTorch (Kineto), and of JAX (Perfetto's export of XPlane).

Kineto stamps a collective in up to four places, and not all of them last until it is done:
- kernels of NCCL, with the device's stamps: from when this rank's part began to when it ended. Taken first.
- annotations `nccl:all_reduce` on the device (gpu_user_annotation): around those kernels, 1 ns wider (older: 1 us).
  Taken where the trace has no kernels.
- annotations `gloo:all_reduce` and `mpi:all_reduce` on the host: from the call until the work is done. Taken.
- `record_param_comms`, and `nccl:all_reduce` on the host: they end once the work is queued, before other ranks need
  have come. Their stamps would break the bound; what they say of the call (group, root, size) is taken.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from downbeat.align.calls import RankTrace
from downbeat.align.formats.common import ROOTED, Call, Gathered, normalize, rank_of
from downbeat.align.formats.events import Blocks, looks_like_events, nanoseconds
from downbeat.errors import UsageError, reading

NAME = "Chrome"
recognizes = looks_like_events

PARAMETERS = "record_param_comms"
KERNEL = re.compile(r"^(nccl|rccl)(Dev)?Kernel_?", re.IGNORECASE)
HOST = re.compile(r"^(gloo|mpi):")
DEVICE = re.compile(r"^nccl:")
XLA = re.compile(r"^(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start|-done)?(\.\d+)?$")
POINT_TO_POINT = re.compile(r"(^|:)(_?i?send|_?i?recv|recv_?any_?source|permute)", re.IGNORECASE)
GROUPS = re.compile(r"replica_groups=(?:\{(?P<lists>(?:\{[\d,]*\},?)+)\}|\[(?P<count>\d+),\d+\])")

# Bytes of an element, by the name that PyTorch has for its type, lower case.
BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("double", "long", "complexfloat"), 8),
    "complexdouble": 16,
}
OF_POINTS = "point-to-point calls"
NO_END = "collectives without an end"
QUEUED = "stamps of nccl on the host: they end once the work is queued"
NO_GROUP = "collectives that name no process group: taken as of all ranks, in their order"
SEVERAL_GROUPS = "collectives that name no process group, and whose threads show none: left out"
UNKNOWN = "calls of the library of another kind"
EMPTY_PARTS = "all-to-all with empty parts, or too many to see: they bind no two ranks (alltoallv)"
SUB_GROUPS = "collectives of several groups of devices: the trace does not say whose"
NOT_ALL = "collectives that not all devices of the file took part in together"
PAIRS = "starts or ends of asynchronous collectives without the other"


class Event(msgspec.Struct):
    """The fields that are read of an event; numbers in the digits of the file."""

    name: Any = ""
    cat: Any = ""
    ph: Any = ""
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    pid: Any = 0
    tid: Any = 0
    args: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True)
class Stamp:
    """An event that may be a collective: its name, times (ns), thread and arguments."""

    name: str
    entry: int
    exit: int
    thread: tuple[object, object]
    arguments: dict[str, Any]


@dataclass
class Found:
    """The events of a file that say something of collectives, by kind."""

    stamps: defaultdict[str, list[Stamp]] = field(default_factory=lambda: defaultdict(list))
    skipped: Counter[str] = field(default_factory=Counter)


def kind_of(name: object, category: object) -> str | None:
    """Returns what kind of event one is by its name and category; None: it says nothing of collectives."""
    if not isinstance(name, str):
        return None
    if name == PARAMETERS:
        return "parameters"
    if str(category).lower() in ("kernel", "mtia_ccp_events") and (KERNEL.match(name) or name.startswith("hccl::")):
        return "kernel"
    if HOST.match(name):
        return "host"
    if DEVICE.match(name):
        return "device" if category == "gpu_user_annotation" else "queued"
    return "xla" if XLA.match(name) else None


def find(blocks: Blocks[Event]) -> Found:
    """Returns the events of a file that say something of collectives."""
    found = Found()
    kinds: dict[tuple[object, object], str | None] = {}
    for events in blocks:
        for event in events:
            key = (event.name, event.cat)
            try:
                kind = kinds[key]
            except KeyError:
                kind = kinds[key] = kind_of(*key)
            if kind is None:
                continue
            if kind == "queued":
                found.skipped[QUEUED] += 1
            elif event.ph not in ("X", "") or not bytes(event.dur):
                found.skipped[NO_END] += event.ph != "E"
            else:
                found.stamps[kind].append(stamp_of(event))
    return found


def stamp_of(event: Event) -> Stamp:
    """Returns an event with its times."""
    begin = nanoseconds(event.ts)
    # Rounded up: Kineto's stamps are whole ns, XPlane's have ps.
    end = nanoseconds(event.ts, up=True) + nanoseconds(event.dur, up=True)
    arguments = msgspec.json.decode(event.args) if bytes(event.args) else {}
    thread = (event.pid, event.tid)
    return Stamp(str(event.name), begin, end, thread, arguments if isinstance(arguments, dict) else {})


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the trace of a rank, and a line for each kind of what was left out.

    Raises:
        UsageError: the file is damaged, has no collectives, or does not say its rank.
    """
    blocks = Blocks(path, msgspec.json.Decoder(list[Event]))
    with reading(path):
        found = find(blocks)
        gathered = Gathered(skipped=found.skipped)
        base = int(blocks.head.get("baseTimeNanoseconds") or 0)
        information = blocks.head.get("distributedInfo") or {}
        groups = groups_of(information)
        rank = information.get("rank")
        of_threads = groups_of_threads(found.stamps["host"], information)
        said = gather_kineto(gathered, found, base, groups, of_threads)
        gather_xla(gathered, found, base)
    if not gathered.calls:
        why = f" ({'; '.join(f'{count} {what}' for what, count in found.skipped.items())})" if found.skipped else ""
        raise UsageError(f"'{path}' has no collectives that last until they are done{why}")
    number = next((one for one in (rank, said, rank_of(path)) if one is not None), None)
    if number is None:
        raise UsageError(f"'{path}' does not say its rank; put it into the file's name: rank-0.json")
    host = next((str(blocks.head[key]) for key in ("hostname", "host_name") if blocks.head.get(key)), "")
    with reading(path):
        return [gathered.trace(path, int(number), host)], gathered.skipped


def groups_of(information: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Returns the ranks of each process group that `distributedInfo` has."""
    groups = {}
    for group in information.get("pg_config") or []:
        if isinstance(group, dict):
            ranks = ranks_in(group.get("ranks"))
            if ranks:
                groups[str(group.get("pg_name"))] = ranks
    if information.get("world_size"):
        groups[""] = tuple(range(int(information["world_size"])))
    return groups


def groups_of_threads(stamps: list[Stamp], information: Mapping[str, Any]) -> dict[tuple[object, object], str]:
    """Returns the process group of each thread that annotations of the host are on; "": one of several.

    A trace says no more of the group of gloo's calls. Each group makes threads of its own, two of gloo, one of MPI
    (pytorch/pytorch, ProcessGroupGloo.cpp, ProcessGroupMPI.cpp), so that they are in the groups' order if all are seen.
    """
    found = {}
    for library, each in (("gloo", 2), ("mpi", 1)):
        entries = [one for one in information.get("pg_config") or [] if isinstance(one, dict)]
        names = [str(one["pg_name"]) for one in entries if library in str(one.get("backend_config", library))]
        mine = {stamp.thread for stamp in stamps if stamp.name.startswith(f"{library}:")}
        threads = sorted(mine, key=lambda thread: int(str(thread[1])) if str(thread[1]).isdigit() else 0)
        told = len(names) == 1 or len(threads) == each * len(names)
        for place, thread in enumerate(threads if names else []):
            found[thread] = names[min(place // each, len(names) - 1)] if told else ""
    return found


def ranks_in(value: object) -> tuple[int, ...]:
    """Returns ranks, of a list or a text of one; none if the text was shortened: more than 30 are "[0, 1, ..., 63]"."""
    if isinstance(value, str):
        return () if "..." in value else tuple(int(number) for number in re.findall(r"\d+", value))
    return tuple(int(number) for number in value) if isinstance(value, list) else ()


def members(arguments: Mapping[str, Any], groups: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the ranks of the group of a call; none: the trace does not say."""
    ranks = ranks_in(arguments.get("Process Group Ranks")) or groups.get(str(arguments.get("Process Group Name")), ())
    size = int(arguments.get("Group size") or 0)
    if not ranks and size:
        first, stride = arguments.get("Global rank start"), arguments.get("Global rank stride")
        if isinstance(first, int) and isinstance(stride, int) and first >= 0 and stride > 0:
            return tuple(range(first, first + size * stride, stride))
        return groups[""] if len(groups.get("", ())) == size else ()
    return ranks if not size or len(ranks) == size else ()


def gather_kineto(
    gathered: Gathered,
    found: Found,
    base: int,
    groups: Mapping[str, tuple[int, ...]],
    of_threads: Mapping[tuple[object, object], str],
) -> int | None:
    """Gathers calls of PyTorch's; returns the rank, if their parameters say it."""
    parameters = {
        one.arguments["External id"]: one for one in found.stamps["parameters"] if "External id" in one.arguments
    }
    rank = None
    for one in found.stamps["parameters"]:
        arguments, ranks = one.arguments, members(one.arguments, groups)
        own = arguments.get("Rank")
        # Of a rooted one, Rank is the root; of point-to-point calls, the other.
        bound = normalize(str(arguments.get("Collective name", "")))
        if rank is None and bound and bound not in ROOTED and isinstance(own, int) and 0 <= own < len(ranks):
            rank = ranks[own]
    kernels = found.stamps["kernel"] or found.stamps["device"]
    for stamp in together(kernels):
        caller = parameters.get(stamp.arguments.get("External id"))
        add(gathered, stamp, (caller.arguments if caller else {}) | stamp.arguments, base, groups)
    calls = Callers(found.stamps["parameters"])
    for stamp in sorted(found.stamps["host"], key=lambda one: one.entry):
        arguments = calls.around(stamp) | stamp.arguments
        group = arguments.get("Process Group Name", of_threads.get(stamp.thread))
        if group == "":
            gathered.skipped[SEVERAL_GROUPS] += 1
            continue
        add(gathered, stamp, arguments | ({} if group is None else {"Process Group Name": group}), base, groups)
    return rank


def together(kernels: list[Stamp]) -> list[Stamp]:
    """Returns stamps from the first to the last kernel of each call: one call may start several."""
    of_call: dict[object, Stamp] = {}
    for number, stamp in enumerate(kernels):
        call = stamp.arguments.get("External id")
        # Without parameters it may be another's number: a graph's, which starts many.
        key = ("call", call) if call and "Collective name" in stamp.arguments else ("kernel", number)
        first = of_call.setdefault(key, stamp)
        begin, end = min(first.entry, stamp.entry), max(first.exit, stamp.exit)
        of_call[key] = Stamp(first.name, begin, end, first.thread, first.arguments)
    return list(of_call.values())


class Callers:
    """The `record_param_comms` around annotations of the host."""

    def __init__(self, parameters: list[Stamp]) -> None:
        self.of_thread: defaultdict[tuple[object, object], list[Stamp]] = defaultdict(list)
        for one in sorted(parameters, key=lambda one: one.entry, reverse=True):
            self.of_thread[one.thread].append(one)

    def around(self, stamp: Stamp) -> dict[str, Any]:
        """Returns the parameters of the call in which an annotation begins; asked by time."""
        waiting = self.of_thread[stamp.thread]
        while waiting and waiting[-1].exit < stamp.entry:
            waiting.pop()
        return waiting[-1].arguments if waiting and waiting[-1].entry <= stamp.entry else {}


def add(gathered: Gathered, stamp: Stamp, arguments: Mapping[str, Any], base: int, groups: Mapping[str, Any]) -> None:
    """Adds a call of PyTorch's, or counts why not."""
    said = str(arguments.get("Collective name") or stamp.name)
    operation = normalize(said)
    if operation is None:
        gathered.skipped[OF_POINTS if POINT_TO_POINT.search(said) or "SendRecv" in said else UNKNOWN] += 1
        return
    parts = f"{arguments.get('In split size', '')} {arguments.get('Out split size', '')}"
    if operation == "alltoall" and ("..." in parts or re.search(r"\b0\b", parts)):
        operation = "alltoallv"
        gathered.skipped[EMPTY_PARTS] += 1
    ranks = members(arguments, groups)
    group = arguments.get("Process Group Name")
    if group is None:
        gathered.skipped[NO_GROUP] += 1
        stream = arguments.get("stream")
        group = HOST.match(stamp.name)[1] if HOST.match(stamp.name) else f"stream {stream}"  # type: ignore[index]
    root = arguments.get("Rank") if operation in ROOTED else None
    root = ranks[root] if isinstance(root, int) and 0 <= root < len(ranks) else -1
    elements, each = arguments.get("In msg nelems"), BYTES.get(str(arguments.get("dtype")).lower())
    size = elements * each if isinstance(elements, int) and each else -1
    number = arguments.get("Seq")
    call = Call(operation, stamp.entry + base, stamp.exit + base, number if isinstance(number, int) else -1, root, size)
    gathered.add(str(group), call, ranks)


def gather_xla(gathered: Gathered, found: Found, base: int) -> None:
    """Gathers calls of XLA's programs: a group for each operation of a program, which all of its devices run.

    A file has all devices of a host, on one clock. Each of them waits for each of another host's, so that the last
    begin and the first end are the host's.
    """
    of_device: defaultdict[tuple[str, str], defaultdict[object, list[Call]]] = defaultdict(lambda: defaultdict(list))
    begun: dict[tuple[object, str, str], Stamp] = {}
    for stamp in sorted(found.stamps["xla"], key=lambda one: one.entry):
        name = XLA.match(stamp.name)
        if name is None:
            continue
        operation, part, number = normalize(name[1]), name[2], name[3] or ""
        shape = GROUPS.search(str(stamp.arguments.get("long_name", "")))
        if operation is None:
            gathered.skipped[OF_POINTS] += part != "-done"
            continue
        if shape and (int(shape["count"]) if shape["count"] else shape["lists"].count("{")) > 1:
            gathered.skipped[SUB_GROUPS] += part != "-done"
            continue
        key = (stamp.thread[0], name[1], number)
        if part == "-start":
            gathered.skipped[PAIRS] += key in begun
            begun[key] = stamp
            continue
        entry = stamp.entry
        if part == "-done":
            start = begun.pop(key, None)
            if start is None:
                gathered.skipped[PAIRS] += 1
                continue
            entry = start.entry
        module = str(stamp.arguments.get("hlo_module", ""))
        call = Call(operation, entry + base, stamp.exit + base)
        of_device[module, name[1] + number][stamp.thread[0]].append(call)
    gathered.skipped[PAIRS] += len(begun)
    for (module, label), devices in of_device.items():
        if len({len(calls) for calls in devices.values()}) > 1:
            gathered.skipped[NOT_ALL] += sum(map(len, devices.values()))
            continue
        for calls in zip(*devices.values(), strict=True):
            entry, end = max(call.entry for call in calls), min(call.exit for call in calls)
            if entry > end:
                gathered.skipped[NOT_ALL] += len(calls)
            else:
                gathered.add(f"{module} {label}".strip(), Call(calls[0].operation, entry, end))
    gathered.skipped = +gathered.skipped
