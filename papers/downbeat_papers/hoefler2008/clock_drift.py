"""Figure 5: clock drift of pairs, and what is left when a line is taken out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.evidence import Evidence, Undecidable, mean_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.drift import drift_lines
from downbeat_papers.own_clocks import MADE, clocks_caption, obstacle
from downbeat_papers.results import Results
from downbeat_papers.wording import between
from downbeat.units import MICROSECONDS

NANOSECONDS = 1e9  # per second
BORDER = 1.0  # ppm


def draw_pairs(results: Results) -> Drawn:
    files = results.datasets("drift")
    picture = draw_panels(
        "hoefler2008-fig5",
        "Clock drift of pairs of ranks",
        "Left: offset of a rank's local clock to rank 0's, less the first. Right: what is left when a line is taken "
        f"out. The first launch. {clocks_caption(files)}",
        [
            Panel(drift_lines(results, "drift", MICROSECONDS), "time [s]", "clock difference [us]", "as it is"),
            Panel(drift_lines(results, "residual", NANOSECONDS), "time [s]", "residual [ns]", "a line taken out"),
        ],
    )
    data = files[0]
    left = [largest(one, "residual_ppm") for one in files]
    plain = [largest(one, "drift_ppm") for one in files]
    half = (data["skew_high"] - data["skew_low"]).to_numpy() / 2 * 1e6
    findings = (
        Finding(
            "a linear correction brings the error below 1 ppm",
            "below 1 ppm with it, up to 300 ppm without, over 14 hours",
            f"{between(left)} ppm with it, {between(plain)} ppm without, over {float(data['duration'].max()):.0f} s",
            linear_evidence(left, files),
        ),
        Finding(
            "how well a line fits",
            "relatively linear",
            f"R^2 {between(data['r_squared'].to_numpy())}; slopes known within {between(half)} ppm (95 % intervals)",
            None,
        ),
    )
    return Drawn((picture,), findings)


def largest(data: xr.Dataset, variable: str) -> float:
    """Returns the largest absolute value over pairs."""
    return float(np.abs(data[variable].to_numpy()).max())


def linear_evidence(left: Sequence[float], files: Sequence[xr.Dataset]) -> Evidence | Undecidable:
    """Returns what launches say of it, which is nothing where the drift was made a line."""
    if obstacle(files) is MADE:
        return Undecidable("the drift of these clocks is made, and made nearly a line")
    return obstacle(files) or mean_of(left, " ppm").below(BORDER)
