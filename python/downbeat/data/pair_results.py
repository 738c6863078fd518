"""Collects times of pairs of nodes from results of other tools, for `downbeat locate`.

A run of a tool on exactly two nodes is a measurement of this pair: a log of nccl-tests or OSU for each pair, or a
directory of PICO. A setting is one kind of measurement of all pairs; its numbers must not be mixed with others, e.g.
sendrecv with 4 GPUs a node.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np

from downbeat.data.cells import OK
from downbeat.data.pairs import Pairs, PairTimes
from downbeat.data.readers.kinds import KINDS
from downbeat.data.readers.results import Numbers, Results, ToolRun
from downbeat.errors import UsageError
from downbeat.statistics.faults import BOTH, FORWARD
from downbeat.text import bytes_text, listed

# Kinds of numbers by priority. Of the kinds that most pairs of a setting have, the first is used.
KINDS_OF_PAIRS = (
    "bus_bandwidth", "bandwidth", "one_way", "call_time", "latency_avg", "latency_max", "latency_observed",
    "global_time", "with_barrier_avg", "middle_mean",
)  # fmt: skip
DIRECTED = "bandwidth"  # OSU's bandwidth is from the first node to the second, if there are logs of both orders
LARGE = 16  # ratio of the largest size to the smallest size that counts; protocols rarely change in this range
SMALL_BYTES = 1024  # smaller sizes are a separate setting: latency without bandwidth
SEPARATORS = (r"[_+,~.]|--", r"-")  # between names of nodes in names of files
PLACE = re.compile(r"place=\w+,?")  # nccl-tests' in-place and out-of-place calls are values of the same pair
Pair = tuple[str, str]


def pairs_in(results: Results) -> list[PairTimes]:
    """Collects the pairs in results, an element for each setting.

    Raises:
        UsageError: no run has exactly two nodes, or none has a usable kind of numbers.
    """
    pair_of = [pair_of_run(run) for run in results.runs]
    names = tuple(sorted({name for pair in pair_of for name in pair}))
    if not names:
        raise UsageError(
            f"'{results.runs[0].path}' is not of a pair of nodes; give a log for each pair, with their names in it or "
            "at the end of its own name, e.g. latency_node1_node2.txt"
        )
    index = {name: number for number, name in enumerate(names)}
    indices_of = [tuple(index[name] for name in pair) for pair in pair_of]
    numbers = results.numbers
    usable = (numbers.status == OK) & (numbers.statistic == "mean") & np.isin(numbers.kind, KINDS_OF_PAIRS)
    usable &= np.array([bool(pair) for pair in pair_of])[numbers.run] & (numbers.value > 0)
    if not usable.any():
        raise UsageError(f"the runs of pairs of nodes have none of these numbers: {listed(KINDS_OF_PAIRS)}")
    silent = set(range(len(pair_of))) - set(numbers.run.tolist())
    tables = []
    for words, rows in settings_of(numbers[np.flatnonzero(usable)], results.runs):
        run_of_setting = results.runs[rows.run[0]]
        kind = kind_of(rows, pair_of)
        chosen = rows[np.flatnonzero(rows.kind == kind)]
        measured = {frozenset(pair_of[run]) for run in chosen.run}
        tried = [
            run
            for run in silent
            if results.runs[run].tool == run_of_setting.tool
            and per_node_words(results.runs[run]) == per_node_words(run_of_setting)
        ]
        lost = {frozenset(pair_of[run]) for run in tried} - measured - {frozenset()}
        failed = tuple((a, b) for a, b in sorted(sorted(index[name] for name in pair) for pair in lost))
        for label, in_range in ranges_of(chosen, KINDS[kind].is_time):
            table = table_of(in_range, indices_of, KINDS[kind].is_time)
            tables.append(PairTimes(", ".join(filter(None, (words, label))), names, table, KINDS[kind].is_rate, failed))
    return tables


def settings_of(numbers: Numbers, runs: Sequence[ToolRun]) -> Iterator[tuple[str, Numbers]]:
    """Yields the settings in numbers of pairs: words and rows.

    The words always have operation, algorithm, and GPUs or ranks a node. They have the tool, its library, the datatype
    and other factors only where settings differ in them.
    """
    of_rows = [runs[run] for run in numbers.run]
    algorithms = ["" if name == "default" else f" by {name}" for name in numbers.algorithm]
    groups = list(
        numbers.groups(
            [run.tool for run in of_rows],
            [per_node_words(run) for run in of_rows],
            numbers.operation,
            algorithms,
            numbers.datatype,
            [PLACE.sub("", setting) for setting in numbers.setting],
            [run.context.get("library", "") for run in of_rows],
        )
    )
    for key, rows in groups:
        tool, per_node, operation, algorithm, *factors = key
        similar = [(other[0], *other[4:]) for other, _ in groups if other[1:4] == key[1:4]]
        differing = [
            factor
            for factor, values in zip((tool, *factors), zip(*similar, strict=True), strict=True)
            if len(set(values)) > 1
        ]
        yield ", ".join([f"{operation}{algorithm}{per_node}", *filter(None, differing)]), rows


def per_node_words(run: ToolRun) -> str:
    """States the GPUs or ranks on each node of a run, after "with"; empty if unknown."""
    for name, noun in (("gpus_per_node", "GPU"), ("tasks_per_node", "rank")):
        if count := run.context.get(name, ""):
            return f" with {count} {noun if count == '1' else f'{noun}s'} a node"
    return ""


def kind_of(numbers: Numbers, pair_of: Sequence[Pair | tuple[()]]) -> str:
    """Chooses the kind of numbers that most pairs have, of several the first in KINDS_OF_PAIRS."""
    pairs = {kind: {pair_of[run] for run in rows.run} for kind, rows in numbers.groups(numbers.kind)}
    return max(KINDS_OF_PAIRS, key=lambda kind: len(pairs.get(kind, ())))


def pair_of_run(run: ToolRun) -> Pair | tuple[()]:
    """Returns the two nodes in the output of a run, or at the end of the name of its file; empty if there are none.

    The two names in the name of a file differ in digits alone: `latency_node1_node2.txt`, `a-r1n3--a-r2n4.log`.
    """
    hosts = [host for host in run.context.get("hosts", "").split(",") if host]
    if hosts:
        return (hosts[0], hosts[1]) if len(hosts) == 2 else ()
    stem = PurePath(run.path.rpartition(":")[2]).stem
    for separator in SEPARATORS:
        words = [word for word in re.split(separator, stem) if word]
        for count in range(1, len(words) // 2 + 1):  # words of each name
            first, second = ("-".join(words[start : start + count]) for start in (-2 * count, len(words) - count))
            patterns = {re.sub(r"\d+", "#", name) for name in (first, second)}
            if first != second and re.search(r"[A-Za-z].*\d", first) and len(patterns) == 1:
                return first, second
    return ()


def ranges_of(numbers: Numbers, is_time: bool) -> Iterator[tuple[str, Numbers]]:
    """Yields ranges of sizes of a setting, words and rows: the large sizes; of times also the small sizes."""
    large = numbers.size * LARGE >= numbers.size.max()
    small = (numbers.size <= SMALL_BYTES) & ~large
    if is_time and small.any():
        yield f"sizes up to {bytes_text(int(numbers.size[small].max()))}", numbers[np.flatnonzero(small)]
        yield f"sizes from {bytes_text(int(numbers.size[large].min()))}", numbers[np.flatnonzero(large)]
    else:
        yield "", numbers[np.flatnonzero(large)]


def table_of(numbers: Numbers, nodes: Sequence[tuple[int, ...]], is_time: bool) -> Pairs:
    """Makes the table of pairs. Runs of the same pair are its launches.

    Args:
        numbers: numbers of one kind.
        nodes: indices of the two nodes of each run; empty: not a pair.
        is_time: false: the numbers are bandwidths.
    """
    ends = np.array([nodes[run] for run in numbers.run])
    ordered = set(map(tuple, ends.tolist()))
    directed = numbers.kind[0] == DIRECTED and ordered == {(b, a) for a, b in ordered}
    ends = ends if directed else np.sort(ends, axis=1)
    launches: Counter[tuple[int, ...]] = Counter()  # of each pair, so far
    launch: dict[int, int] = {}  # run -> number among the launches of its pair
    for run, pair in zip(numbers.run.tolist(), map(tuple, ends.tolist()), strict=True):
        if run not in launch:
            launch[run] = launches[pair]
            launches[pair] += 1
    return Pairs(
        round=np.zeros(len(numbers), dtype=np.int64),
        a=ends[:, 0],
        b=ends[:, 1],
        direction=np.full(len(numbers), FORWARD if directed else BOTH),
        size=numbers.size,
        value=numbers.value if is_time else np.maximum(numbers.size, 1) / numbers.value,
        launch=np.array([launch[run] for run in numbers.run]),
        alone=np.ones(len(numbers), dtype=bool),
    )
