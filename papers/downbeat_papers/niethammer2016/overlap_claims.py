"""What figures 6, 8, 10, 12, 14 and 16 claim of the benefit, and what launches say of it.

The paper gives no sizes. Its axes span 30 to 80 points, on which 5 points are what one sees: benefits and differences
below count as none, and what is called positive or better has to be above half of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import pandas as pd

from downbeat_papers.evidence import Estimate, Evidence, Undecidable, every, mean_of
from downbeat_papers.figure import Finding
from downbeat_papers.niethammer2016.benefit import CELL
from downbeat_papers.niethammer2016.late_arrival import SIZES
from downbeat_papers.wording import between

EFFECT = 5.0  # points of benefit, in per cent
BORDER = EFFECT / 2
# A benefit of so many points must fit under the ceiling; else "none" could not be wrong, and "some" not be right.
ROOM = 2 * EFFECT
SMALL = 8  # bytes; the smallest messages measured, of which the text says "zero effect"
MANY = 1024  # processes, from which on the order of delays turns round
POINTS = " points"


def with_room(table: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per cell that has room for `ROOM` points, a column per launch: benefits in per cent."""
    wide = table.set_index([*CELL, "launch"])["equation_5"].unstack("launch")
    return wide[table.groupby(CELL)["ceiling"].median().reindex(wide.index) >= ROOM]


def claim(words: str, paper: str, here: str, table: pd.DataFrame, evidence: Evidence | Undecidable | None) -> Finding:
    """Returns a finding; without evidence, says what the obstacle is."""
    return Finding(words, paper, here, no_room(table) if evidence is None else evidence)


def no_room(table: pd.DataFrame) -> Undecidable:
    """Says by what the benefit is limited here."""
    if table.empty:
        return Undecidable("no ranks with a core each were measured with and without a delay")
    medians = table.groupby(CELL)[["ceiling", "t0"]].median()
    return Undecidable(
        f"all that can be hidden would be a benefit of {between(medians['ceiling'], ' %')} here, since the operation "
        f"takes {between(medians['t0'], ' us')}, and too few cells have room for {ROOM:g} %"
    )


def over_cells(wide: pd.DataFrame) -> Estimate:
    """Returns what launches estimate of the median over cells."""
    return mean_of(wide.median(axis="index").to_numpy(), POINTS)


def each_within(wide: pd.DataFrame, by: list[str]) -> Evidence | None:
    """Returns what launches say of the claim that none of some groups of cells has any; None without cells."""
    groups = wide.groupby(by).median().to_numpy()
    parts = [mean_of(launches, POINTS).within(-EFFECT, EFFECT) for launches in groups]
    return every(parts) if parts else None


def values_of(wide: pd.DataFrame) -> str:
    """Says which benefits there are, as medians over launches."""
    medians = wide.median(axis="columns").round(2).add(0.0).rename("value").reset_index()  # no -0
    return "; ".join(
        f"{row['operation']}, {row['size']} bytes, {row['delay']:g} us, {row['ranks']} ranks: {row['value']:g} %"
        for row in medians.to_dict("records")
    )


def mostly_positive(table: pd.DataFrame, paper: str) -> Finding:
    wide = with_room(table)
    values = wide.median(axis="columns")
    here = f"{int((values > BORDER).sum())} of {len(values)} benefits above {BORDER:g} %, {between(values, ' %')}"
    evidence = over_cells(wide).above(BORDER) if len(wide) else None
    return claim(
        "the benefit is positive in most cases (median of all): a part of the delay is hidden",
        paper,
        here,
        table,
        evidence,
    )


def near_zero(table: pd.DataFrame, paper: str) -> Finding:
    small = table[table["size"] == SMALL]
    wide = with_room(small)
    return claim(
        f"there is no benefit for small messages ({SMALL} bytes), nor a loss (median of each form)",
        paper,
        values_of(wide) or "none that decides",
        small,
        each_within(wide, ["operation"]),
    )


def size_matters_not(table: pd.DataFrame, paper: str) -> Finding:
    """Returns the finding on differences to the smallest size, launch by launch."""
    wide = with_room(table)
    of_size = {size: wide[wide.index.get_level_values("size") == size].droplevel("size") for size in SIZES}
    smallest = of_size.pop(SMALL)
    differences = pd.concat(
        [(larger - smallest.reindex(larger.index)).assign(size=size) for size, larger in of_size.items()]
    )
    differences = differences.set_index("size", append=True).dropna(how="all")
    return claim(
        "the size does not matter for the benefit, from 8 to 1024 bytes (median of each form and size)",
        paper,
        f"benefits of larger sizes less those of {SMALL} bytes: {between(differences.median(axis='columns'), POINTS)}",
        table,
        each_within(differences, ["operation", "size"]),
    )


def more_of(table: pd.DataFrame, nonblocking: bool) -> pd.DataFrame:
    """Returns by how many points one form has more benefit than the other; a row per cell, a column per launch."""
    wide = with_room(table).reset_index("operation")
    forms = wide["operation"].str.startswith("i")
    more, less = (wide[forms == form].drop(columns="operation") for form in (nonblocking, not nonblocking))
    return (more - less.reindex(more.index)).dropna(how="all")


def better(words: str, nonblocking: bool) -> Callable[[pd.DataFrame, str], Finding]:
    def judge(table: pd.DataFrame, paper: str) -> Finding:
        more = more_of(table, nonblocking)
        here = f"by {between(more.median(axis='columns'), POINTS)}"
        return claim(words, paper, here, table, over_cells(more).above(BORDER) if len(more) else None)

    return judge


def order_of_delays(table: pd.DataFrame, paper: str) -> Finding:
    """Returns the finding on the step from each delay to the next longer one, launch by launch."""
    few = table[table["ranks"] < MANY]
    wide = with_room(few)
    delays = sorted(set(wide.index.get_level_values("delay")))
    by_delay = {delay: wide[wide.index.get_level_values("delay") == delay].droplevel("delay") for delay in delays}
    steps = [
        (by_delay[short] - by_delay[long].reindex(by_delay[short].index)).dropna(how="all")
        for short, long in pairwise(delays)
    ]
    described = ", ".join(
        f"{delay:g} us {part.median(axis='columns').median():.2g} %" for delay, part in by_delay.items()
    )
    return claim(
        "below 1024 processes short delays have more benefit than long ones",
        paper,
        described or "none that decides",
        few,
        steps_evidence(steps),
    )


def steps_evidence(steps: Iterable[pd.DataFrame]) -> Evidence | None:
    """Returns what launches say of the claim that each step is one downwards; None of no steps."""
    parts = [over_cells(step).above(BORDER) for step in steps if len(step)]
    return every(parts) if parts else None


CLAIMS: dict[str, Callable[[pd.DataFrame, str], Finding]] = {
    "mostly_positive": mostly_positive,
    "near_zero": near_zero,
    "size_matters_not": size_matters_not,
    "nonblocking_better": better("the nonblocking form has slightly more benefit", nonblocking=True),
    "blocking_better": better("the blocking form has more benefit than the nonblocking one", nonblocking=False),
    "order_of_delays": order_of_delays,
}
