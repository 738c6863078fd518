"""How often claims of a figure are called seen: without any effect, with that of its paper, and at their border.

The code that ships reads made-up launches; nothing is drawn. At the border, the hardest case, five claims of a figure
are judged together; the true value of each is exactly at its border.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from downbeat_papers.claims import Finding
from downbeat_papers.evidence import Evidence, difference, every, factor_of, held_out, mean_of, some
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import judge
from downbeat_papers.site import Site

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import kinds, printed
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.kinds import Kind
from tests.statistics.strangers import cause_of
from tests.statistics.worlds import WORLDS, Maker, World

LAUNCHES = Site.launches  # the default of downbeat reproduce
LEAST = 2  # experiments
SHARE = 80  # experiments asked for, for one here, which takes much longer than in other families


def shown(figure: str, world: World, maker: Maker) -> dict[str, bool | None]:
    """Returns the judgment on each claim of a figure in one experiment."""
    judged = judge(FIGURES[figure].findings(world(maker)))
    return {one.finding.claim: one.agrees for one in judged if one.finding.is_claim}


@dataclass(frozen=True)
class Shares:
    """How often the claims of a figure were seen, falsely seen and denied.

    Attributes:
        claims: that launches decide.
        false: share of the experiments without any effect in which any claim is seen.
        power: share of those with the paper's effect in which a claim is seen, of the claim with the least.
        least: that claim.
        denied: share of those with the paper's effect in which any claim is not seen.
    """

    claims: int
    false: float
    power: float
    least: str
    denied: float


def shares(figure: str, world: World, random: np.random.Generator, experiments: int, launches: int) -> Shares:
    """Simulates a figure."""
    seen: Counter[str] = Counter()
    false = denied = 0
    for _ in range(experiments):
        false += True in shown(figure, world, Maker(random, launches, effect=False)).values()
        answers = shown(figure, world, Maker(random, launches, effect=True))
        seen.update({claim: int(agrees is True) for claim, agrees in answers.items()})
        denied += False in answers.values()
    least = min(seen, key=seen.__getitem__)
    return Shares(len(seen), false / experiments, seen[least] / experiments, least, denied / experiments)


def simulate(experiments: int) -> Findings:
    """Returns for each figure how often any claim is falsely seen, and how often each is seen with its effect."""
    experiments = max(experiments // SHARE, LEAST)
    random = np.random.default_rng(2026)
    found: dict[str, Shares] = {}
    for figure, world in WORLDS.items():
        show_progress(f"claims of {figure}")
        found[figure] = shares(figure, world, random, experiments, LAUNCHES)
    rows = [(name, one.claims, one.false, one.power, one.denied, one.least) for name, one in found.items()]
    title = f"Claims of figures, {LAUNCHES} launches, {experiments} experiments without and with the paper's effect"
    columns = (
        "figure",
        "claims",
        "any falsely seen",
        "seen with the effect",
        "any denied",
        "the claim seen least often",
    )
    false, power = 0.05, 0.9
    mean = float(np.mean([one.false for one in found.values()]))
    promises: list[Promise] = [at_most("all figures: any claim seen without effect", mean, false)]
    most, least = false + by_chance(false, experiments), power - by_chance(power, experiments)
    for name, one in found.items():
        promises.append(at_most(f"{name}: any claim seen without effect", one.false, most))
        promises.append(at_least(f"{name}: every claim seen with the paper's effect", one.power, least))
    return Findings([Table(title, columns, rows)], promises)


CLAIMS = 5  # of a figure
BORDER_LAUNCHES = (3, 5, 10)
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


def simulate_border(experiments: int) -> Findings:
    """Returns how often any of five claims at their border is called seen, or not seen."""
    random = np.random.default_rng(2026)
    count = max(experiments // 5, 20)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    limit = 0.05 + by_chance(0.05, count)
    for kind, draw in KINDS.items():
        show_progress(f"claims at the border: {kind}")
        shares = [wrong(random, draw, launches, count) for launches in BORDER_LAUNCHES]
        rows.append((kind, *shares))
        promises.append(at_most(f"claims at the border, {kind}: any seen or not seen", max(shares), limit))
    title = f"{CLAIMS} claims of a figure at their border, judged together: share in which any is seen or not seen"
    table = Table(title, ("claim on", *(f"{one} launches" for one in BORDER_LAUNCHES)), rows)
    return Findings([table], promises)


# Of launches: what no test presumes.
STRANGE = (kinds.NORMAL, kinds.SKEWED[0], kinds.MIXED[2], kinds.RUNS[2], *kinds.CORRELATED[:2])
MORE_LAUNCHES = (3, 5, 10, 20, 40)


@dataclass(frozen=True)
class AtBorder:
    """Shares of experiments: in which any of five claims at their border is seen, or not seen, or so in silence."""

    seen: float
    denied: float
    silent: float


def at_border(random: np.random.Generator, kind: Kind, launches: int, experiments: int) -> AtBorder:
    """Returns the verdicts on claims at their border, each of launches of its own, judged together."""
    drawn = [kind.draw(random, experiments, launches) for _ in range(CLAIMS)]
    seen = denied = silent = 0
    for experiment in range(experiments):
        judged = judge([Finding("", "", "", factor_of(np.exp(one.logs[experiment])).above(1.0)) for one in drawn])
        seen += any(one.agrees is True for one in judged)
        denied += any(one.agrees is False for one in judged)
        silent += any(
            not printed.names_cause(printed.text_alone(one.because), launches, cause_of(kind, of, experiment))
            for one, of in zip(judged, drawn, strict=True)
            if one.agrees is not None
        )
    return AtBorder(seen / experiments, denied / experiments, silent / experiments)


def simulate_strange(experiments: int) -> Findings:
    """Returns how often claims at their border get a verdict from launches of strange kinds, and in silence."""
    random = np.random.default_rng(2026)
    count = max(experiments // 80, 20)
    limit = 0.05 + by_chance(0.05, count)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for kind, launches in itertools.product(STRANGE, MORE_LAUNCHES):
        show_progress(f"claims at the border: {kind.name}")
        found = at_border(random, kind, launches, count)
        rows.append((kind.name, launches, found.seen, found.denied, found.silent))
        promises.append(
            at_most(f"{kind.name}, {launches} launches: claims at their border in silence", found.silent, limit)
        )
    title = (
        f"{CLAIMS} claims at their border, by kinds of launches: share in which any is seen, not seen, or so in silence"
    )
    return Findings([Table(title, ("kind", "n", "seen", "not seen", "silent"), rows)], worst_of(promises))
