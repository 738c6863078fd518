"""Reads results of mpiBench (LLNL).

A row of results is `Bcast Bytes: 8 Iters: 1000 Avg: 1.2 Min: 1.1 Max: 1.3 Comm: MPI_COMM_WORLD Ranks: 4`. The tool
divides the time of a loop by the number of its calls; a barrier follows each call by default.
"""

from __future__ import annotations

import re

from downbeat.data.readers.kinds import UNITS
from downbeat.data.readers.results import (
    NO_NUMBERS,
    NOT_ENDED,
    UNREADABLE,
    DamageCounter,
    Results,
    ToolRun,
    number_of,
    whole_lines,
    without_prefix,
)

NAME = "mpiBench"
START = re.compile(r"START mpiBench\w*(?: [A-Z]\w*)?(?: v(\S+))?")
ROW = re.compile(
    r"(\w+)\s+Bytes:\s*(\S+)\s+Iters:\s*(\S+)\s+Avg:\s*(\S+)\s+Min:\s*(\S+)\s+Max:\s*(\S+)\s+Comm:\s*(\S+)\s+Ranks:\s*(\S+)"
)
LIKE_ROW = re.compile(r"\w+\s+Bytes:\s*\d")  # the beginning of a row, which may be damaged
HOST = re.compile(r"(\d+) : (\S+)\s*$")  # rank and its host, before the rows
CORRUPT = re.compile(r"(?:Send|Receive) buffer corruption detected")
WORLD = "MPI_COMM_WORLD"
KINDS = ("with_barrier_avg", "with_barrier_min", "with_barrier_max")  # of Avg, Min, Max
DOUBLES = ("allreduce", "reduce")  # operations on MPI_DOUBLE
CORRUPTION = "buffers with wrong content, which ended the run"


def recognizes(text: str) -> bool:
    """Returns true if a text has the first line of a run, or a row."""
    return START.search(text) is not None or ("Bytes:" in text and ROW.search(text) is not None)


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    runs: list[tuple[int, str, list[str]]] = []  # first line, version, hosts of the ranks
    rows: list[dict[str, object]] = []
    ended = True  # whether the last run has ended
    rows_before = 0  # number of rows before that run

    def end(line: int) -> None:
        """Records the damage of the last run, which lacks its end or has no rows."""
        if runs and not ended:
            damage.add(NOT_ENDED, line)
        if runs and not any(row["run"] == len(runs) - 1 for row in rows[-1:]):
            damage.add(NO_NUMBERS, line)

    for number, full in enumerate(whole_lines(text, damage), 1):
        line = full if ROW.match(full) or HOST.match(full) else without_prefix(full)  # most lines have no prefix
        if match := START.search(line):
            end(runs[-1][0] if runs else number)
            runs.append((number, match[1] or "", []))
            ended, rows_before = False, len(rows)
        elif match := ROW.search(line):
            if not runs:
                runs.append((number, "", []))
            numbers = [number_of(match[i]) for i in (2, 3, 4, 5, 6, 8)]
            if None in numbers:
                damage.add(UNREADABLE, number)
                continue
            size, calls, average, minimum, maximum, ranks = (value or 0.0 for value in numbers)  # none is None
            operation = match[1].lower()
            datatype = "MPI_DOUBLE" if operation in DOUBLES else "MPI_BYTE"
            shared = {
                "run": len(runs) - 1,
                "operation": operation,
                "size": int(size),
                "ranks": int(ranks),
                "datatype": "none" if operation == "barrier" else datatype,
                "setting": "" if match[7] == WORLD else f"communicator={match[7]}",
                "calls": int(calls),
                "nodes": len(set(runs[-1][2])) if match[7] == WORLD else 0,
            }
            for kind, value in zip(KINDS, (average, minimum, maximum), strict=True):
                rows.append({**shared, "kind": kind, "value": value * UNITS["us"]})
        elif LIKE_ROW.match(line):
            damage.add(UNREADABLE, number)
        elif CORRUPT.search(line):
            damage.add(CORRUPTION, number)
        elif "END mpiBench" in line:
            ended = True
        elif runs and not ended and len(rows) == rows_before and (match := HOST.match(line)):
            runs[-1][2].append(match[2])
    end(runs[-1][0] if runs else 1)
    return Results.of_rows([tool_run(path, *run) for run in runs], rows, damage.facts())


def tool_run(path: str, line: int, version: str, hosts: list[str]) -> ToolRun:
    """Makes a run from its first line, version and the hosts of its ranks."""
    context = {"hosts": ",".join(dict.fromkeys(hosts))} if hosts else {}
    return ToolRun(NAME, version, path, line, context=context, synchronizer="none", timing="back_to_back")
