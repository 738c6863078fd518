"""Analyzes sessions, the same experiment at different times: their deviation, shifts, trends, and comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, satterthwaite, t_quantile, two_sided
from downbeat.statistics.location import interval_between, logarithms
from downbeat.statistics.power import MIN_DEVIATION, Floats, Spread, VerdictRule, nodes_of, upper_tail
from downbeat.statistics.two_samples import compare_independent
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, MIN_SESSIONS, ROUNDING, Comparison, judge

# Sessions that count: two months of nights. Chosen by hand (tests/statistics/histories.py tests 5 to 700).
MAX_SESSIONS = 60
SEARCHED = 2 * MAX_SESSIONS  # sessions that are searched for shifts
RANK_LEVEL = 0.05  # level of the rank test against sessions; usual
SHIFT_SESSIONS = 6  # sessions on either side of a shift
SHIFT_WINDOW = 80  # sessions that a shift is searched in
MIN_SHIFT = 0.02  # smallest relative change of a shift
# Level of the t test: 0.0 to 0.3 false shifts a year on 730 simulated and 457 real nights; with 1e-3, 3 to 11.
SHIFT_LEVEL = 1e-7
TREND_LEVEL = 0.001  # level of the test for a trend, which is only reported as text


@dataclass(frozen=True)
class Sessions:
    """Sessions of one cell: random effects on logarithms (Searle, Casella and McCulloch 1992, section 3.5).

    Attributes:
        means: mean logarithm of each session's launches, shape (sessions,).
        variance: of these means, including the contribution of launches; NaN for a single session.
        launches: mean of 1 / launches over sessions: `launch_variance` contributes with this factor to `variance`.
        launch_variance: variance between launches within a session, pooled; NaN if no session has two launches.
        launch_freedom: degrees of freedom of `launch_variance`.
    """

    means: NDArray[np.float64]
    variance: float
    launches: float
    launch_variance: float
    launch_freedom: int

    @property
    def deviation(self) -> float:
        """Standard deviation between sessions without the contribution of launches, of logarithms; NaN if unknown.

        It is 0 if launches explain the variance. Verdicts use `variance`, which needs no difference of estimates.
        """
        between_launches = 0.0 if math.isnan(self.launch_variance) else self.launch_variance * self.launches
        return math.sqrt(max(self.variance - between_launches, 0.0)) if not math.isnan(self.variance) else math.nan


@dataclass(frozen=True)
class Shift:
    """A change of level by `logs`, a logarithm, before the session with index `at`."""

    at: int
    logs: float


def last_shift(means: NDArray[np.float64]) -> Shift | None:
    """Finds the last change of level in a series of sessions.

    Like Hunter (Fleming et al. 2023): Student's t test of the best split of a window, repeated after every session, so
    that temporary levels are found too, and restarted after each change. The nominal p-value assumes one split and
    independent sessions, hence the small SHIFT_LEVEL; the change is at least MIN_SHIFT.

    Args:
        means: mean logarithms of sessions, in order of time, shape (sessions,).

    Returns:
        The last change; None without a change.
    """
    last, start = None, 0
    for end in range(2 * SHIFT_SESSIONS, means.size + 1):
        low = max(start, end - SHIFT_WINDOW)
        if end - low >= 2 * SHIFT_SESSIONS and (shift := best_split(means[low:end])):
            last = Shift(low + shift.at, shift.logs)
            start = last.at
    return last


def best_split(values: NDArray[np.float64]) -> Shift | None:
    """Finds the split of values with the largest difference of means; None: it is too small (`last_shift`)."""
    count = values.size
    first = np.arange(1, count)  # numbers of values before a split
    centered = values - values.mean()
    sums = np.cumsum(centered)[:-1]
    between = sums**2 * (1 / first + 1 / (count - first))  # because the total sum is 0
    low, high = SHIFT_SESSIONS - 1, count - SHIFT_SESSIONS  # indices of splits with enough sessions on either side
    split = low + int(np.argmax(between[low:high]))
    # If a split beyond these limits is better, the new level is too short: no shift.
    beyond = between[:low] if split == low else between[high:] if split == high - 1 else between[:0]
    per_value = 1 / first[split] + 1 / (count - first[split])
    logs = -float(sums[split]) * per_value
    if abs(logs) < math.log1p(MIN_SHIFT) or (beyond > between[split]).any():
        return None
    within = max(float((centered**2).sum() - between[split]), 0.0) / (count - 2)
    error = math.sqrt(within * per_value)
    if error > 0 and two_sided(logs, error, count - 2) > SHIFT_LEVEL:
        return None
    return Shift(int(first[split]), logs)


def trend(means: NDArray[np.float64]) -> float:
    """Returns the median slope of a series of sessions, of logarithms per session.

    The Theil-Sen slope (Sen 1968), if the Mann-Kendall test is significant (Kendall 1975, normal approximation) and the
    trend makes at least 2 % over the series.

    Args:
        means: as in `last_shift`.

    Returns:
        Logarithm per session; 0 if not significant.
    """
    count = means.size
    if count < MIN_SESSIONS:
        return 0.0
    i, j = np.triu_indices(count, 1)
    steps = means[j] - means[i]
    score = abs(float(np.sign(steps).sum())) - 1  # corrected for continuity
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    slope = float(np.median(steps / (j - i)))
    significant = 2 * normal_cdf(-score / spread) <= TREND_LEVEL
    return slope if significant and abs(slope) * (count - 1) >= math.log1p(MIN_SHIFT) else 0.0


def since(means: NDArray[np.float64]) -> int:
    """Returns the index of the first session that counts: the last 60 sessions count, but only since the last shift."""
    shift = last_shift(means[-SEARCHED:])
    after = max(0, means.size - SEARCHED) + shift.at if shift else 0
    return max(0, means.size - MAX_SESSIONS, after)


def recent(history: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    """Returns the sessions of a history that count in a comparison, by `since`."""
    looked = history[-SEARCHED:]
    return looked[since(sessions_of(looked).means) :]


def sessions_of(history: Sequence[ArrayLike]) -> Sessions:
    """Estimates the deviation between sessions of a history.

    Cells are not pooled: a session affects all its cells alike, so twenty cells of five sessions are five observations,
    not a hundred.

    Args:
        history: of one cell, an array per session: one number per launch, shape (launches,), any unit, larger than 0.

    Returns:
        The sessions, in their order.

    Raises:
        ValueError: a value is not positive and finite, or a session is empty.
    """
    logs = [logarithms(session) for session in history]
    means = np.array([session.mean() for session in logs])
    freedom = sum(session.size - 1 for session in logs)
    squares = sum(float(((session - session.mean()) ** 2).sum()) for session in logs)
    return Sessions(
        means=means,
        variance=float(means.var(ddof=1)) if means.size > 1 else math.nan,
        launches=float(np.mean([1 / session.size for session in logs])) if logs else math.nan,
        launch_variance=squares / freedom if freedom else math.nan,
        launch_freedom=freedom,
    )


def false_verdicts(error: ArrayLike, freedom: ArrayLike, session_deviation: float, rule: VerdictRule) -> Floats:
    """Computes the share of false differences of a test that ignores sessions, given a deviation between sessions.

    For Welch's test: the variance of the difference of means includes that of two sessions, but the test divides by the
    variance within sessions only.

    Args:
        error: standard error of the difference of logarithms in the test; a number, or shape (n,).
        freedom: its degrees of freedom, rounded down.
        session_deviation: standard deviation of logarithms between sessions.
        rule: that a difference must meet.

    Returns:
        Shape (n,), or (1,).
    """
    spread = Spread.of(error, freedom, rule)
    errors = np.maximum(spread.error, MIN_DEVIATION)[:, np.newaxis]
    s, weights = nodes_of(spread.freedom)
    critical = rule.critical(errors, s, spread.freedom, np.asarray(spread.rule.hidden))[:, 0, :]
    true_errors = np.hypot(errors, math.sqrt(2) * session_deviation)
    shares = 2 * (upper_tail(critical * errors / true_errors) * weights).sum(axis=1)
    return np.asarray(np.where(np.hypot(spread.error, session_deviation) == 0, 0.0, shares))


def compare_across_sessions(
    a: ArrayLike | None,
    b: ArrayLike,
    history: Sequence[ArrayLike],
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    hidden: float = 0.0,
) -> Comparison:
    """Compares B with A, each from one session, or B with all sessions of a history.

    Sessions differ even without changes. So the t test uses the variance of session means from the history, with
    sessions - 1 degrees of freedom (Student 1908). Against the whole history, B is one more observation, with variance
    times (1 + 1 / sessions). If B and A have fewer launches than sessions of the history, the extra variance is added
    (Satterthwaite 1946). `compare_independent` must confirm a verdict, and the wider interval is reported. Sessions may
    have modes (e.g. weekends), so a rank test must confirm a difference too: `seen_before`.

    The history must be comparable to A and B: the same machine, the same use, and no closer in time than A and B.

    Args:
        a: one number per launch, shape (launches,), any unit; larger than 0. None: the history, each session once.
        b: launches of the other side, in the same unit.
        history: an array per session, in order of time, without A and B. The last 60 sessions count, but only since the
            last shift.
        margin: ratios within the margin count as equal.
        confidence: of the interval; determines the level of the tests.
        hidden: largest common error of b - a in all launches, from the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several. With fewer than two sessions it has no
        interval. `sessions` is the number of sessions that count; without A, so is the number of launches of A.

    Raises:
        ValueError: a value is not positive and finite, the margin or the confidence is not valid, or there is neither
            A nor a history.
    """
    sessions = sessions_of(recent(history))
    first = np.exp(sessions.means) if a is None else np.asarray(a, dtype=float)
    alone = compare_independent(first, b, margin, confidence, hidden)
    count = sessions.means.size
    half, p_value, error, freedom = math.nan, math.nan, math.nan, math.nan
    mean = alone.mean
    if count > 1:
        numbers = [] if a is None else [logarithms(first).size]
        numbers.append(logarithms(b).size)
        variances = [(sessions.variance * (2.0 if a is not None else 1 + 1 / count), count - 1)]
        variances += lacking_launches(sessions, numbers)
        error, freedom = math.sqrt(sum(value for value, _ in variances)), satterthwaite(variances)
        half = t_quantile(freedom, 0.5 + confidence / 2) * error
        p_value = max(two_sided(mean, error, freedom), alone.p_value)
        welch = t_quantile(alone.freedom, 0.5 + confidence / 2) * alone.error
        if welch > half:
            half, error, freedom = welch, alone.error, alone.freedom
    seen = seen_before(sessions.means, mean, None if a is not None else float(logarithms(b).mean()))
    return judge(
        dataclasses.replace(
            alone,
            ratio=interval_between(mean, mean - half, mean + half, alone.ratio.count, alone.hidden),
            p_value=p_value,
            adjusted_p_value=p_value,
            rank_p_value=1.0 if seen else alone.rank_p_value,
            error=error,
            freedom=freedom,
            sessions=int(count),
            session_deviation=sessions.deviation,
        )
    )


def seen_before(means: NDArray[np.float64], difference: float, b: float | None) -> bool:
    """Returns true if sessions of a history often differ as much, so that a rank test finds no difference.

    For B against the history, the rank test is significant if at most 5 % of sessions, including B, are as extreme as
    B; with fewer than 20 sessions, none may be. For A against B (`b` is None), it is significant if at most 5 % of all
    differences between two sessions are as large.

    Args:
        means: mean logarithms of sessions.
        difference: b - a, of logarithms.
        b: mean logarithm of B; None: compare differences.
    """
    count = means.size
    if not count:
        return False
    if b is not None:
        as_far = int(min((means >= b).sum(), (means <= b).sum()))
        return 1 + as_far > max(RANK_LEVEL * (count + 1), 1) * (1 + ROUNDING)
    i, j = np.triu_indices(count, 1)
    as_far = int((np.abs(means[j] - means[i]) >= abs(difference)).sum())
    return as_far > (RANK_LEVEL * i.size if RANK_LEVEL * (count + 1) >= 1 else 0)


def lacking_launches(sessions: Sessions, numbers: Sequence[int]) -> list[tuple[float, int]]:
    """Returns the extra variance from having fewer launches than sessions of the history, with degrees of freedom."""
    lack = sum(max(0.0, 1 / number - sessions.launches) for number in numbers)
    if not lack or not sessions.launch_freedom:
        return []
    return [(lack * sessions.launch_variance, sessions.launch_freedom)]
