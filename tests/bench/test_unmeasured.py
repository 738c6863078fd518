"""A cell whose synchronization never holds is an error and never a number."""

from __future__ import annotations

from pathlib import Path

from conftest import Bench, read_dataset, read_records

REPETITIONS, ATTEMPTS = 10, 3
LIMITS = ["-r", str(REPETITIONS), "--max-attempts", str(ATTEMPTS), "-q"]


def test_deadlines_that_nobody_can_meet(bench: Bench, tmp_path: Path) -> None:
    """The slack is shorter than any message takes."""
    outcome = bench("barrier", *LIMITS, "-o", "out.json", "-o", "out.nc", env={"DOWNBEAT_SLACK": "1e-9"})
    assert outcome.status == 3
    (line,) = outcome.own_lines
    assert "1 of 2 cells are incomplete (barrier after harmonize: 0 of 10 samples valid)" in line
    assert "try at most one rank per processor" in line

    cells = {one["synchronizer"]: one for one in read_records(tmp_path / "out.json") if one["record"] == "cell"}
    assert cells["mpi_barrier"]["status"] == "ok"
    cell = cells["harmonize"]
    assert (cell["status"], cell["valid_count"]) == ("failed", 0)
    assert cell["rejected"] == cell["late_flag"] == REPETITIONS * ATTEMPTS
    assert cell["latency_avg_median"] is None
    data = read_dataset(tmp_path / "out.nc")
    rejected = data.isel(sample=data.cell_index.values == cell["cell"])
    assert rejected.sizes["sample"] > REPETITIONS * ATTEMPTS  # and warm-up
    assert not rejected.valid.values.any()


def test_a_tolerance_of_zero_rejects_all(bench: Bench) -> None:
    assert bench("barrier", *LIMITS, "--tolerance", "0").status == 3
