"""Launches of a tuning that did not count, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from downbeat.comparison.matching import launches
from downbeat.data.countable import WRONG, left_out


@dataclass(frozen=True)
class LeftOut:
    """Cells of one status."""

    where: str  # part of the tuning: its directory
    status: str
    cells: tuple[str, ...]  # each with its launches


def find_left_out(where: str, frame: pd.DataFrame, factor: str) -> list[LeftOut]:
    """Returns what did not count, wrong results left out: these have consequences of their own.

    Args:
        where: the part of the tuning.
        frame: its cells of launches.
        factor: what they were measured under, apart from synchronizers: `algorithm` or `environment`.
    """
    keys = ["collective", "ranks", "size", factor, "synchronizer"]
    found = []
    for status, rows in left_out(frame).items():
        names = tuple(
            f"{collective} of {size:g} bytes on {ranks} ranks by {level}, {synchronizer}: {launches(some)}"
            for (collective, ranks, size, level, synchronizer), some in rows.groupby(keys)
        )
        if status != WRONG:
            found.append(LeftOut(where, status, names))
    return found
