"""Phases of MPI_Pcontrol in made-up traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.errors import UsageError
from downbeat.trace.arrivals import find_arrivals, of_phase
from downbeat.trace.file import HEADER, TABLES, Section
from downbeat.trace.page import make_page, render
from downbeat.trace.phases import ended_names, mixed_calls, phase_paths, phase_problems
from test_arrivals import US, call, trace_of

# begins, ends, cut, strays, ticks, began, parent, name
SOLVER = (5, 5, 0, 0, 100, 0, 0, b"solver")
CHANCE = (3, 0, 0, 0, 100, 0, 1, b"by chance")
HALO = (5, 4, 0, 0, 50, 0, 2, b"halo")


def section(*phases: tuple[object, ...], rank: int = 0, used: int = 0) -> Section:
    """Makes what a process recorded of phases; a call was made in the one with the number `used`."""
    tables = {"phases": np.array(list(phases), dtype=TABLES["phases"]), "profile": np.zeros(1, TABLES["profile"])}
    tables["profile"]["phase"] = used
    header = np.zeros(1, HEADER)[0]
    header["world_rank"] = rank
    return Section(Path("trace"), "job", header, (), tables)


def test_a_name_that_nobody_ends_is_in_no_path() -> None:
    one = section(SOLVER, CHANCE, HALO, used=3)
    names = ended_names([one])
    assert names == {"solver", "halo"}
    assert phase_paths(one, names) == ["", "solver", "solver", "solver > halo"]


def test_what_is_wrong_with_phases_is_said_once_each() -> None:
    said = phase_problems([section(SOLVER, CHANCE, HALO), section(SOLVER, (*HALO[:-2], 1, b"halo"), rank=1)])
    assert len(said) == 2
    assert said[0].startswith(
        "MPI_Pcontrol(1, 'by chance') came 3 times on 1 rank and no MPI_Pcontrol(-1, 'by chance')"
    )
    assert "phase 'halo' has 10 begins and 8 ends" in said[1]
    assert "2 by the end of the program" in said[1]
    assert phase_problems([section(SOLVER), section(rank=1)]) == [
        "phase 'solver' was begun on 1 of 2 ranks only: 0"
    ]  # fmt: skip


@pytest.mark.parametrize(("phases", "used"), [([HALO], 0), ([SOLVER], 2)])
def test_numbers_beyond_the_table_are_damage(phases: list[tuple[object, ...]], used: int) -> None:
    with pytest.raises(ValueError, match="phase"):
        phase_paths(section(*phases, used=used), {"solver", "halo"})


def test_ranks_in_different_phases_are_said() -> None:
    rows = pd.DataFrame({"rank": [0, 1, 0, 1], "phase": ["a", "a", "", "b"]})
    (said,) = mixed_calls(rows, np.array([0, 2]))
    assert said.startswith("in 1 call ranks are in different phases, e.g. rank 0 in no phase, rank 1 in 'b'")
    assert not mixed_calls(rows.iloc[:2], np.array([0]))


def test_each_phase_has_its_late_rank_and_what_it_costs() -> None:
    trace = trace_of(
        call([0, 100], [110, 110], phase="solve"),
        call([0, 300], [310, 310], phase="solve > halo", begin=0.1, sequence=1),
        call([50, 0], [60, 60], phase="write", begin=0.2, sequence=2),
        call([0, 0], [10, 10], begin=0.3, sequence=3),
    )
    trace.phases = pd.DataFrame(
        [(rank, *one) for rank in (0, 1) for one in (("solve", 1, 0.1), ("solve > halo", 1, 0.05), ("write", 1, 0.2))],
        columns=["rank", "phase", "begins", "time"],
    )
    found = find_arrivals(trace)
    phases = found.phases.set_index("phase")
    assert list(phases["last_rank"]) == [1, 1, 0]
    assert list(phases["calls"]) == [2, 1, 1]
    assert list(phases["wait"] / US) == pytest.approx([400, 300, 50])
    assert list(phases["seconds"]) == pytest.approx([0.2, 0.1, 0.4])
    halo = of_phase(found, "halo")
    assert halo.run == pytest.approx(0.05)
    assert list(halo.sites["share"]) == pytest.approx([320 * US / 0.1])
    assert halo.calls["site"].tolist() == [0]
    assert "phase 'halo', mean of ranks" in render(halo, None, "")
    assert [part.title for part in make_page(halo, "page", None).sections][1] == "Phases"
    assert of_phase(found, "solve").sites["calls"].sum() == 2
    with pytest.raises(UsageError, match="no phase 'halt'; phases: 'solve', 'solve > halo', 'write'"):
        of_phase(found, "halt")
