"""In what pattern ranks leave a synchronizer: the mean over samples of each rank's exit after the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.launch_file import CELL_FACTORS, open_samples, read_cells
from downbeat.data.samples import CHUNK_BYTES, native


def exit_pattern(path: str | Path) -> pd.DataFrame:
    """Computes when each rank leaves each synchronizer, after the first of the same sample (Hunold 2015, Fig. 4).

    The instant is that of entering the operation, planned delays taken out. Memory does not grow with samples.

    Args:
        path: a file `.nc` with samples of operations.

    Returns:
        One row per cell with valid samples and rank: `CELL_FACTORS`, `rank`, `exit` in s, and `samples`, their number.

    Raises:
        UsageError: a file that `open_launch` would refuse.
    """
    with open_samples(path) as file:
        cells = read_cells(file)
        index = native(file.variables["cell_index"][:])
        valid = native(file.variables["verdict"][:]) == 0
        samples, ranks = file.variables["entry"].shape
        sums = np.zeros((len(cells), ranks))
        chunk = max(1, CHUNK_BYTES // (8 * ranks))
        for start in range(0, samples, chunk):
            rows = slice(start, start + chunk)
            entry, delay = (native(file.variables[name][rows]) for name in ("entry", "delay"))
            left = entry - delay
            after_first = left - left.min(axis=1, keepdims=True)
            for cell in np.unique(index[rows]):
                sums[cell] += after_first[valid[rows] & (index[rows] == cell)].sum(axis=0)
    counts = np.bincount(index[valid], minlength=len(cells))
    measured = np.flatnonzero(counts)
    frame = cells.loc[np.repeat(measured, ranks), list(CELL_FACTORS)].reset_index(drop=True)
    return frame.assign(
        rank=np.tile(np.arange(ranks), len(measured)),
        exit=(sums[measured] / counts[measured, None]).ravel(),
        samples=np.repeat(counts[measured], ranks),
    )
