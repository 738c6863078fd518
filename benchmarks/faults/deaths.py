"""Ranks that die: killed, aborting, exiting early, crashing."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError

from benchmarks.faults.row import Outcome, Row
from benchmarks.faults.site import Site, clear

END_SECONDS = 15.0  # from a death to the end of the launch; Open MPI's launcher takes 2 of them


def lost(site: Site, samples: int) -> str:
    """Returns whether out.nc lacks cells that were complete, as out.json has them; each with so many samples."""
    report = site.where / "out.json"
    lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
    complete = sum('"record":"cell"' in line for line in lines)
    try:
        with open_launch(site.where / "out.nc") as data:
            cells = data["cell_index"].values[data["valid"].values == 1]
            there = int((np.bincount(cells) >= samples).sum())
    except UsageError as error:
        return str(error) if complete else ""
    # It may have been killed between the one file and the other.
    return f"{complete} cells were reported, {there} are in the file" if there < complete - 1 else ""


def killed(site: Site, tries: int) -> Iterator[Outcome]:
    """Kills a rank at a random moment of its harmonized starts."""
    for _ in range(tries):
        running = site.start(site.launch("fault-starts", "starts", 1 << 40, 30))
        ranks = site.wait_for_ranks("fault-starts", 2)
        time.sleep(site.chance.uniform(0, 0.6))
        with contextlib.suppress(ProcessLookupError):
            os.kill(site.chance.choice(ranks), signal.SIGKILL)
        ended = running.end(END_SECONDS)
        broken = f"the launch went on for {END_SECONDS:g} s" if ended.hung else ""
        if ended.status == 0:
            broken = "the launch ended with status 0"
        yield Outcome(f"launch ended, status {ended.status}", 1, broken)


def dies(how: str, site: Site, tries: int) -> Iterator[Outcome]:
    """Has a rank end itself among its harmonized starts."""
    for _ in range(tries):
        ended = site.run(site.launch("fault-starts", "dies", how), seconds=END_SECONDS + 5)
        broken = f"the launch went on for {END_SECONDS + 5:g} s" if ended.hung else ""
        if ended.status == 0:
            broken = "the launch ended with status 0"
        yield Outcome(f"launch ended, status {ended.status}", 1, broken)


def killed_in_measurement(site: Site, tries: int) -> Iterator[Outcome]:
    """Kills a rank of downbeat-bench at a random moment; what was complete must be in its file."""
    sizes = [8 << position for position in range(4)]
    options = ["-m", ",".join(map(str, sizes)), "--sync", "harmonize", "-r", "200", "-o", "out.nc", "-o", "out.json"]
    command = site.launch("downbeat-bench", "bcast", *options)
    longest = site.run(command).seconds  # undisturbed
    for _ in range(tries):
        clear(site.where)
        running = site.start(command)
        ranks = site.wait_for_ranks("downbeat-bench", 2)
        time.sleep(site.chance.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(site.chance.choice(ranks), signal.SIGKILL)
        ended = running.end(END_SECONDS)
        if ended.status == 0:
            yield Outcome("it was faster than its death")
            continue
        if ended.hung:
            yield Outcome("hung", 1, f"the launch went on for {END_SECONDS:g} s")
            continue
        yield Outcome(f"all that was complete is in the file (status {ended.status})", 1, lost(site, 200))


ROWS = (
    Row(
        "rank-killed",
        "a rank killed (SIGKILL) at a random moment of its starts",
        f"the launch ends within {END_SECONDS:g} s, with a non-zero status",
        killed,
        100,
        1,
    ),
    *(
        Row(
            f"rank-{name}",
            f"a rank {words}",
            f"the launch ends within {END_SECONDS:g} s, with a non-zero status",
            functools.partial(dies, how),
            100,
            1,
        )
        for name, how, words in (
            ("aborts", "abort", "calls abort(), as a C++ program that throws"),
            ("mpi-aborts", "mpi_abort", "calls MPI_Abort"),
            ("exits", "exit", "calls exit(5)"),
            ("returns", "return", "ends with status 0, without MPI_Finalize"),
            ("crashes", "segv", "crashes"),
        )
    ),
    Row(
        "bench-killed",
        "a rank of downbeat-bench killed at a random moment",
        "the launch ends; every cell that was complete is in the file",
        killed_in_measurement,
        100,
        2,
    ),
)
