"""Files of `downbeat timebase`: a line for the job, then one for each sample of each host."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from downbeat.errors import UsageError, reading

CLOCKS = ("realtime", "monotonic", "monotonic_raw", "boottime")
# As Downbeat_clock: the axis where the counter was, and how that error grows.
MAPS = np.dtype(
    [("ticks", "i8"), ("global_ns", "i8")]
    + [(name, "f8") for name in ("ns_per_tick", "bound_ns", "growth", "ramp", "variance", "cross", "rate", "walk")]
)
READINGS = np.dtype([("ns", "i8"), ("counter", "i8"), ("half_width", "i8")])


class Reading(msgspec.Struct):
    """A system clock showed this when the counter was there, give or take half_width ticks."""

    clock_ns: int
    counter: int
    half_width: int
    offset_ns: int
    rate: float | None
    bound_ns: float
    expected_error_ns: float


class Sample(msgspec.Struct):
    """A line of a host after a synchronization."""

    sample: int
    rank: int
    host: str
    counter: int
    axis_ns: int
    ns_per_tick: float
    bound_ns: float
    expected_error_ns: float
    growth: float
    ramp: float
    variance: float
    cross: float
    rate_variance: float
    walk: float
    clocks: dict[str, Reading]


class Head(msgspec.Struct):
    """The first line."""

    record: str
    interval_s: float
    ranks: int
    reference: dict[str, Any]
    axis: str
    settings: dict[str, str]


@dataclass
class Recorded:
    """The content of a file.

    Attributes:
        path: of the file.
        head: its first line.
        samples: of each rank, by time.
        notes: a line for each kind of what is missing.
    """

    path: Path
    head: Head
    samples: dict[int, list[Sample]]
    notes: list[str] = field(default_factory=list)


BEGINS = b'{"schema_version":2,"record":"timebase"'


def recognizes(path: Path) -> bool:
    """Whether a file is one of `downbeat timebase`, by how it begins."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(BEGINS)) == BEGINS


def read(path: Path) -> Recorded:
    """Returns what a file has; the last line may be cut off.

    Raises:
        UsageError: there is no such file, it is another one, or it is damaged.
    """
    if not path.exists():
        raise UsageError(f"'{path}' does not exist; give the file that downbeat timebase wrote")
    if not recognizes(path):
        raise UsageError(f"'{path}' is not a file of downbeat timebase")
    with reading(path):
        lines = path.read_bytes().split(b"\n")
        head = msgspec.json.decode(lines[0], type=Head)
        decode = msgspec.json.Decoder(Sample).decode
        samples = defaultdict(list)
        for line in lines[1:-1]:
            one = decode(line)
            samples[one.rank].append(one)
    notes = [] if not lines[-1] else ["the last line is cut off"]
    if not samples or min(map(len, samples.values())) < 2 or len(samples) < head.ranks:
        raise UsageError(f"'{path}' has fewer than two samples of a host; let it run longer")
    return Recorded(path, head, dict(samples), notes)


def maps_of(samples: list[Sample]) -> np.ndarray:
    """Returns the counter's relation to the axis at each sample of a host."""
    rows = [
        (
            s.counter,
            s.axis_ns,
            s.ns_per_tick,
            s.bound_ns,
            s.growth,
            s.ramp,
            s.variance,
            s.cross,
            s.rate_variance,
            s.walk,
        )
        for s in samples
    ]
    return np.array(rows, dtype=MAPS)


def readings_of(samples: list[Sample], clock: str) -> np.ndarray:
    """Returns the readings of a system clock of a host."""
    of = (sample.clocks[clock] for sample in samples)
    return np.array([(one.clock_ns, one.counter, one.half_width) for one in of], dtype=READINGS)
