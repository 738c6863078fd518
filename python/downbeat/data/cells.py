"""Metrics of samples, and summaries of cells: medians, steps, and the states of the machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.launch_file import (
    CELL_FACTORS,
    flags,
    metrics_of,
    open_samples,
    read_cells,
    resolution_of,
    steps_of,
)
from downbeat.data.metrics import METRICS
from downbeat.data.netcdf import NetcdfFile
from downbeat.errors import UsageError
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, grouped_median, step_in
from downbeat.text import NANOSECONDS, Units, counted

if TYPE_CHECKING:
    import xarray as xr

# Read from each variable at a time: few passes, little of a laptop's memory.
CHUNK_BYTES = 32 << 20
VERDICTS = ("valid", "late_flag", "late_entry", "warmup", "overrun")
KEPT_VARIABLES = ("cell_index", "block", "attempt", "verdict", "deadline", "slack", "begin")


@dataclass(frozen=True)
class Samples:
    """The samples of a launch, in the order of measurement; `sample_metrics` describes the columns.

    Attributes:
        columns: shape (samples,) each.
        attributes: of each column, by the names of CF conventions.
    """

    columns: dict[str, np.ndarray]
    attributes: dict[str, dict[str, object]]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def with_verdict(self, name: str) -> np.ndarray:
        """Returns which samples have a verdict, by its name in the file."""
        return np.asarray(self.columns["verdict"] == self.verdicts().index(name))

    def verdicts(self) -> list[str]:
        """Returns the verdicts, as the file names them, in the order of their numbers."""
        return str(self.attributes["verdict"]["flag_meanings"]).split()


def sample_metrics(path: str | Path, metrics: Iterable[str] | None = None) -> xr.Dataset:
    """Reads the metrics of every sample of a launch.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: their names, as `downbeat-bench list metric` shows them; all by default.

    Returns:
        A dataset with dimension `sample`, in the order of measurement, including warm-up and rejected samples:
        `cell_index`, `block`, `attempt`, `verdict` (0 valid, 1 late_flag, 2 late_entry, 3 warmup, 4 overrun),
        `deadline`, `slack` and `begin` (first entry), all on the global clock, and one variable per metric. Times are
        in seconds.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    import xarray as xr

    samples = read_samples(path, metrics)
    columns = {name: ("sample", values, samples.attributes[name]) for name, values in samples.columns.items()}
    return xr.Dataset(columns)


def read_samples(path: str | Path, metrics: Iterable[str] | None = None) -> Samples:
    """Reads what `sample_metrics` returns, without loading xarray."""
    with open_samples(path) as file:
        check_samples(path, file)
        known = metrics_of(file)
        wanted = known if metrics is None else list(metrics)
        for name in wanted:
            if name not in known:
                raise UsageError(
                    lacks(path, name)
                    if name in METRICS
                    else f"unknown metric '{name}'; choose one of {', '.join(known)}"
                )
        read = [file.variables[name] for name in (*KEPT_VARIABLES, *wanted)]
        return Samples(
            {variable.name: native(variable[:]) for variable in read},
            {variable.name: dict(variable.attributes) for variable in read},
        )


def lacks(path: str | Path, metric: str) -> str:
    """The error on a metric that an older downbeat-bench did not write."""
    return f"'{path}' has no metric '{metric}': the downbeat-bench that wrote it did not have it yet; choose another"


def check_samples(path: str | Path, file: NetcdfFile) -> None:
    """Checks that each sample is of a cell of the file, and has a verdict that it names.

    Raises:
        UsageError: the file is damaged.
    """
    index = file.variables["cell_index"][:]
    if len(index) and (index.min() < 0 or index.max() >= file.dimensions["cell"]):
        raise UsageError(f"'{path}' is damaged: it has samples of unknown cells")
    variable = file.variables["verdict"]
    meanings = flags(variable)
    if missing := set(VERDICTS) - set(meanings.values()):
        raise UsageError(f"'{path}' is damaged: it has no verdict '{min(missing)}'")
    unknown = {int(number) for number in np.unique(variable[:])} - set(meanings)
    if unknown or list(meanings) != list(range(len(meanings))):
        raise UsageError(f"'{path}' is damaged: it has samples of unknown verdicts")


def native(values: np.ndarray) -> np.ndarray:
    """Returns values in the byte order of this machine, which pandas insists on."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def exit_pattern(path: str | Path) -> pd.DataFrame:
    """Computes when each rank leaves each synchronizer, after the first of the same sample (Hunold 2015, Fig. 4).

    The instant is that of entering the operation, planned delays taken out. Memory does not grow with samples.

    Args:
        path: a file `.nc` with samples of operations.

    Returns:
        One row per cell with valid samples and rank: `CELL_FACTORS`, `rank`, `exit` in s, and `samples`, their number.

    Raises:
        UsageError: a file that `open_launch` would refuse.
    """
    with open_samples(path) as file:
        cells = read_cells(file)
        index = native(file.variables["cell_index"][:])
        valid = native(file.variables["verdict"][:]) == 0
        samples, ranks = file.variables["entry"].shape
        sums = np.zeros((len(cells), ranks))
        chunk = max(1, CHUNK_BYTES // (8 * ranks))
        for start in range(0, samples, chunk):
            rows = slice(start, start + chunk)
            entry, delay = (native(file.variables[name][rows]) for name in ("entry", "delay"))
            left = entry - delay
            after_first = left - left.min(axis=1, keepdims=True)
            for cell in np.unique(index[rows]):
                sums[cell] += after_first[valid[rows] & (index[rows] == cell)].sum(axis=0)
    counts = np.bincount(index[valid], minlength=len(cells))
    measured = np.flatnonzero(counts)
    frame = cells.loc[np.repeat(measured, ranks), list(CELL_FACTORS)].reset_index(drop=True)
    return frame.assign(
        rank=np.tile(np.arange(ranks), len(measured)),
        exit=(sums[measured] / counts[measured, None]).ravel(),
        samples=np.repeat(counts[measured], ranks),
    )


OK = "ok"
WRONG = "wrong"
FAILED = "failed"


def countable(cells: pd.DataFrame) -> pd.Series[bool]:
    """Returns which cells count: those that have all their valid samples, and right results.

    A cell that is incomplete has fewer samples than the others, from those moments at which starts succeeded. In
    pictures it is shown; a verdict does not rest on it.

    Args:
        cells: with `status`, as `summarize_cells` has it.
    """
    return cells["status"] == OK


def left_out(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Returns the cells that do not count, by status."""
    return {str(status): rows for status, rows in cells[~countable(cells)].groupby("status")}


STATE = "state"  # the factor; empty where there is one state, or none is known
UNKNOWN = "unknown"  # value where there are several, and the cell has no reading
ANY = "any"  # value where launches are compared across states
CHANGED = "state changed"  # status of a cell that was measured in two states
SAME_STATE = 1.5  # round trips that differ by no more are of one state
LOW, HIGH, PATH = "canary_low", "canary_high", "canary_path"
LINE, MESSAGE = "cache line", "message"


def path_of(hosts: str, ranks: int, configuration: str) -> str:
    """Returns what the round trip of a launch is of: a cache line, or where ranks are alone on nodes a message.

    Messages of two configurations have no states in common.
    """
    return f"{MESSAGE} of {configuration}" if 1 < ranks == len(hosts.splitlines()) else LINE


def with_states(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns cells of launches with `state`, and the status `CHANGED` for those that were measured in two states.

    States are classes of round trips, sorted, divided by gaps of more than a factor of 1.5; a cell whose smallest and
    largest are of two saw a change. On a busy machine all readings spread, without a gap; that does not count. The
    readings compared are of equal numbers of ranks, and of one message where they are of messages. Beside several, a
    cell without a reading is of `UNKNOWN`.

    Args:
        cells: with `ranks`, `status`, `canary_low`, `canary_high` in s and `canary_path`; without the latter there is
            one state.
    """
    if not {LOW, HIGH, PATH} <= set(cells):
        return cells.assign(state="")
    low, high = cells[LOW].to_numpy(dtype=float), cells[HIGH].to_numpy(dtype=float)
    mixed = np.zeros(len(cells), dtype=bool)
    state = np.full(len(cells), "", dtype=object)
    for group in cells.groupby(["ranks", PATH], sort=False).indices.values():
        places = np.asarray(group)
        read = places[low[places] > 0]
        first, last = classes_of(np.concatenate([low[read], high[read]])).reshape(2, -1)
        mixed[read] = first != last
        mine = read[first == last]
        state[mine] = names = names_of(np.sqrt(low[mine] * high[mine]), first[first == last])
        if (names != "").any():
            state[places[~(low[places] > 0)]] = UNKNOWN
        for place in read[first != last] if mine.size else ():  # is set aside beside those that it began like
            state[place] = state[mine[np.abs(np.log(low[mine] / low[place])).argmin()]]
    status = cells["status"].where(~mixed | (cells["status"] != OK), CHANGED)
    return cells.assign(status=status, state=state)


def classes_of(trips: NDArray[np.float64]) -> NDArray[np.intp]:
    """Returns for each round trip the number of its class, from 0."""
    order = np.argsort(trips, kind="stable")
    ordered = trips[order]
    numbers = np.zeros(len(trips), dtype=np.intp)
    numbers[order[1:]] = np.cumsum(ordered[1:] > SAME_STATE * ordered[:-1])
    return numbers


def names_of(trips: NDArray[np.float64], classes: NDArray[np.intp]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, `77ns`; empty where all are of one."""
    names = np.full(len(trips), "", dtype=object)
    numbers = np.unique(classes)
    for number in numbers if len(numbers) > 1 else ():
        names[classes == number] = f"{np.median(trips[classes == number]) * NANOSECONDS:.0f}ns"
    return names


def state_text(state: str) -> str:
    """Returns the name of a state as text: `77 ns`."""
    return f"{state.removesuffix('ns')} ns" if state.endswith("ns") else state


def names_of_classes(trips: NDArray[np.float64]) -> NDArray[np.object_]:
    """Returns for each round trip the name of its class, as `names_of` does."""
    return names_of(trips, classes_of(trips))


def trip_of(state: str) -> float:
    """Returns the round trip of a state by its name, ns."""
    return float(state.removesuffix("ns"))


def states_line(cells: pd.DataFrame) -> str:
    """Says in which states of the machine cells of `with_states` were measured; empty where it is one."""
    named = cells[~cells[STATE].isin(("", UNKNOWN))]
    unread = int((cells[STATE] == UNKNOWN).sum())
    without = f"{counted(unread, 'cell')} of launches without a reading, {STATE} {UNKNOWN}" if unread else ""
    if named.empty:
        return without
    states = sorted(set(named[STATE]), key=trip_of)
    what = LINE if (named[PATH] == LINE).all() else MESSAGE
    count = {2: "two", 3: "three"}.get(len(states), str(len(states)))
    numbers = " and ".join([", ".join(one.removesuffix("ns") for one in states[:-1]), states[-1].removesuffix("ns")])
    return f"measured in {count} states of the machine ({what} {numbers} ns{'; ' if without else ''}{without})"


# Over the valid samples of a cell; percentiles by linear interpolation, as downbeat-bench.
PERCENTILES = {"min": 0, "p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}
STATISTICS = ("mean", *PERCENTILES)
STEP = "step"  # `<metric>_step` is that of the clock in samples of a metric
# The verdicts that are counted.
COUNTED = {
    "valid_count": "valid",
    "late_flag": "late_flag",
    "late_entry": "late_entry",
    "overrun": "overrun",
    "discarded": "warmup",
}


def summarize_cells(path: str | Path, metrics: Iterable[str] | None = None) -> pd.DataFrame:
    """Summarizes the cells of a launch; memory does not grow with the number of ranks.

    Args:
        path: a `.nc` file with samples of operations.
        metrics: their names, as `downbeat-bench list metric` shows them; all by default.

    Returns:
        One row per cell: `operation`, `size` in byte and the other `CELL_FACTORS`; `status` (`ok`, `incomplete`,
        `failed`, `wrong`, or `cut short` if the run ended before the cell was complete); the other
        fields of a cell in docs/data.md, e.g. `error_bound` and `wall_time` in s; the counts of valid,
        late and warm-up samples are counted anew; `<metric>_<statistic>` in s for `STATISTICS`, the median interpolated
        within the step of the clock, NaN where no sample is valid, or the metric came after the file; and
        `<metric>_step`, that step as it is seen in the samples, of metrics that have one. The units are in
        `attrs["units"]`.

    Raises:
        UsageError: an unknown metric, or a file that `open_launch` would refuse.
    """
    samples = read_samples(path, metrics)
    with open_samples(path) as file:
        cells = read_cells(file)
        resolution = resolution_of(file) or step_in_samples(file, samples)
        steps = {name: steps_of(file, name, resolution) for name in metrics_of(file) if name in samples.columns}
    index = samples["cell_index"]
    for column, name in COUNTED.items():
        cells[column] = np.bincount(index[samples.with_verdict(name)], minlength=len(cells))
    cells["rejected"] = cells["late_flag"] + cells["late_entry"] + cells["overrun"]
    valid = np.flatnonzero(samples.with_verdict("valid"))
    order = valid[np.argsort(index[valid], kind="stable")]
    borders = np.searchsorted(index[order], np.arange(len(cells) + 1))
    units = dict(cells.attrs["units"])
    names = list(steps)
    values = np.array([samples[name][order] for name in names]).reshape(len(names), len(order))
    numbers = np.full((len(names), len(STATISTICS), len(cells)), np.nan)
    counts = np.diff(borders)
    # Cells with as many samples are summarized together; nearly all have the same number.
    for count in np.unique(counts[counts > 0]):
        mine = np.flatnonzero(counts == count)
        together = values[:, borders[mine][:, np.newaxis] + np.arange(count)]  # (metrics, cells, samples)
        numbers[:, 0, mine] = together.mean(axis=2)
        numbers[:, 1:, mine] = np.percentile(together, list(PERCENTILES.values()), axis=2).swapaxes(0, 1)
        for row, cell in itertools.product(range(len(names)), mine):
            if steps[names[row]][cell] > 0:
                interpolated = grouped_median(values[row, borders[cell] : borders[cell + 1]], steps[names[row]][cell])
                numbers[row, STATISTICS.index("median"), cell] = interpolated
    columns = {
        f"{name}_{statistic}": numbers[i, j] for i, name in enumerate(names) for j, statistic in enumerate(STATISTICS)
    }
    columns |= {f"{name}_{STEP}": step for name, step in steps.items() if step.any()}
    units |= {column: str(samples.attributes[column.rpartition("_")[0]]["units"]) for column in columns}
    if metrics is None:  # those that came after the file
        missing = [f"{name}_{one}" for name in METRICS if name not in steps for one in STATISTICS]
        columns |= dict.fromkeys(missing, np.full(len(cells), np.nan))
        units |= dict.fromkeys(missing, "s")
    summary = pd.concat([cells, pd.DataFrame(columns)], axis=1)
    summary.attrs["units"] = Units(units)
    return summary


def hidden_by_step(cells: pd.DataFrame, metric: str, statistic: str = "median") -> pd.Series[float]:
    """Returns how much the step of the clock may change a statistic of each cell, s; 0 where no step is known.

    Nothing of a mean, for samples begin anywhere within a step; a whole step of other quantiles, which are not
    interpolated.
    """
    step = cells[f"{metric}_{STEP}"] if f"{metric}_{STEP}" in cells else pd.Series(0.0, cells.index)
    return step.fillna(0.0) * {"mean": 0.0, "median": LEFT_BY_INTERPOLATION}.get(statistic, 1.0)


def step_in_samples(file: NetcdfFile, samples: Samples) -> float:
    """Returns the step of the clocks in s as samples show it, for files that do not say it; 0 where they do not."""
    known = [samples[name] for name in ("latency_min", "latency_max") if name in samples.columns]
    once = steps_of(file, "latency_min", 1.0)[samples["cell_index"]] == 1  # calls per sample
    return step_in(np.concatenate([one[once] for one in known])) if known else 0.0
