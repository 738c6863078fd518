"""Figures on simulated clusters: which there are, their runs, and the truth beside measured values."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError
from downbeat.output.records import plain, view_record
from downbeat.run.bench import built
from downbeat.run.simulation import SIMULATOR, SimulatorMessages, nonblocking_seconds, platform_object
from downbeat_command import downbeat
from downbeat_papers import simulated, words
from downbeat_papers.figure import FIGURES, System, data_figure
from downbeat_papers.listing import estimated_seconds
from downbeat_papers.perform import perform, plan_of
from downbeat_papers.results import Results
from downbeat_papers.simulated import simulated_site
from downbeat_papers.view import figure_view

pytestmark = pytest.mark.thorough
needs_simgrid = pytest.mark.skipif(
    not (shutil.which("smpirun") and platform_object() and built(SIMULATOR)), reason="run 'make build MPI=simgrid'"
)
SIMULATED = [name for name, figure in FIGURES.items() if not figure.data and isinstance(figure.simulated, System)]
SMALL = "fat-tree(nodes=4,ranks_per_node=4,jitter=100ns,overhead=200ns)"


def simulated_launches(
    name: str, ranks: list[int], platform: str, where: Path, launches: int, quick: bool = False
) -> Results:
    """Returns the launches of a figure on a simulated cluster, all of them."""
    site = simulated_site(FIGURES[name], ranks, platform, launches, quick)
    results = perform(FIGURES[name], site, where, again=False, say=lambda _: None)
    assert not results.missing_launches()
    return results


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites need a program, even where it does not run."""
    monkeypatch.setattr(simulated, "find_simulator", lambda: "bench")


def test_every_figure_is_simulated_or_says_why_not() -> None:
    for name, figure in FIGURES.items():
        assert data_figure(figure).simulated, name
    with pytest.raises(UsageError, match="hunold2015-fig5 is not simulated: it compares MPI libraries"):
        simulated_site(FIGURES["hunold2015-fig5"], [])


@pytest.mark.usefixtures("bench")
def test_no_simulated_figure_takes_more_than_half_an_hour() -> None:
    scaling = {f"schuchart2023-{name}" for name in ("fig6", "fig7", "fig9", "fig10", "fig12", "fig13", "sec66")}
    assert scaling | {"hoefler2008-fig3"} < set(SIMULATED)
    for name in SIMULATED:
        assert 0 < estimated_seconds(FIGURES[name], simulated_site(FIGURES[name], [])) < 1800, name


@pytest.mark.usefixtures("bench")
def test_a_figure_is_simulated_on_the_papers_system_and_nothing_speaks_of_cores() -> None:
    for name in SIMULATED:
        site = simulated_site(FIGURES[name], [])
        runs = FIGURES[name].runs(site)
        assert runs
        assert all(run.ranks <= site.nodes * run.per_node(site) for run in runs), name
        libraries = [plan_of(FIGURES[name], run, site).libraries[0] for run in runs]
        assert all(f"nodes={site.nodes}," in library.simulate for library in libraries)
        assert not any(library.launcher or library.ranks_per_node for library in libraries)
        assert not any("DOWNBEAT_VALIDATION" in run.variables for run in runs)  # the platform's clocks
        assert "core" not in re.sub(r"\ba core\b", "", FIGURES[name].shows(site)), name
        assert "core" not in site.worth(site.most)
    figure = FIGURES["schuchart2023-fig3"]
    site = simulated_site(figure, [4])
    assert [run.per_node(site) for run in figure.runs(site)] == [128, 1, 1]


@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize(
    ("ranks", "platform", "said"),
    [
        ([1], "", "--ranks 1: every figure needs at least 2 ranks"),
        ([32768], "", "--ranks 32768: 128 simulated nodes of 128 have room for 16384; --platform changes that"),
        ([], "ring(nodes=4)", "--platform: 'ring(nodes=4)' is not a platform; choose one of cluster"),
        ([], "cluster(nodes=1)", "--platform: 1 node of 1 has room for no 2 ranks; raise nodes"),
    ],
)
def test_what_cannot_be_simulated_is_refused(ranks: list[int], platform: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        simulated_site(FIGURES["schuchart2023-fig3"], ranks, platform)
    assert str(caught.value).startswith(said)


def test_the_command_lists_and_refuses(tmp_path: Path) -> None:
    refused = downbeat("reproduce", "hunold2015-fig2", "--simulate", where=tmp_path)
    assert refused.returncode == 2
    assert "hunold2015-fig2" in refused.stderr and refused.stderr.count("\n") == 1
    both = downbeat("reproduce", "schuchart2023-fig3", "--simulate", "--mpi", "openmpi", where=tmp_path)
    assert both.returncode == 2
    assert "--simulate" in both.stderr and both.stderr.count("\n") == 1


@pytest.mark.nightly
@needs_simgrid
def test_exit_skew_is_judged_in_true_time(tmp_path: Path) -> None:
    figure = FIGURES["schuchart2023-fig3"]
    # Ways back take longer, so that clocks are off by more than the nanosecond in which true time is counted.
    results = simulated_launches(figure.name, [4, 8], SMALL.replace(")", ",asymmetry=0.2)"), tmp_path, launches=2)
    view = figure_view(figure, results)
    assert "true time" in view.pictures[0].numbers.to_string()
    (platform,) = (fact.platform for fact in view.facts if isinstance(fact, words.Simulated))
    assert platform.startswith("fat-tree(nodes=4, latency=")
    text = json.dumps(plain(view_record(view)))
    assert "true values" in text
    assert " core" not in text
    assert "simulated on" in text
    assert "--simulate 'fat-tree(nodes=4," in text
    data = results.datasets("n8")[0].sel(synchronizer="harmonize")
    measured, true = (np.ptp(data[name].to_numpy(), axis=1) for name in ("exit", "true_exit"))
    # Two nodes have two clocks: measured values lack their error.
    assert np.all(true < 0.5e-6)
    assert np.median(true) > np.median(measured)


@pytest.mark.nightly
@needs_simgrid
def test_algorithms_of_the_matrix_are_the_simulators(tmp_path: Path) -> None:
    node = "cluster(nodes=1,ranks_per_node=8,overhead=200ns)"
    results = simulated_launches("schuchart2023-fig2", [8], node, tmp_path, launches=2, quick=True)
    cells = results.cells.groupby(["algorithm", "barrier_algorithm"])["latency_avg_median"].mean()
    assert len(cells) == 24
    # As in the paper: linear looks fastest after a double ring, whose ranks leave one after another.
    assert cells["linear"].idxmin() == "double_ring"
    assert cells["binary", "double_ring"] > 1.5 * cells["binary", "recursive_doubling"]
    assert re.search(r"reduce\[binary\]:.* ompi_binary", results.datasets("matrix")[0].attrs["algorithms"])


@pytest.mark.nightly
@needs_simgrid
@pytest.mark.parametrize(
    "name",
    [
        "schuchart2023-fig7",
        "schuchart2023-fig13",
        "schuchart2023-sec66",
        "schuchart2023-fig15",
        "hoefler2008-fig3",
        "hoefler2008-fig8",
        "niethammer2016-fig5",
    ],
)
def test_a_figure_is_drawn_from_a_few_ranks(name: str, tmp_path: Path) -> None:
    results = simulated_launches(name, [2, 4], SMALL, tmp_path, launches=1, quick=True)
    assert figure_view(FIGURES[name], results).pictures
    if name == "schuchart2023-fig15":
        picture = FIGURES["schuchart2023-fig16"].pictures(results)[0]
        assert "true error" in picture.numbers.to_string()


@pytest.mark.nightly
@needs_simgrid
def test_waits_end_late_with_the_share_of_the_platform(tmp_path: Path) -> None:
    late = "cluster(nodes=8,late=3us,late_share=0.02)"
    results = simulated_launches("schuchart2023-fig3", [8], late, tmp_path, launches=3)
    skews, valid = [], []
    for launch in results.launches["n8"]:
        data = open_launch(launch.path).sel(synchronizer="harmonize")
        kept = data["valid"].to_numpy() >= 0
        valid += list(data["valid"].to_numpy()[kept])
        skews += list(np.ptp(data["true_exit"].to_numpy()[kept], axis=1))
    flags, skew = np.array(valid), np.array(skews)
    assert 0.04 < 1 - flags.mean() < 0.32  # 1 - 0.98^8 = 0.15 of some 70
    assert np.all(skew[flags == 1] < 0.1e-6)
    assert np.all(skew[flags == 0] > 2.9e-6)


@pytest.mark.usefixtures("bench")
def test_nonblocking_collectives_take_as_long_to_simulate_as_they_do() -> None:
    """Otherwise a launch ends at its timeout: on 64 ranks 0.6 s for iallreduce, on 128 ranks 11 s, measured."""
    for ranks, measured in ((64, 0.6), (128, 11.0)):
        assert measured / 2 < nonblocking_seconds(ranks, ["iallreduce"]) < 2 * measured
        assert nonblocking_seconds(ranks, ["allreduce", "iallreduce"]) > measured / 4
    assert nonblocking_seconds(128, ["alltoall", "allreduce", "ibcast"]) == 0.0
    figure = FIGURES["niethammer2016-fig7"]
    quick, slow = (simulated_site(figure, ranks=[ranks]) for ranks in (32, 64))
    assert figure.runs(slow)[0].seconds > 5 * figure.runs(quick)[0].seconds


def test_what_the_simulator_says_of_a_failure_becomes_a_line() -> None:
    said = (
        b"downbeat-bench: a line of a program\n"
        b"[0.003693] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! Deadlock detected, some activities\n"
        b"Backtrace (displayed in actor 2):\n"
        b"  ->  0# xbt_backtrace_display_current in /usr/lib/libsimgrid.so\n"
        b"/x/downbeat-bench --cfg=smpi/privatization:no  --cfg=surf/precision:1e-9\n"
    )
    messages, target = SimulatorMessages(), io.BytesIO()
    messages.forward(io.BytesIO(said), target)
    assert target.getvalue() == b"downbeat-bench: a line of a program\n"
    assert messages.failed.startswith("deadlock")
    crashed = SimulatorMessages()
    crashed.forward(io.BytesIO(b"Floating point exception\nExecution failed with code 136.\n"), target)
    assert crashed.failed.endswith("status 136")


@pytest.mark.nightly
@needs_simgrid
def test_synchronization_takes_simulated_time_and_clocks_drift_in_it(tmp_path: Path) -> None:
    results = simulated_launches("hunold2015-fig9", [4], "cluster(nodes=4,jitter=100ns)", tmp_path, launches=1)
    (data,) = results.datasets("n4")
    durations = dict(zip(map(str, data["scheme"].to_numpy()), data["duration"].to_numpy().max(axis=1), strict=True))
    assert durations["skampi"] < 5e-3  # some hundred exchanges of 3 us
    errors = np.abs(data["true_error"].to_numpy()).max(axis=(1, 3))  # by scheme and wait
    assert errors[0, -1] > 10e-6  # 10 ppm over 10 s, of a scheme that fits no drift
    assert errors[0, -1] > 20 * errors[0, 0]
