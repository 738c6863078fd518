"""Figure 6: how clocks drift apart."""

from __future__ import annotations

import numpy as np

from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.evidence import Undecidable
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.own_clocks import DRIFTING
from downbeat.reproduce.results import Results
from downbeat.reproduce.run import Run
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds
from downbeat.units import MICROSECONDS

DRIFT_SECONDS = 20.0
MADE = Undecidable("the drift that is seen was made")


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
            color=position,
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
        "nothing but their drift is made.",
        [Panel(drift_lines(results, "drift", MICROSECONDS), "time [s]", "clock drift [us]")],
    )
    largest = float(np.abs(data["drift"].to_numpy()).max()) * MICROSECONDS
    residual = float(data["residual_max"].max()) * MICROSECONDS
    findings = [
        Finding(
            "clocks drift by far more than a call takes, within seconds",
            "up to 700 us between two hosts (-400 and +300 us) after 50 s, 14 ppm",
            f"up to {microseconds(largest)} after {seconds:.0f} s, {largest / seconds:.1f} ppm; made, not found",
            MADE,
        ),
        Finding(
            "the drift is linear over such a time",
            "straight lines",
            f"largest distance from a line {microseconds(residual)}; made, not found",
            MADE,
        ),
    ]
    return Drawn((picture,), tuple(findings))
