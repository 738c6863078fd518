"""The wheel runs under each MPI library without a compiler, and says which one it has chosen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from downbeat.data.launch_file import open_netcdf
from downbeat.run.libraries import FETCHED, LIBRARIES, name_of_version

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).resolve().parents[2]
ABIS = ("openmpi", "mpich", "abi")
LIBC = {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def run(*command: str | Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DOWNBEAT", "PYTHON"))}
    done = subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a fresh environment in which the wheel is; its dependencies are those of this one."""
    subprocess.run(["make", "-s", "wheel"], cwd=ROOT, check=True)
    wheel = max(
        (ROOT / "build/dist").glob("downbeat-*-py3-none-manylinux_*.whl"), key=lambda path: path.stat().st_mtime
    )
    home = tmp_path_factory.mktemp("wheel") / "env"
    run(sys.executable, "-m", "venv", "--without-pip", home)
    (packages,) = home.glob("lib/python*/site-packages")
    run(sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--quiet", "--no-deps", wheel)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home


@pytest.mark.parametrize("abi", ABIS)
def test_no_library_is_needed_but_those_of_every_system(prefix: Path, abi: str) -> None:
    programs = list((prefix / "lib/downbeat" / abi / "lib").glob("*.so*"))
    assert len(programs) == 4
    dynamic = run("readelf", "-d", prefix / "bin/downbeat-bench", *programs)
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) <= LIBC | {"libdownbeat.so.0.1"}
    # Nothing is looked for in the working directory, which an empty entry would be.
    searched = ":".join(re.findall(r"\(RUNPATH\).*\[(.*)\]", dynamic)).split(":")
    assert set(searched) <= {"$ORIGIN", "$ORIGIN/../lib"}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_first_table(prefix: Path, name: str, tmp_path: Path) -> None:
    library = FETCHED / name
    path = (
        f"{prefix / 'bin'}:{library / 'bin'}:/usr/bin:/bin" if library.is_dir() else f"{prefix / 'bin'}:/usr/bin:/bin"
    )
    command = ("downbeat", "run", "allreduce", "--sizes", "8", "--ranks", "2", "--launches", "1", "--mpi", name)
    printed = run(prefix / "bin" / command[0], *command[1:], "-o", tmp_path / "results", PATH=path)
    assert "allreduce" in printed
    (file,) = (tmp_path / "results").rglob("*.nc")
    with open_netcdf(file) as found:
        said = name_of_version(str(found.mpi_library))
        choice = dict(line.split("=", 1) for line in str(found.environment).splitlines())["DOWNBEAT_MPI_CHOICE"]
    assert said in (name, f"{name}5"), said
    assert choice.startswith("openmpi ABI" if name.startswith("openmpi") else "mpich ABI")
    assert "started by" in choice


PROGRAM = """
from downbeat import mpi
from mpi4py import MPI
flags = [mpi.harmonize(MPI.COMM_WORLD) for _ in range(20)]
assert MPI.COMM_WORLD.size == 2 and isinstance(flags[0], bool)
if MPI.COMM_WORLD.rank == 0:
    print(mpi.library())
"""
SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
# MPI library, its file, ABI of the wheel's library, and that of the one in DOWNBEAT_LIBRARY.
MPI4PY = {
    "Open MPI 4": ("openmpi", SYSTEM / "libmpi.so.40", "openmpi", None),
    "MPICH 4": ("mpich", SYSTEM / "libmpich.so.12", "mpich", None),
    "Open MPI 5": ("openmpi5", FETCHED / "openmpi5/lib/libmpi.so.40", "openmpi", None),
    "MPICH 5": ("mpich5", FETCHED / "mpich5/lib/libmpi.so.12", "mpich", None),
    "Intel MPI": ("intelmpi", FETCHED / "intelmpi/lib/libmpi.so.12", "mpich", None),
    "right library": ("openmpi", SYSTEM / "libmpi.so.40", "openmpi", "openmpi"),
    "wrong library": ("openmpi", SYSTEM / "libmpi.so.40", "mpich", "mpich"),
    "wrong ABI": ("intelmpi", FETCHED / "intelmpi/lib/libmpi.so.12", "abi", "abi"),
}


# A library that finds others beside itself stays where it is.
MOVED = [(name, how) for name in ("Open MPI 4", "MPICH 4") for how in ("through a link", "copied, under another name")]


@pytest.mark.parametrize(("name", "how"), [*((name, "as it is") for name in MPI4PY), *MOVED])
def test_mpi4py_of_pypi(prefix: Path, name: str, how: str, tmp_path: Path) -> None:
    mpi, library, abi, chosen = MPI4PY[name]
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    # mpi4py looks for libmpi.so.12, which Debian calls otherwise.
    other = tmp_path / ("mine.so" if how.startswith("copied") else "libmpi.so.12" if mpi == "mpich" else "link.so")
    if how.startswith("copied"):
        shutil.copy(library, other)
    elif how != "as it is" or mpi == "mpich":
        other.symlink_to(library)
    if mpi == "mpich" and how.startswith("copied"):
        (tmp_path / "libmpi.so.12").symlink_to(other)
    environment = {**os.environ, "MPI4PY_LIBMPI": str(other if other.exists() else library)}
    if mpi == "mpich":
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    mine = prefix / "lib/downbeat" / abi / "lib/libdownbeat.so"
    if chosen:
        environment["DOWNBEAT_LIBRARY"] = str(mine)
    command = (ROOT / "tools/launch", "--mpi", mpi, "-n", "2", "--timeout", "120", prefix / "bin/python", "program.py")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if chosen and chosen != ("openmpi" if mpi.startswith("openmpi") else "mpich"):
        refusals = [line for line in done.stderr.splitlines() if f"which is for the ABI '{abi}', but" in line]
        assert (done.returncode, len(refusals)) == (1, 2)  # a line from each rank
    else:
        assert (done.returncode, done.stdout.strip()) == (0, str(mine)), done.stderr


def test_the_standard_abi_is_taken_where_it_is_asked_for(prefix: Path) -> None:
    library = FETCHED / "mpich5/lib/libmpi_abi.so.1"
    if not library.exists():
        pytest.skip("MPICH 5 is not installed; tools/setup mpich5 installs it")
    printed = run(prefix / "bin/downbeat-bench", "--version", DOWNBEAT_MPI_LIBRARY=str(library))
    assert any(
        "abi ABI" in line and str(library) in line and "DOWNBEAT_MPI_LIBRARY" in line for line in printed.splitlines()
    )


def test_what_is_no_mpi_library_is_one_line(prefix: Path) -> None:
    done = subprocess.run(
        [prefix / "bin/downbeat-bench"],
        env={"DOWNBEAT_MPI_LIBRARY": "libm.so.6"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "'libm.so.6'" in done.stderr and "DOWNBEAT_MPI_LIBRARY" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_programs_are_compiled_and_traced_with_it(prefix: Path, tmp_path: Path) -> None:
    downbeat = prefix / "bin/downbeat"
    options = run(downbeat, "config", "--mpi", "mpicc.mpich", "--cflags", "--libs").split()
    assert f"-L{prefix}/lib/downbeat/mpich/lib" in options
    source = ROOT / "tests/install/consumer/consumer.c"
    run("mpicc.mpich", "-std=c11", source, "-o", tmp_path / "consumer", *options)
    start = ("mpirun.mpich", "-n", "2", tmp_path / "consumer")
    assert re.search(r"2\s+of\s+2\b", run(*start))
    run(downbeat, "trace", "-o", tmp_path / "trace", "--", *start)
    assert list((tmp_path / "trace").rglob("*.trace"))


@pytest.mark.parametrize("start", ["mpirun.mpich -n 2 sh -c", "mpirun.mpich -n 2", "mpirun.openmpi -n 2", ""])
def test_programs_that_load_mpi_late_are_traced(prefix: Path, start: str, tmp_path: Path) -> None:
    """As Python does; and a shell, which is linked with no MPI library, before them."""
    bench = f"{prefix / 'bin/downbeat-bench'} allreduce -m 8 -r 10 -q"
    started = [f"exec {bench}"] if start.endswith("-c") else bench.split()
    as_root = {f"OMPI_ALLOW_RUN_AS_ROOT{more}": "1" for more in ("", "_CONFIRM")}
    run(prefix / "bin/downbeat", "trace", "-o", tmp_path / "trace", "--", *start.split(), *started, **as_root)
    assert list((tmp_path / "trace").rglob("*.trace"))
