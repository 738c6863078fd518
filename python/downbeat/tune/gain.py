"""What rules gain: the same cells with and without them, in launches that had no part in choosing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.errors import UsageError
from downbeat.experiment.execute import execute
from downbeat.experiment.experiment import open_experiment
from downbeat.experiment.plan import DEFAULT_ENVIRONMENT, Environment, Measurement, Plan
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together
from downbeat.tune.choosing import by_launch, cells_of, paired
from downbeat.tune.rules import Cell, Rule
from downbeat.tune.sweep import HARMONIZE, Effort, nothing_measured
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


def measure_gain(plan: Plan, directory: Path, metric: str) -> pd.DataFrame:
    """Executes a plan of `gain_plan`; returns its cells, with columns `collective` and `value` as in `sweep.COLUMNS`.

    Raises:
        DownbeatError: no launch was complete.
    """
    execute(plan, directory)
    try:
        cells = open_experiment(directory).cells
    except UsageError as error:
        raise nothing_measured(plan, directory) from error
    frame = cells.rename(columns={"operation": "collective"})
    frame["value"] = frame[f"{metric}_median"]
    return frame


def compare_environments(frame: pd.DataFrame, margin: float, confidence: float) -> dict[Cell, Comparison]:
    """Compares environment `rules` with `default`, launches of the same number as pairs, all cells judged together."""
    found: dict[Cell, Comparison] = {}
    for cell, some in cells_of(frame):
        default, ruled = paired(by_launch(some, "environment"), DEFAULT_ENVIRONMENT, RULES)
        if len(ruled) > 1:
            found[cell] = compare_paired(default, ruled, margin, confidence)
    return dict(zip(found, judge_together(list(found.values())), strict=True))


def compare_over(frame: pd.DataFrame, rule: Rule, margin: float, confidence: float) -> Comparison | None:
    """Compares the environments over all sizes of a rule: a launch is one number, the geometric mean over sizes."""
    some = pd.concat([rows for cell, rows in cells_of(frame) if rule.holds(cell)])
    table = some.pivot_table(index="launch", columns=["environment", "size"], values="value", aggfunc="first")
    whole = table.dropna()
    if len(whole) < 2 or not {DEFAULT_ENVIRONMENT, RULES} <= set(some["environment"]):
        return None
    means = {
        name: np.exp(np.log(whole[name].to_numpy(dtype=float)).mean(axis=1)) for name in (DEFAULT_ENVIRONMENT, RULES)
    }
    return compare_paired(means[DEFAULT_ENVIRONMENT], means[RULES], margin, confidence)
