"""Events of a Chrome trace, a block at a time: a file of any size in little memory.

A block ends where an event ends. That is found by trial: what looks like the gap between two events is the end of a
block if all before it is valid JSON.
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

from downbeat.errors import UsageError, reading

GZIP = b"\x1f\x8b"
BLOCK_BYTES = 1 << 22
HEAD_BYTES = 1 << 26  # most that may stand before the events
GAP = re.compile(rb"\}\s*,\s*(?=\{)")
ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
END = re.compile(rb"[}\[,]\s*(?=\])")

Event = TypeVar("Event")


class Decodes(Protocol[Event]):
    """A decoder of events: of msgspec, or one that behaves like it."""

    def decode(self, text: bytes, /) -> list[Event]:
        """Returns the events of a JSON array."""


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
            return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    except (EOFError, gzip.BadGzipFile):
        return path.name.endswith(".json.gz")


def nanoseconds(number: bytes | msgspec.Raw, up: bool = False) -> int:
    """Returns a number of microseconds with its digits in the file, in whole ns, exactly; rounds what is below 1 ns.

    Args:
        number: digits, as JSON has them; a float would lose the ns beyond 2^53.
        up: round up.
    """
    text = bytes(number)
    if text[-4:-3] == b"." and b"e" not in text and b"E" not in text:  # as Kineto writes them: three decimals
        return int(text[:-4] + text[-3:])
    text = text.strip(b'"')
    whole, dot, rest = text.partition(b".")
    if b"e" in text or b"E" in text:
        return int((Decimal(text.decode()) * 1000).to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
    if not dot:
        return int(whole) * 1000
    negative = whole.startswith(b"-")
    value = abs(int(whole)) * 1000 + int(rest[:3].ljust(3, b"0"))
    inexact = bool(rest[3:].strip(b"0"))
    return -value - (inexact and not up) if negative else value + (inexact and up)


class Blocks(Generic[Event]):
    """The events of a file.

    Attributes:
        path: of the file, plain or gzip: an object with `traceEvents`, or an array.
        head: what the object has beside its events; whole after the last block.
    """

    def __init__(self, path: Path, events: Decodes[Event]) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self.events = events

    def __iter__(self) -> Iterator[list[Event]]:
        """Yields the events in order, a block at a time.

        Raises:
            UsageError: the file is damaged, or has no events.
        """
        with reading(self.path), open_bytes(self.path) as file:
            try:
                yield from self.blocks(file)
            except (gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(str(error)) from error

    def blocks(self, file: IO[bytes]) -> Iterator[list[Event]]:
        """Yields the events of an open file."""
        head, rest = self.begin(file)
        done = 0
        while True:
            chunk = file.read(BLOCK_BYTES)
            rest += chunk
            if not chunk:
                break
            for gap in reversed(list(GAP.finditer(rest, max(0, len(rest) - BLOCK_BYTES // 16)))[-8:]):
                found = self.decode(rest[: gap.start() + 1])
                if found is not None:
                    yield found
                    done += gap.end()
                    rest = rest[gap.end() :]
                    break
        found, tail = self.finish(rest, head is not None)
        if found is None:
            raise ValueError(f"its events are cut off, or are no JSON, after byte {done} of its text")
        yield found
        if head is not None:
            self.head = msgspec.json.decode(head + b"[]" + tail)

    def begin(self, file: IO[bytes]) -> tuple[bytes | None, bytes]:
        """Returns the text before the events, None of a bare array; and what was read beyond it."""
        text = b""
        while len(text) < HEAD_BYTES:
            chunk = file.read(1 << 16)
            text += chunk
            if text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
                return None, text[text.index(b"[") + 1 :]
            found = ARRAY.search(text)
            if found:
                return text[: found.end() - 1].removeprefix(b"\xef\xbb\xbf"), text[found.end() :]
            if not chunk:
                break
        raise UsageError(f"'{self.path}' has no events; give a Chrome trace: JSON with \"traceEvents\", or an array")

    def decode(self, text: bytes) -> list[Event] | None:
        """Returns events, None if the text is not whole."""
        try:
            return self.events.decode(b"[" + text.rstrip().rstrip(b",") + b"]")
        except msgspec.DecodeError as error:
            if isinstance(error, msgspec.ValidationError):
                raise
            return None

    def finish(self, text: bytes, closed: bool) -> tuple[list[Event] | None, bytes]:
        """Returns the last events, and the text after them."""
        ends = list(END.finditer(text))
        # The last events are few, and what follows them is little in most files, much in some.
        for end in [None, *ends[::-1][:64], *ends[:-64]]:
            at = end.end() if end else len(text) - len(text.lstrip())
            if text[at : at + 1] != b"]":
                continue
            found, tail = self.decode(text[:at]), text[at + 1 :]
            if found is not None and (self.is_object(tail) if closed else not tail.strip()):
                return found, tail
        return None, b""

    def is_object(self, tail: bytes) -> bool:
        """Whether a text ends an object after its events."""
        try:
            msgspec.json.decode(b'{"":[]' + tail)
        except msgspec.DecodeError:
            return False
        return True
