"""Python: forks of one process that has imported what is slow to import."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mutation.operators import Mutant
from mutation.programs import Ended, await_group, die_with_parent, limit_processor_time
from mutation.rooms import ROOT, Room
from mutation.suite import Suite, Test

if TYPE_CHECKING:
    import pytest

# Before they are imported: threads of theirs would not live in a fork.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
SLOW_IMPORTS = (
    "hypothesis",
    "jinja2",
    "netCDF4",
    "numpy",
    "pandas",
    "pytest",
    "rich.console",
    "scipy.optimize",
    "scipy.stats",
    "typer.testing",
    "xarray",
)
NOT_HERE = "not nightly and not alone"
# A test that takes longer, on the wall, is left out: most of these start MPI programs.
LONGEST_SECONDS = 15.0
# All tests that take less come first: a mutant that they notice costs seconds.
QUICK_SECONDS = 0.5
SLOW = ": slow tests"
FILE_SECONDS = 300.0


class Recorder:
    """What each test of a file took, and which failed; a plugin of pytest."""

    def __init__(self, path: Path) -> None:
        """Writes a JSON file at the end."""
        self.path = path
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps({"seconds": self.seconds, "failed": self.failed}), encoding="utf-8")


class PytestSuite(Suite):
    """Test files that import the room."""

    def __init__(self, room: Room, directory: Path) -> None:
        """Copies the tree into the directory."""
        super().__init__(room, directory)
        self.file_seconds: dict[str, float] = {}

    def prepare(self) -> list[Test]:
        """Returns quick and slow tests of each file; programs are those of the tree that the user has built."""
        built = self.tree.directory / "build"
        if not built.exists():
            built.symlink_to(ROOT / "build")
        for name in (".venv", ".mpi"):
            link = self.tree.directory / name
            if not link.exists() and (ROOT / name).exists():
                link.symlink_to(ROOT / name)
        for name in SINGLE_THREADED:
            os.environ[name] = "1"
        for name in SLOW_IMPORTS:
            importlib.import_module(name)
        files = sorted((self.tree.directory / "python/tests").glob("test_*.py"))
        named = [Test(file.name + part) for part in ("", SLOW) for file in files]
        return [test for test in named if self.room.tests in self.text_of(test)]

    def build(self, target: str) -> bool:
        """Nothing needs to be built."""
        return not target

    def measure(self, test: Test) -> float | None:
        """Returns how long a file of tests takes; None if no quick, or slow, test is left without those that fail."""
        record = self.record_of(test)
        if not test.name.endswith(SLOW):
            record.unlink(missing_ok=True)
            self.file_seconds[record.name] = self.run(test, FILE_SECONDS).seconds
        if not record.is_file():
            self.left_out[test.name] = f"takes more than {FILE_SECONDS:.0f} s"
            return None
        found = json.loads(record.read_text(encoding="utf-8"))
        seconds: dict[str, float] = found["seconds"]
        self.left_out |= dict.fromkeys(found["failed"], "fails")
        long = [name for name, each in seconds.items() if each > LONGEST_SECONDS]
        self.left_out |= dict.fromkeys(long, f"takes more than {LONGEST_SECONDS:.0f} s")
        others = self.left_out.keys() | self.other_part(test)
        return self.file_seconds[record.name] if seconds.keys() - others else None

    def record_of(self, test: Test) -> Path:
        """Returns the file that has what each test of a file took on the original."""
        return self.directory / "normal" / f"{test.name.removesuffix(SLOW)}.json"

    def other_part(self, test: Test) -> set[str]:
        """Returns the slow tests of a file where quick ones are asked for, and the other way round."""
        seconds = json.loads(self.record_of(test).read_text(encoding="utf-8"))["seconds"]
        return {name for name, each in seconds.items() if (each > QUICK_SECONDS) != test.name.endswith(SLOW)}

    def is_in(self, test: Test, mutant: Mutant) -> bool:  # noqa: ARG002
        """Every test of the room imports it, somehow."""
        return True

    def is_the_same(self, mutant: Mutant) -> bool:  # noqa: ARG002
        """Nothing is built, so nothing is known."""
        return False

    def order(self, mutant: Mutant) -> list[Test]:
        """Returns the tests, quick ones first, and of these the files that import the changed module."""
        module = mutant.file.removeprefix("python/").removesuffix(".py").replace("/", ".")
        return sorted(self.tests, key=lambda test: (test.name.endswith(SLOW), module not in self.text_of(test)))

    def text_of(self, test: Test) -> str:
        """Returns what stands in a file of tests."""
        return self.file_of(test).read_text(encoding="utf-8")

    def file_of(self, test: Test) -> Path:
        """Returns a file of tests."""
        return self.tree.directory / "python/tests" / test.name.removesuffix(SLOW)

    def run(self, test: Test, limit: float) -> Ended:
        """Runs a file of tests in a fork."""
        sys.stdout.flush()
        sys.stderr.flush()
        leader = os.fork()
        if leader == 0:
            self.become(test, limit)
        return await_group(leader, limit)

    def become(self, test: Test, limit: float) -> None:
        """Becomes the process that runs a file of tests. Does not return."""
        status = 3
        try:
            os.setsid()
            die_with_parent()
            limit_processor_time(limit)
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            for number in (1, 2):
                os.dup2(output, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(self.tree.directory)
            os.environ.update(self.environment)
            sys.dont_write_bytecode = True
            sys.path.insert(0, str(self.tree.directory / "python"))
            import pytest

            options = ["-q", "-p", "no:cacheprovider", "-m", NOT_HERE, "--rootdir", str(self.tree.directory)]
            plugins: list[object] = []
            if self.tests:
                without = {name for name in self.left_out if "::" in name} | self.other_part(test)
                options += ["-x", *(f"--deselect={name}" for name in sorted(without))]
            else:  # all of them on the original
                plugins = [Recorder(self.record_of(test))]
            status = int(pytest.main([*options, str(self.file_of(test))], plugins=plugins))
            sys.stdout.flush()
        finally:
            os._exit(status)
