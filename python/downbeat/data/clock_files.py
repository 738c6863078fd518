"""Reads results of experiments on clocks and synchronizers as tables; docs/data.md has the variables of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from downbeat.output.facts.clocks import ExitSkew, ExitSkews
from downbeat.tables import Floats, Ints, Table, Texts, column

if TYPE_CHECKING:
    import xarray as xr


class OfDimension(Table):
    """Base of tables of a file's variables. The first column names the dimension of the rows; others may follow it."""

    @classmethod
    def of(cls, data: xr.Dataset) -> Self:
        """Returns the table of a file; NaN for variables that it lacks."""
        data = data.transpose(cls.columns()[0].name, ...)
        rows = data.sizes[cls.columns()[0].name]
        values = {each.name: data.get(each.name) for each in cls.columns()}
        return cls(
            **{
                name: np.full(rows, np.nan)
                if variable is None
                else variable.to_numpy().astype(object if variable.dtype.kind == "U" else variable.dtype)
                for name, variable in values.items()
            }
        )


class Schemes(OfDimension):
    """Schemes that synchronize clocks, from `downbeat-bench clock`."""

    scheme: Texts = column("scheme with its parameters")
    duration_median: Floats = column("duration of a synchronization, median over repetitions", "s")
    offset_max: Floats = column("measured offset, largest over ranks, shape (schemes, waits)", "s")
    true_max: Floats = column("true error, largest over ranks, shape (schemes, waits); NaN: not known", "s")
    outside: Floats = column("share of offsets beyond their bounds, shape (schemes, waits)")

    @property
    def errors(self) -> tuple[str, Floats]:
        """Name and values of the errors that decide: true errors if known, else measured offsets."""
        if self.true_max.ndim > 1:
            return "true error", self.true_max
        return "measured offset", self.offset_max


class DriftingPairs(OfDimension):
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


class TripPairs(OfDimension):
    """Round trips of pairs of ranks, from `downbeat-bench rtt`."""

    pair: Texts = column("ranks of the pair")
    rtt_min: Floats = column("shortest round trip", "s")
    rtt_median: Floats = column("median round trip", "s")
    rtt_p99: Floats = column("99 % of the round trips are shorter", "s")
    histogram_width: Floats = column("width of a bin", "s")
    histogram_left: Floats = column("left end of each bin, shape (pairs, bins)", "s")
    histogram_count: Ints = column("round trips in each bin, shape (pairs, bins)", "1")


class SynchronizerSkews(OfDimension):
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


class Edges(OfDimension):
    """Comparisons of ranks with partners, by schemes that make them, from `downbeat-bench clock`."""

    edge: Ints = column("number of the comparison")
    edge_scheme: Texts = column("scheme")
    edge_rank: Ints = column("rank")
    edge_partner: Ints = column("partner")
    edge_residual: Floats = column("how far the partner's clock is ahead of what all comparisons agree on", "s")


def exit_skews(ranges: dict[str, tuple[float, float]], error_bound: float, ranks: int = 0) -> ExitSkews:
    """Returns the exit skews of synchronizers.

    Args:
        ranges: smallest and largest median exit skew, s, by synchronizer.
        error_bound: error bound of the clock, s, of either end of a skew.
        ranks: number of ranks to report; 0: it is not reported.
    """
    limit = 2 * error_bound
    above = sorted((ExitSkew(name, *ends) for name, ends in ranges.items() if ends[1] >= limit), key=lambda s: s.high)
    return ExitSkews(limit, ranks, tuple(name for name, ends in ranges.items() if ends[1] < limit), tuple(above))
