"""Slow nodes and links in simulated machines: found where planted, none in sound machines, and the stated power."""

from __future__ import annotations

import numpy as np
import pytest
from downbeat.statistics.fault_search import locate
from downbeat.statistics.faults import Located
from downbeat.statistics.fresh import Rounds, confirmed
from downbeat.statistics.node_faults import shuffled_chance
from downbeat.tables import Floats

from tests.statistics.machines import Machine, shuffled, slow_link, slow_node

RUNS = 10  # the full counts are in tests/statistics/faults.py
NODE, A, B = 23, 5, 40


def named(located: Located) -> list[tuple[str, tuple[int, ...]]]:
    return [(fault.kind, fault.members) for fault in located.faults]


def machines(machine: Machine, runs: int = RUNS) -> list[Floats]:
    return [machine.times(np.random.default_rng(seed)) for seed in range(runs)]


@pytest.mark.parametrize("kind", ["flat", "jobs", "tiers", "far"])
def test_no_accusation_in_sound_machines(kind: str) -> None:
    assert [named(locate(times)) for times in machines(Machine(kind=kind))] == [[]] * RUNS


@pytest.mark.parametrize("kind", ["flat", "tiers", "far"])
@pytest.mark.parametrize("factor", [1.5, 2.0, 10.0])
def test_planted_faults_are_named_and_nothing_else(kind: str, factor: float) -> None:
    for times in machines(Machine(kind=kind), 4):
        node = locate(slow_node(times, NODE, factor))
        assert named(node) == [("node", (NODE,))]
        assert node.faults[0].ratio == pytest.approx(factor, rel=0.1)
        link = locate(slow_link(times, A, B, factor))
        assert named(link) == [("link", (A, B))]
        assert link.faults[0].ratio == pytest.approx(factor, rel=0.2)


def test_directions_are_told_apart() -> None:
    times = Machine().times(np.random.default_rng(3))
    link = locate(slow_link(times, A, B, 2.0, both=False), directed=True)
    assert [(fault.kind, fault.members, fault.direction) for fault in link.faults] == [("link", (A, B), 1)]
    sender = times.copy()
    sender[:, NODE] += np.log(2.0)
    assert [(fault.kind, fault.members, fault.direction) for fault in locate(sender, directed=True).faults] == [
        ("node", (NODE,), 1)
    ]


@pytest.mark.parametrize("noise", [0.01, 0.08, 0.12])
def test_the_stated_power_is_the_counted(noise: float) -> None:
    stated, counted = [], []
    for seed, times in enumerate(machines(Machine(nodes=32, noise=noise), 60)):
        random = np.random.default_rng(seed)
        located = locate(times)
        stated.append((located.node_power, located.link_power))
        a, b = (int(node) for node in random.choice(32, 2, replace=False))
        counted.append(
            (
                ("node", (a,)) in named(locate(slow_node(times, a, 1.5))),
                ("link", (min(a, b), max(a, b))) in named(locate(slow_link(times, a, b, 1.5))),
            )
        )
    error = 3 * np.sqrt(np.mean(stated, axis=0) * (1 - np.mean(stated, axis=0)) / 60)
    assert np.all(np.abs(np.mean(stated, axis=0) - np.mean(counted, axis=0)) <= 0.05 + error)


def test_values_shuffled_over_pairs_accuse_no_node() -> None:
    times = slow_node(Machine(nodes=17, values=10).times(np.random.default_rng(7)), 3, 6.0)
    random = np.random.default_rng(8)
    assert not any("node" in dict(named(locate(shuffled(times, random)))) for _ in range(100))


def test_a_single_value_of_a_pair_names_no_link() -> None:
    located = locate(slow_link(Machine(values=1).times(np.random.default_rng(1)), A, B, 10.0))
    assert (named(located), located.link_power) == ([], 0.0)


def test_a_node_that_is_alone_in_its_leaf_is_no_fault() -> None:
    assert named(locate(Machine(nodes=49).times(np.random.default_rng(2)))) == []


def test_many_slow_nodes_of_a_leaf_name_the_leaf() -> None:
    times = Machine().times(np.random.default_rng(4))
    for node in range(10):
        times = slow_node(times, node, 2.0)
    assert named(locate(times)) == [("leaf", tuple(range(10)))]


def test_many_slow_nodes_elsewhere_are_an_unsteady_machine() -> None:
    times = Machine().times(np.random.default_rng(4))
    for node in range(0, 64, 6):
        times = slow_node(times, node, 2.0)
    located = locate(times)
    assert (located.nodes_steady, named(located)) == (False, [])


def test_missing_pairs_and_few_nodes() -> None:
    times = Machine(nodes=9).times(np.random.default_rng(5))
    times[:, 2, 3] = times[:, 3, 2] = np.nan
    assert named(locate(slow_node(times, 4, 3.0))) == [("node", (4,))]
    assert locate(Machine(nodes=4).times(np.random.default_rng(6))).faults == ()


def test_the_bound_of_a_shuffle_holds() -> None:
    random = np.random.default_rng(9)
    values = (random.random(136) < 0.2).astype(float)
    generating = np.array([np.exp(t * values).mean() for t in np.geomspace(0.5, 60.0, 24)])
    draws = np.array([random.choice(values, 15, replace=False).mean() for _ in range(20_000)])
    for count in (6, 8, 9):
        bound = shuffled_chance(np.array([count / 15]), np.array([15]), generating)[0]
        assert np.mean(draws >= count / 15 - 1e-9) <= bound <= 1


def test_suspects_without_fresh_rounds_do_not_hide_a_confirmed_one() -> None:
    slow = Rounds(np.full(10, np.log(1.5)), np.zeros((10, 2)))
    sound = Rounds(np.zeros(10), np.full((10, 2), 0.1))
    not_slow_again = Rounds(np.zeros(0), np.zeros((0, 2)))
    assert confirmed([*[not_slow_again] * 1000, sound, slow]).tolist() == [False] * 1001 + [True]
    assert not confirmed([not_slow_again]).any()
    assert confirmed([slow] * 600).sum() == 0  # Holm counts all that have rounds: 600 / 3**10 exceeds 1 %
