"""Portions of a measurement, where one launch cannot hold all of it.

Some MPI libraries read the algorithm of a collective in MPI_Init alone, so that each choice needs a launch of its own
(docs/algorithms.md). Cells that no choice distinguishes are measured once, by the first portion:
no two have a cell in common.
"""

from __future__ import annotations

import dataclasses
import itertools
import re

from downbeat.experiment.measurement import Measurement
from downbeat.lists import name_of, split_list

DEFAULT_SYNC = "mpi_barrier,harmonize"  # of downbeat-bench
# Synchronizers that call MPI_Barrier, whose algorithm --barrier-algorithm chooses; those of downbeat-bench (a test).
CALLS_BARRIER = re.compile(
    r"(double_)?mpi_barrier|roundtime(?!\(.*lead=(?!auto))|harmonize\(.*after=(double_)?mpi_barrier"
)


def parse_choices(text: str) -> dict[str, list[str]]:
    """Returns operation -> algorithms out of "reduce=linear,binary,bcast=chain"."""
    choices: dict[str, list[str]] = {}
    operation = ""
    for word in split_list(text):
        name, equals, algorithm = word.rpartition("=")
        operation = name if equals else operation
        choices.setdefault(operation, []).append(algorithm)
    return choices


def portions_of(measurement: Measurement, fixed_at_start: tuple[str, ...]) -> list[Measurement]:
    """Returns the measurement in portions, each of which a launch can hold.

    Args:
        measurement: the whole of it.
        fixed_at_start: collectives that can have one algorithm per launch; "*": all.
    """
    options = measurement.options
    choices = parse_choices(options["algorithm"]) if options.get("algorithm") else {}
    barriers = split_list(options["barrier-algorithm"]) if options.get("barrier-algorithm") else []

    def fixed(collective: str) -> bool:
        return "*" in fixed_at_start or collective in fixed_at_start

    rounds = max([1, *(len(names) for operation, names in choices.items() if fixed(operation))])
    barrier_rounds: list[str] = barriers if fixed("barrier") and len(barriers) > 1 else [",".join(barriers)]
    portions = []
    for position, index in itertools.product(range(len(barrier_rounds)), range(rounds)):
        own = dict(options)
        operations = measurement.operations
        if index > 0:
            operations = tuple(
                one for one in operations if fixed(name := name_of(one)) and len(choices.get(name, [])) > index
            )
        measured = set(map(name_of, operations))
        chosen = {
            name: (names[index : index + 1] if fixed(name) else names)
            for name, names in choices.items()
            if name in measured or index == 0
        }
        if chosen:
            own["algorithm"] = ",".join(f"{name}={','.join(names)}" for name, names in chosen.items())
        if barriers:
            own["barrier-algorithm"] = barrier_rounds[position]
        if position > 0:
            callers = [one for one in split_list(options.get("sync", DEFAULT_SYNC)) if CALLS_BARRIER.match(one)]
            own["sync"] = ",".join(callers)
        if operations and (position == 0 or own["sync"]):
            portions.append(dataclasses.replace(measurement, operations=operations, options=own))
    return portions if len(portions) > 1 else [measurement]
