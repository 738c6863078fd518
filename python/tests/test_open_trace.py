"""Traces of libdownbeat-preload: from ticks to the global clock and its expected error, phases, loading the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.errors import DownbeatError, UsageError
from downbeat.output.blocks import Depth, Heading
from downbeat.output.facts.trace import MixedPhases, PhaseNotEnded, PhaseOnSomeRanks, PhaseUnbalanced, RunAndAccuracy
from downbeat.trace.arrivals import find_arrivals, of_phase
from downbeat.trace.clocks import Clocks, expected_errors, global_times
from downbeat.trace.command import Setter
from downbeat.trace.file import (
    DIRECTORY,
    HEADER,
    HEADER_SIZE,
    TABLES,
    TRACE_MAGIC,
    Section,
    Tables,
    read_job,
    read_sections,
)
from downbeat.trace.phases import Phases, ended_names, mixed_calls, phase_paths, phase_problems
from downbeat.trace.start import preloaded
from downbeat.trace.trace import open_trace
from downbeat.views.trace import arrivals_view
from launch_files import packed, write_trace
from test_arrivals import US, call, recording_of, records_of, with_tables


def clocks_of(ticks: list[int], times: list[float], bound: float, growth: float) -> Clocks:
    """Returns synchronizations of a clock of 1 ns per tick."""
    maps = np.zeros(len(ticks), dtype=TABLES["maps"])
    maps["ticks"] = ticks
    maps["global_ns"] = np.round(times)
    maps["ns_per_tick"] = 1.0
    maps["bound_ns"] = bound
    maps["growth"] = growth
    return Clocks.of_process(maps, 0)


@pytest.mark.parametrize("period", [20.0, 60.0, 300.0])
def test_a_wandering_clock_stays_within_the_bound(period: float) -> None:
    wander = 1e-7
    # A clock 10 ppm off whose frequency wanders by `wander` around that; exact at every synchronization but for 50 ns.
    ticks = np.linspace(0, 60e9, 10001).astype(np.int64)
    phase = 2 * np.pi * ticks / (period * 1e9)
    truth = ticks * (1 + 10e-6) + wander * period * 1e9 / (2 * np.pi) * (1 - np.cos(phase)) + 5e9
    at = [0, 3000, 10000]
    clocks = clocks_of([int(ticks[i]) for i in at], [truth[i] + (50 if i else -50) for i in at], 50.0, 20e-6)
    times, bounds = global_times(ticks, clocks, wander)
    assert (np.abs(times - truth * 1e-9) <= bounds + 1e-9).all()
    # No more than the bound of a synchronization and the wander allow.
    assert bounds.max() <= 50e-9 + 2 * wander * 42 / 4 + 1e-9


def test_between_synchronizations_the_bound_goes_from_the_one_to_the_other() -> None:
    clocks = clocks_of([0, 10**9, 3 * 10**9], [0, 10**9, 3 * 10**9], 0.0, 0.0)
    clocks = clocks.replaced(bound_ns=np.array([30.0, 90.0, 50.0]))
    _, bounds = global_times(np.array([0, 250_000_000, 10**9, 2 * 10**9, 3 * 10**9]), clocks, 1e-6)
    assert bounds * 1e9 == pytest.approx([30, 45, 90, 70, 50])


def test_before_the_first_and_after_the_last_the_bound_grows() -> None:
    clocks = clocks_of([10**9, 2 * 10**9], [10**9, 2 * 10**9], 100.0, 20e-6)
    times, bounds = global_times(np.array([0, 3 * 10**9]), clocks, 1e-6)
    np.testing.assert_allclose(times, [0.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(bounds, 100e-9 + 20e-6)


def test_a_clock_shared_with_process_0_is_exact() -> None:
    clocks = clocks_of([0, 10**9], [0, 10**9], 0.0, 0.0)
    _, bounds = global_times(np.arange(0, 10**9, 10**8), clocks, 1e-6)
    assert (bounds == 0).all()


def test_one_synchronization_is_enough() -> None:
    times, bounds = global_times(np.array([10**9]), clocks_of([0], [500], 10.0, 1e-6), 1e-6)
    np.testing.assert_allclose(times, 1.0000005)
    np.testing.assert_allclose(bounds, 1.01e-6)


def fake_program(path: Path, text: str) -> str:
    """Writes a program that prints a text."""
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def library(tmp_path: Path) -> str:
    """Returns the path of a file that passes for libdownbeat-preload."""
    path = tmp_path / "libdownbeat-preload.so"
    path.touch()
    return str(path)


def test_open_mpi_gets_the_variables_by_x(tmp_path: Path, library: str) -> None:
    launcher = fake_program(tmp_path / "mpirun", "mpirun (Open MPI) 4.1.4")
    start = preloaded([launcher, "-n", "4", "./app"], {"MODE": "record"}, preload=library, environment={"A": "b"})
    assert start.command == [
        *(launcher, "-x", "DOWNBEAT_PRELOAD_MODE=record", "-x", f"LD_PRELOAD={library}"),
        *("-n", "4", "./app"),
    ]
    assert start.environment == {"A": "b"}


def test_hydra_gets_the_variables_by_genv_and_what_is_preloaded_stays(tmp_path: Path, library: str) -> None:
    launcher = fake_program(tmp_path / "mpiexec", "HYDRA build details: Version: 4.0.2")
    environment = {"LD_PRELOAD": "other.so", "DOWNBEAT_CLOCK": "tsc"}
    start = preloaded([launcher, "-n", "4", "./app"], {}, preload=library, environment=environment)
    assert start.command[1:7] == ["-genv", "DOWNBEAT_CLOCK", "tsc", "-genv", "LD_PRELOAD", f"{library}:other.so"]


OURS = "-x LD_PRELOAD=OURS"


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("open", "-n 1 a : -n 2 b", f"{OURS} -n 1 a : {OURS} -n 2 b"),
        ("open", "-x A=b -n 1 a : -x A=c b", f"{OURS} -x A=b -n 1 a : {OURS} -x A=c b"),
        ("open", "-x LD_PRELOAD=x.so a : b", f"-x LD_PRELOAD=OURS:x.so a : {OURS} b"),
        ("open", "-x LD_PRELOAD a", "-x LD_PRELOAD=OURS a"),
        ("open", "-x LD_PRELOAD=y.so:/lib/libasan.so.8 a", "-x LD_PRELOAD=/lib/libasan.so.8:OURS:y.so a"),
        ("open", "-n 2 env LD_PRELOAD=x.so a", f"{OURS} -n 2 env LD_PRELOAD=OURS:x.so a"),
        ("open", "--mca mca_base_env_list A=b;LD_PRELOAD=x.so a", "--mca mca_base_env_list A=b;LD_PRELOAD=OURS:x.so a"),
        ("open", "--mca mca_base_env_list A a : b", "--mca mca_base_env_list A;LD_PRELOAD=OURS a : b"),
        ("hydra", "-n 1 a : -n 2 b", "-genv LD_PRELOAD OURS -n 1 a : -n 2 b"),
        ("hydra", "-genv LD_PRELOAD x.so -n 1 a : b", "-genv LD_PRELOAD OURS:x.so -n 1 a : b"),
        ("hydra", "-genv LD_PRELOAD=x.so a", "-genv LD_PRELOAD OURS:x.so a"),
        ("hydra", "a : -env LD_PRELOAD x.so b", "-genv LD_PRELOAD OURS a : -env LD_PRELOAD OURS:x.so b"),
        ("hydra", "-envnone a : b", "-genv LD_PRELOAD OURS -env LD_PRELOAD OURS -envnone a : b"),
        ("hydra", "-envlist A -env LD_PRELOAD x a", "-genv LD_PRELOAD OURS -envlist A -env LD_PRELOAD OURS:x a"),
        ("slurm", "-n 1 a : -n 2 b", "-n 1 a : -n 2 b"),
        ("slurm", "--export=ALL,LD_PRELOAD=x.so a", "--export=ALL,LD_PRELOAD=OURS:x.so a"),
        ("slurm", "--export PATH a", "--export=PATH,LD_PRELOAD a"),
    ],
)
def test_each_program_of_a_command_gets_the_variables_beside_the_users(kind: str, given: str, wanted: str) -> None:
    setter = Setter(["OURS"], {}, [], "")
    words = {"open": setter.open_mpi, "hydra": setter.hydra, "slurm": setter.slurm}[kind](given.split())
    assert " ".join(words) == wanted


def test_srun_hands_its_environment_on(tmp_path: Path, library: str) -> None:
    launcher = fake_program(tmp_path / "srun", "slurm-wlm 22.05")
    words = [launcher, "-n", "4", "./app"]
    start = preloaded(words, {"MODE": "record"}, mpi="openmpi", preload=library, environment={})
    assert start.command == words
    assert start.environment == {"LD_PRELOAD": library, "DOWNBEAT_PRELOAD_MODE": "record"}
    with pytest.raises(UsageError, match="let it export ALL"):
        preloaded([launcher, "--export=NONE", "./app"], {}, mpi="openmpi", preload=library, environment={})


def test_mistakes_are_named(tmp_path: Path, library: str) -> None:
    with pytest.raises(UsageError, match="'no-such-launcher' is not an executable program"):
        preloaded(["no-such-launcher"], {}, preload=library)
    with pytest.raises(UsageError, match="is not a known launcher"):
        preloaded([fake_program(tmp_path / "start", "hello"), "./app"], {}, preload=library)
    with pytest.raises(UsageError, match="unknown MPI library 'lam'"):
        preloaded(["sh"], {}, mpi="lam", preload=library)
    with pytest.raises(UsageError, match="does not exist"):
        read_job(tmp_path / "nothing")
    with pytest.raises(UsageError, match="has no trace"):
        read_job(tmp_path)
    (tmp_path / "other.trace").write_bytes(b"x" * 5000)
    with pytest.raises(DownbeatError, match="has no trace at byte 0"):
        read_job(tmp_path)


# begins, ends, cut, strays, ticks, began, parent, name
SOLVER = (5, 5, 0, 0, 100, 0, 0, b"solver")
CHANCE = (3, 0, 0, 0, 100, 0, 1, b"by chance")
HALO = (5, 4, 0, 0, 50, 0, 2, b"halo")


def section(*phases: tuple[object, ...], rank: int = 0, used: int = 0) -> Section:
    """Makes what a process recorded of phases; a call was made in the one with the number `used`."""
    tables = {"phases": np.array(list(phases), dtype=TABLES["phases"]), "profile": np.zeros(1, TABLES["profile"])}
    tables["profile"]["phase"] = used
    header = np.zeros(1, HEADER)[0]
    header["world_rank"] = rank
    empty = {name: np.zeros(0, dtype) for name, dtype in TABLES.items()}
    return Section(Path("trace"), "job", header, (), Tables(**empty | tables))


def test_a_name_that_nobody_ends_is_in_no_path() -> None:
    one = section(SOLVER, CHANCE, HALO, used=3)
    names = ended_names([one])
    assert names == {"solver", "halo"}
    assert phase_paths(one, names) == ["", "solver", "solver", "solver > halo"]


def test_what_is_wrong_with_phases_is_said_once_each() -> None:
    said = phase_problems([section(SOLVER, CHANCE, HALO), section(SOLVER, (*HALO[:-2], 1, b"halo"), rank=1)])
    unended = PhaseUnbalanced("halo", begins=10, ends=8, cut=0, unended=2, strays=0)
    assert said == [PhaseNotEnded("by chance", begins=3, ranks=1), unended]
    assert phase_problems([section(SOLVER), section(rank=1)]) == [PhaseOnSomeRanks("solver", (0,), 2)]


@pytest.mark.parametrize(("phases", "used"), [([HALO], 0), ([SOLVER], 2)])
def test_numbers_beyond_the_table_are_damage(phases: list[tuple[object, ...]], used: int) -> None:
    with pytest.raises(ValueError, match="phase"):
        phase_paths(section(*phases, used=used), {"solver", "halo"})


def test_ranks_in_different_phases_are_said() -> None:
    phases = records_of(call([0] * 4, [1] * 4, phase=["a", "a", "", "b"])).phase
    ranks = np.array([0, 1, 0, 1])
    assert mixed_calls(phases, ranks, np.array([0, 2])) == [MixedPhases(1, 0, "", 1, "b")]
    assert not mixed_calls(phases[:2], ranks[:2], np.array([0]))


def test_each_phase_has_its_late_rank_and_what_it_costs() -> None:
    recording = recording_of(
        call([0, 100], [110, 110], phase="solve"),
        call([0, 300], [310, 310], phase="solve > halo", begin=0.1, sequence=1),
        call([50, 0], [60, 60], phase="write", begin=0.2, sequence=2),
        call([0, 0], [10, 10], begin=0.3, sequence=3),
    )
    rows = [
        {"rank": rank, "phase": phase, "begins": 1, "time": time}
        for rank in (0, 1)
        for phase, time in (("solve", 0.1), ("solve > halo", 0.05), ("write", 0.2))
    ]
    found = find_arrivals(with_tables(recording, phases=Phases.of_rows(rows)))
    phases = found.phases.frame().set_index("phase")
    assert list(phases["last_rank"]) == [1, 1, 0]
    assert list(phases["calls"]) == [2, 1, 1]
    assert list(phases["wait"] / US) == pytest.approx([400, 300, 50])
    assert list(phases["seconds"]) == pytest.approx([0.2, 0.1, 0.4])
    halo = of_phase(found, "halo")
    assert halo.run == pytest.approx(0.05)
    assert list(halo.sites.frame()["share"]) == pytest.approx([320 * US / 0.1])
    assert halo.calls.frame()["site"].tolist() == [0]
    view = arrivals_view(halo, "page", depth=Depth.PAGE)
    assert [fact.phase for fact in view.facts if isinstance(fact, RunAndAccuracy)] == ["halo"]
    assert "Phases" in [block.text for block in view.blocks if isinstance(block, Heading)]
    assert of_phase(found, "solve").sites.frame()["calls"].sum() == 2
    with pytest.raises(UsageError, match="no phase 'halt'; phases: 'solve', 'solve > halo', 'write'"):
        of_phase(found, "halt")


DRAWN = 40_000
RATE, WALK = 4e-12, 3e-21  # (ns/ns)**2; per ns
VARIANCE = 900.0  # ns**2


@pytest.mark.parametrize("ns_per_tick", [1.0, 0.4])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.7])
@pytest.mark.parametrize("away", [-2e7, 1e6, 2e7, 1e9])  # ns from the only synchronization
def test_one_synchronization(away: float, correlation: float, ns_per_tick: float) -> None:
    cross = correlation * np.sqrt(VARIANCE * RATE)
    known = {"ticks": 5 * 10**12, "ns_per_tick": ns_per_tick, "variance": VARIANCE, "cross": cross}
    none = dict.fromkeys((each.name for each in Clocks.columns()), 0)
    clocks = Clocks.of_rows([none | known | {"rate": RATE, "walk": WALK}])
    found = expected_errors(np.array([5e12 + away / ns_per_tick]), clocks, np.array([1e9]))[0] * 1e9
    # Which way the two errors go together is not known before: the larger of both.
    draw = np.random.default_rng(7)
    offset, slope = draw.multivariate_normal([0, 0], [[VARIANCE, abs(cross)], [abs(cross), RATE]], DRAWN).T
    distance = abs(away)
    walked = draw.normal(0, np.sqrt(WALK * distance**3 / 3), DRAWN)
    assert found == pytest.approx(np.std(offset + slope * distance + walked), rel=0.02)


def test_samples_after_barriers_are_added_up_over_processes(tmp_path: Path) -> None:
    (row,) = open_trace(write_trace(tmp_path / "job.trace")).starts.to_dict("records")
    assert [row[name] for name in ("operation", "kind", "size_up_to")] == ["allreduce", "blocking", 8]
    assert [row[name] for name in ("barrier_module", "barrier_offset", "communicator")] == [
        "/nowhere/app",
        16,
        "MPI_COMM_WORLD",
    ]
    assert [row[name] for name in ("ranks", "samples", "valid", "unresolved")] == [2, 100, 100, 0]
    assert row["mean_s"] == row["valid_mean_s"] == pytest.approx(2e-6)


def test_files_of_the_version_before_can_be_read(tmp_path: Path) -> None:
    frames = []
    for whole in (False, True):
        tables = {name: np.zeros(3, dtype) for name, dtype in TABLES.items()}
        tables["maps"]["ns_per_tick"], tables["maps"]["ticks"] = 1.0, [0, 10, 20]
        tables["maps"]["global_ns"] = [0, 10, 20]
        tables["profile"]["calls"] = [1, 2, 3]
        path = tmp_path / f"{whole}.trace"
        path.write_bytes(b"".join(packed(rank, tables, checked=True, whole=whole) for rank in (0, 1)))
        frames.append(open_trace(path).profile)
    assert frames[0]["calls"].sum() == 12
    pd.testing.assert_frame_equal(frames[0], frames[1])


@pytest.mark.parametrize("cut", [HEADER_SIZE + 100, 2 * HEADER_SIZE + 100])
def test_a_file_that_grew_in_chunks_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    """A process's own file: two directories, a table in chunks that are not in order, and an end that was cut off."""
    kind = TABLES["profile"]
    rows = np.zeros(5, kind)
    rows["calls"] = [1, 2, 3, 4, 5]
    header = np.zeros((), HEADER)
    header["magic"], header["directory"] = TRACE_MAGIC, HEADER_SIZE
    header["profile"], header["profile_capacity"] = 5, 1000
    first, second = np.zeros((), DIRECTORY), np.zeros((), DIRECTORY)
    place = list(TABLES).index("profile")
    first["next"] = 3 * HEADER_SIZE
    first["chunks"][0] = 2 * HEADER_SIZE, place, 2
    second["chunks"][0] = 4 * HEADER_SIZE, place, 3
    pages = [header.tobytes(), first.tobytes(), rows[:2].tobytes(), second.tobytes(), rows[2:].tobytes()]
    content = b"".join(page.ljust(HEADER_SIZE, b"\0") for page in pages)
    path = tmp_path / "job-rank-000000.part"
    path.write_bytes(content)
    (section,) = read_sections(path)
    assert section.tables.profile["calls"].tolist() == [1, 2, 3, 4, 5]
    path.write_bytes(content[: 3 * HEADER_SIZE])
    (section,) = read_sections(path)
    assert section.tables.profile["calls"].tolist() == [1, 2]
    path.write_bytes(content[:cut])
    if cut < 2 * HEADER_SIZE:
        with pytest.raises(DownbeatError):
            read_sections(path)
    else:
        assert read_sections(path)[0].tables.profile["calls"].tolist() == [1]
