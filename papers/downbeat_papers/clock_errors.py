"""How wrong clocks were: true errors where these are known, else measured offsets with the bounds of measurement.

True errors are known where the validation clock made the clocks of one node. Between nodes there are measured offsets
alone, which is what the papers have; the bound of each, half of its round trip, says how far off the truth may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from downbeat.units import MICROSECONDS


@dataclass(frozen=True)
class ErrorKind:
    """One way to say how wrong clocks were.

    Attributes:
        title: of a panel or a box.
        words: in sentences.
        of: returns it from a file of the experiment `clock`, in s, shape (scheme, repetition, wait, rank).
    """

    title: str
    words: str
    of: Callable[[xr.Dataset], np.ndarray]

    def pooled(self, files: Sequence[xr.Dataset]) -> np.ndarray:
        """Returns it in us for all ranks but 0 of all files, where it was measured; shape (values,)."""
        values = np.concatenate([self.of(data)[..., 1:].ravel() for data in files]) * MICROSECONDS
        return np.asarray(values[np.isfinite(values)])


def magnitude(data: xr.Dataset, variable: str) -> np.ndarray:
    return np.asarray(np.abs(data[variable].to_numpy()))


MEASURED = ErrorKind("measured, as in the paper", "measured offset", lambda data: magnitude(data, "offset"))
TRUE = ErrorKind("true error", "true error", lambda data: magnitude(data, "true_error"))
POSSIBLE = ErrorKind(
    "measured, plus its bound",
    "measured offset plus its bound",
    lambda data: magnitude(data, "offset") + data["offset_bound"].to_numpy(),
)


def shown(files: Sequence[xr.Dataset]) -> tuple[ErrorKind, ErrorKind]:
    """Returns what is drawn: measured offsets, and beside them the truth or, if unknown, the most that it can be."""
    return MEASURED, TRUE if all("true_error" in data for data in files) else POSSIBLE


def judged(files: Sequence[xr.Dataset]) -> ErrorKind:
    """Returns what claims are judged by: the truth if it is known, else what the papers had."""
    return TRUE if shown(files)[1] is TRUE else MEASURED


def explained(files: Sequence[xr.Dataset]) -> str:
    """Says for a caption what is drawn beside the measured offsets."""
    if judged(files) is TRUE:
        return f"the true error, computed from the clocks that were made{sampled(files)}"
    return (
        "measured offset plus its bound, the most that the error can be; true errors are not known between nodes"
        f"{sampled(files)}"
    )


def sampled(files: Sequence[xr.Dataset]) -> str:
    """Says for a caption where not all ranks were measured; empty: all were."""
    found = {
        data.sizes["rank"]: int(data["checked"].sum())
        for data in files
        if "checked" in data and int(data["checked"].sum()) < data.sizes["rank"] - 1
    }
    parts = [f"{count} of {ranks} ranks" for ranks, count in sorted(found.items())]
    return f"; offsets are measured to a sample, {', '.join(parts)}, drawn from the upper half" if parts else ""


def within(files: Sequence[xr.Dataset]) -> str:
    """Says for a finding how exactly its numbers are known; empty: they are true errors."""
    if judged(files) is TRUE:
        return ""
    bounds = np.concatenate([data["offset_bound"].to_numpy()[..., 1:].ravel() for data in files]) * MICROSECONDS
    return f"; the error of each is known to within {np.nanmedian(bounds):.3g} us (median bound)"
