"""Names call sites, the instructions that calls return to: `solver.c:21`, or the function, or module+offset."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Container, Mapping
from functools import cache
from pathlib import Path

from downbeat.output.facts.trace import ModuleAbsent
from downbeat.trace.profile import Profile
from downbeat.trace.records import Records

UNKNOWN_PLACE = "??"  # output of addr2line
PYTHON = "python"  # in place of a build-id: the module is a Python file, and the offset a line
SYMBOL_SECONDS = 60.0  # time limit of a tool; programs with gigabytes of debugging information need long


def site_names(sites: Records | Profile, absent: Container[str] = ()) -> dict[tuple[str, int], str]:
    """Returns the names of call sites, by module and offset: file and line, or function.

    Args:
        sites: calls.
        absent: modules that are missing or were built again since the recording.
    """
    columns = ["module", "offset", "symbol", *(["build_id"] if isinstance(sites, Profile) else [])]
    addresses = sites.frame(*columns).drop_duplicates(["module", "offset"])
    by_module: dict[str, dict[int, str]] = {}
    names: dict[tuple[str, int], str] = {}
    for module, offset, symbol, *build in addresses.to_numpy().tolist():
        if build == [PYTHON]:
            names[module, offset] = f"{Path(module).name or module}:{offset}"
        else:
            by_module.setdefault(module, {})[offset] = symbol
    for module, symbols in by_module.items():
        lines = [""] * len(symbols) if module in absent else source_lines(module, list(symbols))
        for (offset, symbol), line in zip(symbols.items(), lines, strict=True):
            plain = f"{Path(module).name}+{offset:#x}"
            named = f"{symbol} ({plain})" if symbol and offset else symbol  # offset 0: not an address in a module
            names[module, offset] = line or named or plain
    return names


def source_lines(module: str, offsets: list[int]) -> list[str]:
    """Returns `file:line` of the calls that return to offsets of a module; "" if unknown.

    If the function was inlined, its caller follows: `solver.c:21 from main.c:90`.
    """
    # A call returns to the instruction after it, which may belong to the next line.
    addresses = [f"{max(0, offset - 1):#x}" for offset in offsets]
    output = run_tool("addr2line", "-a", "-i", "-e", module, *addresses) if Path(module).is_file() else []
    chains: list[list[str]] = []
    for line in output:
        if line.startswith("0x"):
            chains.append([])
        elif chains:
            chains[-1].append("" if line.startswith(UNKNOWN_PLACE) else short_line(line))
    chains += [[]] * (len(offsets) - len(chains))
    return [" from ".join(dict.fromkeys(filter(None, (*chain[:1], *chain[-1:])))) for chain in chains[: len(offsets)]]


def run_tool(name: str, *arguments: str) -> list[str]:
    """Runs a program of binutils and returns the lines that it prints; empty if it is missing or fails."""
    tool = shutil.which(name)
    if not tool:
        return []
    try:
        done = subprocess.run(
            [tool, *arguments], capture_output=True, text=True, errors="replace", check=False, timeout=SYMBOL_SECONDS
        )
    except (subprocess.TimeoutExpired, OSError):
        return []
    return done.stdout.splitlines()


def short_line(line: str) -> str:
    """Removes directories and remarks from a line of addr2line: `file:line`; "" if the line is unknown."""
    path, _, number = line.partition(" (")[0].rpartition(":")
    return "" if number in ("?", "0") else f"{Path(path).name}:{number}"


@cache
def build_id(module: str) -> str:
    """Returns the build-id of a file; "" if it has none."""
    match = re.search(r"Build ID: ([0-9a-f]+)", "\n".join(run_tool("readelf", "-n", module)))
    return match[1][:40] if match else ""


def absent_modules(build_ids: Mapping[str, str]) -> dict[str, ModuleAbsent]:
    """Finds modules that are missing or were built again since the recording; lines of their calls are unknown.

    Args:
        build_ids: build-id of each module at the recording; "": it had none.
    """
    absent = {}
    for module, recorded in build_ids.items():
        if not Path(module).is_absolute() or recorded == PYTHON:
            continue
        current = build_id(module) if Path(module).is_file() else None
        if current is None or (recorded and current and current != recorded):
            absent[module] = ModuleAbsent(module, rebuilt=current is not None)
    return absent
