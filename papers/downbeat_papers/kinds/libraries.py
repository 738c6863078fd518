"""Measurement schemes and MPI libraries side by side (Hunold 2015, Figs 2, 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.base.text import MICROSECONDS, bytes_text, drawn_of, name_of
from downbeat.pictures.panel import Line, Panel, box_of, make_picture
from downbeat.pictures.style import Picture
from downbeat.report.page import Table
from downbeat.statistics.distributions import t_quantile

from downbeat_papers.claims import Facts, Measure, Measured, missing
from downbeat_papers.kinds.cells import Cells
from downbeat_papers.kinds.over_time import FIT_SECONDS, ONCE, TOO_FEW
from downbeat_papers.results import BARRIER, NoSamplesError, Results, launch_values, median_and_range
from downbeat_papers.runs import Run, declared_runs, made
from downbeat_papers.site import Site

SMALLEST = 8  # bytes
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


@dataclass(frozen=True)
class MeasurementSchemes(Cells):
    """The measurement schemes of well-known benchmarks, on the same calls."""

    @property
    def schemes(self) -> dict[str, dict[str, str]]:
        """The series by the number of the scheme."""
        return {label.partition(" ")[0]: entry for label, entry in self.lines["series"].items()}

    def facts(self, results: Results) -> Facts:
        ratios: dict[str, Measured] = {}
        for operation in ("bcast", "allreduce"):
            where: dict[str, Any] = {"operation": operation, "size": SMALLEST}
            times = {name: launch_values(results.cells, **where, **self.schemes[name]) for name in COMPARED}
            pairs = combinations([name for name, values in times.items() if len(values)], 2)
            ratios[f"ratio.{operation}"] = {
                f"{one} / {other}": Measure(times[one] / times[other]) for one, other in pairs
            } or missing(TOO_FEW)
        return Facts(ratios)

    @property
    def tables(self) -> tuple[Table, ...]:
        used = BENCHMARKS["sync. scheme"].str.split(", ")
        timings = [", ".join(name_of(self.schemes[f"({one})"]["timing"]) for one in row) for row in used]
        title = "The paper's Table 1, and the timing schemes of downbeat-bench"
        return (Table(title, BENCHMARKS.assign(timing=timings)),)


SMALL = 2048  # bytes; up to there the paper sees no clear winner
OWN, THEIRS = "bruck", BARRIER  # bruck is the dissemination barrier


@dataclass(frozen=True)
class TwoLibraries(Cells):
    """Two libraries compared after an external barrier and after their own."""

    def facts(self, results: Results) -> Facts:
        small = results.cells[results.cells["size"] <= SMALL]
        logs = small.assign(log=np.log(small["latency_max_median"]))
        means = logs.pivot_table(index="launch", columns=["synchronizer", "library"], values="log").dropna()
        needed = missing("two MPI libraries are needed")
        measures: dict[str, Measured] = {"shift_of_one": needed, "shift_of_the_other": needed}
        # Within a launch both barriers are measured; launches of two libraries are not paired.
        if means.shape[1] == 4 and not means.empty:
            for name, (library, label) in zip(measures, results.site.two_libraries.items(), strict=True):
                measures[name] = Measure(np.exp(means[THEIRS, library] - means[OWN, library]), note=label)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        labels = results.site.two_libraries
        cells, base, panels = results.cells, list(labels)[-1], []
        for synchronizer, title in ((OWN, "external dissemination barrier"), (THEIRS, "MPI_Barrier")):
            part = cells[cells["synchronizer"] == synchronizer]
            medians = median_and_range(part, ("library", "size"), "latency_max_median", 1.0)
            normal = medians[medians["library"] == base].set_index("size")["median"]
            boxes = [
                box_of(bytes_text(size), label, rows["latency_max_median"].to_numpy() / normal[size])
                for size in sorted(part["size"].unique())
                for library, label in labels.items()
                if len(rows := part[(part["library"] == library) & (part["size"] == size)]) and size in normal
            ]
            panels.append(Panel(boxes, "message size [bytes]", "normalized run-time", title))
        caption = (
            f"Medians of the launches (largest latency over ranks), divided by the median over launches of "
            f"{labels[base]} at the same size and after the same barrier."
        )
        return (make_picture(name, "Run-time of MPI_Bcast under two libraries, normalized", caption, panels),)


BESIDE = 0.15  # ranks, by which points of one rank are apart


def mean_and_half(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean over rows, and half of its 95 % t interval; 0 of a single row."""
    count = len(rows)
    if count < 2:
        return rows.mean(axis=0), np.zeros(rows.shape[1])
    return rows.mean(axis=0), t_quantile(count - 1, 0.975) * rows.std(axis=0, ddof=1) / np.sqrt(count)


def exits_after_the_first(data: xr.Dataset) -> np.ndarray:
    """Returns when each rank leaves the barrier after the first one, in us, of valid calls; shape (calls, ranks)."""
    exits = data["exit"].to_numpy()[data["valid"].to_numpy() == 1]
    return np.asarray((exits - exits.min(axis=1, keepdims=True)) * MICROSECONDS)


@dataclass(frozen=True)
class ExitPattern(Cells):
    """When each rank leaves MPI_Barrier, which begins with a window on clocks that HCA synchronized once."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        variables = made(site) | ONCE | {"DOWNBEAT_SYNC": "hca"}
        return declared_runs(site, **self.run, variables=variables, more_seconds=FIT_SECONDS)

    def exits(self, results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Returns mean exits and half their intervals in us, both (launches, ranks), by the label of the library."""
        found = {}
        for label in results.have():
            late = [exits_after_the_first(data) for data in results.datasets(label)]
            launches = [mean_and_half(calls) for calls in late if len(calls) > 1]
            if launches:
                means, halves = (np.stack(values) for values in zip(*launches, strict=True))
                found[results.site.two_libraries[label]] = means, halves
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
            ranks = np.array(results.site.sampled(range(means.shape[1])))
            both = {"one launch": (means[chosen], halves[chosen]), "all launches": mean_and_half(means)}
            series = []
            for at, (label, (mean, half)) in enumerate(both.items()):
                low = np.maximum(0.0, mean - half)  # nobody leaves before the first
                middle, low, high = (part[ranks] for part in (mean, low, mean + half))
                series.append(Line(label, ranks + BESIDE * at, middle, low, high, at, "", at))
            panels.append(Panel(series, "rank", "exit after the first [us]", library))
        caption = (
            f"Mean over {results.site.repetitions(self.run['usual'])} calls of the time after the first rank's exit. "
            "Calls begin with windows of 100 us, on clocks that HCA synchronized once, as in the paper. Bars are 95 % "
            "intervals of the mean, cut off at 0. One launch, as in the paper: the one with the middle spread; its bar "
            "knows the deviation between calls. All launches: mean of their means; its bar knows that of launches."
            + drawn_of(results.site.full, results.site.sample)
        )
        return (make_picture(name, "When each rank leaves MPI_Barrier", caption, panels),)
