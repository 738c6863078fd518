"""Writes files as downbeat-bench and libdownbeat-preload do, with stamps that the test chooses."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import netCDF4
import numpy as np
from downbeat.data.metrics import METRICS
from downbeat.trace.file import (
    CHECKED,
    COMPLETE,
    DIRECTORY,
    HEADER,
    HEADER_SIZE,
    TABLES,
    TRACE_MAGIC,
    WHOLE_TABLES,
)
from numpy.typing import ArrayLike
from stamps import FORMULAS, Stamps

NAME_LENGTH = 40
ATTRIBUTES: dict[str, str | int] = {
    "title": "Samples of MPI operations measured by downbeat-bench",
    "schema": "downbeat-bench",
    "schema_version": 3,
    "date": "2026-01-02T03:04:05Z",
    "mpi_library": "Some MPI 1.0, of a test",
    "hosts": "node: 2 ranks, 2 processors, load 0.00, governor performance, CPU some, virtual machine no",
    "clock_clock": "tsc",
    "clock_sync": "hca3_offset",
    "observed_rank": 0,
}
TEXT = {
    "datatype": "MPI_BYTE",
    "algorithm": "default",
    "barrier_algorithm": "default",
    "timing": "per_call",
    "pattern": "none",
    "size_meaning": "of the message",
}
NUMBERS = {
    "largest_delay": 0.0,
    "computation": 0.0,
    "status": 0,
    "requested": 1,
    "error_bound": 20e-9,
    "expected_error": 3e-9,
    "wall_time": 0.1,
    "validated": 0,
    "wrong": 0,
}
# Shares of the clock's resolution that values advance by.
STEPS = {"latency_avg": "per call and timed rank"} | dict.fromkeys(
    ("latency_max", "latency_min", "latency_observed"), "per call"
)
CANARY = ("canary_low", "canary_high")  # s, where a cell says them
UNITS = dict.fromkeys(("largest_delay", "computation", "error_bound", "expected_error", "wall_time"), "s") | {
    "size": "byte"
}
FLAGS = {"status": "ok incomplete failed wrong", "verdict": "valid late_flag late_entry warmup overrun"}
KINDS = {"status": "i1"} | {name: "f8" for name, unit in UNITS.items() if unit == "s"}


@dataclass
class Cell:
    """A cell: its entries and exits in s, shape (samples, ranks), and what is not as it usually is."""

    entry: ArrayLike
    exit: ArrayLike
    operation: str = "bcast"
    size: int = 8
    synchronizer: str = "harmonize"
    calls: int = 1
    deadline: ArrayLike = np.nan
    delay: ArrayLike = 0.0
    verdict: ArrayLike = 0
    timed: ArrayLike = 1
    other: dict[str, object] = field(default_factory=dict)  # of TEXT, NUMBERS, CANARY


def write_launch(path: Path, cells: Sequence[Cell], **attributes: str | float) -> Path:
    """Writes a file of samples, one block per cell; returns its path."""
    ranks = np.shape(cells[0].entry)[1]
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts({**ATTRIBUTES, **attributes})
        for name, size in {"sample": None, "rank": ranks, "cell": len(cells), "name_len": NAME_LENGTH}.items():
            file.createDimension(name, size)
        for name in {name for cell in cells for name in cell.other} & set(CANARY):
            file.createVariable(name, "f8", ("cell",)).units = "s"
        for name, kind in {"cell_index": "i4", "block": "i4", "attempt": "i8", "valid": "i1", "verdict": "i1"}.items():
            file.createVariable(name, kind, ("sample",))
        for name in ("deadline", "slack", "begin", *FORMULAS):
            file.createVariable(name, "f8", ("sample",)).units = "s"
        for name in FORMULAS:
            file[name].setncatts({"clock_bounds": METRICS[name].clock_bounds, "step": STEPS.get(name, "none")})
        for name in ("sync_entry", "entry", "exit", "delay"):
            file.createVariable(name, "f8", ("sample", "rank")).units = "s"
        file.createVariable("flag", "i1", ("sample", "rank"))
        for name in ("operation", "synchronizer", *TEXT):
            file.createVariable(name, "S1", ("cell", "name_len"))
        for name in ("size", "calls", *NUMBERS):
            file.createVariable(name, KINDS.get(name, "i8"), ("cell",))
        file.createVariable("timed", "i1", ("cell", "rank"))
        for name, unit in UNITS.items():
            file[name].units = unit
        for name, meanings in FLAGS.items():
            file[name].flag_values = np.arange(len(meanings.split()), dtype="i1")
            file[name].flag_meanings = meanings
        for index, cell in enumerate(cells):
            write_cell(file, index, cell)
    return path


def seal(path: Path) -> Path:
    """Appends the checksum of a file, as downbeat-bench does when a run is complete; returns its path."""
    found = 0
    with path.open("r+b") as file:
        while part := file.read(1 << 20):
            found = zlib.crc32(part, found)
        file.write(f"DOWNBEAT-CRC32:{found:08x}\n".encode())
    return path


def write_cell(file: netCDF4.Dataset, index: int, cell: Cell) -> None:
    """Writes a cell and appends its samples."""
    words = {"operation": cell.operation, "synchronizer": cell.synchronizer} | TEXT | cell.other
    for name in ("operation", "synchronizer", *TEXT):
        file[name][index] = (
            np.array(str(words[name]).ljust(NAME_LENGTH, "\0"), dtype=f"S{NAME_LENGTH}").reshape(1).view("S1")
        )
    for name, value in (NUMBERS | cell.other).items():
        if name in NUMBERS:
            file[name][index] = value
    for name in set(cell.other) & set(CANARY):
        file[name][index] = cell.other[name]
    file["size"][index], file["calls"][index], file["timed"][index] = cell.size, cell.calls, cell.timed
    start = file.dimensions["sample"].size
    count = len(np.asarray(cell.entry))
    rows = slice(start, start + count)
    verdict = np.broadcast_to(cell.verdict, count)
    file["cell_index"][rows] = file["block"][rows] = np.full(count, index)
    file["attempt"][rows] = np.arange(count)
    file["verdict"][rows], file["valid"][rows] = verdict, verdict == 0
    file["deadline"][rows], file["slack"][rows] = np.broadcast_to(cell.deadline, count), np.full(count, 1e-6)
    entry = np.asarray(cell.entry, dtype=float)
    file["entry"][rows], file["exit"][rows] = entry, cell.exit
    file["delay"][rows], file["sync_entry"][rows] = np.broadcast_to(cell.delay, entry.shape), entry - 1e-6
    file["flag"][rows] = np.ones(entry.shape)
    file["begin"][rows] = entry.min(axis=1)
    timed = np.broadcast_to(cell.timed, entry.shape[1]).astype(bool)
    stamps = Stamps(
        entry=entry,
        exit=np.broadcast_to(np.asarray(cell.exit, dtype=float), entry.shape),
        delay=np.broadcast_to(np.asarray(cell.delay, dtype=float), entry.shape),
        deadline=np.broadcast_to(np.asarray(cell.deadline, dtype=float), count),
        timed=timed if timed.any() else np.ones_like(timed),
        calls=cell.calls,
        observed=int(getattr(file, "observed_rank", 0)),
    )
    for name, formula in FORMULAS.items():
        file[name][rows] = formula(stamps)


OPERATIONS = (b"barrier", b"bcast", b"allreduce")


def section(rank: int, calls: int = 6, checked: bool = False) -> bytes:
    """Returns what a process of two left, of calls that are 10 us apart; with its checksum once files are joined."""
    tables = {name: np.zeros(1, dtype) for name, dtype in TABLES.items()}
    tables["maps"] = np.zeros(2, TABLES["maps"])
    tables["maps"]["ticks"] = tables["maps"]["global_ns"] = [0, 10**9]
    tables["maps"]["ns_per_tick"], tables["maps"]["bound_ns"], tables["maps"]["growth"] = 1.0, 50.0, 1e-6
    communicator = tables["communicators"][0]
    communicator["identity"], communicator["size"], communicator["rank"] = 0x1234, 2, rank
    communicator["name"] = b"MPI_COMM_WORLD"
    tables["sites"][0] = (0x10, b"/nowhere/app", b"solve", b"")
    start, phase = tables["starts"][0], tables["phases"][0]
    start["operation"], start["size"], start["samples"], start["valid"] = 2, 8, 100, 100
    start["sum_ns"] = start["valid_sum_ns"] = 2e5
    phase["begins"], phase["ends"], phase["ticks"], phase["name"] = 1, 1, 50_000, b"solver"
    records = tables["records"] = np.zeros(calls, TABLES["records"])
    records["entry"] = np.arange(calls) * 10_000 + 1000 * rank
    records["exit"] = records["returned"] = np.arange(calls) * 10_000 + 3000
    records["bytes"], records["sequence"], records["root"] = 8, np.arange(calls), -1
    records["row"], records["state"] = np.arange(calls) % len(OPERATIONS), COMPLETE
    profile = tables["profile"] = np.zeros(len(OPERATIONS), TABLES["profile"])
    profile["operation"], profile["ranks"], profile["size"] = np.arange(len(OPERATIONS)), 2, 4
    profile["calls"] = np.bincount(records["row"], minlength=len(OPERATIONS))
    profile["bytes"] = 8 * profile["calls"]
    np.add.at(profile["ticks"], records["row"], records["exit"] - records["entry"])
    return packed(rank, tables, checked=checked)


def packed(
    rank: int,
    tables: dict[str, np.ndarray],
    host: str = "node",
    wander: float = 1e-6,
    checked: bool = False,
    whole: bool = False,
) -> bytes:
    """Returns the section of a process of two, with its tables; `whole`: as the version before has them."""
    header = np.zeros((), HEADER)
    header["magic"], header["world_rank"], header["world_size"], header["ending"] = TRACE_MAGIC, rank, 2, 1
    header["pid"], header["began_ns"], header["max_wander"] = 1000 + rank, 1_700_000_000_000_000_000, wander
    header["clock"] = b"tsc"
    for name, table in tables.items():
        header[name] = header[f"{name}_capacity"] = len(table)
    header["record_size"], header["operations"], header["host"] = (
        TABLES["records"].itemsize,
        len(OPERATIONS),
        host.encode(),
    )
    header["names"] = np.frombuffer(b"\0".join(OPERATIONS).ljust(HEADER["names"].itemsize, b"\0"), "V2048")[0]
    content = b"".join(tables[name].tobytes() for name in TABLES)
    if whole:
        header["magic"] = WHOLE_TABLES
    else:
        header["directory"] = HEADER_SIZE
        content = directory(tables) + content
    header["section_size"] = HEADER_SIZE + len(content)
    if checked:
        header["checksum"] = CHECKED | zlib.crc32(header.tobytes().ljust(HEADER_SIZE, b"\0") + content)
    return header.tobytes().ljust(HEADER_SIZE, b"\0") + content


def directory(tables: dict[str, np.ndarray]) -> bytes:
    """Returns the directory of tables that follow it."""
    found = np.zeros((), DIRECTORY)
    offset = HEADER_SIZE + DIRECTORY.itemsize
    for place, name in enumerate(TABLES):
        found["chunks"][place] = offset, place, len(tables[name])
        offset += tables[name].nbytes
    return found.tobytes()


def write_trace(path: Path, checked: bool = False) -> Path:
    """Writes a file of two processes; returns its path."""
    path.write_bytes(section(0, checked=checked) + section(1, checked=checked))
    return path
