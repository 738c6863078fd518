"""A comparison as a file for programs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.errors import DownbeatError
from downbeat.experiment.durable import replacing

SCHEMA_VERSION = 1
COUNTS = ("launches_a", "launches_b", "launches_needed")


def write_record(frame: pd.DataFrame, path: Path) -> None:
    """Writes what `compare` found as JSON: its attributes, and `cells`, an object per cell, times in s, null for NaN.

    Raises:
        DownbeatError: the file cannot be written.
    """
    # Pandas makes numbers with a fraction of counts where a cell has none.
    rows = [
        {name: plain(int(value) if name in COUNTS and np.isfinite(value) else value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    about = {name: plain(value) for name, value in frame.attrs.items()}
    content = {"schema_version": SCHEMA_VERSION, **about, "cells": rows}
    try:
        with replacing(path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise DownbeatError(f"'{path}' cannot be written: {error.strerror}") from error


def plain(value: object) -> object:
    """Returns a value as JSON knows it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
