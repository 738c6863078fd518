"""How much sessions deviate, the same experiment at several times, and comparisons across them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, satterthwaite, t_quantile, two_sided
from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.power import LEAST, Floats, Spread, VerdictRule, nodes_of, upper_tail
from downbeat.statistics.two_samples import compare_independent
from downbeat.statistics.verdicts import CONFIDENCE, FEWEST_SESSIONS, MARGIN, ROUNDING, Comparison, judge

MOST_SESSIONS = 60  # two months of nights; choice (tests/statistics/histories.py has 5 to 700)
LOOKED_AT = 2 * MOST_SESSIONS  # for shifts
RANK_LEVEL = 0.05  # usual; of the rank test against sessions
# Of `last_shift`, measured on 730 simulated and 457 real nights: 0.0 to 0.3 false alarms a year; p 1e-3: 3 to 11.
SHIFT_SESSIONS, SHIFT_WINDOW, SHIFT_LEAST, SHIFT_LEVEL = 6, 80, 0.02, 1e-7
TREND_LEVEL = 0.001  # of a line for people, one in a thousand cells by chance; no verdict goes by it


@dataclass(frozen=True)
class Sessions:
    """Sessions of one cell: random effects on logarithms (Searle, Casella and McCulloch 1992, section 3.5).

    Attributes:
        means: of the logarithms of each session's launches, shape (sessions,).
        variance: of these means, the contribution of launches included; NaN of a single session.
        launches: mean of 1 / launches over sessions: the share of the variance between launches in `variance`.
        launch_variance: between launches within a session, pooled; NaN where no session has two.
        launch_freedom: degrees of freedom of that.
    """

    means: NDArray[np.float64]
    variance: float
    launches: float
    launch_variance: float
    launch_freedom: int

    @property
    def deviation(self) -> float:
        """Standard deviation between sessions alone, of logarithms; 0 if launches explain it, NaN if unknown.

        Verdicts rest on `variance`, which is estimated without a difference that could be negative.
        """
        own = 0.0 if math.isnan(self.launch_variance) else self.launch_variance * self.launches
        return math.sqrt(max(self.variance - own, 0.0)) if not math.isnan(self.variance) else math.nan


@dataclass(frozen=True)
class Shift:
    """A change of level by `logs`, a logarithm, before the session `at`, from 0."""

    at: int
    logs: float


def last_shift(means: NDArray[np.float64]) -> Shift | None:
    """The last change of level in a series of sessions.

    As Hunter does (Fleming et al. 2023): Student's t test of the best split of a window, looked at after every session
    as they came, so that a level that was left again counts too; anew after each change. The nominal p-value is of one
    split and of independent sessions, hence SHIFT_LEVEL; the change is SHIFT_LEAST or more.

    Args:
        means: of the logarithms of sessions, in the order of time, shape (sessions,).

    Returns:
        None where there is none.
    """
    found, start = None, 0
    for end in range(2 * SHIFT_SESSIONS, means.size + 1):
        low = max(start, end - SHIFT_WINDOW)
        if end - low >= 2 * SHIFT_SESSIONS and (shift := best_split(means[low:end])):
            found = Shift(low + shift.at, shift.logs)
            start = found.at
    return found


def best_split(values: NDArray[np.float64]) -> Shift | None:
    """The split of values into the most different halves, if these differ as `last_shift` demands."""
    count = values.size
    first = np.arange(1, count)  # numbers of values before a split
    centered = values - values.mean()
    sums = np.cumsum(centered)[:-1]
    between = sums**2 * (1 / first + 1 / (count - first))  # as the whole sum is 0
    low, high = SHIFT_SESSIONS - 1, count - SHIFT_SESSIONS  # places of splits that leave enough on either side
    place = low + int(np.argmax(between[low:high]))
    # A level that is not long enough yet, or was left at once, is best split beyond these places.
    beyond = between[:low] if place == low else between[high:] if place == high - 1 else between[:0]
    per_value = 1 / first[place] + 1 / (count - first[place])
    logs = -float(sums[place]) * per_value
    if abs(logs) < math.log1p(SHIFT_LEAST) or (beyond > between[place]).any():
        return None
    within = max(float((centered**2).sum() - between[place]), 0.0) / (count - 2)
    error = math.sqrt(within * per_value)
    if error > 0 and two_sided(logs, error, count - 2) > SHIFT_LEVEL:
        return None
    return Shift(int(first[place]), logs)


def trend(means: NDArray[np.float64]) -> float:
    """The median slope of a series of sessions, of logarithms per session.

    Theil's and Sen's slope (Sen 1968), if Mann's and Kendall's test finds one (Kendall 1975, the normal approximation)
    and it makes 2 % over the series.

    Args:
        means: as in `last_shift`.

    Returns:
        0 where it is not significant.
    """
    count = means.size
    if count < FEWEST_SESSIONS:
        return 0.0
    i, j = np.triu_indices(count, 1)
    steps = means[j] - means[i]
    score = abs(float(np.sign(steps).sum())) - 1  # corrected for continuity
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    slope = float(np.median(steps / (j - i)))
    significant = 2 * normal_cdf(-score / spread) <= TREND_LEVEL
    return slope if significant and abs(slope) * (count - 1) >= math.log1p(SHIFT_LEAST) else 0.0


def since(means: NDArray[np.float64]) -> int:
    """The index of the first session that counts: of the last 60 those since the last shift."""
    shift = last_shift(means[-LOOKED_AT:])
    after = max(0, means.size - LOOKED_AT) + shift.at if shift else 0
    return max(0, means.size - MOST_SESSIONS, after)


def recent(history: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    """The sessions of a history that count in a comparison, `since`."""
    looked = history[-LOOKED_AT:]
    return looked[since(sessions_of(looked).means) :]


def sessions_of(history: Sequence[ArrayLike]) -> Sessions:
    """The deviation between sessions of a history.

    Cells are not pooled: what a session does, it does to all its cells, so twenty cells of five sessions are five
    observations, not a hundred.

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
    """The share of experiments of the same thing that would be called different if sessions deviated.

    For a test that ignores sessions, as Welch's: the difference of the means has the variance of two sessions beside
    its own, but is divided by its own alone.

    Args:
        error: standard error of the difference of logarithms that the test goes by; a number, or shape (n,).
        freedom: its degrees of freedom; fractions do not count.
        session_deviation: standard deviation of logarithms between sessions.
        rule: that a difference must meet.

    Returns:
        Shape (n,), or (1,).
    """
    each = Spread.of(error, freedom, rule)
    errors = np.maximum(each.error, LEAST)[:, np.newaxis]
    s, weights = nodes_of(each.freedom)
    critical = rule.critical(errors, s, each.freedom, np.asarray(each.rule.hidden))[:, 0, :]
    spread = np.hypot(errors, math.sqrt(2) * session_deviation)
    shares = 2 * (upper_tail(critical * errors / spread) * weights).sum(axis=1)
    return np.asarray(np.where(np.hypot(each.error, session_deviation) == 0, 0.0, shares))


def compare_across_sessions(
    a: ArrayLike | None,
    b: ArrayLike,
    history: Sequence[ArrayLike],
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    hidden: float = 0.0,
) -> Comparison:
    """Compares B with A, each of a session of its own, or B with all sessions of a history.

    Two sessions differ without a cause. The t test that counts has the variance of session means from the history and
    its few degrees of freedom, sessions - 1 (Student 1908); against the history as a whole it is that of one more
    observation, variance (1 + 1 / sessions). Where B and A have fewer launches than the sessions of the history, the
    extra variance is added (Satterthwaite 1946). `compare_independent` must confirm a verdict, and the wider interval
    is reported. Sessions may have modes, as weekends: so a rank test must confirm a difference, `seen_before`.

    The history must be drawn from where A and B are: the same machine in the same use, no closer in time than they are.

    Args:
        a: one number per launch, shape (launches,), any unit; larger than 0. None: the history, each session once.
        b: those of the other side, in the same unit.
        history: an array per session, in the order of time; neither A nor B is among them. The last 60 count, and of
            these the ones since the last shift.
        margin: within which a ratio is as good as 1.
        confidence: of the interval; the tests' level follows from it.
        hidden: how much b - a may be off in the same way in all launches, by the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several. With fewer than two sessions it has no
        interval. Without A, its `launches` is the number of sessions that count, as `sessions` is in either case.

    Raises:
        ValueError: a value is not positive and finite, the rule makes no sense, or there is neither A nor a history.
    """
    sessions = sessions_of(recent(history))
    first = np.exp(sessions.means) if a is None else np.asarray(a, dtype=float)
    found = compare_independent(first, b, margin, confidence, hidden)
    count = sessions.means.size
    half, p_value, error, freedom = math.nan, math.nan, math.nan, math.nan
    mean = found.mean
    if count > 1:
        numbers = [] if a is None else [logarithms(first).size]
        numbers.append(logarithms(b).size)
        parts = [(sessions.variance * (2.0 if a is not None else 1 + 1 / count), count - 1)]
        parts += lacking_launches(sessions, numbers)
        error, freedom = math.sqrt(sum(value for value, _ in parts)), satterthwaite(parts)
        half = t_quantile(freedom, 0.5 + confidence / 2) * error
        p_value = max(two_sided(mean, error, freedom), found.p_value)
        welch = t_quantile(found.freedom, 0.5 + confidence / 2) * found.error
        if welch > half:
            half, error, freedom = welch, found.error, found.freedom
    seen = seen_before(sessions.means, mean, None if a is not None else float(logarithms(b).mean()))
    return judge(
        dataclasses.replace(
            found,
            ratio=interval_of_logs(mean, half, found.ratio.count, found.hidden),
            p_value=p_value,
            adjusted_p_value=p_value,
            rank_p_value=1.0 if seen else found.rank_p_value,
            error=error,
            freedom=freedom,
            sessions=int(count),
            session_deviation=sessions.deviation,
        )
    )


def seen_before(means: NDArray[np.float64], difference: float, b: float | None) -> bool:
    """Whether sessions of a history differ by `difference`, b - a of logarithms, too often for a rank test.

    Of B against the history it is the exact test of one more observation of the same kind: the share of sessions as
    high as B, or as low, itself included, is at most 0.05; with fewer than 20 sessions none may be. Of A against B (`b`
    is None) it is the share of all differences between two sessions that are as large.
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
    """The variance added by having fewer launches than a session of the history, with its freedom."""
    lack = sum(max(0.0, 1 / number - sessions.launches) for number in numbers)
    if not lack or not sessions.launch_freedom:
        return []
    return [(lack * sessions.launch_variance, sessions.launch_freedom)]
