"""Launches of figures, made up: what `downbeat reproduce` would find on disk, with the truth known.

Launches deviate by 5 %, and so does every cell within a launch; samples deviate by 5 %, with autocorrelation 0.6, and
2 % of them are outliers. A world makes up the launches of a figure, with the effect that its paper reports or without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.experiment.experiment import Launch
from downbeat_papers.results import LATENCY, MEDIAN, Results
from downbeat_papers.runs import Run
from downbeat_papers.site import Site
from numpy.typing import ArrayLike, NDArray

from benchmarks.simulations.simulated import Deviations, simulate_launch_factors, simulate_launches

Floats = NDArray[np.float64]

SAMPLES = 100  # per cell and launch
AVERAGED = 500  # the same of figures of means, which outliers move
OWN = Deviations(launch=0.0, cell=0.05)  # of a cell; what its launch shares comes on top
RANKS = (2, 4, 8, 16)


@dataclass(frozen=True)
class SimulatedResults(Results):
    """Launches that were made up.

    Attributes:
        files: datasets of each launch, by label of the run.
    """

    files: Mapping[str, Sequence[xr.Dataset]] = field(default_factory=dict)

    def datasets(self, label: str) -> list[xr.Dataset]:
        return list(self.files[label])

    def samples(self, label: str, metrics: Sequence[str]) -> list[xr.Dataset]:
        return [data[list(metrics)] for data in self.files[label]]


@dataclass(frozen=True)
class Maker:
    """Makes up the launches of one experiment.

    Attributes:
        random: draws them.
        launches: of each run.
        effect: whether what the paper reports is there; else no claim of the figure is true.
    """

    random: np.random.Generator
    launches: int
    effect: bool

    def pick(self, there: float, not_there: float) -> float:
        """Returns a parameter with the effect, or without."""
        return there if self.effect else not_there

    def medians(self, truths: ArrayLike) -> Floats:
        """Returns medians of cells that each launch measures, shape (launches, cells), in the unit of `truths`."""
        return self.cell_summaries(truths)[0]

    def cell_summaries(self, truths: ArrayLike, count: int = SAMPLES) -> tuple[Floats, Floats]:
        """Returns medians and means of cells of so many samples that each launch measures, each (launches, cells)."""
        true: Floats = np.asarray(truths, dtype=float)
        samples = simulate_launches(self.random, self.launches * true.size, count, 1.0, OWN)
        shared = simulate_launch_factors(self.random, self.launches)[:, np.newaxis]
        medians, means = (one.reshape(self.launches, true.size) for one in (np.median(samples, 1), samples.mean(1)))
        return medians * shared * true, means * shared * true

    def values(self, truth: float) -> Floats:
        """Returns launch medians of one cell of a run of its own, shape (launches,)."""
        return self.medians([truth])[:, 0]

    def series(self, samples: int, start: float, rise: float) -> list[Floats]:
        """Returns for each launch samples whose truth rises by a share of it from the first quarter to the last."""
        shared = simulate_launch_factors(self.random, self.launches)[:, np.newaxis]
        along = 1 + rise * (np.linspace(0, 1, samples) - 1 / 8) / (3 / 4)
        return list(
            simulate_launches(self.random, self.launches, samples, start, Deviations(launch=0.0)) * shared * along
        )

    def cells(self, frame: pd.DataFrame, **truths: ArrayLike) -> pd.DataFrame:
        """Returns the cells of a frame for every launch; `truths` has a column each, one value per row of the frame."""
        return self.with_columns(frame, {name: self.medians(values) for name, values in truths.items()})

    def averaged_cells(self, frame: pd.DataFrame, truths: ArrayLike) -> pd.DataFrame:
        """Returns the cells of a frame for every launch, with the mean of means and the median of the same samples."""
        medians, means = self.cell_summaries(truths, AVERAGED)
        return self.with_columns(frame, {LATENCY: means, MEDIAN: medians})

    def with_columns(self, frame: pd.DataFrame, columns: Mapping[str, Floats]) -> pd.DataFrame:
        """Returns a frame for every launch, with columns of shape (launches, rows of the frame)."""
        return pd.concat(
            [
                frame.assign(launch=launch + 1, **{name: values[launch] for name, values in columns.items()})
                for launch in range(self.launches)
            ],
            ignore_index=True,
        )


World = Callable[[Maker], SimulatedResults]


def results_of(
    runs: Sequence[Run],
    cells: pd.DataFrame | None = None,
    files: Mapping[str, Sequence[xr.Dataset]] | None = None,
    ranks: Sequence[int] = RANKS,
) -> SimulatedResults:
    """Returns results at a site whose ranks have a core each."""
    site = Site(max(ranks), {"openmpi": "bench", "mpich5": "bench", "intelmpi": "bench"}, tuple(ranks))
    launch = Launch("openmpi", 2, "default", 1, Path(), {})
    there = {run.label: (launch,) for run in runs}
    results = SimulatedResults("f", site, tuple(runs), there, files or {})
    if cells is not None:
        results.__dict__["cells"] = cells  # what the cached property would read
    return results


def run_of(label: str, ranks: int = max(RANKS), library: str = "openmpi") -> Run:
    """Returns a run, of which drawers look at label, library and ranks alone."""
    return Run(label, library, ranks, (), {})
