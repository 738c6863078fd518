"""Worlds of the figures of Hunold 2015: launches without any effect, and with what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from downbeat_papers.kinds.clocks import FITTED, NODES, PLAIN, SCHEMES
from downbeat_papers.kinds.libraries import OWN, THEIRS

from benchmarks.simulations.made_up_launches import RANKS, Floats, Maker, SimulatedResults, World, results_of, run_of

US = 1e-6
SAMPLES = 4000  # of a run over time
CONSTANT = 0.1  # change of a run-time that is called none, at most


def over_time(maker: Maker, curves: Mapping[str, tuple[float, float]], samples: int = SAMPLES) -> SimulatedResults:
    """Returns runs over time by their label: run-time at the start in us, and share by which it rises."""
    files = {
        label: [
            xr.Dataset(dict.fromkeys(("global_time", "latency_max"), ("sample", one)))
            for one in maker.series(samples, US * start, rise)
        ]
        for label, (start, rise) in curves.items()
    }
    return results_of([run_of(label) for label in files], files=files)


def skampi(maker: Maker) -> SimulatedResults:
    return over_time(maker, {"fixed": (20, maker.pick(3, 0)), "adaptive": (20, maker.pick(1, 0))}, 15000)


def scheme_windows(labels: Sequence[str]) -> World:
    def world(maker: Maker) -> SimulatedResults:
        curves = {}
        for label in labels:
            rises = label in ("netgauge", "skampi")
            # Without effect, rising curves stay flat, and flat ones rise by the most that counts as flat.
            rise = maker.pick(1.0, 0.0) if rises else maker.pick(0.0, CONSTANT)
            curves[label] = (maker.pick(20.0 if label == "mpi_barrier" else 15.0, 20.0), rise)
        return over_time(maker, curves)

    return world


def local_and_global(maker: Maker) -> SimulatedResults:
    files = {"window": [], "mpi_barrier": []}  # type: dict[str, list[xr.Dataset]]
    for label, local in (("window", 100.0), ("mpi_barrier", maker.pick(70, 100))):
        times, shorter = maker.series(SAMPLES, US * 100, 0), local / 100
        files[label] = [
            xr.Dataset({"global_time": ("sample", one), "latency_max": ("sample", one * shorter)}) for one in times
        ]
    return results_of([run_of(label) for label in files], files=files)


def measurement_schemes(maker: Maker) -> SimulatedResults:
    in_a_row = "batch(calls=100)"
    rows = [
        {"label": "schemes", "operation": operation, "size": 8, "timing": timing}
        for operation in ("bcast", "allreduce")
        for timing in ("per_call", in_a_row, "batch_synced(calls=100)", "window")
    ]
    frame = pd.DataFrame(rows)
    times = US * np.where(frame["timing"] == in_a_row, maker.pick(0.5, 1), 1)
    cells = maker.cells(frame, latency_max_median=times)
    return results_of([run_of("schemes")], cells.assign(global_time_median=cells["latency_max_median"]))


def exits(maker: Maker) -> SimulatedResults:
    """Without effect both libraries leave ranks 10 us apart; else MPICH leaves them 40 us apart."""
    files = {}
    for label, spread in (("intelmpi", 10.0), ("mpich5", maker.pick(40, 10))):
        ranks = np.linspace(0, 1, max(RANKS)) * np.linspace(0.5, 1.5, 21)[:, np.newaxis]
        files[label] = [
            xr.Dataset({"exit": (("sample", "rank"), one * ranks), "valid": ("sample", np.ones(len(ranks), int))})
            for one in maker.values(US * spread)
        ]
    return results_of([run_of(label, library=label) for label in files], files=files)


def libraries(maker: Maker) -> SimulatedResults:
    parts = []
    for library, shift in (("intelmpi", 1.0), ("mpich5", maker.pick(1.5, 1.0))):
        rows = [
            {"label": library, "library": library, "synchronizer": synchronizer, "size": size}
            for synchronizer in (OWN, THEIRS)
            for size in (64, 256, 1024, 2048)
        ]
        frame = pd.DataFrame(rows)
        times = US * np.where(frame["synchronizer"] == THEIRS, shift, 1.0)
        parts.append(maker.cells(frame, latency_max_median=times))
    cells = pd.concat(parts, ignore_index=True)
    return results_of([run_of(library, library=library) for library in ("intelmpi", "mpich5")], cells)


def clock_files(
    maker: Maker,
    errors: Mapping[str, Sequence[float]],
    durations: Mapping[str, float] | None = None,
    barrier: float = 1,
) -> list[xr.Dataset]:
    """Returns launches of the experiment `clock`: errors of rank 1 in us by scheme, after each wait, durations in s."""
    waits = len(next(iter(errors.values())))
    by_wait = [{scheme: maker.values(US * after[wait]) for scheme, after in errors.items()} for wait in range(waits)]
    lasting = {scheme: maker.values((durations or {}).get(scheme, 1.0)) for scheme in errors}
    barriers = maker.values(US * barrier)
    files = []
    for launch in range(maker.launches):
        table: Floats = np.array([[by_wait[wait][scheme][launch] for wait in range(waits)] for scheme in errors])
        offsets = table[:, np.newaxis, :, np.newaxis] * np.array([0.0, 1.0])
        dims = ("scheme", "repetition", "wait", "rank")
        variables = dict.fromkeys(("offset", "true_error", "error_bound", "offset_bound"), (dims, offsets))
        files.append(
            xr.Dataset(
                {
                    **variables,
                    "duration": (dims[:2], [[lasting[scheme][launch]] for scheme in errors]),
                    "barrier": ("repetition", [barriers[launch]]),
                },
                coords={"scheme": list(errors), "wait": np.arange(waits) * 5.0},
            )
        )
    return files


def offsets(maker: Maker) -> SimulatedResults:
    """Without effect all schemes are off by 0.2 us, but for hca in (b), which is ten times as far off as skampi."""
    alone = {"skampi": 0.1, "netgauge": maker.pick(0.15, 0.1), "jk": 0.2, "hca": 0.1}
    if not maker.effect:
        alone = dict.fromkeys(alone, 0.2)
    shared = {"skampi": 0.2, "netgauge": 1.0, "jk": 0.4, "hca": 0.5} if maker.effect else dict.fromkeys(alone, 0.2)
    shared["hca"] = maker.pick(shared["hca"], 2.0)
    files = {}
    for ranks in (8, 16):
        files[f"n{ranks}"] = clock_files(maker, {scheme: [error] for scheme, error in alone.items()})
        files[f"{NODES}n{ranks}"] = clock_files(maker, {scheme: [error] for scheme, error in shared.items()})
    runs = [run_of(label, int(label.rpartition("n")[2])) for label in files]
    return results_of(runs, files=files, ranks=(8, 16))


def waits(maker: Maker) -> SimulatedResults:
    errors = {one: [1.0, maker.pick(5, 50) if one in ("jk", "hca") else 50.0] for one in SCHEMES}
    return results_of([run_of("n16")], files={"n16": clock_files(maker, errors)})


def pareto(maker: Maker) -> SimulatedResults:
    """Without effect all schemes are equal, take a second, and are as far off as a barrier is long."""
    errors = dict.fromkeys(PLAIN, 80.0)
    durations = dict.fromkeys(PLAIN, maker.pick(0.5, 1.0))
    for name, error, duration in (("jk", 2.0, 30.0), ("hca", 4.0, 5.0)):
        for place, parameters in enumerate(FITTED):
            errors[f"{name}{parameters}"] = maker.pick(error / (1 + 0.2 * place), 80.0)
            durations[f"{name}{parameters}"] = maker.pick(duration * (1 + place), 1.0)
    files = clock_files(maker, {scheme: [error] for scheme, error in errors.items()}, durations, maker.pick(20, 80))
    return results_of([run_of("n16")], files={"n16": files})


WORLDS: dict[str, World] = {
    "hunold2015-fig1": skampi,
    "hunold2015-fig2": measurement_schemes,
    "hunold2015-fig3": local_and_global,
    "hunold2015-fig4": exits,
    "hunold2015-fig5": libraries,
    "hunold2015-fig7": scheme_windows(("netgauge", "skampi", "mpi_barrier")),
    "hunold2015-fig8": offsets,
    "hunold2015-fig9": waits,
    "hunold2015-fig10": pareto,
    "hunold2015-fig11": scheme_windows(("netgauge", "skampi", "jk", "hca", "mpi_barrier")),
}
