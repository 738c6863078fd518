"""Judges the claims of a figure together, so that the probability of any wrong verdict is at most 5 %."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from downbeat.statistics.holm import holm
from downbeat.statistics.kinds import Series, kind_lines, resemblance_lines
from downbeat.statistics.slow_launches import unseen_text
from downbeat.text import counted

from downbeat_papers.claims import Finding
from downbeat_papers.evidence import Evidence

LEVEL = 0.05  # probability of any wrong verdict among the claims of a figure
CONFIRMED, NOT_CONFIRMED, UNDECIDED = "confirmed", "not confirmed", "undecided"
VERDICTS = {True: CONFIRMED, False: NOT_CONFIRMED, None: UNDECIDED}
RULE = (
    "A claim is confirmed if the launches show it, each of them counting once; it is not confirmed if they show that "
    "it does not hold. The probability of even one such wrong verdict, among all claims of a figure, is at most "
    f"{LEVEL:.0%} (t tests, corrected by Holm's procedure). Otherwise a claim is undecided, with the reason. Where the "
    "paper gives the size of an effect, at least half of it must be shown; of a factor, its square root."
)


@dataclass(frozen=True)
class Judged:
    """A finding and its verdict."""

    finding: Finding  # the claim, or a number to compare
    agrees: bool | None  # None: undecided
    because: str = ""  # the reason of the verdict: p-value, launches and number of claims, or the obstacle
    p_for: float = math.nan  # corrected p-value of the hypothesis that the claim is wrong; NaN: not tested
    p_against: float = math.nan  # corrected p-value of the hypothesis that the claim is right; NaN: not tested

    @property
    def verdict(self) -> str:
        """The verdict in words; empty: a number to compare."""
        return VERDICTS[self.agrees] if self.finding.is_claim else ""

    @property
    def reason(self) -> str:
        """The reason why the claim is undecided, short enough that several claims share it; empty: it is decided."""
        if self.agrees is not None:
            return ""
        return self.because if math.isnan(self.p_for) else "the launches do not decide"

    @property
    def tested(self) -> str:
        """The estimate, its interval and its border; empty: not tested."""
        evidence = self.finding.evidence
        if not isinstance(evidence, Evidence):
            return ""
        return f"{evidence.described}{f'; {evidence.scope}' if evidence.scope else ''}"


def judge(findings: Sequence[Finding], obstacle: str = "") -> list[Judged]:
    """Judges the claims of a figure together.

    Each claim has two one-sided tests, one for it and one against it. The tests of each direction are corrected
    together by Holm's procedure, and p-values are doubled: the probability that any wrong claim is called confirmed is
    at most 2.5 %, and the probability that any right claim is called not confirmed is at most 2.5 %, too.

    Args:
        findings: findings of the figure.
        obstacle: the reason why none of the claims can be decided; empty: they can.
    """
    tested = [finding.evidence for finding in findings if isinstance(finding.evidence, Evidence)]
    count = sum(not math.isnan(evidence.for_it) for evidence in tested)
    for_it = iter(corrected(evidence.for_it for evidence in tested))
    against = iter(corrected(evidence.against for evidence in tested))
    judged = []
    for finding in findings:
        if isinstance(finding.evidence, Evidence):
            verdict = judge_claim(finding, finding.evidence, next(for_it), next(against), count)
            judged.append(Judged(finding, None, obstacle) if obstacle else verdict)
        else:
            judged.append(Judged(finding, None, finding.evidence.reason if finding.evidence else ""))
    return judged


def corrected(p_values: Iterable[float]) -> list[float]:
    """Corrects one-sided p-values for their number (Holm) and doubles them, since two directions are tested."""
    return [value if math.isnan(value) else min(1.0, 2 * value) for value in map(float, holm(list(p_values)))]


def judge_claim(finding: Finding, evidence: Evidence, for_it: float, against: float, count: int) -> Judged:
    """Judges a claim by its p-values, which are corrected for the number of claims, `count`."""
    if math.isnan(for_it) or math.isnan(against):
        return Judged(finding, None, f"{counted(evidence.launches, 'launch')}, of which no error can be known")
    correction = f", corrected for {count} claims" if count > 1 else ""
    launches = f"{evidence.launches} launches{correction}"
    kinds = "".join(f"; {line}" for line in lines_on_kinds(evidence))
    # Slow launches that were not observed could change a decided verdict.
    limits = f"{kinds}; {unseen_text(evidence.launches)}"
    if for_it <= LEVEL:
        return Judged(finding, True, f"p = {for_it:.2g}, {launches}{limits}", for_it, against)
    if against <= LEVEL:
        return Judged(finding, False, f"p = {against:.2g}, {launches}{limits}", for_it, against)
    undecided = f"the launches do not decide it, p = {for_it:.2g} for it and {against:.2g} against it"
    return Judged(finding, None, f"{undecided}, {launches}{kinds}", for_it, against)


def lines_on_kinds(evidence: Evidence) -> list[str]:
    """Returns lines on slow launches, and on the correlation of consecutive launches, in the runs of the evidence."""
    lines = []
    for values in evidence.series:
        launches = tuple(range(1, values.size + 1))
        if np.all(values > 0):
            lines += kind_lines([Series("", "", launches, values)])
        elif np.ptp(values) > 0:  # values around 0 have no ratios, so only their correlation is tested
            deviations = (values - values.mean()) / np.ptp(values)
            lines += resemblance_lines([Series("", "", launches, np.exp(deviations))])
    return lines
