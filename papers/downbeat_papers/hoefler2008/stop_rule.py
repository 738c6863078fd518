"""Figure 6: after how many round trips one may stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import every, mean_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hoefler2008.round_trips import network
from downbeat_papers.results import Results
from downbeat_papers.wording import between

CHOSEN = 100  # N of Netgauge
BORDER = 10.0  # %, of the error that the paper allows it
# Where no round trip takes as long as another, how many it takes follows from counting records, whatever the network: N
# times e to the power of Euler's constant, for large N.
COUNTED = float(np.exp(np.euler_gamma))


def draw_stop_rule(results: Results) -> Drawn:
    excesses, costs = [], []
    at_chosen: dict[str, tuple[list[float], list[float]]] = {}
    for position, label in enumerate(results.have()):
        files = results.datasets(label)
        n = files[0]["n"].to_numpy()
        excess, cost = (
            np.stack([data[name].to_numpy()[0] for data in files]) for name in ("stop_rule_excess", "stop_rule_cost")
        )
        excess = excess * 100  # %
        name = network(results, label)
        excesses.append(median_series(name, n, excess, position))
        costs.append(median_series(name, n, cost, position))
        where = list(n).index(CHOSEN)
        at_chosen[name] = list(excess[:, where]), list(cost[:, where])
    costs.append(Series("by counting", n, COUNTED * n, color="#888888", style="--"))
    picture = draw_panels(
        "hoefler2008-fig6",
        "Influence of N on quality and cost",
        "The stop rule measures until N round trips in a row were no shorter than the shortest so far. Excess: how far "
        "that is above the shortest of all; cost: round trips until then. Means over 1000 runs that draw from the "
        "recorded round trips; median over launches, bars: smallest to largest launch. By counting: what any "
        "distribution costs in which no two round trips are equally long.",
        [
            Panel(excesses, "N", "excess of the shortest round trip [%]", "quality", decades_x=True),
            Panel(costs, "N", "round trips measured", "cost", decades_x=True, log_y=True),
        ],
    )
    return Drawn((picture,), stop_rule_findings(at_chosen))


def median_series(label: str, n: np.ndarray, values: np.ndarray, position: int) -> Series:
    """Returns a line of values, shape (launches, n)."""
    return Series(
        label,
        n,
        np.median(values, axis=0),
        values.min(axis=0),
        values.max(axis=0),
        color=position,
        marker=position,
    )


def stop_rule_findings(at_chosen: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> tuple[Finding, ...]:
    """Holds the paper's claim on N = 100 against launches.

    Args:
        at_chosen: by network, excess in % and cost of each launch.
    """
    excess = {name: values for name, (values, _) in at_chosen.items()}
    costs = [cost for _, values in at_chosen.values() for cost in values]
    return (
        Finding(
            f"N = {CHOSEN} leaves an error below {BORDER:.0f} %",
            "less than 10 % on all networks, saturating around 5 %",
            "; ".join(f"{name}: {between(values, ' %')}" for name, values in excess.items()),
            every(mean_of(values, " %").below(BORDER) for values in excess.values()),
        ),
        Finding(
            f"what N = {CHOSEN} costs, which hardly depends on the network",
            "approximately 180 round trips; nearly identical curves",
            f"{between(costs)}; by counting {COUNTED * CHOSEN:.0f}, and less where round trips are equally long: "
            "nothing that data could deny",
            None,
        ),
    )
