"""Results of other tools as tables: runs, numbers, damage, and per-call samples that are read on demand."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from downbeat.data.cell_summaries import PERCENTILES
from downbeat.data.cells import OK
from downbeat.data.readers.kinds import KINDS
from downbeat.output.facts.tool_results import Damage
from downbeat.tables import Floats, Ints, Table, Words, column


class Numbers(Table):
    """A row for each number of a result. Strings are empty and integers 0 where a file does not say them."""

    run: Ints = column("row of its run in `Results.runs`", "1")
    operation: Words = column("collective or pattern, by our names: allreduce, bcast, pingpong")
    size: Ints = column("size of the message, as the tool counts it", "B")
    ranks: Ints = column("processes, or GPUs where each is a rank", "1")
    nodes: Ints = column("nodes", "1")
    datatype: Words = column("datatype, by our names where we have it: float, int32")
    algorithm: Words = column("algorithm of the operation")
    setting: Words = column("further factors, `name=value` with commas between: `place=out,gpus=4`")
    kind: Words = column("name in `KINDS`")
    statistic: Words = column("summary over calls: mean, median, min, max, p5, p25, p75, p95, p99")
    value: Floats = column("the number, in the SI unit of its kind")
    calls: Ints = column("calls that it summarizes", "1")
    status: Words = column("ok, or wrong if the tool found wrong results")


NUMBER_DEFAULTS: dict[str, object] = {"statistic": "mean", "algorithm": "default", "status": OK}


@dataclass(frozen=True)
class ToolRun:
    """A run of a tool, which is a launch.

    Attributes:
        tool: NAME of its reader.
        version: of the tool; empty if unknown.
        path: its file; within an archive `archive.tar.gz:member`.
        line: first line of the run in its file, from 1.
        date: ISO 8601; empty if unknown.
        context: what else the file says; `library` and `hosts` by these names.
        synchronizer: how the tool starts calls, by our names: "mpi_barrier", or "none" for calls in a row.
        timing: "per_call", or "back_to_back" for a loop that is timed as a whole.
    """

    tool: str
    version: str
    path: str
    line: int
    date: str = ""
    context: Mapping[str, str] = field(default_factory=dict)
    synchronizer: str = "mpi_barrier"
    timing: str = "per_call"


@dataclass(frozen=True)
class Results:
    """The content of one file, directory or archive, or of several.

    Attributes:
        runs: in the order of files and lines.
        numbers: of all runs.
        damages: of all files; one for each kind of damage and file.
        calls: row of a number -> function that reads its per-call values, in SI.
    """

    runs: tuple[ToolRun, ...]
    numbers: Numbers
    damages: tuple[Damage, ...] = ()
    calls: Mapping[int, Callable[[], Floats]] = field(default_factory=dict)

    @classmethod
    def of_rows(
        cls, runs: Iterable[ToolRun], rows: Iterable[Mapping[str, object]], damages: Iterable[Damage]
    ) -> Results:
        """Results from rows as dictionaries of columns of Numbers; missing ones have `NUMBER_DEFAULTS`."""
        return cls(tuple(runs), Numbers.of_rows(NUMBER_DEFAULTS | dict(row) for row in rows), tuple(damages))

    @classmethod
    def joined(cls, chunks: Iterable[Results]) -> Results:
        """All results, at least one, with runs and rows counted through."""
        chunks = list(chunks)
        starts = np.cumsum([0, *(len(each.runs) for each in chunks)])
        rows = np.cumsum([0, *(len(each.numbers) for each in chunks)])
        tables = [
            each.numbers.replaced(run=each.numbers.run + start) for each, start in zip(chunks, starts, strict=False)
        ]
        return cls(
            tuple(run for each in chunks for run in each.runs),
            Numbers.joined([table for table in tables if len(table)] or tables[:1]),
            tuple(damage for each in chunks for damage in each.damages),
            {
                int(row) + number: read
                for each, row in zip(chunks, rows, strict=False)
                for number, read in each.calls.items()
            },
        )

    def kinds(self) -> list[tuple[str, str]]:
        """The kinds and statistics of the numbers, in the order of KINDS."""
        present = dict.fromkeys(zip(self.numbers.kind, self.numbers.statistic, strict=True))
        return sorted(present, key=lambda each: (list(KINDS).index(each[0]), each[1]))


class DamageCounter:
    """Collects damage of a file: the first line of each kind, and the count."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.counts: dict[str, Damage] = {}

    def add(self, what: str, line: int, count: int = 1) -> None:
        """Counts damage, `what` in plain words: "numbers that cannot be read"."""
        before = self.counts.get(what, Damage(self.path, line, what, 0))
        self.counts[what] = dataclasses.replace(before, count=before.count + count)

    def facts(self) -> tuple[Damage, ...]:
        """The damage, a fact each."""
        return tuple(self.counts.values())


# Kinds of damage that several tools have.
UNREADABLE = "lines of results that cannot be read"
CUT = "last lines that are cut, left out"
UNKNOWN_COLUMNS = "tables with columns that Downbeat does not know"
NO_NUMBERS = "runs without numbers"
NOT_ENDED = "runs that did not end"
WRONG_RESULTS = "wrong results that the tool itself found"
NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


def number_of(word: str) -> float | None:
    """The value of a word if it is a finite number without sign."""
    return float(word) if NUMBER.fullmatch(word) and math.isfinite(float(word)) else None


def count_of(value: object) -> int:
    """A whole number in a file; 0 for other texts."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() else 0


def whole_lines(text: str, damage: DamageCounter) -> list[str]:
    """The lines of a text. A last line without its end may be cut within a number, so it is left out if it has one.

    What is before the first heading in its line is left out of all lines that begin with it, whatever its numbers: an
    indentation, the mark of a quotation, a launcher's name of the process, or the time of the line.
    """
    lines = text.splitlines()
    if lines and text[-1] not in "\r\n" and re.search(r"\d", lines[-1]) and not lines[-1].lstrip().startswith("#"):
        damage.add(CUT, len(lines))
        lines.pop()
    heading = HEADING.search(text)
    if heading and heading[1]:
        before = re.compile(re.sub(r"\d+", r"\\d+", re.escape(heading[1])))
        lines = [line[prefix.end() :] if (prefix := before.match(line)) else line for line in lines]
    return lines


HEADING = re.compile(
    r"^(.{0,80}?)(?:# {,8}(?:OSU |Benchmarking |Intel ?\(R\) MPI |nThread |[nr]ccl-tests |Collective test |"
    r"size +count |SKaMPI Version )|#Command-line arguments|#@reproMPI|START mpiBench)",
    re.MULTILINE,
)
# Prefixes of launchers: `[1,0]<stdout>:` of mpirun --tag-output, `0: ` of srun --label, `[0] ` of mpiexec -l.
PREFIX = re.compile(r"(?:\[[\d,]+\](?:<std\w+>:?)?|\s*\d+:) ?(?=[\s\d#])")


def without_prefix(line: str) -> str:
    """A line without what a launcher put before it."""
    match = PREFIX.match(line)
    return line[match.end() :] if match else line


def summaries_of(values: Floats) -> dict[str, float]:
    """The statistics of the values of calls, at least one; percentiles by linear interpolation, as downbeat-bench."""
    points = np.percentile(values, list(PERCENTILES.values()))
    return {"mean": float(values.mean()), **dict(zip(PERCENTILES, map(float, points), strict=True))}


def is_garbled_row(words: Sequence[str], values: Sequence[object], columns: int) -> bool:
    """True if a line that is no row of a table was one, as opposed to a line of another program.

    Args:
        words: of the line.
        values: of the words; None for those that are no numbers.
        columns: of the table.
    """
    if len(words) == columns and columns > 1 and sum(value is None for value in values) == 1:
        return not words[0].isalpha() or len(words[0]) == 1  # "real 1.23" is of the command time
    return len(words) > 1 and (words[0].isdigit() or (words[0][0].isdigit() and len(words) == columns))
