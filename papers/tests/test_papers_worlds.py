"""Claims of figures in simulated worlds: seen with the effect that the paper reports, and not without any.

`make bench-statistics` does the same with 200 experiments for each figure.
"""

from __future__ import annotations

import numpy as np
import pytest
from downbeat_papers.registry import FIGURES

from benchmarks.simulations.claims import LAUNCHES, WORLDS, shares

EXPERIMENTS = 5
# Drifts of one machine are made, not found; that an operation "scales well" is no number.
NOTHING_TO_TELL = {"hunold2015-fig6", "hoefler2008-fig5", "niethammer2016-fig9", "niethammer2016-fig15"}


@pytest.mark.parametrize("name", WORLDS)
def test_claims_are_seen_with_the_papers_effect_and_not_without(name: str) -> None:
    found = shares(name, WORLDS[name], np.random.default_rng(1), EXPERIMENTS, LAUNCHES)
    assert found.false <= 1 / EXPERIMENTS
    assert found.power >= 1 - 1 / EXPERIMENTS, found.least
    assert found.denied == 0


@pytest.mark.parametrize("paper", ["schuchart2023", "hunold2015", "hoefler2008", "niethammer2016"])
def test_every_figure_has_a_world(paper: str) -> None:
    figures = {name for name in FIGURES if name.startswith(paper)}
    assert figures - NOTHING_TO_TELL == {name for name in WORLDS if name.startswith(paper)}
