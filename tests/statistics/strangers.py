"""Intervals and verdicts on kinds of launches that no method presumes: right, wrong and said, or wrong in silence.

What is judged is what `compare` and `show` print. Of many experiments the t intervals are computed here, to find the
few that may be wrong; of these some are printed, and only what is printed counts. Experiments that are not taken for
wrong are printed, too, at random: none of them may be.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.promises import Promise, at_most, by_chance
from tests.statistics import kinds, printed
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.kinds import Drawn, Kind
from tests.statistics.simulated import Floats

OUTSIDE = math.log(1.0204)  # a ratio just outside the margin
MARGIN = math.log(1.02)
SHARED = 0.05  # deviation of a launch that both sides of a pair share
FALSE, MISSED = 0.03, 0.05  # at most, in silence
LIKELY = 2 * FALSE  # share of experiments from which on more of them are printed
MOST, FEW = 16, 4  # that are printed of those that may be wrong, if these are many, or few


@dataclass(frozen=True)
class Sides:
    """Experiments with two sides, or with one.

    Attributes:
        a: logarithms, shape (experiments, launches); None of one side alone.
        b: likewise.
        strange: what was drawn of the kind that is tried.
        paired: whether launches are pairs.
    """

    a: Floats | None
    b: Floats
    strange: Sequence[Drawn]
    paired: bool = True

    def missed(self, experiment: int) -> float:
        """Returns the share of the rarest launches that a side has none of."""
        return min(one.missed(experiment) for one in self.strange)

    def print(self, experiment: int, log: float) -> printed.Printed:
        """Prints an experiment in which B is exp(log) times A, or all launches take that much."""
        b = printed.cells_of(self.b[experiment] + log)
        if self.a is None:
            return printed.show(b)
        a = printed.cells_of(self.a[experiment])
        return (printed.compare_pairs if self.paired else printed.compare_apart)(a, b)


Design = Callable[[np.random.Generator, Kind, int, int, int], Sides]


def one_side(random: np.random.Generator, kind: Kind, experiments: int, launches: int, _: int) -> Sides:
    """Draws launches of one side, as `show` has them."""
    drawn = kind.draw(random, experiments, launches)
    return Sides(None, drawn.logs, [drawn])


def ratio_of_pairs(random: np.random.Generator, kind: Kind, experiments: int, launches: int, _: int) -> Sides:
    """Draws pairs whose ratio is of the kind; what a launch does to both hides that in each side."""
    drawn = kind.draw(random, experiments, launches)
    shared = random.normal(0, SHARED, drawn.logs.shape)
    return Sides(shared, shared + drawn.logs, [drawn])


def both_of_pairs(random: np.random.Generator, kind: Kind, experiments: int, launches: int, _: int) -> Sides:
    """Draws pairs that share launches of the kind, and whose ratio is normal."""
    drawn = kind.draw(random, experiments, launches)
    return Sides(drawn.logs, drawn.logs + kinds.normal(random, experiments, launches).logs, [drawn])


def both_apart(random: np.random.Generator, kind: Kind, experiments: int, a: int, b: int) -> Sides:
    """Draws two experiments of the kind."""
    drawn = kind.draw(random, experiments, a), kind.draw(random, experiments, b)
    return Sides(drawn[0].logs, drawn[1].logs, drawn, paired=False)


def b_apart(random: np.random.Generator, kind: Kind, experiments: int, a: int, b: int) -> Sides:
    """Draws an experiment with normal launches, A, and one of the kind, B."""
    drawn = kind.draw(random, experiments, b)
    return Sides(kinds.normal(random, experiments, a).logs, drawn.logs, [drawn], paired=False)


GROUPS: Mapping[str, Sequence[Kind]] = {
    "normal": (kinds.NORMAL,),
    "symmetric tails": kinds.SYMMETRIC,
    "floor and tail": kinds.SKEWED,
    "grids": kinds.GRIDS,
    "modes": kinds.MIXED,
    "modes in runs": kinds.RUNS,
    "correlated": kinds.CORRELATED,
    "ageing": kinds.AGEING,
}
ONE_KIND, RARE, IN_ORDER = list(GROUPS)[:3], list(GROUPS)[4:5], list(GROUPS)[5:]
AT_WORST = ("missed at worst", "false at worst", "equivalent at worst")
# (design, groups, launches of A and B)
TRIED: Sequence[tuple[str, Design, Sequence[str], Sequence[tuple[int, int]]]] = (
    ("one side", one_side, (*ONE_KIND, *RARE, *IN_ORDER), ((3, 3), (10, 10), (29, 29))),
    ("ratio of pairs", ratio_of_pairs, ONE_KIND, ((5, 5), (29, 29))),
    ("ratio of pairs", ratio_of_pairs, (*RARE, *IN_ORDER), ((10, 10), (29, 29), (59, 59))),
    ("sides of pairs", both_of_pairs, ("modes in runs", "correlated"), ((29, 29),)),
    ("both apart", both_apart, (*ONE_KIND, "grids"), ((5, 59), (10, 10))),
    ("both apart", both_apart, (*RARE, *IN_ORDER), ((7, 29), (29, 29))),
    ("B apart", b_apart, (*RARE, *IN_ORDER), ((10, 10),)),
    ("B apart", b_apart, ("modes in runs", "correlated"), ((29, 29),)),
)


def cause_of(kind: Kind, drawn: Drawn | Sides, experiment: int) -> printed.Cause:
    """Returns why what is printed of an experiment of a kind may be wrong."""
    return printed.Cause(drawn.missed(experiment), kind.rare, kind.in_order, kind.run)


def t_intervals(sides: Sides) -> tuple[Floats, Floats, Floats]:
    """Returns means of the logarithms of ratios, half their 95 % t intervals, and p-values; each (experiments,)."""
    differences = sides.b if sides.a is None or not sides.paired else sides.b - sides.a
    parts = [one for one in (differences, None if sides.paired else sides.a) if one is not None]
    variances = [one.var(axis=1, ddof=1) / one.shape[1] for one in parts]
    mean = parts[0].mean(axis=1) - (parts[1].mean(axis=1) if len(parts) > 1 else 0.0)
    whole = np.maximum(sum(variances, start=np.zeros(len(mean))), 1e-30)
    squares = sum(one**2 / (part.shape[1] - 1) for one, part in zip(variances, parts, strict=True))
    freedom = whole**2 / np.maximum(squares, 1e-60 / parts[0].shape[1])
    error = np.sqrt(whole)
    return mean, stats.t.ppf(0.975, freedom) * error, 2 * stats.t.sf(np.abs(mean) / error, freedom)


@dataclass(frozen=True)
class Shares:
    """Shares of experiments.

    Attributes:
        holds: the interval holds the truth.
        missed: it does not, and nothing is said.
        false: faster or slower although A = B.
        false_unsaid: and nothing is said.
        alike: equivalent although the ratio is just outside the margin.
        alike_unsaid: and nothing is said.
        overlooked: of the experiments that were not taken for wrong, those that are; a number, not a share.
    """

    holds: float
    missed: float
    false: float
    false_unsaid: float
    alike: float
    alike_unsaid: float
    overlooked: int

    def row(self) -> tuple[float, ...]:
        """Returns all but the last."""
        return dataclasses.astuple(self)[:-1]


def shares_of(random: np.random.Generator, sides: Sides, kind: Kind, printing: float = 1.0) -> Shares:
    """Returns how often intervals and verdicts are wrong, and wrong in silence.

    Args:
        random: chooses what is printed.
        sides: the experiments.
        kind: of their launches.
        printing: a factor on how many are printed.
    """
    mean, half, p_value = t_intervals(sides)
    launches = min(one.shape[1] for one in (sides.a, sides.b) if one is not None)
    maybe = (np.abs(mean) > half * (1 - 1e-9)) | ((p_value <= 0.03) & (sides.a is not None))
    within = (mean + OUTSIDE + half <= MARGIN) & (mean + OUTSIDE - half >= -MARGIN) & (sides.a is not None)

    def read(which: np.ndarray, log: float) -> tuple[Floats, float]:
        """Returns shares: interval wrong, the same unsaid, verdict false, the same unsaid; and the weight of all."""
        most = math.ceil(printing * (MOST if which.mean() > LIKELY else FEW))
        chosen = random.permutation(np.flatnonzero(which))[:most]
        outcomes = np.zeros((len(chosen), 4))
        for row, experiment in enumerate(chosen):
            found = sides.print(int(experiment), log)
            wrong = not found.holds(log), found.is_false(log)
            said = any(wrong) and printed.names_cause(found, launches, cause_of(kind, sides, int(experiment)))
            outcomes[row] = wrong[0], wrong[0] and not said, wrong[1], wrong[1] and not said
        return outcomes.mean(axis=0) if len(chosen) else np.zeros(4), float(which.mean())

    apart, weight = read(maybe, 0.0)
    alike, weight_alike = read(within, OUTSIDE)
    others = random.permutation(np.flatnonzero(~maybe))[:1]
    found = [sides.print(int(experiment), 0.0) for experiment in others]
    overlooked = sum(not one.holds() or one.is_false(0.0) for one in found)
    wrong = apart * weight
    return Shares(
        1 - wrong[0], wrong[1], wrong[2], wrong[3], alike[2] * weight_alike, alike[3] * weight_alike, overlooked
    )


def simulate(experiments: int) -> Findings:
    """Returns shares for each kind in each design, those of groups of kinds, and the promises on these."""
    random = np.random.default_rng(2026)
    count, printing = max(experiments // 4, 100), experiments / 4000
    rows: dict[tuple[str, str], list[tuple[str, str, Shares]]] = {}
    for name, design, groups, sizes in TRIED:
        for group, (a, b) in itertools.product(groups, sizes):
            for kind in GROUPS[group]:
                show_progress(f"strangers, {name}, {kind.name}, {a}")
                one = shares_of(random, design(random, kind, count, a, b), kind, printing)
                rows.setdefault((name, group), []).append((kind.name, str(a) if a == b else f"{a}, {b}", one))
    every = [one for found in rows.values() for _, _, one in found]
    promises = [at_most("strangers: wrong, but not taken for wrong", sum(one.overlooked for one in every), 0)]
    for (name, group), found in rows.items():
        promises += promises_on(f"{name}, {group}", [one for _, _, one in found], MOST * printing)
    about = (
        "A = B: the interval holds, misses in silence; faster or slower, in silence; B / A = 1.0204: equivalent, in\n"
        "silence"
    )
    columns = ("n", "holds", "silent", "false", "silent", "equivalent", "silent")
    return Findings(
        [
            Table(
                f"Strange launches, each kind. {about}",
                ("design", "kind", *columns),
                [(name, *row[:2], *row[2].row()) for (name, _), found in rows.items() for row in found],
            ),
            Table(
                f"Strange launches, mean over kinds and numbers of launches; at worst. {about}",
                (
                    "design",
                    "kinds",
                    "of",
                    *columns[1:],
                    *AT_WORST,
                ),
                [summary(name, group, [one for _, _, one in found]) for (name, group), found in rows.items()],
            ),
        ],
        worst_of(promises),
    )


def summary(name: str, group: str, found: Sequence[Shares]) -> tuple[str | float, ...]:
    """Returns a row of the table of groups: means, then the largest shares that are silent."""
    numbers = np.array([one.row() for one in found])
    return (name, group, len(found), *map(float, numbers.mean(axis=0)), *map(float, numbers[:, 1::2].max(axis=0)))


def promises_on(what: str, found: Sequence[Shares], printings: float) -> list[Promise]:
    """Returns the promises on the mean of a group, with what so few printings may be off by chance."""
    made = []
    for column, name, limit in ((1, "interval", MISSED), (3, "verdict", FALSE), (5, "equivalent", FALSE)):
        numbers = np.array([one.row() for one in found]).mean(axis=0)
        wrong = max(1 - numbers[0] if column == 1 else numbers[column - 1], limit)
        slack = wrong * by_chance(min(limit / wrong, 0.5), max(1, round(printings * len(found))))
        made.append(at_most(f"{what}: {name} wrong in silence", float(numbers[column]), round(limit + slack, 3)))
    return made
