"""An installation works for its users: pkg-config and CMake, for C, C++ and Fortran; examples."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).resolve().parent / "consumer"
FORTRAN_CONSUMER = Path(__file__).resolve().parent / "fortran_consumer"
PREFIX = "/opt/downbeat"
DOC = "share/doc/downbeat"
CONSUMERS = [f"{language}-{library}" for language in ("c", "cxx") for library in ("downbeat", "downbeat_static")]
# Tests that do not depend on the MPI library.
once = pytest.mark.parametrize("mpi", ["openmpi"], indirect=True, scope="module")
COMPILERS = [("cc", "-std=c11", "consumer.c"), ("c++", "-std=c++20", "consumer.cc")]


# No program needs LD_LIBRARY_PATH to find the library.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """Runs a command, which must succeed, and returns what it printed."""
    done = subprocess.run(
        command, cwd=cwd, env={**ENVIRONMENT, **(env or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def starts_together(mpi: str, program: Path) -> bool:
    """Whether a consumer harmonizes two processes."""
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program)
    return "2 of 2 processes left together" in out


@pytest.fixture(scope="module", params=["openmpi", pytest.param("mpich", marks=pytest.mark.nightly)])
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


def exports(prefix: Path) -> set[str]:
    """Returns the names of the library's functions, which all have its version."""
    names = set(run("nm", "-D", "--defined-only", libdir(prefix) / "libdownbeat.so").split()[2::3])
    assert {version for _, at, version in (name.partition("@@") for name in names) if at} == {"DOWNBEAT_0.1"}
    return {name.partition("@@")[0] for name in names} - {"DOWNBEAT_0.1"}


def functions(header: Path) -> set[str]:
    """Returns the names of the functions that a header declares."""
    text = header.read_text(encoding="utf-8")
    return set(re.findall(r"^[a-zA-Z].*?\b((?:MPIX|Downbeat)_\w+)\(", text, re.MULTILINE))


@once
def test_nothing_stays_after_make_uninstall(mpi: str, tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/other").touch()
    for target in ("install", "uninstall"):
        run("make", target, f"MPI={mpi}", f"DESTDIR={tmp_path}", f"PREFIX={PREFIX}")
        assert (tmp_path / "opt/downbeat").exists() == (target == "install")
    assert (tmp_path / "opt/other").exists()


@once
def test_the_fortran_module_has_what_the_headers_declare(installed: Path) -> None:
    text = (installed / "include/downbeat/fortran/downbeat.F90").read_text(encoding="utf-8")
    public = {name for line in re.findall(r"public :: (.*)", text) for name in line.split(", ")}
    declared = functions(installed / "include/mpix_harmonize.h")
    others = {"MPIX_Harmonize_stats", "Downbeat_version"}
    assert public - declared == others
    assert declared <= public


def test_what_the_headers_declare_is_exported_and_nothing_else(installed: Path) -> None:
    exported = exports(installed)
    headers = [installed / "include" / name for name in ("mpix_harmonize.h", "downbeat/clock.h")]
    declared = set().union(*map(functions, headers))
    assert {"MPIX_Harmonize", "Downbeat_components"} <= declared
    assert exported == declared


def test_nothing_but_mpi_and_libc_is_needed(installed: Path) -> None:
    dynamic = run("readelf", "-d", libdir(installed) / "libdownbeat.so").splitlines()
    needed = [line.split("[")[1].rstrip("]") for line in dynamic if "(NEEDED)" in line]
    libc = ("libc.so", "libm.so", "libpthread.so", "ld-linux")  # the last for thread-local variables
    assert [name for name in needed if not name.startswith(("libmpi", *libc))] == []


def test_the_installed_bench_runs_where_it_was_moved(mpi: str, installed: Path) -> None:
    out = run(
        "tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", installed / "bin" / "downbeat-bench", "--help"
    )
    assert "barrier" in out


def test_the_installed_preload_library_works_where_it_was_moved(mpi: str, installed: Path, tmp_path: Path) -> None:
    variables = [f"LD_PRELOAD={libdir(installed) / 'libdownbeat-preload.so'}", f"DOWNBEAT_PRELOAD_DIR={tmp_path}"]
    program = ROOT / "build" / mpi / "bin" / "preload-ends"
    run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", "env", *variables, program)
    assert len(list(tmp_path.glob("*.trace"))) == 1


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("library", ["shared", "static"])
@pytest.mark.parametrize("tree", ["installed", "build_tree"])
def test_pkg_config(
    mpi: str, tree: str, library: str, compiler: tuple[str, str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    prefix: Path = request.getfixturevalue(tree)
    pc_dir = libdir(prefix) / "pkgconfig" if tree == "installed" else prefix
    static = ["--static"] if library == "static" else []
    env = {"PKG_CONFIG_PATH": str(pc_dir)}
    flags = shlex.split(run("pkg-config", *static, "--cflags", "--libs", "downbeat", env=env))
    # The authors' OSU benchmarks ask for their library, and get this one.
    assert shlex.split(run("pkg-config", *static, "--cflags", "--libs", "mpix-harmonize", env=env)) == flags
    if library == "static":  # both libraries are there, and -l would take the shared one
        flags = ["-l:libdownbeat.a" if flag == "-ldownbeat" else flag for flag in flags]
    program = tmp_path / "consumer"
    command, standard, source = compiler
    run(command, standard, "-Wall", "-Wextra", "-Werror", CONSUMER / source, "-o", program, *flags)
    linked = run("readelf", "-d", program)
    assert ("libdownbeat.so.0.1" in linked) == (library == "shared")
    assert starts_together(mpi, program)


def test_a_program_finds_each_library(each_library: str, tmp_path: Path) -> None:
    prefix = ROOT / "build" / each_library
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "downbeat", env={"PKG_CONFIG_PATH": str(prefix)}))
    program = tmp_path / "consumer"
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", CONSUMER / "consumer.c", "-o", program, *flags)
    assert starts_together(each_library, program)
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
        assert ("libdownbeat.so.0.1" in run("readelf", "-d", program)) == (not consumer.endswith("static"))
        assert starts_together(mpi, program)


def fortran_flags(prefix: Path, tree: str) -> list[str]:
    """Returns what pkg-config says of the Fortran module."""
    env = {"PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig" if tree == "installed" else prefix)}
    return shlex.split(run("pkg-config", "--cflags", "--libs", "downbeat-fortran", env=env))


@pytest.mark.parametrize("source", ["handles.f90", "integers.f90"])
@pytest.mark.parametrize("tree", ["installed", "build_tree"])
def test_fortran_with_pkg_config(
    mpi: str, tree: str, source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    program = tmp_path / "consumer"
    flags = fortran_flags(request.getfixturevalue(tree), tree)
    run("gfortran", "-Wall", "-Wextra", FORTRAN_CONSUMER / source, "-o", program, *flags)
    assert starts_together(mpi, program)


def test_fortran_component_of_the_cmake_package(mpi: str, installed: Path, tmp_path: Path) -> None:
    run("cmake", "-S", FORTRAN_CONSUMER, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    programs = sorted(tmp_path.glob("*-downbeat_fortran*"))
    assert len(programs) == 4
    for program in programs:
        static = program.name.endswith("static")
        assert ("libdownbeat-fortran.so.0.1" in run("readelf", "-d", program)) == (not static)
        assert starts_together(mpi, program)


DROP_IN = """\
cmake_minimum_required(VERSION 3.22)
project(drop_in LANGUAGES C)
find_package(mpixharmonize CONFIG REQUIRED)
add_executable(drop-in "{source}")
target_link_libraries(drop-in PRIVATE MPIXHarmonize::mpix-harmonize)
"""


def test_the_target_of_the_authors_library_is_there(mpi: str, installed: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(DROP_IN.format(source=CONSUMER / "consumer.c"), encoding="utf-8")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    assert starts_together(mpi, tmp_path / "build" / "drop-in")


def test_another_fortran_compiler_compiles_the_installed_source(mpi: str, installed: Path, tmp_path: Path) -> None:
    """Its module is its own, and libdownbeat-fortran needs no library of the compiler that built it."""
    source = installed / "include/downbeat/fortran/downbeat.F90"
    flags = [flag for flag in fortran_flags(installed, "installed") if flag != f"-I{source.parent}"]
    run("gfortran", "-std=f2018", "-DDOWNBEAT_MPI_F08", "-c", source, *flags, cwd=tmp_path)
    assert (tmp_path / "downbeat.mod").is_file()
    program = tmp_path / "consumer"
    run("gfortran", FORTRAN_CONSUMER / "handles.f90", "downbeat.o", "-o", program, *flags, cwd=tmp_path)
    assert starts_together(mpi, program)
    needed = run("readelf", "-d", libdir(installed) / "libdownbeat-fortran.so")
    assert "gfortran" not in needed


@once
def test_the_license_is_there(installed: Path) -> None:
    assert (installed / DOC / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause")


def build_example(name: str, prefix: Path, target: Path, sources: str = "*.c") -> None:
    """Builds an installed example with the command in its comment."""
    shutil.copytree(prefix / DOC / "examples" / name, target, dirs_exist_ok=True)
    (source,) = target.glob("*.c")
    command = re.search(r"^ \*     (cc .*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert command is not None
    run("sh", "-c", command[1], cwd=target, env={"PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")})


@once
def test_example_as_a_project_of_cmake(installed: Path, tmp_path: Path) -> None:
    source = installed / DOC / "examples/my_operation"
    run("cmake", "-S", source, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)


def test_example_my_operation(mpi: str, installed: Path, tmp_path: Path) -> None:
    build_example("my_operation", installed, tmp_path)
    program = installed / "bin" / "downbeat-bench"
    operation = tmp_path / "ring_allreduce.so"
    arguments = ["-m", "64", "--validate", "-r", "20", "--sync", "mpi_barrier"]
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program, operation, *arguments)
    assert re.search(r"^ring_allreduce\s+64\s", out, re.MULTILINE)


def test_example_barrier_loop(mpi: str, installed: Path, tmp_path: Path) -> None:
    """It prints what OSU prints: a row for each size, and the mean over ranks between the minimum and the maximum."""
    source = installed / DOC / "examples/barrier_loop/barrier_loop.c"
    program = tmp_path / "barrier_loop"
    run(f"mpicc.{mpi}", "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", program)
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program, "bcast", "median")
    rows = [list(map(float, line.split())) for line in out.splitlines() if not line.startswith("#")]
    assert [size for size, *_ in rows] == [2**power for power in range(3, 21)]
    assert all(least <= mean <= most for _, mean, least, most, _ in rows)
    assert rows[-1][1] > rows[0][1]


def test_example_reduce_loop(mpi: str, installed: Path, tmp_path: Path) -> None:
    """As many iterations are valid as were asked for; only after MPIX_Harmonize may any be discarded."""
    source = installed / DOC / "examples/reduce_loop/reduce_loop.c"
    program, libraries = tmp_path / "reduce_loop", libdir(installed)
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{installed / 'include'}"]
    linked = [f"-L{libraries}", "-ldownbeat", f"-Wl,-rpath,{libraries}"]
    run(f"mpicc.{mpi}", *flags, source, *linked, "-o", program)
    out = run("tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "300", program)
    rows = re.findall(r"^(\w+) +t_avg ([\d.]+) us, (\d+) of (\d+) iterations valid$", out, re.MULTILINE)
    assert [name for name, *_ in rows] == ["barrier", "harmonize"]
    assert all(float(average) > 0 and 1000 <= int(valid) <= int(calls) for _, average, valid, calls in rows)
    assert rows[0][2] == rows[0][3]
