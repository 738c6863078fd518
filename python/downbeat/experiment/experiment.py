"""What came of an experiment: its launches, and one frame of all their cells."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import xarray as xr

from downbeat.data.cells import summarize_cells
from downbeat.data.launch_file import CELL_FACTORS, IMPLIED, context_of, open_launch, open_samples
from downbeat.data.samples import sample_metrics
from downbeat.data.units import units_of
from downbeat.doctor.finding import Finding
from downbeat.errors import UsageError
from downbeat.experiment import directory as places
from downbeat.experiment.plan import DEFAULT_ENVIRONMENT, LAUNCH_FACTORS, Plan
from downbeat.mpi.libraries import short_version

# All that tells what was measured from something else; a launch's number is no factor, but a repetition.
FACTORS = (*LAUNCH_FACTORS, *CELL_FACTORS)


@dataclass(frozen=True)
class Launch:
    """A launch that is complete.

    Attributes:
        library: its name in the plan; of a file that stands alone, what the library calls itself.
        ranks: their number.
        environment: its name in the plan.
        number: among the launches of the same library, ranks and environment, from 1.
        path: its file of samples.
        record: launch.json, how it was started and ended; empty for a file that stands alone.
    """

    library: str
    ranks: int
    environment: str
    number: int
    path: Path
    record: Mapping[str, object]

    @cached_property
    def context(self) -> dict[str, object]:
        """What downbeat-bench knew of the machine and of itself: the global attributes of the file."""
        with open_samples(self.path) as file:
            return context_of(file)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """As `summarize_cells`."""
        return summarize_cells(self.path)

    def samples(self, metrics: Iterable[str] | None = None) -> xr.Dataset:
        """Returns the metrics of every sample in s, dimension `sample`, as `sample_metrics` does; all by default."""
        return sample_metrics(self.path, metrics)

    def open(self) -> xr.Dataset:
        """Opens the file, every rank's stamps in s, dimensions `sample` and `rank`, as `open_launch` does."""
        return open_launch(self.path)


@dataclass(frozen=True)
class Experiment:
    """An experiment, as `open_experiment` returns it.

    Attributes:
        path: its directory or file.
        name: from its plan, else of the path.
        launches: those that are complete, by configuration and number.
        plan: what was to be measured; None where files of launches were put together by hand.
        failures: launch.json of the launches that failed, with `directory`, where they lie.
    """

    path: Path
    name: str
    launches: tuple[Launch, ...]
    plan: Plan | None
    failures: tuple[Mapping[str, object], ...]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A pandas frame, one row per launch and cell: what `summarize_cells` tells, behind what the launch is.

        That is `library`, `ranks`, `environment` and `launch`, its number. Times are seconds, `attrs["units"]` has the
        units of all columns.
        """
        frames = []
        for launch in self.launches:
            frame = launch.cells.drop(columns="cell")
            for position, name in enumerate((*LAUNCH_FACTORS, "number")):
                frame.insert(position, name, getattr(launch, name))
            frames.append(frame.rename(columns={"number": "launch"}))
        cells = pd.concat(frames, ignore_index=True)
        cells.attrs["units"] = units_of(cells)
        return cells

    @cached_property
    def machine(self) -> tuple[Finding, ...]:
        """What `downbeat doctor` saw when the last run began; nothing, for files that were put together by hand."""
        file = self.path / places.MACHINE
        if not file.is_file():
            return ()
        return tuple(Finding(**finding) for finding in json.loads(file.read_text(encoding="utf-8"))["findings"])

    def varying(self) -> list[str]:
        """Returns the factors that have more than one value, but for `IMPLIED`, in the order of `FACTORS`."""
        return [name for name in FACTORS if name not in IMPLIED and self.cells[name].nunique() > 1]


def open_experiment(path: str | Path, without: Collection[Path] = ()) -> Experiment:
    """Opens an experiment.

    Args:
        path: the directory of `downbeat run`; a file `.nc` of downbeat-bench, which is one launch; or a directory of
            such files, which are taken for launches of one experiment.
        without: of such files, those that are none of its launches.

    Returns:
        The experiment; its samples are read when they are asked for.

    Raises:
        UsageError: there is nothing of the kind, or a file in it is foreign or cut off.
    """
    path = Path(path)
    if path.is_file():
        return Experiment(path, path.stem, (lone_launch(path, 1),), None, ())
    if not path.is_dir():
        raise UsageError(f"there is no experiment '{path}'")
    if (path / places.PLAN).is_file():
        return open_directory(path)
    files = [file for file in sorted(path.glob("*.nc")) if file not in without]
    if not files:
        raise UsageError(f"'{path}' is not the directory of an experiment: it has neither {places.PLAN} nor files .nc")
    launches: list[Launch] = []
    for file in files:
        launch = lone_launch(file, 1)
        before = sum((one.library, one.ranks) == (launch.library, launch.ranks) for one in launches)
        launches.append(Launch(launch.library, launch.ranks, launch.environment, before + 1, file, {}))
    return Experiment(path, path.name, tuple(launches), None, ())


def open_directory(path: Path) -> Experiment:
    """Opens the directory of `downbeat run`."""
    plan = places.read_plan(path)
    launches = []
    for name in sorted(places.complete(path)):
        record = places.read_record(path / places.LAUNCHES / name)
        file = path / places.LAUNCHES / name / places.SAMPLES
        launches.append(
            Launch(record["library"], record["ranks"], record["environment"], record["number"], file, record)
        )
    if not launches:
        raise UsageError(f"'{path}' has no complete launch; see {path / places.FAILED} for what failed")
    failures = tuple(
        places.read_record(record.parent) | {"directory": str(record.parent)}
        for record in sorted((path / places.FAILED).glob(f"*/{places.RECORD}"))
    )
    return Experiment(path, plan.name, tuple(launches), plan, failures)


def lone_launch(path: Path, number: int) -> Launch:
    """Opens a file that stands alone: the library is what it calls itself."""
    with open_samples(path) as file:
        library = short_version(str(file.mpi_library))
        ranks = int(file.dimensions["rank"].size)
    return Launch(library, ranks, DEFAULT_ENVIRONMENT, number, path, {})
