"""Clocks of their own for the ranks of one machine, for figures that are about clocks.

On one machine all ranks share a clock, and nothing drifts. Where the figure is about clocks, each rank gets one of its
own by the validation clock (docs/validation.md), within +-8 ppm as real oscillators are, and the true error is known.
Nodes of a cluster have clocks of their own, which are compared as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from downbeat.experiment.duration import simulated_seconds
from downbeat_papers.building import experiment_run
from downbeat_papers.evidence import Undecidable
from downbeat_papers.run import Run
from downbeat_papers.site import Site

# 20 ppm, the default of max_skew, allow for skews of 8 ppm on either side and wander; 12 ppm between ranks 0 and 1.
CLOCKS = "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"
EXCHANGES = 20  # of a rank in a synchronization without a fit
CHECK_EXCHANGES = 10
CHECK_SECONDS = 1e-3  # that it takes to measure how far off one rank is
MADE = Undecidable("the drift that is seen was made")
SHARED = Undecidable("all ranks are on one node and read one clock")


def made(site: Site, clocks: str = CLOCKS) -> dict[str, str]:
    """Returns the variables that make clocks, as the validation clock takes them; none where nodes have their own."""
    return {"DOWNBEAT_VALIDATION": clocks} if site.made_clocks else {}


def clocks_seen(data: xr.Dataset) -> str:
    """Returns whose clocks a launch compared: "made", "real", or "one" where all ranks shared it."""
    if data.attrs.get("clock_validation", "off") != "off":
        return "made"
    return "real" if nodes_seen(data) > 1 else "one"


def nodes_seen(data: xr.Dataset) -> int:
    """Returns how many nodes the ranks of a launch were on."""
    if "host" in data:
        return len(set(data["host"].to_numpy().tolist()))
    return len(str(data.attrs["hosts"]).split(";"))


def obstacle(files: Sequence[xr.Dataset]) -> Undecidable | None:
    """Returns why launches say nothing of how real clocks drift; None: they do."""
    seen = {clocks_seen(data) for data in files}
    return MADE if "made" in seen else SHARED if "one" in seen else None


def clocks_caption(files: Sequence[xr.Dataset]) -> str:
    """Says for a caption whose clocks are drawn."""
    if obstacle(files) is MADE:
        return "The clocks are the validation clock's: nothing but their drift is made."
    if obstacle(files) is SHARED:
        return "All ranks are on one node and read one clock."
    return f"The clocks are those of {max(map(nodes_seen, files))} nodes, as they are."


def clock_run(
    site: Site,
    ranks: int,
    schemes: str,
    repetitions: int,
    *,
    seconds: float,
    waits: str = "0",
    clocks: str = CLOCKS,
    exchanges: int = EXCHANGES,
) -> Run:
    """Returns a run that synchronizes clocks by each of some schemes, on as many nodes as there are.

    Args:
        site: where.
        ranks: of each launch.
        schemes: of the clocks, as downbeat-bench takes them.
        repetitions: synchronizations by each scheme.
        seconds: what they take, roughly, without looking how exact they are.
        waits: seconds after a synchronization, at which offsets are measured.
        clocks: that are made, where any are.
        exchanges: of a rank in a synchronization by each of the schemes, summed, roughly: what simulating them takes.
    """
    options = {"schemes": schemes, "waits": waits, "repetitions": str(repetitions), "seed": "1"}
    checked = ranks - 1
    # The seed says which; downbeat-bench draws them from the upper half, where errors are largest.
    if checked > site.sample:
        checked = min(site.sample, ranks - ranks // 2)
        options["sample"] = str(checked)
    checks = checked * repetitions * (1 + waits.count(",")) * (1 + schemes.count(","))
    run = experiment_run(
        f"n{ranks}",
        site.main(),
        ranks,
        "clock",
        options,
        seconds=seconds + CHECK_SECONDS * checks,
        variables=made(site, clocks),
        ranks_per_node=site.spread(ranks),
    )
    if not site.simulated:
        return run
    messages = 2 * (ranks * repetitions * exchanges + checks * CHECK_EXCHANGES)
    return replace(run, seconds=simulated_seconds(ranks, messages))
