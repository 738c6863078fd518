"""The last lines of a run: what it compared, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.comparison.questions import AFFORDABLE, closing, contrast, next_steps
from downbeat.run.directory import write_plan, write_record
from downbeat.run.estimates import Estimates
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Library, Measurement, Plan, Variant
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, NOT_AMONG_MANY, NOT_SIGNIFICANT
from launch_files import Cell, write_launch

PLAN = Plan("e", Measurement(("bcast",)), (Library("some", "bench"),), launches=FEWEST_LAUNCHES)
BARRIER = ("synchronizer", "harmonize", "mpi_barrier")
TOO_FEW = "launches: 4, 5 are needed"
COMMANDS = ["  downbeat compare where synchronizer=harmonize synchronizer=mpi_barrier", "  downbeat report where"]


def compared(*cells: tuple[str, float]) -> pd.DataFrame:
    """Returns of a comparison what the lines depend on: reasons, and launches that are needed."""
    return pd.DataFrame(cells, columns=["reason", "launches_needed"])


def synchronized(*names: str) -> pd.DataFrame:
    """Returns cells with these synchronizers."""
    return pd.DataFrame({"synchronizer": names})


def test_a_run_compares_two_variants_else_two_synchronizers() -> None:
    variants = replace(PLAN, variants=(Variant("before"), Variant("after")))
    assert contrast(variants, synchronized("harmonize", "mpi_barrier")) == ("variant", "before", "after")
    assert contrast(PLAN, synchronized("mpi_barrier", "harmonize", "mpi_barrier")) == BARRIER
    assert contrast(PLAN, synchronized("harmonize", "mpi_barrier")) == BARRIER
    assert contrast(PLAN, synchronized("linear", "harmonize")) == ("synchronizer", "linear", "harmonize")
    assert contrast(PLAN, synchronized("harmonize")) is None
    assert contrast(PLAN, synchronized("harmonize", "mpi_barrier", "linear")) is None


def test_too_few_launches_for_a_verdict() -> None:
    few = replace(PLAN, launches=FEWEST_LAUNCHES - 1)
    lines = next_steps(few, Path("where"), BARRIER, compared((TOO_FEW, 50.0)))
    said = " ".join(lines[: -len(COMMANDS)])
    assert said == f"next: --launches {FEWEST_LAUNCHES} or more, which verdicts need; the same command continues"
    assert lines[-len(COMMANDS) :] == COMMANDS


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([("", 500.0)], []),
        ([(TOO_FEW, 12.0)], []),
        (
            [(NOT_SIGNIFICANT, 12.0), (NOT_AMONG_MANY, 34.0), ("", 60.0)],
            ["next: --launches 34 to detect a difference of 5 %; the same command continues"],
        ),
        (
            [(NOT_SIGNIFICANT, AFFORDABLE)],
            [f"next: --launches {AFFORDABLE} to detect a difference of 5 %; the same command continues"],
        ),
        (
            [(NOT_SIGNIFICANT, AFFORDABLE + 1), (NOT_SIGNIFICANT, 12.0)],
            ["next: use a quieter machine (downbeat doctor); launches differ too much"],
        ),
    ],
)
def test_what_would_decide(cells: list[tuple[str, float]], said: list[str]) -> None:
    assert next_steps(PLAN, Path("where"), BARRIER, compared(*cells)) == [*said, *COMMANDS]


def test_commands_can_be_typed() -> None:
    where = Path("a b")
    assert next_steps(PLAN, where, None, None) == ["  downbeat report 'a b'"]
    assert next_steps(PLAN, where, ("variant", "x", "y"), compared()) == [
        "  downbeat compare 'a b'",
        "  downbeat report 'a b'",
    ]
    sides = ("synchronizer", "window(size=1ms)", "harmonize")
    assert next_steps(PLAN, where, sides, compared())[0] == (
        "  downbeat compare 'a b' 'synchronizer=window(size=1ms)' synchronizer=harmonize"
    )


class Written(Estimates):
    """The medians of launches that have just been written."""

    def write(self, directory: Path, plan: Plan, latencies: dict[tuple[str, str], float], number: int) -> None:
        """Writes the launches of a number; cells, by variant and synchronizer, take so many us."""
        for variant in plan.variants:
            synchronizers = [name for of, name in latencies if of == variant.name]
            key = LaunchKey("some", 2, "default", number, variant=variant.name)
            place = directory / "launches" / str(key)
            place.mkdir(parents=True)
            record = {name: getattr(key, name) for name in (*LAUNCH_FACTORS, "number")}
            write_record(place, record)
            times = [latencies[variant.name, name] * 1e-6 * (1 + 0.01 * number) for name in synchronizers]
            cells = [
                Cell(np.zeros((1, 2)), np.full((1, 2), time), synchronizer=name)
                for time, name in zip(times, synchronizers, strict=True)
            ]
            path = write_launch(place / "samples.nc", cells, mpi_library="Some 1, configured with much")
            self.add(key, path)


def ended(directory: Path, latencies: dict[tuple[str, str], float], launches: int) -> list[str]:
    """Returns the last lines of a run whose cells, by variant and synchronizer, take so many us."""
    variants = tuple(Variant(name) for name in dict.fromkeys(variant for variant, _ in latencies))
    plan = replace(PLAN, launches=launches, variants=variants)
    write_plan(directory, plan)
    estimates = Written()
    for number in range(1, launches + 1):
        estimates.write(directory, plan, latencies, number)
    return closing(plan, directory, estimates)


def test_a_run_without_cells_ends_without_a_table() -> None:
    assert closing(PLAN, Path("none"), Estimates()) == []


def test_a_run_ends_in_medians_or_in_verdicts(tmp_path: Path) -> None:
    alone = ended(tmp_path / "alone", {("default", "harmonize"): 1.0}, 1)
    assert [line.split() for line in alone[3:5]] == [["operation", "size", "harmonize"], ["bcast", "8", "1.010"]]
    barrier = {("default", "harmonize"): 1.0, ("default", "mpi_barrier"): 2.0}
    lines = ended(tmp_path / "barrier", barrier, FEWEST_LAUNCHES)
    assert lines[3:5] == [
        "operation  size   harmonize  mpi_barrier  ratio     interval  after mpi_barrier",
        "bcast         8       1.030        2.060  2.000  2.000-2.000  reads higher",
    ]
    assert lines[-2:] == [
        f"  downbeat compare {tmp_path}/barrier synchronizer=harmonize synchronizer=mpi_barrier",
        f"  downbeat report {tmp_path}/barrier",
    ]


def test_two_variants_end_in_a_verdict_on_the_second(tmp_path: Path) -> None:
    lines = ended(tmp_path / "e", {("old", "harmonize"): 2.0, ("new", "harmonize"): 1.0}, FEWEST_LAUNCHES)
    assert [line.split() for line in lines[3:5]] == [
        ["operation", "size", "old", "new", "ratio", "interval", "new", "is"],
        ["bcast", "8", "2.060", "1.030", "0.500", "0.500-0.500", "faster"],
    ]
    assert "new is 2.00 (2.00 to 2.00) times as fast as old, over 1 cell." in lines


def test_variants_without_a_cell_in_common_end_in_medians(tmp_path: Path) -> None:
    lines = ended(tmp_path / "e", {("old", "harmonize"): 2.0, ("new", "linear"): 1.0}, FEWEST_LAUNCHES)
    assert any(line.startswith("median: ") for line in lines)
    assert not any(line.startswith("ratio: ") for line in lines)
