"""Runs every operation of downbeat-bench in every form and checks its results."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from typing import Any

from downbeat.run.libraries import CHECKOUT

# Bytes: 13, a prime number, of the largest usual elements.
SIZE = 104
TOPOLOGIES = ("cartesian", "graph")
# Each in a launch of its own: parameters for all operations that have them.
VARIETIES = ("", "type=int64,op=user_ordered,counts=rising,root=rotating,in_place=yes")
FEW = ["--validate", "-r", "2", "--warmup", "0", "--sync", "none", "--format", "json", "-q"]
LAUNCH_SECONDS = 400


@dataclasses.dataclass
class Findings:
    """The outcome of the operations under one library on a number of ranks."""

    library: str
    ranks: int
    right: int = 0  # operations, each with every topology and variety counted
    wrong: list[str] = dataclasses.field(default_factory=list)  # operations with wrong results
    refused: dict[str, str] = dataclasses.field(default_factory=dict)  # and why


def run(library: str, ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs downbeat-bench under a library."""
    launch = [str(CHECKOUT / "tools/launch"), "--mpi", library, "-n", str(ranks), "--timeout", str(LAUNCH_SECONDS)]
    program = str(CHECKOUT / "build" / library / "bin/downbeat-bench")
    return subprocess.run([*launch, program, *arguments], capture_output=True, text=True, check=False)


def records(output: str, kind: str) -> list[dict[str, Any]]:
    """Returns the JSON lines of one kind."""
    return [record for record in map(json.loads, output.splitlines()) if record["record"] == kind]


def collectives(library: str) -> list[str]:
    """Returns the collectives in their forms as the library has them, neighborhood ones on each topology."""
    parts = records(run(library, 1, "list", "operation", "--format", "json").stdout, "component")
    names = [part["name"] for part in parts if part["collective"] and not part["unavailable"]]
    return [
        text
        for name in names
        for text in ([f"{name}(topology={one})" for one in TOPOLOGIES] if "neighbor" in name else [name])
    ]


def validate(library: str, ranks: int) -> Findings:
    """Validates all collectives; what downbeat-bench refuses to measure is left out, and said."""
    findings = Findings(library, ranks)
    asked = collectives(library)
    for variety in VARIETIES:
        parameters = ["--with", variety] if variety else []
        while asked:
            done = run(library, ranks, *asked, "-m", str(SIZE), *parameters, *FEW)
            said = next((line for line in done.stderr.splitlines() if line.startswith("downbeat-bench:")), "")
            if done.returncode != 2 or "cannot be measured:" not in said:
                break
            name, _, reason = said.removeprefix("downbeat-bench: ").partition(" cannot be measured: ")
            refused = [text for text in asked if text == name] or [
                text for text in asked if text.partition("(")[0] == name.partition("(")[0]
            ][:1]
            findings.refused[refused[0]] = reason
            asked.remove(refused[0])
        cells = records(done.stdout, "cell") if done.returncode in (0, 4) else []
        if not cells:
            findings.wrong.append(f"nothing was measured: status {done.returncode}: {said}")
        for cell in cells:
            if cell["status"] == "ok" and cell["validated"] > 0:
                findings.right += 1
            else:
                findings.wrong.append(f"{cell['operation']}: {cell['status']}: {cell['error'] or 'not validated'}")
    return findings
