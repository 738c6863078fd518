"""Names of call sites: the file and line, where the program has them, else the symbol, else the offset."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

UNKNOWN = "??"
SECONDS = 60.0  # a program with gigabytes of debugging information takes its time


def site_names(sites: Iterable[tuple[str, int, str]]) -> dict[tuple[str, int], str]:
    """Returns module and offset of return addresses -> how people call that place.

    Args:
        sites: module, offset, symbol of each; the symbol may be empty.
    """
    frame = pd.DataFrame(list(dict.fromkeys(sites)), columns=["module", "offset", "symbol"])
    found: dict[tuple[str, int], str] = {}
    for module, some in frame.groupby("module", sort=False):
        offsets = [int(offset) for offset in some["offset"]]
        lines = source_lines(str(module), offsets)
        for offset, symbol, line in zip(offsets, some["symbol"], lines, strict=True):
            plain = f"{Path(str(module)).name}+{offset:#x}"
            found[str(module), offset] = line or (f"{symbol} ({plain})" if symbol else plain)
    return found


def source_lines(module: str, offsets: list[int]) -> list[str]:
    """Returns `file:line` of calls that return to these offsets of a module; "" where nobody knows."""
    tool = shutil.which("addr2line")
    if not (tool and Path(module).is_file()):
        return [""] * len(offsets)
    # A call returns to the instruction after it, which may belong to the next line.
    addresses = [f"{max(0, offset - 1):#x}" for offset in offsets]
    try:
        said = subprocess.run(
            [tool, "-e", module, *addresses],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
        ).stdout.splitlines()
    except (subprocess.TimeoutExpired, OSError):
        return [""] * len(offsets)
    said += [UNKNOWN] * (len(offsets) - len(said))
    return ["" if line.startswith(UNKNOWN) else short_line(line) for line in said[: len(offsets)]]


def short_line(line: str) -> str:
    """Returns `file:line` without directories, and without what else addr2line says of it."""
    path, _, number = line.partition(" (")[0].rpartition(":")
    return "" if number in ("?", "0") else f"{Path(path).name}:{number}"
