"""The state of every cell while launches come in: its typical launch with its interval."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.cell_summaries import summarize_cells
from downbeat.data.cells import CHANGED, HIGH, LOW, PATH, STEP
from downbeat.data.launch_file import CELL_FACTORS, IMPLIED, open_netcdf
from downbeat.data.states import path_of, with_states
from downbeat.run import directory as places
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.dependence import correlation
from downbeat.statistics.location import Interval, typical_interval

LATENCY = "latency_avg"
STRICT = 0.16  # share of sets of independent launches to which a few are added


# A cell under a configuration, which every launch measures again: its factors by CELL_NAMES, the configuration first.
CellKey = tuple[object, ...]
CELL_NAMES = (*LAUNCH_FACTORS, *CELL_FACTORS)


class Estimates:
    """Medians of the latency of every cell, launch by launch."""

    def __init__(self) -> None:
        self.frames: dict[LaunchKey, pd.DataFrame] = {}  # as `frame` returns them together
        self.known: dict[CellKey, dict[int, float]] | None = None  # `medians`, once they are asked for
        self.together: pd.DataFrame | None = None  # `rows`, likewise
        self.found: dict[LaunchKey, str] = {}  # `states`, likewise

    @classmethod
    def of(cls, plan: Plan, directory: Path) -> Estimates:
        """Returns the estimates of the complete launches of an experiment."""
        estimates = cls()
        done = places.complete(directory)
        for number in range(1, max(plan.launches, plan.most_rounds, plan.max_launches) + 1):
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
        cells = summarize_cells(path, [LATENCY]).assign(computation=0.0)  # of compute=auto every launch has another one
        medians, steps = cells[f"{LATENCY}_median"], cells.get(f"{LATENCY}_{STEP}", 0.0)
        factors = {name: getattr(key, name) for name in LAUNCH_FACTORS} | {"launch": key.number}
        kept = cells[[*CELL_FACTORS, "status", "error_bound", *(name for name in (LOW, HIGH) if name in cells)]]
        if HIGH in kept:
            kept = kept.assign(**{PATH: path_of(hosts, key.ranks, key.configuration)})
        self.frames[key] = kept.assign(**factors, **{f"{LATENCY}_median": medians, f"{LATENCY}_{STEP}": steps})
        self.known = self.together = None
        self.found = {}

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
    def rows(self) -> pd.DataFrame:
        """The cells of all launches, in the order in which these came in, with the states that they had together."""
        if self.together is None:
            whole = pd.concat(self.frames.values(), ignore_index=True) if self.frames else pd.DataFrame()
            self.together = with_states(whole) if self.frames else whole
        return self.together

    def states(self) -> dict[LaunchKey, str]:
        """Returns the state of the machine in which most cells of each launch were measured; `CHANGED` if in two."""
        if self.found:
            return self.found
        first = 0
        for key, frame in self.frames.items():
            rows = self.rows.iloc[first : first + len(frame)]
            first += len(frame)
            if len(rows):
                states = rows["state"].where(rows["status"] != CHANGED, CHANGED)
                self.found[key] = Counter(states).most_common(1)[0][0]
        return self.found

    @property
    def medians(self) -> dict[CellKey, dict[int, float]]:
        """The medians of every cell in s, by the number of the launch; in the state that most launches found."""
        if self.known is None:
            rows = self.rows
            columns = [*CELL_NAMES, "launch", "state", f"{LATENCY}_median"]
            counted = rows[(rows["status"] != CHANGED) & (rows[f"{LATENCY}_median"] > 0)] if len(rows) else rows
            found: dict[CellKey, dict[str, dict[int, float]]] = {}
            for *values, launch, state, median in counted.reindex(columns=columns).itertuples(index=False):
                # NaN, a delay that there is not, would differ from itself.
                cell = tuple("" if isinstance(value, float) and np.isnan(value) else value for value in values)
                found.setdefault(cell, {}).setdefault(state, {})[launch] = float(median)
            self.known = {cell: max(states.values(), key=len) for cell, states in found.items()}
        return self.known

    def intervals(self) -> dict[CellKey, Interval]:
        """Returns the estimate of every cell in s, in the order in which cells were first seen."""
        return {cell: typical_interval(list(medians.values())) for cell, medians in self.medians.items()}

    def widest(self) -> float:
        """Returns the largest relative width of a cell's interval; infinite with one launch."""
        return max(map(width_of, self.intervals().values()), default=0.0)

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
        values = {name: set(each) for name, each in zip(CELL_NAMES, zip(*self.medians, strict=True), strict=False)}
        return [name for name, each in values.items() if len(each) > 1 and name not in IMPLIED]


def configuration_of(cell: CellKey) -> CellKey:
    """Returns the values of `LAUNCH_FACTORS`."""
    return cell[: len(LAUNCH_FACTORS)]


def width_of(interval: Interval) -> float:
    """Returns the width of an interval relative to its estimate; infinite where there is none."""
    return float("inf") if np.isnan(interval.width) else interval.width
