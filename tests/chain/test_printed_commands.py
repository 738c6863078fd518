"""Commands that downbeat arrivals prints, of drawn recordings, are taken by the parsers of both programs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.baseline import baseline_command
from test_arrivals import call, recording_of

pytestmark = pytest.mark.thorough

# As recorded; "collective" stands for calls that had no room.
OPERATIONS = [
    *(
        "barrier",
        "bcast",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
    ),
    *("alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    *("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"),
    "collective",
]


def drawn_calls(draw: np.random.Generator) -> list[pd.DataFrame]:
    """Returns calls of several operations, sizes and numbers of ranks."""
    calls = []
    for number in range(int(draw.integers(1, 9))):
        operation = OPERATIONS[int(draw.integers(len(OPERATIONS)))]
        ranks = int(draw.choice([1, 2, 2, 3, 4]))
        size = float(int(2 ** draw.uniform(0, 34))) if draw.random() < 0.9 else np.nan
        kind = "blocking" if draw.random() < 0.8 else "nonblocking"
        waited = (number + 0.5) * 1e-3 if kind == "nonblocking" else np.nan
        size = 0.0 if operation == "barrier" else size
        times = [1000.0 * number] * ranks
        calls.append(
            call(
                times,
                [time + 900 for time in times],
                operation,
                offset=16 * number,
                bytes=size,
                communicator=f"c{number}",
                kind=kind,
                waited=waited,
            )
        )
    return calls


@pytest.mark.parametrize("seed", range(5))
def test_the_command_for_a_baseline_is_taken(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    printed = [baseline_command(find_arrivals(recording_of(*drawn_calls(draw)))) for _ in range(12)]
    printed = [command for command in printed if command]
    assert printed
    for command in printed[:2]:
        words = shlex.split(command)
        assert words[0] == "downbeat"
        taken = subprocess.run(
            [sys.executable, "-m", "downbeat", *words[1:], "--mpi", "openmpi", "--dry-run"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert taken.returncode == 0, command + "\n" + taken.stderr
