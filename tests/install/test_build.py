"""`downbeat build`: finds what is there, says in one line what is missing, and leaves what other commands find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.commands.installation import PLAIN_PATH, how_to_compile
from downbeat.errors import UsageError
from downbeat.run.bench import BUILD_RECORD, cxx_beside, find_wrappers, kept_builds, library_by_macros

ROOT = Path(__file__).resolve().parents[2]


def downbeat(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables}
    command = [sys.executable, "-m", "downbeat", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_wrapper_that_is_not_there_is_one_line() -> None:
    done = downbeat("build", "--mpi", "mpicc.none")
    assert done.returncode == 2
    assert done.stderr.strip().startswith("downbeat: --mpi: found no 'mpicc.none'; load the module of an MPI library")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_compiler_without_mpi_is_refused() -> None:
    with pytest.raises(UsageError, match=r"does not find mpi\.h"):
        find_wrappers("cc")


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_wrappers_of_debian(name: str) -> None:
    found = find_wrappers(f"mpicc.{name}")
    assert found.kind == name
    assert found.cxx is not None
    assert Path(found.cxx).name.endswith(f".{name}")


def test_wrappers_of_other_names(tmp_path: Path) -> None:
    for wrapper, other in (("mpiicx", "mpiicpx"), ("mpicc", "mpic++"), ("cc", "CC")):
        for name in (wrapper, other):
            (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (tmp_path / name).chmod(0o755)
        assert cxx_beside(tmp_path / wrapper) == str(tmp_path / other)


@pytest.mark.parametrize(
    ("macros", "name"),
    [
        ("#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 4", "openmpi"),
        ("#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 5", "openmpi5"),
        ("#define MPICH_VERSION 1\n#define MPICH_NUMVERSION 40002300", "mpich"),
        ("#define MPICH_VERSION 1\n#define MPICH_NUMVERSION 50000300", "mpich5"),
        ("#define MPICH_VERSION 1\n#define I_MPI_VERSION 1", "intelmpi"),
        ("", "mpi"),
    ],
)
def test_kinds(macros: str, name: str) -> None:
    assert library_by_macros(macros) == name


def test_a_build_of_the_mpicc_on_the_path_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.3")
    wrapper = tmp_path / "bin" / "mpicc"
    wrapper.parent.mkdir()
    wrapper.write_text("#!/bin/sh\n", encoding="utf-8")
    wrapper.chmod(0o755)
    for name, made_with, date in (("openmpi-1", wrapper, "2026-01-01"), ("mpich-2", "/other/mpicc", "2026-02-02")):
        prefix = tmp_path / "cache/downbeat/1.2.3" / name
        prefix.mkdir(parents=True)
        values = {"mpi": name[:-2], "wrapper": str(made_with), "date": date}
        (prefix / BUILD_RECORD).write_text(json.dumps(values), encoding="utf-8")
    (tmp_path / "cache/downbeat/1.2.3/half-3").mkdir()
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert [build.mpi for build in kept_builds({**cache, "PATH": str(wrapper.parent)})] == ["openmpi", "mpich"]
    assert [build.mpi for build in kept_builds({**cache, "PATH": "/none"})] == ["mpich", "openmpi"]


@pytest.mark.parametrize("bench", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_it_builds(tmp_path: Path, bench: bool) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    arguments = ["build", "--mpi", "mpicc.mpich", *([] if bench else ["--no-bench"])]
    done = downbeat(*arguments, **cache)
    assert done.returncode == 0, done.stderr
    (prefix,) = tmp_path.glob("downbeat/*/mpich-*")
    assert (prefix / "lib/libdownbeat-preload.so").exists()
    assert (prefix / "lib/pkgconfig/downbeat.pc").exists()
    assert not (prefix / "tree").exists()
    assert json.loads((prefix / BUILD_RECORD).read_text(encoding="utf-8"))["mpi"] == "mpich"
    assert "already built" in downbeat(*arguments, **cache).stdout
    if bench:
        program = prefix / "bin/downbeat-bench"
        assert "MPICH" in subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["plain", "c ä", "it's", 'a"b', "x,y z", "$HOME `id`"])
def test_the_line_that_it_prints_is_one_for_a_shell(tmp_path: Path, name: str) -> None:
    """As `make install` leaves the file: a program compiles and links with what is printed, whatever the path has."""
    prefix = tmp_path / name
    (prefix / "lib/pkgconfig").mkdir(parents=True)
    (prefix / "include").mkdir()
    (prefix / "include/answer.h").write_text("int answer(void);\n", encoding="ascii")
    (tmp_path / "answer.c").write_text("int answer(void) { return 0; }\n", encoding="ascii")
    (tmp_path / "program.c").write_text('#include "answer.h"\nint main(void) { return answer(); }\n', encoding="ascii")
    command = ["cc", "-shared", "-fPIC", str(tmp_path / "answer.c"), "-o", str(prefix / "lib/libdownbeat.so")]
    subprocess.run(command, check=True)
    file = prefix / "lib/pkgconfig/downbeat.pc"
    file.write_text(
        "prefix=${pcfiledir}/../..\nlibdir=${prefix}/lib\nincludedir=${prefix}/include\n\nName: downbeat\n"
        "Description: Some\nVersion: 1\nCflags: -I${includedir} -DSOME=1\n"
        "Libs: -L${libdir} -Wl,-rpath,${libdir} -ldownbeat\n",
        encoding="ascii",
    )
    line = how_to_compile(file, "cc")
    if PLAIN_PATH.fullmatch(str(file.parent)):
        line += "\ncc program.c $(pkg-config --cflags --libs downbeat)"
    for shell in ("dash", "bash"):
        subprocess.run([shell, "-c", f"set -e\n{line}\n./a.out"], cwd=tmp_path, check=True)
        (tmp_path / "a.out").unlink()
    assert bool(PLAIN_PATH.fullmatch(str(file.parent))) == (name == "plain")


def test_make_install_refuses_a_prefix_that_flags_cannot_have() -> None:
    for prefix in ("/tmp/a b", "/tmp/ä", "/tmp/it's", "/tmp/a,b"):
        done = subprocess.run(
            ["make", "install", f"PREFIX={prefix}"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode != 0
        assert f"the path '{prefix}'" in done.stderr
        assert "building" not in done.stdout


def test_a_cache_that_no_program_can_be_linked_with_is_refused_before_the_build(tmp_path: Path) -> None:
    done = downbeat("build", "--no-bench", XDG_CACHE_HOME=str(tmp_path / "a:b"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "a:b" in done.stderr
    assert not list(tmp_path.iterdir())
