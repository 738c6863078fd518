"""Synchronization of clocks: how long it takes and how wrong clocks are after it.

True errors are known where the validation clock made the clocks of one node, and in a simulation. Between nodes there
are measured offsets alone, which is what the papers have; the bound of each, half of its round trip, says how far off
the truth may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Found, Measure, Measured, missing
from downbeat_papers.draw import Box, BoxPanel, Panel, Series, draw_boxes, draw_panels, median_series
from downbeat_papers.evidence import Evidence, Floats, Undecidable, every, factor_of, some
from downbeat_papers.results import Results
from downbeat_papers.runs import CLOCKS, Run, clock_run, made
from downbeat_papers.site import Site


@dataclass(frozen=True)
class ErrorKind:
    """One way to say how wrong clocks were.

    Attributes:
        title: of a panel or a box.
        words: in sentences.
        of: returns it from a file of the experiment `clock`, in s, shape (scheme, repetition, wait, rank).
    """

    title: str
    words: str
    of: Callable[[xr.Dataset], np.ndarray]

    def pooled(self, files: Sequence[xr.Dataset]) -> np.ndarray:
        """Returns it in us for all ranks but 0 of all files, where it was measured; shape (values,)."""
        values = np.concatenate([self.of(data)[..., 1:].ravel() for data in files]) * MICROSECONDS
        return np.asarray(values[np.isfinite(values)])


def magnitude(data: xr.Dataset, variable: str) -> np.ndarray:
    return np.asarray(np.abs(data[variable].to_numpy()))


MEASURED = ErrorKind("measured, as in the paper", "measured offset", lambda data: magnitude(data, "offset"))
TRUE = ErrorKind("true error", "true error", lambda data: magnitude(data, "true_error"))
POSSIBLE = ErrorKind(
    "measured, plus its bound",
    "measured offset plus its bound",
    lambda data: magnitude(data, "offset") + data["offset_bound"].to_numpy(),
)


def all_files(results: Results) -> list[xr.Dataset]:
    return [data for label in results.have() for data in results.datasets(label)]


def shown(files: Sequence[xr.Dataset]) -> tuple[ErrorKind, ErrorKind]:
    """Returns what is drawn: measured offsets, and beside them the truth or, if unknown, the most that it can be."""
    return MEASURED, TRUE if all("true_error" in data for data in files) else POSSIBLE


def judged(files: Sequence[xr.Dataset]) -> ErrorKind:
    """Returns what claims are judged by: the truth if it is known, else what the papers had."""
    return TRUE if shown(files)[1] is TRUE else MEASURED


def explained(files: Sequence[xr.Dataset]) -> str:
    """Says for a caption what is drawn beside the measured offsets."""
    known = judged(files) is TRUE
    bounds = "measured offset plus its bound, the most that the error can be; true errors are not known between nodes"
    return ("the true error, computed from the clocks that were made" if known else bounds) + sampled(files)


def sampled(files: Sequence[xr.Dataset]) -> str:
    """Says for a caption where not all ranks were measured; empty: all were."""
    found = {
        data.sizes["rank"]: int(data["checked"].sum())
        for data in files
        if "checked" in data and int(data["checked"].sum()) < data.sizes["rank"] - 1
    }
    parts = [f"{count} of {ranks} ranks" for ranks, count in sorted(found.items())]
    return f"; offsets are measured to a sample, {', '.join(parts)}, drawn from the upper half" if parts else ""


def within(files: Sequence[xr.Dataset]) -> str:
    """Says how exactly errors are known; empty: they are true errors."""
    if judged(files) is TRUE:
        return ""
    bounds = np.concatenate([data["offset_bound"].to_numpy()[..., 1:].ravel() for data in files]) * MICROSECONDS
    return f"the error of each is known to within {np.nanmedian(bounds):.3g} us (median bound)"


def on_cores(results: Results, counts: Sequence[int]) -> list[int]:
    """Returns the numbers of ranks with a core each, or all if none has."""
    return [ranks for ranks in counts if not results.site.crowded(ranks)] or list(counts)


REPETITIONS = 50


@dataclass(frozen=True)
class Hca3:
    """The paper's scheme over numbers of processes: how long it takes, or how exact it is (Schuchart 2023).

    Attributes:
        accuracy: whether errors are shown, not durations.
    """

    accuracy: bool = False

    def runs(self, site: Site) -> tuple[Run, ...]:
        count = site.repetitions(REPETITIONS)
        return tuple(
            clock_run(site, ranks, "hca3_offset", count, seconds=3 if site.crowded(ranks) else 0.5)
            for ranks in site.counts
        )

    def facts(self, results: Results) -> Facts:
        return self.errors(results) if self.accuracy else self.durations(results)

    def durations(self, results: Results) -> Facts:
        """Returns median durations in us of launches, and the share of a second that they are."""
        found = {
            results.run(label).ranks: np.array([float(np.median(one["duration"])) for one in results.datasets(label)])
            for label in results.have()
        }
        kept = on_cores(results, list(found))
        one_has_cores = not results.site.crowded(min(found))
        crowding = results.crowding(results.site.full)
        return Facts(
            {
                "duration": {
                    f"{ranks} ranks": Measure(found[ranks] * MICROSECONDS, " us")
                    for ranks in (kept if one_has_cores else [])
                },
                "share_of_a_second": {f"{ranks} ranks": Measure(found[ranks], obstacle=crowding) for ranks in kept},
            }
        )

    def errors(self, results: Results) -> Facts:
        """Returns mean and largest errors in us of launches."""
        kind, note = judged(all_files(results)), within(all_files(results))
        means: dict[int, list[float]] = {}
        largest: dict[int, list[float]] = {}
        outside = 0
        for label in results.have():
            ranks, files = results.run(label).ranks, results.datasets(label)
            launches = [one for data in files if len(one := kind.pooled([data]))]
            means[ranks] = [float(one.mean()) for one in launches]
            largest[ranks] = [float(one.max()) for one in launches]
            bounds = np.concatenate([data["error_bound"].to_numpy()[..., 1:].ravel() for data in files])
            outside += int((kind.pooled(files) > bounds * MICROSECONDS).sum()) if kind is TRUE else 0
        # An exchange of ranks that share a core takes as long as they wait for it.
        kept, crowding = on_cores(results, list(means)), results.crowding(results.site.full)

        def each(values: Mapping[int, list[float]]) -> dict[str, Measure]:
            return {f"{ranks} ranks": Measure(values[ranks], " us", obstacle=crowding, note=note) for ranks in kept}

        beyond = {"errors_beyond_their_bounds": Measure([outside])} if kind is TRUE else {}
        return Facts({"mean": each(means), "largest": each(largest), **beyond}, {"kind": kind.words})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        count, everything = results.site.repetitions(REPETITIONS), all_files(results)
        parts = [(str(results.run(label).ranks), results.datasets(label)) for label in results.have()]
        if self.accuracy:
            boxes = [Box(ranks, one.title, one.pooled(files)) for ranks, files in parts for one in shown(everything)]
            caption = (
                f"Absolute offset of every rank's global clock to rank 0's directly after each of {count} "
                "synchronizations, all launches together: measured by ping-pong, the smallest of ten as the papers do, "
                f"and beside it {explained(everything)}. The paper checks 1 % of the processes in 20 repetitions."
            )
            panel = BoxPanel(boxes, "number of processes", "offset [us]")
            return (draw_boxes(name, "Synchronization accuracy", caption, [panel]),)
        boxes = [
            Box(ranks, "hca3_offset", np.concatenate([data["duration"].to_numpy().ravel() for data in files]) * 1e3)
            for ranks, files in parts
        ]
        whose = (
            "Every rank has a clock of its own, as if it were a node."
            if results.site.made_clocks
            else "Clocks are those of the nodes, over all of which ranks are spread."
        )
        caption = (
            f"{count} synchronizations in each launch by hca3_offset, the paper's scheme, all launches together; "
            f"largest over ranks. {whose} The first synchronization of a launch, which sets up connections, is not "
            "among them; in the paper it is, and is the outlier."
        )
        panel = BoxPanel(boxes, "number of processes", "duration [ms]")
        return (draw_boxes(name, "Duration of clock synchronization", caption, [panel]),)


# The same estimator in both, so that nothing but the order of the pairs differs.
LINEAR, TREE = "skampi(offset=netgauge)", "netgauge"
NAMES = {LINEAR: "linear", TREE: "tree (netgauge)"}
TREE_EXCHANGES = 600  # of a rank in both schemes: Netgauge measures until 100 in a row were no shorter
MILLISECONDS = 1e3  # per second


def steps(ranks: int) -> int:
    """Returns after how many steps a tree has reached so many ranks."""
    return int(np.ceil(np.log2(ranks)))


@dataclass(frozen=True)
class LineAndTree:
    """How long synchronization takes one by one and in a tree, and what it costs the busiest process (Hoefler 2008)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        return tuple(
            clock_run(
                site,
                ranks,
                f"{LINEAR},{TREE}",
                site.repetitions(30),
                seconds=3.0 if site.crowded(ranks) else 0.5,
                clocks="offset=1e-3,skew=8e-6,seed=8",
                exchanges=TREE_EXCHANGES,
            )
            for ranks in site.counts
        )

    def costs(self, results: Results) -> dict[int, dict[str, tuple[Floats, Floats]]]:
        """Returns durations in ms and messages of the busiest process, medians of launches, by ranks and scheme."""
        found: dict[int, dict[str, tuple[Floats, Floats]]] = {}
        for label in results.have():
            files = results.datasets(label)
            schemes = [str(name) for name in files[0]["scheme"].to_numpy()]
            for scheme in NAMES:
                at = schemes.index(scheme)
                durations = np.array([float(np.median(data["duration"].to_numpy()[at])) for data in files])
                messages = np.array([float(data["messages_median"].to_numpy()[at]) for data in files])
                found.setdefault(results.run(label).ranks, {})[scheme] = durations * MILLISECONDS, messages
        return found

    def facts(self, results: Results) -> Facts:
        measures: dict[str, dict[int, Measure]] = {}
        words = {}
        for ranks, by_scheme in self.costs(results).items():
            suffix = "_on_2" if ranks == 2 else ""  # where the schemes are one and the same
            for name, scheme in (("line", LINEAR), ("tree", TREE)):
                durations, messages = by_scheme[scheme]
                timed = Measure(durations, " ms", obstacle=results.crowding(ranks))
                measures.setdefault(f"{name}{suffix}", {})[ranks] = timed
                measures.setdefault(f"messages_in_the_{name}{suffix}", {})[ranks] = Measure(messages)
            words[ranks] = {"ranks": ranks, "steps": steps(ranks), "others": ranks - 1}
        return Facts(measures, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        found = self.costs(results)
        series = [
            median_series(words, list(found), [found[ranks][scheme][0] for ranks in found], position)
            for position, (scheme, words) in enumerate(NAMES.items())
        ]
        whose = "every rank has a clock of its own" if results.site.made_clocks else "clocks are those of the nodes"
        caption = (
            "Largest duration over ranks; median over launches of the launches' medians, bars: smallest to largest "
            f"launch. Both schemes take offsets by Netgauge's estimator; {whose}."
        )
        panel = Panel(series, "number of processes", "duration [ms]", log_x=True)
        title = "Duration of clock synchronization, one by one and in a tree"
        return (draw_panels(name, title, caption, [panel]),)


FEW = 8  # processes, on up to which the text speaks of 0.2 us
PER_NODE = 16  # processes, in part (b)
SCHEMES = ("skampi", "netgauge", "jk", "hca")
# Directly after a synchronization it does not matter how long the fit spans.
SHORT_SCHEMES = "skampi,netgauge,jk(over=0.2),hca(over=0.2)"
# In a simulation each exchange takes time, and none is disturbed by a busy processor: fewer do.
SIMULATED_FIT = "fit=100,offset=mean_rtt(exchanges=10)"
SIMULATED_SCHEMES = f"skampi,netgauge,jk({SIMULATED_FIT},over=1),hca({SIMULATED_FIT},over=1)"
SIMULATED_EXCHANGES = 2300  # of a rank: two fits, and what comes before them
NODES = "nodes-"  # begins the labels of the runs of part (b)
UNPAIRED = "on two ranks a tree is one pair, as skampi's; more need a core each"


def schemes_run(site: Site, ranks: int, schemes: str, waits: str, repetitions: int, seconds: float) -> Run:
    """Returns the run of some schemes, with the seconds that a repetition takes."""
    few = 1 if site.quick else repetitions
    return clock_run(site, ranks, schemes, few, seconds=few * seconds, waits=waits, exchanges=SIMULATED_EXCHANGES)


def largest_offsets(files: Sequence[xr.Dataset], kind: ErrorKind) -> dict[str, Floats]:
    """Returns the largest error over ranks, in us, by scheme: shape (waits, launches, repetitions)."""
    parts: dict[str, list[Floats]] = {}
    for data in files:
        values = np.nanmax(kind.of(data)[..., 1:], axis=3) * MICROSECONDS
        for position, scheme in enumerate(map(str, data["scheme"].to_numpy())):
            parts.setdefault(scheme, []).append(values[position].T)
    return {scheme: np.stack(launches, axis=1) for scheme, launches in parts.items()}


def scheme_name(scheme: str) -> str:
    """Returns a scheme without its parameters."""
    return scheme.partition("(")[0]


def last_errors(files: Sequence[xr.Dataset], kind: ErrorKind) -> dict[str, Floats]:
    """Returns the errors after the last wait, median of each launch in us, by scheme with its parameters."""
    return {scheme: np.median(values[-1], axis=1) for scheme, values in largest_offsets(files, kind).items()}


@dataclass(frozen=True)
class Offsets:
    """Clock offsets directly after synchronization (Hunold 2015, Fig. 8).

    Part (a) has a process for each clock, (b) several.
    """

    def runs(self, site: Site) -> tuple[Run, ...]:
        # As in the paper every process of (b) is synchronized by itself.
        each = {"DOWNBEAT_SHARE": "never"}
        schemes = SIMULATED_SCHEMES if site.simulated else SHORT_SCHEMES
        runs = [schemes_run(site, ranks, schemes, "0", 5, 0.5 * ranks) for ranks in site.counts]
        if not site.made_clocks:
            return tuple(
                replace(run, label=f"{NODES}{run.label}", variables=each) if run.ranks > site.nodes > 0 else run
                for run in runs
            )
        several = [
            replace(
                run,
                label=f"{NODES}{run.label}",
                variables=made(site, f"{CLOCKS},ranks_per_clock={min(PER_NODE, run.ranks // 2)}") | each,
            )
            for run in runs
            if run.ranks >= 4
        ]
        return (*runs, *several)

    def part(self, results: Results, shared: bool, kind: ErrorKind, ranks: int) -> dict[str, Floats]:
        """Returns errors in us of launches by scheme, in part (a) or (b) on so many ranks."""
        return {
            scheme_name(scheme): np.median(values[0], axis=1)
            for label in results.have()
            if label.startswith(NODES) is shared and results.run(label).ranks == ranks
            for scheme, values in largest_offsets(results.datasets(label), kind).items()
        }

    def facts(self, results: Results) -> Facts:
        everything = all_files(results)
        kind, note = judged(everything), within(everything)
        alone, shared = (
            [run.ranks for run in results.runs if run.label.startswith(NODES) is part and not run.crowded(results.site)]
            for part in (False, True)
        )
        few = max((ranks for ranks in alone if ranks <= FEW), default=0)
        exact = self.part(results, False, shown(everything)[0], few)
        crowding = results.crowding(few)
        measures: dict[str, Measured] = {
            "measured_offset": {
                f"{name} on {few} ranks": Measure(exact[name], " us", obstacle=crowding)
                for name in ("skampi", "netgauge")
                if name in exact
            }
            or missing(),
        }
        for part, counts, least in ((False, alone, {"skampi", "netgauge"}), (True, shared, set(SCHEMES))):
            suffix = "_b" if part else ""
            ranks = max(counts, default=0)
            errors = self.part(results, part, kind, ranks)
            # Every scheme of part (b) is compared with skampi.
            seen = ranks > 2 and least <= set(errors)
            for name in SCHEMES:
                there = seen and name in errors
                measures[name + suffix] = Measure(errors[name], " us", note=note) if there else missing(UNPAIRED)
            measures[f"others{suffix}"] = (
                {name: Measure(errors[name], " us", note=note) for name in errors if name != "skampi"}
                if seen
                else missing(UNPAIRED)
            )
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        everything = all_files(results)
        most_per_clock = f"up to {PER_NODE}" if results.site.made_clocks else "several"
        panels = []
        for kind in shown(everything):
            for shared, part in ((False, "(a) a clock each"), (True, f"(b) {most_per_clock} per clock")):
                boxes = [
                    Box(str(results.run(label).ranks), scheme_name(scheme), values[0].ravel())
                    for label in results.have()
                    if label.startswith(NODES) is shared
                    for scheme, values in largest_offsets(results.datasets(label), kind).items()
                ]
                title = f"{part}: {kind.title}"
                if boxes:
                    panels.append(
                        BoxPanel(boxes, "number of processes", "largest clock offset [us]", title, log_y=True)
                    )
        caption = (
            "Largest absolute offset over ranks, five synchronizations in each launch, all launches together. Measured "
            "as in the paper: of ten offsets by ping-pong the smallest, the largest over ranks; and beside it "
            f"{explained(everything)}."
        )
        return (draw_boxes(name, "Clock offset directly after synchronization", caption, panels),)


@dataclass(frozen=True)
class OffsetsLater:
    """Clock offsets some time after synchronization (Hunold 2015, Fig. 9)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        waits = "0,0.2" if site.quick else "0,2,4,6,8,10"
        schemes = SIMULATED_SCHEMES if site.simulated else ",".join(SCHEMES)
        return (schemes_run(site, site.full, schemes, waits, 1, 18.0),)

    def facts(self, results: Results) -> Facts:
        files = all_files(results)
        kind = judged(files)
        last = {scheme_name(scheme): values for scheme, values in last_errors(files, kind).items()}
        pairs = [(one, other) for one in ("jk", "hca") for other in ("skampi", "netgauge")]
        fitted, plain = (
            {
                f"{pair[0]} and {pair[1]}": Measure(last[pair[side]], " us", note=within(files))
                for pair in pairs
                if set(pair) <= set(last)
            }
            for side in (0, 1)
        )
        wait = f"{files[0]['wait'].to_numpy()[-1]:g}"
        return Facts({"with_a_fit": fitted, "without": plain}, {"kind": kind.words, "wait": wait})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        files = all_files(results)
        waits = files[0]["wait"].to_numpy()
        panels = [
            Panel(
                [
                    median_series(scheme_name(scheme), waits, list(values.reshape(len(waits), -1)), position)
                    for position, (scheme, values) in enumerate(largest_offsets(files, kind).items())
                ],
                "time after synchronization [s]",
                "largest clock offset [us]",
                kind.title,
            )
            for kind in shown(files)
        ]
        caption = (
            "Largest absolute offset over ranks; median, smallest and largest of all synchronizations of all launches. "
            f"Left as in the paper, right {explained(files)}."
        )
        return (draw_panels(name, "Clock offset some time after synchronization", caption, panels),)


# The paper's pairs are (fit points, exchanges); over=0 is back to back, as there.
FITS = ((100, 30), (500, 30), (1000, 100))
FITTED = [f"(fit={fit},over=0,offset=mean_rtt(exchanges={exchanges}))" for fit, exchanges in FITS] + [""]
PLAIN = ("skampi", "netgauge")
PARETO = ",".join([*PLAIN, *(f"{scheme}{parameters}" for scheme in ("jk", "hca") for parameters in FITTED)])
# In a simulation no busy processor disturbs an exchange, so fewer do; the last over 1 s.
SIMULATED_FITS = ((20, 10, 0), (100, 10, 0), (100, 30, 0), (100, 10, 1))
SIMULATED_PARETO = ",".join(
    [
        *PLAIN,
        *(
            f"{scheme}(fit={fit},over={over},offset=mean_rtt(exchanges={exchanges}))"
            for scheme in ("jk", "hca")
            for fit, exchanges, over in SIMULATED_FITS
        ),
    ]
)
FAR_OFF = 10.0  # ratio of errors from which on a scheme is called far off; the paper gives no number for the others
QUICK = 1.0  # s


def short_scheme(scheme: str) -> str:
    """Returns a scheme as the paper labels it: jk (100, 30)."""
    name, _, rest = scheme.partition("(")
    numbers = dict(part.split("=", 1) for part in rest.replace("(", ",").replace(")", "").split(",") if "=" in part)
    if not rest:
        return f"{name}, over 1 s" if name in ("jk", "hca") else name
    over = f", over {numbers['over']} s" if numbers.get("over", "0") != "0" else ""
    return f"{name} ({numbers.get('fit', '1000')}, {numbers.get('exchanges', '100')}){over}"


@dataclass(frozen=True)
class Choices:
    """The cost and the error of each scheme, one number per launch.

    Attributes:
        durations: s, by scheme.
        errors: us, some time after, by scheme.
        barriers: us, of MPI_Barrier.
    """

    durations: Mapping[str, Floats]
    errors: Mapping[str, Floats]
    barriers: Floats

    def point(self, scheme: str) -> tuple[float, float]:
        """Returns duration and error, in the median over launches."""
        return float(np.median(self.durations[scheme])), float(np.median(self.errors[scheme]))

    def frontier(self) -> list[str]:
        """Returns the schemes that no other one beats in both, the quickest first."""
        kept: list[str] = []
        for scheme in sorted(self.errors, key=self.point):
            if not kept or self.point(scheme)[1] < self.point(kept[-1])[1]:
                kept.append(scheme)
        return kept


def choices_of(files: Sequence[xr.Dataset], kind: ErrorKind) -> Choices:
    """Returns the medians over the repetitions of each launch, by one way to say how wrong clocks were."""
    schemes = [str(scheme) for scheme in files[0]["scheme"].to_numpy()]
    durations = np.array([np.median(data["duration"].to_numpy(), axis=1) for data in files])
    return Choices(
        {scheme: durations[:, position] for position, scheme in enumerate(schemes)},
        last_errors(files, kind),
        np.array([np.median(data["barrier"].to_numpy()) for data in files]) * MICROSECONDS,
    )


@dataclass(frozen=True)
class Pareto:
    """Clock offset against the duration of synchronization (Hunold 2015, Fig. 10)."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        waits = "0.2" if site.quick else "5"
        if not site.simulated:
            return (schemes_run(site, site.full, PARETO, waits, 2, 9.0),)
        count = 1 if site.quick else 2
        exchanges = 2 * sum(fit * each for fit, each, _ in SIMULATED_FITS)
        return (clock_run(site, site.full, SIMULATED_PARETO, count, seconds=0.0, waits=waits, exchanges=exchanges),)

    def facts(self, results: Results) -> Facts:
        files = all_files(results)
        kind, ranks = judged(files), results.runs[0].ranks
        choices = choices_of(files, kind)
        crowding = results.crowding(ranks)
        durations, errors = choices.durations, choices.errors
        pairs = [
            (one, other)
            for one in errors
            if scheme_name(one) == "jk" and (other := one.replace("jk", "hca", 1)) in errors
        ]
        # A pair is a pair: on two ranks both learn the same, in the same time.
        alike = crowding or ("on 2 ranks both learn the same" if ranks == 2 else "")
        listed = "; ".join(
            f"{short_scheme(one)} {choices.point(one)[0]:.2g} s, {choices.point(one)[1]:.3g} us" for one in errors
        )
        note = f"; {within(files)}" if within(files) else ""
        far_off = Undecidable(crowding) if crowding else far_off_without_a_fit(choices)
        measures: dict[str, Measured] = {
            "quick_and_far_off": Found(far_off, f"{kind.words}: {listed}{note}"),
            "hca": {
                short_scheme(one): Measure(errors[one], " us", obstacle=crowding)
                for one in errors
                if scheme_name(one) == "hca"
            },
            "barrier": Measure(choices.barriers, " us"),
            "error_of_jk_by_hca": Measure(mean_ratio(errors, pairs), obstacle=alike),
            "duration_of_jk_by_hca": Measure(mean_ratio(durations, pairs), obstacle=alike),
            "frontier": Found(None, ", ".join(map(short_scheme, choices.frontier()))),
        }
        return Facts(measures, {"wait": f"{float(files[0]['wait'][-1]):g}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        files = all_files(results)
        wait = float(files[0]["wait"][-1])
        caption = (
            "A point per scheme and (fit points, exchanges); the numbers say which. Median over launches of the "
            f"largest offset over ranks, {wait:g} s after. The steps are the Pareto frontier: no other scheme beats in "
            "both. The horizontal line is the mean duration of MPI_Barrier, the median over repetitions. Left as in "
            f"the paper, right {explained(files)}."
        )
        panels = [pareto_panel(choices_of(files, kind), kind.title, wait) for kind in shown(files)]
        return (draw_panels(name, "Clock offset against the duration of synchronization", caption, panels),)


def far_off_without_a_fit(choices: Choices) -> Evidence:
    """Returns what launches say of the claim that schemes without a fit are quick, and far off beside one with a fit.

    The paper speaks of what fitting schemes reach with any of their parameters. So all are tested, and the claim pays
    for their number: the best of several is chosen by chance, too.
    """
    durations, errors = choices.durations, choices.errors
    plain = [name for name in PLAIN if name in errors]
    quick = [factor_of(durations[name], " s").below(QUICK) for name in plain]
    far = some(
        every(factor_of(errors[name] / errors[one]).above(FAR_OFF) for name in plain)
        for one in errors
        if scheme_name(one) in ("hca", "jk")
    )
    return every((*quick, far))


def mean_ratio(values: Mapping[str, Floats], pairs: Sequence[tuple[str, str]]) -> Floats:
    """Returns the geometric mean over the ratios of some pairs, per launch."""
    return np.asarray(np.exp(np.mean([np.log(values[one] / values[other]) for one, other in pairs], axis=0)))


def pareto_panel(choices: Choices, title: str, wait: float) -> Panel:
    """Returns the points, with the frontier as steps from the quickest scheme to the most exact one."""
    points = {scheme: choices.point(scheme) for scheme in choices.errors}
    series = []
    for number, kind in enumerate(dict.fromkeys(map(scheme_name, points))):
        own = np.array([point for scheme, point in points.items() if scheme_name(scheme) == kind])
        series.append(Series(kind, own[:, 0], own[:, 1], color=number, style="", marker=number))
    steps_ = np.array([points[scheme] for scheme in choices.frontier()])
    series.append(Series("Pareto frontier", steps_[:, 0], steps_[:, 1], color="#888888", style="steps"))
    return Panel(
        series,
        "duration of the synchronization [s]",
        f"clock offset after {wait:g} s [us]",
        title,
        decades_x=True,
        log_y=True,
        line_at=float(np.median(choices.barriers)),
        marks=[(*point, short_scheme(scheme).partition(" ")[2]) for scheme, point in points.items()],
    )
