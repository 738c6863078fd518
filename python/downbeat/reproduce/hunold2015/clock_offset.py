"""Figures 8 and 9: the clock offset directly after synchronization, and seconds later."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import above, all_below, below, ratios
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.own_clocks import clock_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import between, microseconds

FEW = 8  # processes, on up to which the text speaks of 0.2 us
FAR = 0.5  # ratio of errors from which down on a scheme is called far superior
SCHEMES = "skampi,netgauge,jk,hca"
# Directly after a synchronization it does not matter how long the fit spans.
SHORT_SCHEMES = "skampi,netgauge,jk(over=0.2),hca(over=0.2)"


def schemes_run(site: Site, ranks: int, schemes: str, waits: str, repetitions: int, seconds: float) -> Run:
    """Returns the run of some schemes, with the seconds that a repetition takes."""
    few = 1 if site.quick else repetitions
    return clock_run(site, ranks, schemes, few, seconds=few * seconds, waits=waits)


def offset_runs(site: Site) -> tuple[Run, ...]:
    return tuple(schemes_run(site, ranks, SHORT_SCHEMES, "0", 5, 0.5 * ranks) for ranks in site.counts)


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
    medians: dict[tuple[str, str, int], list[float]] = {}  # us, of launches
    for variable, title in (("offset", "measured, smallest of ten"), ("true_error", "true error")):
        boxes = []
        for label in results.have():
            ranks = results.run(label).ranks
            for scheme, values in largest_offsets(results, label, variable).items():
                name = scheme.partition("(")[0]
                boxes.append(Box(str(ranks), name, values[0]))
                launches = np.array_split(values[0], len(results.datasets(label)))
                medians[variable, name, ranks] = [float(np.median(part)) for part in launches]
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
    few = max((ranks for ranks in results.site.counts if ranks <= min(results.site.node, FEW)), default=0)
    offset_only = [value for scheme in ("skampi", "netgauge") for value in medians.get(("offset", scheme, few), [])]
    findings = [
        Finding(
            "skampi and netgauge are very exact at first",
            "at most 0.2 us on up to 8 nodes",
            f"measured medians {between(offset_only, ' us')} on {few} ranks" if offset_only else "not measured here",
            results.told_on(few, all_below(offset_only, 0.2)),
        )
    ]
    most = max((ranks for ranks in results.site.counts if not results.site.crowded(ranks)), default=0)
    keys = [("true_error", scheme, most) for scheme in ("netgauge", "skampi")]
    claim = "netgauge, which adds offsets up in a tree, becomes worse than skampi as processes are added"
    paper = "the worst of all from 256 processes on"
    if most > 2 and all(key in medians for key in keys):
        netgauge, skampi = (medians[key] for key in keys)
        here = (
            f"true errors on {most} ranks: netgauge {microseconds(float(np.median(netgauge)))}, skampi "
            f"{microseconds(float(np.median(skampi)))}"
        )
        findings.append(Finding(claim, paper, here, above(*ratios(netgauge, skampi), 1.0)))
    else:
        findings.append(
            Finding(claim, paper, "on two ranks a tree is one pair, as skampi's; more need a core each", None)
        )
    return Drawn((picture,), tuple(findings))


WAITS = "0,2,4,6,8,10"


def wait_runs(site: Site) -> tuple[Run, ...]:
    waits = "0,0.2" if site.quick else WAITS
    return (schemes_run(site, site.node, SCHEMES, waits, 1, 18.0),)


def draw_waits(results: Results) -> Drawn:
    label = results.have()[0]
    waits = results.datasets(label)[0]["wait"].to_numpy()
    panels = []
    growth: dict[str, np.ndarray] = {}  # us, of all synchronizations
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
            growth[scheme] = values[-1]
        panels.append(Panel(series, "time after synchronization [s]", "largest clock offset [us]", title))
    picture = draw_panels(
        "hunold2015-fig9",
        "Clock offset some time after synchronization",
        "Largest absolute offset over ranks; median, smallest and largest of all synchronizations of all launches. "
        "Left as in "
        "the paper, right the true error, computed.",
        panels,
    )
    plain = [value for name in ("skampi", "netgauge") for value in growth.get(name, ())]
    fitted = [value for name in ("jk", "hca") for value in growth.get(name, ())]
    findings = (
        Finding(
            "schemes that fit the drift, jk and hca, are far superior to those that do not, after seconds",
            "largely superior over 20 s",
            f"true errors after {waits[-1]:g} s: jk and hca {between(fitted, ' us')}, skampi and netgauge "
            f"{between(plain, ' us')}",
            below(*ratios(fitted, plain), FAR),
        ),
    )
    return Drawn((picture,), findings)
