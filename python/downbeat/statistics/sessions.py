"""How much sessions deviate, the same experiment at several times, and comparisons across them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import satterthwaite, t_quantile, two_sided
from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.power import VerdictRule, found_share
from downbeat.statistics.two_samples import compare_independent
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, judge


@dataclass(frozen=True)
class Sessions:
    """Sessions of one cell: random effects on logarithms (Searle, Casella and McCulloch 1992, section 3.5).

    Attributes:
        means: of the logarithms of each session's launches, shape (sessions,).
        variance: of these means, what launches contribute included; NaN of a single session.
        launches: mean of one over a session's number of launches: the share of the variance between launches that
            `variance` contains.
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

        For people to read. Verdicts rest on `variance`, which is estimated without a difference that could be negative.
        """
        own = 0.0 if math.isnan(self.launch_variance) else self.launch_variance * self.launches
        return math.sqrt(max(self.variance - own, 0.0)) if not math.isnan(self.variance) else math.nan


def sessions_of(history: Sequence[ArrayLike]) -> Sessions:
    """Returns what a history shows of the deviation between sessions.

    Cells are not pooled: what a session does, it does to all its cells, so twenty cells of five sessions are five
    observations, not a hundred.

    Args:
        history: of one cell, an array per session: one number per launch, as medians, shape (launches,), any unit,
            larger than 0. The sessions have no true change between them; one would make the deviation larger.

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


def false_verdicts(error: float, freedom: float, session_deviation: float, rule: VerdictRule) -> float:
    """Returns how often two experiments of the same thing would be called different if sessions deviated.

    For a test that knows nothing of sessions, as Welch's: the difference of the means has the variance of two sessions
    beside its own, but is divided by its own alone.

    Args:
        error: standard error of the difference of logarithms that the test goes by.
        freedom: its degrees of freedom; fractions do not count.
        session_deviation: standard deviation of logarithms between sessions.
        rule: that a difference must meet.
    """
    spread = math.hypot(error, math.sqrt(2) * session_deviation)
    if spread == 0:
        return 0.0
    return float(2 * found_share(0.0, spread, error, max(1, math.floor(freedom)), rule)[0])


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
    observation, variance (1 + 1 / sessions). Where B and A have fewer launches than the
    sessions of the history, the extra variance is added (Satterthwaite 1946). `compare_independent` must confirm a
    verdict, and the wider interval is reported: a history that deviates little by chance makes nothing surer than the
    launches do. Sessions may have modes, as weekends: a difference counts only where it exceeds all that the history
    has, B outside all sessions, or farther from A than any two of them are from each other.

    The history must be drawn from where A and B are: the same machine in the same use, no closer in time than they are.

    Args:
        a: one number per launch, as the medians of a cell, shape (launches,), any unit; larger than 0. None: B is
            compared with the history, whose sessions count once each.
        b: those of the other side, in the same unit.
        history: an array per session, as in `sessions_of`; neither A nor B is among them.
        margin: within which a ratio is as good as 1.
        confidence: of the interval; the tests' level follows from it.
        hidden: how much b - a may be off in the same way in all launches, by the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several. With fewer than two sessions it has no
        interval. Without A, its `launches` is the number of sessions.

    Raises:
        ValueError: a value is not positive and finite, the rule makes no sense, or there is neither A nor a history.
    """
    sessions = sessions_of(history)
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
    """Returns whether sessions of a history differ as much: B is among them, or two are as far from each other."""
    if not means.size:
        return False
    return bool(means.min() <= b <= means.max()) if b is not None else abs(difference) <= float(np.ptp(means))


def lacking_launches(sessions: Sessions, numbers: Sequence[int]) -> list[tuple[float, int]]:
    """Returns the variance added by having fewer launches than a session of the history, with its freedom.

    More of them take nothing away: the variance of sessions is not made smaller by a difference of two estimates.
    """
    lack = sum(max(0.0, 1 / number - sessions.launches) for number in numbers)
    if not lack or not sessions.launch_freedom:
        return []
    return [(lack * sessions.launch_variance, sessions.launch_freedom)]
