"""Intervals and verdicts under conditions drawn at random: where the promise holds, and where it does not.

Each experiment draws its own clock, noise, launches, samples and true ratio, and one disturbance, none or several. A
and B are measured in blocks on 2 ranks, and judged by what ships. Only B has modes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from downbeat.data.cells import STEP
from downbeat.statistics.location import typical_interval
from downbeat.statistics.median_interval import median_interval
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, grouped_median
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.text import NANOSECONDS
from scipy import optimize, special

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import printed
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import Floats, autoregressive

RANKS = 2
BLOCKS = 10
BURST = 50  # calls, mean length
EACH = 2  # times as many experiments as --experiments
COVERAGE, FALSE = 0.93, 0.05  # what is promised

# Disturbances, by the fields of `Conditions` that they set, each uniform between two numbers.
DISTURBANCES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "modes": {"mode_share": (0.02, 0.3), "slowness": (1.1, 3.0)},
    "bursts": {"bursts": (0.02, 0.3)},
    "trend": {"trend": (0.02, 0.5)},
    "correlated samples": {"autocorrelation": (0.1, 0.9)},
    "correlated launches": {"correlation": (0.1, 0.9)},
}
NONE, SEVERAL = "none", "several"
# Rows of the table: the ranges that divide each kind of conditions.
DIVISIONS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    NONE: {"launches": (2, 5, 10, 20, 31), "samples": (20, 100, 500, 2001), "noise": (0.2, 0.5, 2, 10)},
    "modes": {"mode_share": (0.02, 0.1, 0.3), "slowness": (1.1, 1.5, 3), "launches": (2, 5, 10, 20, 31)},
    "bursts": {"bursts": (0.02, 0.1, 0.3), "samples": (20, 100, 500, 2001)},
    "trend": {"trend": (0.02, 0.1, 0.5)},
    "correlated samples": {"autocorrelation": (0.1, 0.5, 0.9), "samples": (20, 100, 500, 2001)},
    "correlated launches": {"correlation": (0.1, 0.5, 0.9), "launches": (2, 5, 10, 20, 31)},
    SEVERAL: {},
}
# Shares of experiments: columns of the frame, and their names in the table.
SHARES = {
    "launch": "one launch holds",
    "over": "over launches holds",
    "over_said": "or is said",
    "ratio_holds": "ratio holds",
    "false": "false verdicts",
    "unsaid": "of these unsaid",
}


@dataclass(frozen=True)
class Conditions:
    """Conditions of an experiment. Deviations are standard deviations.

    Attributes:
        step: of the clock, ns.
        noise: of a sample, steps.
        relative: of a sample, share of the operation's time, which follows from both.
        ratio: B / A.
        launches: of A and of B.
        samples: per launch.
        shared: deviation of a launch, of logarithms; the same for A and B if they are pairs.
        own: deviation of A or B in a launch, of logarithms.
        paired: whether launches are pairs.
        mode_share: of B's launches that take `slowness` times as long.
        slowness: a factor.
        bursts: share of calls that take twice as long, some 50 in a row.
        trend: by which samples rise over a launch, share.
        autocorrelation: of samples, at lag 1.
        correlation: of launches with the one before.
    """

    step: float
    noise: float
    relative: float
    ratio: float
    launches: int
    samples: int
    shared: float
    own: float
    paired: bool
    mode_share: float = 0.0
    slowness: float = 1.0
    bursts: float = 0.0
    trend: float = 0.0
    autocorrelation: float = 0.0
    correlation: float = 0.0

    @property
    def time(self) -> float:
        """The time of A without disturbances, ns."""
        return self.noise * self.step / self.relative


def draw(random: np.random.Generator, kind: str) -> Conditions:
    """Draws conditions with a disturbance, with none or, each with even chances, with several."""

    def between(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    made = Conditions(
        step=between(1, 100),
        noise=between(0.2, 10),
        relative=between(0.005, 0.1),
        ratio=math.exp(random.choice([-1, 0, 0, 1]) * between(0.005, 0.2)),
        launches=int(random.integers(2, 31)),
        samples=round(between(20, 2000)),
        shared=between(0.005, 0.05),
        own=between(0.002, 0.02),
        paired=bool(random.integers(2)),
    )
    disturbed: dict[str, Any] = {}
    for name, ranges in DISTURBANCES.items():
        if name == kind or (kind == SEVERAL and random.random() < 0.5):
            disturbed |= {field: random.uniform(*ends) for field, ends in ranges.items()}
    return replace(made, **disturbed)


def in_bursts(random: np.random.Generator, launches: int, samples: int, share: float) -> Floats:
    """Returns which calls are in a burst, shape (launches, samples)."""
    calm = BURST * (1 - share) / share
    pairs = samples // BURST + 5
    rows = []
    for _ in range(launches):
        lengths = random.geometric(1 / np.array([[BURST, calm]]), (pairs, 2)).ravel()
        bursting = np.repeat(np.tile([1.0, 0.0], pairs), lengths)
        begin = int(lengths[0]) if random.random() >= share else 0
        rows.append(np.pad(bursting[begin : begin + samples], (0, samples))[:samples])
    return np.array(rows)


def measured(random: np.random.Generator, one: Conditions, levels: Floats) -> Floats:
    """Returns samples of launches as a clock shows them, shape (launches, samples), ns; `levels`: true times."""
    shape = (levels.size, one.samples)
    values = 1 + one.trend * (np.arange(one.samples) / one.samples - 0.5)
    if one.bursts:
        values = values * (1 + in_bursts(random, *shape, one.bursts))
    values = values + one.relative * autoregressive(random, shape, one.autocorrelation)
    values = levels[:, np.newaxis] * values
    entries = random.uniform(0, one.step, (RANKS, *shape))
    return np.asarray(one.step * np.floor((entries + values) / one.step).mean(axis=0))


def true_median(one: Conditions) -> float:
    """Returns the median of a launch's samples over its level."""
    along = 1 + one.trend * (np.linspace(0, 1, 101) - 0.5)

    def above(value: float) -> float:
        below = [float(special.ndtr((value - factor * along) / one.relative).mean()) for factor in (1, 2)]
        return (1 - one.bursts) * below[0] + one.bursts * below[1] - 0.5

    return float(optimize.brentq(above, 0.3, 2.5))


def experiment(random: np.random.Generator, one: Conditions) -> dict[str, float]:
    """Returns the outcomes of an experiment, 0 or 1 each."""
    shared = one.shared * autoregressive(random, (2, one.launches), one.correlation)
    if one.paired:
        shared[1] = shared[0]
    slow = random.random(one.launches) < one.mode_share
    logs = shared + random.normal(0, one.own, shared.shape)
    logs[1] += math.log(one.ratio) + math.log(one.slowness) * (slow - one.mode_share)
    a, b = (measured(random, one, one.time * np.exp(side)) for side in logs)
    step = one.step / RANKS
    first, second = (np.array([grouped_median(launch, step) for launch in side]) for side in (a, b))
    factor = true_median(one)

    within = median_interval(a[0], np.arange(one.samples) * BLOCKS // one.samples, step=step)
    over = typical_interval(second, hidden=LEFT_BY_INTERPOLATION * step)
    compare = compare_paired if one.paired else compare_independent
    found = compare(first, second, hidden=2 * LEFT_BY_INTERPOLATION * step)
    truth = one.ratio
    over_holds = over.low <= one.time * truth * factor <= over.high
    false = printed.is_wrong(found.verdict, math.log(truth))

    def is_said(*sides: Floats) -> bool:
        """Whether what is printed of both sides, or of one, names the cause that it is wrong for."""
        factors = {f"{printed.METRIC}_{STEP}": step / NANOSECONDS}
        cells = [printed.cells_of(np.log(side / NANOSECONDS / printed.TIME), None, **factors) for side in sides]
        compared = printed.compare_pairs if one.paired else printed.compare_apart
        text = compared(cells[0], cells[1]) if len(cells) > 1 else printed.show(cells[0])
        missed = one.mode_share if one.mode_share and not slow.any() else math.inf
        cause = printed.Cause(missed, one.mode_share + one.bursts > 0, one.correlation > 0)
        return printed.names_cause(text, one.launches, cause)

    return {
        "launch": within.low <= math.exp(logs[0, 0]) * one.time * factor <= within.high,
        "over": over_holds,
        "over_said": over_holds or is_said(second),
        "ratio_holds": found.ratio.low <= truth <= found.ratio.high,
        "false": false,
        "unsaid": false and not is_said(first, second),
    }


def regions(frame: pd.DataFrame) -> list[tuple[str | float, ...]]:
    """Returns rows of the table: each kind of conditions, then its parts."""
    rows: list[tuple[str | float, ...]] = []
    for kind, divisions in DIVISIONS.items():
        of_kind = frame[frame["kind"] == kind]
        parts = [("", of_kind)]
        for field, edges in divisions.items():
            cut = pd.cut(of_kind[field], list(edges), right=False)
            parts += [(f"{field} {part}", rows_of) for part, rows_of in of_kind.groupby(cut, observed=True)]
        rows += [(kind, name, len(part), *part[list(SHARES)].mean()) for name, part in parts]
    return rows


def simulate(experiments: int) -> Findings:
    """Returns coverages and shares of false verdicts by region, and their promises."""
    random = np.random.default_rng(2026)
    kinds = [*DIVISIONS] * (EACH * experiments // len(DIVISIONS))
    records = []
    for number, kind in enumerate(kinds):
        if number % 100 == 0:
            show_progress(f"conditions at random, {number} of {len(kinds)}")
        one = draw(random, kind)
        values = {field.name: getattr(one, field.name) for field in fields(one)}
        records.append({"kind": kind} | values | experiment(random, one))
    frame = pd.DataFrame(records)
    table = Table(
        "Conditions at random: coverage of 95 % intervals, and shares of false verdicts",
        ("disturbance", "region", "experiments", *SHARES.values()),
        regions(frame),
    )
    return Findings([table], promises(frame))


def promises(frame: pd.DataFrame) -> list[Promise]:
    """Returns the promises on each disturbance."""
    made = []
    for kind, part in frame.groupby("kind", sort=False):
        what = f"conditions at random, {kind}"
        most, least = FALSE + by_chance(FALSE, len(part)), COVERAGE - by_chance(COVERAGE, len(part))
        made.append(at_most(f"{what}: false verdicts, unsaid", part["unsaid"].mean(), most))
        made.append(at_least(f"{what}: interval over launches holds or is said", part["over_said"].mean(), least))
    return made
