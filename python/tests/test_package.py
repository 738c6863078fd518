"""An installation by pip or pipx is complete: the command starts outside of the checkout, with its templates."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).resolve().parents[2]


def run(*command: object, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of programs of a fresh environment in which the wheel is, its dependencies by reference."""
    home = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--wheel-dir", home, ROOT, cwd=home)
    (wheel,) = home.glob("downbeat-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", home / "env", cwd=home)
    (packages,) = home.glob("env/lib/python*/site-packages")
    run(*pip, "--python", home / "env/bin/python", "install", "--no-deps", wheel, cwd=home)
    # Behind the package itself, so that this is found first; a second time from the network would cost minutes.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home / "env/bin"


def test_the_command_runs_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "downbeat", "--version", cwd=tmp_path).startswith("downbeat 0.1.0, Python 3.")
    where = run(installed / "python", "-c", "import downbeat; print(downbeat.__file__)", cwd=tmp_path)
    assert where.startswith(str(installed.parent))


def test_what_is_no_module_is_in_the_wheel(installed: Path) -> None:
    (package,) = installed.parent.glob("lib/python*/site-packages/downbeat")
    source = ROOT / "python/downbeat"
    others = {path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    found = {path.relative_to(package) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert others == {path for path in found if path.parts[0] != "source"}


def test_the_source_of_the_programs_is_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    (source,) = installed.parent.glob("lib/python*/site-packages/downbeat/source")
    for room in ("lib", "bench/src", "preload"):
        wanted = {path.relative_to(ROOT) for path in (ROOT / room).rglob("*.[ch]*") if "tests" not in path.parts}
        assert wanted == {path.relative_to(source) for path in (source / room).rglob("*.[ch]*")}, room
    # All that CMake includes is there.
    options = ["-DDOWNBEAT_BUILD_TESTS=OFF", "-DDOWNBEAT_BUILD_FORTRAN=OFF", "-DDOWNBEAT_MPI=openmpi"]
    run("cmake", "-S", source, "-B", tmp_path, "-G", "Ninja", *options, cwd=tmp_path)
    assert '"unknown"' not in (tmp_path / "bench/include/build_info.h").read_text(encoding="utf-8")
