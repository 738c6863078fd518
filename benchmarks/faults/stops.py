"""Processes that are stopped (SIGSTOP), as a kernel does that needs the processor for something else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

from downbeat.data.launch_file import open_launch

from benchmarks.faults.row import Outcome, Row, log_uniform
from benchmarks.faults.site import Ended, Site

SHORTEST, LONGEST = 1e-5, 1.0  # of a stop, s
MEAN_SECONDS = 0.1  # that a stop of random length costs, and some starts around it
TRUTH = {"DOWNBEAT_VALIDATION": "offset=1e-3,skew=5e-6,wander=1e-6"}
# Of an operation whose time is known: no call can take less.
DURATION = 100e-6
BUDGET = "3s"  # of samples, in one launch
STAMP = 1e-6  # s, what two stamps and rounding may add or take


def figures_of(ended: Ended) -> dict[str, Any]:
    """Returns what fault-starts printed; nothing if it failed."""
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    found: dict[str, Any] = json.loads(lines[-1]) if ended.status == 0 and lines else {}
    return found


def failure_of(ended: Ended) -> str:
    """Returns why a run that must succeed did not."""
    if ended.hung:
        return f"hung: ended after {ended.seconds:.0f} s"
    return f"status {ended.status}: {ended.last_line}"


def judge_starts(figures: dict[str, Any], tries: int) -> Iterator[Outcome]:
    """Counts the flags of harmonized starts during so many faults, and holds them against the true skew."""
    broken = ""
    if figures["unexplained"]:
        broken = f"{figures['unexplained']} starts with flags of 1 and first stamps in time were apart"
    elif figures["false_stamps"]:
        broken = f"{figures['false_stamps']} first stamps in time were apart, by {figures['worst_stamp_us']} us at most"
    yield Outcome("flags of 1, and the start was common", figures["valid"] - figures["false_flags"], broken, tries)
    yield Outcome("starts with a flag of 0", figures["calls"] - figures["valid"], "", 0)
    if figures["false_flags"]:
        # Between the last look at the clock and the user's first stamp.
        yield Outcome("flags of 1, interrupted after the flag, as the first stamp shows", figures["false_flags"], "", 0)


def stop_starts(site: Site, tries: int) -> Iterator[Outcome]:
    """Stops processes at random moments of harmonized starts."""
    seconds = 30 + tries * MEAN_SECONDS * 10
    command = site.launch("fault-starts", "starts", 1, seconds, tries, SHORTEST, LONGEST)
    ended = site.run(with_timeout(command, seconds + 30), seconds=seconds + 45)
    figures = figures_of(ended)
    if not figures:
        yield Outcome("failed", tries, failure_of(ended))
        return
    if figures["longest_s"] > 10 * LONGEST:
        yield Outcome("slow", 0, f"a start took {figures['longest_s']} s, with stops of at most {LONGEST} s")
    if figures["stops"] < tries:
        yield Outcome("slow", 0, f"only {figures['stops']} of {tries} stops in {seconds} s")
    yield from judge_starts(figures, figures["stops"])


def stop_syncs(site: Site, tries: int) -> Iterator[Outcome]:
    """Stops processes at random moments of clock synchronizations; the validation clock knows the true error."""
    seconds = 30 + tries * MEAN_SECONDS * 10
    command = site.launch("fault-starts", "syncs", tries, seconds, tries, SHORTEST, LONGEST)
    ended = site.run(with_timeout(command, seconds + 30), TRUTH, seconds=seconds + 45)
    figures = figures_of(ended)
    if not figures:
        yield Outcome("failed", tries, failure_of(ended))
    elif figures["outside"]:
        yield Outcome("failed", tries, f"{figures['outside']} true errors were beyond their bound")
    else:
        yield Outcome("synchronizations, the true error within the bound", figures["calls"], "", figures["stops"])


def stop_operation(site: Site, tries: int) -> Iterator[Outcome]:
    """Stops ranks of downbeat-bench while they measure an operation whose time is known."""
    stopped = 0
    while stopped < tries:
        options = ["--sync", "harmonize", "--stop", f"budget(time={BUDGET})", "-q", "-o", "out.nc"]
        running = site.start(site.launch("downbeat-bench", f"synthetic(duration={DURATION:g}s)", *options))
        ranks = site.wait_for_ranks("downbeat-bench", 2)
        time.sleep(0.2)  # MPI_Init
        now = 0
        while running.process.poll() is None and stopped + now < tries and ranks:
            rank = site.chance.choice(ranks)
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGSTOP)
                time.sleep(log_uniform(site, SHORTEST, LONGEST / 4))
                os.kill(rank, signal.SIGCONT)
                now += 1
            time.sleep(site.chance.uniform(0, 2e-3))
        ended = running.end(180)
        stopped += now
        if ended.status != 0 or ended.hung:
            yield Outcome("failed", max(1, now), failure_of(ended))
            continue
        with open_launch(site.where / "out.nc") as data:
            late = float(data["lateness"].where(data["valid"] == 1).max())
            shortest = float((data["exit"] - data["entry"]).where(data["valid"] == 1).min())
            valid = int((data["valid"] == 1).sum())
            counted = int(data["valid_count"].sum())
        broken = ""
        if late > 0.5e-6 + 1e-12:
            broken = f"a sample counts whose latest rank started {late * 1e6:.2f} us late"
        elif shortest < DURATION - STAMP:
            broken = f"an operation of {DURATION * 1e6:g} us took {shortest * 1e6:.2f} us"
        elif not valid or valid != counted:
            broken = f"{valid} valid samples are in the file, which says {counted}"
        yield Outcome("all samples there; none that counts started late", max(1, now), broken)


def with_timeout(command: list[object], seconds: float) -> list[object]:
    """Returns a command of tools/launch that may take longer."""
    position = command.index("--timeout")
    return [*command[: position + 1], seconds, *command[position + 2 :]]


ROWS = (
    Row(
        "stop-start",
        "a process stopped (SIGSTOP) for 10 us to 1 s at a random moment of a harmonized start",
        "no hang; if all flags are 1 and all first stamps are in time, the start was common",
        stop_starts,
        1000,
        20,
    ),
    Row(
        "stop-sync",
        "the same in a clock synchronization",
        "no hang; the true error is within the bound",
        stop_syncs,
        1000,
        20,
    ),
    Row(
        "stop-operation",
        "the same in an operation that downbeat-bench measures (10 us to 0.25 s)",
        "no hang; the file is complete; none that counts started late or is shorter than the operation",
        stop_operation,
        1000,
        20,
    ),
)
