"""Reads results of ReproMPI: tables with a row per call, per call and process (-v), or per case (--summary).

    test       nrep        count    runtime_sec
    MPI_Bcast     0            8   0.0000030911

The columns are those of src/reprompi_bench/output_management/results_output.c; lines `#@name=value` are settings. The
time of a call is from the first start to the last end if clocks are global, else the largest over ranks.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from downbeat.data.cells import STATISTICS
from downbeat.data.readers.results import (
    NO_NUMBERS,
    UNREADABLE,
    DamageCounter,
    Results,
    ToolRun,
    count_of,
    number_of,
    summaries_of,
    whole_lines,
    without_prefix,
)
from downbeat.tables import Floats

NAME = "ReproMPI"
HEADING = re.compile(
    r"^\s*(?:process +)?test +(?:nrep +)?(?:msize_bytes|msize|count)\b.*(?:runtime_sec|_sec)\b", re.MULTILINE
)
SETTING = re.compile(r"\s*#@(\w+)=(.*)")
# First line of a run; a version that prints both begins with the first one. The second one begins a run after a table.
STARTED = ("#Command-line arguments", "#MPI calls")
SIZES = ("msize_bytes", "msize", "count")  # headings of the size
# Value of a setting -> Downbeat's name of the synchronizer.
SYNCHRONIZERS = {"mpi_barrier": "mpi_barrier", "bbarrier": "dissemination", "window": "window"}
INVALID = "calls that the tool found to be invalid, left out"
# Headings of the times of a process: on the global clock if the table has it, else on the local clock.
START, STOP = ("gl_tstart_sec", "loc_tstart_sec"), ("gl_tend_sec", "loc_tend_sec")


def recognizes(text: str) -> bool:
    """Returns true if a text has headings of a table, or settings of the tool."""
    return "#@reproMPI" in text or HEADING.search(text) is not None


class Table:
    """A table while its lines are read. A case is an MPI function and a size.

    Args:
        columns: headings.
        settings: settings of the run.
    """

    def __init__(self, columns: Sequence[str], settings: Mapping[str, str]) -> None:
        self.columns = columns
        self.settings = settings
        self.calls: dict[tuple[str, int], list[float]] = {}  # case -> times of calls, s
        # Case -> number of the call -> begin and end of each rank, s.
        self.spans: dict[tuple[str, int], dict[int, list[tuple[float, float]]]] = {}
        self.rows: list[dict[str, object]] = []  # summaries by the tool itself, as rows of `Numbers`

    @property
    def has_times(self) -> bool:
        """True if the columns have times of calls, of processes, or summaries."""
        names = set(self.columns)
        local, common = {START[1], STOP[1]}, {START[0], STOP[0]}
        spans = local <= names and (common <= names or not common & names)
        times = "runtime_sec" in names or spans or any(f"{statistic}_sec" in names for statistic in STATISTICS)
        return times and "test" in names and not names.isdisjoint(SIZES)

    def read(self, words: Sequence[str]) -> str:
        """Reads a row; returns the text of its damage, "" without damage."""
        if len(words) != len(self.columns):
            return UNREADABLE
        values = {name: number_of(word) for name, word in zip(self.columns, words, strict=True) if name != "test"}
        if None in values.values():
            return UNREADABLE
        if values.get("errorcode"):
            return INVALID
        row = {name: value or 0.0 for name, value in values.items()}
        case = (words[self.columns.index("test")], int(next(row[name] for name in SIZES if name in row)))
        if "runtime_sec" in row:
            self.calls.setdefault(case, []).append(row["runtime_sec"])
        elif "loc_tend_sec" in row:
            begin, end = (next(row[name] for name in names if name in row) for names in (START, STOP))
            self.spans.setdefault(case, {}).setdefault(int(row.get("nrep", 0)), []).append((begin, end))
        for name, value in row.items():
            if name.removesuffix("_sec") in STATISTICS and name.endswith("_sec"):
                number = {"statistic": name.removesuffix("_sec"), "value": value}
                calls = int(row.get("valid_nrep", 0))
                self.rows.append({**self.factors(case), "kind": self.kind, **number, "calls": calls})
        return ""

    @property
    def kind(self) -> str:
        """The kind of the tool's own times of calls."""
        clocks = self.settings.get("runtime_type") or self.settings.get("clocktype", "")
        return "global_time" if "global" in clocks else "latency_max"

    def factors(self, case: tuple[str, int]) -> dict[str, object]:
        """The columns of `Numbers` that all numbers of a case share; converts a size in elements to bytes."""
        name, size = case
        if "count" in self.columns:
            size *= count_of(self.settings.get("datatype_size_bytes")) or 1
        return {
            "operation": name.removeprefix("MPI_").lower(),
            "size": size,
            "ranks": count_of(self.settings.get("nprocs")),
            "datatype": self.settings.get("datatype", ""),
        }

    def numbers(self) -> Iterator[tuple[dict[str, object], Floats]]:
        """Yields summaries over single calls as rows of `Numbers`, each with the values of the calls, s."""
        for case, values in self.calls.items():
            yield from self.summaries(case, self.kind, np.array(values))
        for case, by_call in self.spans.items():
            spans = [np.array(ranks) for ranks in by_call.values()]
            if "gl_tend_sec" in self.columns:
                global_times = np.array([span[:, 1].max() - span[:, 0].min() for span in spans])
                yield from self.summaries(case, "global_time", global_times)
            times = [span[:, 1] - span[:, 0] for span in spans]
            for kind, over in (("latency_avg", np.mean), ("latency_max", np.max), ("latency_min", np.min)):
                yield from self.summaries(case, kind, np.array([over(ranks) for ranks in times]))

    def summaries(self, case: tuple[str, int], kind: str, values: Floats) -> Iterator[tuple[dict[str, object], Floats]]:
        """Yields a row of `Numbers` for each statistic of `values`, with the values."""
        for statistic, value in summaries_of(values).items():
            number = {"kind": kind, "statistic": statistic, "value": value, "calls": values.size}
            yield {**self.factors(case), **number}, values


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    runs: list[tuple[int, dict[str, str]]] = []  # number of the first line, settings
    tables: list[tuple[int, Table]] = []  # index of the run, table
    table: Table | None = None  # the current one
    for number, full in enumerate(whole_lines(text, damage), 1):
        line = without_prefix(full)
        starts = line.startswith(STARTED[0]) or (line.startswith(STARTED[1]) and table is not None)
        # The first run may lack its first lines.
        is_first = not runs and (SETTING.match(line) or HEADING.match(line) or line.startswith(STARTED[1]))
        if starts or is_first:
            runs.append((number, {}))
            table = None
        if match := SETTING.match(line):
            runs[-1][1][match[1]] = match[2].strip()
        elif HEADING.match(line):
            table = Table(line.split(), runs[-1][1])
            if table.has_times:
                tables.append((len(runs) - 1, table))
            else:
                damage.add(UNREADABLE, number)
                table = None
        elif table and line.strip() and not line.lstrip().startswith("#"):
            words = line.split()
            is_row = len(words) == len(table.columns) or words[0].startswith("MPI_")
            if is_row and (reason := table.read(words)):
                damage.add(reason, number)
    rows: list[dict[str, object]] = []
    calls: dict[int, Callable[[], Floats]] = {}
    for run, finished in tables:
        rows += ({**row, "run": run} for row in finished.rows)
        for row, values in finished.numbers():
            calls[len(rows)] = values.copy
            rows.append({**row, "run": run})
    for run, (first, _) in enumerate(runs):
        if not any(row["run"] == run for row in rows):
            damage.add(NO_NUMBERS, first)
    results = Results.of_rows([tool_run(path, *run) for run in runs], rows, damage.facts())
    return dataclasses.replace(results, calls=calls)


def tool_run(path: str, line: int, settings: Mapping[str, str]) -> ToolRun:
    """Makes a run from its first line and its settings."""
    sync = settings.get("process_sync") or settings.get("sync", "")
    synchronizer = SYNCHRONIZERS.get(sync.lower(), sync.lower() or "mpi_barrier")
    version = settings.get("reproMPIcommitSHA1", "")
    return ToolRun(NAME, version, path, line, context=dict(settings), synchronizer=synchronizer)
