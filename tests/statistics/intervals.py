"""Intervals and rules within a launch, and rules that stop an experiment at a width.

simulate.cc, which links the shipped code, simulates those of downbeat-bench.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from downbeat.run.estimates import FALSE_ALARMS
from downbeat.statistics.dependence import correlation
from downbeat.statistics.location import Interval, typical_interval
from downbeat.statistics.median_interval import MedianInterval, median_interval

from benchmarks.promises import Promise, at_least, at_most, covers
from tests.statistics import kinds, printed
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import Deviations, simulate_launches
from tests.statistics.strangers import cause_of

ROOT = Path(__file__).resolve().parents[2]
MOST_CELLS = 2000  # per figure: some take thousands of samples
# The mean is promised from 1000 samples on: fewer hold too few of 2 % outliers.
MEAN_RULE = "fixed(samples=1000)"
# A warm-up may end before these do; the cell's slope shows them.
SLOW_TRENDS = ("30 %, falling to 1/e in 50 calls", "100 %, falling evenly over 500 calls")
MEDIAN_RULES = (
    "fixed(samples=30)",
    "fixed(samples=40)",
    "fixed(samples=100)",
    "fixed(samples=1000)",
    "budget(time=400ms)",
    "precision",
)
# One cell alone, whose neighboring blocks resemble each other, and the rules under which enough samples show it.
CORRELATED = tuple(f"AR(1) {r1:g}" for r1 in (0.9, 0.95, 0.98, 0.99))
LONG_RULES = ("fixed(samples=1000)", "precision")
LAUNCHES, MOST_LAUNCHES, WIDTH = 10, 50, 0.02  # of downbeat run, and its --width
MOST_READ = 40  # experiments of a kind whose output is read


def simulate(experiments: int) -> Findings:
    """Returns what each interval covers, and what warm-ups leave of a trend."""
    cells = min(experiments, MOST_CELLS)
    show_progress("intervals and rules of downbeat-bench")
    records = run_simulation(cells)
    stops = [one for one in records if one["kind"] == "stop"]
    warmups = [one for one in records if one["kind"] == "warmup"]
    show_progress("intervals of Python")
    python = python_coverages(cells)
    show_progress("downbeat run --width")
    widths = width_coverages(experiments)
    tables = [
        Table(
            "downbeat-bench: coverage of 95 % intervals of the median and of the mean; 5 % within blocks",
            ("stopping rule", "deviations", "median", "mean", "samples"),
            [(one["rule"], one["deviations"], one["median"], one["mean"], float(one["samples"])) for one in stops],
        ),
        Table(
            "downbeat-bench: warm-up rules, 2 % outliers",
            ("rule", "trend", "noise", "autocorrelation", "settled", "calls", "excess left"),
            [tuple(value for name, value in one.items() if name != "kind") for one in warmups],
        ),
        Table("Python: coverage of median_interval, 10 blocks of 100", ("deviations", "median"), list(python.items())),
        Table(
            f"downbeat run --width {WIDTH}, {LAUNCHES} to {MOST_LAUNCHES} launches: coverage of the 95 % interval",
            ("launches", "all", "the earlier half", "misses in silence", "launches needed"),
            widths,
        ),
    ]
    return Findings(
        tables,
        [*promises(stops, warmups), *(covers(f"Python, {k}", v) for k, v in python.items())]
        + [covers(f"--width, {row[0]} between launches", row[1]) for row in widths if row[0].startswith("normal")]
        + [at_most(f"--width, {row[0]}: misses in silence", row[3], 0.1) for row in widths],
    )


def promises(stops: list[dict[str, Any]], warmups: list[dict[str, Any]]) -> list[Promise]:
    """Returns the promises on the intervals and rules of downbeat-bench."""
    made = []
    for one in stops:
        if one["deviations"].startswith("bursts"):
            continue  # not promised: one launch cannot know of them
        what = f"median, {one['rule']}, {one['deviations']}"
        if one["deviations"] in CORRELATED and one["rule"] not in LONG_RULES:
            continue  # nor these: so few samples are within one or two of their waves
        if one["rule"] in MEDIAN_RULES:
            # What the step hides makes intervals wide, and nothing is gained by promising that they are.
            stepped = "in steps of" in one["deviations"]
            made.append(at_least(what, one["median"], 0.92) if stepped else covers(what, one["median"]))
        if one["rule"] == MEAN_RULE and one["deviations"] not in CORRELATED:
            made.append(covers(f"mean, {MEAN_RULE}, {one['deviations']}", one["mean"]))
    for one in warmups:
        if one["rule"] != "stationary":
            continue  # what another window costs and sees
        what = f"noise {one['noise']:g}, autocorrelation {one['autocorrelation']:g}"
        if one["trend"] == "none":
            made.append(at_least(f"stationary before max, {what}", one["settled"], 0.95))
        elif one["trend"] not in SLOW_TRENDS or (one["trend"] == SLOW_TRENDS[0] and one["noise"] < 0.05):
            made.append(at_most(f"left of {one['trend']}, {what}", one["excess"], 0.01))
    return made


def run_simulation(cells: int) -> list[dict[str, Any]]:
    """Returns what downbeat-bench-simulation (simulate.cc) prints.

    Raises:
        SystemExit: it is not built.
    """
    programs = sorted(ROOT.glob("build/*/bin/downbeat-bench-simulation"), key=lambda one: one.stat().st_mtime)
    if not programs:
        raise SystemExit("bench-statistics: no build/*/bin/downbeat-bench-simulation; make bench-statistics builds it")
    done = subprocess.run([programs[-1], str(cells)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def python_coverages(launches: int) -> dict[str, float]:
    """Returns the share of launches whose interval contains the median."""
    random = np.random.default_rng(2026)
    blocks = np.repeat(np.arange(10), 100)
    found = {}
    for name, r1, outliers, block in [
        ("independent", 0.0, 0.0, 0.0),
        ("2 % outliers", 0.0, 0.02, 0.0),
        ("AR(1) 0.6, 2 % outliers", 0.6, 0.02, 0.0),
        ("AR(1) 0.8, 2 % outliers", 0.8, 0.02, 0.0),
        *((f"blocks {block:.1%}", 0.0, 0.0, block) for block in (0.01, 0.025, 0.05)),
    ]:
        deviations = Deviations(launch=0, autocorrelation=r1, outlier_share=outliers, block=block, blocks=10)
        held = 0
        for samples in simulate_launches(random, launches, blocks.size, deviations=deviations):
            interval = median_interval(samples, blocks)
            held += interval.low <= 1 <= interval.high
        found[name] = held / launches
    return found


def width_coverages(experiments: int) -> list[tuple[str, float, float, float, float]]:
    """Returns what the intervals cover at which --width ends an experiment, by the launches.

    In all, in the half that ends earlier, those that miss without a word, and the mean number of launches.
    """
    random = np.random.default_rng(2026)
    rows = []
    deviations = [scaled(deviation) for deviation in (0.01, 0.02, 0.025, 0.03, 0.035)]
    for kind in (*deviations, kinds.MIXED[1], kinds.MIXED[2], kinds.SKEWED[0], kinds.CORRELATED[0]):
        drawn = kind.draw(random, experiments // 4, MOST_LAUNCHES)
        ends = [end_at_width(logs) for logs in drawn.logs]
        count = np.array([one.launches for one in ends])
        held = np.array([one.holds for one in ends])
        early = count <= np.median(count)
        missed = [number for number, one in enumerate(ends) if one.narrow and not one.holds]
        read = missed[:MOST_READ]
        silent = 0.0
        for number in read:
            seen = drawn.first(ends[number].launches)
            text = printed.show(printed.cells_of(seen.logs[number]))
            silent += not printed.names_cause(text, ends[number].launches, cause_of(kind, seen, number))
        silent *= len(missed) / max(len(read), 1) / len(ends)
        rows.append((kind.name, float(held.mean()), float(held[early].mean()), silent, float(count.mean())))
    return rows


def scaled(deviation: float) -> kinds.Kind:
    """Returns the kind of normal launches that deviate so much."""
    return kinds.Kind(
        f"normal, {deviation:.1%}", lambda random, *shape: kinds.Drawn(random.normal(0, deviation, shape), {})
    )


@dataclass(frozen=True)
class End:
    """An experiment of --width that has ended: its launches, whether its interval holds 0 and is narrow."""

    launches: int
    holds: bool
    narrow: bool


def end_at_width(logs: np.ndarray) -> End:
    """Returns where --width ends an experiment, by the rule of `Estimates`."""
    for count in range(LAUNCHES, MOST_LAUNCHES + 1):
        found = typical_interval(np.exp(logs[:count]))
        resembling = correlation(logs[:count], FALSE_ALARMS) > 0
        narrow = found.width <= WIDTH and not resembling
        if narrow:
            break
    return End(count, bool(found.low <= 1 <= found.high), bool(narrow))


# 95 % intervals over several launches.
SAMPLES = 100  # per launch
OVER = (5, 10, 24)  # launches
PROMISED = "typical launch"


def simulate_launch_medians(experiments: int) -> Findings:
    """Returns what each method over several launches covers.

    Launches deviate by 5 %, samples within one by 5 % with autocorrelation 0.6, 2 % of them are outliers.
    """
    random = np.random.default_rng(2026)
    covered: list[dict[str, float]] = []
    for launches in OVER:
        show_progress(f"intervals over {launches} launches")
        covered.append(coverages(random, launches, experiments // 2))
    rows: list[tuple[str | float, ...]] = [(name, *(each[name] for each in covered)) for name in covered[0]]
    title = f"Coverage of 95 % intervals, {SAMPLES} samples per launch; 5 % between launches, AR(1) 0.6, 2 % outliers"
    table = Table(title, ("interval", *(f"{launches} launches" for launches in OVER)), rows)
    return Findings([table], [covers(f"{PROMISED}, 10 launches", covered[OVER.index(10)][PROMISED])])


def coverages(random: np.random.Generator, launches: int, experiments: int) -> dict[str, float]:
    """Returns the share of experiments in which each method's interval holds the truth."""
    held: Counter[str] = Counter()
    for _ in range(experiments):
        samples = simulate_launches(random, launches, SAMPLES)
        medians = np.median(samples, axis=1)
        found: dict[str, Interval | MedianInterval] = {
            PROMISED: typical_interval(medians),
            "order statistics of launch medians": median_interval(medians),
            "all samples pooled": median_interval(samples.ravel()),
            "one launch": median_interval(samples[0]),
        }
        held.update({name: int(one.low <= 1 <= one.high) for name, one in found.items()})
    return {name: count / experiments for name, count in held.items()}
