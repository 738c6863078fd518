"""Reads results of nccl-tests and rccl-tests: text, JSON of option -J, and rccl-tests' JSON and CSV of option -x.

The formats are those of src/common.cu and src/util.cu of the tests. A time is that of a loop of calls divided by their
number, mean over ranks; `i_min`, `i_max`, `i_p99` and the times in JSON are of single calls, largest over processes.

Each call is measured twice, out of place (separate buffers) and in place; these are the sides of a row.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from downbeat.data.cells import OK, WRONG
from downbeat.data.readers.kinds import UNITS
from downbeat.data.readers.results import (
    CUT,
    NO_NUMBERS,
    NOT_ENDED,
    UNREADABLE,
    WRONG_RESULTS,
    DamageCounter,
    Results,
    ToolRun,
    count_of,
    number_of,
    whole_lines,
    without_prefix,
)
from downbeat.tables import Floats

NAME = "nccl-tests"
# Texts of a `Damage`.
FAILED = "runs that failed"
REPEATED = "runs that were tried again after a failure"
OUT_OF_BOUNDS = "runs with values out of bounds"
SKIPPED = "sizes that the tool skipped"
START = re.compile(
    r"(?:# *|(?=rccl-tests: ))(?:(?P<tests>[nr]ccl-tests)[ :]+version (?P<version>\S+)"
    r"|Collective test starting: (?P<program>\w+)|(?P<threads>nThread) \d+ n[Gg]pus (?P<gpus>\d+) )",
    re.IGNORECASE,
)
TABLE = re.compile(r"# +size +count .*\balgbw +busbw")
TEXT = re.compile(rf"^.{{0,80}}?(?:{START.pattern}|{TABLE.pattern})", re.MULTILINE | re.IGNORECASE)
JSON = re.compile(r"\s*(?:\{|\[\s*\{)")  # not `[host:12]`, the prefix of a launcher
DEVICE = re.compile(r"# +Rank +(\d+) +(?:Group +\d+ +)?Pid +\d+ on +(\S+) device +\d+ \[[^\]]*\] *(.*)")
LIBRARY = re.compile(r"(?:nccl-library=|[NR]CCL version *:? *)(\S+)")
ITERATIONS = re.compile(r"\biters: (\d+) agg iters: (\d+)")
FAILURE = re.compile(r"Test (?:\w+ )?failure|Test timeout|NCCL failure|CUDA failure")
PROGRAM = re.compile(r"(\w+)_perf\b")
# Name of an operation -> Downbeat's name; all other names are equal but for underscores.
OPERATIONS = {"broadcast": "bcast", "reducescatter": "reduce_scatter"}
KIND_OF = {  # heading of a column, also in JSON -> kind, statistic
    "time": ("latency_avg", "mean"),
    "cputime": ("cpu_time", "mean"),
    "algbw": ("algorithm_bandwidth", "mean"),
    "busbw": ("bus_bandwidth", "mean"),
    "i_min": ("latency_max", "min"),
    "i_max": ("latency_max", "max"),
    "i_p99": ("latency_max", "p99"),
}
# Field with times of single calls in JSON -> statistic.
PER_CALL = {"avg_us": "mean", "min_us": "min", "p50_us": "median", "p95_us": "p95", "p99_us": "p99", "max_us": "max"}
# Value of option -a (average over ranks) -> kind of the times.
TIME_OF = {"0": "latency_observed", "1": "latency_avg", "2": "rank_mean_min", "3": "rank_mean_max"}
WRONG_COLUMNS = ("#wrong", "nwrong", "wrong")  # headings of the number of wrong results
SIDES = ("out", "in")  # out of place, in place


def recognizes(text: str) -> bool:
    """Returns true if a text has a header of nccl-tests, or is their JSON or CSV."""
    if JSON.match(text):
        return bool(re.search(r'"(?:out_of_place|nccl_version|busBw)"', text))
    return TEXT.search(text) is not None or is_csv(text)


def is_csv(text: str) -> bool:
    """Returns true if a text is CSV of rccl-tests."""
    return bool(re.match(r"numCycle,.*\balgbw,busbw,#wrong", text, re.IGNORECASE))


def read(text: str, path: str) -> Results:
    """Reads the runs in a text."""
    damage = DamageCounter(path)
    if JSON.match(text):
        return read_json(text, path, damage)
    if is_csv(text):
        return read_rows(list(csv.DictReader(whole_lines(text, damage))), path, damage)
    return read_text(text, path, damage)


def operation_of(program: str) -> str:
    """The name of an operation, from `all_reduce_perf` or `AllReduce`."""
    name = program.rpartition("/")[2].removesuffix("_perf").lower().replace("_", "")
    return OPERATIONS.get(name, name)


def version_of(code: str) -> str:
    """The version of NCCL from its number: 22807 is 2.28.7, and 2708, from before 2.9, is 2.7.8."""
    if not code.isdigit():
        return code
    number = int(code)
    unit = 1000 if number < 10000 else 10000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"


@dataclass
class Run:
    """A run in a text, while its lines are read."""

    line: int  # number of its first line, from 1
    version: str = ""  # of the tests
    library: str = ""  # version of NCCL
    operation: str = ""
    starts: set[str] = field(default_factory=set)  # groups of START that have matched: each begins a run only once
    hosts: list[str] = field(default_factory=list)  # host of each rank
    device: str = ""  # name of the first GPU
    calls: int = 0  # per number
    date: str = ""
    failed: int = 0  # line of the first failure; 0: none
    ended: bool = False  # whether the last line of the run was read
    has_rows: bool = False
    columns: Sequence[str] = ()  # headings of the table
    units: Sequence[str] = ()  # of the columns with times and bandwidths
    sides: Sequence[str] = SIDES  # in the order of the columns

    def tool_run(self, path: str) -> ToolRun:
        """Converts the run for `Results`."""
        gpus = {str(self.hosts.count(host)) for host in self.hosts}
        context = {
            "library": f"NCCL {self.library}" if self.library else "",
            "hosts": ",".join(dict.fromkeys(self.hosts)),
            "gpus_per_node": ",".join(sorted(gpus)),
            "device": self.device,
            "file": Path(path).name,
        }
        known = {name: value for name, value in context.items() if value}
        return ToolRun(NAME, self.version, path, self.line, self.date, known, "none", "back_to_back")

    def factors(self) -> dict[str, object]:
        """The columns that all numbers of the run share."""
        return {"operation": self.operation, "ranks": len(self.hosts), "nodes": len(set(self.hosts))}

    def header(self, line: str) -> None:
        """Reads properties of the run from a comment line."""
        if match := DEVICE.match(line):
            self.hosts.append(match[2])
            self.device = self.device or match[3].strip()
        elif match := LIBRARY.search(line):
            self.library = version_of(match[1])
        if match := ITERATIONS.search(line):
            self.calls = int(match[1]) * int(match[2])
        if "-of-side" in line or "in-side" in line:
            self.sides = [word.partition("-")[0] for word in re.findall(r"out-of-side|in-side", line)]
        elif TABLE.match(line):
            self.columns = line.removeprefix("#").split()
        elif "(elements)" in line:
            self.units = re.findall(r"\(([^)]+)\)", line)[2:]
        elif line.startswith("# Out of bounds values"):
            self.ended = True

    def row(self, words: Sequence[str], line: int, damage: DamageCounter) -> Iterator[dict[str, object]]:
        """Reads a line of the table; yields rows of `Numbers` without the columns of `factors`."""
        stamped = "timestamp" in self.columns  # the last column: a date and a time, two words
        if len(words) != len(self.columns) + stamped:
            damage.add(SKIPPED if "SKIP" in words else UNREADABLE, line)
            return
        if stamped:
            self.date = self.date or "T".join(words[-2:])
        units = iter(self.units)
        side = -1  # index in `sides` of the current column
        values: list[tuple[int, str, float]] = []  # side, heading, value in SI
        wrong: set[int] = set()  # sides with wrong results
        for name, word in zip(self.columns, words, strict=False):
            if name in ("time", "cputime"):  # the first column of a side
                side += 1
            value = number_of(word)
            if name in WRONG_COLUMNS and value:
                wrong.add(side)
            elif name in KIND_OF or name == "i_cv%":
                unit = next(units, "us" if name.endswith("time") else "GB/s")
                if value is None or unit not in UNITS:
                    damage.add(UNREADABLE, line)
                    return
                values.append((side, name, value * UNITS[unit]))
        if wrong:
            damage.add(WRONG_RESULTS, line, len(wrong))
        self.has_rows = True
        key = dict(zip(self.columns, words, strict=False))
        for side, name, value in values:
            if name in KIND_OF:
                kind, statistic = KIND_OF[name]
                number = {"kind": kind, "statistic": statistic, "value": value}
                status = WRONG if side in wrong else OK
                yield {**case(key, self.sides[side]), **number, "calls": self.calls, "status": status}

    def finish(self, damage: DamageCounter, before: Run | None) -> None:
        """Records the damage of the run; `before` is the preceding run in the file."""
        if self.failed:
            damage.add(FAILED, self.failed)
        elif not self.ended:
            damage.add(NOT_ENDED, self.line)
        elif not self.has_rows:
            damage.add(NO_NUMBERS, self.line)
        if before and before.failed and (before.operation, before.hosts) == (self.operation, self.hosts):
            damage.add(REPEATED, self.line)


def case(key: Mapping[str, Any], side: str) -> dict[str, object]:
    """The columns of `Numbers` that distinguish the rows of a table; `key`: heading -> value in the row."""
    settings = [f"place={side}"]
    for name in ("redop", "root"):
        if str(key.get(name) or "").strip() not in ("", "none", "-1"):
            settings.append(f"{name}={key[name]}")
    return {"size": count_of(key["size"]), "datatype": str(key.get("type", "")), "setting": ",".join(settings)}


def read_text(text: str, path: str, damage: DamageCounter) -> Results:
    """Reads the runs in a text."""
    runs: list[Run] = []
    rows: list[tuple[int, dict[str, object]]] = []  # index of the run, row
    program = PROGRAM.search(Path(path).name)  # names the operation unless the run does; later: in a command line
    for number, full in enumerate(whole_lines(text, damage), 1):
        line = without_prefix(full)
        if match := START.match(line):
            kind = match.lastgroup or ""
            if not runs or kind in runs[-1].starts or runs[-1].columns:
                runs.append(Run(number, operation=operation_of(program[1]) if program else "unknown"))
            runs[-1].starts.add(kind)
            if match["program"]:
                runs[-1].operation = operation_of(match["program"])
            elif match["tests"]:
                runs[-1].version = match["version"]
        if not line.startswith("#") and (command := PROGRAM.search(line)):
            program = command
        if not runs and TABLE.match(line):
            runs.append(Run(number, operation=operation_of(program[1]) if program else "unknown"))
        if not runs:
            continue
        run = runs[-1]
        if line.startswith("#"):
            run.header(line)
        elif FAILURE.search(line):
            run.failed = run.failed or number
        elif not run.library and (library := LIBRARY.search(line)):
            run.library = version_of(library[1])
        elif run.columns and line.split() and line.split()[0].isdigit():
            rows += ((len(runs) - 1, row) for row in run.row(line.split(), number, damage))
        if line.startswith("# Out of bounds values") and "FAILED" in line:
            damage.add(OUT_OF_BOUNDS, number)
    for before, run in zip([None, *runs], runs, strict=False):
        run.finish(damage, before)
    factors = [run.factors() for run in runs]
    numbers = [{**factors[run], **row, "run": run} for run, row in rows]
    return Results.of_rows([run.tool_run(path) for run in runs], numbers, damage.facts())


def read_json(text: str, path: str, damage: DamageCounter) -> Results:
    """Reads the run of a JSON file; a truncated file has no numbers."""
    try:
        content = json.loads(text)
    except ValueError:
        damage.add(CUT, len(text.splitlines()))
        return Results.of_rows([Run(1).tool_run(path)], (), damage.facts())
    if isinstance(content, list):
        return read_rows(content, path, damage)
    words = [str(word) for word in content.get("args") or ("",)]
    environment = dict(str(entry).partition("=")[::2] for entry in content.get("env") or ())  # NAME=VALUE
    config = content.get("config") or {}
    devices = config.get("devices") or [{}] * count_of(config.get("ngpus"))
    run = Run(1, str(content.get("tests_version", "")), version_of(str(content.get("nccl_version", ""))))
    run.operation = operation_of(words[0] or str((content.get("results") or [{}])[0].get("experiment_name", "")))
    run.hosts = [str(each.get("hostname", "")) for each in devices]
    run.device = str(devices[0].get("device_info", "")) if devices else ""
    run.date = date_of(content.get("start_time"))
    algorithm = "/".join(environment[name] for name in ("NCCL_ALGO", "NCCL_PROTO") if environment.get(name))
    averaged = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-a", "--average")), "1")
    shared = {**run.factors(), "algorithm": algorithm or "default"}
    rows: list[dict[str, object]] = []
    calls: dict[int, Callable[[], Floats]] = {}
    for result in content.get("results") or ():
        if not count_of(result.get("size")):
            damage.add(UNREADABLE, 1)
            continue
        for side, name in zip(SIDES, ("out_of_place", "in_place"), strict=True):
            numbers = list(numbers_of(result.get(name) or {}, TIME_OF.get(averaged, "latency_avg"), damage))
            per_call = result.get(f"{name}_per_iter") or {}
            if times := [time for time in per_call.get("times_us", ()) if isinstance(time, float | int)]:
                # Key: index of the first statistic over single calls, which is the next row.
                calls[len(rows) + len(numbers)] = (np.array(times) * UNITS["us"]).copy
            for column, statistic in PER_CALL.items():
                if is_number(per_call.get(column)):
                    value = per_call[column] * UNITS["us"]
                    numbers.append({"kind": "latency_max", "statistic": statistic, "value": value})
            count = {"calls": count_of(result.get("actual_iterations")) or count_of(config.get("iterations"))}
            rows += ({**shared, **case(result, side), **count, **number} for number in numbers)
    if content.get("end_time") is None:
        damage.add(NOT_ENDED, 1)
    if not rows:
        damage.add(NO_NUMBERS, 1)
    rows = [{**row, "run": 0} for row in rows]
    return dataclasses.replace(Results.of_rows([run.tool_run(path)], rows, damage.facts()), calls=calls)


def is_number(value: object) -> bool:
    """Returns true if a value of JSON is a finite number."""
    return isinstance(value, float | int) and math.isfinite(value)


def date_of(text: object) -> str:
    """Converts a date to ISO 8601; empty if it cannot be read."""
    try:
        return datetime.fromisoformat(str(text)).isoformat()
    except ValueError:
        return ""


def numbers_of(side: Mapping[str, Any], time: str, damage: DamageCounter) -> Iterator[dict[str, object]]:
    """Yields the numbers of a side in JSON, or of a record of CSV; `time` is the kind of its times."""
    wrong = next((number_of(str(side[name])) for name in WRONG_COLUMNS if name in side), None)
    if wrong:
        damage.add(WRONG_RESULTS, 1)
    status = {"status": WRONG if wrong else OK}
    # Name in a record -> heading in text.
    names = {"time": "time", "cpu_time": "cputime", "alg_bw": "algbw", "bus_bw": "busbw"}
    for name, column in {**names, "algbw": "algbw", "busbw": "busbw"}.items():
        if name not in side:
            continue
        value = number_of(str(side[name]))
        if value is None:
            damage.add(UNREADABLE, 1)
            continue
        kind = time if column == "time" else KIND_OF[column][0]
        factor = UNITS["us" if column.endswith("time") else "GB/s"]
        yield {"kind": kind, "value": value * factor, **status}


def read_rows(records: Sequence[Mapping[str, Any]], path: str, damage: DamageCounter) -> Results:
    """Reads records of rccl-tests: each is a row of the table on one side, and each repetition (`numCycle`) a run."""
    rows: list[dict[str, object]] = []
    cycles: dict[str, int] = {}  # repetition -> index of the run
    for line, record in enumerate(records, 2):
        row = {str(name).lower(): value for name, value in record.items()}
        if not count_of(row.get("size")) or row.get("inplace") not in (0, 1, "0", "1"):
            damage.add(UNREADABLE, line)
            continue
        run = cycles.setdefault(str(row.get("numcycle", "")), len(cycles))
        ranks = count_of(row.get("ranks")) or count_of(row.get("gpus"))
        nodes = count_of(row.get("nodes")) or ranks // (count_of(row.get("rankspernode")) or ranks or 1)
        side = SIDES[count_of(row["inplace"])]
        operation = operation_of(str(row.get("name") or row.get("collective")))
        shared = {"run": run, "operation": operation, "ranks": ranks, "nodes": nodes, **case(row, side)}
        rows += ({**shared, **number} for number in numbers_of(row, "latency_avg", damage))
    runs = [Run(1).tool_run(path)] * max(1, len(cycles))  # at least one, so that damage belongs to a run
    return Results.of_rows(runs, rows, damage.facts())
