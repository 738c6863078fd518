"""Adds up the samples of operations after harmonized barriers, over all processes.

libdownbeat-preload can let all ranks leave MPI_Barrier at a common start. A sample is the duration of the collective
that follows on one process. Flags say for each sample whether all processes left the barrier in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.clocks import NS
from downbeat.trace.file import CALL_KINDS, Section, name_text, text


class Starts(Table):
    """Samples by operation, size class and barrier; NaN where no sample's flags are known."""

    operation: Texts = column("the operation after the barrier")
    kind: Texts = column("blocking, nonblocking or persistent")
    size_up_to: Ints = column("largest size of the size class", "B")
    barrier_offset: Ints = column("return address of the barrier in its module", "B")
    barrier_module: Texts = column("path of the module that calls the barrier")
    barrier_symbol: Texts = column("function that calls the barrier")
    communicator: Texts = column("name of the communicator")
    ranks: Ints = column("processes that have samples", "1")
    samples: Ints = column("samples", "1")
    valid: Ints = column("samples whose flags are all 1", "1")
    rejected: Ints = column("samples with a flag of 0", "1")
    skipped: Ints = column("warm-up samples that are left out", "1")
    unresolved: Ints = column("samples whose flags are not known", "1")
    rejected_share: Floats = column("rejected samples as a share of the samples whose flags are known", "1")
    mean_s: Floats = column("mean time of the operation, over samples and processes", "s")
    mean_of_fastest_rank_s: Floats = column("mean time of the process with the shortest mean", "s")
    mean_of_slowest_rank_s: Floats = column("mean time of the process with the longest mean", "s")
    min_s: Floats = column("shortest sample of any process", "s")
    max_s: Floats = column("longest sample of any process", "s")
    valid_mean_s: Floats = column("mean time of the valid samples", "s")
    spread_mean_s: Floats = column("lateness of the last process to leave the barrier, mean", "s")
    spread_max_s: Floats = column("lateness of the last process to leave the barrier, largest", "s")
    error_bound_s: Floats = column("largest possible error of the lateness", "s")


# Rows of several processes with equal values of these columns are joined.
SAME_STARTS = ["operation", "kind", "size_up_to", "barrier_offset", "barrier_file", "identity"]


def starts_of(sections: Sequence[Section]) -> Starts:
    """Adds up the samples of all processes."""
    processes = []
    for section in sections:
        with reading(section.path):
            table = section.tables.starts[section.tables.starts["samples"] > 0]
            site, communicator = (
                np.append(entries, np.zeros(1, entries.dtype))[np.minimum(index, len(entries))]  # the last: not known
                for index, entries in (
                    (table["barrier_site"], section.tables.sites),
                    (table["communicator"], section.tables.communicators),
                )
            )
            names = {
                "operation": np.array(section.operations, dtype=object)[table["operation"]],
                "kind": np.array(CALL_KINDS, dtype=object)[table["kind"]],
                "size_up_to": table["size"],
                "barrier_module": [text(name) for name in site["module"]],
                "barrier_file": [PurePath(text(name)).name for name in site["module"]],
                "barrier_offset": site["offset"],
                "barrier_symbol": [text(name) for name in site["symbol"]],
                "communicator": [name_text(name) for name in communicator["name"]],
                "identity": communicator["identity"],
            }
            numbers = {name: table[name] for name in table.dtype.names or () if name not in (*names, "size")}
            processes.append(pd.DataFrame(numbers | names).assign(mean_ns=table["sum_ns"] / table["samples"]))
    groups = pd.concat(processes, ignore_index=True).groupby(SAME_STARTS, sort=False)
    shared = groups.first()  # equal on all processes, except the path of the barrier's module
    known = shared.valid + shared.rejected
    resolved = known.where(known > 0)
    sums = shared.assign(
        ranks=groups.size(),
        unresolved=shared.samples - known,
        rejected_share=shared.rejected / resolved,
        mean_s=groups.mean_ns.mean() * NS,
        mean_of_fastest_rank_s=groups.mean_ns.min() * NS,
        mean_of_slowest_rank_s=groups.mean_ns.max() * NS,
        min_s=groups.min_ns.min() * NS,
        max_s=groups.max_ns.max() * NS,
        valid_mean_s=groups.valid_sum_ns.sum() / (shared.valid.where(shared.valid > 0) * groups.size()) * NS,
        spread_mean_s=shared.lateness_sum_ns / resolved * NS,
        spread_max_s=shared.lateness_max_ns.where(known > 0) * NS,
        error_bound_s=groups.bound_max_ns.max().where(known > 0) * NS,
    )
    return Starts.of_frame(sums.reset_index())
