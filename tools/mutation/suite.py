"""Tests of a room, and what they say of a mutant."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

from mutation.operators import Mutant
from mutation.programs import Ended, limit_of
from mutation.rooms import Room
from mutation.tree import Tree

# A test that takes longer is left to `make test`.
LONGEST_SECONDS = 60.0
KILLED, SURVIVED, INVALID, EQUIVALENT = "killed", "survived", "invalid", "equivalent"


@dataclasses.dataclass(frozen=True)
class Test:
    """What is started as one."""

    name: str
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    target: str = ""  # to build before
    twice: bool = False  # a failure counts if it comes again: ranks of MPI depend on the machine


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What became of a mutant."""

    outcome: str
    by: str = ""  # the test that noticed
    seconds: float = 0.0


class Suite(abc.ABC):
    """The tests of a room, the quickest first."""

    def __init__(self, room: Room, directory: Path) -> None:
        """Copies the tree into the directory."""
        self.room = room
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.tree = Tree(directory / "tree")
        self.log = directory / "test.log"
        self.normal_seconds: dict[str, float] = {}
        self.left_out: dict[str, str] = {}  # tests, with the reason
        self.tests: list[Test] = []
        self.environment = os.environ | {
            "PYTHONDONTWRITEBYTECODE": "1",  # a mutant has the size and the second of the original
            "PYTHONPATH": str(self.tree.directory / "python"),
        }

    @abc.abstractmethod
    def prepare(self) -> list[Test]:
        """Builds the tree as it is and returns its tests."""

    @abc.abstractmethod
    def run(self, test: Test, limit: float) -> Ended:
        """Runs a test on the tree as it is."""

    @abc.abstractmethod
    def build(self, target: str) -> bool:
        """Builds what a test needs; returns whether it could be built without a warning."""

    @abc.abstractmethod
    def is_in(self, test: Test, mutant: Mutant) -> bool:
        """Whether the program of a test was built of the mutant; else it need not run."""

    @abc.abstractmethod
    def is_the_same(self, mutant: Mutant) -> bool:
        """Whether what was built of a mutant is, bit by bit, what was built of the original."""

    @abc.abstractmethod
    def order(self, mutant: Mutant) -> list[Test]:
        """Returns the tests, those first that are likely to notice."""

    def measure(self, test: Test) -> float | None:
        """Returns the processor time of a test on the original, in seconds; None if it fails there, or takes long."""
        ended = self.run(test, LONGEST_SECONDS)
        if ended.passed:
            return ended.seconds
        self.left_out[test.name] = f"takes more than {LONGEST_SECONDS:.0f} s" if ended.hung else "fails"
        return None

    def ready(self) -> None:
        """Builds, and runs all tests on the original, unless an earlier run did so with the same files."""
        tests = self.prepare()
        known = self.directory / "normal.json"
        if known.is_file():
            stored = json.loads(known.read_text(encoding="utf-8"))
            if stored["tree"] == self.tree.digest:
                self.normal_seconds = stored["seconds"]
                self.left_out = stored["left_out"]
        if not self.normal_seconds:
            for test in tests:
                if not self.build(test.target):
                    sys.exit(f"mutate: {test.target} cannot be built: {self.log}")
                seconds = self.measure(test)
                if seconds is not None:
                    self.normal_seconds[test.name] = seconds
            stored = {"tree": self.tree.digest, "seconds": self.normal_seconds, "left_out": self.left_out}
            known.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        for name, why in self.left_out.items():
            print(f"mutate: {self.room.name}: {name} is left out, it {why}", file=sys.stderr)
        passing = [test for test in tests if test.name in self.normal_seconds]
        if not passing:
            sys.exit(f"mutate: {self.room.name}: no test passes; see {self.log}")
        self.tests = sorted(passing, key=lambda test: (test.twice, self.normal_seconds[test.name]))

    def notices(self, test: Test) -> str:
        """Returns how a test notices: it fails, or does not end; or nothing."""
        limit = limit_of(self.normal_seconds[test.name])
        ended = self.run(test, limit)
        if test.twice and not ended.passed and not ended.hung:
            ended = self.run(test, limit)
        return "" if ended.passed else f"{test.name} does not end" if ended.hung else test.name

    def judge(self, mutant: Mutant) -> Judgement:
        """Runs the tests on a mutant until one notices."""
        begin = time.monotonic()
        with self.tree.mutated(mutant):
            for test in self.order(mutant):
                if not self.build(test.target):
                    return Judgement(INVALID, "", time.monotonic() - begin)
                if not self.is_in(test, mutant):
                    continue
                if self.is_the_same(mutant):
                    return Judgement(EQUIVALENT, "compiler", time.monotonic() - begin)
                if noticed := self.notices(test):
                    return Judgement(KILLED, noticed, time.monotonic() - begin)
        return Judgement(SURVIVED, "", time.monotonic() - begin)
