"""Converts an experiment to frames (rows: cells, samples, or stamps) and writes frames as CSV, JSON or Parquet.

For `downbeat export`. A launch of an older downbeat-bench may lack columns; blanks fill them. A stamp is the time at
which a rank began or ended a step of a sample.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pandas as pd

from downbeat.data.cells import STATISTICS, STEP
from downbeat.data.launch_file import CELL_FACTORS, cell_fields, flags, metrics_of, open_samples, read_cells
from downbeat.data.metrics import METRICS
from downbeat.data.netcdf import Variable
from downbeat.data.samples import check_samples, native, read_samples
from downbeat.errors import DownbeatError, UsageError
from downbeat.output import records
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.text import Units, shared_units

STAMPS = ("sync_entry", "entry", "exit", "delay")
MAX_STAMP_ROWS = 1 << 20  # rows of a frame of stamps; larger files are exported in several frames


def cells(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields one frame with a row per cell."""
    yield launch.cells.drop(columns="cell")


def samples(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields one frame with a row per sample: factors of its cell, verdict, metrics."""
    measured = read_samples(launch.path)
    data = measured.frame().drop(columns="cell_index").rename_axis("sample")
    data["verdict"] = pd.Categorical.from_codes(measured.verdict, categories=pd.Index(measured.verdicts()))
    index = measured.cell_index
    frame = pd.concat([launch.cells.loc[index, list(CELL_FACTORS)].set_index(data.index), data], axis=1)
    units = {str(name): str(attrs["units"]) for name, attrs in measured.source.attrs.items() if "units" in attrs}
    frame.attrs["units"] = Units(units | shared_units(frame.columns, launch.cells))
    yield frame


def stamps(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields frames with a row per sample and rank: the stamps of the rank on the global clock, s."""
    with open_samples(launch.path) as file:
        check_samples(launch.path, file)
        described = read_cells(file)[list(CELL_FACTORS)]
        categories = pd.Index(flags(file.variables["verdict"]).values())
        units = {name: file.variables[name].units for name in STAMPS}
        count, ranks = file.variables["entry"].shape
        step = max(1, MAX_STAMP_ROWS // ranks)
        for start in range(0, max(count, 1), step):  # without samples: one empty frame, for its columns
            rows = slice(start, min(start + step, count))
            samples_read = rows.stop - rows.start
            index = np.repeat(native(file.variables["cell_index"][rows]), ranks)
            frame = described.loc[index].reset_index(drop=True)
            frame["attempt"] = np.repeat(native(file.variables["attempt"][rows]), ranks)
            frame["verdict"] = pd.Categorical.from_codes(
                np.repeat(file.variables["verdict"][rows], ranks), categories=categories
            )
            frame["rank"] = np.tile(np.arange(ranks), samples_read)
            for name in STAMPS:
                frame[name] = native(file.variables[name][rows]).ravel()
            frame["flag"] = file.variables["flag"][rows].ravel()
            frame.attrs["units"] = Units(units | shared_units(frame.columns, described))
            yield frame


ROWS: dict[str, Callable[[Launch], Iterator[pd.DataFrame]]] = {"cells": cells, "samples": samples, "stamps": stamps}


@dataclass(frozen=True)
class Blank:
    """The value and the unit of a column that a launch lacks."""

    value: str | float
    unit: str  # empty: none


def blank_fields(experiment: Experiment, rows: str) -> dict[str, Blank]:
    """Returns the columns that at least one launch lacks, each with its blank."""
    fields: list[dict[str, Blank]] = []
    for launch in experiment.launches:
        # frames() refuses an unreadable file later, after it has exported the launches before it.
        with contextlib.suppress(UsageError), open_samples(launch.path) as file:
            metrics = metrics_of(file)
            if rows == "samples":
                fields.append(dict.fromkeys(metrics, Blank(np.nan, "s")))
            elif rows == "cells":
                numbers = [f"{name}_{statistic}" for name in metrics for statistic in (*STATISTICS, STEP)]
                numbers += [f"{name}_{statistic}" for name in METRICS for statistic in STATISTICS]
                fields.append(
                    {name: blank_of(file.variables[name]) for name in cell_fields(file)}
                    | dict.fromkeys(numbers, Blank(np.nan, "s"))
                )
    return {
        name: columns[name]
        for columns in fields
        for name in columns
        if any(name not in other_columns for other_columns in fields)
    }


def blank_of(variable: Variable) -> Blank:
    """Returns the blank for a field of a cell: an empty text or NaN, with the unit of the field."""
    return Blank("" if variable.dtype.kind == "S" else np.nan, str(getattr(variable, "units", "")))


def completed(frame: pd.DataFrame, blank: dict[str, Blank]) -> pd.DataFrame:
    """Adds blanks for missing columns. The columns in `blank` come last, so that all launches have the same order."""
    if not blank:
        return frame
    missing = {name: entry for name, entry in blank.items() if name not in frame}
    filled = frame.assign(**{name: entry.value for name, entry in missing.items()})
    filled = filled[[*(name for name in filled if name not in blank), *blank]]
    filled.attrs["units"] = Units(
        frame.attrs["units"] | {name: entry.unit for name, entry in missing.items() if entry.unit}
    )
    return filled


def frames(experiment: Experiment, rows: str) -> Iterator[pd.DataFrame]:
    """Yields the frames of all launches; the first columns are the factors and the number of the launch.

    Args:
        experiment: what to export.
        rows: one of `ROWS`.
    """
    blank = blank_fields(experiment, rows)
    order: list[object] = []  # columns of the first frame; CSV names them only once
    for launch in experiment.launches:
        for table in ROWS[rows](launch):
            frame = completed(table, blank)
            for position, name in enumerate((*LAUNCH_FACTORS, "launch")):
                # `ranks` is the number of ranks of the launch; frames of stamps also have `rank`.
                frame.insert(position, name, launch.number if name == "launch" else getattr(launch, name))
            order = order or list(frame.columns)
            yield frame[order] if set(order) == set(frame) else frame


def export_csv(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes comma-separated values after a header line; a missing value is empty."""
    for position, frame in enumerate(frames):
        records.write_csv(frame, stream, header=position == 0)


def export_json(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes JSON lines, an object per row; a missing value is null."""
    for frame in frames:
        # Not with DataFrame.to_json, which rounds to 15 decimals: 0.15 us would have nine digits.
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
            stream.write(json.dumps(row, allow_nan=False) + "\n")


def write_parquet(frames: Iterable[pd.DataFrame], stream: IO[bytes]) -> None:
    """Writes Apache Parquet, a row group per frame."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise DownbeatError("parquet needs pyarrow; run: pip install 'downbeat[parquet]'") from None
    writer: pq.ParquetWriter | None = None
    with contextlib.ExitStack() as closing:
        for frame in frames:
            content = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or closing.enter_context(pq.ParquetWriter(stream, content.schema))
            writer.write_table(content.cast(writer.schema))


@dataclass(frozen=True)
class Kind:
    """A file format: the function that writes it, and whether its stream is binary."""

    write: Callable[[Iterable[pd.DataFrame], IO[Any]], None]
    binary: bool = False


FILE_KINDS: dict[str, Kind] = {
    "csv": Kind(export_csv),
    "parquet": Kind(write_parquet, binary=True),
    "json": Kind(export_json),
}
