"""Figure 6: how clocks drift apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from downbeat_papers.building import experiment_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Undecidable, factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.own_clocks import MADE, clocks_caption, made, obstacle
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.sampling import evenly
from downbeat.units import MICROSECONDS

DRIFT_SECONDS = 20.0
PAIRS = 6  # of a reference host with others, in the paper
FAR = 10.0  # round trips, from which on a drift is by far more; the paper gives no number
STRAIGHT = (
    0.1  # of the drift, up to which distances from a line are none; the paper's lines are drawn, without a number
)


def drift_ranks(site: Site) -> int:
    """Returns how many ranks there are: one on each node, or as many as one node has at most."""
    return site.nodes if site.placed and not site.made_clocks else site.most


def drift_runs(site: Site) -> tuple[Run, ...]:
    ranks = drift_ranks(site)
    partners = evenly(range(1, ranks), min(site.sample, PAIRS))
    seconds = 1.0 if site.quick else DRIFT_SECONDS
    return (
        experiment_run(
            "drift",
            site.main(),
            ranks,
            "drift",
            {
                "pairs": ",".join(f"0:{rank}" for rank in partners),
                "duration": f"{seconds:g}",
                "interval": "0.25",
            },
            seconds=seconds,
            variables=made(site),
            # Of what was made, one is enough; real clocks are judged.
            most_launches=1 if site.made_clocks else 0,
            ranks_per_node=site.spread(ranks),
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
            color=position,
        )
        for position, answerer in enumerate(data["answerer"].to_numpy())
    ]


def draw_drift(results: Results) -> Drawn:
    files = results.datasets("drift")
    seconds = float(files[0]["duration"].max())
    picture = draw_panels(
        "hunold2015-fig6",
        "Clock drift between rank 0 and other ranks",
        f"Offset of a rank's local clock to rank 0's, less the first offset; the first launch. {clocks_caption(files)}",
        [Panel(drift_lines(results, "drift", MICROSECONDS), "time [s]", "clock drift [us]")],
    )
    drifts, distances = (largest_of_launches(files, name) for name in ("drift", "residual"))
    trips = np.array([float(np.median(data["rtt"])) * MICROSECONDS for data in files])
    suffix = "; made, not found" if obstacle(files) is MADE else ""
    findings = [
        Finding(
            f"clocks drift by far more than a message takes, within seconds: by {FAR:g} round trips in {seconds:.0f} s",
            "up to 700 us between two hosts (-400 and +300 us) after 50 s, 14 ppm",
            f"up to {between(drifts, ' us')} after {seconds:.0f} s, {drifts.max() / seconds:.2g} ppm, beside round "
            f"trips of {between(trips, ' us')}{suffix}",
            obstacle(files) or factor_of(drifts / trips).above(FAR),
        ),
        Finding(
            f"the drift is linear over such a time: a line is at most {STRAIGHT:.0%} of the drift away",
            "straight lines",
            f"largest distance from a line {between(distances, ' us')}{suffix}",
            obstacle(files) or none_seen(files, drifts) or factor_of(distances / drifts).below(STRAIGHT),
        ),
    ]
    return Drawn((picture,), tuple(findings))


def none_seen(files: Sequence[xr.Dataset], drifts: np.ndarray) -> Undecidable | None:
    """Returns that clocks drift by less than can be measured, so nobody can see a shape; None: by more."""
    bound = float(np.median([float(np.median(data["offset_bound"])) for data in files])) * MICROSECONDS
    if drifts.max() > bound:
        return None
    return Undecidable(f"the drift is smaller than the error of an offset, {microseconds(bound)} at most")


def largest_of_launches(files: Sequence[xr.Dataset], variable: str) -> np.ndarray:
    """Returns the largest absolute value of each launch over pairs and time, in us."""
    return np.array([float(np.abs(data[variable].to_numpy()).max()) for data in files]) * MICROSECONDS
