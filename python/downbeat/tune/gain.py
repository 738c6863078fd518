"""The gain of rules: the same cells with and without them, in launches that had no part in choosing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.data.countable import FAILED, WRONG
from downbeat.experiment.execute import Watcher
from downbeat.experiment.plan import DEFAULT_ENVIRONMENT, Environment, Measurement, Plan
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together
from downbeat.tune.choosing import Floats, by_launch, cells_of, paired
from downbeat.tune.formats.rules_format import Written
from downbeat.tune.rules import DEFAULT, Cell, Rule, algorithm_for
from downbeat.tune.sweep import HARMONIZE, Effort, cells_of_plan, digest_of, with_values
from downbeat.tune.target import Target

RULES = "rules"


def gain_plan(
    target: Target,
    collectives: Sequence[str],
    ranks: Sequence[int],
    sizes: str,
    variables: Mapping[str, str],
    effort: Effort,
) -> Plan:
    """Returns the experiment that measures all cells under the default environment and under the rules'."""
    return Plan(
        name="gain",
        measurement=Measurement(
            tuple(collectives),
            {"sync": HARMONIZE, **effort.options(collectives, sizes)},
        ),
        libraries=(target.library,),
        ranks=tuple(ranks),
        environments=(Environment(), Environment(RULES, dict(variables))),
        launches=effort.launches,
        timeout=effort.timeout,
        seed=effort.seed + 1,  # another order than that of the sweep
    )


def name_of(written: Written) -> str:
    """Returns a name that rules of other content do not have: what was measured under those says nothing of these.

    The environment alone does not distinguish them, because a library's file keeps its path.
    """
    return digest_of([dict(written.files), dict(written.variables)])


def measure_gain(plan: Plan, directory: Path, metric: str, watcher: Watcher) -> pd.DataFrame:
    """Executes a plan of `gain_plan`; returns its cells, with columns `collective` and `value` as in `sweep.COLUMNS`.

    Raises:
        DownbeatError: no launch was complete.
    """
    return with_values(cells_of_plan(plan, directory, watcher), metric)


def compare_environments(frame: pd.DataFrame, margin: float, confidence: float) -> dict[Cell, Comparison]:
    """Compares environment `rules` with `default`, launches of the same number as pairs, all cells judged together."""
    found: dict[Cell, Comparison] = {}
    for cell, some in cells_of(frame):
        default, ruled = paired(by_launch(some, "environment"), DEFAULT_ENVIRONMENT, RULES)
        if len(ruled) > 1:
            found[cell] = compare_paired(default, ruled, margin, confidence)
    return dict(zip(found, judge_together(list(found.values())), strict=True))


def lost_cells(frame: pd.DataFrame) -> list[Cell]:
    """Returns the cells that could be measured without rules, and in no launch under them."""
    lost = []
    for cell, some in cells_of(frame):
        measured = set(some[some["status"] != FAILED]["environment"])
        if DEFAULT_ENVIRONMENT in measured and RULES not in measured:
            lost.append(cell)
    return lost


def wrong_cells(frame: pd.DataFrame, environment: str) -> list[Cell]:
    """Returns the cells with wrong results in any launch of an environment."""
    return [cell for cell, _ in cells_of(frame[(frame["environment"] == environment) & (frame["status"] == WRONG)])]


def wrong_under(rules: Sequence[Rule], cells: Sequence[Cell]) -> dict[tuple[str, int, str], list[int]]:
    """Returns the algorithms that rules name for cells with wrong results, in the form for `choose`."""
    found: dict[tuple[str, int, str], list[int]] = {}
    for cell in cells:
        algorithm = algorithm_for(rules, cell)
        if algorithm != DEFAULT:
            found.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return found


def compare_rules(
    frame: pd.DataFrame, rules: Sequence[Rule], margin: float, confidence: float
) -> dict[Rule, Comparison]:
    """Compares the environments over all sizes of each rule, all rules judged together."""
    found: dict[Rule, Comparison] = {}
    for rule in rules:
        default, ruled = means_over(frame, rule)
        if len(ruled) > 1:
            found[rule] = compare_paired(default, ruled, margin, confidence)
    return dict(zip(found, judge_together(list(found.values())), strict=True))


def means_over(frame: pd.DataFrame, rule: Rule) -> tuple[Floats, Floats]:
    """Returns without and under rules a number per launch that has all sizes of a rule: their geometric mean."""
    some = pd.concat([frame.iloc[:0], *(rows for cell, rows in cells_of(frame) if rule.holds(cell))])
    sizes = sorted(set(some["size"]))
    table = some.pivot_table(index="launch", columns=["environment", "size"], values="value", aggfunc="first")
    wanted = pd.MultiIndex.from_product([(DEFAULT_ENVIRONMENT, RULES), sizes])
    whole = np.log(table.reindex(columns=wanted).dropna().to_numpy(dtype=float))
    return np.exp(whole[:, : len(sizes)].mean(axis=1)), np.exp(whole[:, len(sizes) :].mean(axis=1))
