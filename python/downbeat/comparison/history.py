"""The history of what is compared: experiments of the same cells at other times, each a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from downbeat.comparison.conditions import select
from downbeat.comparison.contexts import context_differences
from downbeat.errors import UsageError
from downbeat.experiment import directory as places
from downbeat.experiment.experiment import Experiment, open_experiment

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
