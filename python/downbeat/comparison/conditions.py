"""Reads the arguments of `downbeat compare`: experiments A and B, conditions on cells, and the history.

A condition is `factor=value`, e.g. `synchronizer=harmonize`; it selects the cells of one side. A history is a set of
earlier experiments (sessions) of the same kind.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from downbeat.data.cells import Factors
from downbeat.errors import UsageError
from downbeat.files import in_use
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.run import directory as places
from downbeat.run.experiment import FACTORS, Experiment, NoLaunchError
from downbeat.run.tool_results import ToolExperiment, is_of_tool, is_ours, open_results
from downbeat.text import counted, split_list

SYNCHRONIZER = "synchronizer"
F = TypeVar("F", bound=Factors)


@dataclass(frozen=True)
class Arguments:
    """The arguments of `comparison_of`."""

    a: Experiment
    b: Experiment | None
    history: list[Experiment] | None
    where: tuple[Mapping[str, object], Mapping[str, object]]
    notes: tuple[str, ...] = ()  # on experiments that the history leaves out


def read_arguments(what: Sequence[str], history: Sequence[Path] | None) -> Arguments:
    """Reads words: a word with `=` that is not a file is a condition, any other word is an experiment.

    If mpi_barrier and harmonize of one experiment are compared, harmonize is A, in either order.

    Raises:
        UsageError: the words make no comparison, or a word is not valid.
    """
    conditions = [word for word in what if "=" in word and not Path(word).exists()]
    words = [word for word in what if word not in conditions]
    words, history = with_history(words, history) if history else (words, history)
    sides = sides_of_paths(words)
    paths = [side[0] for side in sides]
    counts = (len(sides), len(conditions))
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
    where: list[Mapping[str, object]] = [parse_conditions(condition) for condition in conditions] or [{}, {}]
    experiments = with_known_ranks([open_results(side) for side in sides])
    if counts == (1, 0) and not history:
        where = variants_of(experiments[0])
    if [side.get(SYNCHRONIZER) for side in where] == [BARRIER, COMMON_START] and len(experiments) == 1:
        where.reverse()  # the ratio is barrier / common start, as in pictures, reports and at the end of a run
    past, lines = open_history(history, experiments) if history else (None, ())
    return Arguments(
        experiments[0],
        experiments[1] if len(experiments) > 1 else None,
        past,
        (where[0], where[-1]),
        lines,
    )


VERSUS = "vs"  # between the files of A and of B


def sides_of_paths(words: Sequence[str]) -> list[list[str]]:
    """Divides paths into sides. Results of other tools make two sides if they are in two directories.

    Raises:
        UsageError: the paths do not make clear which are A and which are B.
    """
    if VERSUS in words:
        at = words.index(VERSUS)
        sides = [list(words[:at]), list(words[at + 1 :])]
        if not all(sides) or VERSUS in sides[1]:
            raise UsageError(f"'{VERSUS}' stands once, between the paths of A and those of B")
        return sides
    if len(words) <= 2 or not any(is_of_tool(Path(word)) for word in words):
        return [[word] for word in words]
    directories: dict[Path, list[str]] = {}
    for word in words:
        directories.setdefault(Path(word).resolve().parent, []).append(word)
    if len(directories) != 2:
        where = counted(len(directories), "directory") if len(directories) > 1 else "one directory"
        raise UsageError(
            f"{len(words)} results of {where}; give two directories, or the files of A, the word {VERSUS}, and those "
            f"of B: downbeat compare {words[0]} ... {VERSUS} {words[-1]} ..."
        )
    return list(directories.values())


def with_history(words: Sequence[str], history: Sequence[Path]) -> tuple[list[str], list[Path]]:
    """Moves results of other tools from the words to the history if they are in its directory.

    A shell expands `--history nights/*.log` so that all but the first file become words.
    """
    directories = {path.resolve().parent for path in history if path.is_file() and not is_ours(path)}
    inside = [word for word in words if Path(word).is_file() and Path(word).resolve().parent in directories]
    if not inside or (len(inside) == len(words) and len(words) <= 2):
        return list(words), list(history)
    if len(inside) == len(words):
        raise UsageError(
            f"{len(words) + len(history)} results of one directory: which of them is B? Give downbeat compare B "
            "--history DIR, with B in another directory"
        )
    return [word for word in words if word not in inside], [*history, *map(Path, inside)]


def with_known_ranks(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Gives results without a number of ranks, such as those of OSU, the number of the other side."""
    numbers = [sorted({launch.ranks for launch in side.launches if launch.ranks}) for side in experiments]
    known = [ranks[0] for ranks in numbers if len(ranks) == 1]
    return [
        side.with_ranks(known[0]) if isinstance(side, ToolExperiment) and not ranks and len(known) == 1 else side
        for side, ranks in zip(experiments, numbers, strict=True)
    ]


def variants_of(experiment: Experiment) -> list[Mapping[str, object]]:
    """Returns the conditions by which the two variants of an experiment are compared, in the order of its plan.

    Raises:
        UsageError: the experiment does not have two variants.
    """
    names = [variant.name for variant in experiment.plan.variants] if experiment.plan else []
    if len(names) != 2:
        variants = f"it has the variants {', '.join(names)}" if len(names) > 2 else "it has no variants"
        starts = list(dict.fromkeys(experiment.cell_table.synchronizer.tolist()))
        if len(names) < 2 and len(starts) == 2:  # suggest this comparison
            starts.sort(key=lambda start: start != COMMON_START)
            words = ["downbeat", "compare", str(experiment.path), *(f"{SYNCHRONIZER}={start}" for start in starts)]
            raise UsageError(f"'{experiment.path}' has one variant and two synchronizers: {shlex.join(words)}")
        raise UsageError(
            f"'{experiment.path}' alone: {variants}; give A B, A factor=value factor=value, or A alone if it has two "
            "variants"
        )
    return [{"variant": name} for name in names]


UNIT_SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1}


def parse_conditions(text: str) -> dict[str, str]:
    """Parses `factor=value,factor=value`; a comma or `=` within parentheses belongs to a value.

    Raises:
        UsageError: the text is not a condition, or a factor is unknown or occurs twice.
    """
    conditions: dict[str, str] = {}
    for condition in split_list(text):
        name, sign, value = condition.partition("=")
        if not (sign and value):
            raise UsageError(f"'{condition}' is not a condition; write factor=value, e.g. synchronizer=harmonize")
        check_factor(name)
        if name in conditions:
            raise UsageError(f"'{text}' names {name} twice; a condition gives each factor one value")
        if name == "size":  # 64K is 65536
            value = f"{factor_number(name, value):.0f}"
        conditions[name] = value
    return conditions


def check_factor(name: str) -> None:
    if name not in FACTORS:
        raise UsageError(f"unknown factor '{name}'; choose one of {', '.join(FACTORS)}")


def select(cells: F, conditions: Mapping[str, object]) -> F:
    """Selects the rows that meet all conditions.

    Args:
        cells: a table of cells.
        conditions: factor -> value. A number as text may have a suffix: K, M or G for bytes; ns, us, ms or s for times.

    Raises:
        UsageError: a factor is unknown, or no row meets a condition or all conditions.
    """
    kept = np.ones(len(cells), dtype=bool)
    for name, value in conditions.items():
        check_factor(name)
        column = getattr(cells, name)
        if column.dtype == object:
            matches = column == str(value)
        else:
            number = factor_number(name, value)
            matches = np.abs(column - number) <= 1e-9 * abs(number)
        if not matches.any():
            present = ", ".join(map(str, dict.fromkeys(column.tolist())))
            raise UsageError(f"no cell has {name}={value}; choose one of {present}")
        kept &= matches
    if not kept.any():
        together = ",".join(f"{name}={value}" for name, value in conditions.items())
        raise UsageError(f"no cell has {together}")
    return cells[kept]


def factor_number(name: str, value: object) -> float:
    """Converts the value of a condition to a number.

    Raises:
        UsageError: the value is not a number with a known unit.
    """
    match = re.fullmatch(r"([0-9.eE+-]+?)([A-Za-z]*)", str(value))
    try:
        if not match or match[2] not in UNIT_SUFFIXES:
            raise ValueError
        return float(match[1]) * UNIT_SUFFIXES[match[2]]
    except ValueError:
        raise UsageError(f"{name}={value}: give a number, e.g. {'64K' if name == 'size' else '10us'}") from None


MAX_NAMES = 5  # experiments that a line names per reason
BUSY, EMPTY, MARKED = "being measured", "without a complete launch", f"marked slower ({places.SLOWER})"
FOREIGN = "without results that Downbeat reads"


def open_history(paths: Iterable[Path], compared: Sequence[Experiment]) -> tuple[list[Experiment], tuple[str, ...]]:
    """Opens the sessions of a history: experiments, and in order of name the experiments of directories.

    Leaves out experiments that are running, have no complete launch, or are marked as slower; a line counts these. Also
    leaves out the compared experiments if they are in such a directory.

    Raises:
        UsageError: a path is not an experiment or a directory of experiments, or is compared itself, or unreadable.
    """
    compared_paths = {
        Path(path).resolve()
        for experiment in compared
        for path in (experiment.sources if isinstance(experiment, ToolExperiment) else [experiment.path])
    }
    seen = set(compared_paths)
    opened: list[Experiment] = []
    left_out: dict[str, list[str]] = {}
    for path in paths:
        if path.resolve() in compared_paths:
            raise UsageError(f"--history: '{path}' is compared itself; a history consists of other experiments")
        if path.is_dir() and not is_experiment(path):
            entries = sorted(path.iterdir())
            inside = [entry for entry in entries if is_experiment(entry)]
            inside = inside or [entry for entry in entries if is_of_tool(entry)]
            if not inside and entries:
                raise UsageError(f"--history: '{path}' is neither an experiment nor a directory of experiments")
        else:
            inside = [path]
        for entry in inside:
            if entry.resolve() in seen:
                continue
            seen.add(entry.resolve())
            try:
                if places.is_marked(entry):
                    left_out.setdefault(MARKED, []).append(entry.name)
                elif in_use(entry):
                    left_out.setdefault(BUSY, []).append(entry.name)
                elif entry.is_file() and not is_ours(entry) and not is_of_tool(entry):
                    left_out.setdefault(FOREIGN, []).append(entry.name)
                else:
                    opened.append(open_results([entry]))
            except NoLaunchError:
                left_out.setdefault(EMPTY, []).append(entry.name)
    reasons = [
        f"{len(names)} {reason}: {', '.join(names[:MAX_NAMES])}{', ...' if len(names) > MAX_NAMES else ''}"
        for reason, names in left_out.items()
    ]
    line = f"history: {counted(len(opened), 'experiment')}; left out {'; '.join(reasons)}"
    return opened, (line,) if reasons else ()


def is_experiment(path: Path) -> bool:
    """Returns true for a directory of `downbeat run`, and for a directory of files of launches."""
    return path.is_dir() and ((path / places.PLAN).is_file() or any(path.glob("*.nc")))
