"""The rooms that are mutated, and the tests that must notice."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]

# Compiled for a simulator alone.
SIMULATED = re.compile(r"_(smpi|simulated)\.")


@dataclasses.dataclass(frozen=True)
class Room:
    """Files, and what runs against their mutants."""

    name: str
    files: tuple[str, ...]  # globs from the root
    tests: str  # C and C++: a regular expression on the names of ctest; Python: what test files import
    targets: tuple[str, ...] = ()  # C and C++: what the tests need
    modules: tuple[str, ...] = ()  # of pytest, against programs of the tree


ROOMS = {
    room.name: room
    for room in (
        # In virtual time, without MPI, and on one or two ranks. Not under valgrind: memory is the sanitizers' matter.
        Room(
            "lib",
            ("lib/src/*/*.c", "lib/src/*/*.h"),
            r"^test_(?!.*(valgrind|-np[3-9])|fortran|lifecycle-many|starts-1(024|6384)).*",
            ("lib/tests/all", "sim/tests/all"),
        ),
        Room(
            "bench",
            tuple(
                f"bench/src/{room}/*.{suffix}"
                for room in ("metrics", "statistics", "stopping_rules", "warmup_rules")
                for suffix in ("cc", "h")
            ),
            r"^bench-units-",
            ("downbeat-bench-tests",),
        ),
        Room(
            "synchronizers",
            ("bench/src/synchronizers/*.cc", "bench/src/synchronizers/*.h", "bench/src/launch/sampler.*"),
            r"^bench-(units|sampler)-",
            ("downbeat-bench-tests", "bench_sampler", "downbeat-bench"),
            ("tests/bench/test_synchronizers.py",),
        ),
        Room("statistics", ("python/downbeat/statistics/*.py",), "downbeat.statistics"),
        Room("comparison", ("python/downbeat/comparison/*.py",), "downbeat.comparison"),
        Room("tune", ("python/downbeat/tune/**/*.py",), "downbeat.tune"),
    )
}


def is_python(room: Room) -> bool:
    """Whether the files of a room are Python."""
    return room.files[0].endswith(".py")


def files_of(room: Room) -> list[str]:
    """Returns the files of a room, from the root."""
    found = {path for pattern in room.files for path in ROOT.glob(pattern)}
    return sorted(str(path.relative_to(ROOT)) for path in found if not SIMULATED.search(path.name))


def mutants_in(room: Room) -> list[Mutant]:
    """Returns all mutants of a room."""
    return [mutant for file in files_of(room) for mutant in mutants_of(file, (ROOT / file).read_bytes())]
