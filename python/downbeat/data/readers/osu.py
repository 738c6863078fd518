"""Reads results of the OSU Micro-Benchmarks 5 to 7.5 and of `downbeat-bench --format osu`.

The formats are those of util/osu_util*.c of the benchmarks. A run begins with the line `# OSU MPI ... Test`. The text
does not have the number of ranks; the launcher's command before the run has it, if the text has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from downbeat.data.cells import WRONG
from downbeat.data.collectives import COLLECTIVES
from downbeat.data.readers.kinds import UNITS
from downbeat.data.readers.results import (
    NO_NUMBERS,
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

NAME = "OSU"
HEADER = re.compile(
    r"^.{0,80}?# OSU (?:One Sided )?(MPI|[NRX]CCL|OpenSHMEM|UPC(?:\+\+)?)(_\w+)?(-[A-Z]+(?: MANAGED)?)?(?![a-z])"
    r"([^\n]*?) ?Test(?: \(?(?:v|Version )([\w.]+)\)?)?\s*$",
    re.MULTILINE,
)
LAUNCHER = re.compile(r"\b(?:mpirun|mpiexec|srun|aprun|jsrun)\b.*?\s(?:-np?|--ntasks)[ =]?(\d+)\b.*osu_")
# Title of a program without "Latency" and "Test" -> operation; other titles become names by `operation_of`.
TITLES = {
    "broadcast": "bcast",
    "all-to-all": "alltoall",
    "all-to-all personalized exchange": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
    "all-to-allw personalized exchange": "alltoallw",
    "": "ping_pong",  # OSU MPI Latency Test
    "multi": "multi_ping_pong",
    "multi-threaded": "multi_threaded_ping_pong",
    "multi-process": "multi_process_ping_pong",
}
# A heading. Groups: summary over ranks; percentile; its quantity.
COLUMNS = re.compile(
    r"Size|(?:(Avg|Min|Max) )?Lat(?:ency)? ?\(us\)|Iterations|Validation|P(\d+(?:\.\d+)?) Tail (Lat|BW) ?\(\S+?\)|"
    r"Overall\(us\)|Compute\(us\)|Coll\. Init\(us\)|MPI_Test\(us\)|MPI_Wait\(us\)|Pure Comm\.\(us\)|Min Comm\.\(us\)|"
    r"Max Comm\.\(us\)|Overlap\(%\)|Bandwidth \(MB/s\)|MB/s|Messages/s|Transmit Size"
)
# Heading -> kind of its numbers (kinds.py).
KIND_OF = {
    "Overall(us)": "overall",
    "Compute(us)": "computed",
    "Coll. Init(us)": "start_call",
    "MPI_Test(us)": "tests",
    "MPI_Wait(us)": "wait",
    "Pure Comm.(us)": "latency_avg",
    "Min Comm.(us)": "rank_mean_min",
    "Max Comm.(us)": "rank_mean_max",
    "Overlap(%)": "overlap_osu",
    "Bandwidth (MB/s)": "bandwidth",
    "MB/s": "bandwidth",
    "Messages/s": "message_rate",
}
SIZE, CALLS, VALIDATION = "Size", "Iterations", "Validation"  # other headings
SETTINGS = (  # line of the header -> the setting that it becomes, with the groups of the match
    (re.compile(r"# \[ pairs: (\d+) \] \[ window size: (\w+)"), "pairs={},window={}"),
    (re.compile(r"# Window creation: (\S+)"), "creation={}"),
    (re.compile(r"# Synchronization: (\S+)"), "synchronization={}"),
    (re.compile(r"# Send Buffer on \w+ \((\w+)\) and Receive Buffer on \w+ \((\w+)\)"), "buffers={}{}"),
    (re.compile(r"# Rank 0 Memory on \w+ \((\w+)\) and Rank 1 Memory on \w+ \((\w+)\)"), "buffers={}{}"),
    (re.compile(r"# Number of (?:Sender threads|forked processes in sender): *(\d+)"), "senders={}"),
    (re.compile(r"# Number of (?:Receiver threads|forked processes in receiver): *(\d+)"), "receivers={}"),
    (re.compile(r"# Arrival pattern: (\S+), largest delay (\S+) us"), "pattern={},delay={}us"),
)


class Column(NamedTuple):
    """A column of a table."""

    kind: str  # kind of its numbers; the heading of a column without results
    statistic: str = "mean"  # over calls
    factor: float = 1.0  # to SI


def recognizes(text: str) -> bool:
    """Returns true if a text has a header of OSU."""
    return "# OSU " in text and HEADER.search(text) is not None


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    runs: list[ToolRun] = []
    rows: list[dict[str, object]] = []
    lines = list(map(without_prefix, whole_lines(text, damage)))
    starts = [number for number, line in enumerate(lines) if "# OSU " in line and HEADER.match(line)]
    for run, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        # Launchers' commands before the run; the last one starts it.
        commands = [LAUNCHER.search(line) for line in lines[starts[run - 1] if run else 0 : start]]
        ranks = next((int(match[1]) for match in reversed(commands) if match), 0)
        reader = Run(lines[start])
        for line in lines[max(0, start - 2) : start]:
            if line.startswith("# Number of "):  # the number of threads precedes the first line of the run
                reader.header(line)
        read_rows = [{**row, "run": run, "ranks": ranks} for row in reader.rows(lines[start:end], start + 1, damage)]
        runs.append(ToolRun(NAME, reader.version, path, start + 1, synchronizer=reader.synchronizer))
        rows += read_rows
        if not read_rows:
            damage.add(UNKNOWN_COLUMNS if reader.is_unknown else NO_NUMBERS, start + 1)
    return Results.of_rows(runs, rows, damage.facts())


def operation_of(title: str) -> str:
    """The name of an operation, from the title of its program without "Test"."""
    name = title.lower().removesuffix("latency").strip()
    if name.startswith("non-blocking "):
        return "i" + operation_of(name.removeprefix("non-blocking "))
    if name.endswith(" persistent"):
        return operation_of(name.removesuffix(" persistent")) + "_init"
    name = name.replace("neighborhood ", "neighbor_").replace("neighbor ", "neighbor_")
    return TITLES.get(name, re.sub(r"[^\w-]+", "_", name))


class Run:
    """A run while its lines are read.

    Args:
        header: first line of the run.
    """

    def __init__(self, header: str) -> None:
        match = HEADER.match(header)
        assert match
        library, call, accelerator, title, version = (group or "" for group in match.groups())
        self.version = version
        self.operation = operation_of(f"{call[1:]} {title.strip()}".strip())
        self.settings = [f"device={accelerator[1:].lower()}"] if accelerator else []
        if not library.endswith(("MPI", "CCL")):
            self.settings.append(f"library={library.lower()}")
        self.is_unknown = False  # whether there are numbers below unknown headings
        self.datatype = "none"
        self.synchronizer = "mpi_barrier"
        base = self.operation.removesuffix("_init")
        self.collective = next((each for each in COLLECTIVES if each.name in (base, base[1:])), None)
        if self.collective and self.collective.name != "barrier" and self.version:
            # The datatype in versions that do not print it.
            self.datatype = "MPI_FLOAT" if self.collective.reduces else "MPI_CHAR"

    def rows(self, lines: list[str], first: int, damage: DamageCounter) -> Iterator[dict[str, object]]:
        """Yields the numbers in the lines of the run as rows of `Numbers`; `first`: number of its first line."""
        columns: list[Column] = []
        for number, line in enumerate(lines, first):
            text = line.strip()
            if text.startswith("#"):
                columns = self.header(text) or ([] if columns else columns)
            elif columns and text:
                rows = list(self.row(text.split(), columns, number, damage))
                yield from rows
                if rows and columns[0].kind != SIZE:  # a table without sizes has one row
                    columns = []
            elif len(words := text.split()) > 1 and None not in map(number_of, words):
                self.is_unknown = True

    def header(self, line: str) -> list[Column]:
        """Reads properties of the run from a comment line; returns the columns if the line has headings, else []."""
        for pattern, setting in SETTINGS:
            if match := pattern.match(line):
                self.settings.append(setting.format(*match.groups()))
        key, _, value = line.removeprefix("# ").partition(": ")
        if key == "Datatype":
            self.datatype = value.rstrip(".")
        elif key == "Synchronizer":
            self.synchronizer = value
        elif key == "Operation":
            self.operation = value
        return self.columns(line)

    def columns(self, line: str) -> list[Column]:
        """The columns of a line of headings; [] for another line."""
        columns = []
        for match in COLUMNS.finditer(line.removeprefix("#")):
            name, which, percentile, unit = match[0], match[1], match[2], match[3]
            if percentile:
                kind = "bandwidth" if unit == "BW" else self.latency
                statistic = "median" if float(percentile) == 50 else f"p{float(percentile):g}"
                columns.append(Column(kind, statistic, UNITS["MB/s" if unit == "BW" else "us"]))
            elif name in KIND_OF:
                unit = match[0].rsplit("(")[-1].rstrip(")")
                columns.append(Column(KIND_OF[name], factor=UNITS[unit]))
            elif "Lat" in name:
                kind = {"Min": "rank_mean_min", "Max": "rank_mean_max"}.get(which or "", self.latency)
                columns.append(Column(kind, factor=UNITS["us"]))
            else:
                columns.append(Column(name))
        unknown = COLUMNS.sub("", line.removeprefix("#")).strip()
        has_results = any(column.kind in RESULT_KINDS for column in columns)
        return columns if has_results and not unknown else []

    @property
    def latency(self) -> str:
        """The kind of a latency, which depends on the operation."""
        if self.collective:
            return "latency_avg"
        return "one_way" if "ping_pong" in self.operation else "call_time"

    def row(
        self, words: list[str], columns: list[Column], line: int, damage: DamageCounter
    ) -> Iterator[dict[str, object]]:
        """Yields the numbers of a line of the table as rows of `Numbers`; none for lines of other programs."""
        values = [
            word if column.kind == VALIDATION else number_of(word) for word, column in zip(words, columns, strict=False)
        ]
        if len(words) != len(columns) or None in values:
            if is_garbled_row(words, values, len(columns)):
                damage.add(UNREADABLE, line)
            return
        by_kind = {column.kind: value for column, value in zip(columns, values, strict=True)}
        wrong = str(by_kind.get(VALIDATION, "Pass")).lower().startswith("fail")
        if wrong:
            damage.add(WRONG_RESULTS, line)
        for column, value in zip(columns, values, strict=True):
            if column.kind in RESULT_KINDS and isinstance(value, float):
                yield {
                    "operation": self.operation,
                    "size": int(float(by_kind.get(SIZE, 0.0))),  # type: ignore[arg-type]
                    "datatype": self.datatype,
                    "setting": ",".join(self.settings),
                    "kind": column.kind,
                    "statistic": column.statistic,
                    "value": value * column.factor,
                    "calls": int(float(by_kind.get(CALLS, 0.0))),  # type: ignore[arg-type]
                    **({"status": WRONG} if wrong else {}),
                }


RESULT_KINDS = {*KIND_OF.values(), "one_way", "call_time"}
