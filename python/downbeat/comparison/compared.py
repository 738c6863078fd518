"""The result of a comparison: a table of verdicts on cells, with the two sides, the rule and the notes.

A is the reference, B is judged: "slower" means that B is. A session is one experiment of a history; with a history, the
deviation between sessions widens the intervals.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.comparison.conditions import SYNCHRONIZER
from downbeat.data.cells import DEFAULT_ALGORITHM, NO_PATTERN, PER_CALL, Factors, start_names
from downbeat.data.launch_file import IMPLIED
from downbeat.data.readers.kinds import KINDS
from downbeat.data.states import in_main_state
from downbeat.output.facts.tool_results import Damage
from downbeat.output.fields import COMMON_START, FACTOR_UNITS, synchronizer_name
from downbeat.run.experiment import FACTORS
from downbeat.statistics.verdicts import MIN_LAUNCHES
from downbeat.tables import Flags, Floats, Texts, column
from downbeat.text import Units

UNMATCHED = "unmatched"
# Verdicts if starts are compared: the operation is the same, only its measured time differs.
READINGS = {"faster": "reads lower", "slower": "reads higher"}
FACTORS_ALWAYS = {"operation", "size"}  # have a column even if they do not vary
MAX_HEAD_CHARACTERS = 14  # of a value that heads a column; two fit in 80 columns
NUMBERS = ("launches", "sessions")  # units of whole numbers


class Verdicts(Factors):
    """A row per cell of A or of B. Numbers of cells that were not compared are NaN."""

    a: Floats = column("typical launch of A; with a history the mean", "s")
    b: Floats = column("typical launch of B; with a history the mean", "s")
    launches_a: Floats = column(
        "launches of A that count; for pairs the number of pairs; if the history is A, its sessions", "launches"
    )
    launches_b: Floats = column("launches of B that count; for pairs the number of pairs", "launches")
    ratio: Floats = column("typical ratio, B / A")
    ratio_low: Floats = column("lower end of its interval")
    ratio_high: Floats = column("upper end of its interval")
    p_value: Floats = column("p-value of the *t* test")
    adjusted_p_value: Floats = column("p-value of the *t* test after Holm's correction")
    rank_p_value: Floats = column("p-value of the rank test that confirms the t test")
    clock_uncertainty: Floats = column("change of b - a by errors or steps of clocks; the interval has it", "s")
    detectable_ratio: Floats = column("ratio that these launches find with a probability of 0.9")
    launches_needed: Floats = column("launches that find 5 % with a probability of 0.9", "launches")
    launches_alike: Floats = column("launches that find equal sides equivalent with this probability", "launches")
    sessions: Floats = column(
        "sessions of the history that have the cell and count: of the last 60 those since the last shift", "sessions"
    )
    session_deviation: Floats = column("deviation of logarithms between sessions, without that of launches")
    slow_a: Floats = column("launches of A of 1.3 times the typical one or more", "launches")
    slow_b: Floats = column("launches of B of 1.3 times the typical one or more", "launches")
    slow_p_value: Floats = column("p-value of the exact test that they are as frequent on either side")
    unseen: Floats = column("share of launches that may be slow although none was, with 95 % confidence")
    verdict: Texts = column("B is faster, slower, equivalent, undecided or unmatched")
    reason: Texts = column("reason of the verdict")

    def of_rates(self) -> Verdicts:
        """Converts verdicts on times of a byte or message to verdicts on rates, their inverses."""
        inverse = {name: 1 / getattr(self, name) for name in ("a", "b", "ratio")}
        return self.replaced(ratio_low=1 / self.ratio_high, ratio_high=1 / self.ratio_low, **inverse)


# Factors that describe the start of an operation.
SYNCHRONIZATION = (SYNCHRONIZER, "barrier_algorithm", "timing")


def start_of(where: Mapping[str, object]) -> str:
    """Returns the name of the start that conditions select, as in `Factors.started_by`."""
    values = [
        where.get(name, usual) for name, usual in zip(SYNCHRONIZATION, ("", DEFAULT_ALGORITHM, PER_CALL), strict=True)
    ]
    return str(start_names(*([str(value)] for value in values))[0])


UNITS = Units(FACTOR_UNITS | {field.name: field.unit for field in Verdicts.columns() if field.unit == "s"})


@dataclass(frozen=True)
class Compared:
    """Verdicts with the sides, the rule and the notes of their comparison.

    Attributes:
        verdicts: a row per cell.
        factors: the factors on which cells are matched; columns of other factors have no meaning.
        metric: one of `METRICS`.
        statistic: over the samples of a launch, e.g. median.
        margin: a ratio from 1 / (1 + margin) to 1 + margin counts as equivalent.
        confidence: confidence level of the intervals.
        paired: True if launches of the same number are compared in pairs.
        where_a: compared factor -> value of A.
        where_b: compared factor -> value of B.
        name_a: name of A.
        name_b: name of B.
        tests: number of cells that Holm's correction counts.
        span: time from the start of the first to that of the last launch, of the shorter side, s; NaN: unknown.
        shares: launches of A and B in each state of the machine (`shares_of_states`).
        overall: B / A over all launches if the machine was in several states, else None.
        assumes: the assumption about the machine on which the verdicts depend; empty for pairs.
        history: names of the sessions.
        history_is_a: True if B is compared with the history only.
        notes: lines on excluded launches and on differences between the contexts of the launches.
        damages: damaged records in files of other tools.
    """

    verdicts: Verdicts
    factors: tuple[str, ...]
    metric: str = ""
    statistic: str = ""
    margin: float = math.nan
    confidence: float = math.nan
    paired: bool = False
    where_a: Mapping[str, object] = dataclasses.field(default_factory=dict)
    where_b: Mapping[str, object] = dataclasses.field(default_factory=dict)
    name_a: str = ""
    name_b: str = ""
    tests: int = 0
    span: float = math.nan
    shares: Sequence[Mapping[str, Any]] = ()
    overall: Mapping[str, float] | None = None
    assumes: str = ""
    history: Sequence[str] = ()
    history_is_a: bool = False
    notes: Sequence[str] = ()
    damages: Sequence[Damage] = ()

    @classmethod
    def of(cls, frame: pd.DataFrame | Compared) -> Compared:
        """Converts the frame that `compare` returned to a user back to a result."""
        if isinstance(frame, Compared):
            return frame
        names = {field.name for field in dataclasses.fields(cls)} & set(frame.attrs)
        factors = tuple(name for name in FACTORS if name in frame)
        rows = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
        return cls(Verdicts.of_rows(rows), factors, **{name: frame.attrs[name] for name in names})

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Compared:
        return dataclasses.replace(self, verdicts=self.verdicts[rows])

    def frame(self) -> pd.DataFrame:
        """Returns the verdicts as a frame for users; `frame.attrs` has all other fields."""
        left_out = set(FACTORS) - set(self.factors)
        columns: dict[str, Any] = {}
        for field in Verdicts.columns():
            values = getattr(self.verdicts, field.name)
            if field.name not in left_out:
                is_whole = field.unit in NUMBERS and np.isfinite(values).all()
                columns[field.name] = values.astype(int) if is_whole else values
        frame = pd.DataFrame({name: columns[name] for name in (*self.factors, *columns)})
        unit = KINDS[self.metric].unit if self.metric in KINDS else "s"
        frame.attrs.update(self.about(), units=Units(UNITS | {"a": unit, "b": unit}))
        return frame

    def about(self) -> dict[str, Any]:
        """Returns field -> value, without the table, its factors and damages."""
        names = [
            field.name for field in dataclasses.fields(self) if field.name not in ("verdicts", "factors", "damages")
        ]
        return {name: getattr(self, name) for name in names}

    @property
    def answers(self) -> Flags:
        """Marks the rows that answer the comparison: one family of tests, the same in every output.

        These rows are matched, without late ranks, from a common start (else from the first start that has rows),
        and in the main state (`in_main_state`). A condition that no row meets is dropped, e.g. if all rows have late
        ranks.
        """
        rows = self.verdicts
        kept = rows.verdict != UNMATCHED
        conditions = [rows.pattern == NO_PATTERN]
        if SYNCHRONIZER in self.factors:
            starts = rows.started_by
            first = next((start for start in (COMMON_START, *starts[kept]) if (starts[kept] == start).any()), "")
            conditions.append(starts == first)
        if self.readings:
            conditions.append(rows.ranks != 1)  # a single rank does not synchronize
        for condition in conditions:
            kept = kept & condition if (kept & condition).any() else kept
        kept[kept] = in_main_state(rows[kept], self.fewest[kept])
        return np.asarray(kept)

    @property
    def answer(self) -> Compared:
        """The rows that answer the comparison (`answers`)."""
        return self[self.answers]

    @property
    def question(self) -> Compared:
        """The rows that decide the exit status: rows from a common start if there are any, else all rows.

        Leaves out rows of states other than the main one if they have too few launches for a verdict. The rows are one
        family of Holm's procedure, which bounds the probability of any false verdict; two families would double it.
        """
        common = (
            self.verdicts.synchronizer == COMMON_START if SYNCHRONIZER in self.factors else np.zeros(len(self), bool)
        )
        rows = self[common] if (common & (self.verdicts.verdict != UNMATCHED)).any() else self
        return rows[in_main_state(rows.verdicts, rows.fewest) | (rows.fewest >= MIN_LAUNCHES)]

    @property
    def readings(self) -> bool:
        """True if A and B differ only in their start."""
        return SYNCHRONIZER in self.where_a and set(self.where_a) <= set(SYNCHRONIZATION)

    @property
    def heads(self) -> tuple[str, str]:
        """The headings of the columns of A and B: the compared values if they are short, else "A" and "B"."""
        if len(self.where_a) == 1:
            (a,), (b,) = (map(synchronizer_name, where.values()) for where in (self.where_a, self.where_b))
            if max(len(a), len(b)) <= MAX_HEAD_CHARACTERS:
                return a, b
        return "A", "B"

    @property
    def sides(self) -> tuple[str, str]:
        """The names of A and B in a sentence."""
        if not self.where_a:
            return self.name_a, self.name_b
        if self.readings:
            a, b = (start_of(where) for where in (self.where_a, self.where_b))
            return a, b
        return self.heads

    @property
    def shown_factors(self) -> list[str]:
        """The factors that have a column in tables: operation, size, and factors that vary."""
        varying = [name for name in self.factors if len(set(getattr(self.verdicts, name))) > 1]
        return [name for name in self.factors if name in {*FACTORS_ALWAYS, *varying} and name not in IMPLIED]

    @property
    def fewest(self) -> Floats:
        """The launches of each cell of the side with fewer launches; if the history is A, those of B."""
        verdicts = self.verdicts
        return verdicts.launches_b if self.history_is_a else np.fmin(verdicts.launches_a, verdicts.launches_b)

    def word(self, verdict: str) -> str:
        """Returns the verdict as it is printed: if starts are compared, "reads lower" instead of "faster"."""
        return READINGS.get(verdict, verdict) if self.readings else verdict
