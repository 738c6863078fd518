"""Estimates of an experiment while it runs: the typical latency of every cell over the launches so far.

A cell is a combination of factors: those of the launch (`LAUNCH_FACTORS`: library, ranks ...) and those within it
(`CELL_FACTORS`: operation, size ...). Medians of cells come launch by launch; from them follow confidence intervals,
the correlation of successive launches, and the state of the machine in each launch.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.cell_summaries import summarize_cells
from downbeat.data.cells import CANARY_HIGH, CANARY_LOW, CANARY_PATH, CHANGED, STEP
from downbeat.data.launch_file import CELL_FACTORS, IMPLIED, open_netcdf
from downbeat.data.states import path_of, with_states
from downbeat.run import directory as layout
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.dependence import correlation
from downbeat.statistics.location import Interval, typical_interval

LATENCY = "latency_avg"
# Accepted probability that independent launches are taken for correlated, over all configurations together. Chosen by
# hand: a false alarm costs a few more launches. With half the value, more correlations stay undetected.
FALSE_ALARMS = 0.16

# Values of the factors of a cell, in the order of CELL_NAMES.
CellKey = tuple[object, ...]
CELL_NAMES = (*LAUNCH_FACTORS, *CELL_FACTORS)


class Estimates:
    """Medians of the latency of every cell, launch by launch."""

    def __init__(self) -> None:
        self.frames: dict[LaunchKey, pd.DataFrame] = {}  # one frame per launch; `frame` joins them
        self.cached_medians: dict[CellKey, dict[int, float]] | None = None  # cache of `medians`
        self.cached_rows: pd.DataFrame | None = None  # cache of `rows`
        self.cached_states: dict[LaunchKey, str] = {}  # cache of `states`

    @classmethod
    def of(cls, plan: Plan, directory: Path) -> Estimates:
        """The estimates from the complete launches of an experiment."""
        estimates = cls()
        done = layout.complete(directory)
        # A launch may have a number above `launches`: an experiment adds rounds up to one of the two other limits.
        for number in range(1, max(plan.launches, plan.most_rounds, plan.max_launches) + 1):
            for key in plan.round_order(number):
                if str(key) in done:
                    estimates.add(key, directory / layout.LAUNCHES / str(key) / layout.SAMPLES)
        return estimates

    def add(self, key: LaunchKey, path: Path) -> None:
        """Adds the medians of a launch; a file without cells adds nothing."""
        with open_netcdf(path) as file:
            if "cell_index" not in file.variables:
                return
            hosts = str(getattr(file, "hosts", ""))
        # With compute=auto, the computation differs between launches, so it must not distinguish cells.
        cells = summarize_cells(path, [LATENCY]).assign(computation=0.0)
        # steps: resolution of the clock, as seen in the samples of a cell, s.
        medians, steps = cells[f"{LATENCY}_median"], cells.get(f"{LATENCY}_{STEP}", 0.0)
        factors = {name: getattr(key, name) for name in LAUNCH_FACTORS} | {"launch": key.number}
        # Canaries are round trips around a cell's blocks. From them and their path (through a cache line or a message)
        # with_states finds the state of the machine.
        canaries = [name for name in (CANARY_LOW, CANARY_HIGH) if name in cells]
        kept = cells[[*CELL_FACTORS, "status", "error_bound", *canaries]]
        if CANARY_HIGH in kept:
            kept = kept.assign(**{CANARY_PATH: path_of(hosts, key.ranks, key.configuration)})
        self.frames[key] = kept.assign(**factors, **{f"{LATENCY}_median": medians, f"{LATENCY}_{STEP}": steps})
        self.cached_medians = self.cached_rows = None
        self.cached_states = {}

    def frame(self, plan: Plan) -> pd.DataFrame:
        """A row per launch and cell: factors, `launch`, `status`, `error_bound`, median and step of the clock, in s.

        The columns and the order are those of `Experiment.cells`; a comparison needs no others, so it reads no samples.
        """
        order = plan.configurations()

        def position(key: LaunchKey) -> tuple[int, int, int]:
            # A launch is split into portions if the library fixes algorithms at its start (`portions_of`).
            return order.index(tuple(getattr(key, name) for name in LAUNCH_FACTORS)), key.number, key.portion

        frames = [self.frames[key] for key in sorted(self.frames, key=position)]
        return with_states(pd.concat(frames, ignore_index=True)) if frames else pd.DataFrame()

    @property
    def rows(self) -> pd.DataFrame:
        """The cells of all launches in order of completion, with states of the machine classified over all of them."""
        if self.cached_rows is None:
            cells = pd.concat(self.frames.values(), ignore_index=True) if self.frames else pd.DataFrame()
            self.cached_rows = with_states(cells) if self.frames else cells
        return self.cached_rows

    def states(self) -> dict[LaunchKey, str]:
        """The state of the machine in most cells of each launch; `CHANGED` if most cells saw a change of state."""
        if self.cached_states:
            return self.cached_states
        first_row = 0  # of the launch in `rows`, which has the launches in the order of `frames`
        for key, frame in self.frames.items():
            rows = self.rows.iloc[first_row : first_row + len(frame)]
            first_row += len(frame)
            if len(rows):
                states = rows["state"].where(rows["status"] != CHANGED, CHANGED)
                self.cached_states[key] = Counter(states).most_common(1)[0][0]
        return self.cached_states

    @property
    def medians(self) -> dict[CellKey, dict[int, float]]:
        """Cell -> number of the launch -> median, s; only launches in the state that the cell had most often."""
        if self.cached_medians is None:
            rows = self.rows
            columns = [*CELL_NAMES, "launch", "state", f"{LATENCY}_median"]
            usable = rows[(rows["status"] != CHANGED) & (rows[f"{LATENCY}_median"] > 0)] if len(rows) else rows
            by_cell: dict[CellKey, dict[str, dict[int, float]]] = {}
            for *values, launch, state, median in usable.reindex(columns=columns).itertuples(index=False):
                # NaN (no delay) is not equal to itself, so it cannot be part of a key.
                cell = tuple("" if isinstance(value, float) and np.isnan(value) else value for value in values)
                by_cell.setdefault(cell, {}).setdefault(state, {})[launch] = float(median)
            self.cached_medians = {cell: max(states.values(), key=len) for cell, states in by_cell.items()}
        return self.cached_medians

    def intervals(self) -> dict[CellKey, Interval]:
        """The typical median of every cell, s, with its confidence interval; cells in order of first occurrence."""
        return {cell: typical_interval(list(medians.values())) for cell, medians in self.medians.items()}

    def widest(self) -> float:
        """The largest width of a cell's interval relative to its estimate; infinite if a cell has only one launch."""
        widths = (interval.width for interval in self.intervals().values())
        return max((np.inf if np.isnan(width) else width for width in widths), default=0.0)

    def launch_correlation(self) -> float:
        """The largest lag-1 correlation of a configuration's launches; 0 if none is significant (`FALSE_ALARMS`)."""
        series = self.launch_deviations().values()
        return max((correlation(values, FALSE_ALARMS / len(series)) for values in series), default=0.0)

    def launch_deviations(self) -> dict[tuple[object, ...], list[float]]:
        """Configuration -> deviation of each launch from the mean launch: of log medians, averaged over cells.

        A slow launch slows all its cells, so each configuration is tested once instead of once per cell.
        """
        deviations: dict[tuple[object, ...], dict[int, list[float]]] = {}
        for cell, medians in self.medians.items():
            logs = np.log(list(medians.values()))
            by_launch = deviations.setdefault(cell[: len(LAUNCH_FACTORS)], {})
            for launch, deviation in zip(medians, logs - logs.mean(), strict=True):
                by_launch.setdefault(launch, []).append(float(deviation))
        return {
            name: [float(np.mean(by_launch[launch])) for launch in sorted(by_launch)]
            for name, by_launch in deviations.items()
        }

    def varying(self) -> list[str]:
        """The factors with more than one value, without those that follow from other factors (`IMPLIED`)."""
        columns = zip(*self.medians, strict=True)  # the values of a factor over all cells; none without cells
        values = {name: set(column) for name, column in zip(CELL_NAMES, columns, strict=False)}
        return [name for name, distinct in values.items() if len(distinct) > 1 and name not in IMPLIED]
