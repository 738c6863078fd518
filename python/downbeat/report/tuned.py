"""The page of a tuning: algorithms against the library's own choice, what was chosen, and how to switch it on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from downbeat.errors import UsageError, reading
from downbeat.files import read_json
from downbeat.output.blocks import Number, Picture
from downbeat.output.fields import span
from downbeat.report.drawing import make_picture
from downbeat.report.page import Fact, Page, PageSection
from downbeat.report.page import Table as PageTable
from downbeat.report.panel import Heat, Panel
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column
from downbeat.text import bytes_text, listed
from downbeat.tune.rules_format import DEFAULT, Cell, Rule
from downbeat.tune.table import SCHEMA_VERSION
from downbeat.tune.tuning import RECORD_FILE

MAP_CAPTION = (
    "How many times as fast as the library's own choice each algorithm was in the sweep, from a common start, or under "
    "the arrival pattern: the typical ratio. Framed: what the rules choose. The gain of the rules is "
    "measured in launches that had no part in the choice."
)
MOST_NUMBERS = 3


class Ends(msgspec.Struct):
    """A ratio with its interval; None where there is none."""

    estimate: float | None
    low: float | None
    high: float | None


class Gain(msgspec.Struct):
    """A comparison with the default."""

    ratio: Ends
    verdict: str


class Candidate(msgspec.Struct):
    """An algorithm in a cell."""

    algorithm: str
    rejected: str
    against_default: Gain | None


class Proof(msgspec.Struct):
    """How the library was seen to obey the rules in a cell."""

    verdict: str


class TunedCell(msgspec.Struct):
    """A cell of the sweep."""

    collective: str
    ranks: int
    size: int
    in_rules: str
    candidates: list[Candidate]
    proof: Proof | None


class RunnerUp(msgspec.Struct):
    """The fastest other algorithm of the sweep: its time over the default's."""

    algorithm: str
    ratio: float


class TunedRule(msgspec.Struct):
    """A rule, with its gain in launches that had no part in the choice."""

    collective: str
    ranks: int
    first: int
    last: int | None
    algorithm: str
    gain: Gain | None
    runner_up: RunnerUp


class Excluded(msgspec.Struct):
    """An algorithm that was not measured."""

    collective: str
    ranks: int
    algorithm: str
    reason: str


class TunedLibrary(msgspec.Struct):
    """The MPI library that was tuned."""

    version: str


class Record(msgspec.Struct):
    """The content of `rules.json`, as far as a page has it; `tune/table.py` writes it."""

    written: str
    host: str
    outcome: str
    library: TunedLibrary
    form: str
    collectives: list[str]
    sizes: str
    ranks: list[int]
    metric: str
    pattern: str
    delay: str
    launches: int
    repetitions: int
    margin: float
    rules: list[TunedRule]
    files: list[str]
    excluded: list[Excluded]
    cells: list[TunedCell]
    warnings: list[str]
    switch_on: list[str]


@dataclass(frozen=True)
class Tuned:
    """A tuning: its directory, and the content of its `rules.json`."""

    path: Path
    record: Record


def open_tuned(directory: Path) -> Tuned:
    """Opens the directory of a tuning.

    Raises:
        UsageError: the tuning did not end, or its record is damaged or of another version.
    """
    file = directory / RECORD_FILE
    if not file.is_file():
        raise UsageError(f"'{directory}' is of a tuning that did not end, for it has no {RECORD_FILE}; run it again")
    record = read_json(file)
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise UsageError(f"'{file}' has schema_version {version}, this program reads {SCHEMA_VERSION}; tune again")
    with reading(file):
        return Tuned(directory, msgspec.convert(record, Record))


class Candidates(Table):
    """The algorithms of each cell, the default among them: how fast they were, and what became of them."""

    collective: Texts = column("collective")
    ranks: Ints = column("processes", "1")
    size_bytes: Ints = column("message size", "B")
    algorithm: Texts = column("algorithm")
    times_as_fast: Floats = column("as the default")
    low: Floats = column("lower end of the interval")
    high: Floats = column("upper end of the interval")
    verdict: Texts = column("against the default")
    in_rules: Flags = column("whether the rules choose it")
    not_chosen_because: Texts = column("why it was not chosen")


def candidates_of(record: Record) -> Candidates:
    """The algorithms that were measured in each cell."""
    rows: list[tuple[object, ...]] = []
    for cell in record.cells:
        where = (cell.collective, cell.ranks, cell.size)
        rows.append((*where, DEFAULT, 1.0, np.nan, np.nan, "", cell.in_rules == DEFAULT, ""))
        for one in cell.candidates:
            if against := one.against_default:
                fast, low, high = inverted(against.ratio)
                chosen = cell.in_rules == one.algorithm
                rows.append((*where, one.algorithm, fast, low, high, against.verdict, chosen, one.rejected))
    return Candidates.of_tuples(rows)


def inverted(ratio: Ends) -> tuple[float, float, float]:
    """1 / ratio with its interval; NaN where there is none."""
    fast, low, high = (np.nan if end is None else 1 / end for end in (ratio.estimate, ratio.high, ratio.low))
    return fast, low, high


class Gains(Table):
    """The rules: their gains, measured anew, the runners-up of the sweep and the proofs."""

    collective: Texts = column("collective")
    ranks: Ints = column("processes", "1")
    bytes: Texts = column("message sizes")
    algorithm: Texts = column("algorithm")
    times_as_fast: Floats = column("as the default")
    low: Floats = column("lower end of the interval")
    high: Floats = column("upper end of the interval")
    verdict: Texts = column("against the default")
    runner_up: Texts = column("fastest other algorithm, and how many times as fast as the default")
    proof: Texts = column("verdicts of the proofs of its cells")


def gains_of(record: Record) -> Gains:
    """The gain of each rule."""
    rows = []
    for one in record.rules:
        rule = Rule(one.collective, one.ranks, one.first, one.last, one.algorithm)
        proofs = [
            cell.proof.verdict
            for cell in record.cells
            if cell.proof and rule.holds(Cell(cell.collective, cell.ranks, cell.size))
        ]
        proof = listed(f"{proofs.count(name)} {name}" for name in dict.fromkeys(proofs))
        fast, low, high = inverted(one.gain.ratio) if one.gain else (np.nan,) * 3
        verdict = one.gain.verdict if one.gain else "not measured"
        second = f"{one.runner_up.algorithm} {1 / one.runner_up.ratio:.2f}"
        rows.append((rule.collective, rule.ranks, rule.sizes, rule.algorithm, fast, low, high, verdict, second, proof))
    return Gains.of_tuples(rows)


def draw_choices(record: Record) -> list[Picture]:
    """Draws a map per collective and number of ranks: algorithms by size against the default, those of rules framed."""
    numbers = candidates_of(record)
    panels = []
    for (collective, ranks), group in numbers.groups(numbers.collective, numbers.ranks):
        sizes = list(map(bytes_text, group.size_bytes))
        table = pd.Series(group.times_as_fast, [group.algorithm, sizes]).unstack()
        table = table.reindex(index=list(dict.fromkeys(group.algorithm)), columns=list(dict.fromkeys(sizes)))
        framed = [(group.algorithm[row], sizes[row]) for row in np.flatnonzero(group.in_rules)]
        panels.append(
            Panel([Heat(table, form=".2f", framed=framed, ratios=True)], title=f"{collective}, {ranks} ranks")
        )
    title = "Algorithms by size: times as fast as the default"
    return [make_picture("tuned", title, MAP_CAPTION, panels, numbers.frame(), columns=1)] if panels else []


def tuned_numbers(rules: Gains) -> tuple[Number, ...]:
    """The gains of the first rules."""
    first = rules[:MOST_NUMBERS]
    return tuple(
        Number(f"{fast:.2f}", "", span(low, high), f"{collective}, {sizes} bytes, {algorithm} / default, times as fast")
        for collective, sizes, algorithm, fast, low, high in zip(
            first.collective, first.bytes, first.algorithm, first.times_as_fast, first.low, first.high, strict=True
        )
        if np.isfinite(fast)
    )


def tuned_page(tuned: Tuned) -> Page:
    """The page of a tuning."""
    record, rules = tuned.record, gains_of(tuned.record)
    ranks = listed(record.ranks)
    title = f"{listed(record.collectives)}: algorithms of {record.library.version}"
    byline = f"{ranks} ranks; sizes {record.sizes}; {record.launches} launches; rules: {record.form}"
    tables = (
        (PageTable("Rules, their gain measured anew", rules.frame().rename(columns={"runner_up": "runner-up"})),)
        if len(rules)
        else ()
    )
    commands: tuple[str, ...] = ()
    if record.switch_on:
        shell, arguments = record.switch_on
        commands = (shell, "# or as arguments of mpirun:", arguments)
    excluded = tuple(
        (f"{one.collective} on {one.ranks} ranks by {one.algorithm}", one.reason) for one in record.excluded
    )
    conditions = (
        ("MPI", str(record.library.version)),
        ("metric", str(record.metric)),
        ("arrival pattern", f"{record.pattern} {record.delay}".strip() or "none: ranks arrive together"),
        ("launches", f"{record.launches}, of {record.repetitions} samples of a cell"),
        ("smallest gain of a rule", f"{record.margin:.0%}"),
        ("written", f"{record.written[:16]}: {listed(record.files)}"),
    )
    sections = (
        PageSection("", tables=tables, pictures=tuple(draw_choices(record))),
        PageSection("Switch the rules on", commands=commands),
        PageSection("Warnings", warnings=tuple(f"{one}." for one in record.warnings)),
        PageSection("Not measured", definitions=excluded),
        PageSection("How", definitions=conditions),
    )
    kept = tuple(one for one in sections if one != PageSection(one.title))
    number = f"{len(record.warnings)} warnings, below the pictures." if record.warnings else ""
    outcome = Fact("", f"{record.outcome[0].upper()}{record.outcome[1:]}.")
    found = (outcome, *([Fact("before you rely on it", number)] if number else []))
    return Page(title, (), kept, found, byline, tuned_numbers(rules))
