"""Traces of libdownbeat-preload: from ticks to the global clock, and how launchers are made to load the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from downbeat.errors import DownbeatError, UsageError
from downbeat.trace.clocks import global_times
from downbeat.trace.command import Setter
from downbeat.trace.file import TABLES, read_job
from downbeat.trace.start import preloaded


def maps_of(ticks: list[int], times: list[float], bound: float, growth: float) -> np.ndarray:
    """Returns maps of a clock of 1 ns per tick."""
    maps = np.zeros(len(ticks), dtype=TABLES["maps"])
    maps["ticks"] = ticks
    maps["global_ns"] = np.round(times)
    maps["ns_per_tick"] = 1.0
    maps["bound_ns"] = bound
    maps["growth"] = growth
    return maps


@pytest.mark.parametrize("period", [20.0, 60.0, 300.0])
def test_a_wandering_clock_stays_within_the_bound(period: float) -> None:
    wander = 1e-7
    # A clock 10 ppm off whose frequency wanders by `wander` around that; exact at every synchronization but for 50 ns.
    ticks = np.linspace(0, 60e9, 10001).astype(np.int64)
    phase = 2 * np.pi * ticks / (period * 1e9)
    truth = ticks * (1 + 10e-6) + wander * period * 1e9 / (2 * np.pi) * (1 - np.cos(phase)) + 5e9
    at = [0, 3000, 10000]
    maps = maps_of([int(ticks[i]) for i in at], [truth[i] + (50 if i else -50) for i in at], 50.0, 20e-6)
    times, bounds = global_times(ticks, maps, wander)
    assert (np.abs(times - truth * 1e-9) <= bounds + 1e-9).all()
    # No more than the bound of a synchronization and the wander allow.
    assert bounds.max() <= 50e-9 + 2 * wander * 42 / 4 + 1e-9


def test_before_the_first_and_after_the_last_the_bound_grows() -> None:
    maps = maps_of([10**9, 2 * 10**9], [10**9, 2 * 10**9], 100.0, 20e-6)
    times, bounds = global_times(np.array([0, 3 * 10**9]), maps, 1e-6)
    np.testing.assert_allclose(times, [0.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(bounds, 100e-9 + 20e-6)


def test_a_clock_shared_with_process_0_is_exact() -> None:
    maps = maps_of([0, 10**9], [0, 10**9], 0.0, 0.0)
    _, bounds = global_times(np.arange(0, 10**9, 10**8), maps, 1e-6)
    assert (bounds == 0).all()


def test_one_synchronization_is_enough() -> None:
    times, bounds = global_times(np.array([10**9]), maps_of([0], [500], 10.0, 1e-6), 1e-6)
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
