"""The result of a comparison: a table of verdicts, and what they are about."""

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
from downbeat.data.cells import NO_PATTERN, PER_CALL, USUAL, Factors, start_names
from downbeat.data.launch_file import IMPLIED
from downbeat.data.readers.kinds import KINDS
from downbeat.data.states import in_main_state
from downbeat.output.facts.tool_results import Damage
from downbeat.output.fields import COMMON_START, FACTOR_UNITS, synchronizer_name
from downbeat.run.experiment import FACTORS
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tables import Flags, Floats, Texts, column
from downbeat.text import Units

UNMATCHED = "unmatched"
# Of one operation after two synchronizers neither is faster: the same call is read lower or higher.
READINGS = {"faster": "reads lower", "slower": "reads higher"}
FACTORS_ALWAYS = {"operation", "size"}
LONGEST_NAME = 14  # of a value that heads a column: 80 columns hold two
NUMBERS = ("launches", "sessions")  # units of whole numbers


class Verdicts(Factors):
    """A row per cell of A or of B. Numbers are NaN where nothing was judged."""

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
    adjusted_p_value: Floats = column("the same after Holm's correction")
    rank_p_value: Floats = column("p-value of the rank test that guards")
    clock_uncertainty: Floats = column("change of b - a by errors or steps of the clocks; the interval has it", "s")
    detectable_ratio: Floats = column("ratio that these launches find with a probability of 0.9")
    launches_needed: Floats = column("launches that find 5 % with a probability of 0.9", "launches")
    launches_alike: Floats = column("launches that show two equal sides to be equivalent, likewise", "launches")
    sessions: Floats = column(
        "sessions of the history that have the cell and count: of the last 60 those since the last shift", "sessions"
    )
    session_deviation: Floats = column("their deviation, of logarithms, without the share that launches explain")
    slow_a: Floats = column("launches of A of 1.3 times the typical one or more", "launches")
    slow_b: Floats = column("launches of B of 1.3 times the typical one or more", "launches")
    slow_p_value: Floats = column("p-value of the exact test that they are as frequent on either side")
    unseen: Floats = column("share of launches that may be slow although none was, with 95 % confidence")
    verdict: Texts = column("faster, slower, equivalent, undecided or unmatched, of B")
    reason: Texts = column("reason of the verdict")

    def of_rates(self) -> Verdicts:
        """Verdicts on rates, from those on their inverses: the time of a byte or a message."""
        inverse = {name: 1 / getattr(self, name) for name in ("a", "b", "ratio")}
        return self.replaced(ratio_low=1 / self.ratio_high, ratio_high=1 / self.ratio_low, **inverse)


# How an operation was started.
SYNCHRONIZATION = (SYNCHRONIZER, "barrier_algorithm", "timing")


def start_of(where: Mapping[str, object]) -> str:
    """The start that conditions select, as `Factors.started_by` has it."""
    values = [where.get(name, usual) for name, usual in zip(SYNCHRONIZATION, ("", USUAL, PER_CALL), strict=True)]
    return str(start_names(*([str(value)] for value in values))[0])


UNITS = Units(FACTOR_UNITS | {each.name: each.unit for each in Verdicts.columns() if each.unit == "s"})


@dataclass(frozen=True)
class Compared:
    """Verdicts with what they are about.

    Attributes:
        verdicts: a row per cell.
        factors: on which cells are matched; of others the column says nothing.
        metric: one of `METRICS`.
        statistic: over the samples of a launch.
        margin: a ratio within 1 / (1 + margin) and 1 + margin is as good as 1.
        confidence: of the intervals.
        paired: launches are compared in pairs.
        where_a: the values of A of the factors that are compared.
        where_b: likewise of B.
        name_a: of A.
        name_b: of B.
        tests: cells that Holm's correction counts.
        span: from the start of the first launch to that of the last, of the side where it is shorter, s; NaN: unknown.
        shares: launches of A and B in each state of the machine, where they are not the same launches.
        overall: B / A over all launches, where the machine was in several states.
        assumes: what the verdicts rest on beyond the launches; empty for pairs.
        history: names of its experiments.
        history_is_a: there is no other A.
        notes: lines: exclusions, differences between the contexts of the launches.
        damages: of files of other tools.
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
        """The result that a user has as a frame."""
        if isinstance(frame, Compared):
            return frame
        names = {each.name for each in dataclasses.fields(cls)} & set(frame.attrs)
        factors = tuple(name for name in FACTORS if name in frame)
        rows = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
        return cls(Verdicts.of_rows(rows), factors, **{name: frame.attrs[name] for name in names})

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Compared:
        return dataclasses.replace(self, verdicts=self.verdicts[rows])

    def frame(self) -> pd.DataFrame:
        """The verdicts for users, and for a local grouping; the rest is in its attributes."""
        left_out = set(FACTORS) - set(self.factors)
        columns: dict[str, Any] = {}
        for each in Verdicts.columns():
            values = getattr(self.verdicts, each.name)
            if each.name not in left_out:
                columns[each.name] = (
                    values.astype(int) if each.unit in NUMBERS and np.isfinite(values).all() else values
                )
        frame = pd.DataFrame({name: columns[name] for name in (*self.factors, *columns)})
        unit = KINDS[self.metric].unit if self.metric in KINDS else "s"
        frame.attrs.update(self.about(), units=Units(UNITS | {"a": unit, "b": unit}))
        return frame

    def about(self) -> dict[str, Any]:
        """All but the table, by name."""
        names = [each.name for each in dataclasses.fields(self) if each.name not in ("verdicts", "factors", "damages")]
        return {name: getattr(self, name) for name in names}

    @property
    def answers(self) -> Flags:
        """The rows that answer: one family of tests, the same in every output.

        These rows are matched, without late ranks, from a common start (else from the first start that has rows),
        and of one state (`in_main_state`). A condition that no row meets is dropped, so experiments of late ranks
        answer, too.
        """
        rows = self.verdicts
        kept = rows.verdict != UNMATCHED
        conditions = [rows.pattern == NO_PATTERN]
        if SYNCHRONIZER in self.factors:
            starts = rows.started_by
            first = next((start for start in (COMMON_START, *starts[kept]) if (starts[kept] == start).any()), "")
            conditions.append(starts == first)
        if self.readings:
            conditions.append(rows.ranks != 1)  # a single rank has nobody to be synchronized with
        for condition in conditions:
            kept = kept & condition if (kept & condition).any() else kept
        kept[kept] = in_main_state(rows[kept], self.fewest[kept])
        return np.asarray(kept)

    @property
    def answer(self) -> Compared:
        """The rows that answer."""
        return self[self.answers]

    @property
    def question(self) -> Compared:
        """The rows that an exit status is about: those from a common start, where there are any, else all.

        Rows of a state with too few launches for a verdict are left out beside those of the main state.
        They are one family of Holm's procedure, which bounds the chance of any false verdict among them; with the other
        family beside them it would be twice as large.
        """
        common = (
            self.verdicts.synchronizer == COMMON_START if SYNCHRONIZER in self.factors else np.zeros(len(self), bool)
        )
        rows = self[common] if (common & (self.verdicts.verdict != UNMATCHED)).any() else self
        return rows[in_main_state(rows.verdicts, rows.fewest) | (rows.fewest >= FEWEST_LAUNCHES)]

    @property
    def readings(self) -> bool:
        """Whether starts are compared."""
        return SYNCHRONIZER in self.where_a and set(self.where_a) <= set(SYNCHRONIZATION)

    @property
    def heads(self) -> tuple[str, str]:
        """The heads of the columns of A and B: the values that are compared, if they are short; else A and B."""
        if len(self.where_a) == 1:
            (a,), (b,) = (map(synchronizer_name, where.values()) for where in (self.where_a, self.where_b))
            if max(len(a), len(b)) <= LONGEST_NAME:
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
        """The factors that need a column."""
        varying = [name for name in self.factors if len(set(getattr(self.verdicts, name))) > 1]
        return [name for name in self.factors if name in {*FACTORS_ALWAYS, *varying} and name not in IMPLIED]

    @property
    def fewest(self) -> Floats:
        """Launches of the smaller side of each cell; with a history for A, of B."""
        verdicts = self.verdicts
        return verdicts.launches_b if self.history_is_a else np.fmin(verdicts.launches_a, verdicts.launches_b)

    def word(self, verdict: str) -> str:
        """A verdict on a cell in words."""
        return READINGS.get(verdict, verdict) if self.readings else verdict
