"""Reads results of experiments on clocks and synchronizers as tables; docs/data.md has the variables of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from downbeat.output.facts.clocks import ExitSkew, ExitSkews
from downbeat.tables import Floats, Ints, Table, Texts, column

if TYPE_CHECKING:
    import xarray as xr


class DimensionTable(Table):
    """Base of tables whose columns are variables of a file; a row is an index of the dimension of the first column.

    The other variables have this dimension, too, and may have further ones.
    """

    @classmethod
    def of(cls, data: xr.Dataset) -> Self:
        """Makes the table of a file; the values of a missing variable are NaN."""
        dimension = cls.columns()[0].name
        data = data.transpose(dimension, ...)
        columns = {}
        for name in (field.name for field in cls.columns()):
            if name in data:
                values = data[name].to_numpy()
                columns[name] = values.astype(object) if values.dtype.kind == "U" else values  # texts are objects
            else:
                columns[name] = np.full(data.sizes[dimension], np.nan)
        return cls(**columns)


class Schemes(DimensionTable):
    """Schemes that synchronize clocks, from `downbeat-bench clock`."""

    scheme: Texts = column("scheme with its parameters")
    duration_median: Floats = column("duration of a synchronization, median over repetitions", "s")
    offset_max: Floats = column("measured offset, largest over ranks, shape (schemes, waits)", "s")
    true_max: Floats = column("true error, largest over ranks, shape (schemes, waits); NaN: not known", "s")
    outside: Floats = column("share of offsets beyond their bounds, shape (schemes, waits)")

    @property
    def errors(self) -> tuple[str, Floats]:
        """Name and values of the errors to judge schemes by: true errors if known, else measured offsets."""
        if self.true_max.ndim > 1:
            return "true error", self.true_max
        return "measured offset", self.offset_max


class DriftingPairs(DimensionTable):
    """Pairs of local clocks without correction, from `downbeat-bench drift`."""

    pair: Texts = column("ranks of the pair")
    skew: Floats = column("slope of a straight line through the offsets")
    residual_max: Floats = column("largest distance of an offset from the line", "s")
    prediction_error: Floats = column("error of the line at the end, fitted to the first half", "s")
    drift: Floats = column("offset minus the first offset, shape (pairs, times)", "s")
    residual: Floats = column("offset minus the line, shape (pairs, times)", "s")
    offset_bound: Floats = column("bound of the error of an offset, shape (pairs, times)", "s")

    @property
    def beyond_bounds(self) -> list[bool]:
        """Flags of the pairs whose drift exceeds the error bounds of its two offsets."""
        allowed = self.offset_bound + self.offset_bound[:, :1]
        return list(map(bool, np.any(np.abs(self.drift) > allowed, axis=1)))


class TripPairs(DimensionTable):
    """Round trips of pairs of ranks, from `downbeat-bench rtt`."""

    pair: Texts = column("ranks of the pair")
    rtt_min: Floats = column("shortest round trip", "s")
    rtt_median: Floats = column("median round trip", "s")
    rtt_p99: Floats = column("99 % of the round trips are shorter", "s")
    histogram_width: Floats = column("width of a bin", "s")
    histogram_left: Floats = column("left end of each bin, shape (pairs, bins)", "s")
    histogram_count: Ints = column("round trips in each bin, shape (pairs, bins)", "1")


class SynchronizerSkews(DimensionTable):
    """Exits of ranks from synchronizers, from `downbeat-bench skew`."""

    synchronizer: Texts = column("synchronizer")
    skew_p5: Floats = column("5 % of the skews are below", "s")
    skew_p25: Floats = column("25 % of the skews are below", "s")
    skew_median: Floats = column("median skew", "s")
    skew_p75: Floats = column("75 % of the skews are below", "s")
    skew_p95: Floats = column("95 % of the skews are below", "s")
    skew_p99: Floats = column("99 % of the skews are below", "s")
    error_bound: Floats = column("bound of the clock's error", "s")
    exit_mean: Floats = column("mean exit of each rank after the first, shape (synchronizers, ranks)", "s")
    exit_half: Floats = column("half of the 95 % interval of exit_mean, shape (synchronizers, ranks)", "s")


class Edges(DimensionTable):
    """Edges: comparisons of the clocks of two ranks, by schemes that make them, from `downbeat-bench clock`."""

    edge: Ints = column("number of the comparison")
    edge_scheme: Texts = column("scheme")
    edge_rank: Ints = column("rank")
    edge_partner: Ints = column("partner")
    edge_residual: Floats = column("how far the partner's clock is ahead of what all comparisons agree on", "s")


def exit_skews(ranges: dict[str, tuple[float, float]], error_bound: float, ranks: int = 0) -> ExitSkews:
    """Makes the fact on exit skews: synchronizers with skews below the error of the clocks, and the skews of others.

    Args:
        ranges: synchronizer -> smallest and largest median exit skew, s.
        error_bound: error bound of the clock, s. A skew is a difference of two times, so its error bound is twice this.
        ranks: number of ranks to report; 0: it is not reported.
    """
    limit = 2 * error_bound
    below = tuple(name for name, (_, high) in ranges.items() if high < limit)
    above = [ExitSkew(name, low, high) for name, (low, high) in ranges.items() if high >= limit]
    return ExitSkews(limit, ranks, below, tuple(sorted(above, key=lambda skew: skew.high)))
