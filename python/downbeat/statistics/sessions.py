"""How much sessions deviate: the same experiment at several times, between which the machine changed a little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import t_cdf, t_quantile
from downbeat.statistics.location import logarithms


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


def false_verdicts(error: float, freedom: float, session_deviation: float, level: float) -> float:
    """Returns how often two experiments of the same thing would be called different if sessions deviated.

    For a test that knows nothing of sessions, as Welch's: the difference of the means has the variance of two sessions
    beside its own, but is divided by its own alone.

    Args:
        error: standard error of the difference of logarithms that the test goes by.
        freedom: its degrees of freedom.
        session_deviation: standard deviation of logarithms between sessions.
        level: of the test.
    """
    if error == 0:
        return 1.0 if session_deviation else 0.0
    critical = -t_quantile(freedom, level / 2)
    return float(2 * t_cdf(freedom, -critical * error / math.hypot(error, math.sqrt(2) * session_deviation)))
