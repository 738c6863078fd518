"""Watches the state of the machine for some seconds: the round trip of a cache line between two busy ranks."""

from __future__ import annotations

import netCDF4
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from downbeat.data.launch_file import context_of, numbers, open_samples
from downbeat.data.states import LINE, MESSAGE, NANOSECONDS, names_of_classes, path_of
from downbeat.doctor.finding import Finding
from downbeat.doctor.machine import Machine, count
from downbeat.experiment import directory as places
from downbeat.experiment.measurement import Measurement
from downbeat.experiment.plan import Library
from downbeat.experiment.trial_start import RANKS, trial

# 250 blocks of one call, 5 s in all under every MPI library: downbeat-bench measures a cell in up to 10 blocks, and the
# durations differ by 1 us so that there are 25 cells.
WATCH = Measurement(
    tuple(f"synthetic(duration={20_000 + cell}us,step=0)" for cell in range(25)),
    {"repetitions": "10", "warmup": "0", "sync": "mpi_barrier"},
)
WINDOW = 5  # blocks


def watch(library: Library | None, machine: Machine, seconds: float) -> Finding:
    """Watches the machine by ranks of a library that starts (None: there is none), unless doctor may take no time."""
    if not seconds:
        return unwatched("--seconds is 0", "leave it out to watch for 5 s")
    if library is None:
        return unwatched("no downbeat-bench starts", "see libraries")
    if len(machine.allowed) < RANKS:
        return unwatched("ranks need two processors, and one may be used here", "use a machine that has two")
    with trial(library, WATCH) as (where, failure):
        if failure:
            return unwatched(f"{library.name} was started again: {failure}", "run downbeat doctor again")
        with open_samples(where / places.SAMPLES) as file:
            if "canary" not in file.variables:
                return unwatched(f"{library.bench} reads no round trips", "it is of an older version; build it again")
            what = LINE if path_of(str(context_of(file)["hosts"]), RANKS, library.name) == LINE else MESSAGE
            return judge(trips_of_blocks(file), what)


def trips_of_blocks(file: netCDF4.Dataset) -> NDArray[np.float64]:
    """Returns the round trips before the blocks of a launch, s, without those that could not be read."""
    first_samples = np.unique(numbers(file.variables["block"]), return_index=True)[1]
    trips = numbers(file.variables["canary"])[first_samples]
    return trips[trips > 0]


def judge(trips: NDArray[np.float64], what: str) -> Finding:
    """Says in how many states round trips are, each in s and of `what`."""
    if not trips.size:
        return unwatched("no round trip could be read; ranks share a processor", "see binding")
    # A state lasts for seconds; what one or two blocks of 20 ms show is an interruption.
    trips = np.median(sliding_window_view(np.pad(trips, WINDOW // 2, mode="reflect"), WINDOW), axis=1)
    names = names_of_classes(trips)
    classes = sorted((trips[names == name] for name in set(names)), key=np.median)
    medians = [f"{np.median(one) * NANOSECONDS:.0f} ns" for one in classes]
    if len(classes) == 1:
        return Finding("states", f"one state: {what} {medians[0]} in {count(trips.size, 'block')}", "good")
    shares = " and ".join(f"{median} in {one.size}" for median, one in zip(medians, classes, strict=True))
    seen = f"the machine changes its state: {what} {shares} of {trips.size} blocks"
    return Finding("states", seen, "problem", "compare launches within a state, as downbeat run does")


def unwatched(why: str, advice: str) -> Finding:
    """Returns the finding of a machine that was not watched."""
    return Finding("states", f"not watched: {why}", "notice", advice)
