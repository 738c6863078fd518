"""Clocks of their own for the ranks of one machine, for figures that are about clocks.

On one machine all ranks share a clock, and nothing drifts. Where the figure is about clocks, each rank gets one of its
own by the validation clock (docs/validation.md), within +-8 ppm as real oscillators are, and the true error is known.
"""

from __future__ import annotations

from collections.abc import Mapping

from downbeat.reproduce.building import experiment_run
from downbeat.reproduce.run import Run
from downbeat.reproduce.site import Site

# 20 ppm, the default of max_skew, allow for skews of 8 ppm on either side and wander; 12 ppm between ranks 0 and 1.
CLOCKS = "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"
DRIFTING = {"DOWNBEAT_VALIDATION": CLOCKS}
TWO_CLOCKS = "each rank's clock is made different, within 8 ppm"


def clock_run(
    site: Site,
    ranks: int,
    schemes: str,
    repetitions: int,
    *,
    seconds: float,
    waits: str = "0",
    variables: Mapping[str, str] = DRIFTING,
) -> Run:
    """Returns a run that synchronizes clocks by each of some schemes.

    Args:
        site: where.
        ranks: of each launch.
        schemes: of the clocks, as downbeat-bench takes them.
        repetitions: synchronizations by each scheme.
        seconds: what they take, roughly.
        waits: seconds after a synchronization, at which offsets are measured.
        variables: of the environment; they make the clocks.
    """
    return experiment_run(
        f"n{ranks}",
        site.main(),
        ranks,
        "clock",
        {"schemes": schemes, "waits": waits, "repetitions": str(repetitions), "seed": "1"},
        seconds=seconds,
        variables=variables,
    )
