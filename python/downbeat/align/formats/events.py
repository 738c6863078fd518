"""Reads the events of a Chrome trace in blocks, so that a file of any size needs little memory.

A block ends at the end of an event, which is found by trial: text that looks like the gap between two events is the end
of a block if everything before it is valid JSON. A file is an object with the array `traceEvents`, or the bare array.
A bare array may lack its end, since a killed program leaves such a file (Trace Event Format): it is read up to the last
whole event. An object that breaks off is damaged.
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
BLOCK_BYTES = 1 << 22  # bytes that are read at a time
MAX_HEAD_BYTES = 1 << 26  # maximum size of the text before the events
BETWEEN_EVENTS = re.compile(rb"\}\s*,\s*(?=\{)")
ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
FAULT = re.compile(r"\(byte (\d+)\)$")  # position of the fault at the end of msgspec's message
MAX_TRIED = 64  # gaps before a fault that are tried as the end of the last whole event
RAW = msgspec.json.Decoder(list[msgspec.Raw])
BOM = b"\xef\xbb\xbf"

EventType = TypeVar("EventType")


class Decodes(Protocol[EventType]):
    """A decoder of events: msgspec's, or one with the same method and errors."""

    def decode(self, text: bytes, /) -> list[EventType | None]:
        """Returns the events of a JSON array; None for null."""


def open_bytes(path: Path) -> IO[bytes]:
    """Opens a plain or gzip file, which its first bytes distinguish."""
    file = path.open("rb")
    begin = file.read(2)
    file.seek(0)
    if begin != GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")  # type: ignore[return-value]


def looks_like_events(path: Path) -> bool:
    """Returns true if the first bytes of a file, plain or gzip, look like JSON."""
    if not path.is_file():
        return False
    try:
        with open_bytes(path) as file:
            return file.read(64).removeprefix(BOM).lstrip()[:1] in (b"{", b"[")
    except (EOFError, gzip.BadGzipFile):
        return path.name.endswith(".json.gz")


def nanoseconds(number: bytes | msgspec.Raw, up: bool = False) -> int:
    """Converts a number of microseconds to whole ns, exactly; only digits below 1 ns are rounded.

    Args:
        number: text of the number in JSON; as a float, it would lose the ns beyond 2^53.
        up: True: rounds up; False: down.
    """
    text = bytes(number).strip(b'"')  # Ascend writes numbers as strings
    if text[-4:-3] == b"." and b"e" not in text and b"E" not in text:  # three decimals, as Kineto writes: the fast case
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
    """Returns true if a field of an event has a number."""
    return bytes(number) not in (b"", b"null")


class Blocks(Generic[EventType]):
    """An iterator over the events of a file, in blocks.

    Attributes:
        path: of the file, plain or gzip: an object with `traceEvents`, or a bare array.
        head: the other fields of the object; complete after the last block.
        broken: line and column at which a bare array breaks off within an event; empty: it does not.
        count: number of events so far, including null.
        events: decodes events.
        lines: number of lines before the text that is not yet decoded, for messages.
        column: number of bytes of the current line before that text.
    """

    def __init__(self, path: Path, events: Decodes[EventType]) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self.broken = ""
        self.count = 0
        self.events = events
        self.lines, self.column = 0, 0

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
        """Yields the events of an open file, a block at a time."""
        head, pending = self.begin(file)
        tried_length = BLOCK_BYTES  # length of the pending text that was last searched for a fault
        while True:
            chunk = file.read(BLOCK_BYTES)
            pending += chunk
            if not chunk:
                break
            # Tries the last 8 gaps near the end of the text, the last one first.
            for gap in reversed(list(BETWEEN_EVENTS.finditer(pending, max(0, len(pending) - BLOCK_BYTES // 16)))[-8:]):
                events = self.decode(pending[: gap.start() + 1])
                if events is not None:
                    yield events
                    self.done(pending[: gap.end()])
                    pending, tried_length = pending[gap.end() :], BLOCK_BYTES
                    break
            # Much text without the end of a block may have a fault; stop reading then.
            if len(pending) > 4 * tried_length:
                position, message = end_of(pending)
                if message and position < len(pending):
                    break
                tried_length = len(pending)
        yield from self.finish(pending, head)

    def begin(self, file: IO[bytes]) -> tuple[bytes | None, bytes]:
        """Reads up to the events; returns the text before the array (None: a bare array), and the bytes after "["."""
        text = b""
        while len(text) < MAX_HEAD_BYTES:
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
        """Counts the lines and columns of text that is decoded."""
        lines = text.count(b"\n")
        self.column = len(text) - text.rindex(b"\n") - 1 if lines else self.column + len(text)
        self.lines += lines

    def decode(self, text: bytes) -> list[EventType | None] | None:
        """Returns the events in a text; None: it is not a list of whole events."""
        try:
            return self.events.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
        except msgspec.DecodeError as error:
            if isinstance(error, msgspec.ValidationError):
                raise
            return None

    def finish(self, text: bytes, head: bytes | None) -> Iterator[list[EventType | None]]:
        """Yields the last events, and reads the text after them into `head`.

        Args:
            text: from the first event that is not yet decoded to the end of the file, or to a fault.
            head: text before the array; None: a bare array.

        Raises:
            ValueError: the text breaks off, or is not JSON; with line and column.
        """
        position, message = end_of(text)
        events = self.decode(text[:position]) if not message or position == len(text) else None
        if not message and events is not None:
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
            yield events  # a bare array without "]"
        else:
            # Searches backward from the fault for the end of the last whole event.
            ends = [brace.end() for brace in re.finditer(rb"\}", text[:position])]
            gaps = [gap.start() + 1 for gap in BETWEEN_EVENTS.finditer(text, 0, position)]
            candidates = [*ends[: -MAX_TRIED - 1 : -1], *gaps[: -MAX_TRIED - 1 : -1]]
            decoded = (self.decode(text[:end]) for end in candidates)
            before: list[EventType | None] = next((block for block in decoded if block is not None), [])
            if head is None and position == len(text):
                yield before
                self.done(text)
                self.broken = f"line {self.lines + 1}, column {self.column + 1}"
                return
            self.count += len(before)
            raise self.fault(position, "breaks off" if position == len(text) else "is not JSON", text)

    def fault(self, position: int, problem: str, text: bytes) -> ValueError:
        """Returns the error for a problem at a position of a text, with line and column."""
        self.done(text[:position])
        events = counted(self.count, "whole event")
        return ValueError(f"it {problem} at line {self.lines + 1}, column {self.column + 1}, after {events}")


def end_of(text: bytes) -> tuple[int, str]:
    """Finds the end of the array whose text after "[" is given.

    Returns the position of "]" and an empty message; or the position of a fault (the length of the text if it breaks
    off) and msgspec's message.
    """
    try:
        RAW.decode(b"[" + text)
    except msgspec.DecodeError as error:
        message = str(error)
        match = FAULT.search(message)
        if match is None:
            return len(text), message
        position = int(match[1]) - 1  # without the "[" that was added
        # Some tools write a comma after the last event.
        if "trailing comma in array" in message and text[position : position + 1] == b"]":
            if is_closed(text[:position]):
                return position, ""
        elif "trailing characters" in message:
            return text[:position].rindex(b"]"), ""
        return position, message
    return text.rindex(b"]"), ""


def is_closed(text: bytes) -> bool:
    """Returns true if the text before a "]" is a list of whole events, so that the "]" closes the array of events."""
    try:
        RAW.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
    except msgspec.DecodeError:
        return False
    return True
