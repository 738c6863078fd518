"""Reads results of SKaMPI 5: tables from `begin result "MPI_Bcast-nodes-length"` to `end result`, a row per case.

    nodes= 2 count= 1        1       6.6       0.1       54       3.1       6.6

A row has parameters, the size of the message, the result and its standard error in us, the number of calls, and times
of single ranks or quantiles, which are not read. The result is the mean of the middle half of the calls; the time of a
call is the largest over ranks (extract_final_results in measurement.c).
"""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime

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
)

NAME = "SKaMPI"
START = re.compile(r"#\s*SKaMPI Version (\S+)")
BEGIN = re.compile(r'\s*(?:#\s*)?begin result "([^"]*)"')
END = re.compile(r"\s*(?:#\s*)?end result\b")
DATE = re.compile(r"# Started at (\w+ \w+ +\d+ [\d:]+ \d+)")
FINISHED = re.compile(r"# Finished at ")
PARAMETER = re.compile(r"([A-Za-z_]\w*)= *(\S+)")
RANKS = ("nodes", "procs", "np")  # parameters that are numbers of ranks
SIZES = ("count", "length", "len", "size")  # parameters that repeat the size
NOT_CLOSED = "tables that did not end"  # text of a `Damage`


def recognizes(text: str) -> bool:
    """Returns true if a text has the first line of a run, or of a table."""
    return START.search(text) is not None or re.search(rf"^{BEGIN.pattern}", text, re.MULTILINE) is not None


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    runs: list[ToolRun] = []
    rows: list[dict[str, object]] = []
    table = ""  # name of the last table
    opened = 0  # number of its first line; 0: it has ended
    finished, filled = True, True  # whether the last run has ended, and has rows

    def close(line: int) -> None:
        """Records the damage of the last run."""
        if opened:
            damage.add(NOT_CLOSED, opened)
        if not finished:
            damage.add(NOT_ENDED, line)
        if not filled:
            damage.add(NO_NUMBERS, line)

    for number, line in enumerate(whole_lines(text, damage), 1):
        if match := START.match(line):
            close(runs[-1].line if runs else number)
            runs.append(ToolRun(NAME, match[1], path, number, synchronizer="window"))
            opened, finished, filled = 0, False, False
        elif match := BEGIN.match(line):
            if opened:
                damage.add(NOT_CLOSED, opened)
            table, opened = match[1], number
            if not runs:
                runs.append(ToolRun(NAME, "", path, number, synchronizer="window"))
        elif END.match(line):
            opened = 0
        elif match := DATE.match(line):
            runs[-1:] = [dataclasses.replace(run, date=date_of(match[1])) for run in runs[-1:]]
        elif FINISHED.match(line):
            finished = True
        elif opened and line.strip() and not line.lstrip().startswith("#"):
            row = row_of(line, table)
            if row is None and (PARAMETER.search(line) or line.lstrip()[0].isdigit()):
                damage.add(UNREADABLE, number)
            elif row:
                rows.append({**row, "run": len(runs) - 1})
                filled = True
    close(runs[-1].line if runs else 1)
    return Results.of_rows(runs, rows, damage.facts())


def date_of(text: str) -> str:
    """Converts a date of C's ctime to ISO 8601; empty if it cannot be read."""
    try:
        return datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return ""


def row_of(line: str, table: str) -> dict[str, object] | None:
    """Reads a line of a table (`table` is its name); None if the line is damaged."""
    parameters = dict(PARAMETER.findall(line))
    words = PARAMETER.sub("", line).split()
    if words and "." in words[0]:  # a barrier has no size; a time has a point
        words.insert(0, "0")
    numbers = [number_of(word) for word in words[:4]]
    if len(numbers) < 4 or None in numbers:
        return None
    size, result, _, calls = (value or 0.0 for value in numbers)
    ranks = next((parameters[name] for name in RANKS if parameters.get(name, "").isdigit()), "0")
    other = [f"{name}={value}" for name, value in parameters.items() if name not in (*RANKS, *SIZES)]
    return {
        "operation": operation_of(table),
        "size": int(size),
        "ranks": int(ranks),
        "setting": ",".join([f"table={table.replace(',', ';')}", *other]),
        "kind": "middle_mean",
        "value": result * UNITS["us"],
        "calls": int(calls),
    }


def operation_of(table: str) -> str:
    """The operation of a table, from its name: bcast for `MPI_Bcast-nodes-length`."""
    name = re.match(r"(?:MPI_)?(\w+)", table)
    word = name[1].lower() if name else "unknown"
    return "ping_pong" if word.startswith("pingpong") else word
