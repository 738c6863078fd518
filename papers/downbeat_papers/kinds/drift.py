"""Measures the drift of clocks over time, and how well a line fits their offsets.

Pairs of ranks measure their clock offset again and again; the slope of the offset over time is the skew of the clocks.
Hunold 2015, Fig. 6 and section 6; Hoefler 2008, Fig. 5.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from downbeat.data.clock_files import DimensionTable
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Line, Panel, box_of
from downbeat.run.durations import start_seconds
from downbeat.statistics.distributions import t_quantile
from downbeat.tables import Floats, Texts, column
from downbeat.text import MICROSECONDS, evenly

from downbeat_papers.claims import Facts, Measure, Measured, between, measures_by_position
from downbeat_papers.draw import median_line
from downbeat_papers.results import Results, clocks_compared, node_count
from downbeat_papers.runs import Run, clock_variables
from downbeat_papers.site import Site

DRIFT_SECONDS, DRIFT_INTERVAL = 20.0, 0.25  # s, duration of the measurement, and time between offsets of a pair
MAX_OFFSETS = 2000  # of a pair; longer measurements have longer intervals
MAX_PAIRS = 6  # the paper compares a reference host with six others
SCALES = {"us": MICROSECONDS, "ns": 1e9}


# Obstacle of claims on drift, and sentence of captions, for clocks that were made, and for a single clock.
MADE = ("the drift that is seen was made", "The clocks are the validation clock's: nothing but their drift is made.")
ONE = ("all ranks are on one node and read one clock", "All ranks are on one node and read one clock.")


def clocks_of(files: Sequence[xr.Dataset]) -> tuple[str, str]:
    """Returns the obstacle of claims on drift, empty if the clocks are real, and the sentence of captions on clocks."""
    compared = {clocks_compared(data) for data in files}
    if "made" in compared:
        return MADE
    if "one" in compared:
        return ONE
    return "", f"The clocks are those of {max(map(node_count, files))} nodes, as they are."


def pairs_of(results: Results) -> list[str]:
    """Returns the planned pairs of ranks, e.g. "0:1"; a launch may lack some."""
    (run, *_) = results.runs
    return run.options["pairs"].split(",")


def rank_of(pair: str) -> str:
    """Returns the second rank of a pair, whose clock is compared with that of rank 0."""
    return pair.partition(":")[2]


class Drifts(DimensionTable):
    """A launch of `downbeat-bench drift`: pairs of clocks, and lines through their offsets."""

    pair: Texts = column("ranks of the pair")
    duration: Floats = column("from the first offset to the last", "s")
    at: Floats = column("instants of the offsets, shape (pairs, times)", "s")
    offset: Floats = column("offset, same shape", "s")
    offset_bound: Floats = column("bound of the error of the offset, same shape", "s")
    rtt: Floats = column("round trip, same shape", "s")
    drift: Floats = column("offset minus the first one, same shape", "s")
    residual: Floats = column("offset minus the line, same shape", "s")
    drift_ppm: Floats = column("largest |offset - first offset| / duration", "ppm")
    residual_ppm: Floats = column("largest |offset - line| / duration", "ppm")
    r_squared: Floats = column("share of the variance that the line explains", "1")
    skew_low: Floats = column("lower end of the 95 % interval of the slope", "1")
    skew_high: Floats = column("upper end of the 95 % interval of the slope", "1")

    @property
    def interval(self) -> Floats:
        """Length of the 95 % interval of the slope."""
        return self.skew_high - self.skew_low


@dataclass(frozen=True)
class Drift:
    """Clock offsets of pairs over time."""

    picture: str  # title of the picture
    caption: str  # beginning of the caption, before the sentence on clocks
    panels: Sequence[Sequence[str]]  # for each panel: variable of `Drifts`, unit, label of the axis, title

    def watched(self, site: Site) -> float:
        """Returns the duration of the measurement, s."""
        return 1.0 if site.quick else site.seconds or DRIFT_SECONDS

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.apart  # number of ranks with separate clocks
        partners = evenly(range(1, ranks), min(site.sample, MAX_PAIRS))
        seconds = self.watched(site)
        return (
            Run(
                "drift",
                site.main(),
                ranks,
                ("drift",),
                {
                    "pairs": ",".join(f"0:{rank}" for rank in partners),
                    "duration": f"{seconds:g}",
                    "interval": f"{max(DRIFT_INTERVAL, seconds / MAX_OFFSETS):g}",
                },
                seconds=start_seconds(ranks) + seconds,
                variables=clock_variables(site),
                # One launch with made clocks is enough, since no claim is decided by them.
                max_launches=1 if site.made_clocks else 0,
                ranks_per_node=site.spread(ranks),
            ),
        )

    def facts(self, results: Results) -> Facts:
        datasets = results.datasets("drift")
        files = [*map(Drifts.of, datasets)]
        not_real, _ = clocks_of(datasets)

        def largest(variable: str, scale: float = 1.0) -> np.ndarray:
            """Returns the largest absolute value of a variable in each launch, over pairs and time."""
            return np.array([float(np.abs(getattr(file, variable)).max()) * scale for file in files])

        drift = largest("drift", MICROSECONDS)
        trips = np.array([float(np.median(file.rtt)) * MICROSECONDS for file in files])
        bound = float(np.median([float(np.median(file.offset_bound)) for file in files])) * MICROSECONDS
        hidden = f"the drift is smaller than the error of an offset, {bound:.3g} us at most"
        too_small = not_real or ("" if drift.max() > bound else hidden)
        seconds = float(files[0].duration.max())
        measures: dict[str, Measured] = {
            "drift": Measure(drift, " us", obstacle=not_real),
            "round_trip": Measure(trips, " us"),
            "distance_from_a_line": Measure(largest("residual", MICROSECONDS), " us", obstacle=too_small),
        }
        if all("residual_ppm" in data for data in datasets):
            half = files[0].interval / 2 * 1e6
            linear = "the drift of these clocks is made, and made nearly a line"
            obstacle = linear if not_real == MADE[0] else not_real
            measures |= {
                "error_with_a_line": Measure(largest("residual_ppm"), " ppm", signed=True, obstacle=obstacle),
                # No obstacle, because these two are shown and decide no claim.
                "error_without": Measure(largest("drift_ppm"), " ppm", signed=True),
                "r_squared": Measure(
                    files[0].r_squared,
                    note=f"slopes known within {between(half)} ppm (95 % intervals), {seconds:.0f} s",
                ),
            }
        return Facts(measures, {"seconds": f"{seconds:.0f}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        datasets, pairs, panels = results.datasets("drift"), pairs_of(results), []
        time, first_launch = datasets[0].time.to_numpy(), Drifts.of(datasets[0].reindex(pair=pairs))
        for variable, unit, label, title in self.panels:
            values = getattr(first_launch, variable) * SCALES[unit]
            lines = [
                Line(f"rank {rank_of(pair)}", time, values[index], color=index) for index, pair in enumerate(pairs)
            ]
            panels.append(Panel(lines, "time [s]", f"{label} [{unit}]", title))
        return (make_picture(name, self.picture, f"{self.caption} {clocks_of(datasets)[1]}", panels),)


FIT_POINTS, MAX_FIT_PAIRS = 1000, 15
FIT_EXCHANGES, FIT_INTERVAL = 100, 1e-3  # exchanges of a fit point; s, from a point of a pair to one of the next pair
SETUP_SECONDS = 1.0  # estimated time of a launch before its first fit point, after the start of the ranks
DAY = 86400.0  # s
PAPER_SLOPE = 2e-8  # length of the paper's intervals of slopes
MILLISECONDS = 1e3  # per second
PAPER, CORRELATED = "independent errors, as in the paper", "errors that may be correlated"  # labels of boxes


@dataclass(frozen=True)
class LineIntervals:
    """The lengths of the 95 % intervals of lines fitted by ordinary least squares, with independent errors."""

    slope: Floats  # length of the interval of the slope, of each pair
    middle: Floats  # length of the interval of the line's value in the middle of the points, s
    center: Floats  # time from the beginning to the middle of the points, s

    def intercept(self, before: float) -> Floats:
        """Returns the length of the interval of the intercept in s.

        Args:
            before: time from the instant at which the clock was 0 to the beginning of the fit, s.
        """
        return np.asarray(np.hypot(self.middle, self.slope * (self.center + before)))


def line_intervals(at: Floats, offsets: Floats) -> LineIntervals:
    """Fits lines to offsets in s at times, both of shape (pairs, points)."""
    count, center = at.shape[1], at.mean(axis=1, keepdims=True)
    x, y = at - center, offsets - offsets.mean(axis=1, keepdims=True)
    squares = (x**2).sum(axis=1)
    slope = (x * y).sum(axis=1) / squares
    residual = y - x * slope[:, None]
    deviation = np.sqrt((residual**2).sum(axis=1) / (count - 2))
    length = 2 * t_quantile(count - 2, 0.975) * deviation
    return LineIntervals(length / np.sqrt(squares), length / np.sqrt(count), center[:, 0])


class DriftModels:
    """The intervals of slope and intercept of the clock models (Hunold 2015, section 6)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.alone  # number of ranks with a node each
        points = 100 if site.quick else FIT_POINTS
        partners = evenly(range(1, ranks), MAX_FIT_PAIRS)
        interval = FIT_INTERVAL * len(partners)
        options = {
            "pairs": ",".join(f"0:{rank}" for rank in partners),
            "duration": f"{interval * (points - 1):g}",
            "interval": f"{interval:g}",
            "estimator": f"mean_rtt(exchanges={FIT_EXCHANGES})",
            "rounds": "1",
        }
        seconds = start_seconds(ranks) + SETUP_SECONDS + interval * points
        variables = clock_variables(site)
        return (Run("models", site.main(), ranks, ("drift",), options, variables, seconds=seconds, ranks_per_node=1),)

    def fits(self, results: Results) -> tuple[list[Drifts], list[LineIntervals]]:
        """Returns the offsets and the intervals of each launch; NaN for pairs that a launch lacks."""
        files = [Drifts.of(data.reindex(pair=pairs_of(results))) for data in results.datasets("models")]
        return files, [line_intervals(file.at, file.offset) for file in files]

    def facts(self, results: Results) -> Facts:
        files, fits = self.fits(results)
        crowding = results.crowding(results.runs[0].ranks)
        trips = np.array([np.median(file.rtt, axis=1) for file in files]) * MICROSECONDS

        def by_rank(values: Floats, unit: str = "") -> dict[str, Measure]:
            """Returns measures of values of shape (launches, pairs)."""
            ranks = map(rank_of, pairs_of(results))
            return measures_by_position(dict(zip(ranks, values.T, strict=True)), unit, "rank {}", obstacle=crowding)

        intercepts = {
            days: np.array([fit.intercept(days * DAY) for fit in fits]) * MICROSECONDS for days in (0, 1, 100)
        }
        measures: dict[str, Measured] = {
            "slope": by_rank(np.array([fit.slope for fit in fits])),
            "slope_of_correlated_errors": by_rank(np.array([file.interval for file in files])),
            "offset": by_rank(trips, " us"),
            "intercept_at_the_beginning": by_rank(intercepts[0], " us"),
            "intercept_after_a_day": by_rank(intercepts[1], " us"),
            "intercept_after_100_days": by_rank(intercepts[100], " us"),
        }
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        files, fits = self.fits(results)
        slopes = {PAPER: [fit.slope for fit in fits], CORRELATED: [file.interval for file in files]}
        boxes = [
            box_of(rank_of(pair), label, [launch[index] for launch in launches])
            for index, pair in enumerate(pairs_of(results))
            for label, launches in slopes.items()
        ]
        days = np.logspace(-3, 2, 6)  # from 0.001 to 100
        lengths = [[np.nanmedian(fit.intercept(before * DAY)) * MILLISECONDS for fit in fits] for before in days]
        trip = float(np.median([np.median(file.rtt) for file in files])) * MILLISECONDS
        lines = [
            median_line("intercept of the line", days, lengths, 0),
            Line("a measured offset", days, np.full(days.shape, trip), color=2, marker=NO_MARKER),
        ]
        caption = (
            f"Lines through offsets of {files[0].at.shape[1]} fit points, each the median of {FIT_EXCHANGES} "
            "exchanges. First panel: each pair, all launches; the thin line is the paper's 2e-8. Errors that may be "
            "correlated: the interval of downbeat-bench. Second panel: the median over pairs, by how long before the "
            "fit the clock was at 0, as when a machine was started; an offset is known to within its round trip. "
            f"There, median over launches, bars: smallest to largest. {clocks_of(results.datasets('models'))[1]}"
        )
        panels = [
            Panel(boxes, "rank", "length of the interval", "slope", y_scale="log", y_at=PAPER_SLOPE),
            Panel(lines, "days since the clock was at 0", "length of the interval [ms]", "intercept", "log", "log"),
        ]
        return (make_picture(name, "How well slope and intercept of clock models are known", caption, panels),)
