"""Chooses algorithms from results of other tools, and makes rules for cells in which the fastest one is significant.

Nothing is measured: it stays unknown if the library obeys the rules, and how much they gain; comments in the rules say
so. A cell is a collective with a size on a number of ranks, under conditions such as the datatype (`Conditions`).
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
from downbeat.statistics.verdicts import MIN_LAUNCHES, Comparison
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column
from downbeat.text import counted
from downbeat.tune.open_mpi import RULES_FILE
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written, rules_of, sizeless_rules
from downbeat.tune.target import Target

# Names that tools give to the library's own choice: default, default_ompi, default-default.
DEFAULTS = re.compile(r"default(?:_[a-z]+|-default)?")
SUFFIX = re.compile(r"_(?:ompi|mpich|impi|intel)$")  # PICO appends it to the names of the library's algorithms
# Tool -> collectives for which it counts the bytes of all ranks together, while downbeat-bench counts those of a rank.
COUNTS_ALL_RANKS = {
    "PICO": ("allgather", "alltoall", "gather", "scatter"),
    "nccl-tests": ("allgather", "alltoall", "gather"),
}
LIBRARIES = {"OMPI": "Open MPI", "CRAY_MPICH": "Cray MPICH", "FJMPI": "Fujitsu MPI"}  # name in files -> usual name


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
    launches: Ints = column("launches that have the fastest algorithm and its reference, the default or runner-up", "1")
    fastest: Texts = column("fastest algorithm, by the geometric mean over launches")
    value: Floats = column("time of the fastest algorithm", "s")
    default: Texts = column("the library's own choice, as the files name it; empty: they have none")
    default_ratio: Floats = column("time of the fastest / time of the default; NaN: the default is the fastest")
    default_low: Floats = column("lower end of the interval of default_ratio; NaN: one launch")
    default_high: Floats = column("upper end of the interval of default_ratio")
    default_verdict: Texts = column("verdict on the fastest against the default")
    runner_up: Texts = column("second fastest algorithm")
    runner_up_ratio: Floats = column("time of the fastest / time of the runner-up")
    runner_up_low: Floats = column("lower end of the interval of runner_up_ratio; NaN: one launch")
    runner_up_high: Floats = column("upper end of the interval of runner_up_ratio")
    runner_up_verdict: Texts = column("verdict on the fastest against the runner-up")
    decided: Flags = column("true: the fastest is significantly faster than the default, or if none the runner-up")
    needed: Floats = column("launches that would decide it with a probability of 90 %; NaN: decided, or unknown", "1")


@dataclass(frozen=True, order=True)
class Conditions:
    """The conditions of a cell, in addition to its collective, ranks and size."""

    setting: str
    library: str
    datatype: str
    nodes: int


Key = tuple[Conditions, Cell]
Values = dict[str, dict[int, float]]  # algorithm -> launch -> time, s


@dataclass
class FromResults:
    """Choices from results of tools, and the rules made from them.

    Attributes:
        choices: of all cells with two algorithms or more.
        kind: kind of time that is compared.
        statistic: of the time over calls, median or mean.
        alone: number of cells with a single algorithm.
        known: number of cells in which the deviation between launches is known.
        faster: cell -> algorithms that are significantly faster than the default and by more than the margin.
        tools: that wrote the results.
        rules: rules made from the choices.
        losses: sentences on choices that rules cannot express.
        measured: library that the files were measured under.
        target: library that the rules are for.
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
    measured: str = ""
    target: str = ""

    def facts(self) -> Iterator[Fact]:
        """Returns facts on the certainty of the choices and the limits of the rules."""
        table = self.choices
        enough = int((table.launches >= MIN_LAUNCHES).sum())
        yield DecidedCells(len(table), int(table.decided.sum()), enough, MIN_LAUNCHES, int(table.launches.max()))
        undecided = int((~table.decided).sum())
        if undecided:
            needed = np.sort(table.needed[~table.decided])
            # Launches after which half of the undecided cells would be decided.
            half = float(needed[math.ceil(undecided / 2) - 1]) if np.isfinite(needed).all() else math.nan
            launches = int(half) if half < MAX_LAUNCHES else None
            yield LaunchesForHalf(undecided, self.known, launches, not math.isnan(half))
        if self.alone:
            yield AloneInCells(self.alone)
        if self.rules:
            yield UnprovenRules(len(self.rules), self.measured, self.target)
        yield from map(TuningNote, self.losses)


def choose_from(
    results: Results, collectives: Sequence[str], metric: str, margin: float, confidence: float
) -> FromResults:
    """Chooses the fastest algorithm of each cell, and judges it.

    Each algorithm is compared with the default, and the fastest with the second fastest. All comparisons are judged
    together.

    Args:
        results: of tools, with an algorithm for each number.
        collectives: to choose for; empty: all.
        metric: name of a kind of time; empty: the first of KINDS that the results have.
        margin: ratios from 1 / (1 + margin) to 1 + margin count as equal.
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
    comparisons = {pair: cell.comparison for pair, cell in zip(tested, judged, strict=True) if cell.comparison}
    rows = [row_of(key, values, matches, comparisons) for key, values in several.items()]
    table = Choices.of_rows(rows)
    if comparisons:  # else no deviation between launches is known
        needed = needed_launches(several, matches, comparisons, count_tests(judged) or len(judged))
        table = table.replaced(needed=np.where(table.decided, np.nan, needed))
    faster = {key: faster_than_default(key, values, comparisons) for key, values in several.items()}
    compared_cells = {key for key, _, _ in comparisons}
    tools = tuple(dict.fromkeys(run.tool for run in results.runs))
    return FromResults(table, kind, statistic, len(cells) - len(several), len(compared_cells), faster, tools)


def number_kind(results: Results, metric: str) -> tuple[str, str]:
    """Returns the kind of time to compare, and its statistic over calls: the median if there is one, else the mean.

    Raises:
        UsageError: the results do not have the metric, or no times.
    """
    times = [(kind, statistic) for kind, statistic in results.kinds() if KINDS[kind].is_time]
    kinds = list(dict.fromkeys(kind for kind, _ in times))
    if not kinds or (metric and metric not in kinds):
        raise UsageError(
            f"these results have no {metric or 'times'}; they have: {', '.join(kinds or map(str, results.kinds()))}"
        )
    kind = metric or kinds[0]
    return kind, "median" if (kind, "median") in times else "mean"


def values_by_cell(results: Results, kind: str, statistic: str, collectives: Sequence[str]) -> dict[Key, Values]:
    """Returns cell -> algorithm -> launch -> time; several numbers of a launch become their geometric mean."""
    numbers = results.numbers
    flags = (numbers.kind == kind) & (numbers.statistic == statistic) & (numbers.status == OK) & (numbers.value > 0)
    logs: dict[Key, dict[str, dict[int, list[float]]]] = {}
    chosen = numbers[np.asarray(flags)]
    rows = zip(
        *(chosen.setting, chosen.datatype, chosen.operation, chosen.algorithm),
        *(chosen.nodes.tolist(), chosen.ranks.tolist(), chosen.size.tolist()),
        *(chosen.run.tolist(), chosen.value.tolist()),
        strict=True,
    )
    for setting, datatype, operation, algorithm, nodes, ranks, size, run, value in rows:
        if collectives and operation not in collectives:
            continue
        library = results.runs[run].context.get("library", "")
        key = (Conditions(setting, library, datatype, nodes), Cell(operation, ranks, size))
        logs.setdefault(key, {}).setdefault(algorithm, {}).setdefault(run, []).append(math.log(value))
    return {
        key: {
            name: {launch: math.exp(sum(values) / len(values)) for launch, values in by_launch.items()}
            for name, by_launch in algorithms.items()
        }
        for key, algorithms in sorted(logs.items())
    }


def mean_of(values: Mapping[int, float]) -> float:
    """Returns the geometric mean over launches."""
    return math.exp(sum(map(math.log, values.values())) / len(values))


def fastest_of(values: Values) -> list[str]:
    """Returns the algorithms of a cell, fastest first."""
    return sorted(values, key=lambda name: (mean_of(values[name]), name))


def default_of(values: Iterable[str]) -> str:
    """Returns the name of the library's own choice among names of algorithms; empty: not among them."""
    return next((name for name in values if DEFAULTS.fullmatch(name)), "")


def match_launches(a: Mapping[int, float], b: Mapping[int, float]) -> Match:
    """Matches the launches of two algorithms: in pairs if every launch of one of them also has the other."""
    paired = len(a.keys() & b.keys()) == min(len(a), len(b))
    return Matcher(paired).match({}, launches_of(a), launches_of(b), "algorithm")


def launches_of(values: Mapping[int, float]) -> Launches:
    """Returns the table of launches that matching takes; all launches count."""
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
    """Returns the row of a cell in `Choices`."""
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
    """Returns the columns that compare the fastest algorithm with another one.

    Args:
        name: prefix of the columns, "default" or "runner_up".
        match: launches of the other algorithm (A) and of the fastest (B).
        comparison: None: fewer than two launches.
    """
    if comparison is None:
        ratio, low, high = typical(match.b, False) / typical(match.a, False), math.nan, math.nan
        verdict = "undecided"
    else:
        interval = comparison.ratio
        ratio, low, high, verdict = interval.estimate, interval.low, interval.high, comparison.verdict
    return {f"{name}_ratio": ratio, f"{name}_low": low, f"{name}_high": high, f"{name}_verdict": verdict}


def faster_than_default(key: Key, values: Values, comparisons: Mapping[tuple[Key, str, str], Comparison]) -> list[str]:
    """Returns the algorithms that are faster than the default, significantly and by more than the margin."""
    default = default_of(values)
    compared = {name: comparisons.get((key, default, name)) for name in fastest_of(values)}
    return [
        name
        for name, comparison in compared.items()
        if comparison and comparison.verdict == "faster" and comparison.ratio.estimate <= 1 / (1 + comparison.margin)
    ]


def needed_launches(
    several: Mapping[Key, Values],
    matches: Mapping[tuple[Key, str, str], Match],
    comparisons: Mapping[tuple[Key, str, str], Comparison],
    tests: int,
) -> Floats:
    """Returns for each cell the number of launches that would show that its fastest algorithm is faster.

    It assumes that the observed ratio to the default (or without one, to the second fastest) is the true one. The
    deviation between launches is that of the cell; in cells with a single launch, the root mean square deviation of the
    other cells.

    Args:
        several: the cells.
        matches: as in `choose_from`.
        comparisons: as in `choose_from`.
        tests: number of tests for which verdicts are corrected.
    """
    scattered = [comparison for comparison in comparisons.values() if comparison.deviation > 0]
    freedoms = [comparison.freedom for comparison in scattered]
    squares = [comparison.deviation**2 for comparison in scattered]
    pooled = math.sqrt(float(np.average(squares, weights=freedoms))) if squares else 0.0
    ratios, deviations, freedom, paired = [], [], [], []
    for key, values in several.items():
        first, second = fastest_of(values)[:2]
        default = default_of(values)
        pair = (key, default if default and default != first else second, first)
        comparison, match = comparisons.get(pair), matches[pair]
        if comparison:
            ratios.append(comparison.ratio.estimate)
            deviations.append(max(comparison.deviation, 1e-9))
            freedom.append(comparison.freedom)
        else:
            ratios.append(typical(match.b, False) / typical(match.a, False))
            deviations.append(max(pooled, 1e-9))
            freedom.append(sum(freedoms))
        paired.append(match.paired)
    rule = rule_of(list(comparisons.values())[:1], tests)
    numbers = launches_needed(
        np.minimum(np.array(ratios), 1 - 1e-9), np.array(deviations), np.array(freedom), np.array(paired), rule
    )
    return numbers.astype(float)


def make_rules(made: FromResults, target: Target) -> None:
    """Turns decided choices into rules of a library, as far as its format can express them; fills in `made`.

    Raises:
        UsageError: the results are of several libraries or settings.
    """
    known = sorted({(conditions.library, conditions.setting) for conditions, _ in made.faster})
    if len(known) > 1:
        several = "; ".join(" ".join(filter(None, names)) for names in known)
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
        # Cells that differ only in datatype or nodes are the same cell for rules, and may have different choices.
        choices.setdefault(per_rank(cell, made.tools), set()).add(writable[0] if writable else DEFAULT)
    if second_best:
        made.losses.append(
            f"in {counted(len(second_best), 'cell')} the fastest algorithm is none of {target.version}: its rule names "
            "the fastest that is"
        )
    agreed = {cell: names.pop() if len(names) == 1 else DEFAULT for cell, names in choices.items()}
    for collective in sorted({cell.collective for cell in agreed}):
        chosen = {cell: name for cell, name in agreed.items() if cell.collective == collective}
        if collective not in target.form.collectives():
            continue
        if target.form.has_sizes(collective):
            made.rules += rules_of(chosen)
        else:
            rules, losses = sizeless_rules(chosen)
            made.rules, made.losses = made.rules + rules, made.losses + losses
    made.rules, losses = target.form.expressible(made.rules, sorted({cell.ranks for cell in agreed}))
    made.losses += losses


def with_origin(written: Written, lines: Sequence[str]) -> Written:
    """Returns rules whose files have lines on their origin as comments, if the format has comments."""
    comments = "".join(f"# {line}\n" for line in lines)
    files = {name: content + (comments if name == RULES_FILE else "") for name, content in written.files.items()}
    return dataclasses.replace(written, files=files)


def per_rank(cell: Cell, tools: Sequence[str]) -> Cell:
    """Returns a cell with its size as downbeat-bench counts it."""
    if any(cell.collective in COUNTS_ALL_RANKS.get(tool, ()) for tool in tools):
        return Cell(cell.collective, cell.ranks, cell.size // max(cell.ranks, 1))
    return cell


def origin_lines(made: FromResults, paths: Sequence[Path]) -> list[str]:
    """Returns comments on the origin of the rules for their files."""
    names = ", ".join(path.name for path in paths)
    return [
        f"NOT PROVEN: chosen from results of {', '.join(made.tools)} ({names}) on another machine or day.",
        "Nothing was measured here: whether this library obeys the rules and what they gain is not known.",
        f"To prove them, measure: downbeat tune {' '.join(sorted({rule.collective for rule in made.rules}))} -o DIR",
    ]
