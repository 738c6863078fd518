"""Which test files have brief tests, told without pytest: for tools/stages and tests/conftest.py."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# In these folders processes are measured, or there are more of them than processors.
ALONE = {ROOT / "tests" / "bench", ROOT / "tests" / "preload"}
# Left to make test-all: installation, packages, and tests that take long.
THOROUGH = {ROOT / "benchmarks", *(ROOT / "tests" / name for name in ("bench", "faults", "hosts", "install"))}
LATER = {"thorough", "nightly"}


def names(node: ast.AST) -> set[str]:
    """Returns the names and attributes in an expression: {"pytest", "mark", "thorough"}."""
    found = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node)} - {""}
    return set() if "parametrize" in found else found  # marks in it are of single parameters


@functools.cache
def is_brief(path: Path, *, alone: bool) -> bool:
    """Whether a test file has brief tests: those that need the processors for themselves, or the others."""
    if not THOROUGH.isdisjoint(path.parents):
        return False
    try:
        body = ast.parse(path.read_bytes()).body
    except SyntaxError:  # pytest says so
        return not alone
    marks = {
        target.id: names(statement.value)
        for statement in body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    whole = marks.get("pytestmark", set()) | ({"alone"} if not ALONE.isdisjoint(path.parents) else set())
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_"):
            own = set().union(whole, *(names(decorator) for decorator in statement.decorator_list))
            own = own.union(*(marks.get(name, set()) for name in own))
            if LATER.isdisjoint(own) and alone == ("alone" in own and "shared" not in own):
                return True
    return False
