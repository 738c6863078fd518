"""Measures the duration of clock synchronization, and the errors of clocks after it.

A scheme is an algorithm that synchronizes the clocks of all ranks to the clock of rank 0. True errors are known for
made clocks (see runs.py) and in a simulation. Between nodes there are only measured offsets, as in the papers; the true
offset differs from a measured one by at most its bound, half of the round trip.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from downbeat.data.clock_files import DimensionTable
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel, box_of
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import MICROSECONDS, name_of

from downbeat_papers.claims import Facts, Measure, Measured, Outcome, measures_by_position, missing
from downbeat_papers.draw import median_line
from downbeat_papers.evidence import Evidence, Undecidable, every, factor_of, some
from downbeat_papers.kinds.drift import MILLISECONDS
from downbeat_papers.results import Results
from downbeat_papers.runs import CLOCKS, FEW_FIT, Run, clock_run
from downbeat_papers.site import Site


class Synchronizations(DimensionTable):
    """A launch of `downbeat-bench clock`: schemes that synchronize clocks, several times each."""

    scheme: Texts = column("scheme with its parameters")
    duration: Floats = column("duration of each synchronization, largest over ranks, shape (schemes, repetitions)", "s")
    messages_median: Floats = column("messages of the busiest process, median over repetitions", "1")
    offset: Floats = column("measured offset, shape (schemes, repetitions, waits, ranks)", "s")
    offset_bound: Floats = column("bound of the error of the measured offset, same shape", "s")
    true_error: Floats = column("true error, same shape; NaN where it is not known", "s")
    error_bound: Floats = column("bound of the true error that the clock reports, same shape", "s")

    @property
    def truth_known(self) -> bool:
        """True if the file has true errors; else the column is filled with NaN of a single dimension."""
        return self.true_error.ndim > 1


@dataclass(frozen=True)
class ErrorKind:
    """A measure of clock errors.

    Attributes:
        title: of a panel or a box.
        words: name in sentences.
        compute: returns the errors of a launch, in s, shape (schemes, repetitions, waits, ranks).
    """

    title: str
    words: str
    compute: Callable[[Synchronizations], Floats]

    def pooled(self, files: Sequence[Synchronizations]) -> Floats:
        """Returns the measured errors of all ranks but 0 in all files, in us, as one array."""
        values = np.concatenate([self.compute(file)[..., 1:].ravel() for file in files]) * MICROSECONDS
        return np.asarray(values[np.isfinite(values)])


MEASURED = ErrorKind("measured, as in the paper", "measured offset", lambda file: np.abs(file.offset))
TRUE = ErrorKind("true error", "true error", lambda file: np.abs(file.true_error))
POSSIBLE = ErrorKind(
    "measured, plus its bound",
    "measured offset plus its bound",
    lambda file: np.abs(file.offset) + file.offset_bound,
)


class Clocks:
    """Launches of the subcommand `clock`.

    Attributes:
        results: the launches.
        datasets: label of the run -> files of its launches.
        files: label of the run -> tables of its launches.
        all: tables of all launches.
        shown: series to draw: measured offsets, and the true errors or, if unknown, their largest possible values.
        kind: errors that claims are judged by: the true errors if known, else measured offsets, as in the papers.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.datasets = {label: results.datasets(label) for label in results.labels()}
        self.files = {label: [*map(Synchronizations.of, files)] for label, files in self.datasets.items()}
        self.all = [file for files in self.files.values() for file in files]
        known = all(file.truth_known for file in self.all)
        self.shown = (MEASURED, TRUE if known else POSSIBLE)
        self.kind = TRUE if known else MEASURED

    @property
    def by_ranks(self) -> dict[int, list[Synchronizations]]:
        """Number of ranks -> tables of its launches."""
        return {self.results.run(label).ranks: files for label, files in self.files.items()}

    @property
    def explained(self) -> str:
        """The phrase of captions on the second series of errors, and on sampled ranks."""
        # Ranks of the launch -> ranks whose clocks were compared, for launches that compared a sample.
        checked = {
            file.offset.shape[-1]: int(data.checked.sum())
            for label, files in self.files.items()
            for file, data in zip(files, self.datasets[label], strict=True)
            if "checked" in data and int(data.checked.sum()) < file.offset.shape[-1] - 1
        }
        samples = ", ".join(f"{count} of {ranks} ranks" for ranks, count in sorted(checked.items()))
        sampled = f"; offsets are measured to a sample, {samples}, drawn from the upper half" if samples else ""
        if self.kind is TRUE:
            return f"the true error, computed from the clocks that were made{sampled}"
        return (
            "measured offset plus its bound, the most that the error can be; true errors are not known between nodes"
            f"{sampled}"
        )

    @property
    def within(self) -> str:
        """The accuracy of measured errors, in words; empty for true errors."""
        if self.kind is TRUE:
            return ""
        bounds = np.concatenate([file.offset_bound[..., 1:].ravel() for file in self.all]) * MICROSECONDS
        return f"the error of each is known to within {np.nanmedian(bounds):.3g} us (median bound)"

    def largest(self, kind: ErrorKind, label: str = "") -> dict[str, Floats]:
        """Returns scheme -> largest error over ranks in us, shape (waits, launches, repetitions).

        Args:
            kind: the measure of errors.
            label: of the run; empty: all launches.
        """
        by_scheme: dict[str, list[Floats]] = {}
        for file in self.files[label] if label else self.all:
            values = np.nanmax(kind.compute(file)[..., 1:], axis=3) * MICROSECONDS
            for scheme, errors in zip(file.scheme, values, strict=True):
                by_scheme.setdefault(str(scheme), []).append(errors.T)
        return {scheme: np.stack(launches, axis=1) for scheme, launches in by_scheme.items()}

    @property
    def waits(self) -> Floats:
        """The times after a synchronization at which errors were measured, s; the same in all launches."""
        (data, *_), *_ = self.datasets.values()
        return np.asarray(data.wait.to_numpy())

    @property
    def barriers(self) -> Floats:
        """The duration of MPI_Barrier in us: of each launch, the median over repetitions."""
        datasets = [data for launches in self.datasets.values() for data in launches]
        return np.array([np.median(data.barrier) for data in datasets]) * MICROSECONDS

    def after_last_wait(self, kind: ErrorKind) -> dict[str, Floats]:
        """Returns scheme -> errors after the last wait in us: of each launch, the median over repetitions."""
        return {scheme: np.median(values[-1], axis=1) for scheme, values in self.largest(kind).items()}


REPETITIONS = 50  # synchronizations of a launch
HCA3 = "hca3_offset(offset=skampi(min=5,max=20))"  # numbers of exchanges as in the authors' code


class Costs(Table):
    """The costs of synchronization: a row per scheme and launch, with medians over repetitions."""

    ranks: Ints = column("processes of the launch", "1")
    scheme: Texts = column("scheme with its parameters")
    duration: Floats = column("duration, largest over ranks", "ms")
    messages: Floats = column("messages of the busiest process", "1")


def costs(results: Results) -> Costs:
    """Returns the costs of all launches."""
    return Costs.of_tuples(
        [
            (ranks, scheme, float(np.median(duration)) * MILLISECONDS, messages)
            for ranks, files in Clocks(results).by_ranks.items()
            for file in files
            for scheme, duration, messages in zip(file.scheme, file.duration, file.messages_median, strict=True)
        ]
    )


class Hca3Duration:
    """The duration of the paper's scheme over numbers of processes (Schuchart 2023, Fig. 15)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        count = site.repetitions(REPETITIONS)
        return tuple(
            clock_run(site, ranks, HCA3, count, seconds=3 if site.crowded(ranks) else 0.5) for ranks in site.counts
        )

    def facts(self, results: Results) -> Facts:
        """Returns the duration in us, for ranks with a core each, and the duration as a share of a second."""
        table = costs(results)
        seconds = {int(n): table.duration[table.ranks == n] / MILLISECONDS for n in np.unique(table.ranks)}
        counts, crowding = on_cores(results, list(seconds)), results.crowding(results.site.full)
        shares = measures_by_position({ranks: seconds[ranks] for ranks in counts}, obstacle=crowding)
        durations = {n: seconds[n] * MICROSECONDS for n in counts if not results.site.crowded(n)}
        return Facts({"duration": measures_by_position(durations, " us"), "share_of_a_second": shares})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        boxes = [
            box_of(str(ranks), "hca3_offset", np.concatenate([file.duration.ravel() for file in files]) * MILLISECONDS)
            for ranks, files in Clocks(results).by_ranks.items()
        ]
        whose = (
            "Every rank has a clock of its own, as if it were a node."
            if results.site.made_clocks
            else "Clocks are those of the nodes, over all of which ranks are spread."
        )
        caption = (
            f"{results.site.repetitions(REPETITIONS)} synchronizations in each launch by the paper's scheme, "
            f"{HCA3}, all launches together; largest over ranks. {whose} The first synchronization of a launch, which "
            "sets up connections, is not among them; in the paper it is, and is the outlier."
        )
        panel = Panel(boxes, "number of processes", "duration [ms]")
        return (make_picture(name, "Duration of clock synchronization", caption, [panel]),)


def on_cores(results: Results, counts: Sequence[int]) -> list[int]:
    """Returns the numbers of ranks with a core each; all numbers if every one is crowded."""
    return [ranks for ranks in counts if not results.site.crowded(ranks)] or list(counts)


class Hca3Accuracy(Hca3Duration):
    """The accuracy of clocks after the synchronizations of `Hca3Duration` (Schuchart 2023, Fig. 16)."""

    def facts(self, results: Results) -> Facts:
        """Returns mean and largest errors of launches in us, and the number of true errors beyond their bounds."""
        clocks = Clocks(results)
        kind, by_ranks, outside = clocks.kind, clocks.by_ranks, 0
        if kind is TRUE:
            for files in by_ranks.values():
                bounds = np.concatenate([file.error_bound[..., 1:].ravel() for file in files])
                outside += int((kind.pooled(files) > bounds * MICROSECONDS).sum())
        # Exchanges of ranks that share a core contain the wait for it, so that errors are large.
        counts, crowding = on_cores(results, list(by_ranks)), results.crowding(results.site.full)

        def over_launches(summarize: Callable[[Floats], float]) -> dict[str, Measure]:
            pooled = {ranks: [kind.pooled([file]) for file in by_ranks[ranks]] for ranks in counts}
            values = {ranks: [summarize(errors) for errors in files if len(errors)] for ranks, files in pooled.items()}
            return measures_by_position(values, " us", obstacle=crowding, note=clocks.within)

        beyond = {"errors_beyond_their_bounds": Measure([outside])} if kind is TRUE else {}
        return Facts({"mean": over_launches(np.mean), "largest": over_launches(np.max), **beyond}, {"kind": kind.words})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        clocks = Clocks(results)
        boxes = [
            box_of(str(ranks), kind.title, kind.pooled(files))
            for ranks, files in clocks.by_ranks.items()
            for kind in clocks.shown
        ]
        caption = (
            "Absolute offset of every rank's global clock to rank 0's directly after each of "
            f"{results.site.repetitions(REPETITIONS)} synchronizations, all launches together: measured by ping-pong, "
            f"the smallest of ten as the papers do, and beside it {clocks.explained}. The paper checks 1 % of the "
            "processes in 20 repetitions."
        )
        panel = Panel(boxes, "number of processes", "offset [us]")
        return (make_picture(name, "Synchronization accuracy", caption, [panel]),)


# Both schemes estimate offsets by Netgauge's estimator, so that they differ only in the order of the pairs.
LINEAR, TREE = "skampi(offset=netgauge)", "netgauge"
NAMES = {LINEAR: "linear", TREE: "tree (netgauge)"}
TREE_EXCHANGES = 600  # estimated, of a rank in both schemes: Netgauge stops after 100 exchanges that were no shorter


def tree_depth(ranks: int) -> int:
    """Returns the number of steps in which a tree synchronizes a number of ranks."""
    return int(np.ceil(np.log2(ranks)))


class LineAndTree:
    """Duration of synchronization one by one and in a tree, and its cost for the busiest process (Hoefler 2008)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        schemes, count = f"{LINEAR},{TREE}", site.repetitions(30)
        arguments: dict[str, Any] = {
            "exchanges": TREE_EXCHANGES,
            "clocks": "offset=1e-3,skew=8e-6,seed=8",
            "every_process": True,
        }
        return tuple(
            clock_run(site, ranks, schemes, count, 3.0 if site.crowded(ranks) else 0.5, **arguments)
            for ranks in site.counts
        )

    def facts(self, results: Results) -> Facts:
        measures: dict[str, dict[int, Measure]] = {}
        table = costs(results)
        for (ranks, scheme), launches in sorted(table.groups(table.ranks, table.scheme), key=lambda group: group[0]):
            line = "line" if scheme == LINEAR else "tree"
            suffix = "_on_2" if ranks == 2 else ""  # with 2 ranks, both schemes do the same
            duration = Measure(launches.duration, " ms", obstacle=results.crowding(ranks))
            measures.setdefault(f"{line}{suffix}", {})[ranks] = duration
            messages = Measure(launches.messages)
            measures.setdefault(f"messages_in_the_{line}{suffix}", {})[ranks] = messages
        words = {n: {"ranks": n, "steps": tree_depth(n), "others": n - 1} for n in np.unique(table.ranks).tolist()}
        return Facts(measures, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        table = costs(results)
        counts = np.unique(table.ranks).tolist()
        series = [
            median_line(words, counts, [of_scheme.duration[of_scheme.ranks == n] for n in counts], color)
            for color, (scheme, words) in enumerate(NAMES.items())
            for of_scheme in [table[table.scheme == scheme]]
        ]
        whose = "every rank has a clock of its own" if results.site.made_clocks else "clocks are those of the nodes"
        caption = (
            "Largest duration over ranks; median over launches of the launches' medians, bars: smallest to largest "
            f"launch. Both schemes take offsets by Netgauge's estimator; {whose}."
        )
        panel = Panel(series, "number of processes", "duration [ms]", x_scale="positions")
        title = "Duration of clock synchronization, one by one and in a tree"
        return (make_picture(name, title, caption, [panel]),)


MAX_FEW = 8  # largest number of processes for which the paper's text gives an offset of 0.2 us
PER_NODE = 16  # processes per node in part (b)
SCHEMES = ("skampi", "netgauge", "jk", "hca")
# The fit takes 0.2 s, shorter than usual: directly after a synchronization, that makes no difference.
SHORT_SCHEMES = "skampi,netgauge,jk(over=0.2),hca(over=0.2)"
FEW_SCHEMES = f"skampi,netgauge,jk({FEW_FIT},over=1),hca({FEW_FIT},over=1)"
FEW_EXCHANGES = 2300  # estimated, of a rank: the fits of jk and hca, and the exchanges before them
NODES = "nodes-"  # prefix of the labels of the runs of part (b)
# Obstacles of claims on two ranks.
ALIKE = "on 2 ranks both learn the same"
UNPAIRED = "on two ranks a tree is one pair, as skampi's; more need a core each"


class Offsets:
    """Clock offsets directly after synchronization (Hunold 2015, Fig. 8).

    In part (a) each process has its own clock, in part (b) several processes share a clock.
    """

    def runs(self, site: Site) -> tuple[Run, ...]:
        schemes, repetitions = FEW_SCHEMES if site.exact else SHORT_SCHEMES, 1 if site.quick else 5
        seconds = 0.5 * repetitions  # of the synchronizations, per rank

        def clock_each(ranks: int) -> Run:
            """Returns a run of part (a)."""
            return clock_run(site, ranks, schemes, repetitions, seconds * ranks, exchanges=FEW_EXCHANGES)

        def clock_shared(ranks: int, clocks: str = CLOCKS) -> Run:
            """Returns a run of part (b)."""
            run = clock_run(
                site,
                ranks,
                schemes,
                repetitions,
                seconds * ranks,
                exchanges=FEW_EXCHANGES,
                clocks=clocks,
                every_process=True,
            )
            return replace(run, label=f"{NODES}{run.label}")

        if not site.made_clocks:
            return tuple(clock_shared(n) if n > site.nodes > 0 else clock_each(n) for n in site.counts)
        shared = {n: f"{CLOCKS},ranks_per_clock={min(PER_NODE, n // 2)}" for n in site.counts if n >= 4}
        return (*map(clock_each, site.counts), *(clock_shared(n, clocks) for n, clocks in shared.items()))

    def part(self, clocks: Clocks, shared: bool, kind: ErrorKind) -> list[tuple[int, str, Floats]]:
        """Returns number of ranks, scheme and errors directly after synchronization, for part (a) or (b, `shared`).

        Errors are in us, shape (launches, repetitions).
        """
        return [
            (clocks.results.run(label).ranks, name_of(scheme), values[0])
            for label in clocks.files
            if label.startswith(NODES) is shared
            for scheme, values in clocks.largest(kind, label).items()
        ]

    def facts(self, results: Results) -> Facts:
        clocks = Clocks(results)
        alone, shared = (
            [
                run.ranks
                for run in results.runs
                if run.label.startswith(NODES) is nodes and not run.crowded(results.site)
            ]
            for nodes in (False, True)
        )

        def medians(shared: bool, kind: ErrorKind, ranks: int) -> dict[str, Floats]:
            return {
                name: np.median(values, axis=1) for n, name, values in self.part(clocks, shared, kind) if n == ranks
            }

        few = max((ranks for ranks in alone if ranks <= MAX_FEW), default=0)
        offsets, crowding = medians(False, MEASURED, few), results.crowding(few)
        measures: dict[str, Measured] = {
            "measured_offset": {
                f"{name} on {few} ranks": Measure(offsets[name], " us", obstacle=crowding)
                for name in ("skampi", "netgauge")
                if name in offsets
            }
            or missing()
        }
        # Part (a) compares two schemes; part (b) compares every scheme with skampi.
        for suffix, counts, required in (("", alone, {"skampi", "netgauge"}), ("_b", shared, set(SCHEMES))):
            ranks = max(counts, default=0)
            errors = medians(suffix == "_b", clocks.kind, ranks)
            comparable = ranks > 2 and required <= set(errors)
            of_schemes = {
                name: Measure(values, " us", note=clocks.within) for name, values in errors.items() if comparable
            }
            measures |= {f"{name}{suffix}": of_schemes.get(name, missing(UNPAIRED)) for name in SCHEMES}
            but_skampi = {name: measure for name, measure in of_schemes.items() if name != "skampi"}
            measures[f"others{suffix}"] = but_skampi if comparable else missing(UNPAIRED)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        clocks = Clocks(results)
        most_per_clock = f"up to {PER_NODE}" if results.site.made_clocks else "several"
        panels = []
        for kind in clocks.shown:
            for shared, title in ((False, "(a) a clock each"), (True, f"(b) {most_per_clock} per clock")):
                errors = {(n, scheme): values.ravel() for n, scheme, values in self.part(clocks, shared, kind)}
                counts = dict.fromkeys(n for n, _ in errors)
                boxes = [box_of(str(n), scheme, errors.get((n, scheme), ())) for n in counts for scheme in SCHEMES]
                axes = ("number of processes", "largest clock offset [us]", f"{title}: {kind.title}")
                panels += [Panel(boxes, *axes, y_scale="log")] if boxes else []
        caption = (
            "Largest absolute offset over ranks, five synchronizations in each launch, all launches together. Measured "
            "as in the paper: of ten offsets by ping-pong the smallest, the largest over ranks; and beside it "
            f"{clocks.explained}."
        )
        return (make_picture(name, "Clock offset directly after synchronization", caption, panels),)


LAST_WAIT = 10.0  # s; default time of the last measurement after a synchronization (the paper: 20 s)
MAX_INTERVALS = 10  # maximum number of intervals between measurements
MAX_WAIT = 3600.0  # s; limit of option --waits of downbeat-bench
SYNCHRONIZING = 8.0  # s; estimated duration of one synchronization by each scheme, together


class OffsetsLater:
    """Clock offsets some time after synchronization (Hunold 2015, Fig. 9)."""

    def watched(self, site: Site) -> float:
        return 0.2 if site.quick else min(site.seconds or LAST_WAIT, MAX_WAIT)

    def runs(self, site: Site) -> tuple[Run, ...]:
        seconds = self.watched(site)
        intervals = min(MAX_INTERVALS, max(1, round(seconds / 2)))  # the paper measures every 2 s
        waits = ",".join(f"{seconds * index / intervals:g}" for index in range(intervals + 1))
        schemes = FEW_SCHEMES if site.exact else ",".join(SCHEMES)
        duration = SYNCHRONIZING + len(SCHEMES) * seconds
        return (clock_run(site, site.full, schemes, 1, duration, waits, FEW_EXCHANGES, every_process=True),)

    def facts(self, results: Results) -> Facts:
        clocks = Clocks(results)
        errors = {name_of(scheme): values for scheme, values in clocks.after_last_wait(clocks.kind).items()}
        pairs = [
            (fit, plain) for fit in ("jk", "hca") for plain in ("skampi", "netgauge") if {fit, plain} <= set(errors)
        ]
        with_a_fit = {f"{fit} and {plain}": Measure(errors[fit], " us", note=clocks.within) for fit, plain in pairs}
        without = {f"{fit} and {plain}": Measure(errors[plain], " us", note=clocks.within) for fit, plain in pairs}
        wait = f"{clocks.waits[-1]:g}"
        alike = ALIKE if results.runs[0].ranks == 2 else ""
        fitting = {
            name: Measure(errors[name], " us", obstacle=alike, note=clocks.within) if name in errors else missing()
            for name in ("jk", "hca")
        }
        words = {"kind": clocks.kind.words, "wait": wait}
        return Facts({"with_a_fit": with_a_fit, "without": without, **fitting}, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        clocks = Clocks(results)
        waits = clocks.waits
        axes = ("time after synchronization [s]", "largest clock offset [us]")

        def lines(kind: ErrorKind) -> list[Line]:
            errors = {
                name_of(scheme): list(values.reshape(len(waits), -1)) for scheme, values in clocks.largest(kind).items()
            }
            no_values: list[Floats] = [np.array([])] * len(waits)
            return [median_line(name, waits, errors.get(name, no_values), color) for color, name in enumerate(SCHEMES)]

        panels = [Panel(lines(kind), *axes, kind.title) for kind in clocks.shown]
        caption = (
            "Largest absolute offset over ranks; median, smallest and largest of all synchronizations of all launches. "
            f"First as in the paper, then {clocks.explained}."
        )
        return (make_picture(name, "Clock offset some time after synchronization", caption, panels),)


# Parameters of fits: fit points, exchanges per point, and the time over which the points are spread, s; 0: back to
# back, as in the paper.
FITS = ((100, 30, 0), (500, 30, 0), (1000, 100, 0))
# For sites with exact exchanges (see Site), where fewer exchanges are enough.
FEW_FITS = ((20, 10, 0), (100, 10, 0), (100, 30, 0), (100, 10, 1))
FITTED, FEW_FITTED = (
    [f"(fit={fit},over={over},offset=mean_rtt(exchanges={exchanges}))" for fit, exchanges, over in fits]
    for fits in (FITS, FEW_FITS)
)
FITTED.append("")  # the default parameters, over 1 s
PLAIN = ("skampi", "netgauge")  # schemes without a fit
FAR_OFF = 10.0  # a scheme is far off if its error is larger than another's by this factor; the paper gives no number
QUICK = 1.0  # s; a scheme is quick if it takes less


def short_scheme(scheme: str) -> str:
    """Returns the label of a scheme as in the paper, e.g. "jk (100, 30)"."""
    name, _, parameters = scheme.partition("(")
    pairs = parameters.replace("(", ",").replace(")", "").split(",")
    numbers = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if not parameters:
        return f"{name}, over 1 s" if name in ("jk", "hca") else name
    over = f", over {numbers['over']} s" if numbers.get("over", "0") != "0" else ""
    return f"{name} ({numbers.get('fit', '1000')}, {numbers.get('exchanges', '100')}){over}"


@dataclass(frozen=True)
class Choices:
    """The duration and the error of each scheme, one number per launch."""

    durations: Mapping[str, Floats]  # s, by scheme
    errors: Mapping[str, Floats]  # us, after the last wait, by scheme
    barriers: Floats  # us, duration of MPI_Barrier

    def point(self, scheme: str) -> tuple[float, float]:
        """Returns duration and error of a scheme: medians over launches."""
        return float(np.median(self.durations[scheme])), float(np.median(self.errors[scheme]))

    def frontier(self) -> list[str]:
        """Returns the Pareto frontier, quickest first: no other scheme is both quicker and more exact."""
        frontier: list[str] = []
        for scheme in sorted(self.errors, key=self.point):
            if not frontier or self.point(scheme)[1] < self.point(frontier[-1])[1]:
                frontier.append(scheme)
        return frontier


def choices_of(clocks: Clocks, kind: ErrorKind) -> Choices:
    """Returns the medians over the repetitions of each launch, with errors of a kind."""
    errors = clocks.after_last_wait(kind)
    durations = np.array([np.median(file.duration, axis=1) for file in clocks.all])
    return Choices(dict(zip(errors, durations.T, strict=True)), errors, clocks.barriers)


class Pareto:
    """Clock offset against the duration of synchronization (Hunold 2015, Fig. 10)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        fitted = FEW_FITTED if site.exact else FITTED
        schemes = ",".join([*PLAIN, *(f"{scheme}{parameters}" for scheme in ("jk", "hca") for parameters in fitted)])
        count = 1 if site.quick else 2
        exchanges = 2 * sum(points * per_point for points, per_point, _ in FEW_FITS)  # of jk and hca
        waits = "0.2" if site.quick else "5"
        return (clock_run(site, site.full, schemes, count, count * 9.0, waits, exchanges, every_process=True),)

    def facts(self, results: Results) -> Facts:
        clocks = Clocks(results)
        choices, ranks = choices_of(clocks, clocks.kind), results.runs[0].ranks
        crowding = results.crowding(ranks)
        durations, errors = choices.durations, choices.errors
        pairs = [(jk, hca) for jk in errors if name_of(jk) == "jk" and (hca := jk.replace("jk", "hca", 1)) in errors]
        # On two ranks, jk and hca make the same exchanges.
        alike = crowding or (ALIKE if ranks == 2 else "")
        listed = "; ".join(
            f"{short_scheme(scheme)} {choices.point(scheme)[0]:.2g} s, {choices.point(scheme)[1]:.3g} us"
            for scheme in errors
        )
        note = f"; {clocks.within}" if clocks.within else ""
        far_off = Undecidable(crowding) if crowding else far_off_without_a_fit(choices)
        of_hca = {short_scheme(scheme): errors[scheme] for scheme in errors if name_of(scheme) == "hca"}
        measures: dict[str, Measured] = {
            "quick_and_far_off": Outcome(far_off, f"{clocks.kind.words}: {listed}{note}"),
            "hca": {scheme: Measure(values, " us", obstacle=crowding) for scheme, values in of_hca.items()},
            "barrier": Measure(choices.barriers, " us"),
            "error_of_jk_by_hca": Measure(mean_ratio(errors, pairs), obstacle=alike),
            "duration_of_jk_by_hca": Measure(mean_ratio(durations, pairs), obstacle=alike),
            "frontier": Outcome(None, ", ".join(map(short_scheme, choices.frontier()))),
        }
        return Facts(measures, {"wait": f"{clocks.waits[-1]:g}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        clocks = Clocks(results)
        wait = float(clocks.waits[-1])
        caption = (
            "A point per scheme and (fit points, exchanges); the numbers say which. Median over launches of the "
            f"largest offset over ranks, {wait:g} s after. The steps are the Pareto frontier: no other scheme beats in "
            "both. The horizontal line is the mean duration of MPI_Barrier, the median over repetitions. Above as "
            f"in the paper, below {clocks.explained}."
        )
        panels = [pareto_panel(choices_of(clocks, kind), kind.title, wait) for kind in clocks.shown]
        return (make_picture(name, "Clock offset against the duration of synchronization", caption, panels, columns=1),)


def far_off_without_a_fit(choices: Choices) -> Evidence:
    """Returns the evidence that schemes without a fit are quick, and far off compared with a scheme with a fit.

    The paper compares with the best parameters of schemes with a fit. So all parameters are tested, and `some` corrects
    for their number, since the best of several is partly best by chance.
    """
    durations, errors = choices.durations, choices.errors
    plain = [name for name in PLAIN if name in errors]
    quick = [factor_of(durations[name], " s").below(QUICK) for name in plain]
    far = some(
        every(factor_of(errors[name] / errors[fit]).above(FAR_OFF) for name in plain)
        for fit in errors
        if name_of(fit) in ("hca", "jk")
    )
    return every((*quick, far))


def mean_ratio(values: Mapping[str, Floats], pairs: Sequence[tuple[str, str]]) -> Floats:
    """Returns for each launch the geometric mean of the ratios of pairs of schemes."""
    return np.asarray(np.exp(np.mean([np.log(values[first] / values[other]) for first, other in pairs], axis=0)))


def pareto_panel(choices: Choices, title: str, wait: float) -> Panel:
    """Returns a panel with a point per scheme, and the frontier as steps from the quickest to the most exact scheme.

    Args:
        choices: durations and errors.
        title: of the panel.
        wait: time after the synchronization at which errors were measured, s.
    """
    points = {scheme: choices.point(scheme) for scheme in choices.errors}
    series = []
    for index, name in enumerate(SCHEMES):
        of_name = np.array([point for scheme, point in points.items() if name_of(scheme) == name]).reshape(-1, 2)
        series.append(Line(name, of_name[:, 0], of_name[:, 1], color=index, style="", marker=index))
    frontier = np.array([points[scheme] for scheme in choices.frontier()])
    series.append(Line("Pareto frontier", frontier[:, 0], frontier[:, 1], color="#888888", style="steps"))
    return Panel(
        series,
        "duration of the synchronization [s]",
        f"clock offset after {wait:g} s [us]",
        title,
        x_scale="log",
        y_scale="log",
        y_at=float(np.median(choices.barriers)),
        notes=[(*point, short_scheme(scheme)) for scheme, point in points.items() if "(" in scheme],
    )
