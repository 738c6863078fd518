"""What a history is worth as it grows: false verdicts and what is found, in worlds of sessions that are not normal.

Sessions deviate by 2 %, 10 launches of each by 2 % more. B is the next session of its world: as the history was, or
20 % slower. What drifts goes on drifting: a history then says so, and its sessions are not called equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from downbeat.statistics.dependence import correlation
from downbeat.statistics.sessions import SEARCHED, compare_across_sessions, last_shift, recent, sessions_of, trend
from numpy.typing import NDArray

from benchmarks.promises import at_least, at_most, by_chance
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.simulated import autoregressive

LAUNCHES, LAUNCH, SESSION = 10, 0.02, 0.02
SLOWER, LIMIT, FOUND = 1.2, 0.05, 0.9
LENGTHS = (5, 10, 20, 30, 60, 100, 300, 700)

# Draws logarithms of sessions in the order of time, the last one B's: (random, sessions) -> shape (sessions,).
World = Callable[[np.random.Generator, int], NDArray[np.float64]]


def normal(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return random.normal(0, SESSION, sessions)


def outlying(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return normal(random, sessions) + math.log(1.15) * (random.random(sessions) < 0.02)


def scattered(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    """Some are off by any amount, 15 % as a standard deviation."""
    return np.asarray(normal(random, sessions) + random.normal(0, 0.15, sessions) * (random.random(sessions) < 0.02))


def floor(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return np.asarray(np.log1p(SESSION * random.lognormal(0, 1, sessions)))


def weekend(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return normal(random, sessions) + math.log(1.06) * ((np.arange(sessions) + random.integers(7)) % 7 < 2)


def monday(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return np.asarray(normal(random, sessions) + math.log(0.95) * ((np.arange(sessions) + random.integers(7)) % 7 == 0))


def modes(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    """A second mode for three sessions in a row."""
    slow = np.repeat(random.random(sessions // 3 + 1) < 0.15, 3)[-sessions:]
    return np.asarray(normal(random, sessions) + math.log(1.04) * slow)


def ageing(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return normal(random, sessions) + 0.003 * np.arange(sessions)


def resembling(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    return np.asarray(SESSION * autoregressive(random, (sessions,), 0.7))


def shifted(random: np.random.Generator, sessions: int) -> NDArray[np.float64]:
    """To a level 8 % higher amid the last 60."""
    return normal(random, sessions) + 0.08 * (np.arange(sessions) >= sessions - min(sessions, 60) // 2)


WITHOUT_MEMORY: dict[str, World] = {
    "normal": normal,
    "2 % x1.15": outlying,
    "2 % off by 15 %": scattered,
    "floor + lognormal(1)": floor,
    "Sat + Sun x1.06": weekend,
    "Monday x0.95": monday,
}
WITH_MEMORY: dict[str, World] = {
    "15 % x1.04, 3 in a row": modes,
    "0.3 % more per session": ageing,
    "resemble by 0.7": resembling,
    "8 % more amid it": shifted,
}


def simulate(experiments: int) -> Findings:
    """Returns shares of false verdicts and of what is found, by world and length of the history."""
    random = np.random.default_rng(2026)
    count = max(experiments // 40, 20)
    false: list[tuple[str | float, ...]] = []
    found: list[tuple[str | float, ...]] = []
    promises = []
    for name, world in (WITHOUT_MEMORY | WITH_MEMORY).items():
        shares = []
        for length in LENGTHS:
            show_progress(f"histories, {name}, {length} sessions")
            shares.append(shares_of(random, world, length, count))
        false.append((name, *(each for share in shares for each in share[:3:2])))
        found.append((name, *(share[1] for share in shares)))
        limit = LIMIT + by_chance(LIMIT, count)
        silent = 2 if name in WITH_MEMORY else 0
        for length, share in zip(LENGTHS, shares, strict=True):
            # A history of 5 in one of its kinds throughout cannot know better: `assumes` says what share it may miss.
            if length >= (20 if name in WITH_MEMORY else 10):
                what = "false and no line says why" if silent else "false, of sessions without memory"
                promises.append(at_most(f"{name}, {length} sessions: {what}", share[silent], limit))
    by_name = {name: shares for name, *shares in found}
    long = min(float(by_name[name][LENGTHS.index(300)]) for name in ("2 % x1.15", "2 % off by 15 %"))
    promises.append(at_least("20 % slower than 300 sessions, 2 % of them 15 % off: found", long, FOUND))
    for name in ("normal", "2 % x1.15", "Sat + Sun x1.06"):
        limit = FOUND - by_chance(FOUND, count)
        promises += [
            at_least(f"{name}, {length} sessions: 20 % slower is found", float(one), limit)
            for length, one in zip(LENGTHS, by_name[name], strict=True)
            if length >= 20
        ]
    of_both = [word for length in LENGTHS for word in (f"{length}: false", "not said")]
    return Findings(
        [
            Table("B is the next session: called different; and no line says why", ("sessions", *of_both), false),
            Table("B is 20 % slower: found", ("sessions", *(str(one) for one in LENGTHS)), found),
        ],
        worst_of(promises),
    )


def shares_of(random: np.random.Generator, world: World, length: int, count: int) -> tuple[float, float, float]:
    """Returns how often B is called different if it is not, slower if it is 20 % slower, different with no line."""
    false = found = silent = 0
    for _ in range(count):
        logs = world(random, length + 1)
        medians = np.exp(logs[:, np.newaxis] + random.normal(0, LAUNCH, (length + 1, LAUNCHES)))
        *history, b = medians
        found += compare_across_sessions(None, SLOWER * b, history).verdict == "slower"
        if compare_across_sessions(None, b, history).verdict in ("faster", "slower"):
            false += 1
            silent += not is_said(history)
    return false / count, found / count, silent / count


def is_said(history: list[NDArray[np.float64]]) -> bool:
    """Whether a line says that the history is not of one kind."""
    means = sessions_of(recent(history)).means
    whole = sessions_of(history).means
    return bool(trend(means) or correlation(means, 0.01) > 0 or last_shift(whole[-SEARCHED:]))
