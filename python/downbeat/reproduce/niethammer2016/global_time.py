"""Figures 5, 7, 9, 11, 13 and 15: global times over processes, with and without a delay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import all_below, below, every, ratios, unanimous
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.niethammer2016.late_arrival import delay_us, global_series, name_of
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.wording import between, microseconds

BEND = 4  # numbers of ranks, with fewer of which a logarithm and a line fit alike
POINT = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "


def times_table(results: Results) -> pd.DataFrame:
    """Returns smallest global times in us by operation, size, delay and ranks."""
    cells = results.cells.assign(delay=delay_us(results.cells))
    return over_launches(cells, ("operation", "size", "delay", "ranks"), "global_time_min").sort_values("ranks")


def draw_barrier_times(results: Results) -> Drawn:
    table = times_table(results)
    panels = []
    for operation in ("barrier", "ibarrier"):
        lines = [
            global_series(table, operation, 0, delay, f"{delay:g} us", position, "-", position)
            for position, delay in enumerate((0.0, 10.0, 20.0, 50.0))
        ]
        panels.append(
            Panel(
                [line for line in lines if line],
                "number of processes",
                "global time [us]",
                f"{name_of(operation)}",
                log_x=True,
            )
        )
    picture = draw_panels(
        "niethammer2016-fig5",
        "Global time of barriers with one late process",
        POINT + "Rank 0 enters so much later than all others.",
        panels,
    )
    return Drawn(
        (picture,), (*scaling_findings("niethammer2016-fig5", "barrier", results), delay_finding(table, results))
    )


def delay_finding(table: pd.DataFrame, results: Results) -> Finding:
    """Tells by how much longer than delay and operation together a delayed operation takes, on ranks with cores.

    The text claims nothing of it: the overlap benefit, a figure of its own, is computed from the same times.
    """
    part = table[(table["ranks"] == results.site.node) & (table["delay"] == table["delay"].max())]
    plain = table[(table["ranks"] == results.site.node) & (table["delay"] == 0)]
    joined = part.merge(plain, on=["operation", "size"], suffixes=("", "_plain"))
    extra = joined["median"] - joined["delay"] - joined["median_plain"]
    return Finding(
        "what a delay adds beyond itself",
        "told by the next figure, the overlap benefit",
        f"time - delay - time without: {between(extra, ' us')} on {results.site.node} ranks, delay "
        f"{joined['delay'].max():g} us",
        None,
        is_claim=False,
    )


@dataclass(frozen=True)
class Scaling:
    """What the paper says of the times without delay over numbers of processes.

    Attributes:
        paper: with its numbers.
        kind: "log" or "linear"; empty: not said.
        up_to: processes, up to which it holds.
        step_us: what doubling the processes adds at most; 0: not said.
        blocking_faster: whether the blocking form is said to be.
    """

    paper: str
    kind: str = ""
    up_to: int = 16384
    step_us: float = 0.0
    blocking_faster: bool = False


SCALING = {
    "niethammer2016-fig5": Scaling("nearly logarithmic to about 2048 processes, then linear", "log", 2048),
    "niethammer2016-fig7": Scaling(
        "logarithmic to 1024 processes, less than 5 us per doubling; then up to 100 us per doubling", "log", 1024, 5.0
    ),
    "niethammer2016-fig9": Scaling("good scaling to over 1000 processes"),
    "niethammer2016-fig11": Scaling("nearly perfectly linear to 16384 processes", "linear"),
    "niethammer2016-fig13": Scaling("blocking faster than nonblocking", blocking_faster=True),
    "niethammer2016-fig15": Scaling("scales well"),
}


def scaling_findings(name: str, operation: str, results: Results) -> list[Finding]:
    """Holds what a figure says of times without delay against the data, on ranks with cores."""
    scaling = SCALING[name]
    cells = results.cells.assign(delay=delay_us(results.cells), us=results.cells["global_time_min"] * MICROSECONDS)
    plain = cells[(cells["delay"] == 0) & cells["size"].isin((0, 8))]
    forms = {
        kind: {ranks: part.loc[part["ranks"] == ranks, "us"].tolist() for ranks in sorted(set(part["ranks"]))}
        for kind in (operation, f"i{operation}")
        for part in [plain[plain["operation"] == kind]]
    }
    told = "; ".join(
        f"{kind} " + ", ".join(f"{ranks} ranks {microseconds(float(np.median(us)))}" for ranks, us in times.items())
        for kind, times in forms.items()
    )
    on_cores = {
        kind: {ranks: us for ranks, us in times.items() if not results.site.crowded(ranks)}
        for kind, times in forms.items()
    }
    blocking, nonblocking = on_cores.values()
    findings = []
    if scaling.kind:
        words = {"log": "with the logarithm of", "linear": "linearly with"}[scaling.kind]
        kept = {ranks: us for ranks, us in blocking.items() if ranks <= scaling.up_to}
        findings.append(
            Finding(
                f"without delay the time grows {words} the number of processes, up to {scaling.up_to}",
                scaling.paper,
                told,
                grows_as(scaling.kind, kept),
            )
        )
        if scaling.step_us:
            findings.append(
                Finding(
                    f"doubling the processes adds less than {scaling.step_us:g} us, up to {scaling.up_to}",
                    scaling.paper,
                    told,
                    steps_below(kept, scaling.step_us),
                )
            )
    elif scaling.blocking_faster:
        findings.append(
            Finding(
                "the blocking form is faster than the nonblocking one",
                scaling.paper,
                told,
                every(below(*ratios(blocking[ranks], nonblocking.get(ranks, [])), 1.0) for ranks in blocking),
            )
        )
    else:
        findings.append(Finding("times without delay, for scaling", scaling.paper, told, None, is_claim=False))
    return findings


def grows_as(kind: str, by_ranks: Mapping[int, Sequence[float]]) -> bool | None:
    """Whether times grow with the logarithm of the number of ranks, or linearly, rather than the other way.

    Args:
        kind: "log" or "linear".
        by_ranks: times of launches, by number of ranks.

    Returns:
        What the launches agree on; None with fewer than four numbers of ranks, which a bend in a line takes.
    """
    counts = np.array(sorted(by_ranks), float)
    if len(counts) < BEND:
        return None
    launches = np.array(list(zip(*(by_ranks[int(count)] for count in counts), strict=False)))

    def misfit(scale: np.ndarray) -> np.ndarray:
        lines = np.stack([scale, np.ones_like(scale)], axis=1)
        best = np.linalg.lstsq(lines, launches.T, rcond=None)[0]
        return np.asarray(((lines @ best - launches.T) ** 2).sum(axis=0))

    logarithmic = misfit(np.log2(counts)) < misfit(counts)
    growing = launches[:, -1] > launches[:, 0]
    return unanimous(growing & (logarithmic if kind == "log" else ~logarithmic))


def steps_below(by_ranks: Mapping[int, Sequence[float]], most: float) -> bool | None:
    """Whether doubling the ranks adds less than so many us, at each step, in the unit of `by_ranks`."""
    return every(
        all_below(
            [(late - early) / np.log2(more / fewer) for early in by_ranks[fewer] for late in by_ranks[more]], most
        )
        for fewer, more in pairwise(sorted(by_ranks))
    )


def draw_times(name: str, operation: str, in_seconds: bool) -> Callable[[Results], Drawn]:
    """Returns the drawer of global times over processes, 8 bytes, with and without 50 us; seconds are logarithmic."""

    def draw(results: Results) -> Drawn:
        table = times_table(results)
        values = ["median", "low", "high"]
        drawn = table.assign(**(table[values] / MICROSECONDS)) if in_seconds else table
        lines = [
            global_series(
                drawn,
                kind,
                8,
                delay,
                f"{name_of(kind)} 8 B, {delay:g} us",
                "#0072B2" if delay else "#000000",
                style,
                marker,
            )
            for delay in (50.0, 0.0)
            for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1))
        ]
        panel = Panel(
            [line for line in lines if line],
            "number of processes",
            f"global time [{'s' if in_seconds else 'us'}]",
            log_x=True,
            log_y=in_seconds,
        )
        picture = draw_panels(
            name,
            f"Global time of MPI_{name_of(operation)} with one late process",
            POINT
            + "Blue: rank 0 enters 50 us later; black: all together. Circles: blocking; squares: nonblocking, with its "
            "MPI_Wait.",
            [panel],
        )
        return Drawn(
            (picture,),
            (*scaling_findings(name, operation, results), delay_finding(table[table["size"] == 8], results)),
        )

    return draw
