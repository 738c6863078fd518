"""Chooses the number that is compared: a kind (metric, e.g. latency_avg or bandwidth) and a statistic of both sides.

Numbers of different kinds are never compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from downbeat.data.cells import STATISTICS
from downbeat.data.metrics import METRICS
from downbeat.data.readers.kinds import KINDS
from downbeat.errors import UsageError
from downbeat.run.experiment import Experiment
from downbeat.run.tool_results import ToolExperiment
from downbeat.text import listed

DEFAULT = ("latency_avg", "median")
PREFERRED = ("median", "mean")  # statistics that are chosen first
Number = tuple[str, str]  # kind, i.e. metric, and statistic


def numbers_of(side: Experiment | pd.DataFrame) -> dict[Number, set[str]]:
    """Returns (kind, statistic) -> the operations of a side that have such a number."""
    operations: dict[Number, set[str]] = defaultdict(set)
    if isinstance(side, ToolExperiment):
        numbers = side.results.numbers
        for operation, kind, statistic in dict.fromkeys(
            zip(numbers.operation, numbers.kind, numbers.statistic, strict=True)
        ):
            operations[kind, statistic].add(operation)
        return operations
    names = side.cell_table.operation if isinstance(side, Experiment) else side["operation"]
    all_operations = {str(name).partition("(")[0] for name in names}
    return {(metric, statistic): all_operations for metric in METRICS for statistic in STATISTICS}


def chosen_number(
    sides: Sequence[Experiment | pd.DataFrame], metric: str, statistic: str
) -> tuple[Number, tuple[str, ...]]:
    """Chooses the metric and statistic to compare; adds a line on operations without such a number.

    Args:
        sides: A and B; a history must have the same kind.
        metric: the choice of the user; empty: the kind that most operations have on all sides.
        statistic: the choice of the user; empty: the median, or else the mean.

    Raises:
        UsageError: the sides have no kind of number in common, or not the choice of the user.
    """
    if not any(isinstance(side, ToolExperiment) for side in sides):
        return (metric or DEFAULT[0], statistic or DEFAULT[1]), ()
    numbers = [numbers_of(side) for side in sides]
    common = {
        number: set.intersection(*(side[number] for side in numbers))
        for number in numbers[0]
        if all(number in side for side in numbers)
    }
    valid = [number for number in common if metric in ("", number[0]) and statistic in ("", number[1])]
    if not valid:
        kinds = " / ".join(texts_of(side) for side in numbers)
        request = " ".join(filter(None, (statistic, metric))) or "a kind of number in common"
        raise UsageError(f"A and B do not both have {request}; different kinds are not compared. They have {kinds}")

    def order(number: Number) -> tuple[int, int, int]:
        kind, name = number
        kind_rank = list(KINDS).index(kind) if kind in KINDS else len(KINDS)
        statistic_rank = PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)
        return -len(common[number]), kind_rank, statistic_rank

    best = min(valid, key=order)
    left_out = sorted(set.union(*common.values()) - common[best]) if not metric else []
    if not left_out:
        return best, ()
    also = dict.fromkeys(number[0] for number in sorted(common, key=order) if common[number] & set(left_out))
    return best, (f"no numbers of kind {best[0]}, not compared here: {listed(left_out)}; --metric {' or '.join(also)}",)


def texts_of(numbers: dict[Number, set[str]]) -> str:
    """Lists kinds with their statistics for a message."""
    statistics: dict[str, list[str]] = defaultdict(list)
    for kind, statistic in numbers:
        statistics[kind].append(statistic)
    return ", ".join(
        f"{kind} ({', '.join(names) if len(names) < len(STATISTICS) else 'any statistic'})"
        for kind, names in statistics.items()
    )
