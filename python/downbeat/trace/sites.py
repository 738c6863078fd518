"""Call sites, the places that calls return to, and estimates from records that are a sample."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Container, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

UNKNOWN_PLACE = "??"
PYTHON = "python"  # in place of a build-id: the module is a file of Python, and the offset a line
SYMBOL_SECONDS = 60.0  # a program with gigabytes of debugging information takes its time


def site_names(sites: pd.DataFrame, absent: Container[str] = ()) -> dict[tuple[str, int], str]:
    """Returns module and offset of call sites -> how people call that place.

    Args:
        sites: columns module, offset, symbol, which may be empty, and build_id, if it is known.
        absent: modules that are not here as they were.
    """
    frame = sites.drop_duplicates(["module", "offset"]).astype({"module": str, "symbol": str})
    found: dict[tuple[str, int], str] = {}
    if "build_id" in frame:
        python = frame[frame["build_id"] == PYTHON]
        for module, line in zip(python["module"], python["offset"], strict=True):
            found[module, int(line)] = f"{Path(module).name or module}:{line}"
        frame = frame[frame["build_id"] != PYTHON]
    for module, some in frame.groupby("module", sort=False):
        offsets = [int(offset) for offset in some["offset"]]
        lines = [""] * len(offsets) if module in absent else source_lines(str(module), offsets)
        for offset, symbol, line in zip(offsets, some["symbol"], lines, strict=True):
            plain = f"{Path(str(module)).name}+{offset:#x}"
            named = f"{symbol} ({plain})" if symbol and offset else symbol  # offset 0: no place in a program
            found[str(module), offset] = line or named or plain
    return found


def source_lines(module: str, offsets: list[int]) -> list[str]:
    """Returns `file:line` of calls that return to these offsets of a module, with that of the caller; "" if unknown.

    The caller is known of a function that was inlined: `solver.c:21 from main.c:90`.
    """
    # A call returns to the instruction after it, which may belong to the next line.
    addresses = [f"{max(0, offset - 1):#x}" for offset in offsets]
    said = run_tool("addr2line", "-a", "-i", "-e", module, *addresses) if Path(module).is_file() else []
    chains: list[list[str]] = []
    for line in said:
        if line.startswith("0x"):
            chains.append([])
        elif chains:
            chains[-1].append("" if line.startswith(UNKNOWN_PLACE) else short_line(line))
    chains += [[]] * (len(offsets) - len(chains))
    return [" from ".join(dict.fromkeys(filter(None, (*chain[:1], *chain[-1:])))) for chain in chains[: len(offsets)]]


def run_tool(name: str, *arguments: str) -> list[str]:
    """Returns the lines that a program of binutils prints; none if it is missing or fails."""
    tool = shutil.which(name)
    if not tool:
        return []
    try:
        said = subprocess.run(
            [tool, *arguments], capture_output=True, text=True, errors="replace", check=False, timeout=SYMBOL_SECONDS
        )
    except (subprocess.TimeoutExpired, OSError):
        return []
    return said.stdout.splitlines()


def short_line(line: str) -> str:
    """Returns `file:line` without directories, and without what else addr2line says of it."""
    path, _, number = line.partition(" (")[0].rpartition(":")
    return "" if number in ("?", "0") else f"{Path(path).name}:{number}"


@cache
def build_id(module: str) -> str:
    """Returns the build-id of a file; "" if it has none."""
    found = re.search(r"Build ID: ([0-9a-f]+)", "\n".join(run_tool("readelf", "-n", module)))
    return found[1][:40] if found else ""


def absent_modules(build_ids: Mapping[str, str]) -> dict[str, str]:
    """Returns modules that are not here as they were recorded -> why; then the lines of their calls are not known.

    Args:
        build_ids: of modules as they were recorded; "": they had none.
    """
    found = {}
    for module, recorded in build_ids.items():
        if not Path(module).is_absolute() or recorded == PYTHON:
            continue
        here = build_id(module) if Path(module).is_file() else None
        if here is None:
            found[module] = f"'{module}' is not here; run downbeat arrivals where it is for the lines of its calls"
        elif recorded and here and here != recorded:
            found[module] = f"'{module}' was built again since, so the lines of its calls are not known"
    return found


Z = 1.96  # 95 % intervals
FARTHEST = 1.0  # standard errors; a total that is farther off has calls unlike those of the sample

Floats = NDArray[np.float64]


def ratio_error(part: Floats, whole: Floats, weights: Floats) -> float:
    """Returns the standard error of sum(part) / sum(whole) over all calls, from those of a sample."""
    total = float((weights * whole).sum())
    if total <= 0:
        return 0.0
    rest = part - float((weights * part).sum()) / total * whole
    return float(np.sqrt((weights * (weights - 1) * rest**2).sum())) / total


def total_error(values: Floats, weights: Floats, total: float, count: float) -> float:
    """Returns how much of a known total the calls of a sample do not explain.

    It is 0 unless the total is farther from what the sample shows than chance has it: then there were a few calls of
    another kind, which the sample may lack.

    Args:
        values: of calls in the sample.
        weights: theirs.
        total: of all calls.
        count: of all calls.
    """
    stand_for = float(weights.sum())
    if not stand_for or (weights == 1).all():
        return 0.0
    mean = float((weights * values).sum()) / stand_for
    error = float(np.sqrt((weights * (weights - 1) * (values - mean) ** 2).sum())) * count / stand_for
    return max(0.0, abs(total - mean * count) - FARTHEST * error)


def weighted_quantiles(values: Floats, weights: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Returns quantiles over all calls, and how wrong they may be: to the farther end of their 95 % intervals.

    The error is infinite where the sample is too small for an end.

    Args:
        values: of calls in the sample.
        weights: theirs.
        levels: of the quantiles, 0 to 1.
    """
    if not len(values):
        return np.full(len(levels), np.nan), np.zeros(len(levels))
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if (weights == weights[0]).all():
        places = np.linspace(0.0, 1.0, len(values)) if len(values) > 1 else np.array([0.5])
    else:
        places = (np.cumsum(weights) - weights / 2) / weights.sum()
    # The share of calls below a value, as of a ratio (Woodruff 1952).
    spread = np.sqrt(levels * (1 - levels) * (weights * (weights - 1)).sum()) / weights.sum()
    low, high = levels - Z * spread, levels + Z * spread
    found, first, last = (np.interp(level, places, values) for level in (levels, low, high))
    error = np.where((low < 0) | (high > 1), np.inf, np.maximum(last - found, found - first))
    return found, error
