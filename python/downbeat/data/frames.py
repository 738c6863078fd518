"""What can be exported of an experiment, one frame per launch, so that memory holds one launch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from downbeat.data.launch_file import CELL_FACTORS, open_samples, read_cells
from downbeat.data.samples import native
from downbeat.experiment.experiment import Experiment, Launch
from downbeat.experiment.plan import LAUNCH_FACTORS

VERDICTS = pd.Index(["valid", "late_flag", "late_entry", "warmup"])
LARGEST = 1 << 20  # rows of stamps in a frame


def cells(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per cell: `summarize_cells`."""
    yield launch.cells.drop(columns="cell")


def samples(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per sample: what its cell is, its verdict, its metrics."""
    data = launch.samples().to_dataframe()
    data["verdict"] = pd.Categorical.from_codes(data["verdict"].to_numpy(), categories=VERDICTS)
    index = data.pop("cell_index").to_numpy()
    yield pd.concat([launch.cells.loc[index, list(CELL_FACTORS)].set_index(data.index), data], axis=1)


def stamps(launch: Launch) -> Iterator[pd.DataFrame]:
    """Yields a row per sample and rank: what the rank stamped, on the global clock."""
    with open_samples(launch.path) as file:
        described = read_cells(file)[list(CELL_FACTORS)]
        count, ranks = file.variables["entry"].shape
        step = max(1, LARGEST // ranks)
        for start in range(0, max(count, 1), step):  # also of no samples a frame, which has the columns
            rows = slice(start, min(start + step, count))
            taken = rows.stop - rows.start
            index = np.repeat(native(file.variables["cell_index"][rows]), ranks)
            frame = described.loc[index].reset_index(drop=True)
            frame["attempt"] = np.repeat(native(file.variables["attempt"][rows]), ranks)
            frame["verdict"] = pd.Categorical.from_codes(
                np.repeat(file.variables["verdict"][rows], ranks), categories=VERDICTS
            )
            frame["rank"] = np.tile(np.arange(ranks), taken)
            for name in ("sync_entry", "entry", "exit", "delay"):
                frame[name] = native(file.variables[name][rows]).ravel()
            frame["flag"] = file.variables["flag"][rows].ravel()
            yield frame


ROWS: dict[str, Callable[[Launch], Iterator[pd.DataFrame]]] = {"cells": cells, "samples": samples, "stamps": stamps}


def frames(experiment: Experiment, rows: str) -> Iterator[pd.DataFrame]:
    """Yields the frames of an experiment, launch by launch, each with the factors of its launch in front.

    Args:
        experiment: what to export.
        rows: one of `ROWS`.
    """
    for launch in experiment.launches:
        for frame in ROWS[rows](launch):
            for position, name in enumerate((*LAUNCH_FACTORS, "launch")):
                # A file of ranks' stamps has a column `rank`; that of the launch is their number.
                frame.insert(position, name, launch.number if name == "launch" else getattr(launch, name))
            yield frame
