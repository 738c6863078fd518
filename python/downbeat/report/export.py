"""All numbers of an experiment or a launch as frames, and frames as files of other programs."""

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
LARGEST = 1 << 20  # rows of stamps in a frame


def cells(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per cell: `summarize_cells`."""
    yield launch.cells.drop(columns="cell")


def samples(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per sample: what its cell is, its verdict, its metrics."""
    measured = read_samples(launch.path)
    data = measured.frame().drop(columns="cell_index").rename_axis("sample")
    data["verdict"] = pd.Categorical.from_codes(measured.verdict, categories=pd.Index(measured.verdicts()))
    index = measured.cell_index
    frame = pd.concat([launch.cells.loc[index, list(CELL_FACTORS)].set_index(data.index), data], axis=1)
    units = {str(name): str(attrs["units"]) for name, attrs in measured.source.attrs.items() if "units" in attrs}
    frame.attrs["units"] = Units(units | shared_units(frame.columns, launch.cells))
    yield frame


def stamps(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per sample and rank: what the rank stamped, on the global clock."""
    with open_samples(launch.path) as file:
        check_samples(launch.path, file)
        described = read_cells(file)[list(CELL_FACTORS)]
        categories = pd.Index(flags(file.variables["verdict"]).values())
        units = {name: file.variables[name].units for name in STAMPS}
        count, ranks = file.variables["entry"].shape
        step = max(1, LARGEST // ranks)
        for start in range(0, max(count, 1), step):  # also of no samples a frame, which has the columns
            rows = slice(start, min(start + step, count))
            taken = rows.stop - rows.start
            index = np.repeat(native(file.variables["cell_index"][rows]), ranks)
            frame = described.loc[index].reset_index(drop=True)
            frame["attempt"] = np.repeat(native(file.variables["attempt"][rows]), ranks)
            frame["verdict"] = pd.Categorical.from_codes(
                np.repeat(file.variables["verdict"][rows], ranks), categories=categories
            )
            frame["rank"] = np.tile(np.arange(ranks), taken)
            for name in STAMPS:
                frame[name] = native(file.variables[name][rows]).ravel()
            frame["flag"] = file.variables["flag"][rows].ravel()
            frame.attrs["units"] = Units(units | shared_units(frame.columns, described))
            yield frame


ROWS: dict[str, Callable[[Launch], Iterator[pd.DataFrame]]] = {"cells": cells, "samples": samples, "stamps": stamps}


@dataclass(frozen=True)
class Blank:
    """What stands in a column that a launch lacks."""

    value: str | float
    unit: str  # empty: none


def blank_fields(experiment: Experiment, rows: str) -> dict[str, Blank]:
    """The columns that some launch, of an older program, lacks, and the stand-in for each."""
    fields: list[dict[str, Blank]] = []
    for launch in experiment.launches:
        # A file that cannot be read is refused in its turn, after the ones before it.
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
    return {name: columns[name] for columns in fields for name in columns if any(name not in other for other in fields)}


def blank_of(variable: Variable) -> Blank:
    """The stand-in for a field of a cell that only other launches have."""
    return Blank("" if variable.dtype.kind == "S" else np.nan, str(getattr(variable, "units", "")))


def completed(frame: pd.DataFrame, blank: dict[str, Blank]) -> pd.DataFrame:
    """A frame with stand-ins for its missing fields; all fields that some launch lacks come last."""
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
    """Yields the frames of an experiment, launch by launch, each with the factors of its launch in front.

    Args:
        experiment: what to export.
        rows: one of `ROWS`.
    """
    blank = blank_fields(experiment, rows)
    order: list[object] = []  # of the first one, for files whose columns have no names after their beginning
    for launch in experiment.launches:
        for table in ROWS[rows](launch):
            frame = completed(table, blank)
            for position, name in enumerate((*LAUNCH_FACTORS, "launch")):
                # A file of ranks' stamps has a column `rank`; that of the launch is their number.
                frame.insert(position, name, launch.number if name == "launch" else getattr(launch, name))
            order = order or list(frame.columns)
            yield frame[order] if set(order) == set(frame) else frame


def export_csv(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes comma-separated values below a line of names; a missing value is empty."""
    for position, frame in enumerate(frames):
        records.write_csv(frame, stream, header=position == 0)


def export_json(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes an object per row and line; a missing value is null."""
    for frame in frames:
        # Not by pandas, which rounds to 15 decimals: of 0.15 us that leaves nine digits.
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
    """A kind of file."""

    write: Callable[[Iterable[pd.DataFrame], IO[Any]], None]
    binary: bool = False


FILE_KINDS: dict[str, Kind] = {
    "csv": Kind(export_csv),
    "parquet": Kind(write_parquet, binary=True),
    "json": Kind(export_json),
}
