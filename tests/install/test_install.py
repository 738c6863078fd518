"""The installed library works for its users: pkg-config and CMake, C and C++, shared and static."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CONSUMER = Path(__file__).resolve().parent / "consumer"
PREFIX = "/opt/downbeat"
CONSUMERS = [f"{language}-{library}" for language in ("c", "cxx") for library in ("downbeat", "downbeat_static")]
COMPILERS = [("cc", "-std=c11", "consumer.c"), ("c++", "-std=c++20", "consumer.cc")]


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """Runs a command, which must succeed, and returns what it printed."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def starts_together(mpi: str, program: Path, library_dir: Path | None = None) -> bool:
    """Whether a consumer harmonizes two processes; the library's directory where no run path leads there."""
    env = {"LD_LIBRARY_PATH": str(library_dir)} if library_dir else None
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program, env=env)
    return "2 of 2 processes left together" in out


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest) -> str:
    """The MPI library; its build tree is build/<mpi>."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def installed(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that was installed with DESTDIR and moved away from there."""
    destdir = tmp_path_factory.mktemp("destdir")
    run("make", "install", f"MPI={mpi}", f"DESTDIR={destdir}", f"PREFIX={PREFIX}")
    moved = tmp_path_factory.mktemp("moved") / "downbeat"
    shutil.move(f"{destdir}{PREFIX}", moved)
    assert [path for path in destdir.rglob("*") if path.is_file()] == []
    return moved


@pytest.fixture(scope="module")
def build_tree(mpi: str) -> Path:
    """The build tree itself."""
    return ROOT / "build" / mpi


def libdir(prefix: Path) -> Path:
    """Returns the directory of the library, lib or lib64 or lib/<triplet>."""
    return next(prefix.glob("lib*/**/libdownbeat.so")).parent


def test_what_the_headers_declare_is_exported_and_nothing_else(installed: Path) -> None:
    exported = set(run("nm", "-D", "--defined-only", libdir(installed) / "libdownbeat.so").split()[2::3])
    headers = [installed / "include" / name for name in ("mpix_harmonize.h", "downbeat/clock.h", "downbeat/region.h")]
    text = "".join(header.read_text(encoding="utf-8") for header in headers)
    declared = set(re.findall(r"^[a-zA-Z].*?\b((?:MPIX|Downbeat)_\w+)\(", text, re.MULTILINE))
    assert {"MPIX_Harmonize", "Downbeat_components", "Downbeat_region_begin"} <= declared
    assert exported == declared


def test_nothing_but_mpi_and_libc_is_needed(installed: Path) -> None:
    dynamic = run("readelf", "-d", libdir(installed) / "libdownbeat.so").splitlines()
    needed = [line.split("[")[1].rstrip("]") for line in dynamic if "(NEEDED)" in line]
    assert [name for name in needed if not name.startswith(("libmpi", "libc.so", "libm.so", "libpthread.so"))] == []


def test_the_installed_bench_runs_where_it_was_moved(mpi: str, installed: Path) -> None:
    out = run(
        "tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", installed / "bin" / "downbeat-bench", "--help"
    )
    assert "barrier" in out


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("library", ["shared", "static"])
@pytest.mark.parametrize("tree", ["installed", "build_tree"])
def test_pkg_config(
    mpi: str, tree: str, library: str, compiler: tuple[str, str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    prefix: Path = request.getfixturevalue(tree)
    libraries = libdir(prefix)
    pc_dir = libraries / "pkgconfig" if tree == "installed" else prefix
    static = ["--static"] if library == "static" else []
    env = {"PKG_CONFIG_PATH": str(pc_dir)}
    flags = shlex.split(run("pkg-config", *static, "--cflags", "--libs", "downbeat", env=env))
    if library == "static":  # both libraries lie there, and -l would take the shared one
        flags = ["-l:libdownbeat.a" if flag == "-ldownbeat" else flag for flag in flags]
    program = tmp_path / "consumer"
    command, standard, source = compiler
    run(command, standard, "-Wall", "-Wextra", "-Werror", CONSUMER / source, "-o", program, *flags)
    linked = run("readelf", "-d", program)
    assert ("libdownbeat.so.0" in linked) == (library == "shared")
    assert starts_together(mpi, program, libraries)


def test_a_program_finds_each_library(each_library: str, tmp_path: Path) -> None:
    prefix = ROOT / "build" / each_library
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "downbeat", env={"PKG_CONFIG_PATH": str(prefix)}))
    program = tmp_path / "consumer"
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", CONSUMER / "consumer.c", "-o", program, *flags)
    assert starts_together(each_library, program, libdir(prefix))
    run("cmake", "-S", CONSUMER, "-B", tmp_path / "cmake", "-G", "Ninja", f"-Ddownbeat_DIR={prefix}")
    run("cmake", "--build", tmp_path / "cmake", "--target", "c-downbeat")
    assert starts_together(each_library, tmp_path / "cmake" / "c-downbeat")


@pytest.mark.parametrize("tree", ["installed", "build_tree"])
def test_cmake_package(mpi: str, tree: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    prefix: Path = request.getfixturevalue(tree)
    where = f"-Ddownbeat_DIR={prefix}" if tree == "build_tree" else f"-DCMAKE_PREFIX_PATH={prefix}"
    run("cmake", "-S", CONSUMER, "-B", tmp_path, "-G", "Ninja", where)
    run("cmake", "--build", tmp_path)
    for consumer in CONSUMERS:
        program = tmp_path / consumer
        assert ("libdownbeat.so.0" in run("readelf", "-d", program)) == (not consumer.endswith("static"))
        assert starts_together(mpi, program)


def build_example(name: str, prefix: Path, target: Path) -> None:
    """Builds an example against an installed tree, as a user would."""
    run("cmake", "-S", EXAMPLES / name, "-B", target, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", target)


def test_example_my_operation(mpi: str, installed: Path, tmp_path: Path) -> None:
    build_example("my_operation", installed, tmp_path)
    program = installed / "bin" / "downbeat-bench"
    operation = tmp_path / "ring_allreduce.so"
    arguments = ["-m", "64", "--validate", "-r", "20", "--sync", "mpi_barrier"]
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program, operation, *arguments)
    assert re.search(r"^ring_allreduce\s+64\s", out, re.MULTILINE)


def test_example_region(mpi: str, installed: Path, tmp_path: Path) -> None:
    """What is computed takes a known time, and rank 1 computes for longer."""
    build_example("region", installed, tmp_path)
    iterations, work, step = 400, 200e-6, 100e-6  # s
    file = tmp_path / "regions.json"
    program = tmp_path / "imbalance"
    arguments = [str(iterations), f"{work * 1e6:.0f}", f"{step * 1e6:.0f}"]
    # By the clock that the program computes by, whatever rate that is made to have.
    env = {"DOWNBEAT_CLOCK": "wtime", "DOWNBEAT_REGIONS": str(file), "DOWNBEAT_REGIONS_TABLE": "stdout"}
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program, *arguments, env=env)
    context, *regions, end = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [record["record"] for record in (context, end)] == ["context", "end"]
    assert [region["region"] for region in regions] == ["compute", "allreduce"]
    compute = regions[0]
    assert compute["samples"] == iterations == compute["valid"] + compute["rejected"]
    assert compute["valid"] > 0
    for process in compute["processes"]:
        least = work + step * process["rank"]
        assert least * 0.999 <= process["latency_min_s"] <= least + 20e-6  # of hundreds the least is not disturbed
    metrics = compute["metrics"]
    error = metrics["makespan"]["error_bound"]
    assert metrics["latency_avg"]["min"] >= (work + step / 2) * 0.999
    assert metrics["makespan"]["min"] >= (work + step) * 0.999 - error
    assert metrics["exit_skew"]["max"] <= compute["tolerance_s"] + error
    for name, region in zip(["compute", "allreduce"], regions, strict=True):
        assert re.search(rf"^{name}\s+2\s+{region['valid']}\s+{region['rejected']}\s+0\s", out, re.MULTILINE)
