"""Which libdownbeat is loaded: what an MPI library is by its file, what fits it, in which order."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from downbeat.run import libdownbeat
from downbeat.run.bench import Build
from downbeat.run.libdownbeat import LibraryError, find_library, loaded_mpi
from downbeat.run.libraries import linked_mpi, name_of_version
from downbeat.run.mpi_abi import IN_EVERY_LIBRARY, MARKS, abi_of, is_mpi, read_object

VERSION = "Open MPI v4.1.4, package: Debian OpenMPI"
OPEN_MPI, MPICH, STANDARD = ("ompi_mpi_comm_self",), ("MPIR_Dup_fn",), ("MPI_Abi_get_version",)
# Name of the file, DT_SONAME, symbols beside those that all have, ABI.
LIBRARIES = {
    "Open MPI 4": ("libmpi.so.40.30.4", "libmpi.so.40", OPEN_MPI, "openmpi"),
    "Open MPI 5": ("libmpi.so.40.40.7", "libmpi.so.40", OPEN_MPI, "openmpi"),
    "Open MPI 1.10": ("libmpi.so.12.0.2", "libmpi.so.12", OPEN_MPI, None),
    "Open MPI, renamed": ("mine.so", "libmpi.so.40", OPEN_MPI, "openmpi"),
    "Open MPI, called like MPICH": ("libmpi.so.12", "", OPEN_MPI, "openmpi"),
    "MPICH 4": ("libmpich.so.12.2.2", "libmpich.so.12", MPICH, "mpich"),
    "MPICH 5, Intel MPI": ("libmpi.so.12.0.0", "libmpi.so.12", (*MPICH, *STANDARD), "mpich"),
    "MPICH 1.5": ("libmpich.so.10", "libmpich.so.10", MPICH, None),
    "MVAPICH, called like Open MPI": ("libmpi.so.40", "libmpi.so.12", MPICH, "mpich"),
    "Cray MPICH": ("libmpi_cray.so.12.0.0", "libmpi_cray.so.12", MPICH, "mpich"),
    "the standard ABI": ("libmpi_abi.so.1.0", "libmpi_abi.so.1", STANDARD, "abi"),
    "the standard ABI of a draft": ("libmpi_abi.so.0.0.0", "libmpi_abi.so.0", STANDARD, None),
    "HPE MPT": ("libmpi.so", "libmpi.so", ("MPI_SGI_vtune_is_running",), None),
}
Compile = Callable[..., Path]


@pytest.fixture(scope="module")
def compiled() -> Compile:
    """Compiles shared objects that define symbols and need other objects."""

    def compile_object(
        file: Path,
        symbols: Sequence[str],
        soname: str = "",
        needed: Sequence[Path] = (),
        more: str = "",
        style: str = "gnu",
    ) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        source = file.with_name("source.c")
        source.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in symbols) + more, encoding="utf-8")
        options = [f"-Wl,-soname,{soname}"] if soname else []
        subprocess.run(
            [
                "cc",
                "-shared",
                "-fPIC",
                f"-Wl,--hash-style={style}",
                *options,
                "-o",
                file,
                source,
                "-Wl,--no-as-needed",
                *needed,
            ],
            check=True,
        )
        return file

    return compile_object


@pytest.mark.parametrize("style", ["gnu", "sysv"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_the_abi_is_what_the_file_has(name: str, style: str, compiled: Compile, tmp_path: Path) -> None:
    file, soname, symbols, abi = LIBRARIES[name]
    library = compiled(tmp_path / file, ("MPI_Init", *IN_EVERY_LIBRARY, *symbols), soname, style=style)
    (tmp_path / "link").symlink_to(library)
    assert [is_mpi(library), abi_of(library), abi_of(tmp_path / "link")] == [True, abi, abi]
    maps = (
        f"7f00-7f01 r--p 0000 08:01 11 {library}\n7f01-7f02 r-xp 0000 08:01 11 {library}\n7f02-7f03 rw-p 0 0 0 [heap]\n"
    )
    assert loaded_mpi(maps) == [library]


def test_what_is_no_mpi_library_has_no_abi(compiled: Compile, tmp_path: Path) -> None:
    tool = compiled(tmp_path / "libmpi.so.40", ("MPI_Init", *OPEN_MPI))  # a profiling tool, called like it
    stacked = compiled(tmp_path / "tool.so", ("MPI_Init", "PMPI_Init", "MPI_Barrier", "PMPI_Barrier"))
    (tmp_path / "text").write_text("libmpi.so.40", encoding="utf-8")
    (tmp_path / "empty").touch()
    for path in (tool, stacked, tmp_path / "text", tmp_path / "empty", tmp_path, tmp_path / "nothing"):
        assert (is_mpi(path), abi_of(path)) == (False, None)


def test_a_damaged_file_is_none_or_as_it_was(compiled: Compile, tmp_path: Path) -> None:
    draw = random.Random(38)
    for style in ("gnu", "sysv"):
        whole = compiled(tmp_path / "libmpi.so", (*IN_EVERY_LIBRARY, *MPICH), "libmpi.so.12", style=style).read_bytes()
        for _ in range(400):
            text = bytearray(whole)
            for _ in range(draw.choice((1, 8, 64))):
                text[draw.randrange(draw.choice((64, 1024, len(text))))] = draw.choice((0, 1, 255, draw.randrange(256)))
            file = tmp_path / "damaged"
            file.write_bytes(text[: draw.choice((len(text), draw.randrange(len(text))))])
            assert abi_of(file) in (None, *MARKS)
            if found := read_object(file):
                found.note()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Compile) -> Path:
    """A directory with a library for each of three MPI libraries, in mpi/, of which a process has loaded Open MPI."""
    for name, file, symbols in (
        ("mpich", "libmpich.so.12", MPICH),
        ("openmpi", "libmpi.so.40", OPEN_MPI),
        ("openmpi5", "libmpi.so.40", OPEN_MPI),
    ):
        library = compiled(tmp_path / "mpi" / name / file, (*IN_EVERY_LIBRARY, *symbols), file)
        compiled(tmp_path / "build" / name / "lib" / libdownbeat.LIBRARY_FILE, ("MPIX_Harmonize",), needed=[library])
    monkeypatch.setattr(libdownbeat, "CHECKOUT", tmp_path)
    monkeypatch.setattr(libdownbeat, "kept_builds", list)
    monkeypatch.setattr(libdownbeat, "loader_candidates", lambda _: iter(()))
    monkeypatch.delenv(libdownbeat.LIBRARY_VARIABLE, raising=False)
    return tmp_path


def loaded_in(checkout: Path, name: str = "openmpi/libmpi.so.40") -> list[Path]:
    return [checkout / "mpi" / name]


def test_the_build_tree_of_the_library_that_speaks_is_first(checkout: Path) -> None:
    mine = loaded_in(checkout)
    assert find_library(VERSION, mine) == checkout / "build/openmpi/lib/libdownbeat.so"
    assert find_library("Open MPI v5.0.11, package", mine) == checkout / "build/openmpi5/lib/libdownbeat.so"


def test_another_tree_is_taken_if_it_fits(checkout: Path) -> None:
    (checkout / "build/openmpi/lib/libdownbeat.so").unlink()
    assert find_library(VERSION, loaded_in(checkout)) == checkout / "build/openmpi5/lib/libdownbeat.so"


def test_what_downbeat_build_has_made_comes_after_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Build(tmp_path / "kept", "openmpi", "mpicc", "2026-01-01")
    (kept.prefix / "lib").mkdir(parents=True)
    shutil.copy(checkout / "build/openmpi/lib/libdownbeat.so", kept.prefix / "lib")
    monkeypatch.setattr(libdownbeat, "kept_builds", lambda: [kept])
    assert find_library(VERSION, loaded_in(checkout)) == checkout / "build/openmpi/lib/libdownbeat.so"
    shutil.rmtree(checkout / "build")
    assert find_library(VERSION, loaded_in(checkout)) == kept.prefix / "lib/libdownbeat.so"


def test_none_fits(checkout: Path, compiled: Compile) -> None:
    other = compiled(checkout / "other.so", (*IN_EVERY_LIBRARY, "MPI_SGI_vtune_is_running"), "libmpi.so")
    with pytest.raises(LibraryError, match=r"found no libdownbeat for .*found for others: .*mpich") as one:
        find_library(VERSION, [other])
    assert "\n" not in str(one.value)
    # One that was built with it fits a library of whatever ABI.
    fits = compiled(checkout / "build/other/lib" / libdownbeat.LIBRARY_FILE, ("MPIX_Harmonize",), needed=[other])
    assert find_library(VERSION, [other]) == fits


def test_the_variable_is_taken_or_refused(checkout: Path, compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    note = (Path(__file__).resolve().parents[2] / "packaging/wheel/abi_note.c").read_text(encoding="utf-8")
    trees = checkout / "build"
    header = {"openmpi": "OPEN_MPI", "mpich": "MPICH_VERSION", "abi": "MPI_ABI_VERSION"}
    own = {
        abi: compiled(
            checkout / f"wheel/{abi}.so",
            ("MPIX_Harmonize",),
            more=f"#define {macro}\n" + note.replace("#include <mpi.h>", ""),
        )
        for abi, macro in header.items()
    }
    bare = compiled(checkout / "bare.so", ("MPIX_Harmonize",))
    # Value of the variable, library in the process, reason why it is refused.
    for chosen, mpi, reason in (
        (own["openmpi"], "openmpi/libmpi.so.40", ""),
        (own["openmpi"], "mpich/libmpich.so.12", "is for the ABI 'openmpi'"),
        (own["mpich"], "mpich/libmpich.so.12", ""),
        (own["mpich"], "openmpi5/libmpi.so.40", "is for the ABI 'mpich'"),
        (own["abi"], "mpich/libmpich.so.12", "is for the ABI 'abi'"),
        (trees / "openmpi/lib/libdownbeat.so", "openmpi5/libmpi.so.40", ""),
        (trees / "mpich/lib/libdownbeat.so", "openmpi/libmpi.so.40", "needs libmpich.so.12"),
        (bare, "openmpi/libmpi.so.40", "names no MPI library"),
        (checkout / "mpi/mpich/libmpich.so.12", "openmpi/libmpi.so.40", "is not a libdownbeat"),
        (Path(__file__), "openmpi/libmpi.so.40", "is not a libdownbeat"),
    ):
        monkeypatch.setenv(libdownbeat.LIBRARY_VARIABLE, str(chosen))
        if not reason:
            assert find_library(VERSION, loaded_in(checkout, mpi)) == chosen
            continue
        with pytest.raises(LibraryError, match=re.escape(f"'{chosen}', which {reason}, but mpi4py has loaded")):
            find_library(VERSION, loaded_in(checkout, mpi))


def test_two_and_none(checkout: Path) -> None:
    both = [*loaded_in(checkout), *loaded_in(checkout, "mpich/libmpich.so.12")]
    with pytest.raises(LibraryError, match=re.escape(f"two MPI libraries, {both[0]} and {both[1]}")):
        find_library(VERSION, both)
    with pytest.raises(LibraryError, match="no known MPI library"):
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
    assert name_of_version(said) == name


def test_a_program_whose_name_is_no_utf_8_is_looked_at(tmp_path: Path) -> None:
    """The answer of ldd has the name, too."""
    assert linked_mpi(str(tmp_path / "\udcffbench")) is None
