"""Simulated clusters: how they are written, and experiments on them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.data.launch_file import open_netcdf
from downbeat.data.pair_file import read_pair_file
from downbeat.locate.live import find_live
from downbeat.output.facts.locate import SlowLinks, SlowNode
from downbeat.run.bench import built
from downbeat.run.experiment import open_experiment
from downbeat.run.simulation import SIMULATOR, SpecificationError, parse_platform, platform_object, without_seed
from downbeat_command import downbeat

pytestmark = pytest.mark.thorough
needs_simgrid = pytest.mark.skipif(
    not (shutil.which("smpirun") and platform_object() and built(SIMULATOR)), reason="run 'make build MPI=simgrid'"
)


def test_a_platform_has_every_parameter_in_seconds() -> None:
    platform = parse_platform("fat-tree(nodes=64, latency=250ns, ranks_per_node=2)")
    assert platform.ranks == 128
    assert "latency=2.5e-07," in str(platform)
    assert parse_platform(str(platform)) == platform
    assert platform.hosts(3) == ["node-0", "node-0", "node-1"]
    assert platform.validation().endswith("seed=1,ranks_per_clock=2")
    assert without_seed(str(platform)) == without_seed(str(platform.with_seed(7)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ring(nodes=4)", "'ring(nodes=4)' is not a platform; choose one of cluster, fat-tree, dragonfly"),
        ("cluster", "has no nodes; e.g. cluster(nodes=64)"),
        ("cluster(nodes=4,radix=2)", "'radix=2' is not a parameter of cluster; give nodes"),
        ("cluster(nodes=4,nodes=5)", "gives nodes twice"),
        ("cluster(nodes=2.5)", "nodes=2.5 is not valid; give a whole number from 1 to 65536"),
        ("cluster(nodes=4,latency=1min)", "latency=1min is not valid; give a time such as 2us from 1e-09 to 1 s"),
        ("cluster(nodes=4,asymmetry=2)", "asymmetry=2 is not valid; give a number from 0 to 1"),
        ("dragonfly(nodes=4096)", "raise routers or nodes_per_router"),
        ("cluster(nodes=4,slow_in=2)", "give faulty=0 to 3 too"),
        ("cluster(nodes=4,faulty=4)", "faulty=4 is no node; give 0 to 3"),
        ("cluster(nodes=4,faulty=1,faulty_to=1)", "give another node"),
        ("cluster(nodes=4,faulty=1,slow_in=0.5)", "give a number from 1 to"),
    ],
)
def test_what_is_no_platform_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        parse_platform(text)
    assert said in str(caught.value)


@pytest.mark.nightly
@needs_simgrid
def test_every_synchronizer_comes_to_an_end_where_looking_takes_no_time(tmp_path: Path) -> None:
    bench = built(SIMULATOR)
    assert bench
    launch = [sys.executable, "-m", "downbeat.run.launch", "--simulate", "cluster(nodes=4)", "-n", "4"]
    command = [*launch, "--timeout", "60", bench, "skew", "-r", "3", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
@needs_simgrid
@pytest.mark.parametrize(
    ("platform", "fault", "suspects"),
    [
        ("fat-tree(nodes=32,radix=8,jitter=20ns{})", "", set()),
        ("fat-tree(nodes=32,radix=8,jitter=20ns{})", ",faulty=5,slow_out=1.5,slow_in=1.5", {(5, -1)}),
        ("fat-tree(nodes=32,radix=8,jitter=20ns{})", ",faulty=5,faulty_to=20,slow_in=2", {(5, 20)}),
        ("dragonfly(nodes=32,jitter=20ns{})", ",faulty=9,faulty_to=4,slow_out=10", {(4, 9)}),
        ("dragonfly(nodes=32,jitter=20ns{})", ",faulty=9,slow_core=2,noise=0.01,noise_length=1ms", set()),
    ],
)
def test_pairs_suspect_a_planted_fault(
    tmp_path: Path, platform: str, fault: str, suspects: set[tuple[int, int]]
) -> None:
    bench = built(SIMULATOR)
    assert bench
    launch = [sys.executable, "-m", "downbeat.run.launch", "--simulate", platform.format(fault), "-n", "32"]
    command = [*launch, "--timeout", "120", bench, "pairs", "--within", "60s", "--seed", "1", "-q", "-o", "pairs.nc"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open_netcdf(tmp_path / "pairs.nc") as file:
        data = {name: variable[:] for name, variable in file.variables.items() if name not in ("host", "cpuset")}
    found = set(zip(data.get("suspected_a", ()), data.get("suspected_b", ()), strict=True))
    assert suspects <= found
    assert len(found) <= len(suspects) + 1
    fresh = data["pass"] == 3
    if suspects:
        slow = data["seconds_ab"] + data["seconds_ba"]
        ratios = slow[fresh & (data["role"] == 1)] / slow[fresh & (data["role"] == 2)].reshape(-1, 2).mean(axis=1)
        assert (ratios > 1.2).all()
    if "slow_core" in fault:
        assert data["loop_seconds"][9] == pytest.approx(2 * data["loop_seconds"][8])
        assert data["interruptions_per_s"][9] == pytest.approx(10)
        assert data["interruptions_per_s"][8] == 0


@pytest.mark.nightly
@needs_simgrid
@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("", []),
        (",faulty=21,slow_out=2,slow_in=2", [("node-21",)]),
        (",faulty=18,faulty_to=29,slow_out=2,slow_in=2", [("node-18", "node-29")]),
    ],
)
def test_locate_names_a_planted_fault_in_the_second_group(
    tmp_path: Path, fault: str, named: list[tuple[str, ...]]
) -> None:
    bench = built(SIMULATOR)
    assert bench
    platform = f"fat-tree(nodes=31,radix=8,jitter=20ns{fault})"  # groups of 16 and 15 nodes, two leaves each
    launch = [sys.executable, "-m", "downbeat.run.launch", "--simulate", platform, "-n", "31", "--timeout", "120"]
    command = [*launch, bench, "pairs", "--group", "16", "--seed", "1", "-q", "-o", "pairs.nc"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    groups = read_pair_file(tmp_path / "pairs.nc")
    assert [len(group.names) for group in groups] == [16, 15]
    accused = [(each.times.setting, fact) for each in find_live(groups) for fact in each.accused]
    assert all(setting.startswith("group 2") for setting, _ in accused)
    nodes = [fact.node.ends for _, fact in accused if isinstance(fact, SlowNode)]
    links = [link.ends for _, fact in accused if isinstance(fact, SlowLinks) for link in fact.links]
    assert nodes + links == named


@pytest.mark.nightly
@needs_simgrid
def test_an_experiment_is_simulated_and_says_so(tmp_path: Path) -> None:
    output = tmp_path / "simulated"
    arguments = ["bcast", "--sizes", "8", "-r", "5", "--launches", "2", "-o", str(output)]
    first = downbeat("run", *arguments, "--simulate", "cluster(nodes=8,jitter=100ns)", where=tmp_path)
    assert first.returncode == 0, first.stderr
    launches = open_experiment(output).launches
    assert [launch.ranks for launch in launches] == [8, 8]
    platforms = [str(launch.context["simulated"]) for launch in launches]
    assert all(text.startswith("cluster(nodes=8,ranks_per_node=1,latency=1.5e-06,") for text in platforms)
    assert len(set(platforms)) == 2  # delays and clocks of their own
    assert len({without_seed(text) for text in platforms}) == 1
    assert json.loads((output / "plan.json").read_text())["libraries"][0]["simulate"].startswith("cluster(nodes=8,")
    shown = downbeat("show", output, where=tmp_path).stdout
    assert "  simulated" in shown
    assert "  hosts" not in shown
    page = tmp_path / "report.html"
    assert downbeat("report", output, "-o", page, where=tmp_path).returncode == 0
    assert "not measured" in page.read_text(encoding="utf-8")
    compared = downbeat("compare", output, "synchronizer=mpi_barrier", "synchronizer=harmonize", where=tmp_path)
    assert "not measured" in compared.stdout and "cluster(nodes=8, " in compared.stdout
    other = downbeat("run", *arguments, "--simulate", "cluster(nodes=8)", where=tmp_path)
    assert other.returncode == 2
    assert "another experiment" in other.stderr


@pytest.mark.nightly
@needs_simgrid
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--simulate", "cluster(nodes=2)", "-n", "4"], "ranks: 4 do not fit on 2 simulated nodes of 1"),
        (["--simulate", "cluster(nodes=2)", "--mpi", "openmpi"], "no MPI library and no launcher"),
        (["--simulate", "cloud(nodes=2)"], "'cloud(nodes=2)' is not a platform"),
    ],
)
def test_what_cannot_be_simulated_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = downbeat("run", "barrier", *arguments, "-o", "none", where=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
