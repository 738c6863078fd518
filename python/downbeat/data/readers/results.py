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
    """A row for each number of a result. If a file does not have a property, its text is empty or its integer 0."""

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
        version: version of the tool; empty if unknown.
        path: path of the file; within an archive `archive.tar.gz:member`.
        line: number of the first line of the run in the file, from 1.
        date: ISO 8601; empty if unknown.
        context: further properties in the file, name -> text; `library` and `hosts` have these names for all tools.
        synchronizer: start of the calls, by Downbeat's names: "mpi_barrier", or "none" for calls without a start.
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
    """The results in one file, directory or archive, or in several.

    Attributes:
        runs: runs in the order of files and lines.
        numbers: numbers of all runs.
        damages: damage of all files, a fact for each kind of damage and file.
        calls: row of a number in `numbers` -> function that reads the values of its single calls, in SI.
    """

    runs: tuple[ToolRun, ...]
    numbers: Numbers
    damages: tuple[Damage, ...] = ()
    calls: Mapping[int, Callable[[], Floats]] = field(default_factory=dict)

    @classmethod
    def of_rows(
        cls, runs: Iterable[ToolRun], rows: Iterable[Mapping[str, object]], damages: Iterable[Damage]
    ) -> Results:
        """Makes results; a row is a dictionary of columns of `Numbers`, and missing columns have `NUMBER_DEFAULTS`."""
        return cls(tuple(runs), Numbers.of_rows(NUMBER_DEFAULTS | dict(row) for row in rows), tuple(damages))

    @classmethod
    def joined(cls, chunks: Iterable[Results]) -> Results:
        """Joins results, at least one; renumbers runs and rows."""
        runs: list[ToolRun] = []
        tables: list[Numbers] = []
        damages: list[Damage] = []
        calls: dict[int, Callable[[], Floats]] = {}
        rows = 0
        for chunk in chunks:
            tables.append(chunk.numbers.replaced(run=chunk.numbers.run + len(runs)))
            calls |= {rows + row: read for row, read in chunk.calls.items()}
            runs += chunk.runs
            damages += chunk.damages
            rows += len(chunk.numbers)
        numbers = Numbers.joined([table for table in tables if len(table)] or tables[:1])
        return cls(tuple(runs), numbers, tuple(damages), calls)

    def kinds(self) -> list[tuple[str, str]]:
        """Each kind of the numbers with each of its statistics, in the order of KINDS."""
        present = dict.fromkeys(zip(self.numbers.kind, self.numbers.statistic, strict=True))
        order = list(KINDS)
        return sorted(present, key=lambda pair: (order.index(pair[0]), pair[1]))


class DamageCounter:
    """Collects damage of a file: the first line of each kind, and the count."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.counts: dict[str, Damage] = {}

    def add(self, what: str, line: int, count: int = 1) -> None:
        """Counts damage.

        Args:
            what: kind of damage, a plural: "numbers that cannot be read".
            line: number of the line, from 1.
            count: number of cases in this line.
        """
        total = self.counts.get(what, Damage(self.path, line, what, 0))
        self.counts[what] = dataclasses.replace(total, count=total.count + count)

    def facts(self) -> tuple[Damage, ...]:
        """The damage, a fact for each kind."""
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
    """The value of a word if it is a finite number without sign, else None."""
    if not NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def count_of(value: object) -> int:
    """The whole number in a text or in JSON; 0 for other values."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() else 0


def whole_lines(text: str, damage: DamageCounter) -> list[str]:
    """The lines of a text, without a common prefix.

    A last line without line break may be cut within a number; it is left out if it has a digit. The text before the
    first heading in its line is a prefix: an indentation, the mark of a quotation, a launcher's name of the process, or
    the time of the line. It is removed from all lines that begin with it, even if its numbers differ.
    """
    lines = text.splitlines()
    if lines and text[-1] not in "\r\n" and re.search(r"\d", lines[-1]) and not lines[-1].lstrip().startswith("#"):
        damage.add(CUT, len(lines))
        lines.pop()
    heading = HEADING.search(text)
    if heading and heading[1]:
        prefix = re.compile(re.sub(r"\d+", r"\\d+", re.escape(heading[1])))
        lines = [line[match.end() :] if (match := prefix.match(line)) else line for line in lines]
    return lines


# First words of each tool, after a prefix.
HEADING = re.compile(
    r"^(.{0,80}?)(?:# {,8}(?:OSU |Benchmarking |Intel ?\(R\) MPI |nThread |[nr]ccl-tests |Collective test |"
    r"size +count |SKaMPI Version )|#Command-line arguments|#@reproMPI|START mpiBench)",
    re.MULTILINE,
)
# Prefixes of launchers: `[1,0]<stdout>:` of mpirun --tag-output, `0: ` of srun --label, `[0] ` of mpiexec -l.
PREFIX = re.compile(r"(?:\[[\d,]+\](?:<std\w+>:?)?|\s*\d+:) ?(?=[\s\d#])")


def without_prefix(line: str) -> str:
    """A line without the prefix of a launcher (`PREFIX`)."""
    match = PREFIX.match(line)
    return line[match.end() :] if match else line


def summaries_of(values: Floats) -> dict[str, float]:
    """Statistic -> value over the values of calls, at least one; percentiles by linear interpolation."""
    percentiles = np.percentile(values, list(PERCENTILES.values()))
    return {"mean": float(values.mean()), **dict(zip(PERCENTILES, map(float, percentiles), strict=True))}


def is_garbled_row(words: Sequence[str], values: Sequence[object], columns: int) -> bool:
    """Judges a line that cannot be read as a row: true for a damaged row, false for a line of another program.

    Args:
        words: words of the line.
        values: number of each word; None if it is not a number.
        columns: number of columns of the table.
    """
    if len(words) == columns and columns > 1 and sum(value is None for value in values) == 1:
        return not words[0].isalpha() or len(words[0]) == 1  # the command `time` prints lines such as "real 1.23"
    return len(words) > 1 and (words[0].isdigit() or (words[0][0].isdigit() and len(words) == columns))
