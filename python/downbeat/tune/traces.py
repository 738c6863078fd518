"""The traces of an algorithm, whatever time it takes: messages between ranks, operator calls, waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from downbeat.data.launch_file import names, open_netcdf
from downbeat.experiment.duration import PATIENCE, start_seconds
from downbeat.tune.bench import run_bench
from downbeat.tune.rules import DEFAULT, Cell
from downbeat.tune.target import Target

Numbers = tuple[int, ...]

TRACE_SECONDS = 12.0  # a call or two by each algorithm
SIZE_STEP = 8  # bytes: downbeat-bench algorithms counts in doubles
UNKNOWN = -1
MESSAGES = "messages"
CALLS = "operator calls"
WAITS = "late arrivals"


@dataclass(frozen=True)
class Trace:
    """The traces of one call of an operation; None where they cannot be counted, or were not counted."""

    messages: Numbers | None  # from each rank to each, their number and then their bytes
    calls: Numbers | None  # of the operator, by rank
    waits: Numbers | None = None  # 1 where a rank waits for a late one, late rank by late rank (late_arrivals.py)

    def evidence(self) -> dict[str, Numbers]:
        """Returns what was seen, by its name."""
        known = ((MESSAGES, self.messages), (CALLS, self.calls), (WAITS, self.waits))
        return {name: one for name, one in known if one is not None}


def traces(target: Target, cell: Cell, variables: Mapping[str, str], directory: Path) -> tuple[dict[str, Trace], str]:
    """Runs a collective once by each algorithm that a launch can switch to, and by the default.

    Args:
        target: the library.
        cell: what is run. A size must be a multiple of 8; where there is none, any will do.
        variables: environment of the launch: the default is what they make of it.
        directory: for what the launch writes.

    Returns:
        Algorithm -> trace; and why there is none, empty if there are.
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
    """Returns after how many seconds a launch hangs in which each algorithm is called once or twice."""
    return PATIENCE * (TRACE_SECONDS + start_seconds(ranks))


def read_traces(file: Path) -> dict[str, Trace]:
    """Returns the traces in a file of `downbeat-bench algorithms` that tried one operation."""
    with open_netcdf(file) as data:
        data.set_auto_chartostring(False)
        algorithms, refusals = names(data.variables["algorithm"]), names(data.variables["refusal"])
        messages = np.stack([data.variables["messages"][:], data.variables["bytes"][:]], axis=1)
        calls = np.asarray(data.variables["calls"][:])
        return {
            algorithm: Trace(counted(messages[index]), counted(calls[index]))
            for index, algorithm in enumerate(algorithms)
            if not refusals[index]
        }


def counted(values: np.ndarray) -> Numbers | None:
    """Returns counts; None if they are unknown."""
    return None if values.size == 0 or (values == UNKNOWN).any() else tuple(int(one) for one in values.ravel())


def forced_trace(
    target: Target, cell: Cell, algorithm: str, without_rules: Mapping[str, Trace], directory: Path
) -> Trace | None:
    """Returns the trace of an algorithm that is forced, from a launch of its own where it takes one."""
    variables = target.form.forcing_variables(cell.collective, algorithm)
    if not variables:
        return without_rules.get(algorithm)
    return traces(target, cell, variables, directory / algorithm)[0].get(DEFAULT)
