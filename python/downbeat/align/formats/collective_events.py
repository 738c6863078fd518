"""The events of a Chrome trace that describe collectives, by kind; the collectives of XLA."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from downbeat.align.calls import Call, Gathered, normalize
from downbeat.align.formats.events import Blocks, has_time, nanoseconds
from downbeat.align.formats.kernels import (
    LEFT_OUT,
    NONE,
    OF_POINTS,
    UNKNOWN_CALLS,
    Kernel,
    Kernels,
    looks_like_one,
    stranger,
)

PARAMETERS = "record_param_comms"
HOST = re.compile(r"^(gloo|mpi):")
DEVICE = re.compile(r"^(nccl|rccl|xccl|hccl|ucc):(?!:)")
XLA = re.compile(
    r"^(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast)"
    r"(-start|-done)?((?:\.[\w.]+)?)$"
)
OF_DEVICES = ("kernel", "mtia_ccp_events", "")  # categories; exporters of XPlane and Ascend write none
OF_HOSTS = re.compile(r"cpu|user_annotation|python|runtime|driver|overhead|trace|ac2g|fwdbwd", re.IGNORECASE)
OF_RANKS = re.compile(r"^\W*rank[ :_-]*(\d+)\b", re.IGNORECASE)
NO_END = "collectives without an end"
QUEUED = "stamps of a library on the host: they end once the work is queued"
ON_HOSTS = "stamps of XLA's operations on the host: they end once the work is queued"
LEFT_OUT_KINDS = {"queued": QUEUED, "left out": LEFT_OUT}


class Event(msgspec.Struct):
    """The fields that are read of an event; numbers in the digits of the file."""

    name: Any = ""
    cat: Any = ""
    ph: Any = ""
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    pid: Any = 0
    tid: Any = 0
    id: Any = None
    args: msgspec.Raw = msgspec.Raw()


class Stamp(NamedTuple):
    """An event that may be a collective: its name, times (ns), thread and arguments; and what a kernel's name says."""

    name: str
    entry: int
    exit: int
    thread: tuple[object, object]
    arguments: dict[str, Any]
    kernel: Kernel | None = None

    def with_arguments(self, arguments: dict[str, Any]) -> Stamp:
        """Returns the same with other arguments."""
        return self._replace(arguments=arguments)


@dataclass
class CollectiveEvents:
    """The events of a file that say something of collectives, by kind.

    Attributes:
        stamps: of each kind: parameters, kernel, device, host, xla; "kernel of xla" names its operation.
        skipped: events left out, by kind.
        processes: names.
        ranks: that names of processes say.
    """

    stamps: defaultdict[str, list[Stamp]] = field(default_factory=lambda: defaultdict(list))
    skipped: Counter[str] = field(default_factory=Counter)
    processes: dict[object, str] = field(default_factory=dict)
    ranks: set[int] = field(default_factory=set)

    def add(self, kind: str, stamp: Stamp) -> None:
        """Adds an event."""
        if kind in LEFT_OUT_KINDS:
            self.skipped[LEFT_OUT_KINDS[kind]] += 1
            return
        of_xla = kind == "kernel" and XLA.match(str(stamp.arguments.get("hlo_op", "")))
        self.stamps["kernel of xla" if of_xla else kind].append(stamp)

    def on_device(self, process: object) -> bool:
        """Whether a process is not known to be one of the host."""
        return not self.processes.get(process, "").startswith("/host")


def kind_of(name: object, category: object, kernels: Kernels) -> tuple[str, Kernel | None] | None:
    """Returns the kind of an event by its name and category, and the meaning of a kernel's name.

    None: the event does not describe a collective.
    """
    if not isinstance(name, str):
        return None
    word = "" if category is None else str(category).lower()
    if name == PARAMETERS:
        return "parameters", None
    if not OF_HOSTS.search(word):
        kernel = kernels.find(name)
        if kernel is not None and (kernel.from_option or word in OF_DEVICES):
            return ("left out" if kernel.operation == NONE else "kernel"), kernel
    if HOST.match(name):
        return "host", None
    if DEVICE.match(name):
        return ("device" if word == "gpu_user_annotation" else "queued"), None
    if XLA.match(name):
        return "xla", None
    return ("stranger", None) if not OF_HOSTS.search(word) and looks_like_one(name) else None


def collective_events(blocks: Blocks[Event], kernels: Kernels) -> CollectiveEvents:
    """Returns the events of a file that say something of collectives.

    An event has its length (X), or is one of begin and end: of a thread (B, E), or of an id (b, e).
    """
    result = CollectiveEvents()
    kinds: dict[tuple[object, object], tuple[str, Kernel | None] | None] = {}
    begun: defaultdict[object, list[tuple[Event, str | None, Kernel | None]]] = defaultdict(list)
    for events in blocks:
        for event in events:
            key, phase = (event.name, event.cat), event.ph
            try:
                known = kinds[key]
            except (KeyError, TypeError):
                known = kind_of(*key, kernels)
                if isinstance(event.name, str) and isinstance(event.cat, str | None):
                    kinds[key] = known
            if known is None and phase == "X":
                continue
            kind, kernel = known or (None, None)
            if phase in ("B", "b", "E", "e"):
                thread = phase in ("B", "E")
                scope = (event.pid, event.tid) if thread else ("", event.cat, event.id, event.pid, event.name)
                if phase in ("B", "b"):
                    begun[scope].append((event, kind, kernel))
                elif begun[scope]:
                    begin, kind, kernel = begun[scope].pop()
                    if kind is not None:
                        result.add(kind, stamp_of(begin, kernel, event.ts))
            elif phase == "M":
                name_process(result, event)
            elif kind is None:
                continue
            elif phase in ("X", "") and has_time(event.dur) and has_time(event.ts):
                result.add(kind, stamp_of(event, kernel))
            else:
                result.skipped[NO_END] += 1
    result.skipped[NO_END] += sum(kind is not None for some in begun.values() for _, kind, _ in some)
    strangers = [stamp.name for stamp in result.stamps.pop("stranger", []) if result.on_device(stamp.thread[0])]
    if strangers:
        result.skipped[stranger(strangers[0])] += len(strangers)
    return result


def name_process(events: CollectiveEvents, event: Event) -> None:
    """Keeps the name of a process."""
    if event.name not in ("process_name", "process_labels") or not bytes(event.args):
        return
    arguments = msgspec.json.decode(event.args)
    text = str(arguments.get("name") or arguments.get("labels") or "") if isinstance(arguments, dict) else ""
    if event.name == "process_name":
        events.processes[event.pid] = text
    match = OF_RANKS.match(text)
    if match:
        events.ranks.add(int(match[1]))


def stamp_of(event: Event, kernel: Kernel | None, end: msgspec.Raw | None = None) -> Stamp:
    """Returns an event with its times; without a length, up to the stamp of its end."""
    begin = nanoseconds(event.ts)
    # Rounded up: Kineto's stamps are whole ns, XPlane's have ps.
    until = nanoseconds(end, up=True) if end else nanoseconds(event.ts, up=True) + nanoseconds(event.dur, up=True)
    arguments = msgspec.json.decode(event.args) if bytes(event.args) else {}
    thread = (event.pid, event.tid)
    return Stamp(str(event.name), begin, until, thread, arguments if isinstance(arguments, dict) else {}, kernel)


GROUPS = re.compile(r"replica_groups=(?:\{(?P<lists>(?:\{[\d,]*\},?)+)\}|\[(?P<count>\d+),\d+\])")
SUB_GROUPS = "collectives of several groups of devices: the trace does not say whose"
NOT_ALL = "collectives that not all devices of the file took part in together"
PAIRED_EVENTS = "starts or ends of asynchronous collectives without the other"
LASTING = "starts of asynchronous collectives last as long as their kernels, as on GPUs: taken as the whole"


class OfDevices:
    """Calls of each device, by group.

    Each device waits for each of another host's, so that the host's calls are from the last begin to the first end.
    """

    def __init__(self) -> None:
        self.calls: defaultdict[str, defaultdict[object, list[Call]]] = defaultdict(lambda: defaultdict(list))

    def add(self, group: str, device: object, call: Call) -> None:
        """Adds a call of a device."""
        self.calls[group][device].append(call)

    def gather(self, gathered: Gathered) -> None:
        """Gathers the calls of the host."""
        for group, devices in self.calls.items():
            ordered = [sorted(calls, key=lambda call: call.entry) for calls in devices.values()]
            if len({tuple(call.operation for call in calls) for calls in ordered}) > 1:
                gathered.skipped[NOT_ALL] += sum(map(len, ordered))
                continue
            for calls in zip(*ordered, strict=True):
                entry, end = max(call.entry for call in calls), min(call.exit for call in calls)
                if entry > end:
                    gathered.skipped[NOT_ALL] += len(calls)
                else:
                    first = calls[0]
                    gathered.add(group, Call(first.operation, entry, end, first.sequence, first.root, first.size))


def stamps_of(events: CollectiveEvents, gathered: Gathered) -> Iterator[Stamp]:
    """Yields the operations of devices: those of kernels that name theirs (GPUs), too, if there is no row of these."""
    rows = set()
    for stamp in events.stamps["xla"]:
        if events.on_device(stamp.thread[0]):
            rows.add((stamp.thread[0], stamp.name))
            yield stamp
        else:
            gathered.skipped[ON_HOSTS] += 1
    for stamp in events.stamps["kernel of xla"]:
        name = str(stamp.arguments["hlo_op"])
        if (stamp.thread[0], name) not in rows:
            yield stamp._replace(name=name)


def gather_xla(gathered: Gathered, events: CollectiveEvents, base: int) -> None:
    """Gathers calls of XLA's programs: a group for each operation of a program, which all of its devices run."""
    devices = OfDevices()
    begun: dict[tuple[object, str, str], Stamp] = {}
    stamps = sorted(stamps_of(events, gathered), key=lambda candidate: candidate.entry)
    # On GPUs a start lasts as long as its kernel, and nothing is its end. On TPUs it is short.
    paired = {stamp.thread[0] for stamp in stamps if "-done" in stamp.name}
    for stamp in stamps:
        name = XLA.match(stamp.name)
        if name is None:
            continue
        operation, phase, number = normalize(name[1]), name[2], name[3] or ""
        shape = GROUPS.search(str(stamp.arguments.get("long_name", "")))
        if operation is None:
            gathered.skipped[OF_POINTS if "permute" in name[1] else UNKNOWN_CALLS] += phase != "-done"
            continue
        if shape and (int(shape["count"]) if shape["count"] else shape["lists"].count("{")) > 1:
            gathered.skipped[SUB_GROUPS] += phase != "-done"
            continue
        device = stamp.thread[0]
        key = (device, name[1], number)
        lasting = device not in paired and "TPU" not in events.processes.get(device, "")
        if phase == "-start" and not lasting:
            gathered.skipped[PAIRED_EVENTS] += key in begun
            begun[key] = stamp
            continue
        gathered.skipped[LASTING] += phase == "-start"
        entry = stamp.entry
        if phase == "-done":
            start = begun.pop(key, None)
            if start is None:
                gathered.skipped[PAIRED_EVENTS] += 1
                continue
            entry = start.entry
        module = str(stamp.arguments.get("hlo_module", ""))
        call = Call(operation, entry + base, stamp.exit + base)
        devices.add(f"{module} {name[1]}{number}".strip(), device, call)
    gathered.skipped[PAIRED_EVENTS] += len(begun)
    devices.gather(gathered)
