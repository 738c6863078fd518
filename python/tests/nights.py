"""Experiments of several nights, simulated: for gates that compare tonight with the nights before."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
from downbeat.run import directory as places
from downbeat.run.plan import Library, Measurement, Plan
from fake_programs import FakeBench, write_template
from report_data import CONTEXT

from tests.statistics.simulated import Deviations

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
