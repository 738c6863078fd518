"""Finds what `downbeat build` needs: the source, headers and libnetcdf of Python packages, CMake and Ninja."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import downbeat.launchers
from downbeat.errors import DownbeatError
from downbeat.launchers.libraries import ROOT

PACKAGE = Path(downbeat.launchers.__file__).resolve().parents[1]
HEADERS = PACKAGE / "headers"  # in the wheel: of libraries that clusters seldom have


def find_source() -> Path:
    """Returns the directory with CMakeLists.txt: of the checkout, else of the wheel.

    Raises:
        DownbeatError: there is none.
    """
    for directory in (ROOT, PACKAGE / "source"):
        if (directory / "CMakeLists.txt").is_file() and (directory / "lib" / "include" / "mpix_harmonize.h").is_file():
            return directory
    raise DownbeatError(
        "this installation of downbeat has no C and C++ source; install it from PyPI or from a checkout"
    )


def find_netcdf() -> Path | None:
    """Returns libnetcdf of the Python package netCDF4, whose wheels bring their own; None if it has none."""
    found = importlib.util.find_spec("netCDF4")
    if found is None or found.origin is None:
        return None
    packages = Path(found.origin).resolve().parents[1]
    for directory in ("netcdf4.libs", "netCDF4.libs"):
        for library in sorted((packages / directory).glob("libnetcdf*.so*")):
            return library
    return None


def find_tool(name: str) -> str | None:
    """Returns a program of this Python environment, activated or not, else of the path."""
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
