"""Which tests are brief and which need the processors for themselves; signals as in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from downbeat.run.libraries import LIBRARIES
from downbeat_command import heed_signals
from marked import ALONE, THOROUGH

heed_signals()

ROOT = Path(__file__).parents[1]
# There, one library of each family decides by day, and the others are left to make nightly; tests of each_library run
# under all five by day.
DECIDED = {ROOT / "tests" / "preload", ROOT / "tools" / "tests", ROOT / "python" / "tests" / "test_tune_proof.py"}
DECIDING = {"openmpi", "mpich"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mpi", choices=list(LIBRARIES), default="openmpi", help="the MPI library of brief tests")
    parser.addoption("--tries", type=int, help="tries of each row of tests/faults")
    parser.addoption("--sanitize", action="store_true", help="run downbeat-bench of build/sanitize; with -k openmpi")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not ALONE.isdisjoint(item.path.parents) and item.get_closest_marker("shared") is None:
            item.add_marker(pytest.mark.alone)
        if not THOROUGH.isdisjoint((item.path, *item.path.parents)):
            item.add_marker(pytest.mark.thorough)
        chosen, named = config.getoption("--mpi"), libraries_of(item)
        if (
            named
            and named.isdisjoint(DECIDING | {chosen})
            and not DECIDED.isdisjoint((item.path, *item.path.parents))
            and "each_library" not in getattr(item, "fixturenames", ())
        ):
            item.add_marker(pytest.mark.nightly)
        if is_brief(item, named, chosen):
            item.add_marker(pytest.mark.brief)


def libraries_of(item: pytest.Item) -> set[str]:
    """Returns the MPI libraries that the parameters of a test name."""
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    return {value for value in values if isinstance(value, str)} & set(LIBRARIES)


def is_brief(item: pytest.Item, named: set[str], chosen: str) -> bool:
    """Whether make test runs it: under the chosen library, or under Open MPI where the test does not name one."""
    if item.get_closest_marker("thorough") or item.get_closest_marker("nightly"):
        return False
    return named <= {chosen} if named else chosen == "openmpi" or "library" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", params=list(LIBRARIES))
def each_library(request: pytest.FixtureRequest) -> str:
    """Returns the name of each MPI library; its build tree is build/<name>."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def library(request: pytest.FixtureRequest) -> str:
    """Returns the name of the MPI library that was chosen."""
    name: str = request.config.getoption("--mpi")
    return name
