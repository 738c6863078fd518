"""The last lines of a run: what it compared, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from downbeat.comparison.closing import AFFORDABLE, contrast, next_steps
from downbeat.experiment.plan import Library, Measurement, Plan, Variant
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, NOT_AMONG_MANY, NOT_SIGNIFICANT

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
