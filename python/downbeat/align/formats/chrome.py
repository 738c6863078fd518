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
    Event,
    OfDevices,
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

SLACK = 1000  # ns by which a device's annotation may be shorter than its kernels: older ones have us

# Bytes of an element, by the name that PyTorch has for its type, lower case.
BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "short"), 2),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("double", "long", "complexfloat"), 8),
    "complexdouble": 16,
}
NO_GROUP = "collectives that name no process group: taken as of all ranks, in their order"
SEVERAL_GROUPS = "collectives that name no process group, and whose threads show none: left out"
EMPTY_PARTS = "all-to-all with empty parts, or too many to see: they bind no two ranks (alltoallv)"
LOST = "collectives whose stamps have no length: the profiler lost them"
EARLIER = "events are read, up to {}, where the file breaks off"


def read(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the trace of a rank, and a line for each kind of event left out.

    Raises:
        UsageError: the file is damaged, has no collectives, or several ranks.
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
        why = f" ({'; '.join(f'{count} {what}' for what, count in skipped.items())})" if skipped else ""
        raise NoTraceError(f"'{path}' has no collectives that last until they are done{why}")
    ranks = (information.get("rank"), stated_rank, *events.ranks, UNKNOWN_RANK)
    rank = next(int(candidate) for candidate in ranks if candidate is not None)
    host = next((str(blocks.head[key]) for key in ("hostname", "host_name") if blocks.head.get(key)), "")
    with reading(path):
        return [gathered.trace(path, rank, host)], skipped


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
    """Returns the process group of each thread with annotations of the host; "": ambiguous.

    The trace has no field for the group of gloo's calls. Each group makes its own threads, two of gloo, one of MPI
    (pytorch/pytorch, ProcessGroupGloo.cpp, ProcessGroupMPI.cpp), so that they are in the groups' order if all are seen.
    """
    group_of = {}
    for library, each in (("gloo", 2), ("mpi", 1)):
        entries = [entry for entry in information.get("pg_config") or [] if isinstance(entry, dict)]
        names = [str(entry["pg_name"]) for entry in entries if library in str(entry.get("backend_config", library))]
        library_threads = {stamp.thread for stamp in stamps if stamp.name.startswith(f"{library}:")}
        threads = sorted(library_threads, key=lambda thread: int(str(thread[1])) if str(thread[1]).isdigit() else 0)
        certain = len(names) == 1 or len(threads) == each * len(names)
        for index, thread in enumerate(threads if names else []):
            group_of[thread] = names[min(index // each, len(names) - 1)] if certain else ""
    return group_of


def ranks_in(value: object) -> tuple[int, ...]:
    """Returns ranks, of a list or a text of one; none if the text was shortened: more than 30 are "[0, 1, ..., 63]"."""
    if isinstance(value, str):
        return () if "..." in value else tuple(int(number) for number in re.findall(r"\d+", value))
    return tuple(int(number) for number in value) if isinstance(value, list) else ()


def members(arguments: Mapping[str, Any], groups: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the ranks of the group of a call; empty: the trace has no such field."""
    ranks = ranks_in(arguments.get("Process Group Ranks")) or groups.get(str(arguments.get("Process Group Name")), ())
    size = int(arguments.get("Group size") or 0)
    if not ranks and size:
        first, stride = arguments.get("Global rank start"), arguments.get("Global rank stride")
        if isinstance(first, int) and isinstance(stride, int) and first >= 0 and stride > 0:
            return tuple(range(first, first + size * stride, stride))
        return groups[""] if len(groups.get("", ())) == size else ()
    return ranks if not size or len(ranks) == size else ()


class Kineto:
    """Gathers the calls of PyTorch's traces, and of others that have kernels of collectives.

    Attributes:
        gathered: calls, by group.
        events: collective events of the file.
        base: what its stamps count from, ns.
        information: `distributedInfo`.
        unnamed: calls that name no group, of each device.
    """

    def __init__(self, gathered: Gathered, events: CollectiveEvents, base: int, information: Mapping[str, Any]) -> None:
        self.gathered, self.events, self.base, self.information = gathered, events, base, information
        self.groups = groups_of(information)
        self.unnamed = OfDevices()

    def gather(self) -> int | None:
        """Gathers all calls; returns the rank if their parameters have it."""
        stamps = self.events.stamps
        callers = {
            parameters.arguments["External id"]: parameters
            for parameters in stamps["parameters"]
            if "External id" in parameters.arguments
        }
        for stamp in together(list(with_annotations(stamps["kernel"], stamps["device"]))):
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
        """Returns the rank from the parameters of calls."""
        for parameters in self.events.stamps["parameters"]:
            arguments, ranks = parameters.arguments, members(parameters.arguments, self.groups)
            local_rank = arguments.get("Rank")
            # Of a rooted one, Rank is the root; of point-to-point calls, the other.
            bound = normalize(str(arguments.get("Collective name", "")))
            if bound and bound not in ROOTED and isinstance(local_rank, int) and 0 <= local_rank < len(ranks):
                return ranks[local_rank]
        return None

    def add(self, stamp: Stamp, arguments: Mapping[str, Any]) -> None:
        """Adds a call, or counts the reason to omit it."""
        label, kernel = str(arguments.get("Collective name") or stamp.name), stamp.kernel
        # A kernel does several operations, and has the name of one: its arguments are right (NVIDIA/nccl, issue 739).
        named = kernel is not None and (kernel.from_option or "Collective name" not in arguments)
        operation = kernel.operation if kernel and named else normalize(label)
        if not operation:
            points = POINT_TO_POINT.search(label) or "SendRecv" in label
            self.gathered.skipped[OF_POINTS if points else UNKNOWN_CALLS] += 1
            return
        if stamp.exit <= stamp.entry:
            self.gathered.skipped[LOST] += 1
            return
        if operation in ("alltoall", "alltoallv"):
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
        elements, each = arguments.get("In msg nelems"), BYTES.get(str(arguments.get("dtype")).lower())
        size = elements * each if isinstance(elements, int) and each else -1
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
    """Yields kernels with the arguments of enclosing annotations, and annotations without kernels (done by copies)."""
    of_thread: defaultdict[tuple[object, object], list[Stamp]] = defaultdict(list)
    for stamp in sorted(kernels, key=lambda stamp: stamp.entry):
        of_thread[stamp.thread].append(stamp)
    around: dict[int, Stamp] = {}
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
        yield kernel.with_arguments(named | enclosing.arguments | kernel.arguments)


def together(kernels: list[Stamp]) -> list[Stamp]:
    """Returns stamps from the first to the last kernel of each call: one call may start several."""
    of_call: dict[object, Stamp] = {}
    for number, stamp in enumerate(kernels):
        call = stamp.arguments.get("External id")
        # Without parameters it may be another's number: a graph's, which starts many.
        key = ("call", call) if call and "Collective name" in stamp.arguments else ("kernel", number)
        first = of_call.setdefault(key, stamp)
        of_call[key] = first._replace(entry=min(first.entry, stamp.entry), exit=max(first.exit, stamp.exit))
    return list(of_call.values())


class Callers:
    """The `record_param_comms` around annotations of the host."""

    def __init__(self, parameters: list[Stamp]) -> None:
        self.of_thread: defaultdict[tuple[object, object], list[Stamp]] = defaultdict(list)
        for stamp in sorted(parameters, key=lambda stamp: stamp.entry, reverse=True):
            self.of_thread[stamp.thread].append(stamp)

    def around(self, stamp: Stamp) -> dict[str, Any]:
        """Returns the parameters of the call in which an annotation begins; calls must come in order of time."""
        waiting = self.of_thread[stamp.thread]
        while waiting and waiting[-1].exit < stamp.entry:
            waiting.pop()
        return waiting[-1].arguments if waiting and waiting[-1].entry <= stamp.entry else {}
