"""Package managers take the recipes of packaging/: they build, install and check where this machine has them."""

from __future__ import annotations

import os
import shutil
import subprocess
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


@pytest.mark.nightly
def test_hadolint_accepts_the_dockerfile() -> None:
    # Versions are those of Debian 12.
    run(tool("hadolint"), "--ignore", "DL3008", PACKAGING / "containers/Dockerfile", cwd=ROOT)
