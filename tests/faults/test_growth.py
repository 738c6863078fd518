"""Growth and drift over many starts, on made-up runs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.faults.growth import Block, broken_promises

STARTS = 200_000
BLOCKS = 1000

Made = tuple[list[Block], dict[str, list[float]]]


def made_up(seed: int = 1, slack_step: float = 0.0, late_step: float = 0.0, load: float = 0.0) -> Made:
    """Returns the blocks and the counters of a run of `STARTS` starts.

    Args:
        seed: of the noise.
        slack_step: ns by which the slack rises from tenth to tenth.
        late_step: share by which flags of 0 rise from tenth to tenth.
        load: by which slack and shares are multiplied from the middle on, in half of the blocks.
    """
    chance = np.random.default_rng(seed)
    tenth = np.arange(BLOCKS) // 100
    factor = np.where((tenth >= 5) & (chance.random(BLOCKS) < 0.5) & (load > 0), load, 1.0)
    slacks = (800 * chance.lognormal(0, 0.05, BLOCKS) + slack_step * tenth) * factor
    lates = chance.binomial(STARTS // BLOCKS, (0.01 + late_step * tenth) * factor)
    held = {"memory": [30 << 20, 31 << 20], "descriptors": [20, 21]}
    blocks = [
        {"starts": STARTS // BLOCKS, "slack_ns": [slack, slack], "late": late, **held}
        for slack, late in zip(slacks.tolist(), lates.tolist(), strict=True)
    ]
    late = float(lates.sum())
    counters = {"calls": float(STARTS), "refused": late, "unwanted": late, "late_arrivals": 7.0}
    counters |= {"late_exits": late - 9, "unsure_clocks": 3.0, "invalid_calls": late}
    return blocks, {name: [value, value] for name, value in counters.items()}


def broken(made: Made) -> list[str]:
    """Returns the first words of what a run breaks."""
    return [text.partition(" ")[0] for text in broken_promises(*made)]


def test_without_growth_all_promises_are_kept_whatever_load_comes() -> None:
    assert all(broken(made_up(seed, load=load)) == [] for seed in range(20) for load in (0.0, 3.0))


def test_what_only_rises_is_found() -> None:
    assert all(broken(made_up(seed, slack_step=40.0)) == ["slack"] for seed in range(20))
    assert all(broken(made_up(seed, late_step=0.004)) == ["share"] for seed in range(20))


def test_a_leak_of_two_bytes_per_start_is_found() -> None:
    blocks, counters = made_up()
    leaking = [block | {"memory": [30 << 20, (31 << 20) + 2 * 200 * i]} for i, block in enumerate(blocks)]
    assert broken((leaking, counters)) == ["memory"]


@pytest.mark.parametrize("by", [-1, 1])
def test_a_descriptor_that_is_lost_or_gained_is_found(by: int) -> None:
    blocks, counters = made_up()
    blocks[-1]["descriptors"] = [20, 21 + by]
    assert broken((blocks, counters)) == ["descriptors"]


@pytest.mark.parametrize(
    ("counter", "by"), [("calls", -(2**32)), ("calls", 1), ("unwanted", 1), ("refused", 2), ("refused", -3)]
)
def test_a_counter_that_is_wrong_is_found(counter: str, by: int) -> None:
    blocks, counters = made_up()
    counters[counter][1] += by
    assert broken((blocks, counters)) == ["counters"]


def test_the_last_start_is_not_known_yet() -> None:
    blocks, counters = made_up()
    for name in ("invalid_calls", "unwanted"):
        counters[name][0] -= 1
    assert broken((blocks, counters)) == []
