"""The sides of a comparison: conditions on their cells, contexts of launches, experiments at other times."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from downbeat.base.text import split_list
from downbeat.data.cells import NANOSECONDS
from downbeat.doctor.variables import settings_of
from downbeat.errors import UsageError
from downbeat.experiment import directory as places
from downbeat.experiment.experiment import FACTORS, Experiment, open_experiment
from downbeat.launchers.libraries import short_version
from downbeat.launchers.simulation import without_seed

SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1}


def parse_conditions(text: str) -> dict[str, str]:
    """Parses `factor=value,factor=value`; commas and signs within parentheses belong to a value.

    Raises:
        UsageError: it is not a condition, or a factor is unknown or given twice.
    """
    conditions: dict[str, str] = {}
    for part in split_list(text):
        name, sign, value = part.partition("=")
        if not (sign and value):
            raise UsageError(f"'{part}' is not a condition; write factor=value, e.g. synchronizer=harmonize")
        check_factor(name)
        if name in conditions:
            raise UsageError(f"'{text}' names {name} twice; a condition gives each factor one value")
        if name == "size":  # 64K is 65536
            value = f"{number(name, value):.0f}"
        conditions[name] = value
    return conditions


def check_factor(name: str) -> None:
    """Checks that a factor is one.

    Raises:
        UsageError: it is not.
    """
    if name not in FACTORS:
        raise UsageError(f"unknown factor '{name}'; choose one of {', '.join(FACTORS)}")


def select(cells: pd.DataFrame, conditions: Mapping[str, object]) -> pd.DataFrame:
    """Returns the rows of a frame of cells that meet all conditions.

    Args:
        cells: with the columns `FACTORS`.
        conditions: factor -> value; text for a number may have a suffix: bytes K, M or G, times ns, us, ms or s.

    Raises:
        UsageError: a factor is unknown, or no row has the value, or all of them together.
    """
    kept = pd.Series(True, index=cells.index)
    for name, value in conditions.items():
        check_factor(name)
        column = cells[name]
        wanted = number(name, value) if pd.api.types.is_numeric_dtype(column) else str(value)
        if isinstance(wanted, float):
            matches = (column - wanted).abs() <= 1e-9 * abs(wanted)
        else:
            matches = column.astype(object) == wanted  # Arrow's texts cannot be compared with what is no UTF-8
        if not matches.any():
            present = ", ".join(str(one) for one in column.unique())
            raise UsageError(f"no cell has {name}={value}; choose one of {present}")
        kept &= matches
    if not kept.any():
        both = ",".join(f"{name}={value}" for name, value in conditions.items())
        raise UsageError(f"no cell has {both}")
    return cells[kept]


def number(name: str, value: object) -> float:
    """Returns the number that a condition gives a factor.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"([0-9.eE+-]+?)([A-Za-z]*)", str(value))
    try:
        if not found or found[2] not in SUFFIXES:
            raise ValueError
        return float(found[1]) * SUFFIXES[found[2]]
    except ValueError:
        raise UsageError(f"{name}={value}: give a number, e.g. {'64K' if name == 'size' else '10us'}") from None


NAMES = {
    "mpi_library": "MPI library",
    "simulated": "simulated platform",
    "hosts": "hosts",
    "downbeat_version": "downbeat-bench",
    "git_revision": "its revision",
    "compiler": "its compiler",
    "stopping_rule": "stopping rule",
    "warmup_rule": "warm-up rule",
    "tolerance_s": "tolerance",
    "late_s": "lateness that counts",
    "late_ranks": "share of ranks that may be late",
    "observed_rank": "observed rank",
    "patterns_permuted": "permuted patterns",
}
CLOCK = "clock_"  # settings of libdownbeat
MEASURED = re.compile("clock_check.*|clock_resolution")  # found by the run, so never twice the same
RESOLUTION = "clock_resolution"
COARSER = 2.0  # a step that is another one
LONGEST = 60


def context_differences(
    a: Iterable[Mapping[str, object]], b: Iterable[Mapping[str, object]], expected: Iterable[str] = ()
) -> list[str]:
    """Returns a line for each part of the context that launches of A and of B do not share.

    Args:
        a: contexts of launches, each a `Launch.context`.
        b: of the others.
        expected: attributes that are to differ, for that is what is compared.
    """
    first, second = list(a), list(b)
    keys = [*NAMES, *sorted({key for one in first for key in one if key.startswith(CLOCK)})]
    lines = [] if "environment" in expected else variable_differences(first, second)
    for key in keys:
        if key in expected or MEASURED.fullmatch(key):
            continue
        values = [sorted({relevant(key, one) for one in side}) for side in (first, second)]
        if values[0] != values[1]:
            name = NAMES.get(key, key.replace("_", " "))
            lines.append(f"{name}: {shortened(values[0])} / {shortened(values[1])}")
    return lines + resolution_differences(first, second)


def resolution_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line if every launch of one side has a clock with a step `COARSER` than all of the other's."""
    steps = [[float(str(one[RESOLUTION])) for one in side if one.get(RESOLUTION)] for side in (a, b)]
    if not all(steps) or COARSER * min(map(max, steps)) > max(map(min, steps)):
        return []
    return [f"clock resolution: {' / '.join(f'{statistics.median(side) * NANOSECONDS:.0f} ns' for side in steps)}"]


def simulations(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns a line for each simulated platform: its numbers are of no machine."""
    platforms = dict.fromkeys(relevant("simulated", one) for one in contexts if "simulated" in one)
    return [f"simulated, not measured: {platform.replace(',', ', ')}" for platform in platforms]


def variable_differences(a: list[Mapping[str, object]], b: list[Mapping[str, object]]) -> list[str]:
    """Returns a line for each setting that has one value in A and another one, or none, in B, wherever it was made.

    Variables that a launcher sets anew for each launch, e.g. the number of a job, say nothing.
    """
    values = [[{name: one.value for name, one in settings_of(context).items()} for context in side] for side in (a, b)]
    lines = []
    for name in sorted({name for side in values for one in side for name in one}):
        found = [{one.get(name, "not set") for one in side} for side in values]
        if len(found[0]) == len(found[1]) == 1 and found[0] != found[1]:
            lines.append(f"{name}: {shortened(list(found[0]))} / {shortened(list(found[1]))}")
    return lines


def relevant(key: str, context: Mapping[str, object]) -> str:
    """Returns the value without what differs at any time."""
    value = str(context.get(key, "")).strip()
    if key == "hosts":
        return re.sub(r", load [^,\n]*", "", value)
    if key == "simulated":
        return without_seed(value)
    return short_version(value) if key == "mpi_library" else value


def shortened(values: list[str]) -> str:
    """Returns values as one line that is not too long."""
    line = "; ".join(value.replace("\n", " ") or "none" for value in values)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


SESSION = "session"  # column: what the experiment is called


def open_history(paths: Iterable[Path], compared: Sequence[Experiment]) -> list[Experiment]:
    """Opens experiments, and all experiments in directories of experiments, by name.

    Args:
        paths: each an experiment or a directory of experiments.
        compared: what the history is of. Where a directory has one of them, it is left out.

    Raises:
        UsageError: a path is neither, or an experiment is named that is compared, or one cannot be read.
    """
    taken = {one.path.resolve() for one in compared}
    opened: dict[Path, Experiment] = {}
    for path in paths:
        if path.resolve() in taken:
            raise UsageError(f"--history: '{path}' is compared itself; a history consists of other experiments")
        if path.is_dir() and not is_experiment(path):
            inside = [one for one in sorted(path.iterdir()) if is_experiment(one)]
            if not inside and any(path.iterdir()):
                raise UsageError(f"--history: '{path}' is neither an experiment nor a directory of experiments")
        else:
            inside = [path]
        for one in inside:
            if one.resolve() not in taken:
                opened.setdefault(one.resolve(), open_experiment(one))
    return list(opened.values())


def is_experiment(path: Path) -> bool:
    """Whether a directory is one of `downbeat run`, or of files of launches."""
    return path.is_dir() and ((path / places.PLAN).is_file() or any(path.glob("*.nc")))


def history_cells(
    frames: Mapping[str, pd.DataFrame], conditions: Mapping[str, object], like: pd.DataFrame
) -> pd.DataFrame:
    """Returns the cells of all sessions that meet conditions, with `session`, what the experiment is called.

    Args:
        frames: of the cells of each experiment, by what it is called.
        conditions: as in `select`; an experiment that has nothing of the kind has no part in the history.
        like: has the columns of the frames, which the result has without any.
    """
    parts = []
    for name, frame in frames.items():
        try:
            parts.append(select(frame, conditions).assign(**{SESSION: name}))
        except UsageError:
            continue
    return pd.concat(parts, ignore_index=True) if parts else like.iloc[:0].assign(**{SESSION: ""})


def alike(cells: pd.DataFrame, side: pd.DataFrame, compared: Iterable[str]) -> pd.DataFrame:
    """Returns the cells of a history that are of what A is, where a factor is compared.

    A name that the history has but once is that of A, whatever it is: `library` and `environment` are names that people
    give.

    Raises:
        UsageError: the history has several values of such a factor, and none is that of A.
    """
    for name in compared:
        value = side[name].iloc[0]
        if (cells[name] == value).any():
            cells = cells[cells[name] == value]
        elif cells[name].nunique() > 1:
            values = ", ".join(str(one) for one in cells[name].unique())
            raise UsageError(f"the history has {name} {values}, but not {value}, which A has")
    return cells


def taking_part(past: pd.DataFrame, cells: pd.DataFrame, key: list[str]) -> set[str]:
    """Returns the names of the sessions that have a cell in common with others, by these factors."""
    wanted = set(cells[key].itertuples(index=False, name=None))
    return {
        name
        for name, *values in past[[SESSION, *key]].drop_duplicates().itertuples(index=False, name=None)
        if tuple(values) in wanted
    }


def history_notes(
    history: Sequence[Experiment],
    reference: Sequence[Mapping[str, object]],
    of: str,
    expected: Iterable[str] = (),
) -> list[str]:
    """Returns a line for each part of the context that sessions of a history do not share with what they are of.

    Args:
        history: the experiments.
        reference: contexts of the launches that it is the history of.
        of: "A" or "B", which these are.
        expected: attributes that are to differ, as in `context_differences`.
    """
    contexts = [[launch.context for launch in one.launches] for one in history]
    found = Counter(line for each in contexts for line in context_differences(reference, each, expected))
    return [
        f"{of} and {count} of the {len(history)} experiments of its history differ in {line}; its effect"
        " counts as a deviation between sessions"
        for line, count in found.items()
    ]
