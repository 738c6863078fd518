"""Compares experiments that are apart in time, with what a history shows of the deviation between sessions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.independent import compare_independent
from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.satterthwaite import satterthwaite
from downbeat.statistics.sessions import Sessions, sessions_of
from downbeat.statistics.two_sided import two_sided
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, judge


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
    launches do.

    The history must be drawn from where A and B are: the same machine in the same use, no closer in time than they are.

    Args:
        a: one number per launch, as the medians of a cell, shape (launches,), any unit; larger than 0. None: B is
            compared with the history, whose sessions count once each.
        b: the same of what is compared with it, in the same unit.
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
    mean = math.log(found.ratio.estimate)
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
    return judge(
        dataclasses.replace(
            found,
            ratio=interval_of_logs(mean, half, found.ratio.count, found.hidden),
            p_value=p_value,
            adjusted_p_value=p_value,
            error=error,
            freedom=freedom,
            sessions=int(count),
            session_deviation=sessions.deviation,
        )
    )


def lacking_launches(sessions: Sessions, numbers: Sequence[int]) -> list[tuple[float, int]]:
    """Returns the variance added by having fewer launches than a session of the history, with its freedom.

    More of them take nothing away: the variance of sessions is not made smaller by a difference of two estimates.
    """
    lack = sum(max(0.0, 1 / number - sessions.launches) for number in numbers)
    if not lack or not sessions.launch_freedom:
        return []
    return [(lack * sessions.launch_variance, sessions.launch_freedom)]
