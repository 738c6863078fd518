"""Finds the events of a Chrome trace that describe collectives, by kind, and gathers the collectives of XLA.

chrome.py gathers the collectives of PyTorch from the same events. A stamp is an event with a begin and an end. Only
stamps that last until the collective is done can be used to compare clocks; others are counted as left out.
"""

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
    looks_like_collective,
    stranger,
)

PARAMETERS = "record_param_comms"  # PyTorch's event with the parameters of a collective
# Names of annotations of libraries that run on the host, and on the device.
HOST = re.compile(r"^(gloo|mpi):")
DEVICE = re.compile(r"^(nccl|rccl|xccl|hccl|ucc):(?!:)")
# Names of XLA's operations: the collective, the half of an asynchronous one, and a number.
XLA = re.compile(
    r"^(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast)"
    r"(-start|-done)?((?:\.[\w.]+)?)$"
)
DEVICE_CATEGORIES = ("kernel", "mtia_ccp_events", "")  # exporters of XPlane and Ascend write no category
HOST_CATEGORIES = re.compile(r"cpu|user_annotation|python|runtime|driver|overhead|trace|ac2g|fwdbwd", re.IGNORECASE)
RANK_IN_NAME = re.compile(r"^\W*rank[ :_-]*(\d+)\b", re.IGNORECASE)  # in the name of a process
# Reasons why events are left out, as they are printed.
NO_END = "collectives without an end"
QUEUED = "stamps of a library on the host: they end once the work is queued"
ON_HOSTS = "stamps of XLA's operations on the host: they end once the work is queued"
LEFT_OUT_KINDS = {"queued": QUEUED, "left out": LEFT_OUT}


class Event(msgspec.Struct):
    """The fields of an event that are read; numbers keep the digits of the file."""

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
    """An event that may be a collective."""

    name: str
    entry: int  # begin, ns
    exit: int  # end, ns
    thread: tuple[object, object]  # process and thread
    arguments: dict[str, Any]
    kernel: Kernel | None = None  # the meaning of a kernel's name; None: not a kernel


@dataclass
class CollectiveEvents:
    """The events of a file that describe collectives, by kind.

    Attributes:
        stamps: kind -> events: parameters, kernel, device, host, xla; a "kernel of xla" names XLA's operation.
        skipped: reason -> number of events that are left out.
        processes: process -> its name.
        ranks: ranks in the names of processes.
    """

    stamps: defaultdict[str, list[Stamp]] = field(default_factory=lambda: defaultdict(list))
    skipped: Counter[str] = field(default_factory=Counter)
    processes: dict[object, str] = field(default_factory=dict)
    ranks: set[int] = field(default_factory=set)

    def add(self, kind: str, stamp: Stamp) -> None:
        """Adds an event of a kind (`kind_of`), or counts it as left out."""
        if kind in LEFT_OUT_KINDS:
            self.skipped[LEFT_OUT_KINDS[kind]] += 1
            return
        of_xla = kind == "kernel" and XLA.match(str(stamp.arguments.get("hlo_op", "")))
        self.stamps["kernel of xla" if of_xla else kind].append(stamp)

    def on_device(self, process: object) -> bool:
        """Returns true unless the name of a process says that it runs on the host."""
        return not self.processes.get(process, "").startswith("/host")


def kind_of(name: object, category: object, kernels: Kernels) -> tuple[str, Kernel | None] | None:
    """Returns the kind of an event by its name and category, and the meaning of a kernel's name.

    Returns None if the event does not describe a collective. Kind "queued": it ends too early, once the work is queued.
    Kind "stranger": an unknown kernel that looks like a collective's.
    """
    if not isinstance(name, str):
        return None
    category = "" if category is None else str(category).lower()
    on_host = HOST_CATEGORIES.search(category)
    if name == PARAMETERS:
        return "parameters", None
    if not on_host:
        kernel = kernels.find(name)
        if kernel is not None and (kernel.from_option or category in DEVICE_CATEGORIES):
            return ("left out" if kernel.operation == NONE else "kernel"), kernel
    if HOST.match(name):
        return "host", None
    if DEVICE.match(name):
        return ("device" if category == "gpu_user_annotation" else "queued"), None
    if XLA.match(name):
        return "xla", None
    if not on_host and looks_like_collective(name):
        return "stranger", None
    return None


def collective_events(blocks: Blocks[Event], kernels: Kernels) -> CollectiveEvents:
    """Returns the events of a file that describe collectives.

    An event has its length (phase X), or is the begin or the end of a pair: of the same thread (B, E), or of the same
    id (b, e). Events of phase M name processes.
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
    result.skipped[NO_END] += sum(kind is not None for begins in begun.values() for _, kind, _ in begins)
    strangers = [stamp.name for stamp in result.stamps.pop("stranger", []) if result.on_device(stamp.thread[0])]
    if strangers:
        result.skipped[stranger(strangers[0])] += len(strangers)
    return result


def name_process(events: CollectiveEvents, event: Event) -> None:
    """Stores the name of a process, and the rank in it."""
    if event.name not in ("process_name", "process_labels") or not bytes(event.args):
        return
    arguments = msgspec.json.decode(event.args)
    text = str(arguments.get("name") or arguments.get("labels") or "") if isinstance(arguments, dict) else ""
    if event.name == "process_name":
        events.processes[event.pid] = text
    match = RANK_IN_NAME.match(text)
    if match:
        events.ranks.add(int(match[1]))


def stamp_of(event: Event, kernel: Kernel | None, end: msgspec.Raw | None = None) -> Stamp:
    """Returns an event as a stamp.

    Args:
        event: with a length, or the begin of a pair.
        kernel: the meaning of its name; None: not a kernel.
        end: time of the end of a pair; None: the event has a length.
    """
    begin = nanoseconds(event.ts)
    # Ends are rounded up, so that stamps are not too short: XPlane's stamps have ps.
    until = nanoseconds(end, up=True) if end else nanoseconds(event.ts, up=True) + nanoseconds(event.dur, up=True)
    arguments = msgspec.json.decode(event.args) if bytes(event.args) else {}
    thread = (event.pid, event.tid)
    return Stamp(str(event.name), begin, until, thread, arguments if isinstance(arguments, dict) else {}, kernel)


GROUPS = re.compile(r"replica_groups=(?:\{(?P<lists>(?:\{[\d,]*\},?)+)\}|\[(?P<count>\d+),\d+\])")
SUB_GROUPS = "collectives of several groups of devices: the trace does not say whose"
NOT_ALL = "collectives that not all devices of the file took part in together"
PAIRED_EVENTS = "starts or ends of asynchronous collectives without the other"
LASTING = "starts of asynchronous collectives last as long as their kernels, as on GPUs: taken as the whole"


class DeviceCalls:
    """The calls of each device of a host, by group, combined into calls of the host.

    In a collective, each device waits for all devices, also those of other hosts. So a call of the host begins when its
    last device begins, and ends when its first device ends.
    """

    def __init__(self) -> None:
        self.calls: defaultdict[str, defaultdict[object, list[Call]]] = defaultdict(lambda: defaultdict(list))

    def add(self, group: str, device: object, call: Call) -> None:
        """Adds a call of a device."""
        self.calls[group][device].append(call)

    def gather(self, gathered: Gathered) -> None:
        """Adds the combined calls of the host to `gathered`; leaves out groups whose devices had different calls."""
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
    """Yields XLA's operations on devices.

    On GPUs, kernels name their operation; they are used for operations that have no stamps of their own.
    """
    with_stamps = set()
    for stamp in events.stamps["xla"]:
        if events.on_device(stamp.thread[0]):
            with_stamps.add((stamp.thread[0], stamp.name))
            yield stamp
        else:
            gathered.skipped[ON_HOSTS] += 1
    for stamp in events.stamps["kernel of xla"]:
        name = str(stamp.arguments["hlo_op"])
        if (stamp.thread[0], name) not in with_stamps:
            yield stamp._replace(name=name)


def gather_xla(gathered: Gathered, events: CollectiveEvents, base: int) -> None:
    """Gathers calls of XLA's programs: a group for each operation of a program, which all of its devices run.

    Args:
        gathered: receives the calls.
        events: of the file.
        base: time that stamps count from, ns.
    """
    devices = DeviceCalls()
    begun: dict[tuple[object, str, str], Stamp] = {}
    stamps = sorted(stamps_of(events, gathered), key=lambda candidate: candidate.entry)
    # An asynchronous collective has a start and a done event on TPUs. On GPUs, the start lasts as long as the kernel,
    # and there is no done event: the start is taken as the whole call.
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
