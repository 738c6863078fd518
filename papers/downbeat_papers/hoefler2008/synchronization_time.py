"""Figure 8: synchronization of clocks, one by one and in a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import factor_of, half
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import clock_run
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between

# The same estimator in both, so that nothing but the order of the pairs differs.
LINEAR, TREE = "skampi(offset=netgauge)", "netgauge"
NAMES = {LINEAR: "linear", TREE: "tree (netgauge)"}
EXCHANGES = 600  # of a rank in both schemes: Netgauge measures until 100 in a row were no shorter
MILLISECONDS = 1e3  # per second


def scheme_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        clock_run(
            site,
            ranks,
            f"{LINEAR},{TREE}",
            site.repetitions(30),
            seconds=3.0 if site.crowded(ranks) else 0.5,
            clocks="offset=1e-3,skew=8e-6,seed=8",
            exchanges=EXCHANGES,
        )
        for ranks in site.counts
    )


@dataclass(frozen=True)
class Costs:
    """What synchronizing costs by a scheme on a number of ranks: medians of each launch."""

    duration: Sequence[float]  # s
    messages: Sequence[float]  # of the busiest process


def costs(files: Sequence[xr.Dataset], scheme: str) -> Costs:
    """Returns what a scheme costs in each launch."""
    position = [str(name) for name in files[0]["scheme"].to_numpy()].index(scheme)
    return Costs(
        [float(np.median(data["duration"].to_numpy()[position])) for data in files],
        [float(data["messages_median"].to_numpy()[position]) for data in files],
    )


def steps(ranks: int) -> int:
    """Returns after how many steps a tree has reached so many ranks."""
    return int(np.ceil(np.log2(ranks)))


def draw_schemes(results: Results) -> Drawn:
    found = {
        results.run(label).ranks: {scheme: costs(results.datasets(label), scheme) for scheme in NAMES}
        for label in results.have()
    }
    series = []
    for position, (scheme, name) in enumerate(NAMES.items()):
        times = [np.asarray(found[ranks][scheme].duration) * MILLISECONDS for ranks in found]
        series.append(
            Series(
                name,
                list(found),
                [float(np.median(values)) for values in times],
                [float(values.min()) for values in times],
                [float(values.max()) for values in times],
                position,
                "-",
                position,
            )
        )
    picture = draw_panels(
        "hoefler2008-fig8",
        "Duration of clock synchronization, one by one and in a tree",
        "Largest duration over ranks; median over launches of the launches' medians, bars: smallest to largest launch. "
        "Both schemes take offsets by Netgauge's estimator; "
        + ("every rank has a clock of its own." if results.site.made_clocks else "clocks are those of the nodes."),
        [Panel(series, "number of processes", "duration [ms]", log_x=True)],
    )
    return Drawn(
        (picture,), tuple(one for ranks, kinds in found.items() for one in scheme_findings(ranks, kinds, results))
    )


def scheme_findings(ranks: int, kinds: Mapping[str, Costs], results: Results) -> list[Finding]:
    """Holds the paper's claims against what the schemes cost on so many ranks; on two they are one and the same."""
    time, messages = (
        np.asarray(getattr(kinds[LINEAR], what)) / np.asarray(getattr(kinds[TREE], what))
        for what in ("duration", "messages")
    )
    expected = (ranks - 1) / steps(ranks)
    paper = "more than 16 times on 128 processes, 7 steps instead of 127"
    quicker = (
        f"{np.median(time):.2f} times (launches {between(time)}); linear "
        f"{between(np.asarray(kinds[LINEAR].duration) * MILLISECONDS, ' ms')}"
    )
    busy = f"{np.median(messages):.2f} times as many messages of the busiest process (launches {between(messages)})"
    if ranks == 2:
        return [Finding("on 2 processes the schemes are one and the same", paper, f"{quicker}; {busy}", None)]
    size = f"{ranks} processes ({steps(ranks)} steps instead of {ranks - 1})"
    return [
        Finding(
            f"the tree is quicker on {size}",
            paper,
            quicker,
            results.decided_on(ranks, factor_of(time).above(half(expected))),
        ),
        Finding(
            f"the tree spares the busiest process messages on {size}",
            paper,
            busy,
            factor_of(messages).above(half(expected)),
        ),
    ]
