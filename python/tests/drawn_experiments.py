"""Experiments drawn at random: states of the machine, synchronizers, variants, sizes, and effects of any kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from downbeat.run.directory import LAUNCHES, SAMPLES, write_plan, write_record
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Library, Measurement, Plan, Variant
from launch_files import Cell, write_launch
from report_data import CONTEXT

FAST, SLOW = 50e-9, 300e-9  # round trips of two states, s
EFFECTS = (0.4, 0.95, 1.0, 1.0, 1.03, 1.2, 18.0)
STARTS = (("harmonize", "mpi_barrier"), ("harmonize", "mpi_barrier", "linear"), ("harmonize",), ("linear", "bruck"))


def write_drawn(directory: Path, seed: int) -> Plan:
    """Writes an experiment of a plan, and returns the plan.

    The number of variants, operations, sizes and launches, the share of slow launches, the noise and the effect of
    each variant and synchronizer on each cell are drawn. Some cells are incomplete, or wrong.
    """
    random = np.random.default_rng(seed)
    variants = tuple(map(Variant, [("default",), ("old", "new"), ("old", "new", "newer")][random.integers(3)]))
    launches, ranks = int(random.choice([1, 3, 5, 6, 10])), ((2,), (2,), (2,), (2, 3))[random.integers(4)]
    operations = ("barrier", "bcast", "reduce", "allreduce")[random.integers(2) :][: random.integers(1, 4)]
    sizes = [8 << (3 * i) for i in range(random.integers(1, 5))]
    starts = STARTS[random.integers(len(STARTS))]
    noise, slow_share = random.choice([0.002, 0.02, 0.2]), random.choice([0.0, 0.0, 0.2, 0.5])
    plan = Plan("drawn", Measurement(operations), (Library("some", "bench"),), launches=launches, variants=variants)
    plan = replace(plan, ranks=ranks)
    cells = [(name, size) for name in operations for size in (sizes if name != "barrier" else [0])]
    effects = {
        (*cell, kind): float(random.choice(EFFECTS))
        for cell in cells
        for kind in (*starts[1:], *(one.name for one in variants[1:]))
    }
    spoiled = {cell for cell in cells if random.random() < 0.05}
    for number in range(1, launches + 1):
        for count in ranks:
            for variant in variants:
                slow = random.random() < slow_share
                level = (3.0 if slow else 1.0) * np.exp(random.normal(0, noise))
                trip = SLOW if slow else FAST
                other = {"canary_low": trip, "canary_high": trip * (7 if random.random() < 0.02 else 1)}
                measured = []
                for name, size in cells:
                    for start in starts:
                        factor = effects.get((name, size, start), 1.0) * effects.get((name, size, variant.name), 1.0)
                        time = 1e-6 * (1 + size / 512) * level * factor * np.exp(random.normal(0, noise / 4))
                        status = {"status": int(random.choice([1, 3]))} if (name, size) in spoiled else {}
                        stamps = np.full((2, count), time) * [[0.99], [1.01]]
                        entry = np.zeros((2, count))
                        measured.append(Cell(entry, stamps, name, size, start, other={**other, **status}))
                launch = LaunchKey("some", count, "default", number, variant=variant.name)
                place = directory / LAUNCHES / str(launch)
                place.mkdir(parents=True)
                write_record(place, {each: getattr(launch, each) for each in (*LAUNCH_FACTORS, "number")})
                date = {"date": f"2026-01-02T03:{number:02}:{len(measured) % 60:02}Z"}
                write_launch(place / SAMPLES, measured, **(CONTEXT | date))
    write_plan(directory, plan)
    return plan
