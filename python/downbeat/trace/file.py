"""Reads the files of libdownbeat-preload; preload/src/trace_file.h defines their format.

A file has a section per process: a header and tables, in chunks that directories list. A file of a process that crashed
or still runs may end early. The names of a job's files begin with the name of the job.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from downbeat.errors import DownbeatError, UsageError, reading, refuse_pipe
from downbeat.files import DamageError
from downbeat.output.facts import Fact
from downbeat.output.facts.trace import RecordingFull
from downbeat.text import KEPT_CONTROLS, counted, escaped, is_harmless
from downbeat.trace.clocks import Clocks

TRACE_MAGIC = b"DOWNBEAT-TRACE-7"
WHOLE_TABLES = b"DOWNBEAT-TRACE-6"  # the previous version: each table is in one piece, as large as it may become
HEADER_SIZE = 4096  # bytes, also of a directory
CHUNKS = 255  # chunks that a directory lists
NO_INDEX = 2**32 - 1
ENDINGS = {0: "running", 1: "finalized", 2: "aborted"}
CALL_KINDS = ("blocking", "nonblocking", "persistent")
ENTERED, COMPLETE = 1, 2  # field `state` of a record; other values: the record was not written completely
CHECKED = 1 << 32  # flag in the field `checksum`: the lower 32 bits are a checksum
TRACE_SUFFIXES = (".trace", ".part")
# Kinds of calls that are only added up, in the order of the header's field `kinds`. Calls with requests, e.g. MPI_Wait,
# also complete collectives.
SUMS = ("point-to-point", "requests", "one-sided", "files", "communicators")
SIZE_UNKNOWN = 255  # field `size` of the profile
# System clocks that other tools use; the table `maps` has their times at each synchronization.
SYSTEM_CLOCKS = ("realtime", "monotonic", "monotonic_raw", "boottime")


def fields(**names: str) -> list[tuple[str, str]]:
    """Returns the fields of a structure, from numpy's types and the names of the fields of each: i8="size row"."""
    return [(name, kind) for kind, listed in names.items() for name in listed.split()]


TABLES = {
    "maps": np.dtype([(name, kind) for name, kind in Clocks.types().items() if name != "rank"]),
    "communicators": np.dtype(
        [
            *fields(u8="identity", i4="size rank", u1="inter second has_outside_members", V1="unused"),
            *fields(u4="first_row", u1="freed pinned", S70="name"),
        ]
    ),
    "sites": np.dtype(fields(u8="offset", S448="module", S520="symbol", S48="build_id")),
    "starts": np.dtype(
        fields(
            u4="barrier_site communicator",
            u2="operation kind",
            i4="unused",
            i8="size samples valid rejected unresolved skipped",
            f8="sum_ns min_ns max_ns valid_sum_ns lateness_sum_ns lateness_max_ns bound_max_ns",
        )
    ),
    "phases": np.dtype((np.record, fields(i8="begins ends cut strays ticks began", u2="parent", S78="name"))),
    "profile": np.dtype(
        [
            *fields(i8="calls ticks waits bytes", u4="site communicator", i4="ranks", u2="operation"),
            *fields(u1="kind size thinning", V1="unused", u2="phase", u4="held next number"),
        ]
    ),
    "records": np.dtype(
        [
            *fields(i8="entry returned waited exit bytes", u4="sequence round"),
            *fields(i4="root", u4="row", u2="thread together", u1="level state"),
            ("elsewhere", "u2"),
        ]
    ),
}
HEADER = np.dtype(
    (
        np.record,
        [
            *fields(S16="magic", i8="section_size", i4="world_rank world_size ending abort_code"),
            *fields(i8="pid began_ns", f8="max_wander"),
            *fields(i8=" ".join(f"{name}_capacity {name}" for name in TABLES)),
            *fields(
                i8="records_dropped communicators_dropped sites_dropped starts_dropped maps_dropped phases_dropped"
            ),
            ("unplaced", TABLES["profile"]),
            ("kinds", fields(i8="calls ticks"), (len(SUMS),)),
            *fields(i8="ready_ns", i4="processors allowed record_size operations"),
            *fields(S16="clock", S256="host", V2048="names", u8="checksum", i8="directory", i4="growth_code"),
        ],
    )
)
DIRECTORY = np.dtype([*fields(i8="next unused"), ("chunks", fields(i8="offset", u4="table entries"), (CHUNKS,))])


class Tables(NamedTuple):
    """The tables of a section, structured arrays of the types in TABLES."""

    maps: np.ndarray
    communicators: np.ndarray
    sites: np.ndarray
    starts: np.ndarray
    phases: np.ndarray
    profile: np.ndarray
    records: np.ndarray


@dataclass(frozen=True)
class Section:
    """The recording of one process.

    Attributes:
        path: path of the file.
        job: name of the job.
        header: fields of the header, by name.
        operations: names of operations, by number.
        tables: records, profile, clock synchronizations and the tables that they refer to.
    """

    path: Path
    job: str
    header: np.record
    operations: tuple[str, ...]
    tables: Tables

    @property
    def rank(self) -> int:
        """Rank in MPI_COMM_WORLD."""
        return int(self.header.world_rank)

    @property
    def clocks(self) -> Clocks:
        """Synchronizations of the process' clock."""
        return Clocks.of_process(self.tables.maps, self.rank)


def text(value: bytes) -> str:
    """Decodes a string of the file."""
    return value.decode("utf-8", errors="replace")


def name_text(value: bytes) -> str:
    r"""Decodes a name that the program chose; control characters and invalid bytes become `\n`, `\xff`."""
    name = value.decode("utf-8", errors="backslashreplace")
    return "".join(
        escaped(character) if character in KEPT_CONTROLS or not is_harmless(character) else character
        for character in name
    )


def check_section(data: np.ndarray, size: int, checksum: int) -> None:
    """Checks the bytes of a section against its checksum, which was computed while the field `checksum` was 0.

    Args:
        data: bytes of the section, as many as the file has.
        size: bytes of the section by its header.
        checksum: CRC-32.

    Raises:
        DamageError: the section is cut off, or its content has changed.
    """
    offset = HEADER.fields["checksum"][1] if HEADER.fields else 0
    content = data.data
    computed = zlib.crc32(bytes(8), zlib.crc32(content[:offset]))
    if len(data) != size or zlib.crc32(content[offset + 8 :], computed) != checksum:
        raise DamageError


def entries_in(data: np.ndarray, offset: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Returns up to `count` entries at an offset; fewer if a crash left a shorter file."""
    if offset < 0:
        raise ValueError(f"it has a table at byte {offset}")
    count = max(0, min(count, (data.size - offset) // dtype.itemsize))
    entries: np.ndarray = data[offset : offset + count * dtype.itemsize].view(dtype)
    return entries


def entries_of(header: np.record, name: str) -> int:
    """Returns the number of entries of a table by the header."""
    capacity, taken = int(header[f"{name}_capacity"]), int(header[name])
    if capacity < 0 or taken < 0:
        raise ValueError(f"it has {min(capacity, taken)} {name}")
    return min(capacity, taken)


def tables_in_one_piece(data: np.ndarray, header: np.record) -> dict[str, np.ndarray]:
    """Returns the tables of a section of the previous version, by name."""
    position = HEADER_SIZE
    tables = {}
    for name, dtype in TABLES.items():
        tables[name] = entries_in(data, position, entries_of(header, name), dtype)
        position += int(header[f"{name}_capacity"]) * dtype.itemsize
    return tables


def directories_of(data: np.ndarray, header: np.record) -> Iterator[np.ndarray]:
    """Yields the chunks that each directory of a section lists, as structured arrays."""
    position = int(header.directory)
    count = 0
    while position != 0:
        entry = entries_in(data, position, 1, DIRECTORY)
        if not len(entry):
            if count:  # the file was cut off
                return
            raise ValueError(f"it has no directory at byte {position}")
        count += 1
        if count * HEADER_SIZE > data.size:
            raise ValueError("its directories form a cycle")
        yield entry["chunks"][0]
        position = int(entry["next"][0])


def tables_in_chunks(data: np.ndarray, header: np.record) -> dict[str, np.ndarray]:
    """Returns the tables of a section, by name."""
    kinds = list(TABLES.values())
    pieces_of: list[list[np.ndarray]] = [[] for _ in kinds]
    for chunks in directories_of(data, header):
        for offset, table, entries in chunks[chunks["entries"] > 0].tolist():
            if table >= len(kinds):
                raise ValueError(f"it has a table {table}")
            pieces_of[table].append(entries_in(data, offset, entries, kinds[table]))
    tables = {}
    for (name, dtype), pieces in zip(TABLES.items(), pieces_of, strict=True):
        joined = pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, dtype), *pieces])
        tables[name] = joined[: entries_of(header, name)]
    return tables


def read_section(data: np.ndarray, offset: int, path: Path) -> tuple[Section, int]:
    """Returns the section that begins at an offset of a file, and its size in bytes."""
    begin = bytes(data[offset : offset + len(TRACE_MAGIC)])
    if begin not in (TRACE_MAGIC, WHOLE_TABLES) and begin[:-1] == TRACE_MAGIC[:-1]:
        raise DownbeatError(f"'{path}' was written by another version of libdownbeat-preload")
    if data.size - offset < HEADER_SIZE or begin[:-1] != TRACE_MAGIC[:-1]:
        raise DownbeatError(f"'{path}' has no trace at byte {offset}; it is of another program, or was cut off")
    header = data[offset : offset + HEADER.itemsize].view(HEADER)[0]
    section = data[offset:]
    size = int(header.section_size) or section.size  # 0: the file of one process, which may still grow
    if size < HEADER_SIZE:
        raise ValueError(f"its section at byte {offset} has {size} bytes")
    section = section[:size]
    if int(header.checksum) & CHECKED:
        check_section(section, size, int(header.checksum) - CHECKED)
    tables = tables_in_one_piece(section, header) if begin == WHOLE_TABLES else tables_in_chunks(section, header)
    names = tuple(text(name) for name in bytes(header.names).split(b"\0")[: int(header.operations)])
    return Section(path, job_name(path), header, names, Tables(**tables)), size


def read_sections(path: Path) -> list[Section]:
    """Returns the sections of a file."""
    refuse_pipe(path)
    if path.stat().st_size == 0:
        return []
    data = np.memmap(path, dtype=np.uint8, mode="r")
    sections = []
    offset = 0
    with reading(path):
        while offset < data.size:
            section, size = read_section(data, offset, path)
            sections.append(section)
            offset += size
    return sections


def full_recordings(sections: Sequence[Section], directory: Path | None = None) -> list[Fact]:
    """Reports lost records if files could not grow, or had no room; empty if nothing was lost.

    Args:
        sections: of all processes.
        directory: the directory that the text names; None: the directory of the files.
    """
    lost = sum(int(section.header.records_dropped) for section in sections)
    # Without a code, more calls were active than there are records, or an older version wrote the file.
    codes = [code for section in sections if (code := int(section.header.growth_code))]
    if not lost and not codes:
        return []
    return [RecordingFull(lost, codes[0] if codes else 0, str(directory or sections[0].path.parent))]


def job_name(file: Path) -> str:
    """Returns the name of a file's job."""
    return re.sub(r"-(node|rank)-\d+$", "", file.stem)


def is_job(path: Path) -> bool:
    """Returns true if a path names a job in a directory: DIR/JOB."""
    files = path.parent.glob(f"{escape(path.name)}*")
    return not path.exists() and any(file.suffix in TRACE_SUFFIXES and job_name(file) == path.name for file in files)


def is_trace(path: Path) -> bool:
    """Returns true if a path is a file of a recording, by its first bytes, a directory of such files, or DIR/JOB."""
    if path.is_dir():
        return any(file.suffix in TRACE_SUFFIXES for file in path.iterdir())
    if not path.exists():
        return is_job(path)
    with path.open("rb") as file:
        return file.read(len(TRACE_MAGIC))[:-1] == TRACE_MAGIC[:-1]


def sections_in(path: Path) -> list[Section]:
    """Reads the sections of all processes of all jobs.

    Args:
        path: the directory of a trace, or a file in it.

    Raises:
        UsageError: there is no trace.
    """
    if not path.exists():
        raise UsageError(f"'{path}' does not exist; give the directory that libdownbeat-preload wrote to")
    files = sorted(file for file in path.iterdir() if file.suffix in TRACE_SUFFIXES) if path.is_dir() else [path]
    sections = [section for file in files for section in read_sections(file)]
    if not sections:
        raise UsageError(f"'{path}' has no trace; was the program started with libdownbeat-preload?")
    return sections


def jobs_in(path: Path) -> list[str]:
    """Returns the names of the jobs of a trace, by their begin."""
    began: dict[str, int] = {}
    for section in sections_in(path):
        time = int(section.header.began_ns)
        began[section.job] = min(time, began.get(section.job, time))
    return sorted(began, key=lambda job: (began[job], job))


def read_job(path: Path, job: str | None = None) -> list[Section]:
    """Reads the sections of all processes of a job, by rank.

    Args:
        path: the directory of a trace, or a file in it, or DIR/JOB.
        job: name of the job; None: the directory has only one.

    Raises:
        UsageError: there is no trace, or there are several jobs and none was named.
    """
    if job is None and is_job(path):
        return read_job(path.parent, path.name)
    sections = sections_in(path)
    ranks = Counter(section.job for section in sections)
    known = ", ".join(f"{name} ({counted(count, 'rank')})" for name, count in sorted(ranks.items()))
    if job is None and len(ranks) > 1:
        raise UsageError(f"'{path}' has several jobs; choose one with --job: {known}")
    chosen = job if job is not None else next(iter(ranks))
    if chosen not in ranks:
        raise UsageError(f"'{path}' has no job '{chosen}'; choose one of {known}")
    return sorted((section for section in sections if section.job == chosen), key=lambda section: section.rank)
