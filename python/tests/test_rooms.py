"""The package's rooms have an order: a module imports from its own room or a lower one, never in a circle.

The order from the ground up, one floor a line; rooms on one floor do not know each other.
"""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import downbeat
import pytest

ROOT = Path(downbeat.__file__).parent
FLOORS = (
    ("errors",),  # how a command ends
    ("base",),  # files, text, streams
    ("show", "sentences"),  # tables, sentences
    (
        "statistics",
        "launchers",
        "doctor",
    ),  # methods on arrays; libraries, launchers, builds; the machine
    (
        "mpi",
        "data",
    ),  # mpi4py programs, which load nothing of what follows; files of downbeat-bench
    ("experiment",),  # plans, launches, their directory, all their cells in one frame
    ("tables",),  # frames and tables
    ("comparison",),  # A and B
    (
        "tune",
        "pictures",
    ),  # rules; drawings
    ("report", "notebook"),  # pages, cells of a notebook
    ("traces",),  # traces of libdownbeat-preload; figures of papers
    (
        "align",
        "timebase",
    ),  # traces of other tools; clocks of hosts, for their stamps
    ("commands",),  # subcommands
    ("cli",),  # the command
    ("__main__",),  # how it starts
)
# The package itself, from which users import; it loads modules on first use.
FACADE = "downbeat"


def module_of(path: Path) -> str:
    """Returns the name by which a file is imported."""
    return ".".join((FACADE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """Returns the modules of the package that a file imports, wherever in it, for types alone as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports in this package name the whole module"
            names = [f"{node.module}.{one.name}" for one in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found & set(MODULES)


IMPORTS = {name: imported(path) for name, path in MODULES.items()}


def room(module: str) -> str:
    """Returns the room of a module, or the module itself where it is in none."""
    return module.split(".")[1]


def floor(module: str) -> int:
    """Returns the floor of a module."""
    return next(number for number, rooms in enumerate(FLOORS) if room(module) in rooms)


def test_the_imports_are_seen() -> None:
    # So that the other tests cannot pass because nothing was parsed.
    assert "downbeat.experiment.experiment" in IMPORTS["downbeat.tables.summaries"]
    assert "downbeat.doctor.cores" in IMPORTS["downbeat.doctor.registry"]
    assert "downbeat.comparison.compare" in IMPORTS[FACADE]


def test_every_room_has_a_floor() -> None:
    rooms = {room(name) for name in MODULES if name != FACADE}
    assert rooms == {one for floor_rooms in FLOORS for one in floor_rooms}


@pytest.mark.parametrize("name", [name for name in MODULES if name != FACADE])
def test_no_import_points_upward(name: str) -> None:
    for other in IMPORTS[name]:
        assert other != FACADE, f"{name} imports the package as a user does; name the module"
        assert room(other) == room(name) or floor(other) < floor(name), f"{name} imports {other}, which is not below it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    # A room's __init__ may import its modules, which do not import it.
    try:
        graphlib.TopologicalSorter(IMPORTS).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_units_and_summaries_load_without_pictures() -> None:
    # Writing numbers must not load matplotlib.
    for name in ("downbeat.base.text", "downbeat.tables.summaries", "downbeat.report.conditions"):
        text = MODULES[name].read_text(encoding="utf-8")
        assert "matplotlib" not in text and "downbeat.pictures" not in text
