"""Reads results of the Intel MPI Benchmarks 4 to 2021: text of MPI1, NBC, RMA, EXT, P2P and MT.

The formats are those of src_c/IMB_output.c and src_c/P2P of the benchmarks. A run begins with the line of the version.
It has several benchmarks: comment lines with properties, a line of headings, and a row of numbers per size. From
version 2018 on, a barrier precedes each call of a collective (option -sync); older versions time a loop of calls.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import datetime

from downbeat.data.cells import WRONG
from downbeat.data.collectives import COLLECTIVES
from downbeat.data.readers.kinds import UNITS
from downbeat.data.readers.results import (
    NO_NUMBERS,
    NOT_ENDED,
    UNKNOWN_COLUMNS,
    UNREADABLE,
    WRONG_RESULTS,
    DamageCounter,
    Results,
    ToolRun,
    is_garbled_row,
    number_of,
    whole_lines,
    without_prefix,
)

NAME = "IMB"
VERSION = re.compile(r"^#\s+Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?(.+?), +(?:IMB-)?(\S+) part", re.MULTILINE)
BENCHMARK = re.compile(r"^# Benchmarking (Multi-)?(\S+)", re.MULTILINE)
RANKS = re.compile(r"# (?:\( )?#processes = (\d+)(?:.*threads: (\d+))?")
GROUPS = re.compile(r"# \( ?(\d+) groups of (\d+) processes")
IDLE = re.compile(r"# \( ?(\d+) additional process")
MODE = re.compile(r"#\s+MODE: (\S+)")
DATE = re.compile(r"# Date\s+: (\w+ \w+ +\d+ [\d:]+ \d+)")
DATATYPE = re.compile(r"# MPI_Datatype( for reductions)?\s+:\s+(\w+)")
END = "# All processes entering MPI_Finalize"
FAILURES = {  # word in place of numbers -> text of a `Damage`
    "out-of-mem": "sizes that did not fit into memory",
    "int-overflow": "sizes that the tool left out because of an overflow",
    "time-out": "sizes that the tool left out at its time limit",
}
# Heading of a column -> kind of its numbers (kinds.py).
KIND_OF = {
    "t[usec]": "one_way",
    "t_min[usec]": "rank_mean_min",
    "t_max[usec]": "rank_mean_max",
    "t_avg[usec]": "latency_avg",
    "Mbytes/sec": "bandwidth",
    "Msg/sec": "message_rate",
    "t_ovrl[usec]": "overall_slowest",
    "t_pure[usec]": "pure_slowest",
    "t_CPU[usec]": "computed_slowest",
    "overlap[%]": "overlap_imb",
}
GROUP, SIZE, CALLS, DEFECTS = "Group", "#bytes", "#repetitions", "defects"  # other headings
COLUMNS = {GROUP, SIZE, CALLS, DEFECTS, *KIND_OF}
TIMES = ("t[usec]", "t_max[usec]")  # times from which the tool computes bandwidths
OLD_MEGABYTE = 2.0**20  # bytes per "Mbyte" in versions before 2018
# Tolerance that separates the two megabytes, which are 5 % apart, for times from 1 us on (printed with two decimals).
MEGABYTE_TOLERANCE = 0.02


def recognizes(text: str) -> bool:
    """True if a text has a table of IMB."""
    return CALLS in text and ("# Benchmarking " in text or "MPI Benchmark" in text)


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    lines = list(map(without_prefix, whole_lines(text, damage)))
    starts = [number for number, line in enumerate(lines) if "MPI Benchmark" in line and VERSION.match(line)]
    first_benchmark = next((number for number, line in enumerate(lines) if BENCHMARK.match(line)), len(lines))
    if not starts or first_benchmark < starts[0]:  # the first run lacks its first lines
        starts.insert(0, first_benchmark)
    runs, rows = [], []
    for run, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        reader = Run(lines[start:end], start + 1, damage)
        runs.append(reader.description(path))
        read_rows = [{**row, "run": run} for row in reader.rows()]
        rows += read_rows
        if not read_rows:
            damage.add(NO_NUMBERS, start + 1)
        if not any(line.startswith(END) for line in lines[start:end]):
            damage.add(NOT_ENDED, end)
    return Results.of_rows(runs, rows, damage.facts())


def operation_of(name: str) -> str:
    """Downbeat's name of an operation, from the name of a benchmark, e.g. Iallreduce, Reduce_scatter, PingPong."""
    known = {collective.name.replace("_", ""): collective.name for collective in COLLECTIVES}
    known["pingpong"] = "ping_pong"
    lower = name.lower()
    joined = lower.replace("_", "")
    if joined in known:
        return known[joined]
    if joined[:1] == "i" and joined[1:] in known:
        return "i" + known[joined[1:]]
    return lower


class Run:
    """A run of IMB while its lines are read.

    Args:
        lines: lines of the run.
        first: number of the first line in the file, from 1.
        damage: collects contents that cannot be read.
    """

    def __init__(self, lines: list[str], first: int, damage: DamageCounter) -> None:
        self.lines, self.first, self.damage = lines, first, damage
        # Key: group 1 of DATATYPE.
        self.datatypes = {"": "MPI_BYTE", " for reductions": "MPI_FLOAT"}
        version = next(filter(None, map(VERSION.match, lines[:1])), None)
        self.version, self.part = version.groups() if version else ("", "")
        # Of the current benchmark.
        self.operation, self.ranks = "", 0
        self.settings: dict[str, str] = {}

    def description(self, path: str) -> ToolRun:
        """Makes the run for `Results`: version, date and start of calls, from its first lines."""
        head = "\n".join(self.lines[:100])
        date = DATE.search(head)
        iso = ""
        if date:
            with contextlib.suppress(ValueError):
                iso = datetime.strptime(date[1], "%a %b %d %H:%M:%S %Y").isoformat()
        per_call = re.match(r"\d{4}", self.version) and not re.search(r"-sync (?:off|0|no|disable|false)\b", head)
        return ToolRun(
            NAME,
            self.version,
            path,
            self.first,
            iso,
            {"part": self.part} if self.part else {},
            "mpi_barrier" if per_call else "none",
            "per_call" if per_call else "back_to_back",
        )

    def rows(self) -> Iterator[dict[str, object]]:
        """Yields the numbers of the run as rows of `Numbers`."""
        columns: list[str] = []
        table: list[dict[str, float]] = []  # rows of the current benchmark: heading -> number
        for number, line in enumerate(self.lines, self.first):
            text = line.strip()
            words = text.split()
            if CALLS in words and not text.startswith("# "):
                yield from self.numbers(table)  # of the benchmark before
                columns, table = words, []
                if set(words) - COLUMNS:
                    self.damage.add(UNKNOWN_COLUMNS, number)
                    columns = []
            elif text.startswith("#"):
                yield from self.numbers(table)
                table = []
                self.header(text)
            elif columns and words:
                table += self.row(words, columns, number)
        yield from self.numbers(table)

    def header(self, line: str) -> None:
        """Reads properties of the current benchmark from a comment line."""
        if match := DATATYPE.match(line):
            self.datatypes[match[1] or ""] = match[2]
        elif match := BENCHMARK.match(line):
            self.operation, self.ranks, self.settings = operation_of(match[2]), 0, {}
        elif match := RANKS.match(line):
            self.ranks = int(match[1])
            if match[2]:
                self.settings["threads"] = match[2]
        elif match := GROUPS.match(line):
            self.settings["groups"], self.ranks = match[1], int(match[2])
        elif match := IDLE.match(line):
            self.settings["idle"] = match[1]
        elif match := MODE.match(line):
            self.settings["mode"] = match[1].lower()

    def row(self, words: list[str], columns: list[str], line: int) -> list[dict[str, float]]:
        """Reads a line of the table: one row, heading -> number; [] for lines of other programs and for failures."""
        text = " ".join(words)
        for failure, what in FAILURES.items():
            if failure in text:
                self.damage.add(what, line)
                return []
        values = [number_of(word) for word in words]
        if len(words) == len(columns) and None not in values:
            row = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
            return [{"line": line, **row}]
        if is_garbled_row(words, values, len(columns)):
            self.damage.add(UNREADABLE, line)
        return []

    def numbers(self, table: list[dict[str, float]]) -> Iterator[dict[str, object]]:
        """Converts a table to rows of `Numbers`, in SI units."""
        megabyte = megabyte_of(table, self.version)
        collective = next((each for each in COLLECTIVES if each.name in (self.operation, self.operation[1:])), None)
        datatype = self.datatypes[" for reductions" if collective and collective.reduces else ""]
        for row in table:
            wrong = row.get(DEFECTS, 0.0) > 0
            if wrong:
                self.damage.add(WRONG_RESULTS, int(row["line"]))
            settings = self.settings | ({"group": f"{row[GROUP]:.0f}"} if GROUP in row else {})
            for name, kind in KIND_OF.items():
                if name not in row:
                    continue
                unit = name.rpartition("[")[2].rstrip("]")
                yield {
                    "operation": self.operation,
                    "size": int(row.get(SIZE, 0.0)),
                    "ranks": self.ranks,
                    "datatype": "none" if self.operation == "barrier" else datatype,
                    "setting": ",".join(f"{key}={value}" for key, value in settings.items()),
                    "kind": "call_time" if kind == "one_way" and self.operation != "ping_pong" else kind,
                    "value": row[name] * (megabyte if unit == "Mbytes/sec" else UNITS[unit]),
                    "calls": int(row[CALLS]),
                    **({"status": WRONG} if wrong else {}),
                }


def megabyte_of(table: list[dict[str, float]], version: str) -> float:
    """The bytes per "Mbyte" of a table, which versions define differently.

    It follows from a row with a time, a bandwidth and a size: a benchmark moves the size 1, 2 or 4 times in a call.
    """
    for row in reversed(table):  # large messages have exact bandwidths
        time = next((row[name] for name in TIMES if name in row), 0.0)
        if time >= 1 and row.get("Mbytes/sec", 0.0) >= 1 and row.get(SIZE):
            times_moved = row["Mbytes/sec"] * time / row[SIZE]  # if a megabyte is 1e6 bytes
            for megabyte in (UNITS["MB/s"], OLD_MEGABYTE):
                for times in (1, 2, 4):
                    if abs(times_moved / times * megabyte / UNITS["MB/s"] - 1) < MEGABYTE_TOLERANCE:
                        return megabyte
    return OLD_MEGABYTE if re.match(r"[234]\.", version) else UNITS["MB/s"]
