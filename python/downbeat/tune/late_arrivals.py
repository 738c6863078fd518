"""Dependencies between ranks: each rank in turn is late; the ranks that then leave late depend on it.

Messages can be counted under few libraries, exits everywhere. A rank that needs something of another, through however
many ranks, cannot leave before that one has entered; a rank that left before has shown that it needs nothing of it.
Which rank needs which follows from the algorithm: in a binomial broadcast those below a late rank wait for it, in a
linear one all wait for the root alone, with scatter and allgather all wait for all. The late rank is that of Niethammer
2016, section III.D.
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

TRACE_SECONDS = 12.0  # a call or two by each algorithm
SIZE_STEP = 8  # bytes: downbeat-bench algorithms counts in doubles
UNKNOWN_COUNT = -1
MESSAGES = "messages"
CALLS = "operator calls"
WAITS = "late arrivals"


@dataclass(frozen=True)
class CallTraces:
    """The traces of one call of an operation; None where they cannot be counted, or were not counted."""

    messages: Counts | None  # from each rank to each, their number and then their bytes
    calls: Counts | None  # of the operator, by rank
    waits: Counts | None = None  # 1 where a rank waits for a late one, late rank by late rank (late_arrivals.py)

    def evidence(self) -> dict[str, Counts]:
        """Returns the observations by name."""
        known = ((MESSAGES, self.messages), (CALLS, self.calls), (WAITS, self.waits))
        return {name: counts for name, counts in known if counts is not None}


def traces(
    target: Target, cell: Cell, variables: Mapping[str, str], directory: Path
) -> tuple[dict[str, CallTraces], str]:
    """Runs a collective once by each algorithm that a launch can switch to, and by the default.

    Args:
        target: the library.
        cell: the case to run. A size must be a multiple of 8; collectives without one take any.
        variables: environment of the launch: the default is what they make of it.
        directory: for what the launch writes.

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
    """Returns the traces in a file of `downbeat-bench algorithms` that tried one operation."""
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
    """Counts as a tuple; None if they are unknown."""
    return None if values.size == 0 or (values == UNKNOWN_COUNT).any() else tuple(values.ravel().tolist())


def forced_trace(
    target: Target, cell: Cell, algorithm: str, without_rules: Mapping[str, CallTraces], directory: Path
) -> CallTraces | None:
    """Returns the trace of a forced algorithm, from a separate launch where the library fixes it for a whole launch."""
    variables = target.form.forcing_variables(cell.collective, algorithm)
    if not variables:
        return without_rules.get(algorithm)
    return traces(target, cell, variables, directory / algorithm)[0].get(DEFAULT)


# In all others each rank needs what every other rank brings, whatever the algorithm.
TELLING = ("bcast", "exscan", "gather", "gatherv", "reduce", "scan", "scatter", "scatterv")

# A barrier of downbeat-bench itself: rules do not change it, and it needs no deadline that all ranks can meet.
LATE_SYNCHRONIZER = "bruck"
LATE_SAMPLES = 3  # by each late rank in a launch
MOST_LATE = 32  # ranks, one after another; of more an evenly spaced sample, the same for all algorithms
LEAST_DELAY = 0.02  # s, above what a scheduler usually takes from a rank
FAR_APART = 4.0  # times what the operation takes without delay, the delay must be at least
LONGEST_DELAY = 5.0  # s
TRIES = 3  # to find a delay that is long enough

Floats = NDArray[np.float64]
Waits = NDArray[np.bool_]


class NotLateError(DownbeatError):
    """No rank can be made late enough beside what the operation takes anyway."""


class LateArrivals:
    """Measures which ranks wait for which, and remembers the delay that this takes on the machine."""

    def __init__(self, target: Target) -> None:
        """Prepares to measure a library."""
        self.target = target
        self._delay = LEAST_DELAY

    def waits(
        self, cell: Cell, algorithms: Sequence[str], variables: Mapping[str, str], directory: Path
    ) -> tuple[dict[str, Waits], str]:
        """Runs a collective by the default and by algorithms, each rank late in turn.

        Args:
            cell: the case to run.
            algorithms: that a launch can switch to, without the default.
            variables: environment of the launch: the default is what they make of it.
            directory: for what the launch writes.

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
            run = run_bench(
                self.target.library,
                cell.ranks,
                [*self._arguments(cell, algorithms), "-q", "-o", file.name],
                variables,
                trace_limit(cell.ranks)
                + 2 * (2 + len(algorithms)) * min(cell.ranks, MOST_LATE) * LATE_SAMPLES * self._delay,
                directory,
            )
            if run.status != 0 or not file.is_file():
                return {}, run.reason
            waits, undelayed = read_waits(file)
            if self._delay >= FAR_APART * undelayed:
                return waits, ""
            self._delay = min(2 * FAR_APART * undelayed, LONGEST_DELAY)
        raise NotLateError(f"it takes {undelayed:.3g} s without delay, too long to make a rank late enough")

    def _arguments(self, cell: Cell, algorithms: Sequence[str]) -> list[str]:
        """Returns the arguments of downbeat-bench."""
        late = ",".join(f"one_late(rank={rank})" for rank in late_of(cell.ranks))
        arguments = [cell.collective, "-m", str(cell.size), "--sync", LATE_SYNCHRONIZER, "--pattern", late]
        arguments += ["--delay", f"{self._delay * 1e6:.0f}us", "-r", str(LATE_SAMPLES), "--warmup", "0"]
        if algorithms:
            arguments += ["--algorithm", f"{cell.collective}={','.join([DEFAULT, *algorithms])}"]
        return arguments


def late_of(ranks: int) -> list[int]:
    """Returns the ranks that are late, one after another."""
    return evenly(range(ranks), MOST_LATE)


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
    """Flags the ranks that need a late rank: in no sample do they leave half of the delay before its entry.

    Noise can delay the exit of a rank, but not make it early. So a single early exit shows that the rank does not need
    the late one. Half of the delay is far above the error of the global clock.

    Args:
        entries: on the global clock, in s, shape (sample, rank).
        exits: likewise.
        late: the late rank.
        delay: of the late rank, in s.
    """
    return np.asarray((exits > entries[:, late, None] - delay / 2).all(axis=0))
