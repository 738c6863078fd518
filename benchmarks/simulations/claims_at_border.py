"""How often the tests behind claims of figures are wrong in the hardest case: at the border of a claim.

Five claims of a figure are judged together; the true value of each is exactly at its border.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from downbeat_papers.claims import Finding
from downbeat_papers.evidence import Evidence, difference, every, factor_of, held_out, mean_of, some
from downbeat_papers.judgement import judge

from benchmarks.promises import at_most, by_chance
from benchmarks.simulations.findings import Findings, Table, show_progress

CLAIMS = 5  # of a figure
LAUNCHES = (3, 5, 10)
DEVIATION = 0.05  # of launches
PLACES = 6  # sizes, barriers, pairs of algorithms

Draw = Callable[[np.random.Generator, int], Evidence]

KINDS: dict[str, Draw] = {
    "a mean": lambda random, n: mean_of(random.normal(1, DEVIATION, n)).above(1.0),
    "a ratio within launches": lambda random, n: factor_of(random.lognormal(0, DEVIATION, n)).below(1.0),
    "a ratio between two runs": lambda random, n: difference(
        *map(factor_of, random.lognormal(0, DEVIATION, (2, n)))
    ).above(1.0),
    "within two borders": lambda random, n: factor_of(random.lognormal(0, DEVIATION, n)).within(1.0, 2.0),
    "any of six places": lambda random, n: some(
        factor_of(one).above(1.0) for one in random.lognormal(0, DEVIATION, (PLACES, n))
    ),
    "two parts, one of them right": lambda random, n: every(
        (
            factor_of(random.lognormal(0, DEVIATION, n)).above(1.0),
            factor_of(random.lognormal(1, DEVIATION, n)).above(1.0),
        )
    ),
    "a direction that half of the launches choose": lambda random, n: mean_of(
        held_out(random.normal(0, DEVIATION, (n + n % 2, PLACES))).mean(axis=1)
    ).above(0.0),
}


def wrong(random: np.random.Generator, draw: Draw, launches: int, experiments: int) -> float:
    """Returns the share of experiments in which any claim at its border gets a verdict, seen or not seen."""
    decided = 0
    for _ in range(experiments):
        judged = judge([Finding("", "", "", draw(random, launches)) for _ in range(CLAIMS)])
        decided += any(one.agrees is not None for one in judged)
    return decided / experiments


def simulate(experiments: int) -> Findings:
    """Returns how often any of five claims at their border is called seen, or not seen."""
    random = np.random.default_rng(2026)
    count = max(experiments // 5, 20)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    limit = 0.05 + by_chance(0.05, count)
    for kind, draw in KINDS.items():
        show_progress(f"claims at the border: {kind}")
        shares = [wrong(random, draw, launches, count) for launches in LAUNCHES]
        rows.append((kind, *shares))
        promises.append(at_most(f"claims at the border, {kind}: any seen or not seen", max(shares), limit))
    title = f"{CLAIMS} claims of a figure at their border, judged together: share in which any is seen or not seen"
    return Findings([Table(title, ("claim on", *(f"{one} launches" for one in LAUNCHES)), rows)], promises)
