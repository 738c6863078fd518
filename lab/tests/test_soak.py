"""The soak of starts: made-up runs, and a short one of this build."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import soak

STARTS = 200_000
BLOCKS = 1000


def made_up(seed: int = 1, slack_step: float = 0.0, late_step: float = 0.0, load: float = 0.0) -> dict[str, Any]:
    """Returns a run of `STARTS` starts.

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
        {"starts": STARTS // BLOCKS, "ns": 5000.0, "slack_ns": slack, "late": late, **held}
        for slack, late in zip(slacks.tolist(), lates.tolist(), strict=True)
    ]
    late = sum(block["late"] for block in blocks)
    process = {"starts": STARTS, "calls": STARTS, "refused": late, "unwanted": late, "late_arrivals": 7}
    process |= {"late_exits": late - 9, "unsure_clocks": 3, "invalid_calls": late}
    return {"blocks": blocks, "processes": [process, process]}


def broken(found: dict[str, Any]) -> list[str]:
    """Returns what promises a run breaks."""
    return [promise.what for promise in soak.judge(found) if not promise.met]


def test_a_run_without_growth_keeps_all_promises() -> None:
    assert all(broken(made_up(seed)) == [] for seed in range(20))


def test_load_that_comes_in_the_middle_is_no_drift() -> None:
    assert all(broken(made_up(seed, load=3.0)) == [] for seed in range(20))


def test_slack_that_only_grows_is_found() -> None:
    assert all(broken(made_up(seed, slack_step=40.0)) == ["slack drifts"] for seed in range(20))


def test_flags_of_0_that_become_more_are_found() -> None:
    assert all(broken(made_up(seed, late_step=0.004)) == ["share of flags of 0 drifts"] for seed in range(20))


def test_a_leak_of_two_bytes_per_start_is_found() -> None:
    found = made_up()
    for i, block in enumerate(found["blocks"]):
        block["memory"] = [30 << 20, (31 << 20) + 2 * 200 * i]
    assert broken(found) == ["memory since the second tenth"]


@pytest.mark.parametrize("by", [-1, 1])
def test_a_descriptor_that_is_lost_or_gained_is_found(by: int) -> None:
    found = made_up()
    found["blocks"][-1]["descriptors"] = [20, 21 + by]
    assert broken(found) == ["descriptors opened or closed since"]


@pytest.mark.parametrize(
    ("counter", "by"),
    [("calls", -(2**32)), ("calls", 1), ("starts", 1), ("unwanted", 1), ("refused", 2), ("refused", -3)],
)
def test_a_counter_that_is_wrong_is_found(counter: str, by: int) -> None:
    found = made_up()
    found["processes"][1] = copy.copy(found["processes"][1])
    found["processes"][1][counter] += by
    assert broken(found) == ["counters that differ from the count"]


def test_the_last_start_is_not_known_yet() -> None:
    found = made_up()
    for process in found["processes"][:1]:
        process["invalid_calls"] -= 1
        process["unwanted"] -= 1
    assert broken(found) == []


@pytest.mark.alone
def test_a_short_soak_holds(tmp_path: Path) -> None:
    """A fiftieth of `make bench-soak`, or as much of it as 10 s allow."""
    output = tmp_path / "soak.json"
    assert soak.main(["--starts", str(STARTS), "--seconds", "10", "--output", str(output)]) == 0
    found = json.loads(output.read_text(encoding="utf-8"))
    starts = sum(tenth["starts"] for tenth in found["tenths"])
    assert 0 < starts <= STARTS
    assert all(one["calls"] == starts for one in found["processes"])
