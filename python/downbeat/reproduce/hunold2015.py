"""The figures of Hunold, Carpen-Amarie: On the Impact of Synchronizing Clocks and Processes on Benchmarking (2015).

On one machine all ranks share a clock, and nothing drifts. Where the figure is about clocks, each rank gets one of its
own by the validation clock (docs/validation.md), within +-8 ppm as real oscillators are, and the true error is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import experiment_run, operation_run
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels, size_text
from downbeat.reproduce.figure import Drawn, Figure, Finding, Run
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.site import MPICH, Site
from downbeat.reproduce.wording import above, between, microseconds

# 20 ppm, the default of max_skew, allow for skews of 8 ppm on either side and wander; 12 ppm between ranks 0 and 1.
CLOCKS = "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"
DRIFTING = {"DOWNBEAT_VALIDATION": CLOCKS}
# As SKaMPI and NBCBench: synchronized once, however long it takes.
ONCE = {**DRIFTING, "DOWNBEAT_MAX_AGE": "1000", "DOWNBEAT_MAX_ERROR": "1"}
TUWIEN = "TUWien, 36 nodes with two Opteron 6134 and InfiniBand QDR"
TWO_CLOCKS = "each rank's clock is made different, within 8 ppm"


# Figures 1, 3, 7 and 11: what a call seems to take, while the clocks drift apart.


@dataclass(frozen=True)
class Curve:
    """A line over time: one way to synchronize, in a run of its own."""

    label: str
    sync: str  # synchronizer of downbeat-bench
    scheme: str  # of the clocks; empty: the default
    colour: int


def over_time_run(site: Site, curve: Curve, operation: str, size: str, repetitions: int, window_us: float) -> Run:
    """Returns the run of a curve; windows that are missed are tried again."""
    usual = site.repetitions(repetitions)
    run = operation_run(
        site,
        curve.label,
        site.main(),
        site.node,
        [operation],
        usual=usual,
        sync=curve.sync,
        options={"sizes": size},
        variables=ONCE | ({"DOWNBEAT_SYNC": curve.scheme} if curve.scheme else {}),
    )
    spread = 2.5 if curve.scheme in ("jk", "hca") else 0.0  # s, that the fit of a drift model takes
    windows = 1.3 * usual * window_us * 1e-6 if curve.sync.startswith("window") else 0.0
    return Run(
        run.label, run.library, run.ranks, run.operations, run.options, run.variables, run.seconds + spread + windows
    )


def binned(results: Results, label: str, metric: str, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns medians of bins of consecutive samples, in us: over launches the median, smallest and largest."""
    rows = []
    for data in results.samples(label, (metric,)):
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // size
        if bins:
            rows.append(np.median(values[: bins * size].reshape(bins, size), axis=1))
    shortest = min((len(row) for row in rows), default=0)
    if not shortest:
        return np.empty(0), np.empty(0), np.empty(0)
    table = np.stack([row[:shortest] for row in rows])
    return np.median(table, axis=0), table.min(axis=0), table.max(axis=0)


def trend(results: Results, label: str, metric: str, size: int) -> list[float]:
    """Returns for each launch by how many us the last quarter of its bins lies above the first."""
    rises = []
    for data in results.samples(label, (metric,)):
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // size
        if bins >= 4:
            medians = np.median(values[: bins * size].reshape(bins, size), axis=1)
            quarter = max(1, bins // 4)
            rises.append(float(np.median(medians[-quarter:]) - np.median(medians[:quarter])))
    return rises


def rise_finding(results: Results, label: str, metric: str, size: int, claim: str, paper: str, rises: bool) -> Finding:
    """Holds against the data that a curve rises, or stays."""
    found = trend(results, label, metric, size)
    if not found:
        return Finding(claim, paper, "too few valid samples", None)
    start = float(binned(results, label, metric, size)[0][0])
    # What is left of a bin's median when nothing drifts: a tenth of the run-time, and steps of the clock.
    border = max(0.1 * start, 0.1)
    here = (
        f"from the first to the last quarter of the run by {np.median(found):.2g} us "
        f"(launches {between(found, ' us')}), beside {microseconds(start)} in the first bin"
    )
    if rises:
        return Finding(claim, paper, here, above(min(found), max(found), border))
    still = max(abs(rise) for rise in found) <= border
    return Finding(claim, paper, here, still)


BIN_CAPTION = (
    "Medians of bins of {size} consecutive samples; median over launches, bars: smallest to largest launch. The "
    "paper's bins "
    "are means, which one interruption by the system moves. "
)


def curve_series(results: Results, curves: Sequence[Curve], metric: str, size: int, suffix: str = "") -> list[Series]:
    """Returns the lines of curves over the number of the bin."""
    series = []
    for curve in curves:
        if curve.label not in results.have():
            continue
        middle, low, high = binned(results, curve.label, metric, size)
        if not len(middle):
            continue
        series.append(
            Series(curve.label + suffix, np.arange(1, len(middle) + 1), middle, low, high, curve.colour, "-", None)
        )
    return series


# Figure 1.

BCAST_CURVES = (
    Curve("fixed", "window(size=200us,growth=1)", "skampi", 0),
    Curve("adaptive", "window(size=10us,growth=2)", "skampi", 1),
)
SKAMPI_SAMPLES = 15000
SKAMPI_BIN = 1000


def skampi_runs(site: Site) -> tuple[Run, ...]:
    return tuple(over_time_run(site, one, "bcast", "8K", SKAMPI_SAMPLES, 200.0) for one in BCAST_CURVES)


def bin_of(site: Site, size: int, samples: int) -> int:
    """Returns the size of bins, smaller where few samples were taken."""
    return max(1, size * site.repetitions(samples) // samples)


def draw_skampi(results: Results) -> Drawn:
    size = bin_of(results.site, SKAMPI_BIN, SKAMPI_SAMPLES)
    picture = draw_panels(
        "hunold2015-fig1",
        "Run-time of MPI_Bcast of 8192 bytes in windows, over time",
        BIN_CAPTION.format(size=size)
        + "Run-time: first entry to last exit on the global clock, which was synchronized "
        "once, without drift.",
        [
            Panel(
                curve_series(results, BCAST_CURVES, "global_time", size),
                f"bin of {size} samples",
                "run-time [us]",
            )
        ],
    )
    claim = "{} windows: the run-time rises, for the clocks drift apart"
    findings = [
        rise_finding(results, one.label, "global_time", size, claim.format(one.label), "rises steadily", True)
        for one in BCAST_CURVES
        if one.label in results.have()
    ]
    rises = {one.label: trend(results, one.label, "global_time", size) for one in BCAST_CURVES}
    if all(rises.values()):
        fixed, adaptive = (float(np.median(rises[one.label])) for one in BCAST_CURVES)
        findings.append(
            Finding(
                "with fixed windows it rises more, since the run takes longer",
                "150.43 s in fixed windows of 1 ms, 54.12 s in adaptive ones, for 150,000 measurements",
                f"by {fixed:.2g} us in fixed windows of 200 us, {adaptive:.2g} us in adaptive ones",
                fixed > adaptive,
            )
        )
    return Drawn((picture,), tuple(findings))


# Figure 3.

ALLREDUCE_SAMPLES = 4000
ALLREDUCE_BIN = 100
ALLREDUCE_CURVES = (
    Curve("window", "window", "hca", 0),
    Curve("mpi_barrier", "mpi_barrier", "hca", 1),
)


def allreduce_runs(site: Site) -> tuple[Run, ...]:
    return tuple(over_time_run(site, one, "allreduce", "32K", ALLREDUCE_SAMPLES, 40.0) for one in ALLREDUCE_CURVES)


def draw_allreduce(results: Results) -> Drawn:
    size = bin_of(results.site, ALLREDUCE_BIN, ALLREDUCE_SAMPLES)
    window, barrier = ALLREDUCE_CURVES
    label = f"bin of {size} samples"
    window_series = curve_series(results, (window,), "global_time", size)
    panels = [
        Panel(
            [*window_series, *curve_series(results, (barrier,), "latency_max", size)],
            label,
            "run-time [us]",
            "barrier: largest local time",
        ),
        Panel(
            [*window_series, *curve_series(results, (barrier,), "global_time", size)],
            label,
            "run-time [us]",
            "barrier: global time",
        ),
    ]
    picture = draw_panels(
        "hunold2015-fig3",
        "Run-time of MPI_Allreduce of 32 KiB, two ways to compute it",
        BIN_CAPTION.format(size=size)
        + "Left: behind the barrier the largest time that a rank measured for itself; right: "
        "first entry to last exit on the global clock (HCA). In windows it is the latter in both.",
        panels,
    )
    middles = {
        (curve.label, metric): float(np.median(binned(results, curve.label, metric, size)[0]))
        for curve in ALLREDUCE_CURVES
        for metric in ("latency_max", "global_time")
        if curve.label in results.have() and len(binned(results, curve.label, metric, size)[0])
    }
    claim = "by local times the barrier makes the call look faster than in windows"
    findings = [Finding(claim, "about 70 us behind the barrier, 100 us in windows", "too few valid samples", None)]
    if len(middles) == 4:
        local = middles["mpi_barrier", "latency_max"] / middles["window", "global_time"]
        common = middles["mpi_barrier", "global_time"] / middles["window", "global_time"]
        findings = [
            Finding(
                claim,
                "about 70 us behind the barrier, 100 us in windows",
                f"{microseconds(middles['mpi_barrier', 'latency_max'])} and "
                f"{microseconds(middles['window', 'global_time'])}",
                local < 0.95,
            ),
            Finding(
                "by global times both are much closer",
                "their difference can be explained by how they synchronize",
                f"barrier / window {local:.3f} by local times, {common:.3f} by global ones",
                abs(common - 1) < abs(local - 1) if abs(local - 1) > 0.05 else None,
            ),
        ]
    return Drawn((picture,), tuple(findings))


# Figure 4.


def two_libraries(site: Site) -> list[tuple[str, str]]:
    """Returns Intel MPI and what stands for MVAPICH, as far as they are there, with their labels; else one library."""
    found = [
        (name, label)
        for name, label in (
            ("intelmpi" if "intelmpi" in site.benches else None, "Intel MPI"),
            (site.first_of(MPICH), "MPICH (for MVAPICH)"),
        )
        if name
    ]
    return found or [(site.main(), site.main())]


def exit_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            library,
            library,
            site.node,
            "skew",
            {"sync": "mpi_barrier", "repetitions": str(site.repetitions(1000)), "seed": "1"},
            seconds=1.5,
            variables={**DRIFTING, "DOWNBEAT_SYNC": "hca"},
        )
        for library, _ in two_libraries(site)
    )


def draw_exits(results: Results) -> Drawn:
    labels = dict(two_libraries(results.site))
    panels: list[Panel] = []
    spreads = {}
    for label in results.have():
        means, halves = (
            np.stack([data[name].to_numpy()[0] for data in results.datasets(label)]) * MICROSECONDS
            for name in ("exit_mean", "exit_half")
        )
        middle = len(means) // 2
        chosen = int(np.argsort(np.ptp(means, axis=1))[middle])  # one launch, as in the paper: the middle one
        mean, half = means[chosen], halves[chosen]
        ranks = np.arange(len(mean))
        panels.append(
            Panel(
                [Series("", ranks, mean, mean - half, mean + half, len(panels), "", 0)],
                "rank",
                "exit after the first [us]",
                labels[label],
            )
        )
        spreads[labels[label]] = float(np.ptp(mean))
    picture = draw_panels(
        "hunold2015-fig4",
        "When each rank leaves MPI_Barrier",
        "Mean over the calls of a launch of the time after the rank that left first, on clocks synchronized by HCA, "
        "with the "
        "95 % interval of the mean; of the launches the one with the middle spread.",
        panels,
    )
    told = ", ".join(f"{name} {microseconds(value)}" for name, value in spreads.items())
    findings = [
        Finding(
            "libraries leave different exit patterns",
            "MVAPICH 2.0a: ranks 0 and 15 more than 40 us apart in the mean; Intel MPI 5: no such skew",
            f"largest difference of mean exits: {told}",
            None if len(spreads) < 2 else max(spreads.values()) > 2 * min(spreads.values()),
        )
    ]
    return Drawn((picture,), tuple(findings))


# Figure 5.

LIBRARY_SIZES = "64,256,1K,2K,8K,32K"
OWN, THEIRS = "bruck", "mpi_barrier"  # bruck is the dissemination barrier


def library_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(
            site,
            library,
            library,
            site.node,
            ["bcast"],
            usual=1000,
            sync=f"{OWN},{THEIRS}",
            options={"sizes": LIBRARY_SIZES},
            factors=1 + LIBRARY_SIZES.count(","),
        )
        for library, _ in two_libraries(site)
    )


def draw_libraries(results: Results) -> Drawn:
    labels = dict(two_libraries(results.site))
    cells = results.cells
    base = list(labels)[-1]
    panels = []
    gaps: dict[str, list[float]] = {}
    for synchronizer, title in ((OWN, "external dissemination barrier"), (THEIRS, "MPI_Barrier")):
        part = cells[cells["synchronizer"] == synchronizer]
        medians = over_launches(part, ("library", "size"), "latency_max_median", 1.0).set_index(["library", "size"])
        boxes = []
        for size in sorted(part["size"].unique()):
            for library, label in labels.items():
                rows = part[(part["library"] == library) & (part["size"] == size)]
                if len(rows) and (base, size) in medians.index:
                    values = rows["latency_max_median"].to_numpy() / medians.loc[(base, size), "median"]
                    boxes.append(Box(size_text(size), label, values))
                    if library != base and size <= 2048:
                        gaps.setdefault(synchronizer, []).append(float(np.median(values)))
        panels.append(BoxPanel(boxes, "message size [bytes]", "normalized run-time", title))
    picture = draw_boxes(
        "hunold2015-fig5",
        "Run-time of MPI_Bcast under two libraries, normalized",
        f"Medians of the launches (largest latency over ranks), divided by the median over launches of {labels[base]} "
        "at the "
        "same size and behind the same barrier.",
        panels,
    )
    findings = []
    if len(gaps) == 2:
        apart = {name: float(np.mean(np.log(values))) for name, values in gaps.items()}
        findings.append(
            Finding(
                "the choice of the barrier changes how the libraries compare (64 to 2048 bytes)",
                "no clear winner behind the benchmark's own barrier, a significant difference behind MPI_Barrier",
                f"Intel MPI / MPICH {between(gaps[OWN])} behind bruck, {between(gaps[THEIRS])} behind MPI_Barrier",
                abs(apart[THEIRS] - apart[OWN]) > np.log(1.1),
            )
        )
    return Drawn((picture,), tuple(findings))


# Figure 6.

DRIFT_SECONDS = 20.0


def drift_runs(site: Site) -> tuple[Run, ...]:
    pairs = ",".join(f"0:{rank}" for rank in range(1, min(site.most, 7)))
    seconds = 1.0 if site.quick else DRIFT_SECONDS
    return (
        experiment_run(
            "drift",
            site.main(),
            site.most,
            "drift",
            {"pairs": pairs, "duration": f"{seconds:g}", "interval": "0.25"},
            seconds=seconds,
            variables=DRIFTING,
            most_launches=1,
        ),
    )


def drift_lines(results: Results, variable: str, scale: float) -> list[Series]:
    """Returns a line for each pair of the first launch."""
    data = results.datasets("drift")[0]
    return [
        Series(
            f"rank {int(answerer)}",
            data["time"].to_numpy(),
            data[variable].to_numpy()[position] * scale,
            colour=position,
        )
        for position, answerer in enumerate(data["answerer"].to_numpy())
    ]


def draw_drift(results: Results) -> Drawn:
    data = results.datasets("drift")[0]
    seconds = float(data["duration"].max())
    picture = draw_panels(
        "hunold2015-fig6",
        "Clock drift between rank 0 and other ranks",
        "Offset of a rank's local clock to rank 0's, less the first offset. The clocks are the validation clock's: "
        "nothing "
        "but their drift is made.",
        [Panel(drift_lines(results, "drift", MICROSECONDS), "time [s]", "clock drift [us]")],
    )
    largest = float(np.abs(data["drift"].to_numpy()).max()) * MICROSECONDS
    residual = float(data["residual_max"].max()) * MICROSECONDS
    findings = [
        Finding(
            "clocks drift by far more than a call takes, within seconds",
            "up to 700 us between two hosts (-400 and +300 us) after 50 s, 14 ppm",
            f"up to {microseconds(largest)} after {seconds:.0f} s, {largest / seconds:.1f} ppm; made, not found",
            largest > 1,
        ),
        Finding(
            "the drift is linear over such a time",
            "straight lines",
            f"largest distance from a line {microseconds(residual)}",
            residual < 0.1 * largest,
        ),
    ]
    return Drawn((picture,), tuple(findings))


# Figure 7.

WINDOW = "window(size=300us,growth=1)"
RUN_SAMPLES = 4000
RUN_BIN = 100
SCHEME_CURVES = (
    Curve("netgauge", WINDOW, "netgauge", 0),
    Curve("skampi", WINDOW, "skampi", 2),
    Curve("mpi_barrier", "mpi_barrier", "", 1),
)
SCAN_CURVES = (
    *SCHEME_CURVES[:2],
    Curve("jk", WINDOW, "jk", 3),
    Curve("hca", WINDOW, "hca", 4),
    SCHEME_CURVES[2],
)


def scheme_runs(curves: Sequence[Curve], operation: str) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        return tuple(over_time_run(site, one, operation, "8K", RUN_SAMPLES, 300.0) for one in curves)

    return runs


def draw_schemes(name: str, curves: Sequence[Curve], operation: str) -> Callable[[Results], Drawn]:
    def draw(results: Results) -> Drawn:
        size = bin_of(results.site, RUN_BIN, RUN_SAMPLES)
        metrics = {one.label: "global_time" if one.scheme else "latency_max" for one in curves}
        series = [line for one in curves for line in curve_series(results, (one,), metrics[one.label], size)]
        picture = draw_panels(
            name,
            f"Run-time of MPI_{operation.capitalize()} of 8192 bytes over time",
            BIN_CAPTION.format(size=size)
            + "Run-time: first entry to last exit on the global clock of the named scheme, which "
            "is synchronized once; windows of 300 us. Behind mpi_barrier, which needs no clock, the largest time "
            "that a rank measured for itself.",
            [Panel(series, f"bin of {size} samples", "run-time [us]")],
        )
        findings = []
        for one in curves:
            if one.label not in results.have():
                continue
            if one.scheme in ("netgauge", "skampi"):
                claim, paper, rises = f"windows by {one.label}: the run-time rises", "rises steadily", True
            elif one.scheme:
                claim, paper, rises = f"windows by {one.label}: the run-time stays", "stable", False
            else:
                claim, paper, rises = "behind MPI_Barrier the run-time stays", "stable", False
            findings.append(rise_finding(results, one.label, metrics[one.label], size, claim, paper, rises))
        return Drawn((picture,), tuple(findings))

    return draw


# Figures 8, 9 and 10: schemes.

SCHEMES = "skampi,netgauge,jk,hca"
# Directly after a synchronization it does not matter how long the fit spans.
SHORT_SCHEMES = "skampi,netgauge,jk(over=0.2),hca(over=0.2)"


def clock_run(site: Site, ranks: int, schemes: str, waits: str, repetitions: int, seconds: float) -> Run:
    few = 1 if site.quick else repetitions
    return experiment_run(
        f"n{ranks}",
        site.main(),
        ranks,
        "clock",
        {"schemes": schemes, "waits": waits, "repetitions": str(few), "seed": "1"},
        seconds=few * seconds,
        variables=DRIFTING,
    )


def offset_runs(site: Site) -> tuple[Run, ...]:
    return tuple(clock_run(site, ranks, SHORT_SCHEMES, "0", 5, 0.5 * ranks) for ranks in site.counts)


def largest_offsets(results: Results, label: str, variable: str) -> dict[str, np.ndarray]:
    """Returns the largest absolute offset over ranks, in us, by scheme: shape (waits, launches x repetitions)."""
    parts: dict[str, list[np.ndarray]] = {}
    for data in results.datasets(label):
        for position, scheme in enumerate(data["scheme"].to_numpy()):
            values = np.nanmax(np.abs(data[variable].to_numpy()[position, :, :, 1:]), axis=2)
            parts.setdefault(str(scheme), []).append(values.T * MICROSECONDS)
    return {scheme: np.concatenate(values, axis=1) for scheme, values in parts.items()}


def draw_offsets(results: Results) -> Drawn:
    panels = []
    medians: dict[tuple[str, str, int], float] = {}
    for variable, title in (("offset", "measured, smallest of ten"), ("true_error", "true error")):
        boxes = []
        for label in results.have():
            ranks = results.run(label).ranks
            for scheme, values in largest_offsets(results, label, variable).items():
                name = scheme.partition("(")[0]
                boxes.append(Box(str(ranks), name, values[0]))
                medians[variable, name, ranks] = float(np.median(values[0]))
        panels.append(BoxPanel(boxes, "number of processes", "largest clock offset [us]", title, log_y=True))
    picture = draw_boxes(
        "hunold2015-fig8",
        "Clock offset directly after synchronization",
        "Largest absolute offset over ranks, five synchronizations in each launch, all launches together. Left as in "
        "the "
        "paper: of ten offsets measured by ping-pong the smallest, the largest over ranks. Right, computed: the true "
        "error.",
        panels,
    )
    node, most = results.site.node, results.site.most
    offset_only = [
        medians["offset", scheme, node] for scheme in ("skampi", "netgauge") if ("offset", scheme, node) in medians
    ]
    findings = [
        Finding(
            "skampi and netgauge are very exact at first",
            "at most 0.2 us on up to 8 nodes",
            f"measured medians {between(offset_only, ' us')} on {node} ranks",
            bool(offset_only) and max(offset_only) < 0.2,
        )
    ]
    keys = [("true_error", scheme, most) for scheme in ("netgauge", "skampi")]
    if most > 2 and all(key in medians for key in keys):
        netgauge, skampi = (medians[key] for key in keys)
        findings.append(
            Finding(
                "netgauge, which adds offsets up in a tree, becomes worse than skampi as processes are added",
                "the worst of all from 256 processes on",
                f"true errors on {most} ranks: netgauge {microseconds(netgauge)}, skampi {microseconds(skampi)}",
                None if results.site.crowded(most) else netgauge > skampi,
            )
        )
    return Drawn((picture,), tuple(findings))


WAITS = "0,2,4,6,8,10"


def wait_runs(site: Site) -> tuple[Run, ...]:
    waits = "0,0.2" if site.quick else WAITS
    return (clock_run(site, site.node, SCHEMES, waits, 1, 18.0),)


def draw_waits(results: Results) -> Drawn:
    label = results.have()[0]
    waits = results.datasets(label)[0]["wait"].to_numpy()
    panels = []
    growth: dict[str, float] = {}
    for variable, title in (("offset", "measured, smallest of ten"), ("true_error", "true error")):
        series = []
        for position, (scheme, values) in enumerate(largest_offsets(results, label, variable).items()):
            series.append(
                Series(
                    scheme,
                    waits,
                    np.median(values, axis=1),
                    values.min(axis=1),
                    values.max(axis=1),
                    position,
                    "-",
                    position,
                )
            )
            growth[scheme] = float(np.median(values[-1]))
        panels.append(Panel(series, "time after synchronization [s]", "largest clock offset [us]", title))
    picture = draw_panels(
        "hunold2015-fig9",
        "Clock offset some time after synchronization",
        "Largest absolute offset over ranks; median, smallest and largest of all synchronizations of all launches. "
        "Left as in "
        "the paper, right the true error, computed.",
        panels,
    )
    plain = [growth[name] for name in ("skampi", "netgauge") if name in growth]
    fitted = [growth[name] for name in ("jk", "hca") if name in growth]
    findings = (
        Finding(
            "schemes that fit the drift, jk and hca, are far superior to those that do not, after seconds",
            "largely superior over 20 s",
            f"true errors after {waits[-1]:g} s: jk and hca {between(fitted, ' us')}, skampi and netgauge "
            f"{between(plain, ' us')}",
            max(fitted) < 0.5 * min(plain),
        ),
    )
    return Drawn((picture,), findings)


# The paper's pairs are (fit points, exchanges); over=0 is back to back, as there.
FITS = ((100, 30), (500, 30), (1000, 100))
PARETO = ",".join(
    [
        "skampi",
        "netgauge",
        *(
            f"{scheme}(fit={fit},over=0,offset=mean_rtt(exchanges={exchanges}))"
            for scheme in ("jk", "hca")
            for fit, exchanges in FITS
        ),
        "jk",
        "hca",
    ]
)
PARETO_WAIT = 5.0


def pareto_runs(site: Site) -> tuple[Run, ...]:
    return (clock_run(site, site.node, PARETO, "0.2" if site.quick else f"{PARETO_WAIT:g}", 2, 9.0),)


def short_scheme(scheme: str) -> str:
    """Returns a scheme as the paper labels it: jk (100, 30)."""
    name, _, rest = scheme.partition("(")
    numbers = dict(part.split("=", 1) for part in rest.replace("(", ",").replace(")", "").split(",") if "=" in part)
    if not rest:
        return f"{name}, over 1 s" if name in ("jk", "hca") else name
    return f"{name} ({numbers.get('fit', '1000')}, {numbers.get('exchanges', '100')})"


def parameters(scheme: str) -> str:
    """Returns fit points and exchanges of a scheme, as the paper writes them."""
    return short_scheme(scheme).partition(" ")[2]


def draw_pareto(results: Results) -> Drawn:
    label = results.have()[0]
    files = results.datasets(label)
    schemes = [str(scheme) for scheme in files[0]["scheme"].to_numpy()]
    durations = np.median(np.concatenate([data["duration"].to_numpy() for data in files], axis=1), axis=1)
    offsets = {
        scheme: float(np.median(values[-1])) for scheme, values in largest_offsets(results, label, "offset").items()
    }
    errors = {
        scheme: float(np.median(values[-1])) for scheme, values in largest_offsets(results, label, "true_error").items()
    }
    barrier = float(np.median(np.concatenate([data["barrier"].to_numpy() for data in files]))) * MICROSECONDS
    kinds = list(dict.fromkeys(scheme.partition("(")[0] for scheme in schemes))
    panels = []
    for values, title in ((offsets, "measured, smallest of ten"), (errors, "true error")):
        series = []
        for number, kind in enumerate(kinds):
            chosen = [i for i, scheme in enumerate(schemes) if scheme.partition("(")[0] == kind]
            series.append(
                Series(
                    kind,
                    durations[chosen],
                    [values[schemes[i]] for i in chosen],
                    colour=number,
                    style="",
                    marker=number,
                )
            )
        panels.append(
            Panel(
                series,
                "duration of the synchronization [s]",
                "clock offset after 5 s [us]",
                title,
                decades_x=True,
                log_y=True,
                line_at=barrier,
                marks=[
                    (float(duration), values[scheme], parameters(scheme))
                    for scheme, duration in zip(schemes, durations, strict=True)
                ],
            )
        )
    wait = float(files[0]["wait"][-1])
    picture = draw_panels(
        "hunold2015-fig10",
        "Clock offset against the duration of synchronization",
        "A point per scheme and (fit points, exchanges); the numbers say which. Median over all synchronizations of "
        "the "
        f"largest offset over ranks, {wait:g} s after. The line is the mean duration of MPI_Barrier.",
        panels,
    )
    told = "; ".join(
        f"{short_scheme(scheme)} {duration:.2g} s, {errors[scheme]:.3g} us"
        for scheme, duration in zip(schemes, durations, strict=True)
    )
    best = min(errors, key=errors.__getitem__)
    plain = min(errors[name] for name in ("skampi", "netgauge"))
    findings = (
        Finding(
            "netgauge and skampi are quick, and far off after 5 s",
            "below 1 s, about 80 us",
            f"true errors from {plain:.3g} us on; {told}",
            plain > 10 * errors[best],
        ),
        Finding(
            "hca is more exact than a barrier is long, jk more exact still, and slower",
            "hca about 5 s, jk at least 30 s (with (100, 30)), on 512 processes",
            f"best {short_scheme(best)}: {errors[best]:.3g} us, a barrier takes {barrier:.3g} us",
            errors[best] < barrier,
        ),
    )
    return Drawn((picture,), findings)


def few_ranks(text: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{site.node} ranks, {text}"

    return shows


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="hunold2015-fig1",
        title="Run-time of MPI_Bcast over time, as SKaMPI reports it",
        setup=f"{TUWIEN}; 16 nodes, one process each, MVAPICH 2.1a; SKaMPI, MPI_Bcast of 8192 bytes, 150,000 "
        "measurements in "
        "windows, fixed (1 ms) and adaptive, in bins of 10,000.",
        reports=(
            "Both curves rise all the time, because SKaMPI corrects the clocks' offset but not their drift.",
            "With fixed windows, which took 150.43 s against 54.12 s, the clocks have more time to drift.",
        ),
        needs="16 nodes with clocks that drift, minutes",
        shows=few_ranks(f"15,000 measurements in windows of 200 us; {TWO_CLOCKS}: the rise, faster than real"),
        runs=skampi_runs,
        draw=draw_skampi,
    ),
    Figure(
        name="hunold2015-fig3",
        title="Run-time of MPI_Allreduce by local and by global times",
        setup="VSC-3 (two Xeon E5-2650v2 per node, InfiniBand QDR-80), 16 nodes, one process each, MVAPICH 2.0a-qlc; "
        "MPI_Allreduce "
        "of 32 KiB, 4000 runs, in windows (clocks by HCA) and behind MPI_Barrier.",
        reports=(
            "By local times the call takes about 70 us behind MPI_Barrier and about 100 us in windows (left).",
            "By global times, first start to last end, both are much closer (right); the rest of the gap is the "
            "barrier's exit "
            "skew (Fig. 4).",
        ),
        needs="16 nodes; a barrier with tens of us of exit skew, as that of MVAPICH 2.0a",
        shows=few_ranks("whose barrier has little skew, so that little gap is to be expected"),
        runs=allreduce_runs,
        draw=draw_allreduce,
    ),
    Figure(
        name="hunold2015-fig4",
        title="Exit times of ranks from MPI_Barrier",
        setup="VSC-3, 16 nodes, one process each, Intel MPI 5 (left) and MVAPICH 2.0a-qlc (right); mean of 1000 "
        "barriers, 95 % "
        "intervals, clocks by HCA.",
        reports=(
            "With MVAPICH 2.0a processes 0 and 15 leave more than 40 us apart in the mean; with Intel MPI they do not.",
        ),
        needs="16 nodes, Intel MPI and MVAPICH",
        shows=few_ranks("a point per rank; MPICH stands for MVAPICH, which is made of it"),
        runs=exit_runs,
        draw=draw_exits,
    ),
    Figure(
        name="hunold2015-fig5",
        title="Two libraries compared behind an external barrier and behind their own",
        setup="VSC-3, 16 nodes, one process each; MPI_Bcast under Intel MPI 5 and MVAPICH 2.0a-qlc, 1000 "
        "measurements in each of 10 "
        "launches; medians of launches, normalized by MVAPICH's median over launches.",
        reports=(
            "Behind the benchmark's own dissemination barrier no library is clearly faster from 64 to 2048 bytes; "
            "behind each "
            "library's MPI_Barrier the difference is significant, and misleading.",
        ),
        needs="16 nodes, Intel MPI and MVAPICH, 10 launches",
        shows=few_ranks("MPICH for MVAPICH: how much the barrier changes the comparison on shared memory"),
        runs=library_runs,
        draw=draw_libraries,
    ),
    Figure(
        name="hunold2015-fig6",
        title="Clock drift between a reference host and six others",
        setup=f"{TUWIEN}; offsets of six hosts to a reference host over 50 s.",
        reports=(
            "The largest drift between two hosts is about 700 us after 50 s, -400 us of one and +300 us of another.",
            "So windows that do not account for drift are wrong by microseconds after seconds.",
        ),
        needs="7 nodes, a minute",
        shows=lambda site: (
            f"{site.most} ranks for {DRIFT_SECONDS:g} s, {TWO_CLOCKS}: that drift is measured rightly, not what real "
            "clocks do"
        ),
        runs=drift_runs,
        draw=draw_drift,
    ),
    Figure(
        name="hunold2015-fig7",
        title="Run-time of MPI_Bcast over time, in windows and behind the barrier",
        setup=f"{TUWIEN}; 512 processes on 32 nodes, MVAPICH 2.0rc1; 4000 calls of MPI_Bcast of 8192 bytes in fixed "
        "windows with "
        "clocks by Netgauge and SKaMPI, and behind MPI_Barrier; 10 launches, bins of 100, means and 95 % intervals.",
        reports=(
            "Behind MPI_Barrier the run-time stays, in windows of either scheme it rises: neither corrects drift.",
        ),
        needs="32 nodes with 16 ranks each, clocks that drift",
        shows=few_ranks(f"{TWO_CLOCKS}: the rise"),
        runs=scheme_runs(SCHEME_CURVES, "bcast"),
        draw=draw_schemes("hunold2015-fig7", SCHEME_CURVES, "bcast"),
    ),
    Figure(
        name="hunold2015-fig8",
        title="Clock offset directly after synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a; one (a) and 16 (b) processes per node, 30 launches; after SKaMPI, Netgauge, "
        "JK and HCA the "
        "offset of every process to the root, the smallest of 10, the largest over processes.",
        reports=(
            "SKaMPI and Netgauge: at most 0.2 us on up to 8 nodes; Netgauge's grows with the number of processes and "
            "is the "
            "largest of all from 256 on.",
            "HCA: about SKaMPI's up to 32 processes, 0.25 us there, then growing slowly. JK: a little more on 2 to 16.",
        ),
        needs="32 nodes, with 16 ranks each for (b)",
        shows=lambda site: (
            f"part (a), as every rank gets a clock of its own: {', '.join(map(str, site.counts))} of 32 processes over "
            "shared memory, measured and true"
        ),
        runs=offset_runs,
        draw=draw_offsets,
    ),
    Figure(
        name="hunold2015-fig9",
        title="Clock offset over 20 s after synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a, 512 processes on 32 nodes; largest offset to the root 0, 2, 4, ..., 20 s "
        "after each "
        "synchronization, over 10 launches.",
        reports=(
            "JK and HCA, which account for drift, are far superior to Netgauge and SKaMPI, which do not; JK is best.",
        ),
        needs="32 nodes with 16 ranks each",
        shows=few_ranks(f"up to 10 s; {TWO_CLOCKS}"),
        runs=wait_runs,
        draw=draw_waits,
    ),
    Figure(
        name="hunold2015-fig10",
        title="Clock offset after 5 s against the duration of synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a, 512 processes on 32 nodes, 10 launches; SKaMPI, Netgauge, and JK and HCA with "
        "several numbers "
        "of fit points and exchanges; the mean duration of MPI_Barrier as a baseline.",
        reports=(
            "Netgauge and SKaMPI take less than a second and are off by about 80 us after 5 s.",
            "HCA gets below the barrier's duration in about 5 s of synchronization; JK is more exact and needs at "
            "least 30 s, with "
            "(100, 30).",
        ),
        needs="32 nodes with 16 ranks each",
        shows=few_ranks(f"{TWO_CLOCKS}; fits back to back, as published, span less time here than over a network"),
        runs=pareto_runs,
        draw=draw_pareto,
    ),
    Figure(
        name="hunold2015-fig11",
        title="Run-time of MPI_Scan over time under all schemes",
        setup="Cartesius (two Xeon E5-2450v2 per node, InfiniBand FDR), 16 nodes, one process each, Intel MPI 4.1; "
        "4000 runs of MPI_Scan "
        "of 8192 bytes, means of bins of 100, medians of 3 launches.",
        reports=(
            "In windows by Netgauge, JK and HCA the run-time is smaller at first than behind MPI_Barrier.",
            "With SKaMPI and Netgauge it drifts away quickly, with HCA it is stable.",
        ),
        needs="16 nodes with clocks that drift",
        shows=few_ranks(f"{TWO_CLOCKS}: who drifts"),
        runs=scheme_runs(SCAN_CURVES, "scan"),
        draw=draw_schemes("hunold2015-fig11", SCAN_CURVES, "scan"),
    ),
)
