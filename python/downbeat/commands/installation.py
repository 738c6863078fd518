"""The commands `downbeat --version`, `config` and `build`: installed versions, compiler options, builds from source."""

from __future__ import annotations

import importlib.metadata
import os
import os.path
import platform
import re
import shlex
import subprocess
from pathlib import Path
from typing import Annotated

import typer


def print_versions() -> None:
    """Prints the versions of the command, of Python, and of each downbeat-bench."""
    from downbeat.run.bench import built, find_any_bench, installed
    from downbeat.run.libraries import LIBRARIES, packaged_bench

    print(f"downbeat {importlib.metadata.version('downbeat')}, Python {platform.python_version()}")
    benches = [path for name in LIBRARIES if (path := built(name))]
    benches = benches or list(dict.fromkeys(path for name in LIBRARIES if (path := installed(name))))
    if not benches and (wheel := packaged_bench()):
        benches = [wheel]
    if not benches:
        from downbeat.errors import UsageError

        try:
            benches = [find_any_bench()[1]]
        except UsageError as error:
            print(error)
    for bench in benches:
        print(f"\n{bench}")
        try:
            done = subprocess.run(
                [bench, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=60
            )
            answer = done.stdout.strip() if done.returncode == 0 else ""
        except (OSError, subprocess.TimeoutExpired):
            answer = ""
        print(answer or "cannot start here without its launcher")


def config(
    mpi: Annotated[
        str,
        typer.Option(metavar="WRAPPER", help="C compiler wrapper of the MPI library: a name on the path, or a path."),
    ] = "mpicc",
    cflags: Annotated[bool, typer.Option("--cflags", help="Print the options for compiling.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Print the options for linking.")] = False,
) -> None:
    """Print compiler options for programs that call libdownbeat, like pkg-config, for systems without pkg-config.

    Without options: version, prefix, both, and PKG_CONFIG_PATH. Uses the library in the
    checkout, else the one from 'downbeat build', else the one in the wheel, for the MPI library of the wrapper.

    Exit status: 0 printed; 2 bad arguments, or no library was found.
    """
    from downbeat.errors import UsageError
    from downbeat.run.bench import find_wrappers, how_to_build, prefixes

    kind = find_wrappers(mpi).kind
    patterns = ("downbeat-uninstalled.pc", "lib*/pkgconfig/downbeat.pc", f"lib/*/pkgconfig/downbeat-{kind}.pc")
    files = (path for prefix in prefixes(kind) for pattern in patterns for path in prefix.glob(pattern))
    file = next(files, None)
    if file is None:
        raise UsageError(f"found no libdownbeat for {kind}; run {how_to_build(kind)}")
    values = values_of(file)
    flags = flags_of(file, "Cflags") if cflags else []
    flags += flags_of(file, "Libs") if libs else []
    needs_no_escape = PLAIN_PATH.fullmatch(str(file.parent))
    if flags and not needs_no_escape:
        raise UsageError(
            f"'{file.parent}' has characters that flags within $(...) cannot have; paste {shlex.join(flags)}, or build "
            "into another $XDG_CACHE_HOME"
        )
    if flags:
        print(*flags)
        return
    for title, value in (
        ("version", values["Version"]),
        ("prefix", values["prefix"]),
        ("--cflags", shlex.join(flags_of(file, "Cflags"))),
        ("--libs", shlex.join(flags_of(file, "Libs"))),
        *([("PKG_CONFIG_PATH", str(file.parent))] if needs_no_escape else []),
    ):
        print(f"{title:15}  {value}")


# Paths with other characters break in $(pkg-config ...), because the shell keeps the backslashes of pkg-config. A comma
# separates words of -Wl, a colon directories of PKG_CONFIG_PATH.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+=@~-]+")
VARIABLE = re.compile(r"\$\{(\w+)\}")  # of a pkg-config file
RPATH = "-Wl,-rpath,"


def flags_of(file: Path, name: str) -> list[str]:
    """The words of the field `name` of a pkg-config file, with variables expanded; [] without this field."""
    values = values_of(file)
    field = re.search(rf"^{name} *: *(.*?) *$", file.read_text(encoding="utf-8"), re.MULTILINE)
    flags: list[str] = []
    for word in field[1].split() if field else ():
        flag = VARIABLE.sub(lambda match: values[match[1]], word)
        if flag.startswith(RPATH) and not PLAIN_PATH.fullmatch(str(file.parent)):
            flags += ["-Xlinker", "-rpath", "-Xlinker", flag.removeprefix(RPATH)]  # -Wl would split at a comma
        else:
            flags.append(flag)
    return flags


def values_of(file: Path) -> dict[str, str]:
    """The variables and fields of a pkg-config file."""
    values = {"pcfiledir": str(file.parent)}
    for name, value in re.findall(r"^([\w.]+) *[=:] *(.*?) *$", file.read_text(encoding="utf-8"), re.MULTILINE):
        values[name] = VARIABLE.sub(lambda match: values[match[1]], value)
        if name == "prefix":
            values[name] = os.path.normpath(values[name])
    return values


def build(
    mpi: Annotated[
        str,
        typer.Option(metavar="WRAPPER", help="C compiler wrapper of the MPI library: a name on the path, or a path."),
    ] = "mpicc",
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, metavar="N", help="Compiler processes at a time [one per CPU].")
    ] = None,
    bench: Annotated[bool, typer.Option(help="Build downbeat-bench, not the libraries alone.")] = True,
    again: Annotated[bool, typer.Option("--again", help="Build again even if it is already built.")] = False,
) -> None:
    """Build libdownbeat, libdownbeat-preload and downbeat-bench for an MPI library, into the user's cache.

    The wheel for x86-64 has them for Open MPI, MPICH, Intel MPI and the standard ABI; this is for other processors and
    libraries, and takes minutes. 'downbeat run' and all other commands find them there. The cache is
    $XDG_CACHE_HOME/downbeat, else ~/.cache/downbeat; compute nodes must see it.

    Exit status: 0; 1 the build failed; 2 bad arguments.
    """
    from downbeat.errors import UsageError
    from downbeat.run.bench import build_programs, cache_directory

    if set(":\n") & set(str(cache_directory())):  # a colon separates directories of a loader's search path
        raise UsageError(
            f"no program finds a library in '{cache_directory()}': the path has a colon or a line break; set "
            "XDG_CACHE_HOME to another directory"
        )
    finished, is_new = build_programs(mpi, jobs or len(os.sched_getaffinity(0)), bench, again)
    print(f"{'built' if is_new else 'already built'}: {finished.prefix}")
    if bench:
        program = shlex.quote(str(finished.prefix / "bin/downbeat-bench"))
        name = f" --mpi {finished.mpi}" if finished.mpi else f" --bench {program}"
        print(f"next: downbeat run allreduce{name} --ranks 2 -o results")
    print(f"in your own programs: {how_to_compile(finished.prefix / 'lib/pkgconfig/downbeat.pc', mpi)}")


def how_to_compile(file: Path, wrapper: str) -> str:
    """A shell command that sets PKG_CONFIG_PATH to the directory of a pkg-config file.

    If the variable cannot hold that path: the command that compiles a program with the wrapper.
    """
    if PLAIN_PATH.fullmatch(str(file.parent)):
        return f"export PKG_CONFIG_PATH={file.parent}"
    return shlex.join([wrapper, "program.c", *flags_of(file, "Cflags"), *flags_of(file, "Libs")])
