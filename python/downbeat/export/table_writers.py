"""Kinds of files that frames are exported to. All frames of a file have the same columns."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any

import pandas as pd

from downbeat import spreadsheet
from downbeat.errors import DownbeatError


def write_csv(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes comma-separated values below a line of names; what has no value is empty."""
    for position, frame in enumerate(frames):
        spreadsheet.write_csv(frame, stream, header=position == 0)


def write_json(frames: Iterable[pd.DataFrame], stream: IO[str]) -> None:
    """Writes an object per row and line; what has no value is null."""
    for frame in frames:
        # Not by pandas, which rounds to 15 decimals: of 0.15 us that leaves nine digits.
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
            stream.write(json.dumps(row, allow_nan=False) + "\n")


def write_parquet(frames: Iterable[pd.DataFrame], stream: IO[bytes]) -> None:
    """Writes Apache Parquet, a row group per frame."""
    try:  # Debian has no pyarrow
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise DownbeatError("parquet needs pyarrow, which is not installed; run: pip install pyarrow") from None
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


KINDS: dict[str, Kind] = {"csv": Kind(write_csv), "parquet": Kind(write_parquet, binary=True), "json": Kind(write_json)}
