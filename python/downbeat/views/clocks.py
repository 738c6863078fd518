"""The view of files of `downbeat-bench skew`, `clock`, `drift` and `rtt`: a fact, pictures, conditions, variables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.comparison.settings import LIBRARY_SETTING
from downbeat.data.clock_files import DriftingPairs, Schemes, SynchronizerSkews, TripPairs, exit_skews
from downbeat.data.launch_file import open_launch, open_netcdf
from downbeat.errors import reading
from downbeat.output.blocks import Command, Depth, Folded, Heading, Line, Picture, Table, Terms, View
from downbeat.output.facts import Fact
from downbeat.output.facts.clocks import (
    BestScheme,
    ClockDrift,
    ExitSkews,
    PairDrift,
    PairTrips,
    RoundTrips,
    SchemeError,
    SharedClock,
)
from downbeat.report.conditions import distinct, library_text
from downbeat.report.warnings import bench_warnings
from downbeat.run.libraries import short_version
from downbeat.text import listed

if TYPE_CHECKING:
    import xarray as xr

PROGRAM = ("downbeat_version", "git_revision", "compiler")  # attributes of the program that wrote a file
SCHEMA_VERSION = 1  # of the record
AS_GOOD = 1.1  # schemes with an error up to this multiple of the smallest count as equal (docs/clock-experiments.md)


def skews_of_file(data: xr.Dataset) -> ExitSkews:
    """Returns the exit skews in a file of `downbeat-bench skew`."""
    table = SynchronizerSkews.of(data)
    pairs = zip(table.synchronizer, table.skew_median.tolist(), strict=True)
    ranges = {name: (skew, skew) for name, skew in pairs if not np.isnan(skew)}
    return exit_skews(ranges, float(np.nanmax(table.error_bound)))


def best_scheme(data: xr.Dataset) -> BestScheme | SharedClock:
    """Returns the quickest scheme whose error is as good as the smallest one, in a file of `downbeat-bench clock`."""
    # If all ranks share a clock, offsets are errors of the measurement and do not rank the schemes; true errors do.
    if "true_max" not in data and str(data.attrs.get("clock_domains")) == "1":
        return SharedClock()
    table = Schemes.of(data)
    kind, by_wait = table.errors
    waits = data.wait.to_numpy()
    error = by_wait[:, int(waits.argmax())]
    table, error = table[~np.isnan(error)], error[~np.isnan(error)]

    def scheme(row: int) -> SchemeError:
        return SchemeError(str(table.scheme[row]), float(error[row]), float(table.duration_median[row]))

    good = np.flatnonzero(error <= AS_GOOD * error.min())
    outside = table.outside.max() if len(table) and table.outside.ndim > 1 else np.nan
    return BestScheme(
        wait=float(waits.max()),
        kind=kind,
        good=AS_GOOD - 1,
        best=scheme(int(good[np.nanargmin(table.duration_median[good])])),
        quickest=scheme(int(np.nanargmin(table.duration_median))),
        outside=None if np.isnan(outside) else float(outside),
    )


def clock_drift(data: xr.Dataset) -> ClockDrift:
    """Returns the drift of each pair of clocks in a file of `downbeat-bench drift`."""
    table, times = DriftingPairs.of(data), data.time.to_numpy()
    columns = (table.pair, table.skew, table.beyond_bounds, table.residual_max, table.prediction_error)
    pairs = tuple(
        PairDrift(str(pair), float(skew), not beyond, float(residual), abs(float(error)))
        for pair, skew, beyond, residual, error in zip(*columns, strict=True)
    )
    return ClockDrift(float(times.max() - times.min()), pairs)


def round_trips(data: xr.Dataset) -> RoundTrips:
    """Returns the round trips of each pair of ranks in a file of `downbeat-bench rtt`."""
    table = TripPairs.of(data)
    columns = zip(table.pair, table.rtt_min, table.rtt_median, table.rtt_p99, strict=True)
    pairs = tuple(PairTrips(str(pair), *map(float, times)) for pair, *times in columns)
    return RoundTrips(data.sizes["sample"], pairs)


# The fact of a file, by the name of its experiment.
FILE_FACTS: dict[str, Callable[[xr.Dataset], Fact]] = {
    "skew": skews_of_file,
    "clock": best_scheme,
    "drift": clock_drift,
    "rtt": round_trips,
}


def is_clock_file(path: Path) -> bool:
    """Returns true for a file of an experiment on clocks or synchronizers, without operations."""
    if not path.is_file():
        return False
    with open_netcdf(path) as file:
        return "cell_index" not in file.variables


def clock_file_view(path: Path) -> View:
    """Returns the view of a file, without pictures.

    Raises:
        UsageError: it is truncated or of another program.
    """
    with reading(path):
        return clock_view(open_launch(path), Depth.TEXT)


def clock_view(data: xr.Dataset, depth: Depth = Depth.PAGE) -> View:
    """Returns the view of the content of a file: its fact, pictures on pages, conditions, and variables."""
    attributes = {str(name): str(value) for name, value in data.attrs.items()}
    kind = attributes.get("experiment", "")
    fact = FILE_FACTS[kind](data) if kind in FILE_FACTS else None
    # Without a difference between clocks a picture of errors shows noise.
    drawn = () if depth < Depth.PAGE or fact is None or isinstance(fact, SharedClock) else pictures_of(kind)
    return View(
        f"{attributes['title']}, {attributes['date']}",
        (
            *([Line(fact, "answer")] if fact else []),
            *(Line(text, "warning") for text in bench_warnings([attributes])),
            *(picture for draw in drawn for picture in draw(data)),
            Heading("How it was measured", depth=Depth.PAGE),
            *([Terms(tuple(measured(data, attributes)))] if depth == Depth.PAGE else []),
            Command((attributes.get("command_line", ""),), depth=Depth.PAGE),
            Folded("The variables of the file", (sizes_table(data), variables_table(data)), depth=Depth.TEXT),
        ),
        f"MPI {short_version(attributes['mpi_library'])}",
        record_of(data),
    )


def pictures_of(kind: str) -> tuple[Callable[[xr.Dataset], list[Picture]], ...]:
    """Returns the functions that draw a file of an experiment."""
    from downbeat.report.pictures import OF_FILES

    return OF_FILES[kind]


def measured(data: xr.Dataset, attributes: dict[str, str]) -> list[tuple[str, str]]:
    """Returns the conditions of the measurement in a file: names and texts."""
    settings = [
        f"{name.removeprefix(LIBRARY_SETTING)}={value}"
        for name, value in attributes.items()
        if name.startswith(LIBRARY_SETTING)
    ]
    hosts = [str(host) for host in np.atleast_1d(data["host"].to_numpy())] if "host" in data else []
    return [
        ("MPI", library_text(attributes)),
        ("ranks", f"{len(hosts)} on {listed(distinct(hosts))}"),
        ("machine", attributes.get("hosts", "")),
        ("settings", ", ".join(settings)),
        ("downbeat-bench", " ".join(attributes.get(name, "") for name in PROGRAM)),
        ("measured", attributes.get("date", "")),
        ("seed", attributes.get("seed", "")),
    ]


def sizes_table(data: xr.Dataset) -> Table:
    """Returns the dimensions of a file."""
    rows = [(str(name), size) for name, size in data.sizes.items()]
    return Table("Dimensions", pd.DataFrame(rows, columns=["dimension", "size"]))


def variables_table(data: xr.Dataset) -> Table:
    """Returns the variables of a file; a variable with a single value has it."""
    rows = [
        (
            str(name),
            ", ".join(map(str, variable.dims)),
            str(variable.attrs.get("units", "")),
            str(variable.values.item() if variable.size == 1 else variable.attrs.get("long_name", "")),
        )
        for name, variable in data.variables.items()
    ]
    frame = pd.DataFrame(rows, columns=["variable", "dimensions", "unit", "meaning"])
    return Table("Variables", frame)


def record_of(data: xr.Dataset) -> dict[str, object]:
    """Returns the content of a file for programs: attributes, then variables with dimensions, unit, meaning, values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "attributes": dict(data.attrs),
        "dimensions": {str(name): size for name, size in data.sizes.items()},
        "variables": {
            str(name): {
                "dimensions": [str(name) for name in variable.dims],
                "unit": str(variable.attrs.get("units", "")),
                "meaning": str(variable.attrs.get("long_name", "")),
                "values": variable.astype(str).values if variable.dtype.kind in "OSU" else variable.values,
            }
            for name, variable in data.variables.items()
        },
    }
