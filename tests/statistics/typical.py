"""False verdicts about the typical ratio, and what its interval holds, in worlds of the second audit of the methods.

Ratios of pairs, B = A in truth: without memory (normal, floors with a tail, modes), and with it (runs, correlated
launches, a shift amid the run). What is wrong is said by the data, covered by the standing line alone, or silent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together
from scipy import special

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import kinds, printed
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.kinds import Drawn, Kind, above_floor, correlated, mixture
from tests.statistics.simulated import Floats

CELLS = 10
COUNTS = (6, 12, 35)
READ = 20  # experiments with a false verdict whose output is read, of a world
FALSE, HOLDS = 0.04, (0.93, 0.98)


def lognormal(sigma: float) -> kinds.Draw:
    """Returns a function that draws launches above a floor, with a log-normal tail of 3 %."""
    return above_floor(lambda places: np.asarray(np.exp(sigma * special.ndtri(places))), 0.03)


def pareto(places: Floats) -> Floats:
    """Returns quantiles of a Pareto distribution with the exponent 1.1."""
    return np.asarray((1 - places) ** (-1 / 1.1) - 1)


def shifted(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
    """Draws launches that shift by 5 % at a random place; 0 is in the middle of both levels."""
    place = random.integers(1, launches, (experiments, 1))
    return Drawn(kinds.normal(random, experiments, launches).logs + 0.05 * ((np.arange(launches) >= place) - 0.5), {})


def one_over_f(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
    """Draws launches whose power falls with frequency, a part of a much longer series."""
    length = 4096
    powers = np.sqrt(np.maximum(np.arange(length // 2 + 1), 1))
    parts = random.normal(size=(2, experiments, powers.size)) / powers
    parts[:, :, 0] = 0
    series = np.fft.irfft(parts[0] + 1j * parts[1], length)
    return Drawn(kinds.AR_DEVIATION * (series / series.std())[:, :launches], {})


WITHOUT_MEMORY: Sequence[Kind] = (
    kinds.NORMAL,
    *(Kind(f"floor + LN({sigma:g})", lognormal(sigma), rare=True) for sigma in (0.5, 1.0, 1.5)),
    Kind("floor + Pareto(1.1)", above_floor(pareto, 0.03), rare=True),
    mixture(0.15, 1.15),
    mixture(0.04, 1.6),
)
WITH_MEMORY: Sequence[Kind] = (
    *(mixture(0.12, 1.25, run) for run in (4, 12)),
    *(Kind(f"AR {r1:g}", correlated(r1), in_order=True) for r1 in (0.5, 0.7, 0.9, 0.97)),
    Kind("1/f", one_over_f, in_order=True),
    Kind("shift of 5 %", shifted, in_order=True),
)


def is_false(one: Comparison) -> bool:
    """Whether equal sides are called different."""
    return one.verdict in ("faster", "slower")


def world(random: np.random.Generator, kind: Kind, launches: int, experiments: int) -> tuple[float | str, ...]:
    """Returns shares: the interval holds, a verdict is false, any of ten is; of the false ones what names the cause."""
    drawn = kind.draw(random, experiments * CELLS, launches)
    found = [compare_paired(np.ones(launches), np.exp(logs)) for logs in drawn.logs]
    holds = np.mean([one.ratio.low <= 1 <= one.ratio.high for one in found])
    false = [number for number, one in enumerate(found) if is_false(one)]
    families = [judge_together(found[i : i + CELLS]) for i in range(0, len(found), CELLS)]
    any_false = np.mean([any(map(is_false, family)) for family in families])
    causes: Counter[str] = Counter()
    for number in false[:READ]:
        text = printed.compare_pairs(printed.cells_of(np.zeros(launches)), printed.cells_of(drawn.logs[number]))
        missed = drawn.missed(number)
        causes[printed.said(text, printed.Cause(missed, kind.rare, kind.in_order, kind.run))] += 1
    share = len(false) / len(found)
    said = (share * causes[name] / max(causes.total(), 1) for name in (printed.DATA, printed.STANDING, printed.SILENT))
    return (float(holds), share, float(any_false), *map(float, said))


def drifting(random: np.random.Generator, times: float, experiments: int) -> float:
    """Returns how often a difference that drifts by 10 % in 10 launches is decided, twelve such cells together."""
    decided = 0
    for _ in range(experiments):
        noise = np.exp(random.normal(0, 0.01, (12, 2, 10)))
        cells = [compare_paired(a, times * b * np.linspace(1, 1.1, 10)) for a, b in noise]
        decided += all(one.verdict == "slower" for one in judge_together(cells))
    return decided / experiments


def unequal(random: np.random.Generator, counts: tuple[int, int], experiments: int) -> tuple[float, float]:
    """Returns what the interval of two equal sides holds of which one deviates 20 times as much, and false verdicts."""
    found = []
    for _ in range(experiments):
        a, b = (np.exp(random.normal(0, s, n)) for s, n in zip((0.2, 0.01), counts, strict=True))
        found.append(compare_independent(a, b))
    return float(np.mean([one.ratio.low <= 1 <= one.ratio.high for one in found])), float(
        np.mean([*map(is_false, found)])
    )


def simulate(experiments: int) -> Findings:
    """Returns what holds in each world, and the promises on those without memory."""
    random = np.random.default_rng(2026)
    count = max(experiments // 20, 20)
    rows: list[tuple[str | float, ...]] = []
    promises: list[Promise] = []
    for kind in (*WITHOUT_MEMORY, *WITH_MEMORY):
        for launches in COUNTS:
            show_progress(f"typical ratio, {kind.name}, {launches} launches")
            found = world(random, kind, launches, count)
            rows.append((kind.name, launches, *found))
            if kind in WITH_MEMORY:
                continue
            holds, false, any_false = map(float, found[:3])
            chance = by_chance(FALSE, count * CELLS)
            what = f"{kind.name}, {launches} launches"
            promises.append(at_most(f"{what}: false verdicts on the typical ratio", false, FALSE + chance))
            low, high = HOLDS[0] - chance, HOLDS[1] + chance
            promises.append(at_least(f"{what}: interval of the typical ratio holds", holds, low))
            promises.append(at_most(f"{what}: interval of the typical ratio is not wider", holds, high))
            if kind is kinds.NORMAL and launches >= 12:
                most = 0.05 + by_chance(0.05, count)
                promises.append(at_most(f"{what}: any of {CELLS} cells called different", any_false, most))
    for counts in ((5, 40), (12, 12), (40, 5)):
        holds, false = unequal(random, counts, count * CELLS)
        rows.append(
            (f"apart, 1:20, {counts[0]} and {counts[1]}", min(counts), holds, false, math.nan) + (math.nan,) * 3
        )
        promises.append(
            at_most(f"unequal variances, {counts}: false verdicts", false, FALSE + by_chance(FALSE, count * CELLS))
        )
    for times in (15.0, 2000.0):
        promises.append(at_least(f"{times:g} times with 10 % drift: decided", drifting(random, times, count), 1.0))
    columns = ("ratios of pairs", "n", "holds", "false", "any of 10", "by the data", "standing", "silent")
    title = "Equal sides: the interval of the typical ratio holds 1; false verdicts, and what names their cause"
    return Findings([Table(title, columns, rows)], worst_of(promises))
