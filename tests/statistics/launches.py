"""Intervals and verdicts over launches that are not normal or not independent, and the warnings about these.

An interval may miss the truth where the program says so: it names two modes, a correlation of launches, or the share of
launches that may be in a mode that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from downbeat.statistics.location import geometric_mean_interval
from downbeat.statistics.modes import FALSE_ALARMS, FEWEST_IN_ORDER, correlation, two_modes, unseen_share
from downbeat.statistics.sessions import compare_across_sessions
from downbeat.statistics.two_samples import compare_paired
from downbeat_papers.claims import Finding
from downbeat_papers.evidence import factor_of
from downbeat_papers.judgement import judge

from benchmarks.promises import at_least, at_most
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.intervals import end_at_width
from tests.statistics.simulated import autoregressive

COUNTS = (3, 5, 10, 20)
DEVIATION = 0.02
AR = 0.8
MOST = 50

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def mixed(share: float, factor: float) -> Draw:
    """Returns a function that draws launches: logarithms with mean 0, and which launches are in the slow mode."""

    def draw(random: np.random.Generator, launches: int) -> tuple[np.ndarray, np.ndarray]:
        slow = random.random(launches) < share
        return random.normal(0, DEVIATION, launches) + np.log(factor) * (slow - share), slow

    return draw


def correlated(random: np.random.Generator, launches: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws logarithms of autocorrelated launches, none of them in a slow mode."""
    return DEVIATION * autoregressive(random, (launches,), AR), np.zeros(launches, bool)


KINDS: dict[str, tuple[float, Draw]] = {
    "normal": (0.0, mixed(0.0, 1.0)),
    "15 % of them 20 % slower": (0.15, mixed(0.15, 1.2)),
    "5 % of them twice as slow": (0.05, mixed(0.05, 2.0)),
    f"AR {AR} from launch to launch": (0.0, correlated),
}


def is_said(logs: np.ndarray, slow: np.ndarray, share: float, in_order: bool) -> bool:
    """Whether the program says that the interval may not hold: in the notes, or beside it."""
    if two_modes(np.exp(logs)) is not None or correlation(logs) > 0:
        return True
    if in_order and logs.size < FEWEST_IN_ORDER:
        return True
    return 0 < share <= unseen_share(logs.size) and not slow.any()


def history_table(random: np.random.Generator, count: int) -> Table:
    """Returns how often equal sessions are called different by a history of sessions of two modes, 20 % apart."""
    rows = []

    def session(share: float) -> np.ndarray:
        mode = np.log(1.2) * (random.random() < share)
        return np.asarray(np.exp(mode + random.normal(0, 0.01) + random.normal(0, DEVIATION, 10)))

    for share in (0.1, 0.2, 0.5):
        for sessions in (5, 10, 20):
            show_progress(f"history with two modes, {sessions} sessions")
            false = said = 0
            for _ in range(count):
                history = [session(share) for _ in range(sessions)]
                found = compare_across_sessions(session(share), session(share), history)
                unseen = share <= unseen_share(sessions) and max(map(np.mean, history)) < 1.1
                false += int(found.verdict in ("faster", "slower"))
                said += int(found.verdict in ("faster", "slower") and unseen)
            rows.append((f"{share:.0%}", sessions, false / count, said / count))
    return Table(
        "A history with two modes of sessions, 20 % apart: equal sessions called different",
        ("sessions in one", "history", "false", "of these, history of one mode"),
        rows,
    )


def simulate(experiments: int) -> Findings:
    """Returns coverages, alone and where nothing is said, and how often verdicts of no difference are wrong."""
    random = np.random.default_rng(2026)
    count = max(experiments // 5, 50)
    coverage, widths, promises = [], [], []
    for name, (share, draw) in KINDS.items():
        for launches in COUNTS:
            show_progress(f"launches, {name}, {launches}")
            held = said = alarms = 0
            for _ in range(count):
                logs, slow = draw(random, launches)
                found = geometric_mean_interval(np.exp(logs))
                holds = found.low <= 1 <= found.high
                held += holds
                said += holds or is_said(logs, slow, share, draw is correlated)
                alarms += two_modes(np.exp(logs)) is not None
            coverage.append((name, launches, held / count, said / count, alarms / count))
            promises.append(at_least(f"{launches} launches, {name}: holds or is said", said / count, 0.92))
            if name == "normal":
                limit = FALSE_ALARMS + 4 * (FALSE_ALARMS / count) ** 0.5
                promises.append(at_most(f"{launches} normal launches: two modes", alarms / count, limit))
        show_progress(f"--width, {name}")
        ends = []
        silent = 0
        for _ in range(count // 2):
            logs, slow = draw(random, MOST)
            end = end_at_width(logs)
            seen = logs[: end.launches]
            ends.append(end)
            silent += (
                end.narrow and not end.holds and not is_said(seen, slow[: end.launches], share, draw is correlated)
            )
        stopped = [end for end in ends if end.narrow]
        widths.append(
            (
                name,
                len(stopped) / len(ends),
                float(np.mean([end.holds for end in ends])),
                silent / len(ends),
                float(np.mean([end.launches for end in ends])),
            )
        )
        promises.append(at_most(f"--width, {name}: ends with a wrong interval, nothing said", silent / len(ends), 0.1))
    verdicts = []
    for launches in COUNTS:
        show_progress(f"verdicts of no difference, {launches} launches")
        equivalent = denied = unsaid = 0
        for _ in range(count):
            logs, slow = mixed(0.15, 1.2)(random, launches)
            b = np.exp(logs + 0.15 * np.log(1.2))  # in truth 1.028 times as long
            is_equivalent = compare_paired(np.ones(launches), b).verdict == "equivalent"
            equivalent += is_equivalent
            unsaid += is_equivalent and not is_said(logs, slow, 0.15, False)
            border = np.exp(mixed(0.1, 2.0)(random, launches)[0])
            denied += judge([Finding("", "", "", factor_of(border).above(1.0))])[0].agrees is False
        verdicts.append((launches, equivalent / count, unsaid / count, denied / count))
        promises.append(at_most(f"{launches} launches: equivalent with a mode, nothing said", unsaid / count, 0.05))
    return Findings(
        [
            history_table(random, count // 4),
            Table(
                f"95 % intervals over launches, {DEVIATION:.0%} between those of one kind",
                ("launches", "n", "holds", "holds or is said", "two modes said"),
                coverage,
            ),
            Table(
                "downbeat run --width 0.02, 10 to 50 launches",
                ("launches", "ends", "holds", "wrong, nothing said", "launches needed"),
                widths,
            ),
            Table(
                "Verdicts of no difference: equivalent although 15 % of B take 20 % longer (ratio 1.028), and a claim\n"
                "at its border not seen, 10 % of launches twice as slow",
                ("n", "equivalent", "nothing said", "not seen"),
                verdicts,
            ),
        ],
        promises,
    )
