"""Collects times of pairs of nodes from results of other tools: a log for each pair, e.g. of nccl-tests or OSU."""

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
from downbeat.text import bytes_text

# Kinds of numbers by priority; the first kind that a setting has is used.
KINDS_OF_PAIRS = ("bus_bandwidth", "bandwidth", "one_way", "call_time", "latency_avg")
DIRECTED = "bandwidth"  # OSU's bandwidth is from the first node to the second, if there are logs of both orders
LARGE = 16  # ratio of the largest size to the smallest size that counts; protocols rarely change in this range
SMALL_BYTES = 1024  # smaller sizes are a separate setting: latency without bandwidth
SEPARATORS = (r"[_+,~.]|--", r"-")  # between names of nodes in names of files
Pair = tuple[str, str]


def pairs_in(results: Results) -> list[PairTimes]:
    """The pairs in results, by settings that must not be mixed: tool, operation, GPUs a node, kind, range of sizes.

    Raises:
        UsageError: no run has exactly two nodes.
    """
    pair_of = [pair_of_run(run) for run in results.runs]
    names = tuple(sorted({name for pair in pair_of for name in pair}))
    if not names:
        raise UsageError(
            f"'{results.runs[0].path}' is not of a pair of nodes; give a log for each pair, with their names in it or "
            "at the end of its own name, e.g. latency_node1_node2.txt"
        )
    index = {name: number for number, name in enumerate(names)}
    numbers = results.numbers
    usable = (numbers.status == OK) & (numbers.statistic == "mean") & np.isin(numbers.kind, KINDS_OF_PAIRS)
    usable &= np.array([bool(pair) for pair in pair_of])[numbers.run] & (numbers.value > 0)
    silent = set(range(len(pair_of))) - set(numbers.run.tolist())
    rows, settings = numbers[np.flatnonzero(usable)], [setting_of(run) for run in results.runs]
    tables = []
    for (tool, setting, operation), members in rows.groups(
        [results.runs[run].tool for run in rows.run], [settings[run] for run in rows.run], rows.operation
    ):
        kind = next(kind for kind in KINDS_OF_PAIRS if kind in members.kind)
        chosen = members[np.flatnonzero(members.kind == kind)]
        measured = {frozenset(pair_of[run]) for run in chosen.run}
        tried = [run for run in silent if results.runs[run].tool == tool and settings[run] == setting]
        lost = {frozenset(pair_of[run]) for run in tried} - measured - {frozenset()}
        failed = tuple((a, b) for a, b in sorted(sorted(index[name] for name in pair) for pair in lost))
        for label, in_range in ranges_of(chosen, KINDS[kind].is_time):
            table = table_of(in_range, [tuple(index[name] for name in pair) for pair in pair_of], KINDS[kind].is_time)
            words = f"{operation}{f' with {setting}' if setting else ''}{f', {label}' if label else ''}"
            tables.append(PairTimes(words, names, table, not KINDS[kind].is_time, failed))
    return tables


def setting_of(run: ToolRun) -> str:
    """Returns the settings of a run that must not be mixed, in words."""
    gpus = run.context.get("gpus_per_node", "")
    return f"{gpus} {'GPU' if gpus == '1' else 'GPUs'} a node" if gpus else ""


def pair_of_run(run: ToolRun) -> Pair | tuple[()]:
    """Returns the two nodes that a run or the end of its file name names; empty if there are none.

    The two names of a file differ in digits alone: `latency_node1_node2.txt`, `a-r1n3--a-r2n4.log`.
    """
    hosts = [host for host in run.context.get("hosts", "").split(",") if host]
    if hosts:
        return (hosts[0], hosts[1]) if len(hosts) == 2 else ()
    stem = PurePath(run.path.rpartition(":")[2]).stem
    for separator in SEPARATORS:
        words = [word for word in re.split(separator, stem) if word]
        for count in range(1, len(words) // 2 + 1):
            first, second = ("-".join(words[start : start + count]) for start in (-2 * count, len(words) - count))
            if (
                first != second
                and re.search(r"[A-Za-z].*\d", first)
                and without_digits(first) == without_digits(second)
            ):
                return first, second
    return ()


def without_digits(name: str) -> str:
    """Returns a name with all its numbers replaced."""
    return re.sub(r"\d+", "#", name)


def ranges_of(numbers: Numbers, is_time: bool) -> Iterator[tuple[str, Numbers]]:
    """Returns the large sizes of a setting, and of times the small ones, with words that tell them apart."""
    large = numbers.size * LARGE >= numbers.size.max()
    small = (numbers.size <= SMALL_BYTES) & ~large
    if is_time and small.any():
        yield f"sizes up to {bytes_text(int(numbers.size[small].max()))}", numbers[np.flatnonzero(small)]
        yield f"sizes from {bytes_text(int(numbers.size[large].min()))}", numbers[np.flatnonzero(large)]
    else:
        yield "", numbers[np.flatnonzero(large)]


def table_of(numbers: Numbers, nodes: Sequence[tuple[int, ...]], is_time: bool) -> Pairs:
    """The table of numbers; `nodes`: indices of the two nodes of each run. Runs of the same pair are its launches."""
    ends = np.array([nodes[run] for run in numbers.run])
    ordered = set(map(tuple, ends.tolist()))
    directed = numbers.kind[0] == DIRECTED and ordered == {(b, a) for a, b in ordered}
    ends = ends if directed else np.sort(ends, axis=1)
    before: Counter[tuple[int, ...]] = Counter()
    launch = {}
    for run, pair in zip(numbers.run.tolist(), map(tuple, ends.tolist()), strict=True):
        if run not in launch:
            launch[run] = before[pair]
            before[pair] += 1
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
