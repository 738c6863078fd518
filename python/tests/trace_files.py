"""Writes files as libdownbeat-preload does, of a made-up program: two ranks that reduce and wait for each other."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from downbeat.trace.file import CHECKED, COMPLETE, HEADER, HEADER_SIZE, MAGIC, TABLES

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
    rank: int, tables: dict[str, np.ndarray], host: str = "node", wander: float = 1e-6, checked: bool = False
) -> bytes:
    """Returns the section of a process of two, with its tables."""
    header = np.zeros((), HEADER)
    header["magic"], header["world_rank"], header["world_size"], header["ending"] = MAGIC, rank, 2, 1
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
    header["section_size"] = HEADER_SIZE + len(content)
    if checked:
        header["checksum"] = CHECKED | zlib.crc32(header.tobytes().ljust(HEADER_SIZE, b"\0") + content)
    return header.tobytes().ljust(HEADER_SIZE, b"\0") + content


def write_trace(path: Path, checked: bool = False) -> Path:
    """Writes a file of two processes; returns its path."""
    path.write_bytes(section(0, checked=checked) + section(1, checked=checked))
    return path
