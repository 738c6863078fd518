"""The state of every cell while launches come in: the geometric mean of launch medians and its interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.cells import CHANGED, HIGH, LOW, PATH, STEP, path_of, summarize_cells, with_states
from downbeat.data.launch_file import CELL_FACTORS, IMPLIED, open_netcdf
from downbeat.run import directory as places
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.location import Interval, geometric_mean_interval
from downbeat.statistics.modes import correlation, inflation

METRIC = "latency_avg"
STRICT = 0.16  # share of sets of independent launches of which a few more are made


# A cell under a configuration, which every launch measures again: its factors by NAMES, the configuration first.
Cell = tuple[object, ...]
NAMES = (*LAUNCH_FACTORS, *CELL_FACTORS)


class Estimates:
    """Medians of the latency of every cell, launch by launch."""

    def __init__(self) -> None:
        self.frames: dict[LaunchKey, pd.DataFrame] = {}  # as `frame` returns them together
        self.known: dict[Cell, dict[int, float]] | None = None  # `medians`, once they are asked for

    @classmethod
    def of(cls, plan: Plan, directory: Path) -> Estimates:
        """Returns the estimates of the complete launches of an experiment."""
        estimates = cls()
        done = places.complete(directory)
        for number in range(1, max(plan.launches, plan.max_launches) + 1):
            for key in plan.round_order(number):
                if str(key) in done:
                    estimates.add(key, directory / places.LAUNCHES / str(key) / places.SAMPLES)
        return estimates

    def add(self, key: LaunchKey, path: Path) -> None:
        """Adds the medians of a launch; files without cells have none."""
        with open_netcdf(path) as file:
            if "cell_index" not in file.variables:
                return
            hosts = str(getattr(file, "hosts", ""))
        cells = summarize_cells(path, [METRIC]).assign(computation=0.0)  # of compute=auto every launch has another one
        medians, steps = cells[f"{METRIC}_median"], cells.get(f"{METRIC}_{STEP}", 0.0)
        factors = {name: getattr(key, name) for name in LAUNCH_FACTORS} | {"launch": key.number}
        kept = cells[[*CELL_FACTORS, "status", "error_bound", *(name for name in (LOW, HIGH) if name in cells)]]
        if HIGH in kept:
            kept = kept.assign(**{PATH: path_of(hosts, key.ranks, key.configuration)})
        self.frames[key] = kept.assign(**factors, **{f"{METRIC}_median": medians, f"{METRIC}_{STEP}": steps})
        self.known = None

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Returns a row per launch and cell: factors, `launch`, `status`, `error_bound`, median and step, in s.

        These are columns of `Experiment.cells`, in its order; it is enough for a comparison, without reading samples.
        """
        order = plan.configurations()

        def position(key: LaunchKey) -> tuple[int, int, int]:
            return order.index(tuple(getattr(key, name) for name in LAUNCH_FACTORS)), key.number, key.portion

        frames = [self.frames[key] for key in sorted(self.frames, key=position)]
        return with_states(pd.concat(frames, ignore_index=True)) if frames else pd.DataFrame()

    @property
    def medians(self) -> dict[Cell, dict[int, float]]:
        """The medians of every cell in s, by the number of the launch; in the state that most launches found."""
        if self.known is None:
            rows = with_states(pd.concat(self.frames.values(), ignore_index=True)) if self.frames else pd.DataFrame()
            columns = [*NAMES, "launch", "state", f"{METRIC}_median"]
            counted = rows[(rows["status"] != CHANGED) & (rows[f"{METRIC}_median"] > 0)] if len(rows) else rows
            found: dict[Cell, dict[str, dict[int, float]]] = {}
            for *values, launch, state, median in counted.reindex(columns=columns).itertuples(index=False):
                # NaN, a delay that there is not, would differ from itself.
                cell = tuple("" if isinstance(value, float) and np.isnan(value) else value for value in values)
                found.setdefault(cell, {}).setdefault(state, {})[launch] = float(median)
            self.known = {cell: max(states.values(), key=len) for cell, states in found.items()}
        return self.known

    def intervals(self) -> dict[Cell, Interval]:
        """Returns the estimate of every cell in s, in the order in which cells were first seen."""
        return {cell: geometric_mean_interval(list(medians.values())) for cell, medians in self.medians.items()}

    def widest(self) -> float:
        """Returns the largest relative width of a cell's interval; infinite with one launch.

        Launches that resemble the one before count as fewer that are independent.
        """
        series = self.series()
        widths = (
            width_of(interval) * inflation(series[configuration_of(cell)])
            for cell, interval in self.intervals().items()
        )
        return max(widths, default=0.0)

    def resemblance(self) -> float:
        """Returns the largest correlation of a configuration's launches with the one before, 0 if chance explains it.

        One in six sets of independent launches has one, which costs a few more of them.
        """
        series = self.series().values()
        return max((correlation(one, STRICT / len(series)) for one in series), default=0.0)

    def series(self) -> dict[tuple[object, ...], list[float]]:
        """Returns for each configuration how much its launches are above the mean of its cells, of logarithms.

        All cells of a launch are slow with it: taken together they are one test.
        """
        deviations: dict[tuple[object, ...], dict[int, list[float]]] = {}
        for cell, medians in self.medians.items():
            logs = np.log(list(medians.values()))
            mine = deviations.setdefault(configuration_of(cell), {})
            for launch, deviation in zip(medians, logs - logs.mean(), strict=True):
                mine.setdefault(launch, []).append(float(deviation))
        return {name: [float(np.mean(mine[launch])) for launch in sorted(mine)] for name, mine in deviations.items()}

    def varying(self) -> list[str]:
        """Returns the factors that have more than one value, but for `IMPLIED`."""
        values = {name: set(each) for name, each in zip(NAMES, zip(*self.medians, strict=True), strict=False)}
        return [name for name, each in values.items() if len(each) > 1 and name not in IMPLIED]


def configuration_of(cell: Cell) -> Cell:
    """Returns the values of `LAUNCH_FACTORS`."""
    return cell[: len(LAUNCH_FACTORS)]


def width_of(interval: Interval) -> float:
    """Returns the width of an interval relative to its estimate; infinite where there is none."""
    return float("inf") if np.isnan(interval.width) else interval.width
