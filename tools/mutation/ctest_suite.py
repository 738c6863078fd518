"""C and C++: a build directory of its own, programs of ctest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mutation.operators import Mutant
from mutation.programs import WALL, Ended, run
from mutation.rooms import ROOT, Room
from mutation.suite import Suite, Test

MPI = "openmpi"
BUILD_SECONDS = 600.0


class CtestSuite(Suite):
    """Compiles the changed file alone, and links what the next test needs."""

    def __init__(self, room: Room, directory: Path) -> None:
        """Copies the tree into the directory."""
        super().__init__(room, directory)
        self.built = self.tree.directory / "build" / MPI
        venv = self.tree.directory / ".venv"
        if not venv.exists():
            venv.symlink_to(ROOT / ".venv")
        self.objects: dict[str, dict[Path, bytes]] = {}  # by source

    def prepare(self) -> list[Test]:
        """Configures the build, and asks ctest for its tests."""
        configure = ["cmake", "--preset", MPI]
        if run(configure, self.log, BUILD_SECONDS, self.tree.directory, self.environment).status != 0:
            sys.exit(f"mutate: {self.tree.directory} cannot be configured: {self.log}")
        # ctest knows the commands of what is built.
        for target in self.room.targets:
            if not self.build(target):
                sys.exit(f"mutate: {target} cannot be built: {self.log}")
        show = ["ctest", "--test-dir", str(self.built), "--show-only=json-v1"]
        shown = subprocess.run(show, capture_output=True, text=True, check=True)
        tests = [self.test_of(one) for one in json.loads(shown.stdout)["tests"] if self.wanted(one)]
        for module in self.room.modules:
            pytest = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", module, "--mpi", MPI)
            tests.append(Test(module, pytest, target="downbeat-bench", twice=True))
        return tests

    def wanted(self, test: dict[str, Any]) -> bool:
        """Whether a test of ctest belongs to the room; never one with more ranks than processors."""
        return re.match(self.room.tests, test["name"]) is not None and "many" not in properties(test).get("LABELS", [])

    def test_of(self, test: dict[str, Any]) -> Test:
        """Returns how a test of ctest is started without ctest."""
        command: list[str] = test["command"]
        programs = [Path(word).name for word in command if Path(word).parent == self.built / "bin"]
        with_mpi = "mpi" in properties(test).get("LABELS", [])
        pairs = [entry.partition("=") for entry in properties(test).get("ENVIRONMENT", []) if "=" in entry]
        environment = tuple((name, value) for name, _, value in pairs)
        return Test(test["name"], tuple(command), environment, programs[0], with_mpi)

    def build(self, target: str) -> bool:
        """Links a target; ccache gives the original back, and keeps no mutant."""
        if not target:
            return True
        command = ["cmake", "--build", str(self.built), "--target", target, "--", "--quiet"]
        env = self.environment | ({"CCACHE_READONLY": "1"} if self.tests else {})
        return run(command, self.log, BUILD_SECONDS, self.tree.directory, env).status == 0

    def ready(self) -> None:
        """Builds, runs all tests on the original, and keeps what its files compile to."""
        super().ready()
        for one in json.loads((self.built / "compile_commands.json").read_text(encoding="utf-8")):
            words = one["command"].split()
            compiled = Path(one["directory"]) / words[words.index("-o") + 1]
            source = Path(one["file"])
            if source.is_relative_to(self.tree.directory) and compiled.is_file():
                objects = self.objects.setdefault(str(source.relative_to(self.tree.directory)), {})
                objects[compiled] = compiled.read_bytes()

    def is_fresh(self, built: Path, mutant: Mutant) -> bool:
        """Whether a file was built after the source was changed."""
        return built.stat().st_mtime_ns >= (self.tree.directory / mutant.file).stat().st_mtime_ns

    def is_in(self, test: Test, mutant: Mutant) -> bool:
        """Looks whether the program was linked again."""
        return self.is_fresh(self.built / "bin" / test.target, mutant)

    def is_the_same(self, mutant: Mutant) -> bool:
        """Compares objects (trivial compiler equivalence: Papadakis, Jia, Harman, Le Traon 2015); not of headers."""
        objects = self.objects.get(mutant.file, {})
        return bool(objects) and all(
            self.is_fresh(path, mutant) and path.read_bytes() == original for path, original in objects.items()
        )

    def order(self, mutant: Mutant) -> list[Test]:
        """Returns the tests, those first that are named after the changed file: test_slack after slack_auto.c."""
        subject = Path(mutant.file).stem.partition("_")[0]
        return sorted(self.tests, key=lambda test: f"_{subject}" not in test.name)

    def run(self, test: Test, limit: float) -> Ended:
        """Runs a test; a launcher ends its ranks itself when the time is over."""
        command = list(test.command)
        if "--timeout" in command:
            command[command.index("--timeout") + 1] = str(round(WALL * limit))
        return run(command, self.log, limit, self.tree.directory, self.environment | dict(test.environment))


def properties(test: dict[str, Any]) -> dict[str, Any]:
    """Returns the properties of a test of ctest by their names."""
    return {one["name"]: one["value"] for one in test["properties"]}
