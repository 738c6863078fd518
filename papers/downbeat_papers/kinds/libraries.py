"""Measurement schemes and MPI libraries side by side (Hunold 2015, Figs 2, 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.base.text import MICROSECONDS, bytes_text, drawn_of
from downbeat.pictures.style import Picture
from downbeat.report.page import Table
from scipy import special

from downbeat_papers.claims import Facts, Measure, Measured, missing
from downbeat_papers.draw import Box, BoxPanel, Panel, Series, draw_boxes, draw_panels
from downbeat_papers.kinds.over_time import FIT_SECONDS, ONCE, TOO_FEW
from downbeat_papers.results import BARRIER, NoSamplesError, Results, median_and_range
from downbeat_papers.runs import Run, made, operation_run
from downbeat_papers.site import MPICH, OPEN_MPI, Site

OPERATIONS = ("bcast", "allreduce")
SMALLEST = 8  # bytes
CALLS = 100  # of a batch


@dataclass(frozen=True)
class Scheme:
    """One of the paper's measurement schemes.

    Attributes:
        words: how it synchronizes and what it times.
        timing: of downbeat-bench, as its files have it.
        metric: what such benchmarks report.
    """

    words: str
    timing: str
    metric: str = "latency_max_median"


SCHEMES = {
    "(1)": Scheme("MPI_Barrier before each call, largest local time", "per_call"),
    "(2)": Scheme(f"{CALLS} calls in a row", "batch"),
    "(3)": Scheme(f"{CALLS} calls, each with a barrier that is timed", "batch_synced"),
    "(4)": Scheme("a window for each call, global time", "window", "global_time_median"),
}
COMPARED = ("(1)", "(2)", "(4)")  # (3) times its barriers, too: that it takes longer says nothing of a scheme

# Table 1. A benchmark with two schemes has both.
BENCHMARKS = pd.DataFrame(
    [
        ("Intel MPI Benchmarks", "4.0.0", "none", "2"),
        ("MPIBench", "1.0beta", "MPI_Barrier", "1"),
        ("MPIBlib", "1.2.0", "MPI_Barrier", "1"),
        ("mpicroscope", "1.0", "MPI_Barrier", "1"),
        ("mpptest", "1.5", "none", "2"),
        ("NBCBench", "1.1", "MPI_Barrier or window-based", "1, 4"),
        ("OSU Micro-Benchmarks", "4.4.1", "MPI_Barrier", "1"),
        ("Phloem MPI Benchmarks", "1.0.0", "MPI_Barrier or none (only initial MPI_Barrier)", "3"),
        ("SKaMPI", "5.0.4", "MPI_Barrier or window-based", "1, 4"),
    ],
    columns=["benchmark name", "version", "synchronization between indiv. MPI calls", "sync. scheme"],
)


def scheme_times(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns what each scheme reports, in s: a row per `operation`, `size`, `launch` and `scheme`, with its `time`."""
    timing = cells["timing"].astype(str).str.partition("(")[0]
    parts = []
    for name, one in SCHEMES.items():
        part = cells[timing == one.timing]
        parts.append(part.assign(scheme=name, time=part[one.metric]))
    return pd.concat(parts)[["operation", "size", "launch", "scheme", "time"]]


@dataclass(frozen=True)
class MeasurementSchemes:
    """The measurement schemes of well-known benchmarks, on the same calls."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        timings = ",".join(
            f"{one.timing}(calls={CALLS})" if "batch" in one.timing else one.timing for one in SCHEMES.values()
        )
        sizes = "8,512" if site.quick else "8,64,512,4K,32K"
        return (
            operation_run(
                site,
                "schemes",
                site.main(),
                site.full,
                OPERATIONS,
                usual=200,
                sync=BARRIER,
                options={"sizes": sizes, "timing": timings},
                # A batch is as long as its calls.
                factors=(1 + sizes.count(",")) * (CALLS // 4),
            ),
        )

    def facts(self, results: Results) -> Facts:
        times = scheme_times(results.cells)
        measures: dict[str, Measured] = {}
        for operation in OPERATIONS:
            part = times[(times["operation"] == operation) & (times["size"] == SMALLEST)]
            wide = part.pivot_table(index="launch", columns="scheme", values="time")
            pairs = list(combinations([name for name in COMPARED if name in wide], 2))
            measures[f"ratio.{operation}"] = {
                f"{one} / {other}": Measure(wide[one] / wide[other]) for one, other in pairs
            } or missing(TOO_FEW)
        return Facts(measures)

    @property
    def tables(self) -> tuple[Table, ...]:
        timings = [
            ", ".join(SCHEMES[f"({one})"].timing for one in used.split(", ")) for used in BENCHMARKS["sync. scheme"]
        ]
        title = "The paper's Table 1, and the timing schemes of downbeat-bench"
        return (Table(title, BENCHMARKS.assign(timing=timings)),)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        by = ("operation", "scheme", "size")
        table = median_and_range(scheme_times(results.cells), by, "time").sort_values("size")
        panels = []
        for operation in OPERATIONS:
            series = []
            for number, (scheme, one) in enumerate(SCHEMES.items()):
                part = table[(table["operation"] == operation) & (table["scheme"] == scheme)]
                values = (part["size"], part["median"], part["low"], part["high"])
                if len(part):
                    series.append(Series(f"{scheme} {one.words}", *values, color=number, marker=number))
            axes = ("message size [bytes]", "time [us]", f"MPI_{operation.capitalize()}")
            panels.append(Panel(series, *axes, log_x=True, log_y=True, bytes_x=True))
        title = "The same calls, measured by the schemes of well-known benchmarks"
        caption = "What each scheme reports, per call; median over launches, bars: smallest to largest."
        return (draw_panels(name, title, caption, panels),)


def two_libraries(site: Site) -> list[tuple[str, str]]:
    """Returns two libraries with their labels: the paper's Intel MPI and what stands for MVAPICH first, else any two.

    Where only one is there, it is that one.
    """
    families = {
        "intelmpi": "Intel MPI",
        site.first_of(MPICH): "MPICH (for MVAPICH)",
        site.first_of(OPEN_MPI): "Open MPI",
    }
    found = {name: label for name, label in families.items() if name and name in site.benches}
    return list((found | {name: name for name in site.benches if name not in found}).items())[:2]


LIBRARY_SIZES = "64,256,1K,2K,8K,32K"
SMALL = 2048  # bytes; up to there the paper sees no clear winner
OWN, THEIRS = "bruck", BARRIER  # bruck is the dissemination barrier


@dataclass(frozen=True)
class TwoLibraries:
    """Two libraries compared after an external barrier and after their own."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        return tuple(
            operation_run(
                site,
                library,
                library,
                site.full,
                ["bcast"],
                usual=1000,
                sync=f"{OWN},{THEIRS}",
                options={"sizes": LIBRARY_SIZES},
                factors=1 + LIBRARY_SIZES.count(","),
            )
            for library, _ in two_libraries(site)
        )

    def facts(self, results: Results) -> Facts:
        labels = dict(two_libraries(results.site))
        cells = results.cells
        small = cells[cells["size"] <= SMALL].assign(log=lambda frame: np.log(frame["latency_max_median"]))
        means = small.pivot_table(index="launch", columns=["synchronizer", "library"], values="log").dropna()
        both = means.shape[1] == 4 and not means.empty
        measures: dict[str, Measured] = {}
        # Within a launch both barriers are measured; launches of two libraries are not paired.
        for name, library in zip(("shift_of_one", "shift_of_the_other"), labels, strict=False):
            there = both and {(THEIRS, library), (OWN, library)} <= set(means.columns)
            measures[name] = (
                Measure(np.exp(means[THEIRS, library] - means[OWN, library]), note=labels[library])
                if there
                else missing("two MPI libraries are needed")
            )
        if len(labels) < 2:
            measures["shift_of_the_other"] = missing("two MPI libraries are needed")
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        labels = dict(two_libraries(results.site))
        cells, base, panels = results.cells, list(labels)[-1], []
        for synchronizer, title in ((OWN, "external dissemination barrier"), (THEIRS, "MPI_Barrier")):
            part = cells[cells["synchronizer"] == synchronizer]
            medians = median_and_range(part, ("library", "size"), "latency_max_median", 1.0)
            normal = medians[medians["library"] == base].set_index("size")["median"]
            boxes = [
                Box(bytes_text(size), label, rows["latency_max_median"].to_numpy() / normal[size])
                for size in sorted(part["size"].unique())
                for library, label in labels.items()
                if len(rows := part[(part["library"] == library) & (part["size"] == size)]) and size in normal
            ]
            panels.append(BoxPanel(boxes, "message size [bytes]", "normalized run-time", title))
        caption = (
            f"Medians of the launches (largest latency over ranks), divided by the median over launches of "
            f"{labels[base]} at the same size and after the same barrier."
        )
        return (draw_boxes(name, "Run-time of MPI_Bcast under two libraries, normalized", caption, panels),)


BARRIERS = 1000
WINDOW = "window(size=100us,growth=1)"
BESIDE = 0.15  # ranks, by which points of one rank are apart


def exits_after_the_first(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Returns when each rank leaves the barrier after the first one, in us: mean over calls, half of its 95 % interval.

    Both have shape (ranks,), NaN where no call is valid.
    """
    exits = data["exit"].to_numpy()[data["valid"].to_numpy() == 1]
    late = (exits - exits.min(axis=1, keepdims=True)) * MICROSECONDS
    count = len(late)
    if count < 2:
        return np.full(exits.shape[1], np.nan), np.full(exits.shape[1], np.nan)
    return late.mean(axis=0), special.stdtrit(count - 1, 0.975) * late.std(axis=0, ddof=1) / np.sqrt(count)


def over_all(means: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the mean over launches of each rank's mean, and its 95 % t interval; without one of a single launch."""
    count = len(means)
    middle = means.mean(axis=0)
    half = np.zeros_like(middle)
    if count > 1:
        half = special.stdtrit(count - 1, 0.975) * means.std(axis=0, ddof=1) / np.sqrt(count)
    return middle, middle - half, middle + half


@dataclass(frozen=True)
class ExitPattern:
    """When each rank leaves MPI_Barrier, which begins with a window on clocks that HCA synchronized once."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        return tuple(
            operation_run(
                site,
                library,
                library,
                site.full,
                ["barrier"],
                usual=BARRIERS,
                sync=WINDOW,
                variables=made(site) | ONCE | {"DOWNBEAT_SYNC": "hca"},
                more_seconds=FIT_SECONDS,
            )
            for library, _ in two_libraries(site)
        )

    def exits(self, results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Returns mean exits and half their intervals in us, both (launches, ranks), by the label of the library."""
        labels = dict(two_libraries(results.site))
        found = {}
        for label in results.have():
            launches = [exits_after_the_first(data) for data in results.datasets(label)]
            launches = [one for one in launches if np.isfinite(one[0]).all()]
            if launches:
                means, halves = (np.stack(values) for values in zip(*launches, strict=True))
                found[labels[label]] = means, halves
        if not found:
            raise NoSamplesError("no launch has two valid calls")
        return found

    def facts(self, results: Results) -> Facts:
        exits = self.exits(results)
        spreads = [Measure(np.ptp(means, axis=1), " us", note=name) for name, (means, _) in exits.items()]
        one, other = [*spreads, missing("two MPI libraries with valid calls are needed")][:2]
        return Facts({"spread_of_one": one, "spread_of_the_other": other})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels = []
        for library, (means, halves) in self.exits(results).items():
            # One launch, as in the paper: the middle one.
            chosen = int(np.argsort(np.ptp(means, axis=1))[len(means) // 2])
            mean, half = means[chosen], halves[chosen]
            ranks = np.array(results.site.sampled(range(len(mean))))
            series = [
                Series("one launch", ranks, mean[ranks], (mean - half)[ranks], (mean + half)[ranks], 0, "", 0),
                Series("all launches", ranks + BESIDE, *over_all(means[:, ranks]), 1, "", 1),
            ]
            panels.append(Panel(series, "rank", "exit after the first [us]", library))
        caption = (
            f"Mean over {results.site.repetitions(BARRIERS)} calls of the time after the rank that left first. Calls "
            "begin with windows of 100 us, on clocks that HCA synchronized once, as in the paper; with the 95 % "
            "interval of the mean. One launch, as in the paper: the one with the middle spread; its interval knows the "
            "deviation between calls. All launches: mean of their means; its interval knows that of launches."
            + drawn_of(results.site.full, results.site.sample)
        )
        return (draw_panels(name, "When each rank leaves MPI_Barrier", caption, panels),)
