"""How often two experiments of the same thing are called different where sessions deviate, and what is found then.

Launches deviate by 2 %, 10 of them a session, or 10 pairs. Apart: A and B are of a session each; against a history:
all its sessions are A. Interleaved: in one session, which drifts as much as sessions deviate.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np
from downbeat.statistics.sessions import compare_across_sessions
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import kinds, printed
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.simulated import Deviations, simulate_interleaved, simulate_sessions

LAUNCHES = 10
LAUNCH = 0.02  # deviation between launches
SESSION = (0.0, 0.01, 0.02, 0.03)
EFFECTS = (1.05, 1.10)
FAMILY = 20  # cells of a gate
LIMIT = 0.05  # of false alarms

# Compares all cells of an experiment: (random, ratio of each cell, deviations) -> comparisons.
Design = Callable[[np.random.Generator, np.ndarray, Deviations], list[Comparison]]


def interleaved(random: np.random.Generator, ratios: np.ndarray, deviations: Deviations) -> list[Comparison]:
    """Compares A and B in one experiment."""
    a, b = simulate_interleaved(random, LAUNCHES, 1.0, deviations, ratios.size)
    return [compare_paired(one, other * ratio) for one, other, ratio in zip(a, b, ratios, strict=True)]


def apart(random: np.random.Generator, ratios: np.ndarray, deviations: Deviations) -> list[Comparison]:
    """Compares two experiments as if they were of one session."""
    cells = simulate_sessions(random, 2, LAUNCHES, deviations, ratios.size)
    return [compare_independent(a, b * ratio) for (a, b), ratio in zip(cells, ratios, strict=True)]


def with_history(sessions: int) -> Design:
    """Returns the comparison of two experiments with what a history shows of sessions."""

    def compare(random: np.random.Generator, ratios: np.ndarray, deviations: Deviations) -> list[Comparison]:
        cells = simulate_sessions(random, sessions + 2, LAUNCHES, deviations, ratios.size)
        return [
            compare_across_sessions(a, b * ratio, list(history))
            for (a, b, *history), ratio in zip(cells, ratios, strict=True)
        ]

    return compare


def against_history(sessions: int) -> Design:
    """Returns the comparison of an experiment with all sessions of a history."""

    def compare(random: np.random.Generator, ratios: np.ndarray, deviations: Deviations) -> list[Comparison]:
        cells = simulate_sessions(random, sessions + 1, LAUNCHES, deviations, ratios.size)
        return [
            compare_across_sessions(None, b * ratio, list(history))
            for (b, *history), ratio in zip(cells, ratios, strict=True)
        ]

    return compare


DESIGNS: dict[str, Design] = {
    "apart": apart,
    **{f"apart, history of {sessions}": with_history(sessions) for sessions in (5, 10, 20)},
    **{f"against a history of {sessions}": against_history(sessions) for sessions in (5, 10, 20)},
    "interleaved": interleaved,
}


def simulate(experiments: int) -> Findings:
    """Returns shares of false verdicts and of what is found, of one cell and of gates over many."""
    random = np.random.default_rng(2026)
    rows: list[tuple[str | float, ...]] = []
    gates: list[tuple[str | float, ...]] = []
    for name, design in DESIGNS.items():
        show_progress(f"sessions, {name}")
        shares = []
        for session in SESSION:
            one = Deviations(launch=LAUNCH, session=session, drift=session)
            shares.append(share(design, random, np.ones(1), one, "different", experiments // 5))
            shares += [share(design, random, np.full(1, e), one, "slower", experiments // 20) for e in EFFECTS]
        rows.append((name, *shares))
        gates.append((name, *gate_shares(design, random, experiments // FAMILY)))
    columns = [word for s in SESSION for word in (f"{s:.0%} false", "5 %", "10 %")]
    tables = [
        Table(
            f"Sessions deviate by 0 to 3 %, {LAUNCHES} launches by {LAUNCH:.0%}: B = A called different; 5 and 10 %\n"
            "more called slower",
            ("design", *columns),
            rows,
        ),
        Table(
            f"Gates over {FAMILY} cells, sessions deviate by 2 % (common to all cells, each its own, or both): one\n"
            "false verdict or more among equal cells; one cell 10 % slower found; all 5 % slower, one found at least",
            ("design", *(f"{mix} {what}" for mix in MIXES for what in ("false", "one", "all"))),
            gates,
        ),
    ]
    return Findings(tables, promises(rows, gates))


MIXES = {"common": (0.02, 0.0), "own": (0.0, 0.02), "both": (0.02, 0.02)}


def gate_shares(design: Design, random: np.random.Generator, experiments: int) -> list[float]:
    """Returns what a gate does: false alarms, one cell of 10 % found, all of 5 % noticed, under each mix of effects."""
    alike, one = np.ones(FAMILY), np.r_[1.10, np.ones(FAMILY - 1)]
    shares = []
    for session, own in MIXES.values():
        deviations = Deviations(launch=LAUNCH, session=session, session_cell=own, drift=session, cell=0.01)
        shares.append(share(design, random, alike, deviations, "different", experiments))
        shares.append(share(design, random, one, deviations, "first slower", experiments // 5))
        shares.append(share(design, random, 1.05 * alike, deviations, "slower", experiments // 5))
    return shares


def share(
    design: Design, random: np.random.Generator, ratios: np.ndarray, deviations: Deviations, what: str, experiments: int
) -> float:
    """Returns in which share of experiments some cell is different or slower, or the first is slower."""
    found = 0
    for _ in range(experiments):
        verdicts = [one.verdict for one in judge_together(design(random, ratios, deviations))]
        found += {
            "different": bool({"slower", "faster"} & set(verdicts)),
            "slower": "slower" in verdicts,
            "first slower": verdicts[0] == "slower",
        }[what]
    return found / experiments


def promises(rows: list[tuple[str | float, ...]], gates: list[tuple[str | float, ...]]) -> list[Promise]:
    """Returns the promises on designs that know of sessions."""
    made = []
    for name, *shares in rows:
        if name != "apart":
            worst = max(float(one) for one in shares[:: 1 + len(EFFECTS)])
            made.append(at_most(f"false verdicts at a session deviation of 0 to 3 %, {name}", worst, LIMIT))
    for name, *shares in gates:
        if name != "apart":
            worst = max(float(one) for one in shares[::3])
            made.append(at_most(f"false alarms of a gate over {FAMILY} cells, {name}", worst, LIMIT))
    found = {name: [float(one) for one in shares] for name, *shares in rows}
    made.append(at_least("5 % found at a session deviation of 3 %, interleaved", found["interleaved"][-2], 0.9))
    made.append(at_least("10 % found at one of 2 %, against a history of 20", found["against a history of 20"][8], 0.9))
    return made


def every_seventh(random: np.random.Generator, experiments: int, sessions: int) -> kinds.Drawn:
    """Draws sessions on following days, of which those of one weekday take 10 % longer."""
    slow = (np.arange(sessions) + random.integers(7, size=(experiments, 1))) % 7 == 0
    logs = kinds.normal(random, experiments, sessions).logs + math.log(1.1) * (slow - 1 / 7)
    return kinds.Drawn(logs, {1 / 7: slow})


KINDS = (
    kinds.Kind("normal", kinds.normal),
    *kinds.SYMMETRIC[:1],
    kinds.Kind("t(1)", kinds.student(1)),
    *(kinds.mixture(share, factor) for share in (0.1, 0.2) for factor in (1.03, 1.2, 1.3)),
    kinds.mixture(0.2, 1.3, run=3),
    kinds.Kind("every seventh x1.1", every_seventh),
)
HISTORIES = (5, 10, 20)


def simulate_kinds(experiments: int) -> Findings:
    """Returns how often equal sessions are called different by histories whose sessions are not normal."""
    random = np.random.default_rng(2026)
    count = experiments // 16
    unseen = {history: unseen_sessions(random, history) for history in HISTORIES}
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for kind, apart_too in itertools.product(KINDS, (False, True)):
        show_progress(f"sessions, {kind.name}")
        shares = [different(random, kind, history, apart_too, count, unseen[history]) for history in HISTORIES]
        design = "apart" if apart_too else "against the history"
        rows.append((kind.name, design, *(share for both in shares for share in both)))
        worst = max(silent for _, silent in shares)
        limit = LIMIT + by_chance(LIMIT, count)
        promises.append(at_most(f"sessions, {kind.name}, {design}: false in silence", worst, limit))
    title = f"Equal sessions called different, by kinds of sessions; {LAUNCHES} launches of each, by {LAUNCH:.0%} apart"
    columns = ("sessions", "compared", *(word for one in HISTORIES for word in (f"history of {one}", "silent")))
    return Findings([Table(title, columns, rows)], worst_of(promises))


CAN_MISS = re.compile(r"can miss what (\d+) % of sessions do")


def unseen_sessions(random: np.random.Generator, history: int) -> float:
    """Returns the share of sessions that a history may have missed, as `compare` prints it."""
    past = [printed.cells_of(random.normal(0, LAUNCH, LAUNCHES)) for _ in range(history + 2)]
    said = CAN_MISS.search(printed.compare_apart(past[0], past[1], past[2:]).text)
    return float(said[1]) / 100 if said else 0.0


def different(
    random: np.random.Generator, kind: kinds.Kind, history: int, apart_too: bool, count: int, unseen: float
) -> tuple[float, float]:
    """Returns how often B differs from the history, or from A of a session of its own.

    Then the same where the history has seen all kinds of sessions, or lacks one that is more frequent than `unseen`.
    """
    drawn = kind.draw(random, count, history + 1 + apart_too)
    past = drawn.first(history)
    medians = np.exp(drawn.logs[:, :, np.newaxis] + random.normal(0, LAUNCH, (*drawn.logs.shape, LAUNCHES)))
    false = silent = 0
    for experiment, one in enumerate(medians):
        found = compare_across_sessions(one[-2] if apart_too else None, one[-1], list(one[:history]))
        if found.verdict in ("faster", "slower"):
            false += 1
            silent += past.missed(experiment) > unseen
    return false / count, silent / count
