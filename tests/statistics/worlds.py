"""Worlds of the papers' figures: what `downbeat reproduce` would find on disk, with the truth known.

A figure says what its runs measure. From that all cells, files and series are made up, log-normal over launches; with
the `effect` of the figure's file, what the paper reports, or with `WITHOUT`, in which no claim is true: nothing, where
it has no entry. Where the structure of the data is the point, `shapes` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.comparison.conditions import factor_number
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.run.experiment import Launch
from downbeat.text import name_of, seconds_of, split_list
from downbeat_papers.figure import FIGURES, data_figure
from downbeat_papers.kinds.cells import Cells, ReduceMatrix
from downbeat_papers.kinds.clocks import FITTED, NODES, PLAIN, SCHEMES, TREE, tree_depth
from downbeat_papers.kinds.late_arrival import LateArrival
from downbeat_papers.kinds.scaling import Scaling
from downbeat_papers.results import LATENCY, MEDIAN, Results
from downbeat_papers.runs import Run
from downbeat_papers.site import Site

from tests.statistics.frames import cells_where, with_lines
from tests.statistics.shapes import double_ring, drifts, fits, late_arrivals, offsets, rounds_of_a_tree, trips

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
RANKS = (2, 4, 8, 16)
DEVIATION = 0.05  # of launches, and of cells within a launch
US = 1e-6
# Columns of cells that figures show; each cell takes 1 us by any of them.
COLUMNS = (
    *(LATENCY, MEDIAN, "max_of_means", "latency_max_median", "latency_observed_median", "global_time_median"),
    *("exit_skew_median", "end_skew_median", "imbalance_worst_median"),
)
READING = 0.05  # us, between two stamps around nothing
MORE = 1.5  # an effect to which the paper gives no number


@dataclass(frozen=True)
class SimulatedResults(Results):
    """Launches that were made up.

    Attributes:
        files: datasets of each launch, by label of the run.
        table: of all cells.
    """

    files: Mapping[str, Sequence[xr.Dataset]] = field(default_factory=dict)
    table: pd.DataFrame = field(default_factory=pd.DataFrame)

    @cached_property
    def cells(self) -> pd.DataFrame:
        return self.table

    def datasets(self, label: str) -> list[xr.Dataset]:
        return list(self.files[label])

    def samples(self, label: str, metrics: Sequence[str]) -> list[xr.Dataset]:
        return [data[list(metrics)] for data in self.files[label]]


@dataclass(frozen=True)
class Maker:
    """Makes up the launches of one experiment.

    Attributes:
        random: draws them.
        launches: of each run.
        effect: whether what the paper reports is there; else no claim of the figure is true.
    """

    random: np.random.Generator
    launches: int
    effect: bool

    def pick(self, there: float, not_there: float) -> float:
        """Returns a parameter with the effect, or without."""
        return there if self.effect else not_there

    def factors(self, *shape: int) -> Floats:
        """Returns log-normal factors around 1."""
        return self.random.lognormal(0.0, DEVIATION, shape)

    def values(self, truth: float) -> Floats:
        """Returns what each launch measures of a truth."""
        return truth * self.factors(self.launches) * self.factors(self.launches)


World = Callable[[Maker], SimulatedResults]


def results_of(
    runs: Sequence[Run],
    cells: pd.DataFrame | None = None,
    files: Mapping[str, Sequence[xr.Dataset]] | None = None,
    ranks: Sequence[int] = RANKS,
) -> SimulatedResults:
    """Returns results at a site whose ranks have a core each."""
    launch = Launch("openmpi", 2, "default", 1, Path(), {})
    there = {run.label: (launch,) for run in runs}
    return SimulatedResults(
        "f", site_of(ranks), tuple(runs), there, files or {}, pd.DataFrame() if cells is None else cells
    )


def site_of(ranks: Sequence[int] = RANKS) -> Site:
    return Site(max(ranks), {"openmpi": "bench", "mpich5": "bench", "intelmpi": "bench"}, tuple(ranks))


def run_of(label: str, ranks: int = max(RANKS), library: str = "openmpi") -> Run:
    """Returns a run; drawing uses its label, library and ranks alone."""
    return Run(label, library, ranks, (), {})


# Cells.

Where: TypeAlias = Mapping[str, Any]
Factor: TypeAlias = float | Callable[[pd.DataFrame], "pd.Series[float] | Floats"]
Effect: TypeAlias = tuple[Where, str, Factor]  # which cells, which column ("": latencies), times what


def sizes_of(text: str) -> list[int]:
    """Returns message sizes, of ranges such as "8:1K" each power of two."""
    sizes = []
    for word in split_list(text):
        first, last = (int(factor_number("size", one or "0")) for one in word.partition(":")[::2])
        sizes += [first << step for step in range(last.bit_length() - first.bit_length() + 1)] if last else [first]
    return sizes


FACTORS = [
    *("operation", "synchronizer", "size", "algorithm"),
    *("barrier_algorithm", "timing", "pattern", "largest_delay"),
]


def cells_of(run: Run) -> pd.DataFrame:
    """Returns the cells that downbeat-bench would measure in a run."""
    options = run.options
    delays = map(seconds_of, split_list(options["delay"])) if "delay" in options else ()
    late = [one.replace("(rank=0)", "") for one in split_list(options.get("pattern", ""))]  # as files name it
    patterns = [("none", 0.0), *product(late, delays)]
    rows = []
    for word in run.operations:
        operation = name_of(word)
        sized = operation not in ("nothing", "barrier", "ibarrier")
        sizes = sizes_of(options.get("sizes", "8")) if sized else [0]
        owner, _, names = options.get("algorithm", "").partition("=")
        algorithms = split_list(names) if owner == operation else ["default"]
        timings = split_list(options.get("timing", "per_call"))
        # Timing by windows makes windows of its own, after which batches are timed, too.
        for synchronizer in split_list(options["sync"]) + ["window"] * ("window" in timings):
            barriers = split_list(options.get("barrier-algorithm", "default")) if synchronizer == BARRIER else []
            unfit = "per_call" if "window" in timings and synchronizer == "window" else "window"
            fit = [one for one in timings if one != unfit]
            for row in product(sizes, algorithms, barriers or ["default"], fit, patterns):
                rows.append((operation, synchronizer, *row[:4], *row[4]))
    frame = pd.DataFrame(rows, columns=FACTORS).assign(label=run.label, library=run.library, ranks=run.ranks)
    calls = frame["timing"].str.extract(r"calls=(\d+)")[0].astype(float)
    batch = frame["timing"].str.startswith("batch")
    return frame.assign(calls=calls.fillna(batch.map({True: 100.0, False: 1.0})).astype(int))


def made_cells(maker: Maker, name: str, runs: Sequence[Run]) -> pd.DataFrame:
    """Returns the cells of all launches of a figure."""
    kind = FIGURES[name].kind
    frame = pd.concat(map(cells_of, runs), ignore_index=True)
    if isinstance(kind, Scaling):
        frame = pd.concat([with_lines(frame, one) for one in kind.collectives]).sort_index()
    truths = pd.DataFrame(1.0, index=frame.index, columns=list(COLUMNS))
    nothing = frame["operation"] == "nothing"
    truths.loc[nothing, [one for one in COLUMNS if "latency" in one]] = READING
    for where, column, factor in effects_of(name) if maker.effect else WITHOUT.get(name, ()):
        rows = cells_where(frame, where)
        columns = [column] if column else [one for one in COLUMNS if "skew" not in one and "imbalance" not in one]
        times = factor if isinstance(factor, float) else np.asarray(factor(rows))[:, np.newaxis]
        truths.loc[rows.index, columns] *= times
    launches = []
    for launch in range(1, maker.launches + 1):
        factors = maker.factors(len(frame), 1) * maker.factors()
        launches.append(frame.join(US * truths * factors).assign(launch=launch))
    return pd.concat(launches, ignore_index=True)


def sample_file(run: Run, entries: Floats | None = None, takes: Floats | float = US) -> xr.Dataset:
    """Returns a launch with three samples of each cell; or with the given ones, shape (samples, ranks), in s."""
    cells = cells_of(run)
    start = np.zeros((3, run.ranks)) if entries is None else entries
    entry = np.concatenate([start] * len(cells))
    dims, count = ("sample", "rank"), len(entry)
    end = np.concatenate([start + takes] * len(cells))
    stamps = {"entry": entry, "exit": end, "sync_entry": entry - US, "delay": np.zeros_like(entry)}
    return xr.Dataset(
        {name: (dims, values) for name, values in stamps.items()}
        | {
            "latency_avg": ("sample", np.full(count, US)),
            "exit_skew": ("sample", np.ptp(entry, axis=1)),
            "deadline": ("sample", np.full(count, np.nan)),
            "valid": ("sample", np.ones(count, int)),
            "cell_index": ("sample", np.arange(count) // len(start)),
            "synchronizer": ("cell", list(cells["synchronizer"])),
            "barrier_algorithm": ("cell", list(cells["barrier_algorithm"])),
        }
    )


# Entries of launches, and how long ranks take, by figure.
STAMPED: Mapping[str, Callable[[Maker, int], Sequence[tuple[Floats, ...]]]] = {
    "schuchart2023-fig1": double_ring,
    "niethammer2016-fig2": rounds_of_a_tree,
}


def cell_world(name: str) -> World:
    def world(maker: Maker) -> SimulatedResults:
        runs = data_figure(FIGURES[name]).runs(site_of())
        timed = isinstance(kind := FIGURES[name].kind, Cells) and bool(kind.timelines)
        files = {run.label: [sample_file(run)] for run in runs} if timed else {}
        if name in STAMPED:
            files = {run.label: [sample_file(run, *one) for one in STAMPED[name](maker, run.ranks)] for run in runs}
        return results_of(runs, made_cells(maker, name, runs), files)

    return world


HIGHEST = 1.8  # delta of the rooted MPI_Reduce on one node (Schuchart 2023, Fig. 6)
AFTER = {"synchronizer": BARRIER}
UNAFFECTED = HIGHEST**0.5  # the most that counts as unaffected


def of_sizes(small: float, large: float) -> Factor:
    return lambda rows: np.where(rows["size"] <= 1024, small, large)


def steps_of(rows: pd.DataFrame) -> Floats:
    return np.asarray(np.log2(rows["ranks"].to_numpy(dtype=float)))


def rough(by: float) -> Factor:
    return lambda rows: by ** (steps_of(rows) % 2)


# With steps of a tree, and lines that differ; oscillating after the barrier, knomial most.
PROCESSES: list[Effect] = [
    ({}, "", steps_of),
    *(({"line": "linear"}, column, lambda rows: 2 / steps_of(rows) ** 2) for column in (LATENCY, MEDIAN)),
    *((AFTER, column, rough(1.5)) for column in (LATENCY, MEDIAN, "max_of_means")),
    ({**AFTER, "line": "knomial"}, LATENCY, rough(4 / 1.5)),
    ({"line": "mpich"}, LATENCY, lambda rows: np.where(rows["synchronizer"] == BARRIER, 0.4, MORE)),
]
# Only figures whose claims say that something does not happen.
WITHOUT: Mapping[str, Sequence[Effect]] = {
    "schuchart2023-fig12": [({**AFTER, "line": ["default", "mpich"]}, "", UNAFFECTED)],
    "schuchart2023-sec66": [(AFTER, "", UNAFFECTED)],
    **{f"schuchart2023-fig{number}": [({}, LATENCY, steps_of)] for number in (8, 11, 14)},
}


def effect_of(column: str = "", factor: float | Sequence[float] = 1.0, **where: Any) -> Effect:  # noqa: ANN401
    """Returns an effect as a figure's file has it."""
    return where, column, of_sizes(*factor) if isinstance(factor, list) else float(factor)  # type: ignore[arg-type]


def effects_of(name: str) -> list[Effect]:
    """Returns what the paper reports; algorithms of Open MPI are 1.5 times apart, MPICH is as fast as its default."""
    kind, declared = FIGURES[name].kind, FIGURES[name].effect
    if declared == "processes":
        return PROCESSES
    if isinstance(kind, ReduceMatrix):
        return [
            ({"algorithm": algorithm, "barrier_algorithm": barrier, **AFTER}, "", time)
            for algorithm, times in kind.paper.items()
            for barrier, time in zip(kind.columns, times, strict=True)
        ]
    effects = [effect_of(**one) for one in declared]  # type: ignore[arg-type]
    if isinstance(kind, Scaling):
        effects += [({"line": line}, "", 1.5**place) for place, line in enumerate(kind.algorithms, 1)]
    return effects


# Files about clocks: errors in us by run, scheme and wait, and durations in s by run and scheme.


def clock_world(
    name: str,
    errors: Callable[[Maker, Run, str, float], float] = lambda *_: 1.0,
    durations: Callable[[Maker, Run, str], float] = lambda *_: 1.0,
    barrier: Callable[[Maker], float] = lambda _: 1.0,
) -> World:
    def world(maker: Maker) -> SimulatedResults:
        runs = data_figure(FIGURES[name]).runs(site_of())
        files: dict[str, list[xr.Dataset]] = {}
        for run in runs:
            schemes, waits = split_list(run.options["schemes"]), list(map(float, run.options["waits"].split(",")))
            count = int(run.options["repetitions"])
            spread = np.linspace(0, 2, count) if count > 2 else np.ones(count)
            true = np.array([[errors(maker, run, scheme, wait) for wait in waits] for scheme in schemes])
            lasting = np.array([durations(maker, run, scheme) for scheme in schemes])
            files[run.label] = []
            for barriers in maker.values(US * barrier(maker)):
                table = US * true * maker.factors(*true.shape) * maker.factors()
                offset = table[:, np.newaxis, :, np.newaxis] * spread[:, np.newaxis, np.newaxis] * np.array([0.0, 1.0])
                took = (lasting * maker.factors(len(schemes)) * maker.factors())[:, np.newaxis] * np.ones(count)
                dims = ("scheme", "repetition", "wait", "rank")
                variables = dict.fromkeys(("offset", "true_error", "error_bound", "offset_bound"), (dims, offset))
                rest = {
                    "duration": (dims[:2], took),
                    "messages_median": ("scheme", 1e5 * took[:, 0]),
                    "barrier": ("repetition", np.full(count, barriers)),
                }
                files[run.label].append(xr.Dataset({**variables, **rest}, coords={"scheme": schemes, "wait": waits}))
        return results_of(runs, files=files)

    return world


ALONE = {"skampi": 0.1, "netgauge": 0.15, "jk": 0.2, "hca": 0.1}  # us
SHARED = {"skampi": 0.2, "netgauge": 1.0, "jk": 0.4, "hca": 0.5}


def directly_after(maker: Maker, run: Run, scheme: str, _: float) -> float:
    """Without effect all are off by 0.3 us, but for hca in (b), which is more than ten times as far off as skampi."""
    part = SHARED if run.label.startswith(NODES) else ALONE
    nothing = 4.0 if part is SHARED and name_of(scheme) == "hca" else 0.3
    return maker.pick(part[name_of(scheme)], nothing)


def of_pareto(maker: Maker, scheme: str, error: bool) -> float:
    """Returns the error in us, or the duration in s; without effect the same for all."""
    name, parameters = name_of(scheme), scheme.removeprefix(name_of(scheme))
    if not maker.effect or name in PLAIN:
        return 80.0 if error else maker.pick(0.5, 1.0)
    place = FITTED.index(parameters)
    exact, takes = {"jk": (2.0, 30.0), "hca": (4.0, 5.0)}[name]
    return exact / (1 + 0.2 * place) if error else takes * (1 + place)


# Series and skews.

SAMPLES = 4000  # of a run over time
CONSTANT = 0.1  # change of a run-time that is called none, at most


def time_world(name: str, curves: Callable[[Maker, str], tuple[float, float]], local: float = 1.0) -> World:
    """Makes runs over time: run-time at the start in us, and share by which it rises, by label.

    `local` is the largest local time after the barrier, by global time, with the effect.
    """

    def world(maker: Maker) -> SimulatedResults:
        runs = FIGURES[name].runs(site_of())
        files: dict[str, list[xr.Dataset]] = {}
        for run in runs:
            start, rise = curves(maker, run.label)
            along = 1 + rise * (np.linspace(0, 1, SAMPLES) - 1 / 8) / (3 / 4)
            shorter = maker.pick(local, 1.0) if run.label == BARRIER else 1.0
            files[run.label] = []
            for level in maker.values(US * start):
                times = level * along * maker.factors(SAMPLES)
                columns = {"global_time": ("sample", times), "latency_max": ("sample", shorter * times)}
                files[run.label].append(xr.Dataset(columns))
        return results_of(runs, files=files)

    return world


def rising(maker: Maker, label: str) -> tuple[float, float]:
    """Without effect, rising curves stay flat, and flat ones rise by the most that counts as flat."""
    rise = maker.pick(1.0, 0.0) if label in ("netgauge", "skampi") else maker.pick(0.0, CONSTANT)
    return maker.pick(20.0 if label == BARRIER else 15.0, 20.0), rise


def skew_file(ranks: int, skews: Sequence[float]) -> xr.Dataset:
    """Returns a launch whose median skews are those of the barrier and of the common start."""
    along = np.linspace(0, 1, ranks) * np.linspace(0.5, 1.5, 51)[:, np.newaxis]
    exits = np.array(skews)[:, np.newaxis, np.newaxis] * along
    dims = ("synchronizer", "attempt", "rank")
    variables = {"exit": (dims, exits), "entry": (dims, 0 * exits), "valid": (dims[:2], np.ones(exits.shape[:2], int))}
    hosts = {"host": ("rank", [f"node{rank}" for rank in range(ranks)])}
    return xr.Dataset(
        {**variables, **hosts}, coords={"synchronizer": [BARRIER, COMMON_START]}, attrs={"error_bound_s": 1e-9}
    )


def skews(maker: Maker) -> SimulatedResults:
    """Barriers and common starts on nodes of their own; without effect both leave 10 us."""
    runs = FIGURES["schuchart2023-fig3"].runs(site_of())
    files = {}
    for step, run in enumerate(runs):
        barrier, common = maker.values(US * maker.pick(4 * 1.25**step, 10)), maker.values(US * maker.pick(0.04, 10))
        files[run.label] = [skew_file(run.ranks, pair) for pair in zip(barrier, common, strict=True)]
    return results_of(runs, files=files)


def exits(maker: Maker) -> SimulatedResults:
    """Without effect both libraries leave ranks 10 us apart; else MPICH leaves them 40 us apart."""
    runs, files = FIGURES["hunold2015-fig4"].runs(site_of()), {}
    for run in runs:
        spread = maker.pick(40, 10) if run.library.startswith("mpich") else 10.0
        ranks = np.linspace(0, 1, run.ranks) * np.linspace(0.5, 1.5, 21)[:, np.newaxis]
        files[run.label] = [
            xr.Dataset({"exit": (("sample", "rank"), one * ranks), "valid": ("sample", np.ones(len(ranks), int))})
            for one in maker.values(US * spread)
        ]
    return results_of(runs, files=files)


def shaped(name: str, make: Callable[..., Any]) -> World:
    """Returns a world that `shapes` makes: cells or files of the runs of a figure."""

    def world(maker: Maker) -> SimulatedResults:
        figure = FIGURES[name]
        counts: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024) if getattr(figure.kind, "up_to", 0) else RANKS
        counts = (*RANKS, 2048, 4096) if name in ("niethammer2016-fig6", "niethammer2016-fig8") else counts
        sites = [(4,), (8,)] if make is offsets else [counts]  # of one node, and of two
        runs = [run for some in sites for run in data_figure(figure).runs(site_of(some))]
        made = make(maker, figure, runs)
        if isinstance(figure.kind, LateArrival):
            return results_of(runs, made, ranks=counts)
        return results_of(runs, files=made)

    return world


# Worlds of one figure each, by its effect.
MADE: Mapping[str, Mapping[str, World]] = {
    "clocks": {
        "schuchart2023-fig15": clock_world(
            "schuchart2023-fig15",
            durations=lambda maker, run, _: maker.pick(200e-6 * 1.3 ** np.log2(run.ranks), 0.02),
        ),
        "schuchart2023-fig16": clock_world("schuchart2023-fig16", lambda maker, *_: maker.pick(0.3, 1.0)),
        "hunold2015-fig8": clock_world("hunold2015-fig8", directly_after),
        "hunold2015-fig9": clock_world(
            "hunold2015-fig9",
            lambda maker, _, scheme, wait: (
                50.0
                if name_of(scheme) in SCHEMES[:2]
                else maker.pick((1 + wait / 2) / (2 if name_of(scheme) == "jk" else 1), 50)
            ),
        ),
        "hunold2015-fig10": clock_world(
            "hunold2015-fig10",
            lambda maker, _, scheme, __: of_pareto(maker, scheme, error=True),
            lambda maker, _, scheme: of_pareto(maker, scheme, error=False),
            lambda maker: maker.pick(20, 80),
        ),
        "hoefler2008-fig8": clock_world(
            "hoefler2008-fig8",
            durations=lambda maker, run, scheme: (
                1e-3 * (1.0 if scheme == TREE else maker.pick((run.ranks - 1) / tree_depth(run.ranks), 1.0))
            ),
        ),
    },
    "run_times": {
        "hunold2015-fig1": time_world(
            "hunold2015-fig1", lambda maker, label: (20, maker.pick(3 if label == "fixed" else 1, 0))
        ),
        "hunold2015-fig3": time_world("hunold2015-fig3", lambda *_: (100, 0), local=0.7),
        "hunold2015-fig7": time_world("hunold2015-fig7", rising),
        "hunold2015-fig11": time_world("hunold2015-fig11", rising),
    },
    "skews": {
        "schuchart2023-fig3": skews,
    },
    "exits": {
        "hunold2015-fig4": exits,
    },
}
CELLS = ("matrix", "processes")  # of `effects_of`
SHAPES = {each.__name__: each for each in (trips, fits, offsets, late_arrivals, drifts)}


def world_of(name: str) -> World:
    """Returns the world of a figure, by its effect."""
    effect = FIGURES[name].effect
    if not isinstance(effect, str) or effect in CELLS:
        return cell_world(name)
    return shaped(name, SHAPES[effect]) if effect in SHAPES else MADE[effect][name]


# Drifts of one machine are made, not found; that an operation "scales well" is not a number.
WITHOUT_CLAIMS: Mapping[str, World] = {
    name: world_of(name)
    for name, figure in FIGURES.items()
    if figure.effect == "drifts" or all(claim.test.startswith("show") for claim in figure.claims)
}
WORLDS: Mapping[str, World] = {name: world_of(name) for name in FIGURES if name not in WITHOUT_CLAIMS}
