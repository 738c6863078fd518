"""A process's clock from its synchronizations, and sums of what follows barriers with a common start.

Global times come with the bound of their error and the error to be expected.
"""

from __future__ import annotations

from pathlib import PurePath

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.trace.file import CALL_KINDS, Section, name_text, text

# Over minutes between two synchronizations a frequency changes by more than at once, which is the library's setting
# max_wander; a ramp does not last as long.
WANDER_OF_A_RUN = 1e-6


def wander_of_run(max_wander: float) -> float:
    """Returns by how much a frequency may change between two synchronizations of a program."""
    return max(max_wander, WANDER_OF_A_RUN)


def global_times(ticks: np.ndarray, maps: np.ndarray, max_wander: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns global times and their error bounds, in seconds.

    Between two synchronizations the line through both is taken. Its error is at most the interpolated bound of the two,
    and what a difference in frequency that wanders by max_wander can add: with rates within +-w, a curve is at most
    2 w a b / (a + b) from its chord, at distances a and b from the ends. Before the first and after the last the map of
    the nearest one is taken, whose bound grows.

    Args:
        ticks: readings of the local clock; any shape.
        maps: a row for each synchronization, with fields ticks, global_ns, ns_per_tick, bound_ns, growth; at least one.
        max_wander: largest relative change of the difference in frequency.
    """
    order = np.argsort(maps["ticks"], kind="stable")
    maps = maps[order][np.unique(maps["ticks"][order], return_index=True)[1]]
    origin = maps["ticks"][0]
    x = (ticks - origin).astype(float)
    at = (maps["ticks"] - origin).astype(float)
    base = maps["global_ns"][0]
    y = (maps["global_ns"] - base).astype(float)

    nearest = np.where(x < at[-1], 0, len(maps) - 1)
    away = (x - at[nearest]) * maps["ns_per_tick"][nearest]
    times = y[nearest] + away
    bounds = maps["bound_ns"][nearest] + np.abs(away) * maps["growth"][nearest]
    if len(maps) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(maps) - 2)
        share = (x - at[left]) / (at[left + 1] - at[left])
        length = y[left + 1] - y[left]
        drifts = np.maximum(maps["growth"][left], maps["growth"][left + 1]) > 0
        wander = np.where(drifts, 2.0 * max_wander * share * (1.0 - share) * length, 0.0)
        between = (share >= 0.0) & (share <= 1.0)
        times = np.where(between, y[left] + share * length, times)
        bounds = np.where(
            between, (1.0 - share) * maps["bound_ns"][left] + share * maps["bound_ns"][left + 1] + wander, bounds
        )
    return (times + base) * 1e-9, bounds * 1e-9


def expected_errors(ticks: np.ndarray, maps: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Returns the standard deviation of the error of times as `global_times` returns them, s.

    Between two synchronizations it is that of a chord: both ends' errors, taken as one, and what a frequency adds that
    walks at random: walk * a**2 * b**2 / (3 * (a + b)), at distances a and b from the ends (the variance of an
    integrated Wiener process that is known at both). Before the first and after the last it grows as the library says
    (Downbeat_clock). An error that lies anywhere within its bound has the variance bound**2 / 3, and none has more.

    Args:
        ticks: readings of the local clock; any shape.
        maps: as in `global_times`, with fields variance, cross, rate, walk.
        bounds: of each, s.
    """
    maps = maps[np.argsort(maps["ticks"], kind="stable")]
    origin = maps["ticks"][0]
    x = (ticks - origin).astype(float)
    at = (maps["ticks"] - origin).astype(float)
    nearest = np.where(x < at[-1], 0, len(maps) - 1)
    away = np.abs(x - at[nearest]) * maps["ns_per_tick"][nearest]
    of = maps[nearest]
    variance = of["variance"] + away * (2 * np.abs(of["cross"]) + away * (of["rate"] + away * of["walk"] / 3))
    if len(maps) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(maps) - 2)
        length = np.maximum(at[left + 1] - at[left], 1.0)
        share = (x - at[left]) / length
        length *= maps["ns_per_tick"][left]
        deviation = np.sqrt(maps["variance"])
        walk = np.maximum(maps["walk"][left], maps["walk"][left + 1])
        chord = (1.0 - share) * deviation[left] + share * deviation[left + 1]
        between = chord**2 + walk * (share * (1.0 - share)) ** 2 * length**3 / 3
        variance = np.where((share >= 0.0) & (share <= 1.0), between, variance)
    errors: np.ndarray = np.minimum(np.sqrt(variance) * 1e-9, bounds / np.sqrt(3.0))
    return errors


# Rows of several processes that have these in common are one.
SAME_STARTS = ["operation", "kind", "size_up_to", "barrier_offset", "barrier_file", "identity"]
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
            "kind": np.array(CALL_KINDS, dtype=object)[table["kind"]],
            "size_up_to": table["size"],
            "barrier_module": modules,
            "barrier_file": [PurePath(module).name for module in modules],
            "barrier_offset": site["offset"],
            "barrier_symbol": [text(one) for one in site["symbol"]],
            "communicator": [name_text(one) for one in communicator["name"]],
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
    groups = pd.concat(parts, ignore_index=True).groupby(SAME_STARTS, sort=False)
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
