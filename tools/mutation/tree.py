"""A copy of the tree, in which files are mutated: nobody who edits the tree meanwhile sees a mutant."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mutation.operators import Mutant
from mutation.rooms import ROOT

# No test of a room depends on these.
NOT_TESTED = ("docs/", "packaging/", "tools/mut", "CHANGELOG", "CONTRIBUTING", "README")


def listed_files() -> list[str]:
    """Returns the files of the tree that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


class Tree:
    """The copy, as it stood when it was made."""

    def __init__(self, directory: Path) -> None:
        """Makes the copy, or brings an earlier one up to date; what has not changed is not compiled again."""
        self.directory = directory
        digest = hashlib.sha256()
        names = listed_files()
        for name in names:
            content = (ROOT / name).read_bytes()
            if not name.startswith(NOT_TESTED):
                digest.update(f"{name}\0{len(content)}\0".encode() + content)
            copy = directory / name
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
            shutil.copymode(ROOT / name, copy)
        for gone in set(self.files()) - set(names):
            (directory / gone).unlink()
        self.digest = digest.hexdigest()

    def files(self) -> Iterator[str]:
        """Yields the files of the copy, without what was built."""
        for top in self.directory.iterdir():
            if top.is_symlink() or top.name == "build":
                continue
            for path in top.rglob("*") if top.is_dir() else [top]:
                if path.is_file() and "__pycache__" not in path.parts:
                    yield str(path.relative_to(self.directory))

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Makes the change, and takes it back."""
        path = self.directory / mutant.file
        original = path.read_bytes()
        path.write_bytes(mutant.apply(original))
        try:
            yield
        finally:
            path.write_bytes(original)
