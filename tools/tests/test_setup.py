"""tools/setup installs missing packages only; without the right to, it names them in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOOLS = Path(__file__).resolve().parents[1]
PURPOSES = tomllib.loads((TOOLS / "packages.toml").read_text(encoding="utf-8"))
RUN_PACKAGES = PURPOSES["build"]["debian"] + PURPOSES["openmpi"]["debian"]


class Machine:
    """A directory of programs that replace those of a Debian system, and a copy of tools/setup."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "bin"
        self.log = root / "log"
        self.installed = root / "installed"
        self.checkout = root / "checkout"
        self.programs.mkdir()
        (self.checkout / "tools").mkdir(parents=True)
        for name in ("setup", "packages.toml"):
            shutil.copy(TOOLS / name, self.checkout / "tools" / name)
        for tool in ("sh", "env", "cat", "true"):
            found = shutil.which(tool)
            assert found
            (self.programs / tool).symlink_to(found)

    def program(self, name: str, script: str) -> None:
        """Adds a stand-in."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        path.chmod(0o755)

    def debian(self, installed: list[str], apt: str = "true") -> None:
        """Makes the machine a Debian with some packages."""
        self.installed.write_text("".join(f"{name} installed\n" for name in installed), encoding="ascii")
        self.program("dpkg-query", f"cat {self.installed}; exit 1")
        self.program("apt-get", f'echo "apt-get $@" >>{self.log}; {apt}')

    def setup(self, *purpose: str) -> subprocess.CompletedProcess[str]:
        """Runs tools/setup on this machine as a user who is not root."""
        as_nobody = (
            "import os, runpy, sys, time; os.geteuid = lambda: 1000; time.sleep = lambda _: None; "
            "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        )
        return subprocess.run(
            [sys.executable, "-c", as_nobody, str(self.checkout / "tools" / "setup"), *purpose],
            env={"PATH": str(self.programs)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        """Returns how apt-get was called."""
        return self.log.read_text(encoding="ascii").splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_done_where_nothing_is_missing(machine: Machine) -> None:
    machine.debian(RUN_PACKAGES)
    done = machine.setup("build", "openmpi")
    assert (done.returncode, done.stdout, done.stderr, machine.calls()) == (0, "", "", [])


def test_without_rights_one_line_names_what_is_missing(machine: Machine) -> None:
    machine.debian([name for name in RUN_PACKAGES if name not in ("cmake", "libfmt-dev")])
    done = machine.setup("build", "openmpi")
    assert done.returncode == 1
    assert done.stderr == "setup: missing and not root: apt-get install cmake libfmt-dev\n"
    assert machine.calls() == []


def test_only_the_missing_is_installed(machine: Machine) -> None:
    machine.debian([name for name in RUN_PACKAGES if name != "ninja-build"])
    machine.program("sudo", 'shift; exec "$@"')
    done = machine.setup("build", "openmpi")
    assert done.returncode == 0, done.stderr
    update, install = machine.calls()
    assert update.endswith("update")
    assert install.endswith("install -y --no-install-recommends ninja-build")


@pytest.mark.parametrize(("failures", "status"), [(1, 0), (2, 1)])
def test_a_failed_installation_is_tried_again_once(machine: Machine, failures: int, status: int) -> None:
    works = f"calls=0; while read -r _; do calls=$((calls + 1)); done <{machine.log}; [ $calls -gt {2 * failures} ]"
    machine.debian(RUN_PACKAGES[1:], works)
    machine.program("sudo", 'shift; exec "$@"')
    done = machine.setup("build", "openmpi")
    assert done.returncode == status
    assert len(machine.calls()) == 4
    assert ("once it works again, run: sudo apt-get install build-essential\n" in done.stderr) == (failures == 2)


def test_without_dpkg_one_line_tells_and_it_goes_on(machine: Machine) -> None:
    done = machine.setup("build", "openmpi")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "no dpkg here" in done.stdout


@pytest.mark.parametrize(("purposes", "named"), [([], "''"), (["walk"], "'walk'"), (["build", "lam"], "'lam'")])
def test_an_unknown_purpose_is_refused(machine: Machine, purposes: list[str], named: str) -> None:
    done = machine.setup(*purposes)
    assert done.returncode == 1
    assert done.stderr == f"setup: unknown purpose {named}; choose from {', '.join(PURPOSES)}\n"


def test_what_is_locked_is_what_pyproject_asks_for() -> None:
    project = tomllib.loads((TOOLS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project["dependency-groups"]["project"] += project["project"]["dependencies"]
    for group in (purpose["python"] for purpose in PURPOSES.values() if "python" in purpose):
        text = (TOOLS / "lock" / f"{group}.txt").read_text(encoding="utf-8")
        assert "://" not in text
        blocks = re.split(r"\n(?=\S)", text)
        assert all("--hash=sha256:" in block for block in blocks)
        versions = [found.groups() for block in blocks if (found := re.match(r"(\S+)==(\S+)", block))]
        for wanted in map(Requirement, project["dependency-groups"][group]):
            pinned = [version for name, version in versions if name == canonicalize_name(wanted.name)]
            assert pinned and all(map(wanted.specifier.contains, pinned)), f"{group} has {wanted}; run 'make lock'"


def test_what_is_locked_is_installed_again_once_it_changes(machine: Machine) -> None:
    machine.debian(["python3-venv"])
    lock = machine.checkout / "tools/lock/lock.txt"
    lock.parent.mkdir()
    venv = machine.checkout / ".venv"
    (venv / "bin").mkdir(parents=True)
    machine.program("python", f"for word; do :; done; echo $(cat $word) >>{machine.log}")
    (venv / "bin/python").symlink_to(machine.programs / "python")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (venv / "home.stamp").write_text(f"python {version}\n{venv}\n", encoding="utf-8")
    for text, calls in (("a==1", ["a==1"]), ("a==1", ["a==1"]), ("a==2", ["a==1", "a==2"])):
        lock.write_text(text, encoding="utf-8")
        assert machine.setup("lock").returncode == 0
        assert machine.calls() == calls


@pytest.mark.parametrize(
    "mpi", [name for name, purpose in PURPOSES.items() if purpose.get("into", "").startswith(".mpi")]
)
def test_a_fetched_library_compiles_and_links(mpi: str, tmp_path: Path) -> None:
    wrapper = TOOLS.parent / PURPOSES[mpi]["into"] / "bin" / "mpicc"
    source = tmp_path / "program.c"
    source.write_text(
        "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n", encoding="ascii"
    )
    subprocess.run([wrapper, source, "-o", tmp_path / "program"], check=True)
    launch = [str(TOOLS / "launch"), "-n", "2", "--timeout", "300", str(tmp_path / "program")]
    assert subprocess.run(launch, capture_output=True, text=True, check=True).stderr == ""
