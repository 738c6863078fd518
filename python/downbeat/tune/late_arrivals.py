"""Measures traces of algorithms, by which proving.py recognizes the algorithm that ran.

A trace is one of three kinds: messages between ranks, calls of the reduction operator, or dependencies between ranks.
The first two can be counted under few libraries, the third under all of them: each rank in turn enters late, as in
Niethammer 2016, section III.D, and the ranks that then leave late depend on it.

A rank that needs data of the late rank, directly or through other ranks, cannot leave before the late rank enters. A
rank that leaves earlier does not depend on it. The dependencies follow from the algorithm: in a binomial broadcast, the
ranks below a late rank wait for it; in a linear broadcast, all ranks wait for the root only; in a broadcast by scatter
and allgather, every rank waits for every other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from downbeat.data.launch_file import open_netcdf, texts_in
from downbeat.errors import DownbeatError
from downbeat.run.bench_launch import run_bench
from downbeat.run.durations import LIMIT_FACTOR, start_seconds
from downbeat.text import evenly
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.target import Target

Counts = tuple[int, ...]

TRACE_SECONDS = 12.0  # estimated duration of a launch that calls each algorithm once or twice
SIZE_STEP = 8  # bytes; `downbeat-bench algorithms` counts messages in doubles
UNKNOWN_COUNT = -1  # in files of downbeat-bench
# Names of the kinds of traces.
MESSAGES = "messages"
CALLS = "operator calls"
WAITS = "late arrivals"


@dataclass(frozen=True)
class CallTraces:
    """The traces of one call of an operation; None: cannot be counted, or were not counted."""

    messages: Counts | None  # number of messages from each rank to each rank, then their bytes
    calls: Counts | None  # calls of the operator, by rank
    waits: Counts | None = None  # for each late rank and each rank: 1 if the rank waits for the late one, else 0

    def evidence(self) -> dict[str, Counts]:
        """Returns the known traces by kind."""
        known = ((MESSAGES, self.messages), (CALLS, self.calls), (WAITS, self.waits))
        return {name: counts for name, counts in known if counts is not None}


def traces(
    target: Target, cell: Cell, variables: Mapping[str, str], directory: Path
) -> tuple[dict[str, CallTraces], str]:
    """Counts messages and operator calls in one launch, by the default and each algorithm that it can switch to.

    Args:
        target: the library.
        cell: the collective, ranks and size to run; the size must be a multiple of `SIZE_STEP`.
        variables: environment of the launch, which may change the default, e.g. by rules.
        directory: for the files of the launch.

    Returns:
        Algorithm -> trace; and the reason if the launch failed, else empty.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{cell.collective}-n{cell.ranks}-{cell.size}.nc"
    file.unlink(missing_ok=True)
    size = ["-m", str(cell.size)] if cell.size else []
    run = run_bench(
        target.library,
        cell.ranks,
        ["algorithms", cell.collective, *size, "-q", "-o", file.name],
        variables,
        trace_limit(cell.ranks),
        directory,
    )
    if run.status != 0 or not file.is_file():
        return {}, run.reason
    return read_traces(file), ""


def trace_limit(ranks: int) -> float:
    """Returns the time limit of a launch that calls each algorithm once or twice, s."""
    return LIMIT_FACTOR * (TRACE_SECONDS + start_seconds(ranks))


def read_traces(file: Path) -> dict[str, CallTraces]:
    """Returns the traces of each algorithm in a file of `downbeat-bench algorithms`; refused algorithms have none."""
    with open_netcdf(file) as data:
        algorithms, refusals = texts_in(data.variables["algorithm"]), texts_in(data.variables["refusal"])
        messages = np.stack([data.variables["messages"][:], data.variables["bytes"][:]], axis=1)
        calls = np.asarray(data.variables["calls"][:])
        return {
            algorithm: CallTraces(known_counts(messages[index]), known_counts(calls[index]))
            for index, algorithm in enumerate(algorithms)
            if not refusals[index]
        }


def known_counts(values: np.ndarray) -> Counts | None:
    """Returns counts as a tuple; None if one of them is unknown."""
    if values.size == 0 or (values == UNKNOWN_COUNT).any():
        return None
    return tuple(values.ravel().tolist())


def forced_trace(
    target: Target, cell: Cell, algorithm: str, without_rules: Mapping[str, CallTraces], directory: Path
) -> CallTraces | None:
    """Returns the trace of a forced algorithm; None: it was not measured.

    A separate launch measures it if the library can fix algorithms only for a whole launch; else it is in
    `without_rules`, the traces of the launch without rules.
    """
    variables = target.form.forcing_variables(cell.collective, algorithm)
    if not variables:
        return without_rules.get(algorithm)
    return traces(target, cell, variables, directory / algorithm)[0].get(DEFAULT)


# Collectives whose dependencies differ between algorithms. In the others, every rank needs data of every other rank.
WITH_DEPENDENCIES = ("bcast", "exscan", "gather", "gatherv", "reduce", "scan", "scatter", "scatterv")

# A barrier of downbeat-bench itself: rules do not change it, and unlike harmonize it has no deadline to miss.
LATE_SYNCHRONIZER = "bruck"
LATE_SAMPLES = 3  # samples with each late rank in a launch
MAX_LATE = 32  # ranks that are late in turn; with more ranks, an evenly spaced sample, the same for all algorithms
MIN_DELAY = 0.02  # s, longer than the usual interruptions by the scheduler
MIN_DELAY_RATIO = 4.0  # the delay must be at least this multiple of the operation's duration without delay
MAX_DELAY = 5.0  # s
TRIES = 3  # launches to find a delay that is long enough

Floats = NDArray[np.float64]
Waits = NDArray[np.bool_]


class NotLateError(DownbeatError):
    """The operation takes so long that no possible delay is `MIN_DELAY_RATIO` times as long."""


class LateArrivals:
    """Measures dependencies between ranks, and remembers the delay that was long enough for the next call."""

    def __init__(self, target: Target) -> None:
        """Prepares to measure a library."""
        self.target = target
        self._delay = MIN_DELAY

    def waits(
        self, cell: Cell, algorithms: Sequence[str], variables: Mapping[str, str], directory: Path
    ) -> tuple[dict[str, Waits], str]:
        """Runs a collective by the default and by algorithms, each rank late in turn.

        Args:
            cell: the collective, ranks and size to run.
            algorithms: that a launch can switch to, without the default.
            variables: environment of the launch, which may change the default, e.g. by rules.
            directory: for the files of the launch.

        Returns:
            Algorithm -> flags of the waiting ranks, shape (late rank, rank); and the reason if the launch failed,
            else empty.

        Raises:
            NotLateError: the operation takes too long.
        """
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{cell.collective}-n{cell.ranks}-{cell.size}-late.nc"
        for _ in range(TRIES):
            file.unlink(missing_ok=True)
            limit = trace_limit(cell.ranks)
            # Twice the sum of all delays, with one more algorithm for the default and one for a margin.
            limit += 2 * (2 + len(algorithms)) * min(cell.ranks, MAX_LATE) * LATE_SAMPLES * self._delay
            run = run_bench(
                self.target.library,
                cell.ranks,
                [*self._arguments(cell, algorithms), "-q", "-o", file.name],
                variables,
                limit,
                directory,
            )
            if run.status != 0 or not file.is_file():
                return {}, run.reason
            waits, undelayed = read_waits(file)
            if self._delay >= MIN_DELAY_RATIO * undelayed:
                return waits, ""
            self._delay = min(2 * MIN_DELAY_RATIO * undelayed, MAX_DELAY)
        raise NotLateError(f"it takes {undelayed:.3g} s without delay, too long to make a rank late enough")

    def _arguments(self, cell: Cell, algorithms: Sequence[str]) -> list[str]:
        """Returns the arguments of downbeat-bench."""
        pattern = ",".join(f"one_late(rank={rank})" for rank in late_ranks(cell.ranks))
        arguments = [cell.collective, "-m", str(cell.size), "--sync", LATE_SYNCHRONIZER, "--pattern", pattern]
        arguments += ["--delay", f"{self._delay * 1e6:.0f}us", "-r", str(LATE_SAMPLES), "--warmup", "0"]
        if algorithms:
            arguments += ["--algorithm", f"{cell.collective}={','.join([DEFAULT, *algorithms])}"]
        return arguments


def late_ranks(ranks: int) -> list[int]:
    """Returns the ranks that are late in turn, at most `MAX_LATE`."""
    return evenly(range(ranks), MAX_LATE)


def read_waits(file: Path) -> tuple[dict[str, Waits], float]:
    """Reads a file with samples of an operation at a size, each rank late in turn.

    Returns:
        Algorithm -> flags of the waiting ranks, shape (late rank, rank), false for a rank that was not late; and the
        longest time by any of the algorithms without delay, median over samples, in s.
    """
    with open_netcdf(file) as data:
        algorithms = texts_in(data.variables["algorithm"])
        delays = np.asarray(data.variables["largest_delay"][:])
        cell = np.asarray(data.variables["cell_index"][:])
        entries, exits, planned = (np.asarray(data.variables[name][:]) for name in ("entry", "exit", "delay"))
    ranks = entries.shape[1]
    waits: dict[str, Waits] = {}
    undelayed = 0.0
    for index, algorithm in enumerate(algorithms):
        samples = cell == index
        if delays[index] == 0:
            times = exits[samples].max(axis=1) - entries[samples].min(axis=1)
            undelayed = max(undelayed, float(np.median(times)))
        else:
            late = int(planned[samples][0].argmax())
            matrix = waits.setdefault(algorithm, np.zeros((ranks, ranks), dtype=bool))
            matrix[late] = waiting(entries[samples], exits[samples], late, delays[index])
    return waits, undelayed


def waiting(entries: Floats, exits: Floats, late: int, delay: float) -> Waits:
    """Returns true for each rank that depends on the late rank.

    Such a rank never leaves before the late rank enters. Noise can delay an exit, but not make it early, so a single
    exit that is early by more than half of the delay shows that the rank does not depend on the late one. Half of the
    delay is far above the error of the global clock.

    Args:
        entries: on the global clock, in s, shape (sample, rank).
        exits: on the global clock, in s, same shape.
        late: the late rank.
        delay: of the late rank, in s.
    """
    return np.asarray((exits > entries[:, late, None] - delay / 2).all(axis=0))
