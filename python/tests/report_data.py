"""Experiments whose truth is known, for the tests of pictures and reports, and of several nights, for gates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import netCDF4
import numpy as np
from downbeat.run import directory as places
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.run.plan import Library, Measurement, Plan
from fake_programs import FakeBench, write_template
from launch_files import Cell, write_launch

from tests.statistics.simulated import Deviations

US = 1e-6
CONTEXT: dict[str, str | int] = {
    "mpi_standard": "3.1",
    "downbeat_version": "0.1.0",
    "git_revision": "0123456789ab",
    "compiler": "GNU 12",
    "command_line": "downbeat-bench bcast -o out.nc",
    "stopping_rule": "fixed(samples=4)",
    "warmup_rule": "fixed(calls=10)",
    "tolerance_s": "5e-07",
    "seed": "17",
    "environment": "OMPI_MCA_orte_app_num=0\nDOWNBEAT_CLOCK=tsc",
}
# Samples of a cell around its median, with known quantiles: the median is 1, the mean 1.05.
SPREAD = np.array([0.9, 0.95, 1.0, 1.05, 1.35])


def cell(
    latency_us: float,
    operation: str = "bcast",
    size: int = 8,
    synchronizer: str = "harmonize",
    skew_us: float = 0.5,
    ranks: int = 2,
    **other: object,
) -> Cell:
    """Returns a cell whose median latency is known, on all ranks the same; the last rank enters `skew_us` later."""
    samples = np.arange(len(SPREAD))[:, None] * 100 * US + 1.0
    entry = samples + np.linspace(0, skew_us, ranks) * US
    return Cell(
        entry,
        entry + latency_us * US * SPREAD[:, None],
        operation,
        size,
        synchronizer,
        deadline=np.asarray(samples[:, 0] if synchronizer == "harmonize" else np.nan),
        other=other,
    )


def two_cells(path: Path, operation: str = "bcast") -> Path:
    """Writes a launch of two cells that can be compared."""
    cells = [
        Cell(np.zeros((3, 2)), np.full((3, 2), median), operation, synchronizer=name)
        for name, median in (("mpi_barrier", 2e-6), ("harmonize", 1e-6))
    ]
    return write_launch(path, cells, **CONTEXT)


def write_experiment(directory: Path, launches: Sequence[Sequence[Cell]], **attributes: str | int) -> Experiment:
    """Writes a file for each launch, and opens them as an experiment."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, cells in enumerate(launches, 1):
        context = CONTEXT | {"date": f"2026-01-02T03:04:{number:02}Z"} | attributes
        write_launch(directory / f"{number:03}.nc", cells, **context)
    return open_experiment(directory)


def barrier_cells(
    launch: float, delta: float = 1.2, operations: Sequence[str] = ("bcast",), sizes: Sequence[int] = (8, 64, 1024)
) -> list[Cell]:
    """Returns cells of operations after a barrier and from a common start; `launch` is a factor of all latencies."""
    return [
        cell(launch * (10 + size / 64) * (delta if synchronizer == "mpi_barrier" else 1), operation, size, synchronizer)
        for operation in operations
        for size in sizes
        for synchronizer in ("mpi_barrier", "harmonize")
    ]


def add_overlaps(path: Path, shares: Sequence[float]) -> None:
    """Adds to a file the overlap with computation of each cell, the same by all three definitions but for 0.1 each."""
    with netCDF4.Dataset(path, "a") as file:
        for place, name in enumerate(("overlap_osu", "overlap_imb", "overlap_window")):
            file.createVariable(name, "f8", ("cell",))[:] = np.asarray(shares) - 0.1 * place


LAUNCHES = 5  # fewer than in real life, to be quick
# As tables in docs/ci.md have it: sessions deviate by 2 %, and drift by as much.
DEVIATIONS = Deviations(launch=0.02, session=0.02, drift=0.02)


def put(fake: FakeBench, medians: np.ndarray) -> None:
    """Lets the launches of a stand-in have these medians, in us."""
    for number, median in enumerate(medians, 1):
        path = write_template(fake.directory / f"{number}.nc", [float(median) * 1e-6])
        with netCDF4.Dataset(path, "a") as file:
            file.setncatts(CONTEXT)


def write_night(directory: Path, medians: np.ndarray) -> None:
    """Writes what `downbeat run` leaves."""
    places.write_plan(directory, Plan("night", Measurement(("bcast",)), (Library("fake", "bench"),), launches=LAUNCHES))
    for number, median in enumerate(medians, 1):
        place = directory / places.LAUNCHES / f"fake-n2-default-{number:03}"
        place.mkdir(parents=True)
        with netCDF4.Dataset(write_template(place / places.SAMPLES, [float(median) * 1e-6]), "a") as file:
            file.setncatts(CONTEXT)
        record = {"library": "fake", "ranks": 2, "environment": "default", "variant": "default", "number": number}
        places.write_record(place, record)
