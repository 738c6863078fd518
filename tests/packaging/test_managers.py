"""Package managers take the recipes of packaging/: they build, install and check where this machine has them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from on_machine import archive, tool

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
# Fixed, so that the compiler's cache knows the paths.
WORK = ROOT / "build" / "packaging"


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Runs a command that must succeed; returns what it prints."""
    env = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def emptied(name: str) -> Path:
    """Returns an empty directory of that name."""
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


@pytest.mark.nightly
def test_debian_builds_and_lintian_accepts_the_packages() -> None:
    """The command is left out: its dependencies are Debian 13's."""
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        tool(program)
    directory = emptied("debian")
    with tarfile.open(archive()) as opened:
        opened.extractall(directory, filter="data")
    (source,) = directory.iterdir()
    shutil.copytree(source / "packaging" / "debian", source / "debian")
    options = {"DEB_BUILD_OPTIONS": "parallel=2 noautodbgsym", "DEB_BUILD_PROFILES": "pkg.downbeat.nopython"}
    run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=source, **options)
    (changes,) = directory.glob("*.changes")
    run("lintian", "--fail-on", "error,warning", changes, cwd=directory)
    for mpi in ("openmpi", "mpich"):
        root = directory / mpi
        for package in directory.glob(f"*{mpi}*.deb"):
            run("dpkg-deb", "-x", package, root, cwd=directory)
        (pc,) = root.glob(f"usr/lib/*/pkgconfig/downbeat-{mpi}.pc")
        (libdir,) = re.findall(r"(?m)^libdir=/(.*)$", pc.read_text(encoding="utf-8"))
        assert (root / libdir / "libdownbeat.so.0.1").exists()
        assert (root / f"usr/share/bash-completion/completions/downbeat-bench.{mpi}").exists()
        bench = run(root / libdir / "../bin/downbeat-bench", "--version", cwd=directory)
        assert {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi] in bench
        shutil.rmtree(root)


@pytest.mark.nightly
def test_easybuild_accepts_the_easyconfigs_and_installs_the_library() -> None:
    modules = Path("/usr/share/modules/init/bash")
    if not modules.exists():
        pytest.skip("environment-modules is not installed; tools/setup harnesses installs it")
    eb = ("bash", "-c", f'. {modules} && "$@"', "eb", tool("eb"))
    directory = emptied("easybuild")
    shutil.copy(archive(), directory)
    configs = [Path(shutil.copy(path, directory)).name for path in sorted(PACKAGING.glob("easybuild/*.eb"))]
    settings = {
        "HOME": str(directory),
        "EASYBUILD_MODULES_TOOL": "EnvironmentModules",
        "EASYBUILD_MODULE_SYNTAX": "Tcl",
        "EASYBUILD_SOURCEPATH": str(directory),
        "EASYBUILD_PREFIX": str(directory / "easybuild"),
        "EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES": "1",
        "PATH": f"{Path(eb[-1]).parent}:{os.environ['PATH']}",
    }
    # An archive cannot have its own checksum.
    run(*eb, "--force", "--inject-checksums=sha256", *configs, cwd=directory, **settings)
    assert "All contribution checks PASSed" in run(*eb, "--check-contrib", *configs, cwd=directory, **settings)
    for config in configs:
        run(*eb, "--dry-run", config, cwd=directory, **settings)  # every dependency is in EasyBuild's repository
    run(*eb, "downbeat-0.1.0-system.eb", cwd=directory, **settings)
    (software,) = (directory / "easybuild/software/downbeat").glob("*")
    assert (software / "lib/pkgconfig/downbeat.pc").exists()
    assert list((directory / "easybuild/modules/all/downbeat").iterdir())


RENDER = """
import sys, rattler_build
recipe = rattler_build.Stage0Recipe.from_file(sys.argv[1] + "/recipe.yaml")
for one in recipe.render(rattler_build.VariantConfig.from_file(sys.argv[1] + "/variants.yaml")):
    print(one.recipe.package.name, one.variant.get("mpi", "-"))
"""


@pytest.mark.nightly
def test_conda_makes_a_library_for_each_mpi_and_one_command() -> None:
    # The linter of the Dockerfile is in the same environment.
    python = Path(tool("hadolint")).with_name("python")
    printed = run(python, "-c", RENDER, PACKAGING / "conda", cwd=ROOT)
    assert set(printed.splitlines()) == {"libdownbeat openmpi", "libdownbeat mpich", "downbeat -"}


@pytest.mark.nightly
def test_hadolint_accepts_the_dockerfile() -> None:
    # Versions are those of Debian 12.
    run(tool("hadolint"), "--ignore", "DL3008", PACKAGING / "containers/Dockerfile", cwd=ROOT)
