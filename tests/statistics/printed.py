"""What `compare` and `show` print of made-up launches, and whether it names the cause of what is wrong in it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from downbeat.comparison.summaries import summaries_of
from downbeat.data.cells import CANARY_HIGH, CANARY_LOW, CANARY_PATH
from downbeat.data.states import LINE, with_states
from downbeat.errors import UsageError
from downbeat.output.terminal import view_lines
from downbeat.run.experiment import FACTORS, Experiment, Launch
from downbeat.statistics.verdicts import MARGIN, MIN_LAUNCHES
from downbeat.views.comparison import compare, comparison_view
from downbeat.views.results import results_view

METRIC = "latency_avg"
CELL: Mapping[str, object] = {
    "library": "some", "environment": "default", "variant": "default", "operation": "bcast", "size": 512,
    "datatype": "MPI_BYTE", "algorithm": "default", "barrier_algorithm": "default", "timing": "per_call",
    "pattern": "none", "largest_delay": 0.0, "computation": 0.0, "error_bound": 0.0, "ranks": 2, "status": "ok",
    "synchronizer": "harmonize", "valid_count": 100, "rejected": 0,
}  # fmt: skip
TIME = 2e-6  # s, of a launch whose logarithm is 0
A, B = {"synchronizer": "harmonize"}, {"synchronizer": "mpi_barrier"}
CONTEXT = {
    "mpi_library": "some",
    "date": "2026-01-02T03:04:05Z",
    "hosts": "a host",
    "clock_clock": "tsc",
    "clock_sync": "disciplined",
}


def cells_of(logs: Sequence[float] | np.ndarray, canary: np.ndarray | None = None, **factors: object) -> pd.DataFrame:
    """Returns the cells of launches in their order, one a launch; `canary`: round trips in s."""
    numbers = {"launch": np.arange(1, len(logs) + 1), f"{METRIC}_median": TIME * np.exp(logs)}
    trips = {} if canary is None else {CANARY_LOW: canary, CANARY_HIGH: canary, CANARY_PATH: LINE}
    return pd.DataFrame({**CELL, **numbers, **trips, **factors})


@dataclass(frozen=True)
class Printed:
    """What was printed of launches.

    Attributes:
        cells: operation and size of each.
        verdicts: of all cells; none if nothing was compared.
        intervals: of all cells, logarithms of ratios, or of times over `TIME`.
        detectable: the smallest ratio that these launches detect, of each cell; none if nothing was compared.
        needed: launches to detect 5 %, likewise.
        text: all lines as one.
    """

    cells: list[tuple[str, int]]
    verdicts: list[str]
    intervals: list[tuple[float, float]]
    detectable: list[float]
    needed: list[float]
    text: str

    def holds(self, log: float = 0.0) -> bool:
        """Whether the first interval holds a value."""
        low, high = self.intervals[0]
        return low <= log <= high

    def is_false(self, log: float) -> bool:
        """Whether there is a verdict, and the first is false for a true ratio."""
        return bool(self.verdicts) and is_wrong(self.verdicts[0], log)


def is_wrong(verdict: str, log: float) -> bool:
    """Whether a verdict is false for the logarithm of a true ratio."""
    return {"faster": log >= 0, "slower": log <= 0, "equivalent": abs(log) > math.log1p(MARGIN)}.get(verdict, False)


def text_alone(text: str) -> Printed:
    """Returns a text that is printed without a frame, as that of a claim is."""
    return Printed([], [], [], [], [], text)


def of_frame(frame: pd.DataFrame) -> Printed:
    """Returns what a frame of `compare` has, and prints."""
    lines = [*view_lines(comparison_view(frame)), *frame.attrs["notes"], frame.attrs["assumes"], *frame["reason"]]
    bounds = np.log(frame[["ratio_low", "ratio_high"]].to_numpy(dtype=float))
    return Printed(
        list(zip(frame["operation"], frame["size"], strict=True)),
        list(frame["verdict"]),
        [(float(low), float(high)) for low, high in bounds],
        list(frame["detectable_ratio"]),
        list(frame["launches_needed"]),
        " ".join(" ".join(lines).split()),
    )


def compare_pairs(a: pd.DataFrame, b: pd.DataFrame) -> Printed:
    """Returns what is printed of B compared with A in pairs of launches, two synchronizers of one experiment."""
    both = pd.concat([a, b.assign(**B)], ignore_index=True)
    return of_frame(compare(with_states(both), where_a=A, where_b=B))


def compare_apart(a: pd.DataFrame, b: pd.DataFrame, history: Sequence[pd.DataFrame] | None = None) -> Printed:
    """Returns what is printed of two experiments; of none in common, that."""
    try:
        return of_frame(compare(with_states(a), with_states(b), history=history))
    except UsageError as error:
        return Printed([("bcast", 512)], ["unmatched"], [(-math.inf, math.inf)], [math.nan], [math.nan], str(error))


def show(cells: pd.DataFrame) -> Printed:
    """Returns what `downbeat show` prints of an experiment, and the intervals of its rows."""
    launch = Launch("some", 2, "default", 1, Path("samples.nc"), {})
    launch.__dict__["context"] = CONTEXT  # both are read from files when they are first asked for
    experiment = Experiment(Path("made-up"), "made-up", (launch,) * cells["launch"].nunique(), None, ())
    experiment.__dict__["cells"] = with_states(cells)
    view = results_view(experiment, METRIC)
    rows = summaries_of(experiment.cell_table, FACTORS, METRIC)
    names = list(zip(rows.operation, rows.size, strict=True))
    bounds = np.log(np.column_stack([rows.low, rows.high]) / TIME)
    text = " ".join(" ".join(view_lines(view)).split())
    return Printed(names, [], [(float(low), float(high)) for low, high in bounds], [], [], text)


UNSEEN = re.compile(r"up to ([\d.]+) % of launches may be slow, unseen")
SLOW = "slow launches ("
IN_ORDER = re.compile(r"resemble the one before|drift during the run|launches drift as much")
OTHER_TIMES = "other times may differ"
DATA, STANDING, SILENT = "said by the data", "standing line", "silent"


@dataclass(frozen=True)
class Cause:
    """Why numbers may be wrong.

    Attributes:
        missed: the share of the rarest launches that they rest on none of; infinite if they rest on all.
        rare: some launches are of a rare kind.
        in_order: launches resemble the one before.
        run: launches that the rare kind lasts for.
        lasting: the machine was other than at other times, as long as these launches took.
    """

    missed: float = math.inf
    rare: bool = False
    in_order: bool = False
    run: float = 1.0
    lasting: bool = False


def said(printed: Printed, cause: Cause) -> str:
    """Returns what names the cause that a number is wrong for: the data, only the line that always stands, or nothing.

    The data name a rare kind by counting slow launches, and launches in order by a drift or a resemblance. The standing
    line covers a kind of a share that may be unseen, and what other times would have shown: runs, drifts.
    """
    if (cause.rare and SLOW in printed.text) or (cause.in_order and IN_ORDER.search(printed.text)):
        return DATA
    unseen = UNSEEN.search(printed.text)
    if unseen is None:
        return SILENT
    other_times = (cause.lasting or cause.in_order or cause.run > 1) and OTHER_TIMES in printed.text
    rounding = 0.5 if float(unseen[1]) >= 10 else 0.05
    return STANDING if other_times or cause.missed <= (float(unseen[1]) + rounding) / 100 else SILENT


def names_cause(printed: Printed, launches: int, cause: Cause) -> bool:
    """Whether what was printed of so many launches, of the smaller side, names the cause that a number is wrong for."""
    refused = launches < MIN_LAUNCHES and printed.verdicts == ["undecided"]  # with the number of launches
    return refused or said(printed, cause) != SILENT
