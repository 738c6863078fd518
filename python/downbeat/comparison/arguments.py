"""The arguments of `downbeat compare`: experiments, conditions, a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.base.text import counted
from downbeat.comparison.history import open_history, parse_conditions
from downbeat.comparison.table import BARRIER, COMMON_START, SYNCHRONIZER
from downbeat.errors import UsageError
from downbeat.experiment.experiment import Experiment, open_experiment


@dataclass(frozen=True)
class Arguments:
    """The comparison that was asked for, as arguments of `compare`."""

    a: Experiment
    b: Experiment | None
    history: list[Experiment] | None
    where_a: Mapping[str, object]
    where_b: Mapping[str, object]


def read_arguments(what: Sequence[str], history: Sequence[Path] | None) -> Arguments:
    """Reads words: those with `=` that name no file are conditions, the others experiments.

    If mpi_barrier and harmonize of one experiment are compared, harmonize is A, in either order.

    Raises:
        UsageError: they make no comparison, or one of them is not valid.
    """
    conditions = [word for word in what if "=" in word and not Path(word).exists()]
    paths = [word for word in what if word not in conditions]
    counts = (len(paths), len(conditions))
    if history:
        valid = counts in ((1, 0), (1, 1), (2, 0), (2, 2))
        forms = "B, B factor=value, A B, or A B factor=value factor=value, each with --history DIR"
    else:
        valid = counts in ((1, 0), (1, 2), (2, 0), (2, 2))
        forms = "A B, A factor=value factor=value, or A alone if it has two variants"
    if not valid:
        for path in paths:
            if not Path(path).exists():
                raise UsageError(f"there is no experiment '{path}'; conditions are like synchronizer=harmonize")
        raise UsageError(f"{counted(counts[0], 'experiment')} and {counted(counts[1], 'condition')}; give {forms}")
    if len(paths) == 2 and Path(paths[0]).resolve() == Path(paths[1]).resolve():
        raise UsageError(f"'{paths[1]}' would be compared with itself; give {forms}")
    if len(paths) == 1 and len(conditions) == 2 and conditions[0] == conditions[1]:
        raise UsageError(f"{conditions[1]} would be compared with itself; give {forms}")
    where: list[Mapping[str, object]] = [parse_conditions(one) for one in conditions] or [{}, {}]
    experiments = [open_experiment(path) for path in paths]
    if counts == (1, 0) and not history:
        where = variants_of(experiments[0])
    if [one.get(SYNCHRONIZER) for one in where] == [BARRIER, COMMON_START] and len(experiments) == 1:
        where.reverse()  # the ratio is barrier / common start, as in pictures, reports and at the end of a run
    return Arguments(
        experiments[0],
        experiments[1] if len(experiments) > 1 else None,
        open_history(history, experiments) if history else None,
        where[0],
        where[-1],
    )


def variants_of(experiment: Experiment) -> list[Mapping[str, object]]:
    """Returns the conditions by which the two variants of an experiment are compared, in the order of its plan.

    Raises:
        UsageError: it has another number of variants.
    """
    names = [one.name for one in experiment.plan.variants] if experiment.plan else []
    if len(names) != 2:
        there = f"it has the variants {', '.join(names)}" if len(names) > 2 else "it has no variants"
        raise UsageError(
            f"'{experiment.path}' alone: {there}; give A B, A factor=value factor=value, or A alone if it has two "
            "variants"
        )
    return [{"variant": name} for name in names]
