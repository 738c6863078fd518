"""Which libdownbeat is loaded: what fits, in which order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from downbeat.launchers import libdownbeat
from downbeat.launchers.bench import Build
from downbeat.launchers.libdownbeat import LibraryError, find_library, loaded_mpi
from downbeat.launchers.libraries import library_saying, linked_mpi

MAPS = """\
7f0000000000-7f0000001000 r-xp 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4
7f0000001000-7f0000002000 r--p 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4
7f0000002000-7f0000003000 r-xp 00000000 08:01 12 /usr/lib/x86_64-linux-gnu/libmpi_mpifh.so.40.30.0
7f0000003000-7f0000004000 r-xp 00000000 08:01 13 /usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311.so
7f0000004000-7f0000005000 rw-p 00000000 00:00 0
7f0000005000-7f0000006000 rw-p 00000000 00:00 0 [heap]
"""
OPEN_MPI = Path("/usr/lib/libmpi.so.40")
VERSION = "Open MPI v4.1.4, package: Debian OpenMPI"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a library for each of two MPI libraries, of which a process has loaded Open MPI."""
    for name in ("mpich", "openmpi", "openmpi5"):
        file = tmp_path / "build" / name / "lib" / libdownbeat.NAME
        file.parent.mkdir(parents=True)
        file.touch()
    monkeypatch.setattr(libdownbeat, "ROOT", tmp_path)
    monkeypatch.setattr(libdownbeat, "kept_builds", list)
    monkeypatch.setattr(libdownbeat, "of_linker", lambda _: iter(()))
    monkeypatch.setattr(
        libdownbeat, "linked_mpi", lambda path: Path("/x/libmpich.so.12" if "mpich" in path else "/x/libmpi.so.40")
    )
    monkeypatch.setattr(libdownbeat, "in_process", lambda soname: soname == "libmpi.so.40")
    monkeypatch.delenv(libdownbeat.VARIABLE, raising=False)
    return tmp_path


def test_loaded_libraries_are_those_of_mpi_alone() -> None:
    assert loaded_mpi(MAPS) == [Path("/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4")]
    assert len(loaded_mpi(MAPS + "7f0-7f1 r-xp 00000000 08:01 14 /opt/m p/lib/libmpich.so.12\n")) == 2


def test_the_build_tree_of_the_library_that_speaks_is_first(checkout: Path) -> None:
    assert find_library(VERSION, [OPEN_MPI]) == checkout / "build/openmpi/lib/libdownbeat.so"
    assert find_library("Open MPI v5.0.11, package", [OPEN_MPI]) == checkout / "build/openmpi5/lib/libdownbeat.so"


def test_another_tree_is_taken_if_it_fits(checkout: Path) -> None:
    (checkout / "build/openmpi/lib/libdownbeat.so").unlink()
    assert find_library(VERSION, [OPEN_MPI]) == checkout / "build/openmpi5/lib/libdownbeat.so"


def test_what_downbeat_build_has_made_comes_after_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Build(tmp_path / "kept", "openmpi", "mpicc", "Open MPI", "2026-01-01")
    (kept.prefix / "lib").mkdir(parents=True)
    (kept.prefix / "lib" / libdownbeat.NAME).touch()
    monkeypatch.setattr(libdownbeat, "kept_builds", lambda: [kept])
    assert find_library(VERSION, [OPEN_MPI]) == checkout / "build/openmpi/lib/libdownbeat.so"
    shutil.rmtree(checkout / "build")
    assert find_library(VERSION, [OPEN_MPI]) == kept.prefix / "lib/libdownbeat.so"


def test_none_fits(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libdownbeat, "in_process", lambda _: False)
    with pytest.raises(
        LibraryError, match=r"found no libdownbeat for Open MPI v4.1.4 \(/usr/.*found for others: .*mpich"
    ) as one:
        find_library(VERSION, [OPEN_MPI])
    assert "\n" not in str(one.value)


def test_the_variable_is_taken_or_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = checkout / "own.so"
    own.touch()
    monkeypatch.setenv(libdownbeat.VARIABLE, str(own))
    assert find_library(VERSION, [OPEN_MPI]) == own
    other = checkout / "build/mpich/lib/libdownbeat.so"
    monkeypatch.setenv(libdownbeat.VARIABLE, str(other))
    with pytest.raises(
        LibraryError, match=re.escape(f"'{other}', which needs libmpich.so.12, but mpi4py has loaded Open MPI")
    ):
        find_library(VERSION, [OPEN_MPI])
    monkeypatch.setattr(libdownbeat, "linked_mpi", lambda _: None)
    with pytest.raises(LibraryError, match="does not need an MPI library"):
        find_library(VERSION, [OPEN_MPI])


def test_two_and_none(checkout: Path) -> None:
    with pytest.raises(
        LibraryError, match=re.escape("two MPI libraries, /usr/lib/libmpi.so.40 and /opt/libmpich.so.12")
    ):
        find_library(VERSION, [OPEN_MPI, Path("/opt/libmpich.so.12")])
    with pytest.raises(LibraryError, match="no MPI library that is known"):
        find_library(VERSION, [])


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI", "openmpi"),
        ("Open MPI v5.0.11, package", "openmpi5"),
        ("MPICH Version:\t4.0.2\nMPICH Release date", "mpich"),
        ("MPICH Version:      5.0.2\nMPICH Release", "mpich5"),
        ("Intel(R) MPI Library 2021.18.1 for Linux* OS\n", "intelmpi"),
        ("MVAPICH 4.0", None),
    ],
)
def test_libraries_by_what_they_say(said: str, name: str | None) -> None:
    assert library_saying(said) == name


def test_a_program_whose_name_is_no_utf_8_is_looked_at(tmp_path: Path) -> None:
    """The answer of ldd has the name, too."""
    assert linked_mpi(str(tmp_path / "\udcffbench")) is None
