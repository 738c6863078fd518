"""Writes traces on the common axis as Chrome traces, which Perfetto opens: one file for all ranks, or one per rank."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from downbeat.align.calls import Integers, RankTrace
from downbeat.align.formats import chrome
from downbeat.align.formats.events import Blocks, has_time, nanoseconds
from downbeat.errors import UsageError, reading
from downbeat.files import replacing, zipped
from downbeat.text import exact_microseconds

Corrected = Callable[[int, Integers], Integers]  # (rank, times on its clock, ns) -> times on the common axis, ns

UNKNOWN_FIELD = re.compile("Object contains unknown field `(.*)` - at", re.DOTALL)
LAST_NAMED = 8  # index of the last field in `WholeEvents.names` whose attribute has the field's name
METADATA = msgspec.Raw(b'"M"')
ZERO = msgspec.Raw(b"0.000")
MAX_CHARACTERS = 20  # a stamp of fewer characters fits 64 bits in ns
NAME, ORDER = msgspec.Raw(b'"process_name"'), msgspec.Raw(b'"process_sort_index"')


class Times(msgspec.Struct):
    """The phase and the begin of an event."""

    ph: Any = ""
    ts: msgspec.Raw = msgspec.Raw()


class WholeEvents:
    """Decodes events with all of their fields; values stay JSON text, so that they can be written unchanged.

    An event is an object with an attribute per field, which is twice as fast as a dictionary. When an event has a new
    field, the class of events gets another attribute.
    """

    def __init__(self) -> None:
        self.names = ["ph", "ts", "dur", "pid", "id", "name", "args", "cat", "tid"]
        self.decoder = self.decoder_of(self.names)

    @staticmethod
    def decoder_of(names: Sequence[str]) -> msgspec.json.Decoder[Any]:
        """Returns a decoder of lists of events with these fields; attributes that this module uses keep their names."""
        attributes = {f"field{index}" if index > LAST_NAMED else name: name for index, name in enumerate(names)}
        fields = [(attribute, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for attribute in attributes]
        event = msgspec.defstruct("WholeEvent", fields, rename=attributes, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(list[event | None])  # type: ignore[valid-type]

    def decode(self, text: bytes) -> list[Any]:
        """Returns the events of a JSON array.

        Raises:
            msgspec.DecodeError: the text is not a JSON array.
        """
        while True:
            try:
                events: list[Any] = self.decoder.decode(text)
            except msgspec.ValidationError as error:
                unknown = UNKNOWN_FIELD.match(str(error))
                if unknown is None or unknown[1] in self.names:
                    raise
                self.names.append(unknown[1])
                self.decoder = self.decoder_of(self.names)
            else:
                return events


def write_merged(traces: Sequence[RankTrace], corrected: Corrected, path: Path) -> None:
    """Writes the traces of all ranks to one file, gzip if its name ends in .gz.

    Of a Chrome trace, all events are written; of another format, the collectives. Times are us since the earliest event
    with three decimals, and `baseTimeNanoseconds` is the time of that event, as in Kineto's files. Each process of each
    rank gets a unique number, and each arrow (flow) stays within its rank.

    Args:
        traces: of each rank; their files are read again.
        corrected: converts stamps to the common axis.
        path: of the new file.

    Raises:
        DownbeatError: a file cannot be written, or read again.
    """
    sources = [source_of(trace) for trace in traces]
    firsts = [(source.rank, np.array([source.first], dtype=np.int64)) for source in sources]
    base = min(int(corrected(rank, first)[0]) for rank, first in firsts)
    numbers = count(1)
    with replacing(path, binary=True) as file, zipped(file, path) as out:
        head = {"schemaVersion": 1, "displayTimeUnit": "ns", "baseTimeNanoseconds": base}
        out.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [\n')
        first = True
        for source in sources:
            for block in filter(None, source.events(RankAxis(source.rank, corrected, base, numbers))):
                out.write((b"" if first else b",\n") + b",\n".join(block))
                first = False
        out.write(b"\n]}\n")


def check_moved(directory: Path, paths: Sequence[Path]) -> None:
    """Checks that each trace can be written to a directory under its file name.

    Raises:
        UsageError: a trace is not a Chrome trace, two have the same name, or one would be overwritten.
    """
    names: dict[str, Path] = {}
    for path in paths:
        if not chrome.recognizes(path):
            raise UsageError(f"'{path}' is not a Chrome trace; its collectives can be written to a merged one")
        other = names.setdefault(path.name, path)
        if other is not path:
            raise UsageError(f"'{other}' and '{path}' have the same name; --moved needs files that differ in it")
        if (directory / path.name).resolve() == path.resolve():
            raise UsageError(f"--moved would overwrite '{path}'; give another directory")


def write_moved(trace: RankTrace, corrected: Corrected, path: Path) -> None:
    """Writes the Chrome trace of a rank with its stamps moved to the common axis, and everything else unchanged.

    Args:
        trace: of the rank; its file is read again.
        corrected: converts stamps to the common axis.
        path: of the new file, gzip if its name ends in .gz.

    Raises:
        UsageError: the trace is of another format.
        DownbeatError: a file cannot be written, or read again.
    """
    if not chrome.recognizes(trace.path):
        raise UsageError(f"'{trace.path}' is not a Chrome trace; its collectives can be written to a merged one")
    source = source_of(trace)
    base = int(corrected(trace.rank, np.array([source.first], dtype=np.int64))[0])
    axis = RankAxis(trace.rank, corrected, base, count())
    blocks = Blocks(trace.path, WholeEvents())
    encode = msgspec.json.Encoder().encode
    with replacing(path, binary=True) as file, zipped(file, path) as out:
        out.write(b'{"traceEvents": [')
        first = True
        for events in blocks:
            with reading(trace.path):
                move_stamps(events, source.base, axis)
            out.write((b"\n" if first else b",\n") + joined_events(events))
            first = False
        head = {name: value for name, value in blocks.head.items() if name != "traceEvents"}
        out.write(b"\n], " + encode(head | {"baseTimeNanoseconds": base})[1:] + b"\n")


def all_nanoseconds(numbers: Sequence[msgspec.Raw]) -> Integers:
    """Converts many numbers like `nanoseconds`; fast if all have three decimals."""
    texts = list(map(bytes, numbers))
    joined = b" ".join(texts)
    if b'"' in joined:  # numbers as strings
        texts = [text.strip(b'"') for text in texts]
        joined = b" ".join(texts)
    plain = all(text[-4:-3] == b"." and len(text) < MAX_CHARACTERS for text in texts)
    if joined and plain and b"e" not in joined and b"E" not in joined:
        return np.fromstring(joined.replace(b".", b""), dtype=np.int64, sep=" ")
    return np.array([nanoseconds(text) for text in texts], dtype=np.int64)


def all_microseconds(times: Integers) -> list[msgspec.Raw]:
    """Writes times in ns as us with three decimals, exactly."""
    if len(times) and times.min() >= 0:
        pairs = np.stack(np.divmod(times, 1000), axis=1).ravel().tolist()
        return list(map(msgspec.Raw, (b"%d.%03d " * len(times) % tuple(pairs)).split()))
    return [msgspec.Raw(exact_microseconds(time)) for time in times.tolist()]


def raw(value: object) -> msgspec.Raw:
    """Returns a value as JSON text."""
    return msgspec.Raw(msgspec.json.encode(value))


class RankAxis:
    """Converts the events of a rank to the common axis, and gives its processes unique numbers."""

    def __init__(self, rank: int, corrected: Corrected, base: int, numbers: Iterator[int]) -> None:
        self.rank = rank
        self.corrected = corrected
        self.base = base  # time of the earliest event of all ranks on the axis, ns
        self.numbers = numbers  # unused numbers, shared by all ranks
        self.processes: dict[bytes, msgspec.Raw] = {}  # number in the rank's file -> unique number
        self.labels: dict[bytes, str] = {}  # number in the rank's file -> name of the process

    def times(self, stamps: Sequence[int] | Integers) -> Integers:
        """Converts stamps of the rank's clock to ns since the earliest event."""
        return self.corrected(self.rank, np.asarray(stamps, dtype=np.int64)) - self.base

    def process(self, file_pid: bytes, name: str = "") -> msgspec.Raw:
        """Returns the unique number of a process, given its number in the rank's file; a name is stored."""
        if name:
            self.labels[file_pid] = name
        number = self.processes.get(file_pid)
        if number is None:
            number = self.processes[file_pid] = raw(next(self.numbers))
        return number

    def names(self) -> list[bytes]:
        """Returns the events that name the processes, and sort them by rank."""
        events = []
        for file_pid, number in self.processes.items():
            label = f"rank {self.rank}: {self.labels[file_pid]}" if file_pid in self.labels else f"rank {self.rank}"
            for key, value in (("name", label), ("sort_index", self.rank)):
                event = {"ph": "M", "name": f"process_{key}", "pid": number, "tid": 0, "args": {key: value}}
                events.append(msgspec.json.encode(event))
        return events


@dataclass(frozen=True)
class EventSource:
    """The source of a rank's events.

    Attributes:
        rank: in the job.
        first: earliest stamp of the rank, ns on its clock.
        base: time that the stamps of its file count from, ns.
        events: yields the events on an axis as JSON text, a block at a time.
    """

    rank: int
    first: int
    base: int
    events: Callable[[RankAxis], Iterator[list[bytes]]]


def source_of(trace: RankTrace) -> EventSource:
    """Returns the source of a rank's events: its file if that is a Chrome trace, else its calls."""
    if not chrome.recognizes(trace.path):
        first = min((int(calls.entry.min()) for calls in trace.calls if len(calls.entry)), default=0)
        return EventSource(trace.rank, first, 0, lambda axis: iter([calls_on(trace, axis)]))
    blocks = Blocks(trace.path, msgspec.json.Decoder(list[Times | None]))
    with reading(trace.path):
        stamps = [
            all_nanoseconds([event.ts for event in events if event.ph != "M" and has_time(event.ts)])
            for events in blocks
        ]
        base = int(blocks.head.get("baseTimeNanoseconds") or 0)
    first = int(min((block.min() for block in stamps if len(block)), default=0)) + base
    return EventSource(trace.rank, first, base, lambda axis: file_on(trace.path, base, axis))


def file_on(path: Path, base: int, axis: RankAxis) -> Iterator[list[bytes]]:
    """Yields all events of a Chrome trace on the axis as JSON text, a block at a time."""
    for events in Blocks(path, WholeEvents()):
        with reading(path):
            renumbered = renumber(events, axis)
            move_stamps(renumbered, base, axis)
        yield [joined_events(renumbered)] if renumbered else []
    yield axis.names()


def joined_events(events: Sequence[Any]) -> bytes:
    """Returns events as JSON text, with commas between them."""
    return msgspec.json.encode(events)[1:-1]


def renumber(events: Sequence[Any], axis: RankAxis) -> list[Any]:
    """Gives processes and arrows numbers that no other rank has; removes events that name and sort processes.

    `RankAxis.names` writes these again.
    """
    kept = []
    for event in events:
        if event.ph == METADATA:
            if event.name == NAME:
                arguments = msgspec.json.decode(event.args)
                axis.process(bytes(event.pid or b"0"), str(arguments.get("name", "")))
            if event.name in (NAME, ORDER):
                continue
        kept.append(event)
        if event.pid:
            event.pid = axis.process(bytes(event.pid))
        if event.id:
            event.id = raw(f"{axis.rank}:{msgspec.json.decode(event.id)}")
    return kept


def move_stamps(events: Sequence[Any], base: int, axis: RankAxis) -> None:
    """Moves the stamps of events onto the axis."""
    timed = [event for event in events if event.ts and has_time(event.ts) and event.ph != METADATA]
    begins = all_nanoseconds([event.ts for event in timed]) + base
    ends = begins + all_nanoseconds([event.dur or ZERO for event in timed])
    begins, ends = axis.times(begins), axis.times(ends)
    for event, begin, length in zip(timed, all_microseconds(begins), all_microseconds(ends - begins), strict=True):
        event.ts = begin
        if event.dur:
            event.dur = length
    for event in events:
        if event.ph == METADATA:
            event.ts = msgspec.UNSET  # names are valid at all times


def calls_on(trace: RankTrace, axis: RankAxis) -> list[bytes]:
    """Returns the calls of a rank as events on the axis, a row for each group."""
    events = []
    for row, calls in enumerate(trace.calls):
        pid = axis.process(b"")
        name = {
            "ph": raw("M"),
            "name": raw("thread_name"),
            "pid": pid,
            "tid": raw(row),
            "args": raw({"name": calls.group}),
        }
        events.append(msgspec.json.encode(name))
        begins, ends = axis.times(calls.entry).tolist(), axis.times(calls.exit).tolist()
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            known = {"root": int(calls.root[number]), "bytes": int(calls.size[number])}
            if calls.sequence is not None:
                known["sequence"] = int(calls.sequence[number])
            event = {
                "ph": raw("X"),
                "cat": raw("collective"),
                "name": raw(str(calls.operation[number])),
                "pid": pid,
                "tid": raw(row),
                "ts": msgspec.Raw(exact_microseconds(begin)),
                "dur": msgspec.Raw(exact_microseconds(end - begin)),
                "args": raw({"group": calls.group} | {key: value for key, value in known.items() if value >= 0}),
            }
            events.append(msgspec.json.encode(event))
    return events + axis.names()
