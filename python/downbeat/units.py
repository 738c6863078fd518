"""Units: what times and shares are multiplied by to be shown, sizes as words, and the units of a frame's columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MICROSECONDS = 1e6  # per second
PERCENT = 100.0


class Units(dict[str, str]):
    """The units of a frame's columns, its `attrs["units"]`; never changed once made.

    pandas copies attributes deeply whenever it slices a frame. That took more time than the slices themselves.
    """

    def __deepcopy__(self, memo: object) -> Units:
        return self


def bytes_text(size: float) -> str:
    """Returns a message size as it is written on command lines: 65536 is 64K."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{int(size) // factor}{letter}"
    return f"{size:g}"


def microseconds(seconds: float) -> str:
    """Returns a time in us: three decimals below 10 us, two above; three digits below 0.01 us; `-` for none."""
    if math.isnan(seconds):
        return "-"
    value = seconds * MICROSECONDS
    if 0 < abs(value) < 0.01:
        return f"{value:.{min(2 - math.floor(math.log10(abs(value))), 5)}f}"
    return f"{value:.{3 if abs(value) < 10 else 2}f}"


def named_with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame whose columns say their units, as downbeat-bench's CSV: `makespan_median_s`, `size_byte`."""
    return frame.rename(columns={name: f"{name}_{unit}" for name, unit in frame.attrs["units"].items()})


def shared_units(names: pd.Index, *frames: pd.DataFrame) -> Units:
    """Returns the units of columns, of those that are also in other frames, which know them."""
    known = {name: unit for frame in frames for name, unit in frame.attrs.get("units", {}).items()}
    return Units({name: unit for name, unit in known.items() if name in names})
