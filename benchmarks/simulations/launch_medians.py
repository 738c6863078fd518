"""How often 95 % intervals over several launches hold the truth.

Launches deviate by 5 %, samples within one by 5 % with autocorrelation 0.6, 2 % of them are outliers.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from downbeat.statistics.location import Interval, geometric_mean_interval
from downbeat.statistics.median_interval import MedianInterval, median_interval

from benchmarks.promises import covers
from benchmarks.simulations.findings import Findings, Table, show_progress
from benchmarks.simulations.simulated import simulate_launches

SAMPLES = 100  # per launch
LAUNCHES = (5, 10, 24)
PROMISED = "t on logs of launch medians"


def simulate(experiments: int) -> Findings:
    """Returns what each method covers."""
    random = np.random.default_rng(2026)
    covered: list[dict[str, float]] = []
    for launches in LAUNCHES:
        show_progress(f"intervals over {launches} launches")
        covered.append(coverages(random, launches, experiments // 2))
    rows: list[tuple[str | float, ...]] = [(name, *(each[name] for each in covered)) for name in covered[0]]
    title = f"Coverage of 95 % intervals, {SAMPLES} samples per launch; 5 % between launches, AR(1) 0.6, 2 % outliers"
    table = Table(title, ("interval", *(f"{launches} launches" for launches in LAUNCHES)), rows)
    return Findings([table], [covers(f"{PROMISED}, 10 launches", covered[LAUNCHES.index(10)][PROMISED])])


def coverages(random: np.random.Generator, launches: int, experiments: int) -> dict[str, float]:
    """Returns the share of experiments in which each method's interval holds the truth."""
    held: Counter[str] = Counter()
    for _ in range(experiments):
        samples = simulate_launches(random, launches, SAMPLES)
        medians = np.median(samples, axis=1)
        found: dict[str, Interval | MedianInterval] = {
            PROMISED: geometric_mean_interval(medians),
            "order statistics of launch medians": median_interval(medians),
            "all samples pooled": median_interval(samples.ravel()),
            "one launch": median_interval(samples[0]),
        }
        held.update({name: int(one.low <= 1 <= one.high) for name, one in found.items()})
    return {name: count / experiments for name, count in held.items()}
