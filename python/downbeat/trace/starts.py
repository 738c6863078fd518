"""Sums that libdownbeat-preload keeps of what follows barriers with a common start."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.trace.file import KINDS, Section, text

# Rows of several processes that have these in common are one.
SAME = ["operation", "kind", "size_up_to", "barrier_offset", "barrier_file", "identity"]
NS = 1e-9


def rows_of(section: Section) -> pd.DataFrame:
    """Returns the rows of a process that have samples, with the names of what they refer to; times in ns."""
    table, sites, communicators = (section.tables[name] for name in ("starts", "sites", "communicators"))
    table = table[table["samples"] > 0]
    site, communicator = (
        np.append(known, np.zeros(1, known.dtype))[np.minimum(table[name], len(known))]  # the last: not known
        for name, known in (("barrier_site", sites), ("communicator", communicators))
    )
    modules = [text(one) for one in site["module"]]
    return pd.DataFrame(
        {
            "operation": np.array(section.operations, dtype=object)[table["operation"]],
            "kind": np.array(KINDS, dtype=object)[table["kind"]],
            "size_up_to": table["size"],
            "barrier_module": modules,
            "barrier_file": [PurePath(module).name for module in modules],
            "barrier_offset": site["offset"],
            "barrier_symbol": [text(one) for one in site["symbol"]],
            "communicator": [text(one) for one in communicator["name"]],
            "identity": communicator["identity"],
            **{name: table[name] for name in table.dtype.names or () if name.endswith("_ns")},
            **{name: table[name] for name in ("samples", "valid", "rejected", "skipped")},
            "mean_ns": table["sum_ns"] / table["samples"],
        }
    )


def starts_of(sections: list[Section]) -> pd.DataFrame:
    """Returns a row per barrier, communicator, following operation and class of sizes; times in s.

    Columns: operation, kind, size_up_to, barrier_module, barrier_offset, barrier_symbol, communicator, ranks, samples,
    valid (all flags were 1), rejected (one was 0), unresolved (not known), skipped, rejected_share, mean_s,
    mean_of_fastest_rank_s, mean_of_slowest_rank_s, min_s, max_s, valid_mean_s, spread_mean_s and spread_max_s (how late
    the latest rank left), error_bound_s. NaN where no sample is resolved.
    """
    parts = []
    for section in sections:
        with reading(section.path):
            parts.append(rows_of(section))
    groups = pd.concat(parts, ignore_index=True).groupby(SAME, sort=False)
    own = groups.first()  # the same on all processes, but for the barrier's path
    known = own["valid"] + own["rejected"]
    resolved = known.where(known > 0)
    samples = own["valid"].where(own["valid"] > 0) * groups.size()
    found = own[["barrier_module", "barrier_symbol", "communicator"]].assign(
        ranks=groups.size(),
        **{name: own[name] for name in ("samples", "valid", "rejected", "skipped")},
        unresolved=own["samples"] - known,
        rejected_share=own["rejected"] / resolved,
        mean_s=groups["mean_ns"].mean() * NS,
        mean_of_fastest_rank_s=groups["mean_ns"].min() * NS,
        mean_of_slowest_rank_s=groups["mean_ns"].max() * NS,
        min_s=groups["min_ns"].min() * NS,
        max_s=groups["max_ns"].max() * NS,
        valid_mean_s=groups["valid_sum_ns"].sum() / samples * NS,
        spread_mean_s=own["lateness_sum_ns"] / resolved * NS,
        spread_max_s=own["lateness_max_ns"].where(known > 0) * NS,
        error_bound_s=groups["bound_max_ns"].max().where(known > 0) * NS,
    )
    return found.reset_index().drop(columns=["barrier_file", "identity"])
