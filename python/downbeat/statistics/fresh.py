"""Suspects against controls in fresh rounds: a sign test for each, corrected by Holm for their number.

Times of a sound pair and of its controls in a round are exchangeable: it is slower than all of its k controls with
probability 1 / (k + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from downbeat.statistics.faults import FACTOR, FALSE_ALARM, PLANTED, chance_of_slow
from downbeat.statistics.holm import holm
from downbeat.tables import Flags, Floats

DRAWS = 20_000  # for the power: it is within 0.5 %


@dataclass(frozen=True)
class Rounds:
    """The fresh rounds of a suspect.

    Attributes:
        times: log times of the suspect, shape (rounds,).
        controls: of its controls, shape (rounds, controls); NaN where there are fewer.
    """

    times: Floats
    controls: Floats

    @property
    def slower(self) -> int:
        """The number of rounds in which the suspect is slower than all of its controls."""
        return int(np.count_nonzero(self.times > np.fmax.reduce(self.controls, axis=1)))

    @property
    def ratio(self) -> float:
        """Median logarithm of the ratio to the controls."""
        return float(np.median(self.times - np.nanmean(self.controls, axis=1))) if len(self.times) else -math.inf

    @property
    def chance(self) -> float:
        """The probability of so many rounds by chance; with the fewest controls of any round."""
        fewest = int(np.count_nonzero(~np.isnan(self.controls), axis=1).min(initial=2))
        return float(chance_of_slow(len(self.times), 1 / (fewest + 1))[-1, self.slower])


def confirmed(suspects: list[Rounds], level: float = FALSE_ALARM) -> Flags:
    """The suspects that are slower than their controls: by the sign test under Holm, and by FACTOR in the median."""
    if not suspects:
        return np.zeros(0, dtype=bool)
    chances = holm([each.chance for each in suspects])
    return (chances <= level) & (np.array([each.ratio for each in suspects]) >= math.log(FACTOR))


def confirming_power(noise: Floats, spread: Floats, rounds: int, level: float = FALSE_ALARM) -> float:
    """The probability that fresh rounds with two controls confirm a fault of PLANTED times, the only suspect.

    Args:
        noise: deviations of values of a pair, logarithms.
        spread: deviations of pairs from their peers.
        rounds: of the suspect.
        level: of the sign test.
    """
    random = np.random.default_rng(1)
    times = [random.choice(noise, DRAWS) + random.choice(spread, DRAWS) for _ in range(3)]
    slower = float(np.mean(times[0] + math.log(PLANTED) > np.maximum(times[1], times[2])))
    needed = int(np.argmax(chance_of_slow(rounds, 1 / 3)[-1] <= level))
    return float(chance_of_slow(rounds, slower)[-1, needed])
