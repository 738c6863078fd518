"""A comparison as a file for programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.tables import record

SCHEMA_VERSION = 1
COUNTS = ("launches_a", "launches_b", "launches_needed", "sessions")


def write_record(frame: pd.DataFrame, path: Path) -> None:
    """Writes the result of `compare` as JSON: its attributes, and `cells`, an object per cell; times in s.

    Raises:
        DownbeatError: the file cannot be written.
    """
    # Pandas makes numbers with a fraction of counts where a cell has none.
    rows = [
        {name: int(value) if name in COUNTS and np.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    record.write_record(
        {"schema_version": SCHEMA_VERSION, **{str(name): value for name, value in frame.attrs.items()}, "cells": rows},
        path,
    )
