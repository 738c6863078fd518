"""The MPI libraries that tests run under, and signals as in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from downbeat.launchers.libraries import LIBRARIES
from terminal_signals import heed_signals

heed_signals()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mpi", choices=list(LIBRARIES), help="only what is tested under this MPI library")
    parser.addoption("--sanitize", action="store_true", help="run downbeat-bench of build/sanitize; with --mpi openmpi")


# In these folders processes are measured, or there are more of them than processors.
ALONE = {Path(__file__).parent / name for name in ("bench", "conformance", "preload")}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not ALONE.isdisjoint(item.path.parents) and item.get_closest_marker("shared") is None:
            item.add_marker(pytest.mark.alone)
    chosen = config.getoption("--mpi")
    if chosen is None:
        return
    kept = [item for item in items if isinstance(item, pytest.Function) and chosen in parameters(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def parameters(item: pytest.Function) -> list[object]:
    return list(item.callspec.params.values()) if hasattr(item, "callspec") else []


@pytest.fixture(scope="session", params=list(LIBRARIES))
def each_library(request: pytest.FixtureRequest) -> str:
    """Returns the name of each MPI library; what it was built with lies in build/<name>."""
    name: str = request.param
    return name
