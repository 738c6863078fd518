"""Collectives of XLA's programs, and calls of several devices in one file: a host's devices are on one clock."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from downbeat.align.formats.common import Call, Gathered, normalize
from downbeat.align.formats.found import ON_HOSTS, XLA, CollectiveEvents, Stamp
from downbeat.align.formats.kernels import OF_POINTS, UNKNOWN

GROUPS = re.compile(r"replica_groups=(?:\{(?P<lists>(?:\{[\d,]*\},?)+)\}|\[(?P<count>\d+),\d+\])")
SUB_GROUPS = "collectives of several groups of devices: the trace does not say whose"
NOT_ALL = "collectives that not all devices of the file took part in together"
PAIRS = "starts or ends of asynchronous collectives without the other"
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


def stamps_of(found: CollectiveEvents, gathered: Gathered) -> Iterator[Stamp]:
    """Yields the operations of devices: those of kernels that name theirs (GPUs), too, if there is no row of these."""
    rows = set()
    for stamp in found.stamps["xla"]:
        if found.on_device(stamp.thread[0]):
            rows.add((stamp.thread[0], stamp.name))
            yield stamp
        else:
            gathered.skipped[ON_HOSTS] += 1
    for stamp in found.stamps["kernel of xla"]:
        name = str(stamp.arguments["hlo_op"])
        if (stamp.thread[0], name) not in rows:
            yield stamp._replace(name=name)


def gather_xla(gathered: Gathered, found: CollectiveEvents, base: int) -> None:
    """Gathers calls of XLA's programs: a group for each operation of a program, which all of its devices run."""
    devices = OfDevices()
    begun: dict[tuple[object, str, str], Stamp] = {}
    stamps = sorted(stamps_of(found, gathered), key=lambda one: one.entry)
    # On GPUs a start lasts as long as its kernel, and nothing is its end. On TPUs it is short.
    paired = {stamp.thread[0] for stamp in stamps if "-done" in stamp.name}
    for stamp in stamps:
        name = XLA.match(stamp.name)
        if name is None:
            continue
        operation, part, number = normalize(name[1]), name[2], name[3] or ""
        shape = GROUPS.search(str(stamp.arguments.get("long_name", "")))
        if operation is None:
            gathered.skipped[OF_POINTS if "permute" in name[1] else UNKNOWN] += part != "-done"
            continue
        if shape and (int(shape["count"]) if shape["count"] else shape["lists"].count("{")) > 1:
            gathered.skipped[SUB_GROUPS] += part != "-done"
            continue
        device = stamp.thread[0]
        key = (device, name[1], number)
        whole = device not in paired and "TPU" not in found.processes.get(device, "")
        if part == "-start" and not whole:
            gathered.skipped[PAIRS] += key in begun
            begun[key] = stamp
            continue
        gathered.skipped[LASTING] += part == "-start"
        entry = stamp.entry
        if part == "-done":
            start = begun.pop(key, None)
            if start is None:
                gathered.skipped[PAIRS] += 1
                continue
            entry = start.entry
        module = str(stamp.arguments.get("hlo_module", ""))
        call = Call(operation, entry + base, stamp.exit + base)
        devices.add(f"{module} {name[1]}{number}".strip(), device, call)
    gathered.skipped[PAIRS] += len(begun)
    devices.gather(gathered)
