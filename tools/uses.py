"""Which files each Python file of the tree uses: modules that it imports, files and folders that it names.

tools/check-rooms reads the imports, tools/stages (make dev) all of it.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A program in a string imports, too.
IMPORT = re.compile(r"^\s*(?:from ([\w.]+) import (\w+)|import ([\w.]+))", re.MULTILINE)
DOTTED = re.compile(r"\w+(?:\.\w+)+")
TEST = re.compile(r"(^|/)test_\w+\.py$")


def is_test(path: str) -> bool:
    """Whether pytest collects tests from the file."""
    return bool(TEST.search(path))


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yields the dotted names that a file imports, wherever in it, for types alone as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def joined(node: ast.AST) -> str:
    """Returns the constant end of `base / "folder" / "file"`: "folder/file"; "" if there is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        end = node.right.value if isinstance(node.right, ast.Constant) else None
        return f"{joined(node.left)}/{end}".lstrip("/") if isinstance(end, str) else ""
    return ""


class Uses:
    """The Python files of a tree, and what each uses; paths are relative to its root.

    Attributes:
        files: all files of the tree that git does not ignore.
        uses: of each Python file, the files that it imports or names.
        folders: of each Python file, the folders that it names.
    """

    def __init__(self, root: Path, more: Iterable[str] = ()) -> None:
        """Reads the tree; `more` are files that may have been deleted."""
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
        self.root = root
        self.files = {*listed.splitlines(), *more}
        self.by_name: dict[str, list[str]] = {}
        for path in sorted(self.files):
            self.by_name.setdefault(path.rpartition("/")[2], []).append(path)
        self.all_folders = {str(parent) for path in self.files for parent in Path(path).parents} - {"."}
        options = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
        self.directories: list[str] = options["pythonpath"]
        self.uses: dict[str, set[str]] = {}
        self.folders: dict[str, set[str]] = {}
        for path in sorted(self.files):
            if (tree := self.parsed(path)) is not None:
                self.read(path, tree)

    def parsed(self, path: str) -> ast.AST | None:
        """Returns the tree of a Python file, None of another one."""
        file = self.root / path
        if not file.is_file() or not (path.endswith(".py") or "." not in file.name):
            return None
        text = file.read_bytes()
        if not path.endswith(".py") and not re.match(rb"#!.*python3", text):
            return None
        try:
            return ast.parse(text)
        except SyntaxError:  # its tests say so
            return ast.Module([], [])

    def read(self, path: str, tree: ast.AST) -> None:
        """Notes what a file uses."""
        modules = set(imported_names(tree))
        named: set[str] = set()
        inner: set[ast.AST] = set()
        for node in ast.walk(tree):  # from the outside to the inside
            if end := joined(node):
                if isinstance(node, ast.BinOp):
                    inner.add(node.left)
                if node not in inner:
                    named.add(end)
                else:
                    inner.update(ast.iter_child_nodes(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                for package, name, module in IMPORT.findall(node.value):
                    modules.add(f"{package}.{name}" if package else module)
                if DOTTED.fullmatch(node.value):
                    modules.add(node.value)
                if "." in node.value or "/" in node.value:
                    named.add(node.value)
        found = {file for name in modules for file in self.modules(path, name.split("."))}
        found |= {file for name in named for file in self.named(path, name)}
        folders = {folder for name in named for folder in (name, str(Path(path).parent / name))}
        self.uses[path], self.folders[path] = found - {path}, folders & self.all_folders

    def modules(self, path: str, parts: list[str]) -> Iterator[str]:
        """Yields the file of a module, or of the one that has a name, and its packages."""
        for directory in (str(Path(path).parent), *self.directories):
            for length in range(len(parts), 0, -1):
                base = str(Path(directory, *parts[:length]))
                if found := next((file for file in (f"{base}.py", f"{base}/__init__.py") if file in self.files), None):
                    yield found
                    inits = [str(Path(directory, *parts[:above], "__init__.py")) for above in range(1, length)]
                    yield from (init for init in inits if init in self.files)
                    return

    def named(self, path: str, name: str) -> Iterator[str]:
        """Yields the file of a name: from the root, from the file that names it, or the end of one path in its room."""
        for candidate in (name, str(Path(path).parent / name)):
            if candidate in self.files:
                yield candidate
                return
        room = path.partition("/")[0]
        ends = [one for one in self.by_name.get(name.rpartition("/")[2], ()) if f"/{one}".endswith(f"/{name}")]
        near = [one for one in ends if one.partition("/")[0] == room]
        if len(near or ends) == 1:
            yield from near or ends

    @functools.cached_property
    def users(self) -> dict[str, set[str]]:
        """Of each file, the Python files that use it; of conftest.py, the tests of its folder."""
        users: dict[str, set[str]] = {}
        for path, used in self.uses.items():
            for one in used:
                users.setdefault(one, set()).add(path)
        for path in self.uses:
            if path.endswith("conftest.py"):
                folder = path.removesuffix("conftest.py")
                users[path] = {test for test in self.uses if test.startswith(folder) and is_test(test)}
        return users

    def tests(self, path: str, *, by_folder: bool = True) -> dict[str, int]:
        """Returns the tests that use a file, and through how many others, the nearest first.

        Where nothing uses it, these are the tests of files that name its folder, or are below that; else the same of
        the folder above.
        """
        distances = self.reached({path: 0})
        for folder in list(map(str, Path(path).parents))[:-1] if by_folder else ():
            if not distances:
                users = [user for user, named in self.folders.items() if folder in named]
                below = [test for test in self.uses if is_test(test) and test.startswith(f"{folder}/")]
                distances = self.reached(dict.fromkeys(users or below, 1))
        return dict(sorted(distances.items(), key=lambda one: (one[1], one[0])))

    def reached(self, distances: dict[str, int]) -> dict[str, int]:
        """Returns the tests among the users of files, of their users and so on, and how far they are."""
        begun, distances = set(distances), dict(distances)
        left = deque(distances)
        while left:
            path = left.popleft()
            if path.endswith("conftest.py") and path not in begun:
                continue  # it concerns all tests of its folder, and tells none of them
            for user in self.users.get(path, ()):
                if user not in distances:
                    distances[user] = distances[path] + 1
                    left.append(user)
        return {path: far for path, far in distances.items() if is_test(path) and (self.root / path).exists()}
