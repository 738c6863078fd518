"""Whether launches detect what `compare` prints that they do, and what it prints of sessions that deviate.

An experiment with equal sides is printed; others are drawn with the difference that it names, and judged by what ships.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from downbeat.comparison.facts import MORE_LAUNCHES, next_step
from downbeat.comparison.judging import powers_of
from downbeat.data.cells import STEP
from downbeat.output.words import long
from downbeat.statistics.series import LEFT_BY_INTERPOLATION
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import MARGIN, MIN_LAUNCHES, Comparison, judge_together

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.printed import METRIC, TIME, Printed, cells_of, compare_apart, compare_pairs

POWER, EFFECT = 0.87, 1.05
PRINTED = 400  # a fraction of --experiments: each prints an experiment
DRAWN = 40  # for each that is printed
SHARED = 0.05  # deviation of a launch that both sides of a pair share


@dataclass(frozen=True)
class Design:
    """Launches of both sides.

    Attributes:
        deviation: of a launch, or of the ratio of a pair.
        launches: of each side.
        paired: whether they are pairs.
        hidden: what the step of the clock hides, a share of the time.
    """

    deviation: float
    launches: int
    paired: bool
    hidden: float = 0.0

    def logs(self, random: np.random.Generator, ratio: float, launches: int = 0) -> np.ndarray:
        """Draws logarithms of A and B, shape (2, launches)."""
        shape = (2, launches or self.launches)
        if not self.paired:
            return random.normal([[0.0], [math.log(ratio)]], self.deviation, shape)
        a = random.normal(0, SHARED, shape[1])
        return np.array([a, a + math.log(ratio) + random.normal(0, self.deviation, shape[1])])

    def printed(self, random: np.random.Generator) -> Printed:
        """Returns what is printed of an experiment whose sides are equal."""
        step = {f"{METRIC}_{STEP}": self.hidden * TIME / (2 * LEFT_BY_INTERPOLATION)}
        sides = [cells_of(side, None, **step) for side in self.logs(random, 1.0)]
        return (compare_pairs if self.paired else compare_apart)(sides[0], sides[1])

    def judged(self, random: np.random.Generator, ratio: float, launches: int = 0) -> Comparison:
        """Returns the comparison of one experiment."""
        a, b = np.exp(self.logs(random, ratio, launches))
        return (compare_paired if self.paired else compare_independent)(a, b, hidden=self.hidden)

    def found(self, random: np.random.Generator, ratio: float, launches: int = 0) -> float:
        """Returns the share of experiments in which the difference is found."""
        return float(np.mean([self.judged(random, ratio, launches).verdict == "slower" for _ in range(DRAWN)]))


DESIGNS: Sequence[Design] = (
    *(
        Design(deviation, launches, paired)
        for paired in (True, False)
        for deviation in (0.002, 0.01, 0.05)
        for launches in (5, 7, 10, 20)
    ),
    *(Design(deviation, 10, paired, 0.01) for paired in (True, False) for deviation in (0.002, 0.01, 0.02)),
)


def simulate(experiments: int) -> Findings:
    """Returns how often the differences are found that experiments say they detect, with the launches they ask for."""
    random = np.random.default_rng(2026)
    count = max(experiments // PRINTED, 5)
    rows: list[tuple[str | float, ...]] = []
    promises: list[Promise] = []
    for one in DESIGNS:
        name = "pairs" if one.paired else "independent"
        show_progress(f"power, {name}, {one.launches} launches, {one.deviation:.1%}")
        prints = [one.printed(random) for _ in range(count)]
        ratios = [each.detectable[0] for each in prints]
        needed = [int(each.needed[0]) for each in prints]
        found = [one.found(random, ratio) for ratio in ratios]
        enough = [one.found(random, EFFECT, launches) for launches in needed]
        hidden = f", {one.hidden:.0%} hidden" if one.hidden else ""
        figures = float(np.median(ratios)) - 1, float(np.mean(found)), float(np.median(needed)), float(np.mean(enough))
        rows.append((f"{name}{hidden}", f"{one.deviation:.1%}", one.launches, *figures))
        what = f"{name}{hidden}, {one.deviation:.1%}, {one.launches} launches"
        for shares, promised in (
            (found, "the difference that they detect is found"),
            (enough, "5 % found with the launches asked for"),
        ):
            error = float(np.std(shares, ddof=1)) / math.sqrt(count)  # what is printed differs more than what is drawn
            promises.append(at_least(f"{what}: {promised}", float(np.mean(shares)), POWER - 3 * error))
        promises.append(at_least(f"{what}: launches asked for", min(needed), MIN_LAUNCHES))
    table = Table(
        "Experiments with equal sides: the difference that they say they detect with a probability of 90 %, median,\n"
        "and how often it is found in others; the launches that 5 % takes, and how often it is found with them",
        ("launches", "deviate by", "n", "detect", "found", "5 % takes", "found"),
        rows,
    )
    return Findings([table, *assumptions(random, experiments, promises)], worst_of(promises))


SESSION = 0.02  # the deviation of sessions for which a share is printed
POINTS = 0.07  # by which the share may be off
SAID = re.compile(r"if sessions deviated by 2 %, (?:at most |about )?(\d+) % of identical cells")


def assumptions(random: np.random.Generator, experiments: int, promises: list[Promise]) -> list[Table]:
    """Returns the share of equal cells that are called different if sessions deviate, as printed and as it is."""
    rows: list[tuple[str | float, ...]] = []
    count = max(experiments // (2 * PRINTED), 5)
    for deviation in (0.001, 0.003, 0.005, 0.01, 0.02, 0.05):
        for launches in (5, 10, 30):
            show_progress(f"sessions that deviate, {launches} launches, {deviation:.1%}")
            one = Design(deviation, launches, paired=False)
            texts = [SAID.search(one.printed(random).text) for _ in range(count)]
            said = float(np.mean([math.nan if text is None else int(text[1]) / 100 for text in texts]))
            apart = np.exp(random.normal(0, math.sqrt(2) * SESSION, experiments // 10))
            different = [one.judged(random, ratio).verdict in ("faster", "slower") for ratio in apart]
            measured = float(np.mean(different))
            rows.append((f"{deviation:.1%}", launches, said, measured))
            off = abs(said - measured)
            limit = POINTS + by_chance(0.5, len(different)) / 2
            promises.append(at_most(f"{deviation:.1%}, {launches} launches: share called different is off", off, limit))
    title = "Two sessions that deviate by 2 %: equal cells called different, as `assumes` has it, and as it is"
    return [Table(title, ("launches deviate by", "n", "printed", "measured"), rows)]


CELLS = 30  # of an experiment whose end says what more launches would show
SAID_STEP = re.compile(r"^(\d+) launches would show 5 % in (?:all (\d+)|(\d+) of the \d+|the) open.*takes (\d+)$")


def simulate_next_step(experiments: int) -> Findings:
    """Returns what share of the open cells is decided by the launches that the last screen names.

    The second experiment is another one, in truth 5 % apart in all cells, or nowhere.
    """
    random = np.random.default_rng(2026)
    count = max(experiments // 400, 8)
    rows: list[tuple[str | float, ...]] = []
    promises: list[Promise] = []
    for paired, deviation, launches in itertools.product((True, False), (0.02, 0.03, 0.05), (10, 20)):
        name = f"{'pairs' if paired else 'independent'}, {deviation:.0%}, {launches} launches"
        show_progress(f"next step, {name}")
        one = Design(deviation, launches, paired)
        shown, equal, said = [], [], []
        for _ in range(count):
            drawn = judge_together([one.judged(random, 1.0) for _ in range(CELLS)])
            left = [each for each in drawn if each.reason in MORE_LAUNCHES]
            found = powers_of(left, CELLS)
            needed, alike = ([each[name] for each in found] for name in ("launches_needed", "launches_alike"))
            step = SAID_STEP.search(long(next_step(needed, alike, MARGIN, launches)))
            if not step:  # these launches would have shown it, or the machine is too noisy
                continue
            promised = int(step[2] or step[3] or 1)
            verdicts, same = (
                [each.verdict for each in judge_together([one.judged(random, ratio, int(number)) for _ in drawn])]
                for ratio, number in ((EFFECT, step[1]), (1.0, step[4]))
            )
            shown.append(verdicts.count("slower") / CELLS / (promised / len(left)))
            equal.append(same.count("equivalent") / CELLS)
            said.append((int(step[1]), promised / len(left), int(step[4])))
        if len(said) < 2:
            continue
        rows.append((name, *np.mean(said, axis=0), float(np.mean(shown)), float(np.mean(equal))))
        for shares, what in ((shown, "decided of those promised, if 5 % is true"), (equal, "equivalent, if all are")):
            error = float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
            promises.append(at_least(f"{name}: {what}", float(np.mean(shares)), POWER - 3 * error))
    table = Table(
        f"{CELLS} equal cells, and what the last screen says of those that are open: so many launches show 5 % in a\n"
        "share of them; so many show that none differs. Then other experiments: decided over promised if the ratio is\n"
        "1.05, and equivalent if it is 1",
        ("launches", "5 %", "in", "none", "decided / promised", "equivalent"),
        rows,
    )
    return Findings([table], worst_of(promises))
