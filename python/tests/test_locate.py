"""downbeat locate: logs of pairs and files of downbeat-bench pairs, with planted faults."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from downbeat.data.pair_file import PairGroup
from downbeat.data.pair_results import pair_of_run
from downbeat.data.readers.results import ToolRun
from downbeat.statistics.fresh import Rounds, confirmed
from downbeat.tables import Floats
from downbeat_command import downbeat
from pair_files import osu_bandwidth_log, osu_log, write_nccl_logs, write_pairs, write_pico_pairs

from tests.statistics.benched import Bench, names_of
from tests.statistics.machines import Machine, slow_link, slow_node

SHARED = Path(__file__).resolve().parents[3] / "shared/data/nccl-pairs/cluster00.tar.gz"
MACHINE = Machine(nodes=12, values=4)


def times(seed: int = 1, **changes: Any) -> Floats:  # noqa: ANN401, of Machine
    return dataclasses.replace(MACHINE, **changes).times(np.random.default_rng(seed))


def located(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
    done = downbeat("locate", *arguments, "--json", "-", where=Path())
    assert done.returncode == status, done.stderr
    return dict(json.loads(done.stdout))


def facts(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [fact for fact in record["facts"] if fact["fact"] == name]


def test_a_slow_node_in_logs_of_nccl_tests(tmp_path: Path) -> None:
    logs = write_nccl_logs(tmp_path / "logs", slow_node(times(), 5, 4.0), failed=((2, 5), (3, 5), (4, 5)))
    record = located(logs, "--fail-on", "slow", status=3)
    (slow,) = facts(record, "slow_node")
    assert slow["node"]["ends"] == ["node005"]
    assert slow["node"]["ratio"] == pytest.approx(4.0, rel=0.05)
    assert slow["node"]["peers"] == pytest.approx(10e9, rel=0.4)
    assert (slow["node"]["slow"], slow["node"]["of"]) == (8, 8)
    (failed,) = facts(record, "failed_pairs")
    assert (failed["most"], failed["count"]) == ("node005", 3)
    assert located(logs, "--fail-on", "unsteady", status=3)


def test_slow_links_in_logs_of_osu(tmp_path: Path) -> None:
    machine = slow_link(slow_link(times(), 1, 7, 2.0), 2, 9, 3.0)
    names = names_of(12)
    for a, b in np.argwhere(np.triu(np.ones((12, 12)), 1)):
        log = osu_log(np.geomspace(1e-4, 8e-4, 4) * np.exp(machine[:, a, b]))
        (tmp_path / f"osu_latency_{names[a]}_{names[b]}.txt").write_text(log, encoding="utf-8")
    record = located(tmp_path)
    (slow,) = facts(record, "slow_links")
    assert [link["ends"] for link in slow["links"]] == [["node002", "node009"], ["node001", "node007"]]
    assert [link["ratio"] for link in slow["links"]] == pytest.approx([3.0, 2.0], rel=0.15)
    assert not slow["links"][0]["is_rate"]


def test_a_direction_in_logs_of_both_orders(tmp_path: Path) -> None:
    machine = slow_link(times(), 9, 2, 3.0, both=False)
    names = names_of(12)
    for a, b in np.argwhere(~np.eye(12, dtype=bool)):
        log = osu_bandwidth_log(10e9 * np.exp(-machine[:, a, b]))
        (tmp_path / f"osu_bw_{names[a]}_{names[b]}.txt").write_text(log, encoding="utf-8")
    (slow,) = facts(located(tmp_path), "slow_links")
    assert [(link["ends"], link["direction"]) for link in slow["links"]] == [(["node009", "node002"], 1)]
    assert slow["links"][0]["peers"] / slow["links"][0]["value"] == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize("packed", [False, True])
def test_a_slow_node_and_link_in_results_of_pico(tmp_path: Path, packed: bool) -> None:
    machine = slow_link(slow_node(times(), 5, 3.0), 2, 9, 2.0)
    results = write_pico_pairs(tmp_path / "results", machine, algorithms=("ring_ompi", "bine_lat"))
    for file in min((results / "fjord").iterdir()).glob("0/*.csv"):  # of the nodes 0 and 1
        file.write_text("highest\n", encoding="utf-8")
    if packed:
        with tarfile.open(tmp_path / "results.tar.gz", "w:gz") as archive:
            archive.add(results, results.name)
        results = tmp_path / "results.tar.gz"
    record = located(results, "--fail-on", "slow", status=3)
    settings = [f"allreduce by {algorithm} with 4 ranks a node" for algorithm in ("ring_ompi", "bine_lat")]
    nodes = {fact["setting"]: fact["node"] for fact in facts(record, "slow_node")}
    assert sorted(nodes) == sorted(settings)
    assert [nodes[setting]["ends"] for setting in settings] == [["node005.local"]] * 2
    assert [nodes[setting]["ratio"] for setting in settings] == pytest.approx([3.0, 3.0], rel=0.05)
    assert nodes[settings[1]]["peers"] / nodes[settings[0]]["peers"] == pytest.approx(2.0, rel=0.05)
    links = {fact["setting"]: [link["ends"] for link in fact["links"]] for fact in facts(record, "slow_links")}
    assert links == {key: [["node002.local", "node009.local"]] for key in settings}
    (failed,) = facts(record, "failed_pairs")
    assert (sorted(failed["settings"]), failed["pairs"]) == (sorted(settings), [["node000.local", "node001.local"]])


def test_results_of_pico_with_equal_times_are_different_pairs(tmp_path: Path) -> None:
    """Jobs of several pairs start in the same second, each with its own directory of results."""
    for number in range(66):
        source = write_pico_pairs(tmp_path / "all", times()) if number == 0 else tmp_path / "all"
        directory = sorted((source / "fjord").iterdir())[number]
        target = tmp_path / "jobs" / str(number) / "fjord" / "2025_03_14___12_00_00"
        shutil.copytree(directory, target)
        row = "2025_03_14___12_00_00,0,2,4,ALLREDUCE,OMPI,4.1.6,no,MPI_SUM,null"
        heads = (source / "fjord_metadata.csv").read_text(encoding="utf-8").splitlines()[0]
        (target.parents[1] / "fjord_metadata.csv").write_text(f"{heads}\n{row}\n", encoding="utf-8")
    (sound,) = facts(located(tmp_path / "jobs"), "nothing_slow")
    assert (sound["nodes"], sound["pairs"], sound["values"]) == (12, 66, 4)


def test_nothing_slow_and_what_would_have_been_found(tmp_path: Path) -> None:
    record = located(write_nccl_logs(tmp_path / "logs", times()), "--fail-on", "unsteady")
    (sound,) = facts(record, "nothing_slow")
    assert (sound["nodes"], sound["pairs"], sound["values"]) == (12, 66, 8)
    assert sound["of_nodes"]["power"] > 0.95
    assert not facts(record, "slow_node") + facts(record, "slow_links")


def test_a_baseline_shows_what_changed(tmp_path: Path) -> None:
    old = slow_node(times(), 3, 2.0)
    before = write_nccl_logs(tmp_path / "before", old)
    after = write_nccl_logs(tmp_path / "after", slow_node(old, 8, 1.5) + np.log(1.1))
    record = located(after, "--baseline", before)
    assert [fact["node"]["ends"] for fact in facts(record, "slow_node")] == [["node008"]]
    assert facts(record, "slow_node")[0]["node"]["ratio"] == pytest.approx(1.5, rel=0.05)
    assert facts(record, "all_slower")[0]["ratio"] == pytest.approx(1.1, rel=0.05)


def test_a_page_and_its_numbers(tmp_path: Path) -> None:
    logs = write_nccl_logs(tmp_path / "logs", slow_node(times(), 5, 4.0))
    page = tmp_path / "pairs.html"
    done = downbeat("locate", logs, "-o", page, where=tmp_path)
    assert done.returncode == 0
    assert "node005" in done.stdout.splitlines()[0]
    assert "<svg" in page.read_text(encoding="utf-8") or "<img" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "pair"),
    [
        ("osu_latency_node1_node2.txt", ("node1", "node2")),
        ("logs/osu_bw.cnode2-001_cnode2-002.out", ("cnode2-001", "cnode2-002")),
        ("x.tar.gz:a/bw_r1-n3--r2-n4.txt", ("r1-n3", "r2-n4")),
        ("lat-n02-n01.log", ("n02", "n01")),
        ("osu_latency_2024_11_03.txt", ()),
        ("latency.txt", ()),
    ],
)
def test_names_of_nodes_in_names_of_files(path: str, pair: tuple[str, ...]) -> None:
    assert pair_of_run(ToolRun("OSU", "", path, 1)) == pair


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("launcher", "logs")),
        (("{logs}", "--", "mpirun"), ("launcher", "logs")),
        (("{logs}", "--within", "60s"), ("--within",)),
        (("{one}",), ("pair of nodes",)),
        (("--", "no-such-launcher"), ("no-such-launcher",)),
        (("{two}",), ("fewer than 4",)),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    logs = write_nccl_logs(tmp_path / "logs", times())
    (tmp_path / "latency.txt").write_text(osu_log(np.ones(4)), encoding="utf-8")
    two = write_nccl_logs(tmp_path / "two", times()[:, :2, :2])
    paths = {"logs": logs, "one": tmp_path / "latency.txt", "two": two}
    done = downbeat("locate", *(each.format(**paths) for each in arguments), where=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert all(word in done.stderr for word in words)


def test_a_live_file_with_a_slow_node(tmp_path: Path) -> None:
    base = slow_node(times(nodes=24, noise=0.0, outliers=0.0, values=1), 7, 1.5)[0]
    loops = np.full(24, 1e-3)
    loops[7] = 1.5e-3
    record = located(write_pairs(tmp_path / "pairs.nc", Bench(base, np.random.default_rng(1)).run(loop_seconds=loops)))
    (slow,) = facts(record, "slow_node")
    assert (slow["node"]["ends"], slow["node"]["of"], slow["node"]["direction"]) == (["node007"], 24, 0)
    assert slow["node"]["ratio"] == pytest.approx(1.5, rel=0.05)
    assert [each["rank"] for each in facts(record, "rank_checks")[0]["ranks"]] == ["node007"]


def test_a_live_file_with_a_link_that_is_slow_in_one_direction(tmp_path: Path) -> None:
    base = slow_link(times(nodes=24, noise=0.0, outliers=0.0, values=1), 15, 4, 2.0, both=False)[0]
    record = located(write_pairs(tmp_path / "pairs.nc", Bench(base, np.random.default_rng(2)).run()))
    (slow,) = facts(record, "slow_links")
    assert [(link["ends"], link["direction"], link["of"]) for link in slow["links"]] == [
        (["node004", "node015"], 2, 10)
    ]


def test_a_live_file_of_a_sound_machine(tmp_path: Path) -> None:
    base = times(nodes=24, noise=0.0, outliers=0.0, values=1)[0]
    record = located(write_pairs(tmp_path / "pairs.nc", Bench(base, np.random.default_rng(3)).run()))
    (sound,) = facts(record, "nothing_slow")
    assert (sound["nodes"], sound["values"]) == (24, 2)
    assert sound["of_links"]["power"] > 0.9


def test_a_live_file_with_a_slow_leaf(tmp_path: Path) -> None:
    base = times(nodes=32, noise=0.0, outliers=0.0, values=1)
    for node in range(9):
        base = slow_node(base, node, 2.0)
    record = located(write_pairs(tmp_path / "pairs.nc", Bench(base[0], np.random.default_rng(5)).run()))
    (slow,) = facts(record, "slow_node")
    assert slow["node"]["ends"] == names_of(9)


def test_a_live_file_of_a_noisy_machine(tmp_path: Path) -> None:
    base = times(nodes=16, noise=0.0, outliers=0.0, values=1)[0]
    record = located(write_pairs(tmp_path / "pairs.nc", Bench(base, np.random.default_rng(6), noise=0.3).run()))
    assert not facts(record, "slow_node") + facts(record, "slow_links")
    assert facts(record, "not_steady")[0]["restless"] > 0.5


def groups_of(*bases: Floats) -> list[PairGroup]:
    """Groups of nodes that are measured together; `bases`: log times of each."""
    groups: list[PairGroup] = []
    for number, base in enumerate(bases):
        first = sum(len(group.ranks) for group in groups)
        ranks = tuple(f"host{first + node}" for node in range(len(base)))
        groups.append(dataclasses.replace(Bench(base, np.random.default_rng(number)).run(), ranks=ranks))
    return groups


def test_a_live_file_of_groups(tmp_path: Path) -> None:
    """Each group has peers, suspects and controls of its own."""
    sound = [times(seed, nodes=nodes, noise=0.0, outliers=0.0, values=1)[0] for seed, nodes in ((1, 24), (2, 23))]
    quiet = located(write_pairs(tmp_path / "sound.nc", *groups_of(*sound)))
    assert [each["fact"] for each in quiet["facts"]] == ["nothing_slow", "measured_in_groups"]
    assert (quiet["facts"][0]["nodes"], quiet["facts"][0]["pairs"]) == (47, 24 * 23 // 2 + 23 * 22 // 2)
    assert (quiet["facts"][1]["smallest"], quiet["facts"][1]["largest"]) == (23, 24)
    second = slow_link(slow_node(sound[1][np.newaxis], 5, 2.0), 11, 3, 3.0)[0]
    faulty = write_pairs(tmp_path / "slow.nc", *groups_of(sound[0], second))
    record = located(faulty, "--fail-on", "slow", status=3)
    (node,), (links,) = facts(record, "slow_node"), facts(record, "slow_links")
    assert node["node"]["ends"] == ["host29"]
    assert node["setting"].startswith("group 2")
    assert [link["ends"] for link in links["links"]] == [["host27", "host35"]]
    assert facts(record, "nothing_slow")[0]["nodes"] == 24
    changed = located(faulty, "--baseline", tmp_path / "sound.nc")
    assert [fact["node"]["ends"] for fact in facts(changed, "slow_node")] == [["host29"]]


@pytest.mark.parametrize(
    ("variable", "index", "value"),
    [("rank_b", 0, 40), ("suspect", -1, 0), ("group", 3, 2), ("group", 3, 0), ("group", 3, 9)],
)
def test_a_file_with_pairs_between_groups_is_damaged(tmp_path: Path, variable: str, index: int, value: int) -> None:
    base = slow_node(times(nodes=24, noise=0.0, outliers=0.0, values=1), 5, 2.0)[0]
    path = write_pairs(tmp_path / "pairs.nc", *groups_of(base, base))
    with netCDF4.Dataset(path, "a") as file:
        file.variables[variable][index] = value
    done = downbeat("locate", path, where=Path())
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "is damaged: " in done.stderr


@pytest.mark.parametrize("seed", range(4))
def test_few_nodes_name_a_node_alone(tmp_path: Path, seed: int) -> None:
    """A slow pair of four nodes may be a longer way; a node whose pairs are all slow is named."""
    base = times(seed, nodes=4, noise=0.0, outliers=0.0, values=1, kind="flat")
    outcomes = []
    for number, planted in enumerate((slow_link(base, 1, 3, 3.0), slow_node(base, 2, 3.0))):
        bench = Bench(planted[0], np.random.default_rng(seed))
        outcomes.append(located(write_pairs(tmp_path / f"{number}.nc", bench.run())))
    link, node = outcomes
    assert not facts(link, "slow_node") + facts(link, "slow_links") + facts(link, "nothing_slow")
    assert [each["ends"] for fact in facts(link, "too_few_nodes") for each in fact["slow"]] == [["node001", "node003"]]
    assert [fact["node"]["ends"] for fact in facts(node, "slow_node")] == [["node002"]]
    assert not facts(node, "slow_links")
    logs = write_nccl_logs(tmp_path / "logs", slow_node(times(seed, nodes=4), 2, 3.0))
    record = located(logs, "--fail-on", "unsteady", status=4)
    assert next(each["ends"] for fact in facts(record, "too_few_nodes") for each in fact["slow"]) == ["node002"]
    assert not facts(record, "slow_node") + facts(record, "slow_links") + facts(record, "nothing_slow")


@pytest.mark.parametrize("ranks", [2, 4, 24])
def test_a_rank_beside_a_busy_process(tmp_path: Path, ranks: int) -> None:
    base = times(nodes=ranks, noise=0.0, outliers=0.0, values=1)[0]
    taken = np.full(ranks, 0.02)
    bench = Bench(base, np.random.default_rng(1))
    quiet = write_pairs(tmp_path / "quiet.nc", bench.run(taken_share=taken))
    assert not facts(located(quiet, "--fail-on", "slow"), "taken_processors")
    taken[1] = 0.5
    busy = write_pairs(tmp_path / "busy.nc", bench.run(taken_share=taken))
    record = located(busy, "--fail-on", "slow", status=3)
    assert record["facts"][0]["fact"] == "taken_processors"
    assert [each["rank"] for each in record["facts"][0]["ranks"]] == ["node001"]


def test_fresh_rounds_rarely_confirm_sound_suspects() -> None:
    random = np.random.default_rng(4)
    suspects = [Rounds(random.normal(size=10), random.normal(size=(10, 2))) for _ in range(5000)]
    assert np.mean([confirmed([each])[0] for each in suspects]) <= 0.01 + 3 * np.sqrt(0.01 / 5000)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the logs of a cluster beside the checkout")
def test_pairs_of_a_real_cluster() -> None:
    record = located(SHARED)
    (node,) = facts(record, "slow_node")
    assert (node["node"]["ends"], node["setting"]) == (["cnode2-003"], "sendrecv with 4 GPUs a node")
    links = {fact["setting"]: len(fact["links"]) for fact in facts(record, "slow_links")}
    assert links == {f"{operation} with 1 GPU a node": 8 for operation in ("alltoall", "sendrecv")}
    assert "alltoall with 8 GPUs a node" in [fact["setting"] for fact in facts(record, "not_steady")]
