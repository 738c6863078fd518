"""Clocks that drift apart, and the line that is fitted to their offsets.

Hunold 2015, Fig. 6 and section 6; Hoefler 2008, Fig. 5.
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

from downbeat_papers.claims import Facts, Measure, Measured, between, each
from downbeat_papers.draw import median_line
from downbeat_papers.results import Results, clocks_seen, nodes_seen
from downbeat_papers.runs import Run, made
from downbeat_papers.site import Site

DRIFT_SECONDS, DRIFT_INTERVAL = 20.0, 0.25  # s
MOST_OFFSETS = 2000  # of a pair; of longer drifts fewer per second
PAIRS = 6  # of a reference host with others, in the paper
SCALES = {"us": MICROSECONDS, "ns": 1e9}


# Whose clocks launches compared; why that says nothing about real clocks' drift; and the words of a caption.
MADE = ("the drift that is seen was made", "The clocks are the validation clock's: nothing but their drift is made.")
ONE = ("all ranks are on one node and read one clock", "All ranks are on one node and read one clock.")


def clocks_of(files: Sequence[xr.Dataset]) -> tuple[str, str]:
    """Returns the obstacle, empty if the clocks are real, and the words of a caption."""
    seen = {clocks_seen(data) for data in files}
    if "made" in seen:
        return MADE
    return ONE if "one" in seen else ("", f"The clocks are those of {max(map(nodes_seen, files))} nodes, as they are.")


def pairs_of(results: Results) -> list[str]:
    """Returns the pairs that were to be measured, as "0:1"."""
    (run, *_) = results.runs
    return run.options["pairs"].split(",")


def rank_of(pair: str) -> str:
    """Returns the rank that answers in a pair."""
    return pair.partition(":")[2]


class Drifts(DimensionTable):
    """A launch of `downbeat-bench drift`: pairs of clocks, and lines through their offsets."""

    pair: Texts = column("ranks of the pair")
    duration: Floats = column("from the first offset to the last", "s")
    at: Floats = column("instants of the offsets, shape (pairs, times)", "s")
    offset: Floats = column("offset, likewise", "s")
    offset_bound: Floats = column("bound of its error, likewise", "s")
    rtt: Floats = column("round trip, likewise", "s")
    drift: Floats = column("offset minus the first one, likewise", "s")
    residual: Floats = column("offset minus the line, likewise", "s")
    drift_ppm: Floats = column("largest error in the second half without a line", "ppm")
    residual_ppm: Floats = column("largest error in the second half with a line", "ppm")
    r_squared: Floats = column("share of the variance that the line explains", "1")
    skew_low: Floats = column("lower end of the 95 % interval of the slope", "1")
    skew_high: Floats = column("upper end", "1")

    @property
    def interval(self) -> Floats:
        """Length of the 95 % interval of the slope."""
        return self.skew_high - self.skew_low


@dataclass(frozen=True)
class Drift:
    """Clock offsets of pairs over time."""

    picture: str  # its title
    caption: str  # before the note on clocks
    panels: Sequence[Sequence[str]]  # as variable, unit, label of the axis, and title

    def watched(self, site: Site) -> float:
        return 1.0 if site.quick else site.seconds or DRIFT_SECONDS

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.apart
        partners = evenly(range(1, ranks), min(site.sample, PAIRS))
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
                    "interval": f"{max(DRIFT_INTERVAL, seconds / MOST_OFFSETS):g}",
                },
                seconds=start_seconds(ranks) + seconds,
                variables=made(site),
                # One launch with made clocks is enough; real clocks are judged.
                most_launches=1 if site.made_clocks else 0,
                ranks_per_node=site.spread(ranks),
            ),
        )

    def facts(self, results: Results) -> Facts:
        datasets = results.datasets("drift")
        files = [*map(Drifts.of, datasets)]
        whose, _ = clocks_of(datasets)

        def largest(variable: str, scale: float = 1.0) -> np.ndarray:
            """Returns the largest absolute value of each launch, over pairs and time."""
            return np.array([float(np.abs(getattr(file, variable)).max()) * scale for file in files])

        drift = largest("drift", MICROSECONDS)
        trips = np.array([float(np.median(file.rtt)) * MICROSECONDS for file in files])
        bound = float(np.median([float(np.median(file.offset_bound)) for file in files])) * MICROSECONDS
        hidden = f"the drift is smaller than the error of an offset, {bound:.3g} us at most"
        shapeless = whose or ("" if drift.max() > bound else hidden)
        seconds = float(files[0].duration.max())
        measures: dict[str, Measured] = {
            "drift": Measure(drift, " us", obstacle=whose),
            "round_trip": Measure(trips, " us"),
            "distance_from_a_line": Measure(largest("residual", MICROSECONDS), " us", obstacle=shapeless),
        }
        if all("residual_ppm" in data for data in datasets):
            half = files[0].interval / 2 * 1e6
            made_straight = "the drift of these clocks is made, and made nearly a line"
            straight = made_straight if whose == MADE[0] else whose
            measures |= {
                "error_with_a_line": Measure(largest("residual_ppm"), " ppm", signed=True, obstacle=straight),
                "error_without": Measure(largest("drift_ppm"), " ppm", signed=True),
                "r_squared": Measure(
                    files[0].r_squared,
                    note=f"slopes known within {between(half)} ppm (95 % intervals), {seconds:.0f} s",
                ),
            }
        return Facts(measures, {"seconds": f"{seconds:.0f}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        datasets, pairs, panels = results.datasets("drift"), pairs_of(results), []
        time, first = datasets[0].time.to_numpy(), Drifts.of(datasets[0].reindex(pair=pairs))
        for variable, unit, label, title in self.panels:
            values = getattr(first, variable) * SCALES[unit]
            lines = [
                Line(f"rank {rank_of(pair)}", time, values[color], color=color) for color, pair in enumerate(pairs)
            ]
            panels.append(Panel(lines, "time [s]", f"{label} [{unit}]", title))
        return (make_picture(name, self.picture, f"{self.caption} {clocks_of(datasets)[1]}", panels),)


FIT_POINTS, FIT_PAIRS = 1000, 15
FIT_EXCHANGES, FIT_INTERVAL = 100, 1e-3  # of a fit point; s, from one of a pair to the next
DAY = 86400.0  # s
MOST_SLOPE = 2e-8  # length of the paper's intervals
MILLISECONDS = 1e3  # per second
PAPER, CORRELATED = "independent errors, as in the paper", "errors that may be correlated"


@dataclass(frozen=True)
class LineIntervals:
    """How long the 95 % intervals of lines through offsets are, of ordinary least squares with independent errors."""

    slope: Floats  # of each pair
    middle: Floats  # s, of the value in the middle of the points
    center: Floats  # s, from the beginning to there

    def intercept(self, before: float) -> Floats:
        """Returns the length of the interval of the intercept in s, if the clock was at 0 so long before."""
        return np.asarray(np.hypot(self.middle, self.slope * (self.center + before)))


def line_intervals(at: Floats, offsets: Floats) -> LineIntervals:
    """Fits lines to offsets in s at times, both of shape (pairs, points)."""
    count, center = at.shape[1], at.mean(axis=1, keepdims=True)
    along = at - center
    squares = (along**2).sum(axis=1)
    around = offsets - offsets.mean(axis=1, keepdims=True)
    residual = around - along * ((along * around).sum(axis=1) / squares)[:, None]
    deviation = np.sqrt((residual**2).sum(axis=1) / (count - 2))
    length = 2 * t_quantile(count - 2, 0.975) * deviation
    return LineIntervals(length / np.sqrt(squares), length / np.sqrt(count), center[:, 0])


class DriftModels:
    """The intervals of slope and intercept of the clock models (Hunold 2015, section 6)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks, points = site.alone, 100 if site.quick else FIT_POINTS
        partners = evenly(range(1, ranks), FIT_PAIRS)
        interval = FIT_INTERVAL * len(partners)
        options = {
            "pairs": ",".join(f"0:{rank}" for rank in partners),
            "duration": f"{interval * (points - 1):g}",
            "interval": f"{interval:g}",
            "estimator": f"mean_rtt(exchanges={FIT_EXCHANGES})",
            "rounds": "1",
        }
        seconds = start_seconds(ranks) + 1.0 + interval * points
        return (Run("models", site.main(), ranks, ("drift",), options, made(site), seconds=seconds, ranks_per_node=1),)

    def fits(self, results: Results) -> tuple[list[Drifts], list[LineIntervals]]:
        """Returns the offsets and the intervals of each launch; NaN of pairs that it lacks."""
        files = [Drifts.of(data.reindex(pair=pairs_of(results))) for data in results.datasets("models")]
        return files, [line_intervals(file.at, file.offset) for file in files]

    def facts(self, results: Results) -> Facts:
        files, fits = self.fits(results)
        why = results.crowding(results.runs[0].ranks)
        trips = np.array([np.median(file.rtt, axis=1) for file in files]) * MICROSECONDS
        waves = np.array([file.interval for file in files])

        def pairs(values: Floats, unit: str = "") -> dict[str, Measure]:
            ranks = map(rank_of, pairs_of(results))
            return each(dict(zip(ranks, values.T, strict=True)), unit, "rank {}", obstacle=why)

        days = {days: np.array([fit.intercept(days * DAY) for fit in fits]) * MICROSECONDS for days in (0, 1, 100)}
        measures: dict[str, Measured] = {
            "slope": pairs(np.array([fit.slope for fit in fits])),
            "slope_of_correlated_errors": pairs(waves),
            "offset": pairs(trips, " us"),
            "intercept_at_the_beginning": pairs(days[0], " us"),
            "intercept_after_a_day": pairs(days[1], " us"),
            "intercept_after_100_days": pairs(days[100], " us"),
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
        days = np.logspace(-3, 2, 6)  # to 100
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
            Panel(boxes, "rank", "length of the interval", "slope", y_scale="log", y_at=MOST_SLOPE),
            Panel(lines, "days since the clock was at 0", "length of the interval [ms]", "intercept", "log", "log"),
        ]
        return (make_picture(name, "How well slope and intercept of clock models are known", caption, panels),)
