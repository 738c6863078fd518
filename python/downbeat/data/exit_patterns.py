"""Computes the mean time at which each rank leaves each synchronizer, after the first rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from downbeat.data.cells import Cells
from downbeat.data.launch_file import open_samples, read_cells
from downbeat.data.samples import native
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column

# Bytes that are read of each variable at a time: few passes, and little memory.
CHUNK_BYTES = 32 << 20


class Exits(Table):
    """The mean exit of each rank from the synchronizer of each cell with valid samples."""

    started_by: Texts = column("synchronizer with its algorithm and timing scheme, as `Cells.started_by`")
    plain: Flags = column("cells without planned delays and computation")
    rank: Ints = column("rank in MPI_COMM_WORLD")
    exit_s: Floats = column("mean time from the first exit of the same sample to the rank's", "s")


def exit_pattern(path: str | Path) -> Exits:
    """Computes when each rank leaves each synchronizer, after the first of the same sample (Hunold 2015, Fig. 4).

    A rank leaves the synchronizer when it enters the operation, minus its planned delay. Memory does not grow with
    samples.

    Args:
        path: a file `.nc` with samples of operations.

    Raises:
        UsageError: a file that `open_launch` would refuse.
    """
    with open_samples(path) as file:
        cells = Cells.of(read_cells(file))
        index = native(file.variables["cell_index"][:])
        valid = native(file.variables["verdict"][:]) == 0  # 0: valid (docs/data.md)
        samples, ranks = file.variables["entry"].shape
        sums = np.zeros((len(cells), ranks))  # of the exits in valid samples, s
        chunk = max(1, CHUNK_BYTES // (8 * ranks))  # samples
        for start in range(0, samples, chunk):
            rows = slice(start, start + chunk)
            exits = native(file.variables["entry"][rows]) - native(file.variables["delay"][rows])
            after_first = exits - exits.min(axis=1, keepdims=True)
            for cell in np.unique(index[rows]):
                sums[cell] += after_first[valid[rows] & (index[rows] == cell)].sum(axis=0)
    counts = np.bincount(index[valid], minlength=len(cells))
    measured = np.flatnonzero(counts)  # cells with valid samples
    measured_cells = cells[np.repeat(measured, ranks)]
    return Exits(
        started_by=measured_cells.started_by,
        plain=measured_cells.alone,
        rank=np.tile(np.arange(ranks), len(measured)),
        exit_s=(sums[measured] / counts[measured, None]).ravel(),
    )
