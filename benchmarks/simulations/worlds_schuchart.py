"""Worlds of the figures of Schuchart 2023: launches without any effect, and with what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from downbeat_papers.kinds.reduce_matrix import MATRIX
from downbeat_papers.kinds.scaling import LINES
from downbeat_papers.results import BARRIER, HARMONIZE

from benchmarks.simulations.made_up_launches import AVERAGED, RANKS, Maker, SimulatedResults, World, results_of, run_of

US = 1e-6
LOWEST, HIGHEST = 0.6, 1.8  # delta of the rooted MPI_Reduce on one node (Fig. 6)
SIZES = (4, 64, 1024, 16384, 262144)
# Delta of the figures on message sizes: by algorithm, of small and of large messages; 1 elsewhere.
DELTAS: dict[int, tuple[str, Mapping[str, tuple[float, float]]]] = {
    6: ("reduce", {"linear": (LOWEST, LOWEST), "binomial": (HIGHEST, HIGHEST)}),
    7: ("reduce", {"linear": (0.09, 0.5), "binomial": (10, 2), "mpich": (2, 1)}),
    9: ("bcast", {"mpich": (1 / 9, 1.1), "default": (1.2, 1.2), "knomial": (1.2, 1.2)}),
    10: ("bcast", {"mpich": (1 / 9, 1.1)}),
    12: ("allreduce", {"nonoverlapping": (HIGHEST, HIGHEST)}),
    13: ("allreduce", {"mpich": (0.2, 0.8), "nonoverlapping": (0.8, 0.2)}),
}
UNAFFECTED = ("default", "mpich")  # as figure 12 and section 6.6 say


def line_cells(collective: str, ranks: int, size: int) -> pd.DataFrame:
    """Returns the cells of a figure on scaling, at one size and number of ranks."""
    rows = [
        {
            "label": f"{line.family}-n{ranks}",
            "operation": collective,
            "algorithm": line.algorithm,
            "name": line.algorithm if line.family == "openmpi" else "mpich",
            "synchronizer": synchronizer,
            "size": size,
            "ranks": ranks,
        }
        for line in LINES[collective]
        for synchronizer in (BARRIER, HARMONIZE)
    ]
    return pd.DataFrame(rows)


def message_world(number: int) -> World:
    def world(maker: Maker) -> SimulatedResults:
        collective, deltas = DELTAS[number]
        frame = pd.concat([line_cells(collective, max(RANKS), size) for size in SIZES], ignore_index=True)
        # Algorithms are 1.5 times apart; MPICH is as fast as Open MPI's default.
        speed = {line.algorithm: 1.5 ** max(0, line.color - 1) for line in LINES[collective]} | {"mpich": 1.0}
        times = []
        for _, row in frame.iterrows():
            time = (1 + row["size"] / 1000) * (speed[row["name"]] if maker.effect else 1)
            small, large = deltas.get(row["name"], (1.0, 1.0))
            if not maker.effect:  # unaffected lines change by the most that counts as unaffected
                small = large = HIGHEST**0.5 if number == 12 and row["name"] in UNAFFECTED else 1.0
            if number == 13 and maker.effect and row["name"] == "mpich":
                time *= 1.2  # and slower from the common start
            times.append(time * ((small if row["size"] <= 1024 else large) if row["synchronizer"] == BARRIER else 1))
        cells = maker.averaged_cells(frame, US * np.array(times, dtype=float))
        return results_of([run_of(f"{family}-n{max(RANKS)}") for family in ("openmpi", "mpich")], cells)

    return world


def scatter_gather(maker: Maker) -> SimulatedResults:
    parts = [line_cells(one, max(RANKS), size) for one in ("scatter", "gather") for size in SIZES]
    frame = pd.concat(parts, ignore_index=True)
    affected = (frame["synchronizer"] == BARRIER).to_numpy() * maker.pick(0, 1)
    cells = maker.averaged_cells(frame, US * HIGHEST ** (0.5 * affected))
    return results_of([run_of(f"{family}-n{max(RANKS)}") for family in ("openmpi", "mpich")], cells)


def process_world(collective: str) -> World:
    def world(maker: Maker) -> SimulatedResults:
        frame = pd.concat([line_cells(collective, ranks, 4) for ranks in RANKS], ignore_index=True)
        average, largest = [], []
        for _, row in frame.iterrows():
            barrier, steps = row["synchronizer"] == BARRIER, np.log2(row["ranks"])
            time = steps
            if maker.effect and row["name"] == "linear":
                time = 2 / steps
            if maker.effect and barrier:
                rough = 4 if row["name"] == "knomial" else 1.5
                time *= rough ** (steps % 2)
            if maker.effect and row["name"] == "mpich":
                time *= 0.4 if barrier else 1.2
            average.append(time)
            largest.append(steps if maker.effect else 1.0)
        cells = maker.averaged_cells(frame, US * np.array(average))
        medians, means = (one.ravel() for one in maker.cell_summaries(US * np.array(largest), AVERAGED))
        cells = cells.assign(latency_max_median=medians, max_of_means=means)
        return results_of([run_of(f"openmpi-n{ranks}", ranks) for ranks in RANKS], cells)

    return world


def timelines(maker: Maker) -> SimulatedResults:
    frame = pd.DataFrame({"label": "n16", "barrier_algorithm": ["linear", "double_ring"]})
    cells = maker.averaged_cells(frame, US * np.array([2.78, maker.pick(9.98, 2.78)]))
    nothing_to_draw = xr.Dataset({"barrier_algorithm": ("cell", np.array([], dtype=str))})
    return results_of([run_of("n16")], cells, {"n16": [nothing_to_draw]})


def matrix(maker: Maker) -> SimulatedResults:
    table = MATRIX.stack() if maker.effect else MATRIX.stack() * 0 + 1
    frame = pd.DataFrame(list(table.index), columns=["algorithm", "barrier_algorithm"])
    cells = maker.averaged_cells(frame.assign(label="matrix", synchronizer=BARRIER), US * table.to_numpy(float))
    return results_of([run_of("matrix")], cells)


def skews(maker: Maker) -> SimulatedResults:
    """Barriers and common starts on nodes of their own; without effect both leave 10 us."""
    files: dict[str, list[xr.Dataset]] = {}
    for step, ranks in enumerate(RANKS):
        barrier = maker.values(US * maker.pick(4 * 1.25**step, 10))
        common = maker.values(US * maker.pick(0.04, 10))
        files[f"n{ranks}"] = [skew_file(ranks, pair) for pair in zip(barrier, common, strict=True)]
    return results_of([run_of(label, int(label[1:])) for label in files], files=files)


def skew_file(ranks: int, skew: tuple[float, float]) -> xr.Dataset:
    """Returns a launch whose median skews are those of the barrier and of the common start."""
    along = np.linspace(0, 1, ranks) * np.linspace(0.5, 1.5, 51)[:, np.newaxis]
    exits = np.array(skew)[:, np.newaxis, np.newaxis] * along
    dims = ("synchronizer", "attempt", "rank")
    return xr.Dataset(
        {
            "exit": (dims, exits),
            "entry": (dims, np.zeros_like(exits)),
            "valid": (dims[:2], np.ones(exits.shape[:2], int)),
            "host": ("rank", [f"node{rank}" for rank in range(ranks)]),
        },
        coords={"synchronizer": [BARRIER, HARMONIZE]},
        attrs={"error_bound_s": 1e-9},
    )


def clock_durations(maker: Maker) -> SimulatedResults:
    """Without effect a synchronization takes 2 % of a second on any number of ranks."""
    files = {}
    for step, ranks in enumerate(RANKS):
        launches = maker.values(maker.pick(200 * US * 1.3**step, 0.02))
        files[f"n{ranks}"] = [xr.Dataset({"duration": (("scheme", "repetition"), [[one] * 9])}) for one in launches]
    return results_of([run_of(label, int(label[1:])) for label in files], files=files)


def clock_errors(maker: Maker) -> SimulatedResults:
    """Without effect errors are 1 us in the mean, and the largest is 2 us."""
    files = {}
    for ranks in RANKS:
        means = maker.values(US * maker.pick(0.3, 1.0))
        files[f"n{ranks}"] = [error_file(mean, 50) for mean in means]
    return results_of([run_of(label, int(label[1:])) for label in files], files=files)


def error_file(mean: float, repetitions: int) -> xr.Dataset:
    """Returns a launch with so large errors of rank 1, evenly spread from none to twice as much."""
    errors = mean * np.linspace(0, 2, repetitions)[np.newaxis, :, np.newaxis, np.newaxis] * np.array([0.0, 1.0])
    dims = ("scheme", "repetition", "wait", "rank")
    names = ("offset", "true_error", "error_bound", "offset_bound")
    return xr.Dataset(dict.fromkeys(names, (dims, errors)))


WORLDS: dict[str, World] = {
    "schuchart2023-fig1": timelines,
    "schuchart2023-fig2": matrix,
    "schuchart2023-fig3": skews,
    **{f"schuchart2023-fig{number}": message_world(number) for number in DELTAS},
    "schuchart2023-fig8": process_world("reduce"),
    "schuchart2023-fig11": process_world("bcast"),
    "schuchart2023-fig14": process_world("allreduce"),
    "schuchart2023-sec66": scatter_gather,
    "schuchart2023-fig15": clock_durations,
    "schuchart2023-fig16": clock_errors,
}
