"""Computes what archives of published results say: differences of launches, winners beyond doubt, claims of one launch.

python -m benchmarks.archives [--pico DIR] [--nccl ARCHIVE] [--imb ARCHIVE]

Prints tables in Markdown for docs/measured/archives.md. The archives are no part of this repository; DIR has archives
of PICO in a directory per system, with its metadata, ARCHIVE logs of nccl-tests or of Intel MPI Benchmarks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from downbeat.comparison.judging import judge_matches
from downbeat.data.readers import counted_over_files, read_results
from downbeat.data.readers.results import Results
from downbeat.output.words import long
from downbeat.statistics.power import MAX_LAUNCHES
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN
from downbeat.tables import Floats
from downbeat.tune.from_results import (
    Key,
    Values,
    choose_from,
    fastest_of,
    match_launches,
    number_kind,
    values_by_cell,
)

from benchmarks.running import Parser

NAME = "archives"
CLASSES = ((4096, "up to 4 KiB"), (1 << 20, "up to 1 MiB"), (math.inf, "above 1 MiB"))
HALF, SPLITS, SEED = 10, 50, 1  # launches of a half, and how often they are drawn
CLAIM = 0.05  # difference that one launch would be taken to show


def main() -> None:
    """Prints the tables of the archives that are given."""
    parser = Parser(NAME, __doc__)
    parser.add_argument("--pico", type=Path)
    parser.add_argument("--nccl", type=Path)
    parser.add_argument("--imb", type=Path)
    arguments = parser.parse_args()
    if arguments.pico:
        for system in sorted(path for path in arguments.pico.iterdir() if path.is_dir()):
            winners(system.name, read_results([system]))
        results = read_results([arguments.pico])
        differences(results, "system")
        repeated_choices(results)
    for path in filter(None, (arguments.nccl, arguments.imb)):
        results = read_results([path])
        differences(results, "")
        split_halves(results)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table in Markdown."""
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(f"{each:.3g}" if isinstance(each, float) else str(each) for each in row) + " |")


def setting_of(key: Key, name: str) -> str:
    """The value of a factor of a cell; empty: it has none."""
    return next((part.partition("=")[2] for part in key[0].setting.split(",") if part.startswith(f"{name}=")), "")


def numbers_of(results: Results) -> dict[Key, Values]:
    """The numbers of the kind that is compared, by cell, algorithm and launch."""
    return values_by_cell(results, *number_kind(results, ""), ())


def differences(results: Results, factor: str) -> None:
    """Prints the largest over the smallest launch of each cell and algorithm, by a factor and size."""
    ratios: dict[tuple[str, str], list[float]] = {}
    launches: dict[tuple[str, str], list[int]] = {}
    for key, values in numbers_of(results).items():
        size = next(name for limit, name in CLASSES if key[1].size <= limit)
        for each in values.values():
            if len(each) > 1:
                group = (setting_of(key, factor) or f"{key[1].collective}, {key[1].ranks} ranks", size)
                ratios.setdefault(group, []).append(max(each.values()) / min(each.values()))
                launches.setdefault(group, []).append(len(each))
    rows = [
        (
            *group,
            len(each),
            f"{min(launches[group])} to {max(launches[group])}",
            *np.quantile(each, (0.5, 0.9)),
            max(each),
        )
        for group, each in sorted(ratios.items())
    ]
    table(("of", "size", "cells", "launches", "largest / smallest, median", "90 %", "largest"), rows)
    for damage in counted_over_files(results.damages):
        print(f"- {long(damage)}")


def winners(system: str, results: Results) -> None:
    """Prints the cells of a system by collective, those decided, and the leads of the fastest algorithms."""
    made = choose_from(results, (), "", 0.05, CONFIDENCE)
    rows = []
    for collective, cells in made.choices.groups(made.choices.collective):
        leads = [1 / values[~np.isnan(values)] - 1 for values in (cells.default_ratio, cells.runner_up_ratio)]
        middle = [float(100 * np.median(each)) if each.size else math.nan for each in leads]
        close = float(100 * np.mean(leads[1] < 0.01))
        counts = (len(cells), int(cells.decided.sum()), int(cells.launches.max()))
        rows.append((collective, *counts, *middle, close, half_of(cells.needed)))
    print(f"\n{system}: {'; '.join(long(fact) for fact in made.facts())}")
    heads = ("collective", "cells", "decided", "most launches", "lead on the default, %", "lead on the second, %")
    table((*heads, "leads below 1 %, %", "launches for half"), rows)


def half_of(needed: Floats) -> str:
    """The launches that decide half of the cells that are not decided."""
    known = needed[~np.isnan(needed)]
    half = float(np.quantile(known, 0.5, method="inverted_cdf")) if known.size else math.nan
    return "unknown" if math.isnan(half) else "none" if half >= MAX_LAUNCHES else f"{half:.0f}"


def repeated_choices(results: Results) -> None:
    """Prints how often the winner of one launch wins another launch of the same cell, and by how much."""
    rows = []
    for key, values in numbers_of(results).items():
        runs = sorted({run for each in values.values() for run in each})
        for first, second in combinations(runs, 2):
            both = {name: each for name, each in values.items() if {first, second} <= each.keys()}
            if len(both) > 1:
                rows += [outcome(key, both, *pair) for pair in ((first, second), (second, first))]
    summary = []
    for system in sorted({row[0] for row in rows}):
        some = [row for row in rows if row[0] == system]
        claimed, checked = (100 * np.median([row[i] for row in some]) for i in (2, 3))
        wins, slower = (sum(bool(row[i]) for row in some) for i in (1, 4))
        summary.append((system, len(some), wins, float(claimed), float(checked), slower))
    heads = ("system", "choices", "win the other launch", "lead claimed, %", "lead in the other launch, %")
    table((*heads, "slower than the second there"), summary)


def outcome(key: Key, values: Values, first: int, second: int) -> tuple[str, bool, float, float, bool]:
    """A choice on one launch, checked on another: system, wins there, leads on the second in both, is slower there."""
    chosen, other = fastest_of({name: {first: each[first]} for name, each in values.items()})[:2]
    best = fastest_of({name: {second: each[second]} for name, each in values.items()})[0]
    leads = [values[other][run] / values[chosen][run] - 1 for run in (first, second)]
    return setting_of(key, "system"), best == chosen, leads[0], leads[1], leads[1] < 0


def split_halves(results: Results) -> None:
    """Prints verdicts on random halves of launches with the same settings, which differ by chance alone."""
    cells = [each for values in numbers_of(results).values() for each in values.values() if len(each) >= 2 * HALF]
    if not cells:
        return
    draw = random.Random(SEED)
    false, families, single = 0, 0, []
    for _ in range(SPLITS):
        matches = [match_launches(a, b) for a, b in (halves(each, draw) for each in cells)]
        verdicts = [each.verdict for each in judge_matches(matches, MARGIN, CONFIDENCE)]
        wrong = sum(verdict in ("faster", "slower") for verdict in verdicts)
        false, families = false + wrong, families + (wrong > 0)
        single += [abs(math.log(match.b[0] / match.a[0])) > math.log1p(CLAIM) for match in matches]
    print(f"\nHalves of {HALF} launches each, {SPLITS} times {len(cells)} cells:")
    print(f"false verdicts {false} of {SPLITS * len(cells)}; splits with one or more {families} of {SPLITS};")
    print(f"one launch each would show a difference above {100 * CLAIM:g} % in {100 * float(np.mean(single)):.3g} %.")


def halves(values: dict[int, float], draw: random.Random) -> Iterator[dict[int, float]]:
    """Two sets of launches, drawn from one."""
    runs = draw.sample(sorted(values), 2 * HALF)
    yield {run: values[run] for run in runs[:HALF]}
    yield {run: values[run] for run in runs[HALF:]}


if __name__ == "__main__":
    main()
