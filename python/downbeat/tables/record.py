"""Numbers of a table as a file for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from downbeat.base.files import write_text


def write_record(content: Mapping[str, object], path: Path) -> None:
    """Writes JSON: null for NaN, "infinite" for infinity.

    Args:
        content: numbers, texts, lists and mappings.
        path: file to write; `-` for standard output.

    Raises:
        DownbeatError: the file cannot be written.
    """
    write_text(path, json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


def plain(value: object) -> object:
    """Returns a value as JSON knows it."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
