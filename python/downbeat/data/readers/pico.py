"""Reads results of PICO, a benchmark of collectives.

Files are `<system>/<time>/<test>/<elements>_<algorithm>_<datatype>.csv`, in directories or archives of `<time>`. A job
of PICO writes a directory `<time>`; a test is one collective on some of its nodes, and is a launch for us; a case is
one size and algorithm of a test. Names without a datatype have bytes instead of elements.

The file of a case has a row for each call, in ns: the largest time over ranks (`highest`), and with output level "all"
the time of each rank; where PICO was built for phases, the times of rank 0 and of its phases. Tables
`<system>_metadata.csv` beside the directory of the system describe tests. `<time>/alloc.csv`, or `alloc_<ranks>.csv`,
has the host of each rank.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import math
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from downbeat.data.readers.results import CUT, UNREADABLE, DamageCounter, Results, ToolRun, count_of, summaries_of
from downbeat.data.readers.sources import Progress, Source, is_archive, no_progress
from downbeat.output.facts.tool_results import Damage
from downbeat.tables import Floats, Ints

NAME = "PICO"
TIME = r"\d{4}_\d\d_\d\d___\d\d_\d\d_\d\d"
FILE = re.compile(
    rf"(?:(?P<system>[^/]+)/)?(?P<time>{TIME})/(?P<test>[^/]+)/(?P<count>\d+)_(?P<name>[^/]+)\.(?P<end>csv|err)$"
)
OTHER = re.compile(rf"(?:[^/]+_metadata\.csv|{TIME}/(?:aggregated_results_summary|alloc\w*)\.csv)$")
ARCHIVE = re.compile(rf"{TIME}\.(?:tar|tgz|tar\.\w+)$")
SIZE_OF = {
    "unsigned_char": 1, "char": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "int": 4, "float": 4, "double": 8
}  # fmt: skip
# Lines with means of the preceding numbers.
TRAILER = re.compile(rb"^(?:Average runtime: |-> Buffer: )[^\n]*(?:\n|\Z)", re.MULTILINE)
ROWS = re.compile(rb"(?:[0-9]+(?:,[0-9]+)*\n)*")
REFUSED = re.compile(rb"invalid-value|Valid values")
NANOSECONDS = np.float64(1e-9)

ARCHIVE_ERRORS = (tarfile.TarError, EOFError, OSError)
DAMAGED = "archives that are cut or damaged"
EMPTY = "files without numbers"
NO_TIME = "calls of 0 ns, left out"
NO_METADATA = "tests without metadata, whose operation is unknown"
REFUSED_ALGORITHMS = "cases whose algorithm the library refused, left out"
ERRORS = "cases with a message of an error"
PHASES = "columns of phases, which are not read"

Test = tuple[str, str, str]  # system, time, number of the test: a row of metadata
Hosts = dict[str, dict[str, str]]  # directory `<time>` -> number of ranks, "" for any -> hosts with commas


def recognizes_tree(source: Source) -> bool:
    """True if a source has files of PICO, or archives of them."""
    if source.path.is_dir():
        directory = source.path.resolve().as_posix()
        return any(FILE.search(f"{directory}/{name}") or ARCHIVE.search(name) for name in source.names)
    if is_archive(source.path):
        if ARCHIVE.search(source.path.name):
            return True
        with contextlib.suppress(*ARCHIVE_ERRORS):
            return any(map(FILE.search, source.names))
        return False
    return FILE.search(source.path.resolve().as_posix()) is not None


@dataclass
class Case:
    """The times of the calls in a file.

    Attributes:
        columns: heading -> times, ns.
        problems: kind of damage -> number of occurrences.
    """

    columns: dict[str, Ints]
    problems: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes) -> Case:
        """Reads the content of a file."""
        body = TRAILER.sub(b"", content)
        first, _, rows = body.partition(b"\n")
        names = first.decode(errors="replace").strip().split(",")
        if names[0].isdigit():  # no heading: the largest time, then the time of each rank
            names, rows = ["highest", *(f"rank{i}" for i in range(len(names) - 1))], body
        problems: dict[str, int] = {}
        if rows and not rows.endswith(b"\n"):
            rows = rows[: rows.rfind(b"\n") + 1]
            problems[CUT] = 1
        if not ROWS.fullmatch(rows) or rows.count(b",") != rows.count(b"\n") * (len(names) - 1):
            lines = rows.splitlines(keepends=True)
            good = [line for line in lines if ROWS.fullmatch(line) and line.count(b",") == len(names) - 1]
            problems[UNREADABLE] = sum(bool(line.strip()) for line in lines) - len(good)
            rows = b"".join(good)
        values = np.fromstring(rows.replace(b"\n", b",").rstrip(b","), dtype=np.int64, sep=",")
        table = values.reshape(-1, len(names))
        measured = np.all(table > 0, axis=1) if names[0] == "highest" else table[:, 0] > 0
        if zeros := int((~measured).sum()):
            problems[NO_TIME] = zeros
        if not measured.any():
            problems[EMPTY] = 1
        return cls(dict(zip(names, table[measured].T, strict=True)), problems)

    def times(self) -> dict[str, Floats]:
        """Returns kind in KINDS -> times of the calls, s."""
        if "highest" not in self.columns:
            return {"latency_observed": self.columns["rank0"] * NANOSECONDS} if "rank0" in self.columns else {}
        ranks = [values for name, values in self.columns.items() if re.fullmatch(r"rank\d+", name)]
        kinds = {"latency_max": self.columns["highest"] * NANOSECONDS}
        if ranks:
            kinds["latency_avg"] = np.mean(ranks, axis=0) * NANOSECONDS
            kinds["latency_min"] = np.min(ranks, axis=0) * NANOSECONDS
        return kinds


class Entry(NamedTuple):
    """A file of PICO."""

    name: str  # with directories
    shown: str  # name for messages
    container: Path  # archive with the file, or the file itself
    content: bytes


def contents(path: Path, progress: Progress = no_progress) -> Iterator[Entry]:
    """Yields the files of PICO in a file, directory or archive; an entry without a name: an archive is damaged."""
    if is_archive(path):
        try:
            with tarfile.open(path, "r|*") as archive:
                for entry in archive:
                    name = f"{path.resolve().parent.as_posix()}/{entry.name.removeprefix('./')}"
                    if entry.isfile() and is_read(name) and (file := archive.extractfile(entry)):
                        yield Entry(name, f"{path}:{entry.name}", path, file.read())
        except ARCHIVE_ERRORS:
            yield Entry("", str(path), path, b"")
        return
    names = Source(path).names if path.is_dir() else [""]
    for number, name in enumerate(names):
        if path.is_dir():
            progress(number, len(names))
        inner = path / name
        if is_archive(inner):
            yield from contents(inner)
        elif is_read(inner.resolve().as_posix()):
            yield Entry(inner.resolve().as_posix(), str(inner), inner, inner.read_bytes())


def is_read(name: str) -> bool:
    """True if a file has numbers or describes tests."""
    return bool(FILE.search(name) or OTHER.search(name))


@functools.lru_cache(maxsize=1)
def cases_in(path: Path) -> dict[str, Case]:
    """Reads the cases in a file or archive again, for their single calls: name in messages -> case."""
    return {entry.shown: Case.of(entry.content) for entry in contents(path) if entry.name.endswith(".csv")}


class Summary(NamedTuple):
    """A case without its single calls."""

    match: re.Match[str]  # of FILE with the name of its file
    shown: str  # name for messages
    container: Path  # archive with the file, or the file itself
    kinds: dict[str, dict[str, float]]  # kind in KINDS -> statistic -> value, s
    calls: int


def read_tree(source: Source, progress: Progress = no_progress) -> Results:
    """Reads the results in a source."""
    cases: list[Summary] = []
    tables: dict[Test, dict[str, str]] = metadata_beside(source.path)
    hosts: Hosts = {}
    errors: dict[str, bytes] = {}  # name of a case without its ending -> messages
    damages: list[Damage] = []
    for name, shown, container, content in contents(source.path, progress):
        if not name:
            damages += facts_of(shown, {DAMAGED: 1})
        elif match := FILE.search(name):
            if match["end"] == "err":
                errors[name[:-4]] = content.strip()
                continue
            case = Case.of(content)
            damages += facts_of(shown, case.problems)
            if "highest" not in case.columns and len(case.columns) > 1:
                damages += facts_of(shown, {PHASES: len(case.columns) - 1})
            times = case.times()
            count = max((each.size for each in times.values()), default=0)
            kinds = {kind: summaries_of(each) for kind, each in times.items() if each.size}
            cases.append(Summary(match, shown, container, kinds, count))
        elif name.endswith("_metadata.csv") or name.endswith("summary.csv"):
            tables = {**metadata_of(name, content), **tables}
        else:
            directory, _, file = name.rpartition("/")
            ranks = re.search(r"_(\d+)\.csv$", file)
            hosts.setdefault(directory, {})[ranks[1] if ranks else ""] = hosts_of(content)
    return results_of(cases, tables, hosts, errors, damages)


def results_of(
    cases: Iterable[Summary],
    tables: Mapping[Test, Mapping[str, str]],
    hosts: Hosts,
    errors: Mapping[str, bytes],
    damages: list[Damage],
) -> Results:
    """Makes the results of cases, whose tests `tables` describe."""
    runs: dict[str, tuple[int, ToolRun, dict[str, object]]] = {}  # directory of a test -> its run
    rows: list[dict[str, object]] = []
    calls: dict[int, Callable[[], Floats]] = {}
    for match, shown, container, kinds, count in cases:
        test = (match["system"] or "", match["time"], match["test"])
        directory = match.string[: match.end("test")]
        if directory not in runs:
            table = tables.get(test) or tables.get(("", *test[1:])) or {}
            if not table:
                damages += facts_of(shown, {NO_METADATA: 1})
            hosts_by_ranks = hosts.get(match.string[: match.end("time")], {})
            runs[directory] = (len(runs), *run_of(test, table, shown.rpartition("/")[0], hosts_by_ranks))
        number, _, factors = runs[directory]
        if message := errors.get(match.string[:-4]):
            damages += facts_of(shown, {REFUSED_ALGORITHMS if REFUSED.search(message) else ERRORS: 1})
            if REFUSED.search(message):
                continue
        datatype = next((each for each in SIZE_OF if match["name"].endswith(f"_{each}")), "")
        case: dict[str, object] = {
            **factors,
            "run": number,
            "size": int(match["count"]) * SIZE_OF.get(datatype, 1),
            "datatype": datatype,
            "algorithm": match["name"].removesuffix(f"_{datatype}"),
            "calls": count,
        }
        for kind, statistics in kinds.items():
            # The key is the row of the first statistic of this kind.
            calls[len(rows)] = functools.partial(times_of, container, shown, kind)
            rows += ({**case, "kind": kind, "statistic": name, "value": each} for name, each in statistics.items())
    made = Results.of_rows([run for _, run, _ in runs.values()], rows, damages)
    return Results(made.runs, made.numbers, made.damages, calls)


def times_of(path: Path, shown: str, kind: str) -> Floats:
    """Reads the times of the calls of a case again, s."""
    return cases_in(path)[shown].times()[kind]


def facts_of(shown: str, problems: Mapping[str, int]) -> tuple[Damage, ...]:
    """Makes the facts on a damaged file; `problems`: kind of damage -> number of occurrences."""
    damage = DamageCounter(shown)
    for what, count in problems.items():
        damage.add(what, line=0, count=count)
    return damage.facts()


def run_of(
    test: Test, table: Mapping[str, str], path: str, hosts: Mapping[str, str]
) -> tuple[ToolRun, dict[str, object]]:
    """Makes the run of a test, and the columns that all its numbers share.

    Args:
        test: system, time and number.
        table: row of metadata, heading -> text.
        path: directory of the test, for messages.
        hosts: number of ranks, or "" for any -> hosts.
    """
    system, time, number = test
    known = {name: text for name, value in table.items() if (text := (value or "").strip()) not in ("", "null")}
    sides = [int(side) for side in re.findall(r"\d+", known.get("nnodes", ""))]
    nodes = math.prod(sides) if sides else 0
    ranks = nodes * count_of(known.get("tasks_per_node"))
    shape = known.get("nnodes", "") if len(sides) > 1 else ""
    settings = {"system": system, "shape": shape, "notes": known.get("notes", "")}
    if known.get("gpu_awareness", "no") != "no":
        settings["gpu"] = f"{known.get('gpu_lib', '')} {known.get('gpu_lib_version', '')}".strip() or "yes"
    context = {
        **{name: value for name, value in known.items() if name not in ("timestamp", "test_id")},
        "system": system,
        "test": number,
        "library": f"{known.get('mpi_lib', '')} {known.get('mpi_lib_version', '')}".strip(),
        "hosts": hosts.get(str(ranks)) or hosts.get("", ""),
    }
    date = f"{time[:10].replace('_', '-')}T{time[13:].replace('_', ':')}"
    factors: dict[str, object] = {
        "operation": known.get("collective_type", "unknown").lower(),
        "ranks": ranks,
        "nodes": nodes,
        "setting": ",".join(f"{name}={value.replace(',', ';')}" for name, value in settings.items() if value),
    }
    return ToolRun(NAME, "", path, 0, date, {name: value for name, value in context.items() if value}), factors


MAX_LEVELS = 4  # file, test, time, system: the table is beside the system


def metadata_beside(path: Path) -> dict[Test, dict[str, str]]:
    """Reads the metadata in tables of the directories above; for a test in several tables, the nearest table wins."""
    tables: dict[Test, dict[str, str]] = {}
    for directory in reversed(path.resolve().parents[:MAX_LEVELS]):
        for file in sorted(directory.glob("*_metadata.csv")):
            tables |= metadata_of(file.as_posix(), file.read_bytes())
    return tables


def metadata_of(name: str, content: bytes) -> dict[Test, dict[str, str]]:
    """Reads a table of metadata: of a system, or the summary of a directory `<time>` with a system in each row."""
    lines = content.decode("utf-8", errors="replace").splitlines()
    system = Path(name).name.removesuffix("_metadata.csv") if name.endswith("_metadata.csv") else ""
    return {
        (system or row.get("system") or "", row["timestamp"], row["test_id"]): dict(row)
        for row in csv.DictReader(lines)
        if row.get("test_id")
    }


def hosts_of(content: bytes) -> str:
    """Reads the hosts in a table of ranks, in the order of ranks."""
    rows = csv.DictReader(content.decode("utf-8", errors="replace").splitlines())
    return ",".join(dict.fromkeys(row["allocation"] for row in rows if row.get("allocation")))
