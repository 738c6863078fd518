"""Choices of algorithms from results of other tools, and rules for the cells whose winner is beyond doubt.

Nothing is measured here: what a library obeys and what rules gain stays unknown, and the rules say so.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from downbeat.comparison.judging import count_tests, judge_matches, rule_of, typical
from downbeat.comparison.matching import Match, Matcher
from downbeat.comparison.sides import Launches
from downbeat.data.cells import OK
from downbeat.data.readers.kinds import KINDS
from downbeat.data.readers.results import Results
from downbeat.errors import UsageError
from downbeat.output.facts import Fact
from downbeat.output.facts.tuning import AloneInCells, DecidedCells, LaunchesForHalf, TuningNote, UnprovenRules
from downbeat.run.open_mpi_settings import major_version
from downbeat.statistics.power import MAX_LAUNCHES, launches_needed
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, Comparison
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column
from downbeat.text import counted
from downbeat.tune.open_mpi import RULES_FILE
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written, rules_of, sizeless_rules
from downbeat.tune.target import Target

# The library's own choice, as tools call it: default, default_ompi, default-default.
DEFAULTS = re.compile(r"default(?:_[a-z]+|-default)?")
SUFFIX = re.compile(r"_(?:ompi|mpich|impi|intel)$")  # of PICO, for algorithms of the library
# Tools that count the bytes of all ranks together where downbeat-bench counts those of one.
COUNTS_ALL = {"PICO": ("allgather", "alltoall", "gather", "scatter"), "nccl-tests": ("allgather", "alltoall", "gather")}
LIBRARIES = {"OMPI": "Open MPI", "CRAY_MPICH": "Cray MPICH", "FJMPI": "Fujitsu MPI"}  # as files name them


class Choices(Table):
    """A row per cell that has two algorithms or more."""

    collective: Texts = column("collective operation")
    size: Ints = column("size of the message, as the tool counts it", "B")
    ranks: Ints = column("number of ranks", "1")
    nodes: Ints = column("number of nodes", "1")
    datatype: Texts = column("datatype")
    setting: Texts = column("further factors of the cell")
    library: Texts = column("MPI library, as the files name it")
    algorithms: Ints = column("number of algorithms", "1")
    launches: Ints = column("launches that have the fastest algorithm and what it is compared with", "1")
    fastest: Texts = column("fastest algorithm, by the geometric mean over launches")
    value: Floats = column("its time", "s")
    default: Texts = column("the library's own choice, as the files name it; empty: they have none")
    default_ratio: Floats = column("time of the fastest over the default's; NaN where it is the default")
    default_low: Floats = column("lower end of its interval; NaN: one launch")
    default_high: Floats = column("upper end of its interval")
    default_verdict: Texts = column("verdict on the fastest against the default")
    runner_up: Texts = column("second algorithm")
    runner_up_ratio: Floats = column("time of the fastest over that of the second")
    runner_up_low: Floats = column("lower end of its interval; NaN: one launch")
    runner_up_high: Floats = column("upper end of its interval")
    runner_up_verdict: Texts = column("verdict on the fastest against the second")
    decided: Flags = column("whether the winner is beyond doubt: against the default, without one against the second")
    needed: Floats = column("launches that would decide it with a probability of 90 %; NaN: decided, or unknown", "1")


@dataclass(frozen=True, order=True)
class Conditions:
    """What a cell has beside its collective, ranks and size."""

    setting: str
    library: str
    datatype: str
    nodes: int


Key = tuple[Conditions, Cell]
Values = dict[str, dict[int, float]]  # algorithm -> launch -> number


@dataclass
class FromResults:
    """Choices from results.

    Attributes:
        choices: of all cells with two algorithms or more.
        kind: of the numbers.
        statistic: over calls.
        alone: cells with one algorithm alone.
        known: cells in which the deviation between launches is known.
        faster: cell -> algorithms that are faster than the default beyond doubt and by more than the margin.
        rules: those written.
        losses: choices that rules cannot express.
    """

    choices: Choices
    kind: str
    statistic: str
    alone: int
    known: int
    faster: dict[Key, list[str]]
    tools: tuple[str, ...]
    rules: list[Rule] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    measured: str = ""  # library in the files, of the rules
    target: str = ""  # library on this machine, of the rules

    def facts(self) -> Iterator[Fact]:
        """What the choices are worth."""
        table = self.choices
        enough = int((table.launches >= FEWEST_LAUNCHES).sum())
        yield DecidedCells(len(table), int(table.decided.sum()), enough, FEWEST_LAUNCHES, int(table.launches.max()))
        undecided = int((~table.decided).sum())
        if undecided:
            needed = np.sort(table.needed[~table.decided])
            half = float(needed[math.ceil(undecided / 2) - 1]) if np.isfinite(needed).all() else math.nan
            beyond = not half < MAX_LAUNCHES
            yield LaunchesForHalf(undecided, self.known, None if beyond else int(half), not math.isnan(half))
        if self.alone:
            yield AloneInCells(self.alone)
        if self.rules:
            yield UnprovenRules(len(self.rules), self.measured, self.target)
        yield from map(TuningNote, self.losses)


def choose_from(
    results: Results, collectives: Sequence[str], metric: str, margin: float, confidence: float
) -> FromResults:
    """Chooses the fastest algorithm of each cell, and judges it.

    All comparisons are one family: each algorithm against the default, the fastest against the second.

    Args:
        results: of tools, with an algorithm for each number.
        collectives: that count; empty: all.
        metric: name of a kind of time; empty: the first of KINDS that the results have.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of intervals; the level of the tests follows from it.

    Raises:
        UsageError: no cell has two algorithms, or the results do not have the metric.
    """
    kind, statistic = number_kind(results, metric)
    cells = values_by_cell(results, kind, statistic, collectives)
    several = {key: values for key, values in cells.items() if len(values) > 1}
    if not several:
        raise UsageError("there is nothing to choose: no cell of these results has two algorithms")
    matches: dict[tuple[Key, str, str], Match] = {}
    for key, values in several.items():
        first, second = fastest_of(values)[:2]
        default = default_of(values)
        pairs = {(default, name) for name in values if default and name != default} | {(second, first)}
        matches |= {(key, a, b): match_launches(values[a], values[b]) for a, b in sorted(pairs)}
    tested = [pair for pair, match in matches.items() if min(match.a.size, match.b.size) > 1]
    judged = judge_matches([matches[pair] for pair in tested], margin, confidence)
    comparisons = {pair: each.comparison for pair, each in zip(tested, judged, strict=True) if each.comparison}
    rows = [row_of(key, values, matches, comparisons) for key, values in several.items()]
    table = Choices.of_rows(rows)
    known = sum(each.comparison is not None for each in judged)
    if known:
        needed = needed_launches(several, matches, comparisons, count_tests(judged) or len(judged))
        table = table.replaced(needed=np.where(table.decided, np.nan, needed))
    faster = {key: faster_than_default(key, values, comparisons) for key, values in several.items()}
    of_cells = {pair[0] for pair in comparisons}
    tools = tuple(dict.fromkeys(run.tool for run in results.runs))
    return FromResults(table, kind, statistic, len(cells) - len(several), len(of_cells), faster, tools)


def number_kind(results: Results, metric: str) -> tuple[str, str]:
    """The kind of time that is compared, and its statistic over calls: the median if there is one, else the mean.

    Raises:
        UsageError: the results do not have it.
    """
    times = [each for each in results.kinds() if KINDS[each[0]].is_time]
    kinds = list(dict.fromkeys(kind for kind, _ in times))
    if not kinds or (metric and metric not in kinds):
        raise UsageError(
            f"these results have no {metric or 'times'}; they have: {', '.join(kinds or map(str, results.kinds()))}"
        )
    kind = metric or kinds[0]
    return kind, "median" if (kind, "median") in times else "mean"


def values_by_cell(results: Results, kind: str, statistic: str, collectives: Sequence[str]) -> dict[Key, Values]:
    """The numbers of each cell by algorithm and launch; of several in a launch the geometric mean."""
    numbers = results.numbers
    flags = (numbers.kind == kind) & (numbers.statistic == statistic) & (numbers.status == OK) & (numbers.value > 0)
    logs: dict[Key, dict[str, dict[int, list[float]]]] = {}
    some = numbers[np.asarray(flags)]
    counts = (some.nodes.tolist(), some.ranks.tolist(), some.size.tolist())
    columns = (some.setting, some.datatype, some.operation, *counts)
    numbered = zip(some.algorithm, some.run.tolist(), some.value.tolist(), strict=True)
    for case, (algorithm, run, value) in zip(zip(*columns, strict=True), numbered, strict=True):
        setting, datatype, operation, nodes, ranks, size = case
        if collectives and operation not in collectives:
            continue
        library = results.runs[run].context.get("library", "")
        key = (Conditions(setting, library, datatype, nodes), Cell(operation, ranks, size))
        logs.setdefault(key, {}).setdefault(algorithm, {}).setdefault(run, []).append(math.log(value))
    return {
        key: {
            name: {launch: math.exp(sum(each) / len(each)) for launch, each in by_launch.items()}
            for name, by_launch in algorithms.items()
        }
        for key, algorithms in sorted(logs.items())
    }


def mean_of(values: Mapping[int, float]) -> float:
    """The geometric mean over launches."""
    return math.exp(sum(map(math.log, values.values())) / len(values))


def fastest_of(values: Values) -> list[str]:
    """The algorithms, fastest first."""
    return sorted(values, key=lambda name: (mean_of(values[name]), name))


def default_of(values: Iterable[str]) -> str:
    """The library's own choice among names of algorithms; empty: none."""
    return next((name for name in values if DEFAULTS.fullmatch(name)), "")


def match_launches(a: Mapping[int, float], b: Mapping[int, float]) -> Match:
    """Matches launches of two algorithms: in pairs if all of one algorithm have the other, too."""
    paired = len(a.keys() & b.keys()) == min(len(a), len(b))
    return Matcher(paired).match({}, launches_of(a), launches_of(b), "algorithm")


def launches_of(values: Mapping[int, float]) -> Launches:
    size = len(values)
    return Launches(
        launch=np.array(list(values), dtype=np.int64),
        status=np.full(size, OK, dtype=object),
        counts=np.ones(size, dtype=bool),
        value=np.array(list(values.values())),
        uncertainty=np.zeros(size),
        session=np.full(size, "", dtype=object),
    )


def row_of(
    key: Key,
    values: Values,
    matches: Mapping[tuple[Key, str, str], Match],
    comparisons: Mapping[tuple[Key, str, str], Comparison],
) -> dict[str, object]:
    """A row of Choices."""
    conditions, cell = key
    first, second = fastest_of(values)[:2]
    default = default_of(values)
    row: dict[str, object] = {
        **{"collective": cell.collective, "size": cell.size, "ranks": cell.ranks},
        **{"nodes": conditions.nodes, "datatype": conditions.datatype, "setting": conditions.setting},
        **{"library": conditions.library, "algorithms": len(values), "fastest": first, "value": mean_of(values[first])},
        **{"default": default, "runner_up": second},
    }
    for name, other in (("default", default), ("runner_up", second)):
        if other and other != first:
            comparison = comparisons.get((key, other, first))
            row |= against(name, matches[key, other, first], comparison)
    reference = "default" if default and default != first else "runner_up"
    match = matches[key, default if reference == "default" else second, first]
    row["launches"] = min(match.a.size, match.b.size)
    row["decided"] = row[f"{reference}_verdict"] == "faster"
    return row


def against(name: str, match: Match, comparison: Comparison | None) -> dict[str, object]:
    """Columns on the fastest algorithm against another one."""
    if comparison is None:
        ratio = typical(match.b, False) / typical(match.a, False)
        return {
            f"{name}_ratio": ratio,
            f"{name}_low": math.nan,
            f"{name}_high": math.nan,
            f"{name}_verdict": "undecided",
        }
    interval = comparison.ratio
    ends = {f"{name}_ratio": interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
    return {**ends, f"{name}_verdict": comparison.verdict}


def faster_than_default(key: Key, values: Values, comparisons: Mapping[tuple[Key, str, str], Comparison]) -> list[str]:
    """The algorithms that are faster than the default beyond doubt and by more than the margin, fastest first."""
    default = default_of(values)
    judged = {name: comparisons.get((key, default, name)) for name in fastest_of(values)}
    return [
        name
        for name, each in judged.items()
        if each and each.verdict == "faster" and each.ratio.estimate <= 1 / (1 + each.margin)
    ]


def needed_launches(
    several: Mapping[Key, Values],
    matches: Mapping[tuple[Key, str, str], Match],
    comparisons: Mapping[tuple[Key, str, str], Comparison],
    tests: int,
) -> Floats:
    """Launches that would show the ratio of each cell's fastest algorithm to what it is compared with, as observed.

    The deviation between launches is that of the cell; where a cell has one launch, the root mean square of the others.
    """
    squares = [each.deviation**2 for each in comparisons.values() if each.deviation > 0]
    freedoms = [each.freedom for each in comparisons.values() if each.deviation > 0]
    pooled = math.sqrt(float(np.average(squares, weights=freedoms))) if squares else 0.0
    ratios, deviations, freedom, paired = [], [], [], []
    for key, values in several.items():
        first, second = fastest_of(values)[:2]
        default = default_of(values)
        pair = (key, default if default and default != first else second, first)
        each, match = comparisons.get(pair), matches[pair]
        ratios.append(each.ratio.estimate if each else typical(match.b, False) / typical(match.a, False))
        deviations.append(max(each.deviation if each else pooled, 1e-9))
        freedom.append(each.freedom if each else sum(freedoms))
        paired.append(match.paired)
    rule = rule_of(list(comparisons.values())[:1], tests)
    numbers = launches_needed(
        np.minimum(np.array(ratios), 1 - 1e-9), np.array(deviations), np.array(freedom), np.array(paired), rule
    )
    return numbers.astype(float)


def make_rules(made: FromResults, target: Target) -> None:
    """Turns decided choices into rules of a library, as far as its form can express them.

    Raises:
        UsageError: the results are of several libraries or settings.
    """
    known = sorted({(conditions.library, conditions.setting) for conditions, _ in made.faster})
    if len(known) > 1:
        several = "; ".join(" ".join(filter(None, each)) for each in known)
        raise UsageError(
            f"rules are for one library and setting, these results are of {len(known)}: {several}; give results of one"
        )
    library, _, version = known[0][0].partition(" ")
    made.measured, made.target = f"{LIBRARIES.get(library, library)} {version}".strip(), target.version
    if (major := major_version(target.version)) and not version.startswith(f"{major}."):
        made.losses.append(f"the results are of {made.measured}, the rules for {target.version}")
    choices: dict[Cell, set[str]] = {}
    second_best: list[Cell] = []
    for (_, cell), faster in made.faster.items():
        names = [SUFFIX.sub("", name) for name in faster]
        writable = [
            name
            for name in names
            if name in target.algorithms.get(cell.collective, ()) and not target.form.unwritable(cell.collective, name)
        ]
        if faster and not writable:
            made.losses.append(f"{cell} stays with the default: {target.version} has no {', '.join(faster)}")
        elif faster and writable[0] != names[0]:
            second_best.append(cell)
        choices.setdefault(per_rank(cell, made.tools), set()).add(writable[0] if writable else DEFAULT)
    if second_best:
        made.losses.append(
            f"in {counted(len(second_best), 'cell')} the fastest algorithm is none of {target.version}: its rule names "
            "the fastest that is"
        )
    agreed = {cell: each.pop() if len(each) == 1 else DEFAULT for cell, each in choices.items()}
    for collective in sorted({cell.collective for cell in agreed}):
        chosen = {cell: name for cell, name in agreed.items() if cell.collective == collective}
        if collective not in target.form.collectives():
            continue
        if target.form.has_sizes(collective):
            made.rules += rules_of(chosen)
        else:
            rules, losses = sizeless_rules(chosen)
            made.rules, made.losses = made.rules + rules, made.losses + losses
    made.rules, losses = target.form.sayable(made.rules, sorted({cell.ranks for cell in agreed}))
    made.losses += losses


def with_origin(written: Written, lines: Sequence[str]) -> Written:
    """Rules whose files say where they come from, as far as their form has comments."""
    comments = "".join(f"# {line}\n" for line in lines)
    files = {name: content + (comments if name == RULES_FILE else "") for name, content in written.files.items()}
    return dataclasses.replace(written, files=files)


def per_rank(cell: Cell, tools: Sequence[str]) -> Cell:
    """A cell with the size as downbeat-bench counts it."""
    counts_all = any(cell.collective in COUNTS_ALL.get(tool, ()) for tool in tools)
    return Cell(cell.collective, cell.ranks, cell.size // max(cell.ranks, 1)) if counts_all else cell


def origin_lines(made: FromResults, paths: Sequence[Path]) -> list[str]:
    """The origin of the rules, for a reader of the file."""
    names = ", ".join(path.name for path in paths)
    return [
        f"NOT PROVEN: chosen from results of {', '.join(made.tools)} ({names}) on another machine or day.",
        "Nothing was measured here: whether this library obeys the rules and what they gain is not known.",
        f"To prove them, measure: downbeat tune {' '.join(sorted({rule.collective for rule in made.rules}))} -o DIR",
    ]
