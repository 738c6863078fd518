"""The recipes of packaging/: they parse, and agree with the project on version, files and what is needed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
PYTHON = {re.split(r"\W", one)[0].lower() for one in PROJECT["dependencies"]}
CONFIGS = sorted(PACKAGING.glob("easybuild/*.eb"))
# By the names of CMake; what a recipe calls them.
LIBRARIES = ("cli11", "fmt", "json")


def text_of(name: str) -> str:
    return (PACKAGING / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "recipe", ["spack/packages/downbeat/package.py", "conda/recipe.yaml", "debian/control", "containers/Dockerfile"]
)
def test_a_recipe_names_every_library(recipe: str) -> None:
    text = text_of(recipe).lower()
    assert [one for one in LIBRARIES if one not in text] == []


def test_spack_has_the_version_and_what_the_command_needs() -> None:
    text = text_of("spack/packages/downbeat/package.py")
    (recipe,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    calls = [node.value for node in ast.walk(recipe) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    versions = [ast.literal_eval(call.args[0]) for call in calls if getattr(call.func, "id", "") == "version"]
    assert versions == [VERSION]
    (names,) = re.findall(r'for name in "(.*)"\.split', text)
    assert set(names.split()) == PYTHON


def test_conda_has_the_version_and_what_the_command_needs() -> None:
    text = text_of("conda/recipe.yaml")
    assert re.findall(r"^  version: (\S+)$", text, re.MULTILINE) == [VERSION]
    run = text.partition("noarch: python")[2].partition("      run:\n")[2].partition("    tests:")[0]
    names = {name.removesuffix("-base") for name in re.findall(r"- ([\w-]+)", run)}
    assert names - {"python"} == PYTHON
    wanted = [one.replace(">=", " >=") for one in PROJECT["dependencies"]]
    assert [one for one in wanted if one.split()[0] in names and f"- {one}\n" not in run.replace("-base", "")] == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_easyconfigs_have_the_version_in_name_and_text(path: Path) -> None:
    values = {
        node.targets[0].id: node.value
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert ast.literal_eval(values["version"]) == VERSION
    assert path.name.startswith(f"downbeat-{VERSION}-")
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120


def test_the_debian_changelog_has_the_version() -> None:
    assert text_of("debian/changelog").startswith(f"downbeat ({VERSION}-0downbeat1) ")


def test_the_debian_control_file_parses(tmp_path: Path) -> None:
    if not shutil.which("dpkg-parsechangelog"):
        pytest.skip("no dpkg-dev")
    shutil.copytree(PACKAGING / "debian", tmp_path / "debian")
    answer = subprocess.run(
        ["dpkg-parsechangelog", "-S", "Version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert answer.stdout == f"{VERSION}-0downbeat1\n"
    packages = re.findall(r"^Package: (\S+)$", text_of("debian/control"), re.MULTILINE)
    assert {f"{name}-{mpi}" for name in ("libdownbeat0.1", "downbeat-tools") for mpi in ("openmpi", "mpich")} < set(
        packages
    )


def test_containers_copy_and_build_what_there_is() -> None:
    cmake = "\n".join(
        path.read_text(encoding="utf-8") for path in ROOT.glob("**/CMakeLists.txt") if "build" not in path.parts
    )
    for name in ("Dockerfile", "downbeat.def"):
        text = text_of(f"containers/{name}").replace("\\\n", " ")
        (targets,) = re.findall(r"--target ([\w -]+)", text)
        for target in targets.split():
            assert re.search(rf"add_(library|executable)\(\s*{target}\b", cmake), target
        assert "pip install --no-cache-dir /source" in text


def test_what_install_md_names_is_there() -> None:
    text = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    named = re.findall(r"packaging/[\w./-]*\w", text)
    assert len(named) >= 6
    assert [one for one in named if not (ROOT / one).exists()] == []
