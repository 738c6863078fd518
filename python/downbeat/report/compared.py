"""What an experiment compares: its sides, from one start, in the state of the machine that most cells were measured in.

The first screen of a report, and its first pictures, are of this.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import READINGS, UNMATCHED, Compared
from downbeat.comparison.ending import main_states, state_names
from downbeat.comparison.questions import AgainstStart, against_start
from downbeat.comparison.summaries import (
    CONFIGURATION,
    REFERENCE,
    SYNCHRONIZATION,
    describe_each,
    plain_cells,
    synchronization,
    value_text,
)
from downbeat.data.cells import NO_PATTERN, PATH, STATE
from downbeat.data.states import LINE, UNKNOWN, state_text
from downbeat.errors import UsageError
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.text import counted

STARTS = "synchronizer"  # the factor that is compared if the user compared nothing else
ASKED = ("variant", "library", "environment", "algorithm")  # what users compare, the first that varies
MOST_SIDES = 4  # beside the first, of variants, libraries, environments
COMMON = "a common start"


@dataclass(frozen=True)
class Contrast:
    """The sides of a comparison.

    Attributes:
        factor: what the sides differ in; `STARTS` also where nothing is compared.
        sides: their names; the others are compared with the first.
        start: what all sides start from; empty if starts are compared.
        cells: plain cells of the sides, with `line`, their side, `panel`, what else they are without size and state,
            and `main`, whether they are of the state of the machine that most cells are of.
        ratios: a row per cell and side other than the first: `line`, `panel`, `operation`, `size`, `state`, `main`,
            `ratio` to the first side with its interval `low` to `high`, `launches`, `verdict`, `reason`.
        tables: by side, the verdicts of the main state; empty if starts are compared.
        judged: cells of the main state against the common start, if starts are compared.
    """

    factor: str
    sides: tuple[str, ...]
    start: str
    cells: pd.DataFrame
    ratios: pd.DataFrame
    tables: Mapping[str, Compared] = field(default_factory=dict)
    judged: tuple[AgainstStart, ...] = ()

    @property
    def ratio_label(self) -> str:
        """What the ratios are of."""
        others = list(dict.fromkeys(self.ratios["line"]))
        first = COMMON if self.factor == STARTS else self.sides[0]
        above = others[0] if len(others) == 1 else f"other {self.factor}" if self.factor != STARTS else "another start"
        return f"{f'after {above}' if self.factor == STARTS and len(others) == 1 else above} / {first}"

    @property
    def said(self) -> str:
        """What is compared, in words; empty for nothing."""
        others = self.sides[1:]
        if not others:
            return ""
        if self.factor == "algorithm":
            return counted(len(self.sides), "algorithm")
        first = COMMON if self.sides[0] == REFERENCE else self.sides[0]
        more = f"{len(others)} {self.factor}s" if len(others) > 2 else " and ".join(others)
        return f"{more} against {first}"


def contrast_of(experiment: Experiment) -> Contrast:
    """Returns what a user compared: variants, libraries, environments, algorithms; if nothing of these, starts."""
    cells = plain_cells(experiment)
    factor = next((name for name in ASKED if cells[name].nunique() > 1), STARTS)
    return sides_by(experiment, factor, cells)


def starts_of(experiment: Experiment) -> Contrast:
    """Returns how starts compare."""
    return sides_by(experiment, STARTS, plain_cells(experiment))


def sides_by(experiment: Experiment, factor: str, cells: pd.DataFrame) -> Contrast:
    """Returns the comparison of the values of one factor."""
    starts = synchronization(cells)
    first = next((name for name in (REFERENCE, *starts) if (starts == name).any()), "")
    if factor == STARTS:
        sides = tuple(dict.fromkeys([first, *starts])) if first else ()
        cells = cells.assign(line=starts)
    else:
        cells = cells[starts == first]
        cells = cells.assign(line=cells[factor].astype(str))
        sides = tuple(dict.fromkeys(cells["line"]))
    rest = [name for name in CONFIGURATION if name not in (factor, STATE)]
    cells = cells.assign(panel=describe_each(cells, "operation", rest), main=in_main_state(cells))
    among = {name: cells[name].iloc[0] for name in SYNCHRONIZATION} if factor != STARTS else {}
    found = Contrast(factor, sides, "" if factor == STARTS else first, cells, pd.DataFrame())
    place = places_of(cells, rest)
    if factor == STARTS:
        judged = [one for one in against_start(experiment) if place(one.factors)]
        rows = [
            {
                **{"line": one.synchronizer, "operation": one.factors["operation"], "size": one.factors["size"]},
                **place(one.factors),
                **{"ratio": one.comparison.ratio.estimate, "low": one.comparison.ratio.low},
                **{"high": one.comparison.ratio.high, "launches": min(one.comparison.launches)},
                **{"verdict": READINGS.get(one.comparison.verdict, one.comparison.verdict)},
                "reason": one.comparison.reason,
            }
            for one in judged
        ]
        kept = tuple(
            dataclasses.replace(one, cell=cell_name(row["panel"], row["size"]))  # of one state, which needs no name
            for one, row in zip(judged, rows, strict=True)
            if row["main"]
        )
        return dataclasses.replace(found, ratios=pd.DataFrame(rows, columns=RATIO_COLUMNS), judged=kept)
    rows, tables = [], {}
    for side in sides[1 : 1 + MOST_SIDES]:
        try:
            table = comparison_of(experiment, where_a={factor: sides[0]}, where_b={factor: side})  # judged as elsewhere
        except UsageError:  # they share no cell
            continue
        for name, value in among.items():
            table = table.within(name, value)
        table = table[table.verdicts.verdict != UNMATCHED]
        cells_of_table = [{str(name): value for name, value in row.items()} for row in table.frame().to_dict("records")]
        kept_rows = [place(row) for row in cells_of_table]
        for row, where in zip(cells_of_table, kept_rows, strict=True):
            if where:
                ends = {"low": row["ratio_low"], "high": row["ratio_high"]}
                launches = min(row["launches_a"], row["launches_b"])
                rows.append({**row, **where, **ends, "line": side, "launches": launches})
        if any(where.get("main") for where in kept_rows):
            tables[side] = table[np.array([bool(where.get("main")) for where in kept_rows])]
    return dataclasses.replace(found, ratios=pd.DataFrame(rows, columns=RATIO_COLUMNS), tables=tables)


def cell_name(panel: object, size: object) -> str:
    """Returns what a cell is called."""
    return f"{panel}, {value_text('size', size)}" if size else str(panel)


RATIO_COLUMNS = ["line", "panel", "operation", "size", STATE, "main"]
RATIO_COLUMNS += ["ratio", "low", "high", "launches", "verdict", "reason"]


def places_of(cells: pd.DataFrame, rest: Sequence[str]) -> Callable[[Mapping[str, object]], dict[str, object]]:
    """Returns a function that finds `panel`, `state` and `main` of the cell with given factors; nothing for others."""
    keys = ["operation", "size", *rest, STATE]
    known = cells.drop_duplicates(keys)
    found = {
        tuple(row[name] for name in keys): {name: row[name] for name in ("panel", STATE, "main")}
        for row in known[[*keys, "panel", "main"]].to_dict("records")
    }

    def place(factors: Mapping[str, object]) -> dict[str, object]:
        plain = factors.get("pattern", NO_PATTERN) == NO_PATTERN and not factors.get("computation", 0)
        return found.get(tuple(factors[name] for name in keys), {}) if plain else {}

    return place


def in_main_state(cells: pd.DataFrame) -> pd.Series[bool]:
    """Returns which cells are of the main state of the machine, as the end of a run has it."""
    main = main_states(cells)
    return pd.Series([pair in main for pair in zip(cells["ranks"], cells[STATE], strict=True)], cells.index, dtype=bool)


def state_lines(cells: pd.DataFrame) -> list[str]:
    """Says in which states of the machine cells are, the main one first: nothing where one is known, or none."""
    named = cells[cells[STATE] != ""]
    found = []
    for _, group in named.groupby([name for name in ("ranks", PATH) if name in named], sort=False):
        names = state_names(list(group[STATE].unique()))
        what = "a cache line" if PATH not in group or group[PATH].iloc[0] == LINE else "a message"
        for state, count in group[STATE].astype(str).value_counts().items():
            rows = group[group[STATE] == state]
            launches = len(rows.drop_duplicates([*LAUNCH_FACTORS, "launch"]))
            deepest = rows.groupby([*LAUNCH_FACTORS])["launch"].nunique().max()
            name = names.get(str(state), "state unknown")
            text = f"{name} of this machine ({what} takes {state_text(str(state))})"
            text = f"unknown state of this machine (no reading of {what})" if state == UNKNOWN else text
            few = ": too few for verdicts" if deepest < FEWEST_LAUNCHES else ""
            found.append((int(count), f"{text}, {counted(launches, 'launch')}{few}"))
    return [text for _, text in sorted(found, key=lambda one: -one[0])]
