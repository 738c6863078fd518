"""How clocks drift, and how single offsets scatter.

Hunold 2015, Fig. 6; Hoefler 2008, Fig. 5; Niethammer 2016, Table II.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.base.text import MICROSECONDS, evenly
from downbeat.experiment.plan import start_seconds
from downbeat.pictures.panel import Line, Panel, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured, between
from downbeat_papers.results import Results, clocks_seen, nodes_seen
from downbeat_papers.runs import Run, made
from downbeat_papers.site import Site

DRIFT_SECONDS = 20.0
PAIRS = 6  # of a reference host with others, in the paper
SCALES = {"us": MICROSECONDS, "ns": 1e9}


# Whose clocks launches compared; why that says nothing of how real clocks drift; and what a caption says of it.
MADE = ("the drift that is seen was made", "The clocks are the validation clock's: nothing but their drift is made.")
ONE = ("all ranks are on one node and read one clock", "All ranks are on one node and read one clock.")


def clocks_of(files: Sequence[xr.Dataset]) -> tuple[str, str]:
    """Returns the obstacle, empty if there is none, and what a caption says."""
    seen = {clocks_seen(data) for data in files}
    if "made" in seen:
        return MADE
    return ONE if "one" in seen else ("", f"The clocks are those of {max(map(nodes_seen, files))} nodes, as they are.")


@dataclass(frozen=True)
class Drift:
    """Clock offsets of pairs over time."""

    picture: str  # its title
    caption: str  # what it shows, before what is said of clocks
    panels: Sequence[Sequence[str]]  # as variable, unit, label of the axis, and title

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.apart
        partners = evenly(range(1, ranks), min(site.sample, PAIRS))
        seconds = 1.0 if site.quick else DRIFT_SECONDS
        return (
            Run(
                "drift",
                site.main(),
                ranks,
                ("drift",),
                {
                    "pairs": ",".join(f"0:{rank}" for rank in partners),
                    "duration": f"{seconds:g}",
                    "interval": "0.25",
                },
                seconds=start_seconds(ranks) + seconds,
                variables=made(site),
                # One launch with made clocks is enough; real clocks are judged.
                most_launches=1 if site.made_clocks else 0,
                ranks_per_node=site.spread(ranks),
            ),
        )

    def facts(self, results: Results) -> Facts:
        files = results.datasets("drift")
        whose, _ = clocks_of(files)

        def largest(variable: str, scale: float = 1.0) -> np.ndarray:
            """Returns the largest absolute value of each launch, over pairs and time."""
            return np.array([float(np.abs(data[variable].to_numpy()).max()) * scale for data in files])

        drift = largest("drift", MICROSECONDS)
        trips = np.array([float(np.median(data["rtt"])) * MICROSECONDS for data in files])
        bound = float(np.median([float(np.median(data["offset_bound"])) for data in files])) * MICROSECONDS
        hidden = f"the drift is smaller than the error of an offset, {bound:.3g} us at most"
        shapeless = whose or ("" if drift.max() > bound else hidden)
        seconds = float(files[0]["duration"].max())
        measures: dict[str, Measured] = {
            "drift": Measure(drift, " us", obstacle=whose),
            "round_trip": Measure(trips, " us"),
            "distance_from_a_line": Measure(largest("residual", MICROSECONDS), " us", obstacle=shapeless),
        }
        if all("residual_ppm" in data for data in files):
            half = (files[0]["skew_high"] - files[0]["skew_low"]).to_numpy() / 2 * 1e6
            made_straight = "the drift of these clocks is made, and made nearly a line"
            straight = made_straight if whose == MADE[0] else whose
            measures |= {
                "error_with_a_line": Measure(largest("residual_ppm"), " ppm", signed=True, obstacle=straight),
                "error_without": Measure(largest("drift_ppm"), " ppm", signed=True),
                "r_squared": Measure(
                    files[0]["r_squared"].to_numpy(),
                    note=f"slopes known within {between(half)} ppm (95 % intervals), {seconds:.0f} s",
                ),
            }
        return Facts(measures, {"seconds": f"{seconds:.0f}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        files = results.datasets("drift")
        panels = [
            Panel(
                [
                    Line(
                        f"rank {int(answerer)}",
                        files[0]["time"].to_numpy(),
                        files[0][variable].to_numpy()[position] * SCALES[unit],
                        color=position,
                    )
                    for position, answerer in enumerate(files[0]["answerer"].to_numpy())
                ],
                "time [s]",
                f"{label} [{unit}]",
                title,
            )
            for variable, unit, label, title in self.panels
        ]
        return (make_picture(name, self.picture, f"{self.caption} {clocks_of(files)[1]}", panels),)


OFFSETS = 100
MOST_RANKS, PER_NODE = 12, 4  # as in the table
BACK_TO_BACK = 0.001  # s for all measurements: 10 us for each
RESTED = "-rested"  # of labels; 10 ms before each measurement, in which ranks sleep and their caches cool


def statistics(files: Sequence[xr.Dataset]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns means, standard deviations and mean bounds of offsets in us, each of shape (launches, ranks but 0)."""
    offsets, bounds = (
        np.stack([data[name].to_numpy() for data in files]) * MICROSECONDS for name in ("offset", "offset_bound")
    )
    return offsets.mean(axis=2), offsets.std(axis=2, ddof=1), bounds.mean(axis=2)


@dataclass(frozen=True)
class OffsetTable:
    """Offsets by single exchanges, back to back as in the paper, and of ranks that rest before each."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        counts = [(ranks, 0) for ranks in (site.node, site.most)]
        if site.placed:  # the table's own: three nodes of four ranks
            per_node = min(PER_NODE, site.ranks_per_node)
            counts = [(max(2, per_node * min(MOST_RANKS // PER_NODE, site.nodes)), per_node)]
        return tuple(
            Run(
                f"n{ranks}{kind}",
                site.main(),
                ranks,
                ("drift",),
                # One exchange at a time, and none chosen from several, so that their spread is seen.
                {
                    "pairs": ",".join(f"0:{rank}" for rank in site.sampled(range(1, min(ranks, MOST_RANKS)))),
                    "duration": f"{duration:g}",
                    "interval": f"{duration / (OFFSETS - 1):.9f}",
                    "estimator": "cristian(exchanges=1)",
                    "rounds": "1",
                },
                seconds=start_seconds(ranks) + 1.0 + duration,
                variables={"DOWNBEAT_CLOCK": "realtime"},  # the paper's clock is gettimeofday
                ranks_per_node=per_node,
            )
            for ranks, per_node in dict.fromkeys(counts)
            for kind, duration in (("", BACK_TO_BACK), (RESTED, 0.05 if site.quick else 1.0))
        )

    def facts(self, results: Results) -> Facts:
        measures: dict[str, dict[int, dict[str, Measure]]] = {}
        for label in results.have():
            ranks, files = results.run(label).ranks, results.datasets(label)
            means, deviations, bounds = statistics(files)
            rested = "_rested" if label.endswith(RESTED) else ""
            where = rested or ("" if nodes_seen(files[0]) == 1 else "_on_nodes")
            crowding = results.crowding(ranks)
            room = f"half a round trip, {between(bounds.ravel(), ' us')}, leaves room for them: paths are asymmetric"
            for name, table, signed, note in (
                (f"deviation{rested}", deviations, False, ""),
                (f"mean{where}", means, True, room),
            ):
                measures.setdefault(name, {})[ranks] = {
                    f"rank {int(rank)}": Measure(column, " us", signed, crowding, note)
                    for rank, column in zip(files[0]["answerer"].to_numpy(), table.T, strict=True)
                }
        # Those back to back, if there are any.
        labels = [label for label in results.have() if not label.endswith(RESTED)] or results.have()
        files = results.datasets(labels[-1])
        alone = "the ranks are on one node, and read one clock" if nodes_seen(files[0]) == 1 else ""
        largest = Measure(np.abs(statistics(files)[0]).max(axis=1), " us", obstacle=alone)
        return Facts({**measures, "largest_mean_offset": largest})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels: list[Panel] = []
        tables = []
        for label in results.have():
            ranks, files = results.run(label).ranks, results.datasets(label)
            numbers = [0, *(int(rank) for rank in files[0]["answerer"].to_numpy())]
            # One launch, as in the paper: the first.
            mean, deviation = (np.array([0.0, *values[0]]) for values in statistics(files)[:2])
            series = Line("", numbers, mean, mean - deviation, mean + deviation, len(panels), "", 0)
            how = "10 ms apart" if label.endswith(RESTED) else "back to back"
            panels.append(Panel([series], "rank", "mean offset [us]", f"{ranks} ranks, {how}"))
            columns = {"ranks": ranks, "measured": how, "rank": numbers}
            seconds = {"mean_offset_s": mean / MICROSECONDS, "standard_deviation_s": deviation / MICROSECONDS}
            tables.append(pd.DataFrame({**columns, **seconds}))
        caption = (
            f"The table as a picture, its numbers below: mean of {OFFSETS} single exchanges in the first launch, bars "
            "of one standard deviation on either side. The clock is the paper's, gettimeofday's. Ranks of one node "
            "read one clock: what is seen of them is the error of single exchanges. Ranks of other nodes read those of "
            "their nodes."
        )
        picture = make_picture(name, "Clock offset of each rank to rank 0", caption, panels)
        return (replace(picture, numbers=pd.concat(tables, ignore_index=True)),)
