"""How often identical inputs are called different, and how often a difference of 5 % is found.

Launches deviate by 5 %, samples within one by 5 % with autocorrelation 0.6, 2 % of them are outliers.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together, simultaneous_interval

from benchmarks.promises import Promise, at_least, at_most
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import Deviations, simulate_independent_medians, simulate_paired_medians

SAMPLES = 100  # per launch
FAMILY = 20  # cells


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """Shares of verdicts on B = ratio A."""

    design: str
    launches: int
    ratio: float
    own: float  # deviation of each cell of a launch, in addition to the launch's
    faster: float
    slower: float
    equivalent: float
    undecided: float


def simulate(experiments: int) -> Findings:
    """Returns shares of verdicts, and what Holm's correction leaves of false ones among many cells."""
    random = np.random.default_rng(2026)
    found: list[Verdicts] = []
    for design, launches, ratio, own in [
        *(("paired", launches, ratio, 0.0) for launches in (5, 10) for ratio in (1.0, 1.02, 1.05)),
        *(("paired", 10, 1.05, own) for own in (0.01, 0.02, 0.03)),
        *(("independent", launches, ratio, 0.0) for launches in (5, 10, 24, 30) for ratio in (1.0, 1.05)),
    ]:
        show_progress(f"verdicts, {design}, {launches} launches, ratio {ratio}")
        found.append(verdicts(random, design, launches, ratio, own, experiments if ratio == 1 else experiments // 5))
    show_progress("verdicts, many cells")
    families = [
        share for design in ("paired", "independent") for share in family_errors(random, design, experiments // FAMILY)
    ]
    tables = [
        Table(
            f"Verdicts on B = ratio A, {SAMPLES} samples per launch; 5 % between launches, AR(1) 0.6, 2 % outliers.\n"
            "Two experiments of 10 launches: no test of level 0.05 finds 5 % more often than with 0.59, not even one\n"
            "that knows by how much launches deviate; 30 launches do, or pairs.",
            ("design", "launches", "B/A", "own", "faster", "slower", "equivalent", "undecided"),
            [dataclasses.astuple(one) for one in found],
        ),
        Table(
            f"One false verdict or more among {FAMILY} identical cells, 10 launches",
            ("design", "correction", "share"),
            families,
        ),
    ]
    return Findings(tables, promises(found))


def verdicts(
    random: np.random.Generator, design: str, launches: int, ratio: float, own: float, experiments: int
) -> Verdicts:
    """Returns the shares of verdicts."""
    deviations = Deviations(cell=own)
    counts = Counter(compare(random, design, launches, ratio, deviations).verdict for _ in range(experiments))
    shares = {name: counts[name] / experiments for name in ("faster", "slower", "equivalent", "undecided")}
    return Verdicts(design, launches, ratio, own, **shares)


def compare(
    random: np.random.Generator, design: str, launches: int, ratio: float, deviations: Deviations
) -> Comparison:
    """Returns one comparison of simulated launches."""
    if design == "paired":
        return compare_paired(*simulate_paired_medians(random, launches, SAMPLES, ratio, deviations))
    return compare_independent(*simulate_independent_medians(random, launches, SAMPLES, ratio, deviations))


def family_errors(random: np.random.Generator, design: str, experiments: int) -> list[tuple[str, str, float]]:
    """Returns the shares of comparisons of FAMILY identical cells in which one is called different."""
    false: Counter[str] = Counter()
    for _ in range(experiments):
        alone = [compare(random, design, 10, 1.0, Deviations()) for _ in range(FAMILY)]
        for name, cells in (("each alone", alone), ("Holm", judge_together(alone))):
            false[name] += any(one.verdict in ("faster", "slower") for one in cells)
    return [(design, name, false[name] / experiments) for name in ("each alone", "Holm")]


def promises(found: list[Verdicts]) -> list[Promise]:
    """Returns the promises: 10 pairs or 30 independent launches find a difference of 5 %."""
    enough = {"paired": 10, "independent": 30}
    made = []
    for one in found:
        if one.ratio == 1:
            what = f"false verdicts on identical inputs, {one.launches} launches, {one.design}"
            made.append(at_most(what, one.faster + one.slower, 0.05))
        elif one.ratio == 1.05 and not one.own and one.launches == enough[one.design]:
            made.append(at_least(f"5 % found, {one.launches} launches, {one.design}", one.slower, 0.9))
    return made


# The interval of a cell that was picked from many as the most extreme, which `downbeat report` names.
PAIRS = 10  # of launches
DEVIATION = 0.03  # of a ratio
FAMILIES = (1, 5, 20, 100)  # cells


def simulate_extremes(experiments: int) -> Findings:
    """Returns how often intervals of the most extreme cell hold the truth, alone and for all cells at once.

    Ratios of launch medians of equal cells, 10 pairs of launches, each ratio deviating by 3 %.
    """
    random = np.random.default_rng(2026)
    count = max(experiments // 5, 20)
    rows = []
    for cells in FAMILIES:
        show_progress(f"extremes of {cells}")
        alone = at_once = 0
        for _ in range(count):
            logs = random.normal(0, DEVIATION, (cells, PAIRS))
            picked = compare_paired(np.ones(PAIRS), np.exp(logs[np.abs(logs.mean(axis=1)).argmax()]))
            wide = simultaneous_interval(picked, cells)
            alone += picked.ratio.low <= 1 <= picked.ratio.high
            at_once += wide.low <= 1 <= wide.high
        rows.append((cells, alone / count, at_once / count))
    table = Table(
        f"Intervals of the most extreme of equal cells, {PAIRS} launches: share that holds 1",
        ("cells", "of one alone", "for all at once"),
        rows,
    )
    return Findings(
        [table], [at_least(f"interval of the most extreme of {cells} cells", held, 0.92) for cells, _, held in rows]
    )
