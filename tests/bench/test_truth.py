"""A synthetic operation through every synchronizer, arrival pattern, metric and timing scheme: the numbers are known.

The clocks are validation clocks: a second apart, 10 ppm fast or slow, wandering. Nothing is allowed beyond the errors
that are stated: the tolerance of a start, or a barrier's own exit skew; of the clock its bound; and what it costs to
read clocks, which an operation that takes no time shows.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import closed_form
import numpy as np
import pytest
import xarray as xr
from closed_form import Floats, Known
from conftest import RANKS, Bench, read_dataset, read_records, run_bench

DURATION, STEP, DELAY = 40e-6, 20e-6, 100e-6  # s
OPERATION = "synthetic(duration=40us,step=20us)"
NO_TIME = "synthetic(duration=0,step=0)"
GRID = 200e-6  # s
ON_GRID = "synthetic(step=20us,grid=200us)"
CALLS = 3
TIMINGS = {
    "per_call": "per_call",
    "batch": f"batch(calls={CALLS})",
    "batch_synced": f"batch_synced(calls={CALLS})",
    "window": "window",
}

# Clocks are synchronized before every few samples, so that the bounds are narrow.
CLOCKS = {
    "DOWNBEAT_VALIDATION": "offset=1,skew=10e-6,wander=100e-9,seed=3",
    "DOWNBEAT_MAX_SKEW": "21e-6",
    "DOWNBEAT_MAX_AGE": "1e-3",
}
# Other processes may spoil starts, but not the result.
LIMITS = ["--warmup", "2", "--max-attempts", "1000", "-q", "--seed", "5"]
FILES = ["-o", "out.json", "-o", "out.nc"]

# Patterns that two ranks on one host cannot have.
MORE_RANKS = ["bell", "inverse_bell"]
MORE_HOSTS = ["node_steps"]
TRACE = "0 3e-5\n1e-5 0\n"
REQUIRED = {"trace": "file=trace.txt"}


@dataclass(frozen=True)
class Cell:
    """A cell as its record says, with its valid samples."""

    record: dict[str, Any]
    samples: xr.Dataset
    tolerance: float

    def __str__(self) -> str:
        return " ".join(self.record[key] for key in ("synchronizer", "timing", "pattern"))

    def time(self) -> Floats:
        """Returns the time in the operation, per call, by sample and rank."""
        return np.asarray((self.samples.exit - self.samples.entry).values / self.record["calls"])


def read_cells(directory: Path) -> list[Cell]:
    """Returns all cells of a run."""
    data = read_dataset(directory / "out.nc")
    context, *records = read_records(directory / "out.json")
    return [
        Cell(
            record,
            data.sel(sample=(data.cell_index == record["cell"]) & (data.valid == 1)),
            context["tolerance_s"],
        )
        for record in records
        if record["record"] == "cell"
    ]


def variants(mpi: str, directory: Path, kind: str) -> list[str]:
    """Returns every part of a kind, with every choice that a parameter of it leaves."""
    outcome = run_bench(mpi, directory, "list", kind, "--format", "json")
    assert outcome.status == 0, outcome.stderr
    texts = []
    for part in map(json.loads, outcome.stdout.splitlines()):
        required = REQUIRED.get(part["name"])
        texts.append(f"{part['name']}({required})" if required else part["name"])
        for parameter in part["parameters"]:
            for choice in parameter.get("choices", []):
                if choice != parameter["default"]:
                    texts.append(f"{part['name']}({parameter['name']}={choice})")
    return texts


def measure(mpi: str, directory: Path, *arguments: str, repetitions: int = 30) -> list[Cell]:
    """Returns the cells of a run on clocks whose errors are known, all of them measured."""
    (directory / "trace.txt").write_text(TRACE)
    outcome = run_bench(mpi, directory, *arguments, "-r", str(repetitions), *LIMITS, *FILES, env=CLOCKS)
    assert outcome.status == 0, outcome.stderr
    return read_cells(directory)


@pytest.fixture(scope="module")
def synchronizers(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns all synchronizers."""
    return variants(mpi, tmp_path_factory.mktemp("list"), "synchronizer")


@pytest.fixture(scope="module")
def reading(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Returns what reading clocks costs within a sample of one call, s.

    An operation that takes no time reads its clock twice; one that waits reads it once more than it should, at most.
    """
    (cell,) = measure(mpi, tmp_path_factory.mktemp("reading"), NO_TIME, "--sync", "mpi_barrier")
    return 2.0 * float(cell.record["metrics"]["latency_max"]["median"])


@pytest.fixture(scope="module")
def cells(mpi: str, synchronizers: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    """Returns a cell for every synchronizer with every pattern."""
    directory = tmp_path_factory.mktemp("truth")
    patterns = [text for text in variants(mpi, directory, "pattern") if text not in MORE_RANKS + MORE_HOSTS]
    found = measure(
        mpi,
        directory,
        OPERATION,
        *["--sync", ",".join(synchronizers)],
        *["--pattern", ",".join(patterns), "--delay", f"{DELAY * 1e6:.0f}us"],
    )
    assert len(found) == len(synchronizers) * len(patterns)
    return found


def known(cell: Cell, reading: float, duration: float = DURATION, step: float = STEP) -> Known:
    """Returns the facts about a cell that need no measurement, except the skew after a barrier."""
    calls = cell.record["calls"]
    durations = calls * (duration + step * np.arange(cell.samples.sizes["rank"]))
    delay = cell.samples.delay.values
    from_deadline = bool(np.isfinite(cell.samples.deadline.values).all())
    leaving = cell.samples.entry.values - delay
    own_clock = has_own_clock(cell)
    planned = from_deadline and not own_clock
    skew = np.full(len(delay), cell.tolerance) if planned else np.ptp(leaving, axis=1)
    deadline_error = cell.tolerance + float(cell.record["error_bound"]) if own_clock else 0.0
    costs = calls * reading
    longer = calls * cell.time() - durations
    disturbed = (longer > costs).any(axis=1)
    held = np.where(disturbed[:, np.newaxis], np.maximum(longer, 0.0), 0.0)
    reading_costs = np.where(disturbed, np.inf, costs)
    return Known(delay, durations, calls, skew, from_deadline, deadline_error, reading_costs, held, costs)


def has_own_clock(cell: Cell) -> bool:
    """Returns whether ranks start by another clock than the one that stamps are read from.

    A slack controller of a cell's own has one. Two ranks may see it apart from that of the stamps by the cell's error
    bound each, so that how far apart they start is measured there, as after a barrier.
    """
    return "slack=" in str(cell.record["synchronizer"])


def contradictions(cell: Cell, truth: Known) -> dict[str, str]:
    """Returns the metrics whose median or smallest value is not what it must be, with the reason.

    Where most samples were disturbed the median has no bound above; the smallest value has one always.
    """
    found = {}
    for name, metric in cell.record["metrics"].items():
        span = closed_form.METRICS[name](truth)
        for statistic, (low, high) in {"min": span.minimum(), "median": span.median()}.items():
            value = metric[statistic]
            if not low <= value <= high or (statistic == "min" and not np.isfinite(high)):
                found[name] = (
                    f"{cell}: {statistic} of {name} is {value * 1e6:.3f} us, not {low * 1e6:.3f} to {high * 1e6:.3f}"
                )
    return found


def test_every_metric_has_a_closed_form(bench: Bench) -> None:
    lines = bench("list", "metric", "--format", "json").stdout.splitlines()
    assert {json.loads(line)["name"] for line in lines} == set(closed_form.METRICS)


def test_every_synchronizer_pattern_and_metric(cells: list[Cell], reading: float) -> None:
    for cell in cells:
        assert contradictions(cell, known(cell, reading)) == {}


def test_starts_by_another_clock_are_within_its_bound(cells: list[Cell], reading: float) -> None:
    others = [cell for cell in cells if has_own_clock(cell)]
    assert others
    for cell in others:
        bound = cell.tolerance + 2 * float(cell.record["error_bound"]) + closed_form.ROUNDING + closed_form.RATE * DELAY
        assert (known(cell, reading).skew <= bound).all(), str(cell)


def test_after_barriers_delays_are_what_was_asked_for(cells: list[Cell], reading: float) -> None:
    """Otherwise the skew, which is measured there, would excuse everything.

    A busy machine keeps ranks apart in some samples; a delay that is wrong does so in all of them.
    """
    for cell in cells:
        if cell.record["synchronizer"] != "none":
            assert np.quantile(known(cell, reading).skew, 0.25) < DELAY / 4, str(cell)


def test_a_wrong_number_would_be_noticed(cells: list[Cell], reading: float) -> None:
    """An error of a twentieth of the operation, or of a tenth of the delay, contradicts every metric it is in."""
    # All ranks take longer. That changes no end skew, but each sample seems disturbed, which leaves it no bound.
    alike = {"exit_skew", "imbalance_worst", "imbalance_mean"}
    for cell in cells:
        if not known(cell, reading).from_deadline or has_own_clock(cell):
            continue
        wrong = known(cell, reading, duration=DURATION - 2e-6)
        assert set(contradictions(cell, wrong)) == set(closed_form.METRICS) - alike, str(cell)
        wrong = known(cell, reading, step=STEP - 2e-6)
        assert "end_skew" in contradictions(cell, wrong), str(cell)
        if cell.record["pattern"] in ("ascending", "one_late"):
            truth = known(cell, reading)
            found = set(contradictions(cell, dataclasses.replace(truth, delay=0.9 * truth.delay)))
            assert found >= {"global_time", "makespan", "imbalance_worst", "imbalance_mean", "end_skew"}, str(cell)


def test_means_of_means_and_largest_and_smallest_mean(cells: list[Cell]) -> None:
    durations = DURATION + STEP * np.arange(RANKS)
    for cell in cells:
        means = cell.time().mean(axis=0)
        assert cell.record["mean_of_means"] == pytest.approx(means.mean(), rel=1e-9)
        assert cell.record["max_of_means"] == pytest.approx(means.max(), rel=1e-9)
        assert cell.record["min_of_means"] == pytest.approx(means.min(), rel=1e-9)
        # A mean has no bound above: it counts what the machine did to single samples.
        error = closed_form.ROUNDING + closed_form.RATE * durations.max()
        assert cell.record["mean_of_means"] >= durations.mean() - error
        assert cell.record["max_of_means"] >= durations.max() - error
        assert cell.record["min_of_means"] >= durations.min() - error


def test_overlap(cells: list[Cell], reading: float) -> None:
    undelayed = {cell.record["synchronizer"]: cell for cell in cells if cell.record["pattern"] == "none"}
    compared = 0
    for cell in cells:
        if cell.record["pattern"] == "none":
            assert cell.record["overlap_share_median"] is cell.record["overlap_share_min"] is None
            continue
        truth, reference = known(cell, reading), known(undelayed[cell.record["synchronizer"]], reading)
        delay = closed_form.METRICS["imbalance_worst"](truth).median()
        if delay[0] <= 0:
            continue  # `none`: entries lie apart as they like
        spans = [("global_time", reference), ("global_time", truth), ("after_last_entry", truth)]
        for statistic, bounds in {"median": "median", "min": "minimum"}.items():
            t0, t, after = (getattr(closed_form.METRICS[metric](of), bounds)() for metric, of in spans)
            if t0[0] <= 0 or t[0] <= 0:
                continue
            benefit, share = closed_form.overlap(t0, t, after, delay)
            assert benefit[0] <= cell.record[f"overlap_benefit_{statistic}"] <= benefit[1], str(cell)
            assert share[0] <= cell.record[f"overlap_share_{statistic}"] <= share[1], str(cell)
            compared += truth.from_deadline
    assert compared > 0


def test_overlap_of_a_late_rank_that_others_hide(mpi: str, reading: float, tmp_path: Path) -> None:
    """Rank 0 has step less to do than rank 1: so much of its delay is hidden, and not more."""
    delays = [10e-6, 50e-6]
    pattern = ["--pattern", "one_late(rank=0)", "--delay", "10us,50us"]
    # So many that less than half of them are disturbed: medians have no bound above otherwise.
    cells = measure(mpi, tmp_path, OPERATION, "--sync", "harmonize", *pattern, repetitions=300)
    undelayed = DURATION + STEP
    for delay, cell in zip(delays, cells[1:], strict=True):
        assert cell.record["largest_delay"] == delay
        hidden = min(delay, STEP)
        delayed = undelayed + delay - hidden
        error = 3 * (cell.tolerance + reading)  # of t0, delta and t
        assert cell.record["overlap_benefit_median"] == pytest.approx(hidden / delayed, abs=error / delayed * 2)
        assert cell.record["overlap_share_median"] == pytest.approx(hidden / delay, abs=error / delay * 2)


def test_timing_schemes(mpi: str, synchronizers: list[str], reading: float, tmp_path: Path) -> None:
    assert set(variants(mpi, tmp_path, "timing")) == set(TIMINGS)
    # Timing scheme window brings the synchronizer of that name along.
    schemes = [text for text in TIMINGS.values() if text != "window" or text in synchronizers]
    arguments = ["--sync", "mpi_barrier,harmonize", "--timing", ",".join(schemes)]
    late = ["--pattern", "one_late(rank=0)", "--delay", f"{DELAY * 1e6:.0f}us"]
    cells = measure(mpi, tmp_path, OPERATION, *arguments, *late)
    assert {cell.record["timing"] for cell in cells} == set(schemes)
    for cell in cells:
        truth = known(cell, reading)
        assert truth.calls == (CALLS if cell.record["timing"].startswith("batch") else 1)
        if cell.record["timing"] != TIMINGS["batch_synced"]:
            assert contradictions(cell, truth) == {}
        elif cell.record["synchronizer"] != "window":
            assert_all_wait(cell, truth)


def assert_all_wait(cell: Cell, truth: Known) -> None:
    """Every call, the last one too, ends when all ranks are done with it; what synchronizing costs comes on top."""
    per_call = truth.duration / CALLS
    end = (truth.delay + per_call).max(axis=1) + (CALLS - 1) * per_call.max()
    low = (end[:, np.newaxis] - truth.delay - truth.skew[:, np.newaxis]) / CALLS
    low -= closed_form.ROUNDING + closed_form.RATE * low
    metrics = cell.record["metrics"]
    assert metrics["latency_max"]["median"] >= np.median(low.max(axis=1))
    assert metrics["makespan"]["median"] >= np.median(low.max(axis=1))
    assert metrics["latency_min"]["median"] >= np.median(low.min(axis=1))
    assert metrics["latency_avg"]["median"] >= np.median(low.mean(axis=1))


def test_stamps_agree_with_true_time(mpi: str, synchronizers: list[str], reading: float, tmp_path: Path) -> None:
    """All ranks leave on one grid of true time, so that how far apart their exits are is known for every sample."""
    cells = measure(
        mpi,
        tmp_path,
        ON_GRID,
        *["--sync", ",".join(synchronizers), "--pattern", "one_late(rank=1)", "--delay", f"{DELAY * 1e6:.0f}us"],
        repetitions=60,
    )
    for cell in cells:
        exits = cell.samples.exit.values - STEP * np.arange(RANKS)
        apart = (exits[:, 1:] - exits[:, :1] + GRID / 2) % GRID - GRID / 2
        bound = cell.record["error_bound"] + reading + closed_form.RATE * GRID + closed_form.ROUNDING
        # Either rank may be kept from leaving on time, on a busy machine in half of the samples; a clock that is off is
        # so in all of them.
        assert ((np.abs(apart) <= bound).mean(axis=0) >= 0.2).all(), str(cell)


def test_more_ranks_than_processors(bench: Bench, tmp_path: Path) -> None:
    """Metrics that have no number must say so, and all numbers must be true."""
    ranks = 4
    outcome = bench(
        OPERATION,
        *["--sync", "mpi_barrier,harmonize", "--pattern", ",".join(MORE_RANKS), "--delay", f"{DELAY * 1e6:.0f}us"],
        *["-r", "10", "--warmup", "1", "--max-attempts", "3", "-q", *FILES],
        env=CLOCKS,
        ranks=ranks,
    )
    cells = read_cells(tmp_path)
    assert len(cells) == 2 * (1 + len(MORE_RANKS))
    unmeasured = [cell for cell in cells if cell.record["status"] != "ok"]
    assert outcome.status == (3 if unmeasured else 0)
    for cell in unmeasured:
        assert cell.record["synchronizer"] == "harmonize"
        assert "harmonize" in outcome.own_lines[-1]
        if cell.record["valid_count"] == 0:
            assert {metric["median"] for metric in cell.record["metrics"].values()} == {None}
    durations = DURATION + STEP * np.arange(ranks)
    error = closed_form.ROUNDING + closed_form.RATE * durations.max()
    for cell in cells:
        assert cell.samples.sizes["sample"] == cell.record["valid_count"]
        assert (cell.time() >= durations - error).all()
        planned = cell.samples.deadline.values[:, np.newaxis] + cell.samples.delay.values
        assert not (cell.samples.entry.values > planned + cell.tolerance).any()
        assert not (cell.samples.entry.values < planned - closed_form.ROUNDING).any()
