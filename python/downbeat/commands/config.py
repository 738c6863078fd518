"""`downbeat config`: compiler options for programs that call libdownbeat."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Annotated

import typer


def config(
    mpi: Annotated[
        str,
        typer.Option(metavar="WRAPPER", help="C compiler wrapper of the MPI library: a name on the path, or a path."),
    ] = "mpicc",
    cflags: Annotated[bool, typer.Option("--cflags", help="Print the options for compiling.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Print the options for linking.")] = False,
) -> None:
    """Print compiler options for programs that call libdownbeat, as pkg-config does, where that is not installed.

    Without options: version, prefix, both, and PKG_CONFIG_PATH. The library is the checkout's, that of 'downbeat
    build', or the wheel's, for the MPI library of the compiler wrapper.

    Exit status: 0 printed; 2 bad arguments, or no library was found.
    """
    from downbeat.errors import UsageError
    from downbeat.run.bench import find_wrappers, how_to_build, prefixes

    kind = find_wrappers(mpi).kind
    names = ("downbeat-uninstalled.pc", "lib*/pkgconfig/downbeat.pc", f"lib/*/pkgconfig/downbeat-{kind}.pc")
    file = next((found for prefix in prefixes(kind) for name in names for found in prefix.glob(name)), None)
    if file is None:
        raise UsageError(f"found no libdownbeat for {kind}; run {how_to_build(kind)}")
    values = values_of(file)
    if cflags or libs:
        print(*[values["Cflags"]] * cflags, *[values["Libs"]] * libs)
        return
    for title, value in (
        ("version", values["Version"]),
        ("prefix", values["prefix"]),
        ("--cflags", values["Cflags"]),
        ("--libs", values["Libs"]),
        ("PKG_CONFIG_PATH", str(file.parent)),
    ):
        print(f"{title:15}  {value}")


def values_of(file: Path) -> dict[str, str]:
    """Returns the variables and fields of a file of pkg-config."""
    values = {"pcfiledir": str(file.parent)}
    for name, value in re.findall(r"^([\w.]+) *[=:] *(.*?) *$", file.read_text(encoding="utf-8"), re.MULTILINE):
        values[name] = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], value)
        if name == "prefix":
            values[name] = os.path.normpath(values[name])
    return values
