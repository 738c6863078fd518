"""Splits time between launches and repetitions, once the first launches show how much each varies.

Kalibera and Jones 2013, section 9: what varies more is repeated more, what costs more is repeated less.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from downbeat.data.launch_file import CELL_FACTORS, open_samples, read_cells
from downbeat.data.samples import read_samples
from downbeat.errors import reading
from downbeat.files import read_json, write_checked_json
from downbeat.run import directory as places
from downbeat.run.estimates import METRIC
from downbeat.run.plan import LaunchKey, Plan
from downbeat.text import typed

PILOT_LAUNCHES = 5
# A launch that takes much longer than those so far would be a surprise, and run into its timeout.
GROWTH = 10
# Values that the name of a cell leaves out.
USUAL = {
    "datatype": ("MPI_BYTE",),
    "algorithm": ("default", ""),
    "barrier_algorithm": ("default", ""),
    "timing": ("per_call",),
    "pattern": ("none",),
    "largest_delay": ("0.0", "nan"),
    "computation": ("0.0", "nan"),
}


@dataclass(frozen=True)
class SplitDecision:
    """The decision."""

    repetitions: int  # per cell and launch
    launches: int  # that the widest cell needs by what is known
    reason: str


@dataclass(frozen=True)
class Observed:
    """The first launches of a cell."""

    samples: list[np.ndarray]  # valid latencies, per launch
    launch_cost: float  # s, of a launch without its samples, the cell's share
    sample_cost: float  # s


def wanted(plan: Plan) -> bool:
    """Whether repetitions are ours to choose: a width is asked for, and no other rule for the length of a cell."""
    return plan.width > 0 and not {"repetitions", "stop"} & set(plan.measurement.options)


def read_split(directory: Path) -> SplitDecision | None:
    """Returns what an earlier run decided; None where none did.

    Raises:
        UsageError: what it wrote is damaged.
    """
    path = directory / places.SPLIT
    if not path.is_file():
        return None
    content = read_json(path)
    with reading(path):
        return typed(SplitDecision, {one.name: content[one.name] for one in dataclasses.fields(SplitDecision)})


def decide_split(plan: Plan, directory: Path) -> SplitDecision | None:
    """Decides from the first launches, and records it; None if they do not suffice (fewer than 2 are complete)."""
    # Takes as long to load as a launch to run, and few experiments ask for a width.
    from downbeat.statistics.variance_components import Split, optimal_repetitions

    cells = observe(plan, directory)
    splits: dict[str, tuple[Observed, Split]] = {}
    for name, cell in cells.items():
        if len(cell.samples) >= 2:
            most = GROWTH * int(np.median([len(samples) for samples in cell.samples]))
            splits[name] = (
                cell,
                optimal_repetitions(cell.samples, cell.launch_cost, cell.sample_cost, min(50, most), most),
            )
    if not splits:
        return None
    decisive = max(splits, key=lambda name: splits[name][1].repetitions)
    repetitions = splits[decisive][1].repetitions
    launches = {
        name: Split(repetitions, split.components).launches_for(plan.width) for name, (_, split) in splits.items()
    }
    components = splits[decisive][1].components
    reason = (
        f"in {decisive}, launches differ by {np.sqrt(components.between):.2%}, the median of each is known to "
        f"{np.sqrt(components.within / repetitions):.2%}"
    )
    decision = SplitDecision(repetitions, max(launches.values()), reason)
    content = {
        "schema_version": places.SCHEMA_VERSION,
        "source": "Kalibera and Jones 2013, section 9.2",
        "metric": METRIC,
        "width": plan.width,
        "after_launches": PILOT_LAUNCHES,
        **dataclasses.asdict(decision),
        "cells": [
            {
                "cell": name,
                "variance_between": split.components.between,
                "variance_within": split.components.within,
                "launch_cost_s": cell.launch_cost,
                "sample_cost_s": cell.sample_cost,
                "repetitions": split.repetitions,
                "launches": launches[name],
            }
            for name, (cell, split) in splits.items()
        ],
    }
    write_checked_json(directory / places.SPLIT, content)
    return decision


def observe(plan: Plan, directory: Path) -> dict[str, Observed]:
    """Returns what the first launches measured of every cell, by a name for people."""
    done = places.complete(directory)
    found: dict[str, list[tuple[np.ndarray, float, float]]] = {}
    for number in range(1, PILOT_LAUNCHES + 1):
        for key in plan.round_order(number):
            if str(key) in done:
                for name, observation in observe_launch(directory / places.LAUNCHES / str(key), key).items():
                    found.setdefault(name, []).append(observation)
    return {
        name: Observed(
            [samples for samples, _, _ in observations],
            float(np.mean([cost for _, cost, _ in observations])),
            float(np.mean([cost for _, _, cost in observations])),
        )
        for name, observations in found.items()
    }


def observe_launch(where: Path, key: LaunchKey) -> dict[str, tuple[np.ndarray, float, float]]:
    """Returns valid samples, the share of the launch's own cost and the cost of a sample, of each cell of a launch."""
    record = places.read_record(where)
    seconds = (datetime.fromisoformat(record["ended"]) - datetime.fromisoformat(record["started"])).total_seconds()
    with open_samples(where / places.SAMPLES) as file:
        cells = read_cells(file)
    data = read_samples(where / places.SAMPLES, [METRIC])
    index, valid, values = data["cell_index"], data.with_verdict("valid"), data[METRIC]
    # Files say no more of time than milliseconds; neither cost is nothing.
    own = max(seconds - float(cells["wall_time"].sum()), 1e-3) / len(cells)
    found = {}
    for position, cell in cells.iterrows():
        samples = values[valid & (index == position)]
        if len(samples) and (samples > 0).all():
            words = [str(cell[name]) for name in CELL_FACTORS if str(cell[name]) not in USUAL.get(name, ())]
            cost = max(float(cell["wall_time"]) / len(samples), 1e-9)
            found[f"{' '.join(words)}, {key.configuration}"] = (samples, own, cost)
    return found
