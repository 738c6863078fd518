"""The kind of number that both sides have; numbers of different kinds are never compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from downbeat.data.cells import STATISTICS
from downbeat.data.metrics import METRICS
from downbeat.data.readers.kinds import KINDS, Kind
from downbeat.errors import UsageError
from downbeat.run.experiment import Experiment
from downbeat.run.tool_results import ToolExperiment
from downbeat.text import listed

DEFAULT = ("latency_avg", "median")
PREFERRED = ("median", "mean")  # statistics, where both sides have several
Number = tuple[str, str]  # kind, i.e. metric, and statistic


def kind_of(metric: str) -> Kind | None:
    """The kind of a metric, of other tools or of our own; None for metrics that only our results have."""
    return KINDS.get(metric)


def numbers_of(side: Experiment | pd.DataFrame) -> dict[Number, set[str]]:
    """The kinds and statistics of the numbers of a side, and the operations that have them."""
    operations: dict[Number, set[str]] = defaultdict(set)
    if isinstance(side, ToolExperiment):
        numbers = side.results.numbers
        for operation, kind, statistic in dict.fromkeys(
            zip(numbers.operation, numbers.kind, numbers.statistic, strict=True)
        ):
            operations[kind, statistic].add(operation)
        return operations
    names = side.cell_table.operation if isinstance(side, Experiment) else side["operation"]
    every = {str(name).partition("(")[0] for name in names}
    return {(metric, statistic): every for metric in METRICS for statistic in STATISTICS}


def chosen_number(
    sides: Sequence[Experiment | pd.DataFrame], metric: str, statistic: str
) -> tuple[Number, tuple[str, ...]]:
    """The metric and statistic to compare, and a line on operations that have no number of this kind.

    Args:
        sides: all that are compared; a history has what these have.
        metric: of the user; empty: the kind that most operations have on all sides.
        statistic: likewise; empty: the median, or else the mean.

    Raises:
        UsageError: the sides have no number of a kind in common, or not that of the user.
    """
    if not any(isinstance(side, ToolExperiment) for side in sides):
        return (metric or DEFAULT[0], statistic or DEFAULT[1]), ()
    numbers = [numbers_of(side) for side in sides]
    common = {
        each: set.intersection(*(side[each] for side in numbers))
        for each in numbers[0]
        if all(each in side for side in numbers)
    }
    valid = [each for each in common if metric in ("", each[0]) and statistic in ("", each[1])]
    if not valid:
        kinds = " / ".join(texts_of(side) for side in numbers)
        request = " ".join(filter(None, (statistic, metric))) or "a kind of number in common"
        raise UsageError(f"A and B do not both have {request}; different kinds are not compared. They have {kinds}")

    def order(each: Number) -> tuple[int, int, int]:
        known = PREFERRED.index(each[1]) if each[1] in PREFERRED else len(PREFERRED)
        return -len(common[each]), list(KINDS).index(each[0]) if each[0] in KINDS else len(KINDS), known

    best = min(valid, key=order)
    left_out = sorted(set.union(*common.values()) - common[best]) if not metric else []
    if not left_out:
        return best, ()
    also = dict.fromkeys(each[0] for each in sorted(common, key=order) if common[each] & set(left_out))
    return best, (f"no numbers of kind {best[0]}, not compared here: {listed(left_out)}; --metric {' or '.join(also)}",)


def texts_of(numbers: dict[Number, set[str]]) -> str:
    """Kinds with their statistics, for messages."""
    statistics: dict[str, list[str]] = defaultdict(list)
    for kind, statistic in numbers:
        statistics[kind].append(statistic)
    return ", ".join(
        f"{kind} ({', '.join(each) if len(each) < len(STATISTICS) else 'any statistic'})"
        for kind, each in statistics.items()
    )
