"""Reads traces in Chrome's JSON format: of PyTorch (Kineto), and of JAX (Perfetto's export of XPlane).

Kineto records a collective in up to four kinds of events. Not all of them last until the collective is done, and only
such stamps compare clocks:
- Kernels of NCCL, with the stamps of the device, from begin to end on this rank: used if there are any.
- Annotations `nccl:all_reduce` on the device (gpu_user_annotation), around the kernels, 1 ns wider (older versions:
  1 us): used if the trace has no kernels.
- Annotations `gloo:all_reduce` and `mpi:all_reduce` on the host, from the call until the work is done: used.
- `record_param_comms`, and `nccl:all_reduce` on the host, which end once the work is queued, possibly before other
  ranks arrive: only their arguments (group, root, size) are used.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from downbeat.align.calls import UNKNOWN_RANK, Call, Gathered, NoTraceError, RankTrace, normalize
from downbeat.align.formats.collective_events import (
    HOST,
    CollectiveEvents,
    DeviceCalls,
    Event,
    Stamp,
    collective_events,
    gather_xla,
)
from downbeat.align.formats.events import Blocks, looks_like_events
from downbeat.align.formats.kernels import OF_POINTS, POINT_TO_POINT, UNKNOWN_CALLS, Kernels
from downbeat.data.collectives import ROOTED
from downbeat.errors import reading

NAME = "Chrome"
recognizes = looks_like_events

SLACK = 1000  # ns by which an annotation may be shorter than its kernels, since older versions round to us

# PyTorch's name of an element type, lower case -> bytes of an element.
BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("double", "long", "complexfloat"), 8),
    "complexdouble": 16,
}
# Reasons and notes, as they are printed.
NO_GROUP = "collectives that name no process group: taken as of all ranks, in their order"
SEVERAL_GROUPS = "collectives that name no process group, and whose threads show none: left out"
EMPTY_PARTS = "all-to-all with empty parts, or too many to see: they bind no two ranks (alltoallv)"
LOST = "collectives whose stamps have no length: the profiler lost them"
EARLIER = "events are read, up to {}, where the file breaks off"


def read(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the trace of a rank, in a list, and reason -> number of omitted events.

    Raises:
        UsageError: the file is damaged.
        NoTraceError: the file has no collectives, or several ranks.
    """
    blocks = Blocks(path, msgspec.json.Decoder(list[Event | None]))
    with reading(path):
        events = collective_events(blocks, kernels)
        gathered = Gathered(skipped=events.skipped)
        if blocks.broken:
            gathered.skipped[EARLIER.format(blocks.broken)] += blocks.count
        base = int(blocks.head.get("baseTimeNanoseconds") or 0)
        information = blocks.head.get("distributedInfo") or {}
        stated_rank = Kineto(gathered, events, base, information).gather()
        gather_xla(gathered, events, base)
        skipped = +gathered.skipped
    if len(events.ranks) > 1:
        raise NoTraceError(f"'{path}' has {len(events.ranks)} ranks, as a merged trace has; give a file for each rank")
    if not gathered.calls:
        reasons = f" ({'; '.join(f'{count} {reason}' for reason, count in skipped.items())})" if skipped else ""
        raise NoTraceError(f"'{path}' has no collectives that last until they are done{reasons}")
    ranks = (information.get("rank"), stated_rank, *events.ranks, UNKNOWN_RANK)
    rank = next(int(candidate) for candidate in ranks if candidate is not None)
    host = next((str(blocks.head[key]) for key in ("hostname", "host_name") if blocks.head.get(key)), "")
    with reading(path):
        return [gathered.trace(path, rank, host)], skipped


def groups_of(information: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Returns process group -> ranks, from the field `distributedInfo` of the file; "" is the group of all ranks."""
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
    """Returns the process group of each thread with annotations of the host; "": ambiguous.

    The trace has no field for the group of gloo's calls. Each group has its own threads, two with gloo, one with MPI
    (pytorch/pytorch, ProcessGroupGloo.cpp, ProcessGroupMPI.cpp). So threads are in the order of the groups if all
    threads are in the trace.
    """
    group_of = {}
    for library, threads_per_group in (("gloo", 2), ("mpi", 1)):
        entries = [entry for entry in information.get("pg_config") or [] if isinstance(entry, dict)]
        names = [str(entry["pg_name"]) for entry in entries if library in str(entry.get("backend_config", library))]
        library_threads = {stamp.thread for stamp in stamps if stamp.name.startswith(f"{library}:")}
        threads = sorted(library_threads, key=lambda thread: int(str(thread[1])) if str(thread[1]).isdigit() else 0)
        certain = len(names) == 1 or len(threads) == threads_per_group * len(names)
        for index, thread in enumerate(threads if names else []):
            group_of[thread] = names[min(index // threads_per_group, len(names) - 1)] if certain else ""
    return group_of


def ranks_in(value: object) -> tuple[int, ...]:
    """Parses ranks: a list, or its text; empty if the text is shortened, e.g. "[0, 1, ..., 63]" for more than 30."""
    if isinstance(value, str):
        return () if "..." in value else tuple(int(number) for number in re.findall(r"\d+", value))
    return tuple(int(number) for number in value) if isinstance(value, list) else ()


def members(arguments: Mapping[str, Any], groups: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the ranks of the group of a call; empty: unknown.

    Args:
        arguments: of the call's event.
        groups: from `groups_of`.
    """
    ranks = ranks_in(arguments.get("Process Group Ranks")) or groups.get(str(arguments.get("Process Group Name")), ())
    size = int(arguments.get("Group size") or 0)
    if not ranks and size:
        first, stride = arguments.get("Global rank start"), arguments.get("Global rank stride")
        if isinstance(first, int) and isinstance(stride, int) and first >= 0 and stride > 0:
            return tuple(range(first, first + size * stride, stride))
        return groups[""] if len(groups.get("", ())) == size else ()
    return ranks if not size or len(ranks) == size else ()


class Kineto:
    """Gathers the calls of PyTorch's traces, and of other traces with kernels of collectives.

    Attributes:
        gathered: receives the calls, by group.
        events: collective events of the file.
        base: time that the stamps of the file count from, ns.
        information: field `distributedInfo` of the file.
        groups: process group -> ranks.
        unnamed: calls without a group, by device.
    """

    def __init__(self, gathered: Gathered, events: CollectiveEvents, base: int, information: Mapping[str, Any]) -> None:
        self.gathered, self.events, self.base, self.information = gathered, events, base, information
        self.groups = groups_of(information)
        self.unnamed = DeviceCalls()

    def gather(self) -> int | None:
        """Gathers all calls; returns the rank if it is in the parameters of calls, else None."""
        stamps = self.events.stamps
        callers = {
            parameters.arguments["External id"]: parameters
            for parameters in stamps["parameters"]
            if "External id" in parameters.arguments
        }
        for stamp in kernels_of_calls(list(with_annotations(stamps["kernel"], stamps["device"]))):
            caller = callers.get(stamp.arguments.get("External id"))
            self.add(stamp, (caller.arguments if caller else {}) | stamp.arguments)
        calls = Callers(stamps["parameters"])
        threads = groups_of_threads(stamps["host"], self.information)
        for stamp in sorted(stamps["host"], key=lambda candidate: candidate.entry):
            arguments = calls.around(stamp) | stamp.arguments
            group = arguments.get("Process Group Name", threads.get(stamp.thread))
            if group == "":
                self.gathered.skipped[SEVERAL_GROUPS] += 1
                continue
            self.add(stamp, arguments | ({} if group is None else {"Process Group Name": group}))
        self.unnamed.gather(self.gathered)
        for group in self.information.get("pg_config") or []:
            if isinstance(group, dict):
                self.gathered.describe(str(group.get("pg_name")), group.get("pg_desc"))
        return self.rank()

    def rank(self) -> int | None:
        """Returns the rank from the parameters of calls; None: unknown."""
        for parameters in self.events.stamps["parameters"]:
            arguments, ranks = parameters.arguments, members(parameters.arguments, self.groups)
            local_rank = arguments.get("Rank")
            # In collectives with a root, "Rank" is the root; in point-to-point calls, it is the peer.
            operation = normalize(str(arguments.get("Collective name", "")))
            if operation and operation not in ROOTED and isinstance(local_rank, int) and 0 <= local_rank < len(ranks):
                return ranks[local_rank]
        return None

    def add(self, stamp: Stamp, arguments: Mapping[str, Any]) -> None:
        """Adds a call, or counts the reason to omit it.

        Args:
            stamp: of the call.
            arguments: of the call, from all of its events.
        """
        label, kernel = str(arguments.get("Collective name") or stamp.name), stamp.kernel
        # Arguments have precedence: NCCL uses one kernel, with one name, for several operations (nccl issue 739).
        if kernel is not None and (kernel.from_option or "Collective name" not in arguments):
            operation: str | None = kernel.operation
        else:
            operation = normalize(label)
        if not operation:
            is_point_to_point = POINT_TO_POINT.search(label) or "SendRecv" in label
            self.gathered.skipped[OF_POINTS if is_point_to_point else UNKNOWN_CALLS] += 1
            return
        if stamp.exit <= stamp.entry:
            self.gathered.skipped[LOST] += 1
            return
        if operation in ("alltoall", "alltoallv"):
            # An all-to-all with an empty part does not make every rank wait for every other, like alltoallv.
            sizes = f"{arguments.get('In split size', '')} {arguments.get('Out split size', '')}"
            sizes_known = re.search(r"[1-9]", sizes) and "..." not in sizes
            if re.search(r"\b0\b", sizes) or "..." in sizes or (operation == "alltoallv" and not sizes_known):
                operation = "alltoallv"
                self.gathered.skipped[EMPTY_PARTS] += 1
            else:
                operation = "alltoall"
        ranks = members(arguments, self.groups)
        root = arguments.get("Rank") if operation in ROOTED else None
        root = ranks[root] if isinstance(root, int) and 0 <= root < len(ranks) else -1
        elements, element_bytes = arguments.get("In msg nelems"), BYTES.get(str(arguments.get("dtype")).lower())
        size = elements * element_bytes if isinstance(elements, int) and element_bytes else -1
        number = arguments.get("Seq")
        number = number if isinstance(number, int) else -1
        call = Call(operation, stamp.entry + self.base, stamp.exit + self.base, number, root, size)
        group = arguments.get("Process Group Name", kernel.group or None if kernel else None)
        if group is not None:
            self.gathered.add(str(group), call, ranks)
            self.gathered.describe(str(group), arguments.get("Process Group Description"))
            return
        self.gathered.skipped[NO_GROUP] += 1
        host = HOST.match(stamp.name)
        name = host[1] if host else f"stream {arguments.get('stream', stamp.thread[1])}"
        self.unnamed.add(name, stamp.thread[0], call)


def with_annotations(kernels: list[Stamp], annotations: list[Stamp]) -> Iterator[Stamp]:
    """Yields kernels with the arguments of the annotations around them, and annotations without kernels.

    An annotation has no kernel if copies do the work.
    """
    of_thread: defaultdict[tuple[object, object], list[Stamp]] = defaultdict(list)
    for stamp in sorted(kernels, key=lambda stamp: stamp.entry):
        of_thread[stamp.thread].append(stamp)
    around: dict[int, Stamp] = {}  # id of a kernel's stamp -> annotation around it
    for annotation in annotations:
        candidates = of_thread[annotation.thread]
        index = bisect_left(candidates, annotation.entry - SLACK, key=lambda stamp: stamp.entry)
        inside = []
        while index < len(candidates) and candidates[index].exit <= annotation.exit + SLACK:
            inside.append(candidates[index])
            index += 1
        around |= {id(stamp): annotation for stamp in inside}
        if not inside:
            yield annotation
    for kernel in kernels:
        enclosing = around.get(id(kernel))
        if enclosing is None:
            yield kernel
            continue
        named = {"Collective name": enclosing.name} if kernel.kernel and not kernel.kernel.operation else {}
        yield kernel._replace(arguments=named | enclosing.arguments | kernel.arguments)


def kernels_of_calls(kernels: list[Stamp]) -> list[Stamp]:
    """Combines the kernels of each call into a stamp from the first begin to the last end."""
    of_call: dict[object, Stamp] = {}
    for number, stamp in enumerate(kernels):
        call = stamp.arguments.get("External id")
        # Without parameters, the id may be that of a CUDA graph, which starts the kernels of many calls.
        key = ("call", call) if call and "Collective name" in stamp.arguments else ("kernel", number)
        first = of_call.setdefault(key, stamp)
        of_call[key] = first._replace(entry=min(first.entry, stamp.entry), exit=max(first.exit, stamp.exit))
    return list(of_call.values())


class Callers:
    """Finds the event `record_param_comms` around an annotation of the host."""

    def __init__(self, parameters: list[Stamp]) -> None:
        self.of_thread: defaultdict[tuple[object, object], list[Stamp]] = defaultdict(list)
        for stamp in sorted(parameters, key=lambda stamp: stamp.entry, reverse=True):
            self.of_thread[stamp.thread].append(stamp)

    def around(self, stamp: Stamp) -> dict[str, Any]:
        """Returns the parameters of the call in which an annotation begins; empty: there is no such call.

        Annotations must be passed in order of time, since earlier calls are dropped.
        """
        later_calls = self.of_thread[stamp.thread]  # the earliest is the last
        while later_calls and later_calls[-1].exit < stamp.entry:
            later_calls.pop()
        return later_calls[-1].arguments if later_calls and later_calls[-1].entry <= stamp.entry else {}
