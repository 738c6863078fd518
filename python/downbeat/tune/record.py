"""Defines the record of a tuning (`rules.json`), which its view shows: origin, tables of comparisons, facts."""

from __future__ import annotations

import dataclasses
import datetime
import math
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from downbeat.errors import UsageError, reading
from downbeat.files import read_json
from downbeat.output.facts import Fact
from downbeat.output.facts import tuning as known_facts
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column
from downbeat.tune.choosing import TimedComparison
from downbeat.tune.findings import facts_of
from downbeat.tune.rules_format import DEFAULT, Cell, Rule
from downbeat.tune.tuning import RECORD_FILE, Question, Tuning, switching

SCHEMA_VERSION = 5


class Contrasts(Table):
    """Comparisons of A and B; numbers are NaN where nothing was compared."""

    collective: Texts = column("collective operation")
    ranks: Ints = column("number of ranks", "1")
    size: Ints = column("size of the message, of a rule the smallest", "B")
    a: Floats = column("typical launch of A", "s")
    b: Floats = column("typical launch of B", "s")
    launches: Floats = column("pairs of launches", "1")
    ratio: Floats = column("typical ratio, B / A")
    ratio_low: Floats = column("lower end of its interval")
    ratio_high: Floats = column("upper end of its interval")
    p_value: Floats = column("p-value of the t test")
    adjusted_p_value: Floats = column("p-value of the t test after Holm's correction")
    rank_p_value: Floats = column("p-value of the rank test, which must agree with the t test")
    verdict: Texts = column("faster, slower, equivalent or undecided, of B; empty: not measured")
    reason: Texts = column("reason of the verdict")

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """The intervals of A / B."""
        return list(zip((1 / self.ratio_high).tolist(), (1 / self.ratio_low).tolist(), strict=True))


class RuleGains(Contrasts):
    """The rules; A is without them, B under them, in launches that had no part in the choice."""

    last: Floats = column("largest size of the rule; NaN: no limit", "B")
    sizes: Texts = column('sizes of the rule, "8-31" bytes or "all"')
    algorithm: Texts = column("algorithm that the rule names")
    withdrawn: Flags = column("whether the rule is withdrawn, because nothing confirms its gain")
    runner_up: Texts = column("fastest other algorithm of the sweep")
    runner_up_ratio: Floats = column("time of the runner-up / time of the default, geometric mean over the cells")


class CellGains(Contrasts):
    """The cells; A is without rules, B under them, in launches that had no part in the choice."""

    chosen: Texts = column("algorithm that was chosen from the sweep")
    in_rules: Texts = column("algorithm that the rules name")
    proof: Texts = column("proven, cannot tell or failed: whether the library obeys the rules; empty: not tried")
    proof_by: Texts = column("measure that was compared, or why none can be")


class Candidates(Contrasts):
    """The algorithms of each cell, fastest first; A is the default, B the algorithm, in the sweep."""

    algorithm: Texts = column("algorithm")
    rejected: Texts = column("why it was not chosen; empty: it was")


class OtherChoices(Contrasts):
    """Cells in which the other measurement leads to another choice; A is the choice made, B the other one."""

    chosen: Texts = column("algorithm that was chosen")
    other: Texts = column("algorithm by the other measurement")


@dataclass(frozen=True)
class TuningOrigin:
    """The origin of rules.

    Attributes:
        question: the library, collectives and sizes, and the effort.
        version: of the MPI library.
        form: name of the format of the rules.
        written: time at which the record was written, ISO 8601.
        host: on which the tuning ran.
        files: names of the files of the rules, in the directory of the tuning.
        switch_on: a shell command, or else arguments of the launcher, that switch the rules on; empty: no rules.
    """

    question: Question
    version: str
    form: str
    written: str
    host: str
    files: tuple[str, ...]
    switch_on: tuple[str, ...]


@dataclass(frozen=True)
class TuningRecord:
    """A finished tuning: its origin; a row per rule, per cell, per algorithm in a cell, and per other choice; facts."""

    origin: TuningOrigin
    rules: RuleGains
    cells: CellGains
    candidates: Candidates
    other_choices: OtherChoices
    facts: tuple[Fact, ...]

    def content(self) -> dict[str, object]:
        """Returns the record for JSON, without facts."""
        tables = {name: table for name, table in vars(self).items() if isinstance(table, Table)}
        rows = {name: table.frame().replace(math.inf, math.nan).to_dict("records") for name, table in tables.items()}
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self.origin), **rows}


def record_of(tuning: Tuning, directory: Path) -> TuningRecord:
    """Returns the record of a tuning in a directory."""
    variables = tuning.written.environment(directory.resolve())
    origin = TuningOrigin(
        tuning.question,
        tuning.target.version,
        tuning.target.form.name,
        datetime.datetime.now(datetime.UTC).isoformat(),
        socket.gethostname(),
        tuple(sorted(tuning.written.files)),
        tuple(filter(None, switching(tuning.target, variables, directory))),
    )
    rules = [
        row_of(tuning.rule_gains.get(rule), rule, withdrawn=rule in tuning.withdrawn, **runner_up(tuning, rule))
        for rule in (*tuning.rules, *tuning.withdrawn)
    ]
    cells, candidates = [], []
    for decision in tuning.decisions:
        cell, proof = decision.cell, tuning.proofs.get(decision.cell)
        proofs = {"proof": proof.verdict, "proof_by": proof.by} if proof else {}
        choice = {"chosen": decision.algorithm, "in_rules": tuning.in_rules(cell)}
        cells.append(row_of(tuning.gains.get(cell), cell, **choice, **proofs))
        for candidate in decision.candidates:
            columns = {"algorithm": candidate.algorithm, "rejected": candidate.rejected}
            candidates.append(row_of(candidate.comparison, cell, **columns))
    prices = tuning.prices.by_cell
    other_rows = [
        row_of(prices.get(choice.cell), choice.cell, chosen=choice.chosen, other=choice.other)
        for choice in tuning.other_choices
    ]
    tables = (RuleGains.of_rows(rules), CellGains.of_rows(cells), Candidates.of_rows(candidates))
    return TuningRecord(origin, *tables, OtherChoices.of_rows(other_rows), tuple(facts_of(tuning)))


def row_of(comparison: TimedComparison | None, of: Cell | Rule, **columns: object) -> dict[str, Any]:
    """Returns a row of a subclass of `Contrasts`.

    Args:
        comparison: None: nothing was compared.
        of: the cell or the rule that is compared.
        columns: further columns of the subclass.
    """
    case = {"size": of.first, "sizes": of.sizes} if isinstance(of, Rule) else {}
    if comparison is None:
        return {**vars(of), **case, **columns}
    ratio = comparison.ratio
    numbers = {"launches": ratio.count, "ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}
    return {**vars(comparison), **numbers, **vars(of), **case, **columns}


def runner_up(tuning: Tuning, rule: Rule) -> dict[str, object]:
    """Returns the columns of a rule's runner-up; only algorithms that were measured in all cells of the rule count."""
    decisions = [decision for decision in tuning.decisions if rule.holds(decision.cell)]
    logs: dict[str, list[float]] = {DEFAULT: [0.0] * len(decisions)}
    for candidate in (candidate for decision in decisions for candidate in decision.candidates):
        if candidate.comparison and candidate.algorithm != rule.algorithm:
            logs.setdefault(candidate.algorithm, []).append(math.log(candidate.comparison.ratio.estimate))
    means = {name: sum(ratios) / max(len(ratios), 1) for name, ratios in logs.items() if len(ratios) == len(decisions)}
    fastest = min(means, key=lambda name: means[name])
    return {"runner_up": fastest, "runner_up_ratio": math.exp(means[fastest])}


def open_record(directory: Path) -> TuningRecord:
    """Opens the record of a tuning.

    Raises:
        UsageError: the tuning did not end, or its record is damaged or of another version.
    """
    file = directory / RECORD_FILE
    if not file.is_file():
        raise UsageError(f"'{directory}' is of a tuning that did not end, for it has no {RECORD_FILE}; run it again")
    content = read_json(file)
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise UsageError(f"'{file}' has schema_version {version}, this program reads {SCHEMA_VERSION}; tune again")
    fact_types = [kind for kind in vars(known_facts).values() if isinstance(kind, type) and issubclass(kind, Fact)]
    kinds = {kind.name(): kind for kind in fact_types}
    with reading(file):
        return TuningRecord(
            msgspec.convert(content, TuningOrigin),
            RuleGains.of_rows(content["rules"]),
            CellGains.of_rows(content["cells"]),
            Candidates.of_rows(content["candidates"]),
            OtherChoices.of_rows(content["other_choices"]),
            tuple(msgspec.convert(fact, kinds[fact["fact"]]) for fact in content["facts"]),
        )
