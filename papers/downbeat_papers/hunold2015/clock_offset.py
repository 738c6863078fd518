"""Figures 8 and 9: the clock offset directly after synchronization, and seconds later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from downbeat_papers.clock_errors import ErrorKind, explained, judged, shown, within
from downbeat_papers.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Evidence, Floats, Undecidable, every, factor_between, factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import CLOCKS, clock_run, made
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

FEW = 8  # processes, on up to which the text speaks of 0.2 us
EXACT = 0.2  # us
FAR = 0.5  # ratio of errors from which down on a scheme is called far superior; the paper gives no number
MAGNITUDE = 10.0  # ratio within which errors are of the same order of magnitude
PER_NODE = 16  # processes, in part (b)
SCHEMES = "skampi,netgauge,jk,hca"
# Directly after a synchronization it does not matter how long the fit spans.
SHORT_SCHEMES = "skampi,netgauge,jk(over=0.2),hca(over=0.2)"
# Simulated, each exchange takes time, and none is disturbed by a busy processor: fewer do.
SIMULATED_FIT = "fit=100,offset=mean_rtt(exchanges=10)"
SIMULATED_SCHEMES = f"skampi,netgauge,jk({SIMULATED_FIT},over=1),hca({SIMULATED_FIT},over=1)"
SIMULATED_EXCHANGES = 2300  # of a rank: two fits, and what comes before them
NODES = "nodes-"  # begins the labels of the runs of part (b)
UNPAIRED = "on two ranks a tree is one pair, as skampi's; more need a core each"


def schemes_run(site: Site, ranks: int, schemes: str, waits: str, repetitions: int, seconds: float) -> Run:
    """Returns the run of some schemes, with the seconds that a repetition takes."""
    few = 1 if site.quick else repetitions
    return clock_run(site, ranks, schemes, few, seconds=few * seconds, waits=waits, exchanges=SIMULATED_EXCHANGES)


def offset_runs(site: Site) -> tuple[Run, ...]:
    """Returns the runs of part (a), a process for each clock, and of (b), several for each."""
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


def draw_offsets(results: Results) -> Drawn:
    everything = [data for label in results.have() for data in results.datasets(label)]
    most_per_clock = f"up to {PER_NODE}" if results.site.made_clocks else "several"
    parts = {False: "(a) a clock each", True: f"(b) {most_per_clock} per clock"}
    medians: dict[tuple[str, bool, str, int], Floats] = {}  # us, of launches
    panels = []
    for kind in shown(everything):
        for shared, part in parts.items():
            boxes = []
            for label in (one for one in results.have() if one.startswith(NODES) is shared):
                ranks = results.run(label).ranks
                for scheme, values in largest_offsets(results.datasets(label), kind).items():
                    boxes.append(Box(str(ranks), scheme_name(scheme), values[0].ravel()))
                    medians[kind.title, shared, scheme_name(scheme), ranks] = np.median(values[0], axis=1)
            if boxes:
                title = f"{part}: {kind.title}"
                panels.append(BoxPanel(boxes, "number of processes", "largest clock offset [us]", title, log_y=True))
    picture = draw_boxes(
        "hunold2015-fig8",
        "Clock offset directly after synchronization",
        "Largest absolute offset over ranks, five synchronizations in each launch, all launches together. Measured as "
        "in the paper: of ten offsets by ping-pong the smallest, the largest over ranks; and beside it "
        f"{explained(everything)}.",
        panels,
    )
    measured, kind = shown(everything)[0], judged(everything)
    counts = {
        shared: [
            run.ranks for run in results.runs if run.label.startswith(NODES) is shared and not run.crowded(results.site)
        ]
        for shared in parts
    }
    few = max((ranks for ranks in counts[False] if ranks <= FEW), default=0)
    offsets = {name: medians.get((measured.title, False, name, few)) for name in ("skampi", "netgauge")}
    exact = {name: values for name, values in offsets.items() if values is not None}
    findings = [
        Finding(
            "skampi and netgauge are exact at first: at most 0.2 us",
            "at most 0.2 us on up to 8 nodes",
            f"measured medians {between(np.concatenate([*exact.values(), [np.nan]]), ' us')} on {few} ranks",
            results.decided_on(few, every(factor_of(values, " us").below(EXACT) for values in exact.values()))
            if exact
            else Undecidable("not measured here"),
        )
    ]
    by_part = {
        shared: {
            name: medians[kind.title, shared, name, max(counts[shared], default=0)]
            for name in map(scheme_name, SCHEMES.split(","))
            if (kind.title, shared, name, max(counts[shared], default=0)) in medians
        }
        for shared in parts
    }
    for shared, said in ((False, tree_findings), (True, node_findings)):
        findings += said(by_part[shared], max(counts[shared], default=0), kind.words, within(everything))
    return Drawn((picture,), tuple(findings))


def tree_findings(errors: Mapping[str, Floats], ranks: int, kind: str, known: str) -> list[Finding]:
    """Holds against the data what part (a) says of trees, on so many ranks, by errors in us of launches."""
    claim = "netgauge, which adds offsets up in a tree, becomes worse than skampi as processes are added"
    paper = "the worst of all from 256 processes on"
    if ranks <= 2 or not {"netgauge", "skampi"} <= set(errors):
        return [Finding(claim, paper, "not to be seen", Undecidable(UNPAIRED))]
    return [
        Finding(
            claim,
            paper,
            f"{kind} on {ranks} ranks: {described(errors)}{known}",
            factor_between(errors["netgauge"], errors["skampi"]).above(1.0),
        )
    ]


def node_findings(errors: Mapping[str, Floats], ranks: int, kind: str, known: str) -> list[Finding]:
    """Compares the claims of part (b) with the data, in the manner of `tree_findings`."""
    claims: dict[str, tuple[str, Evidence | Undecidable]] = {
        "(b) skampi is the most exact": ("still the highest precision", Undecidable(UNPAIRED)),
        "(b) hca is as exact as skampi to an order of magnitude": (
            "of the same order of magnitude",
            Undecidable(UNPAIRED),
        ),
    }
    here = "not to be seen"
    if ranks > 2 and len(errors) == len(SCHEMES.split(",")):
        here = f"{kind} on {ranks} ranks: {described(errors)}{known}"
        others = [values for name, values in errors.items() if name != "skampi"]
        said = (
            every(factor_between(values, errors["skampi"]).above(1.0) for values in others),
            factor_between(errors["hca"], errors["skampi"]).within(1 / MAGNITUDE, MAGNITUDE),
        )
        claims = {claim: (paper, one) for (claim, (paper, _)), one in zip(claims.items(), said, strict=True)}
    return [Finding(claim, paper, here, evidence) for claim, (paper, evidence) in claims.items()]


def described(errors: Mapping[str, Floats]) -> str:
    """Returns the errors of schemes, in us, in the median over launches."""
    return ", ".join(f"{name} {microseconds(float(np.median(values)))}" for name, values in errors.items())


WAITS = "0,2,4,6,8,10"


def wait_runs(site: Site) -> tuple[Run, ...]:
    waits = "0,0.2" if site.quick else WAITS
    return (schemes_run(site, site.full, SIMULATED_SCHEMES if site.simulated else SCHEMES, waits, 1, 18.0),)


def draw_waits(results: Results) -> Drawn:
    files = results.datasets(results.have()[0])
    waits = files[0]["wait"].to_numpy()
    panels = []
    for kind in shown(files):
        series = [
            Series(
                scheme_name(scheme),
                waits,
                np.median(values, axis=(1, 2)),
                values.min(axis=(1, 2)),
                values.max(axis=(1, 2)),
                position,
                "-",
                position,
            )
            for position, (scheme, values) in enumerate(largest_offsets(files, kind).items())
        ]
        panels.append(Panel(series, "time after synchronization [s]", "largest clock offset [us]", kind.title))
    picture = draw_panels(
        "hunold2015-fig9",
        "Clock offset some time after synchronization",
        "Largest absolute offset over ranks; median, smallest and largest of all synchronizations of all launches. "
        f"Left as in the paper, right {explained(files)}.",
        panels,
    )
    kind = judged(files)
    last = {
        scheme_name(scheme): np.median(values[-1], axis=1) for scheme, values in largest_offsets(files, kind).items()
    }
    plain, fitted = (
        {name: last[name] for name in names if name in last} for names in (("skampi", "netgauge"), ("jk", "hca"))
    )
    finding = Finding(
        "schemes that fit the drift, jk and hca, are far superior to those that do not, after seconds: at most half "
        "their error",
        "largely superior over 20 s",
        f"{kind.words} after {waits[-1]:g} s: {described(last)}{within(files)}",
        every(factor_between(one, other).below(FAR) for one in fitted.values() for other in plain.values()),
    )
    return Drawn((picture,), (finding,))
