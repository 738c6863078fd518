"""Puts into the wheel what `downbeat build` compiles: the source, and headers if DOWNBEAT_WHEEL_HEADERS is set.

`make wheel` sets it: a cluster seldom has CLI11, fmt and nlohmann-json, so the wheel on PyPI carries the headers of the
machine that it was made on, each with its license. It also sets DOWNBEAT_WHEEL_ROOT, a directory that pip installs into
the prefix: what packaging/wheel/build-binaries makes. Nothing of it is in the source archive.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SOURCE = (
    "CMakeLists.txt",
    "LICENSE",
    "bench/CMakeLists.txt",
    "bench/compile_mpi_sources.cmake",
    "bench/src",
    "bindings/fortran/CMakeLists.txt",
    "bindings/fortran/downbeat.F90.in",
    "bindings/fortran/shim.c",
    "cmake",
    "examples",
    "lib/CMakeLists.txt",
    "lib/include",
    "lib/src",
    "preload",
    "pyproject.toml",
    "shared",
)
# Header directories, and the Debian packages that have them.
HEADERS = {"CLI": "libcli11-dev", "fmt": "libfmt-dev", "nlohmann": "nlohmann-json3-dev"}
# In README.md: pictures and links that lead into the repository, which pages of PyPI do not have.
LOCAL = r"\((?!https?:)[^)]*\)"


def revision_of(root: Path) -> str:
    """Returns the commit that is checked out; "" without git, or outside of a checkout."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout


def needed_glibc(root: Path) -> str:
    """Returns the version of the C library that programs in a directory need, as tags have it: 2_28."""
    programs = [str(path) for path in root.rglob("*") if path.suffix == ".so" or path.parent.name == "bin"]
    symbols = subprocess.run(["objdump", "-T", *programs], capture_output=True, text=True, check=True).stdout
    versions = [(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)]
    return "{}_{}".format(*max(versions))


class ReadmeHook(MetadataHookInterface):
    """README.md as the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = re.sub(rf"!\[[^]]*\]{LOCAL}\n*", "", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": re.sub(rf"\[([^]]*)\]{LOCAL}", r"\1", text)}


class SourceHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds files to a wheel; an editable installation builds from its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        included = {str(root / name): f"downbeat/source/{name}" for name in SOURCE}
        # The user's directory may be in a git repository of its own: the revision is written down here.
        revision = root / "cmake" / "revision.txt"
        if "Format" in revision.read_text(encoding="utf-8") and (head := revision_of(root)):
            self.directory_for_revision = tempfile.TemporaryDirectory()
            written = Path(self.directory_for_revision.name, "revision.txt")
            written.write_text(head, encoding="utf-8")
            revision = written
        del included[str(root / "cmake")]
        included |= {
            str(path): f"downbeat/source/cmake/{path.name}"
            for path in [*(root / "cmake").iterdir(), revision]
            if path.name != revision.name or path == revision
        }
        if os.environ.get("DOWNBEAT_WHEEL_HEADERS"):
            for name, package in HEADERS.items():
                path, license_file = Path("/usr/include", name), Path("/usr/share/doc", package, "copyright")
                for needed in (path, license_file):
                    if not needed.exists():
                        raise FileNotFoundError(f"{needed} of {package}: install it, or unset DOWNBEAT_WHEEL_HEADERS")
                included[str(path)] = f"downbeat/headers/{name}"
                included[str(license_file)] = f"downbeat/headers/licenses/{package}"
        build_data["force_include"].update(included)
        if place := os.environ.get("DOWNBEAT_WHEEL_ROOT"):
            build_data["shared_data"].update({str(path): path.name for path in Path(place).iterdir()})
            if Path(place, "bin").is_dir():
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-manylinux_{needed_glibc(Path(place))}_{platform.machine()}"
