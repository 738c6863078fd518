"""Verdicts on operations that take few steps of the clock: medians as they are read, and interpolated.

10 launches of 1,000 samples on 2 ranks, whose clocks advance by 10 ns; each rank's time deviates by 2 ns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, grouped_median
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.verdicts import MARGIN, Comparison

from benchmarks.promises import at_least
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import simulate_stepped_launches

LAUNCHES, SAMPLES, RANKS = 10, 1000, 2
STEP, NOISE = 10.0, 2.0  # ns
TRUTHS = ((202.5, 203.5), (98.3, 101.7), (153.2, 156.7), (200.0, 200.0), (52.1, 53.9))  # A and B, ns
EACH = 25  # a fraction of --experiments: each draws 80,000 stamps


def as_read(a: np.ndarray, b: np.ndarray) -> Comparison:
    """Returns the comparison of medians as they are read."""
    return compare_paired(np.median(a, axis=1), np.median(b, axis=1))


def interpolated(a: np.ndarray, b: np.ndarray) -> Comparison:
    """Returns the comparison of interpolated medians, with what the step hides."""
    step = STEP / RANKS
    first, second = ([grouped_median(launch, step) for launch in side] for side in (a, b))
    return compare_paired(first, second, hidden=2 * LEFT_BY_INTERPOLATION * step)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Comparison]] = {"as read": as_read, "interpolated": interpolated}


def is_right(found: Comparison, ratio: float) -> bool:
    """Whether a verdict is not wrong; undecided never is."""
    alike = 1 / (1 + MARGIN) <= ratio <= 1 + MARGIN
    right = {"equivalent": alike, "slower": ratio > 1, "faster": ratio < 1}
    return right.get(found.verdict, True) and (not alike or found.verdict in ("equivalent", "undecided"))


def simulate(experiments: int) -> Findings:
    """Returns how often verdicts are right and intervals hold the true ratio."""
    random = np.random.default_rng(2026)
    count = max(experiments // EACH, 20)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for truth in TRUTHS:
        show_progress(f"steps of the clock, {truth[0]} and {truth[1]} ns")
        ratio = truth[1] / truth[0]
        sides = [
            [simulate_stepped_launches(random, LAUNCHES, SAMPLES, one, NOISE, STEP, RANKS) for one in truth]
            for _ in range(count)
        ]
        for name, method in METHODS.items():
            found = [method(a, b) for a, b in sides]
            right = sum(is_right(one, ratio) for one in found) / count
            covers = sum(one.ratio.low <= ratio <= one.ratio.high for one in found) / count
            decided = sum(one.verdict != "undecided" for one in found) / count
            estimate = float(np.mean([one.ratio.estimate for one in found]))
            rows.append((f"{truth[0]} / {truth[1]}", name, ratio, estimate, right, covers, decided))
            if name == "interpolated":
                promises += [
                    at_least(f"steps, {truth[0]} / {truth[1]} ns: verdict right", right, 0.95),
                    at_least(f"steps, {truth[0]} / {truth[1]} ns: interval holds the ratio", covers, 0.95),
                ]
    title = (
        f"Verdicts on medians read in steps of {STEP:g} ns, {RANKS} ranks, {LAUNCHES} launches of {SAMPLES} samples, "
        f"{NOISE:g} ns of noise"
    )
    columns = ("A / B, ns", "medians", "true ratio", "estimate", "right", "covers", "decided")
    return Findings([Table(title, columns, rows)], promises)
