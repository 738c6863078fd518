"""Events of a Chrome trace, a block at a time: a file of any size in little memory.

A block ends where an event ends. The end is found by trial: text that looks like the gap between two events is the end
of a block if everything before it is valid JSON. An array may lack its end, and a truncated array is read up to the
last whole event (Trace Event Format: a killed program leaves such a file); an object that breaks off is damaged.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

import msgspec

from downbeat.align.calls import NoTraceError
from downbeat.errors import reading
from downbeat.text import counted

GZIP = b"\x1f\x8b"
BLOCK_BYTES = 1 << 22
HEAD_BYTES = 1 << 26  # most that may stand before the events
BETWEEN_EVENTS = re.compile(rb"\}\s*,\s*(?=\{)")
ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
FAULT = re.compile(r"\(byte (\d+)\)$")  # where msgspec's message says that the fault is
MOST_TRIED = 64  # gaps before a fault that are tried
RAW = msgspec.json.Decoder(list[msgspec.Raw])
BOM = b"\xef\xbb\xbf"

EventType = TypeVar("EventType")


class Decodes(Protocol[EventType]):
    """A decoder of events: of msgspec, or one that behaves like it."""

    def decode(self, text: bytes, /) -> list[EventType | None]:
        """Returns the events of a JSON array; None where it has null."""


def open_bytes(path: Path) -> IO[bytes]:
    """Opens a file, plain or gzip, as its content says."""
    file = path.open("rb")
    begin = file.read(2)
    file.seek(0)
    if begin != GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")  # type: ignore[return-value]


def looks_like_events(path: Path) -> bool:
    """Whether a file is JSON, plain or gzip, by its first bytes."""
    if not path.is_file():
        return False
    try:
        with open_bytes(path) as file:
            return file.read(64).removeprefix(BOM).lstrip()[:1] in (b"{", b"[")
    except (EOFError, gzip.BadGzipFile):
        return path.name.endswith(".json.gz")


def nanoseconds(number: bytes | msgspec.Raw, up: bool = False) -> int:
    """Returns a number of microseconds with its digits in the file, in whole ns, exactly; rounds digits below 1 ns.

    Args:
        number: digits, as JSON has them; a float would lose the ns beyond 2^53.
        up: round up.
    """
    text = bytes(number).strip(b'"')  # as a string: Ascend's
    if text[-4:-3] == b"." and b"e" not in text and b"E" not in text:  # as Kineto writes them: three decimals
        return int(text[:-4] + text[-3:])
    integer, dot, fraction = text.partition(b".")
    if b"e" in text or b"E" in text:
        return int((Decimal(text.decode()) * 1000).to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
    if not dot:
        return int(integer) * 1000
    negative = integer.startswith(b"-")
    value = abs(int(integer)) * 1000 + int(fraction[:3].ljust(3, b"0"))
    inexact = bool(fraction[3:].strip(b"0"))
    return -value - (inexact and not up) if negative else value + (inexact and up)


def has_time(number: msgspec.Raw) -> bool:
    """Whether there is a number."""
    return bytes(number) not in (b"", b"null")


class Blocks(Generic[EventType]):
    """The events of a file.

    Attributes:
        path: of the file, plain or gzip: an object with `traceEvents`, or an array.
        head: the other fields of the object; complete after the last block.
        broken: where an array breaks off within an event; empty: nowhere.
        count: number of events so far, with null entries.
    """

    def __init__(self, path: Path, events: Decodes[EventType]) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self.broken = ""
        self.count = 0
        self.events = events
        self.lines, self.column = 0, 0  # of the text that is done

    def __iter__(self) -> Iterator[list[EventType]]:
        """Yields the events in order, a block at a time.

        Raises:
            UsageError: the file is damaged, or has no events.
        """
        with reading(self.path), open_bytes(self.path) as file:
            try:
                for block in self.blocks(file):
                    self.count += len(block)
                    yield [event for event in block if event is not None]
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{str(error).rstrip('.')}, after {counted(self.count, 'whole event')}") from error

    def blocks(self, file: IO[bytes]) -> Iterator[list[EventType | None]]:
        """Yields the events of an open file."""
        head, pending = self.begin(file)
        tried_length = BLOCK_BYTES  # a longer text without a gap between events may have a fault
        while True:
            chunk = file.read(BLOCK_BYTES)
            pending += chunk
            if not chunk:
                break
            for gap in reversed(list(BETWEEN_EVENTS.finditer(pending, max(0, len(pending) - BLOCK_BYTES // 16)))[-8:]):
                events = self.decode(pending[: gap.start() + 1])
                if events is not None:
                    yield events
                    self.done(pending[: gap.end()])
                    pending, tried_length = pending[gap.end() :], BLOCK_BYTES
                    break
            if len(pending) > 4 * tried_length:
                position, why = end_of(pending)
                if why and position < len(pending):
                    break
                tried_length = len(pending)
        yield from self.finish(pending, head)

    def begin(self, file: IO[bytes]) -> tuple[bytes | None, bytes]:
        """Returns the text before the events, None of a bare array; and the bytes read beyond it."""
        text = b""
        while len(text) < HEAD_BYTES:
            chunk = file.read(1 << 16)
            text += chunk
            match = ARRAY.search(text)
            bare = text.removeprefix(BOM).lstrip()[:1] == b"["
            if bare or match:
                position = text.index(b"[") + 1 if bare or not match else match.end()
                self.done(text[:position].removeprefix(BOM))
                return None if bare else text[: position - 1].removeprefix(BOM), text[position:]
            if not chunk:
                break
        raise NoTraceError(f"'{self.path}' has no events; give a Chrome trace: JSON with \"traceEvents\", or an array")

    def done(self, text: bytes) -> None:
        """Counts lines and columns of text that is read."""
        lines = text.count(b"\n")
        self.column = len(text) - text.rindex(b"\n") - 1 if lines else self.column + len(text)
        self.lines += lines

    def decode(self, text: bytes) -> list[EventType | None] | None:
        """Returns events, None if the text is not whole."""
        try:
            return self.events.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
        except msgspec.DecodeError as error:
            if isinstance(error, msgspec.ValidationError):
                raise
            return None

    def finish(self, text: bytes, head: bytes | None) -> Iterator[list[EventType | None]]:
        """Yields the last events, and reads the text after them.

        Raises:
            ValueError: it breaks off, or is not JSON; with the place.
        """
        position, why = end_of(text)
        events = self.decode(text[:position]) if not why or position == len(text) else None
        if not why and events is not None:
            yield events
            tail = text[position + 1 :]
            if head is None and not tail.strip():
                return
            self.done(text[: position + 1])
            if head is None:
                raise self.fault(0, "is not JSON", b"")
            try:
                self.head = msgspec.json.decode(head + b"[]" + tail)
            except msgspec.DecodeError as error:
                cut = FAULT.search(str(error)) is None
                raise self.fault(len(tail) if cut else 0, "breaks off" if cut else "is not JSON", tail) from error
        elif head is None and events is not None:
            yield events  # an array needs no end
        else:
            ends = [events.end() for events in re.finditer(rb"\}", text[:position])]
            gaps = [gap.start() + 1 for gap in BETWEEN_EVENTS.finditer(text, 0, position)]
            tried = [*ends[: -MOST_TRIED - 1 : -1], *gaps[: -MOST_TRIED - 1 : -1]]
            before = next((some for end in tried if (some := self.decode(text[:end])) is not None), [])
            if head is None and position == len(text):
                yield before
                self.done(text)
                self.broken = f"line {self.lines + 1}, column {self.column + 1}"
                return
            self.count += len(before)
            raise self.fault(position, "breaks off" if position == len(text) else "is not JSON", text)

    def fault(self, position: int, what: str, text: bytes) -> ValueError:
        """Returns the error of a fault at a place of a text."""
        self.done(text[:position])
        events = counted(self.count, "whole event")
        return ValueError(f"it {what} at line {self.lines + 1}, column {self.column + 1}, after {events}")


def end_of(text: bytes) -> tuple[int, str]:
    """Position of the closing bracket of the array that a text continues; or of a fault, with its message."""
    try:
        RAW.decode(b"[" + text)
    except msgspec.DecodeError as error:
        why = str(error)
        match = FAULT.search(why)
        if match is None:
            return len(text), why
        position = int(match[1]) - 1  # without the bracket before it
        if "trailing comma in array" in why and text[position : position + 1] == b"]" and is_closed(text[:position]):
            return position, ""
        if "trailing characters" in why:
            return text[:position].rindex(b"]"), ""
        return position, why
    return text.rindex(b"]"), ""


def is_closed(text: bytes) -> bool:
    """Whether a text before a bracket is whole events: the bracket is the array's."""
    try:
        RAW.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
    except msgspec.DecodeError:
        return False
    return True
