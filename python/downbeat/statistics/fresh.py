"""Confirms suspects, nodes and links that seem slow, by new measurements: a sign test, with Holm's correction.

A fresh round measures a pair of the suspect and its controls, sound pairs, one after the other. If the suspect is
sound, its pair is slower than all its k controls with probability 1 / (k + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from downbeat.statistics.distributions import binomial_tails
from downbeat.statistics.faults import FACTOR, FALSE_ALARM, PLANTED
from downbeat.statistics.holm import holm
from downbeat.tables import Flags, Floats

DRAWS = 20_000  # simulated rounds; the standard error of the probability of a slower suspect is then at most 0.4 %


@dataclass(frozen=True)
class Rounds:
    """The fresh rounds of a suspect.

    Attributes:
        times: log times of the suspect, shape (rounds,).
        controls: log times of its controls, shape (rounds, controls); NaN: the round has fewer controls.
    """

    times: Floats
    controls: Floats

    @property
    def slower(self) -> int:
        """Number of rounds in which the suspect is slower than all its controls."""
        return int(np.count_nonzero(self.times > np.fmax.reduce(self.controls, axis=1)))

    @property
    def ratio(self) -> float:
        """Median logarithm of the ratio of the suspect to its controls; -inf: no rounds."""
        return float(np.median(self.times - np.nanmean(self.controls, axis=1))) if len(self.times) else -math.inf

    @property
    def chance(self) -> float:
        """Probability that a sound suspect is slower in at least `slower` rounds.

        Rounds may differ in their number of controls; all count as those with the smallest number.
        """
        controls = int(np.count_nonzero(~np.isnan(self.controls), axis=1).min(initial=2))
        return float(binomial_tails(len(self.times), 1 / (controls + 1))[-1, self.slower])


def confirmed(suspects: list[Rounds], level: float = FALSE_ALARM) -> Flags:
    """Flags suspects that are slower than their controls, by the sign test and by FACTOR in the median.

    Args:
        suspects: rounds of all suspects of a run. Holm's correction counts those with rounds, since rounds are
            independent of the choice of suspects.
        level: probability that any sound suspect is flagged.
    """
    flags = np.zeros(len(suspects), dtype=bool)
    tested = np.flatnonzero([len(each.times) > 0 for each in suspects])  # the others were not slow at the second look
    if tested.size:
        chances = holm([suspects[number].chance for number in tested])
        flags[tested] = (chances <= level) & np.array([suspects[number].ratio >= math.log(FACTOR) for number in tested])
    return flags


def confirming_power(noise: Floats, spread: Floats, rounds: int, level: float = FALSE_ALARM) -> float:
    """Simulates the probability that rounds with two controls each confirm a suspect that is PLANTED times slower.

    Args:
        noise: logarithms of the values of pairs divided by the pair's typical value.
        spread: logarithms of the typical values of pairs divided by those of their peers.
        rounds: number of rounds of the suspect.
        level: level of the sign test.
    """
    random = np.random.default_rng(1)
    times = [random.choice(noise, DRAWS) + random.choice(spread, DRAWS) for _ in range(3)]
    slower = float(np.mean(times[0] + math.log(PLANTED) > np.maximum(times[1], times[2])))
    needed = int(np.argmax(binomial_tails(rounds, 1 / 3)[-1] <= level))
    return float(binomial_tails(rounds, slower)[-1, needed])
