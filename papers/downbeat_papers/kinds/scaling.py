"""Latency of a collective's algorithms under both synchronizers, over message sizes and numbers of processes.

Schuchart 2023, Figs 6 to 14 and section 6.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from downbeat.base.text import MICROSECONDS
from downbeat.pictures.panel import Line, Panel, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import NOT_MEASURED, Facts, Found, Measure, Measured, between, missing, undecided
from downbeat_papers.evidence import held_out
from downbeat_papers.results import (
    BARRIER,
    HARMONIZE,
    LATENCY,
    MEDIAN,
    SAME_MESSAGE,
    Results,
    mean_and_deviation,
    median_and_range,
)
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import MPICH, OPEN_MPI, Site

POINT = (
    "Points: mean over launches of what OSU's benchmarks report, bars: standard deviation, as in the paper. Beside it: "
    "median over launches of the launches' medians, bars: smallest to largest launch. "
)
SHORT = {BARRIER: "barrier", HARMONIZE: "harmonize"}
STYLES = {BARRIER: ":", HARMONIZE: "--"}  # as in the paper
SMALL = 1024  # bytes; the text calls messages small without saying where that ends
TOO_FEW = "too few launches measured all"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm in the figures on scaling, as figures, claims and downbeat-bench name it."""

    label: str
    family: str  # run it belongs to
    algorithm: str
    color: int

    @property
    def name(self) -> str:
        return "mpich" if self.family == "mpich" else self.algorithm


MVAPICH = Algorithm("MPICH (for MVAPICH2)", "mpich", "default", 0)
DEFAULT = Algorithm("Open MPI default", "openmpi", "default", 1)
SIMULATED_MVAPICH = "mvapich2"  # the algorithm that MVAPICH2 takes, which the simulator has beside Open MPI's
# Algorithms of the simulator in addition to those of the lines; other collectives have the default alone.
SIMULATED = {"reduce": (SIMULATED_MVAPICH,), "bcast": (SIMULATED_MVAPICH,), "allreduce": ()}


def open_mpi_lines(*algorithms: str) -> tuple[Algorithm, ...]:
    """Returns the lines of a figure: MPICH's default, Open MPI's, and some of its algorithms."""
    chosen = (Algorithm(f"Open MPI {name}", "openmpi", name, 2 + i) for i, name in enumerate(algorithms))
    return (MVAPICH, DEFAULT, *chosen)


LINES = {
    "reduce": open_mpi_lines("linear", "binomial"),
    "bcast": open_mpi_lines("knomial", "binomial"),
    "allreduce": open_mpi_lines("nonoverlapping", "recursive_doubling"),
    "scatter": open_mpi_lines("basic_linear", "binomial"),
    "gather": open_mpi_lines("basic_linear", "binomial"),
}


SIMULATED_ALGORITHMS = (
    f" Simulated: all algorithms are the simulator's; that of {MVAPICH.label} is the one that MVAPICH2 has, knomial "
    "that of MVAPICH2, too, with radix 4."
)


def line_runs(site: Site, collective: str, ranks: int, sizes: str, suffix: str = "") -> list[Run]:
    """Returns the runs behind the lines of a collective: one under each MPI library that there is."""
    algorithms = [line.algorithm for line in LINES[collective] if line.family == "openmpi"]
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    if site.simulated:
        algorithms = [*algorithms, *SIMULATED[collective]] if collective in SIMULATED else ["default"]
    # MPICH 4 takes some 10 ms per collective where ranks share cores.
    if mpich == "mpich" and site.crowded(ranks):
        mpich = None
    runs = []
    for family, library, chosen in (("openmpi", open_mpi, algorithms), ("mpich", mpich, ["default"])):
        if library:
            options = {"sizes": sizes}
            if len(chosen) > 1:
                options["algorithm"] = f"{collective}={','.join(chosen)}"
            factors = (1 + sizes.count(",")) * len(chosen)
            label = f"{family}-n{ranks}{suffix}"
            runs.append(
                operation_run(site, label, library, ranks, [collective], usual=500, options=options, factors=factors)
            )
    return runs


def with_lines(cells: pd.DataFrame, collective: str) -> pd.DataFrame:
    """Returns the cells of a collective with the label of their line."""
    cells = cells[cells["operation"] == collective]
    names = {(line.family, line.algorithm): line.label for line in LINES[collective]}
    names["openmpi", SIMULATED_MVAPICH] = MVAPICH.label
    lines = [
        names.get((str(label).partition("-")[0], str(algorithm)))
        for label, algorithm in zip(cells["label"], cells["algorithm"], strict=True)
    ]
    return cells.assign(line=pd.Series(lines, index=cells.index, dtype=object))


def lines_of(collective: str, table: pd.DataFrame, column: str, position: str) -> list[Line]:
    """Returns the lines of a panel: of times dotted under the barrier, dashed under harmonize."""
    series = []
    for line in LINES[collective]:
        for synchronizer in (BARRIER, HARMONIZE) if "synchronizer" in table else ("",):
            part = table[table["line"] == line.label]
            part = part[part["synchronizer"] == synchronizer] if synchronizer else part
            label = f"{line.label}, {SHORT[synchronizer]}" if synchronizer else line.label
            values = (part[position], part[column], part["low"], part["high"])
            if len(part):
                series.append(Line(label, *values, line.color, STYLES.get(synchronizer, "-"), line.color))
    return series


def panels_of(
    collective: str, means: pd.DataFrame, medians: pd.DataFrame, columns: tuple[str, str], panel: Panel, scale: float
) -> list[Panel]:
    """Returns the paper's panel, mean and standard deviation over launches, and beside it one of medians.

    Args:
        collective: whose lines they are.
        means: a row per launch, `line` and position, and `synchronizer` where lines are of one.
        medians: the same.
        columns: what is shown of either.
        panel: its axes.
        scale: what values are multiplied with.
    """
    position = "size" if panel.x_scale == "bytes" else "ranks"
    by = [name for name in ("line", "synchronizer", position) if name in means]
    mean = mean_and_deviation(means, by, columns[0], scale).sort_values(position)
    median = median_and_range(medians, by, columns[1], scale).sort_values(position)
    return [
        replace(panel, title="mean of means, as in the paper", marks=lines_of(collective, mean, "mean", position)),
        replace(panel, title="medians", marks=lines_of(collective, median, "median", position)),
    ]


def deltas(cells: pd.DataFrame, column: str = LATENCY) -> pd.DataFrame:
    """Returns latency under the barrier / latency under harmonize, launch by launch (Schuchart 2023, section 6.1).

    The columns are `line`, `size`, `launch` and `delta`; `column` is that of the latency.
    """
    wide = cells.pivot_table(index=["line", "size", "launch"], columns="synchronizer", values=column)
    wide = wide.reindex(columns=[BARRIER, HARMONIZE])
    return wide.assign(delta=wide[BARRIER] / wide[HARMONIZE]).dropna().reset_index()


def delta_measures(frame: pd.DataFrame, collective: str, ranks: int) -> dict[str, Measured]:
    """Returns delta of each line, in the mean over sizes (`linear`), over small ones (`linear.small`) and at each size.

    And by how much more each line is affected than each other one: the mean over sizes of the logarithm of its ratio,
    counted in the direction in which the other half of the launches lies. An absolute value is above 0 by noise alone.
    """
    found: dict[str, Measured] = {}
    affected: dict[str, np.ndarray] = {}
    alike = SAME_MESSAGE if ranks == 2 else ""
    for line in LINES[collective]:
        obstacle = "" if line in (MVAPICH, DEFAULT) else alike
        part = frame[frame["line"] == line.label]
        table = part.pivot(index="launch", columns="size", values="delta").astype(float).apply(np.log)
        for suffix, some in (("", table), (".small", table[[size for size in table if int(str(size)) <= SMALL]])):
            values = np.exp(some.mean(axis="columns").to_numpy())
            found[line.name + suffix] = Measure(values, obstacle=obstacle) if some.size else missing()
        found[f"{line.name}.sizes"] = {
            f"{size} bytes": Measure(np.exp(column.to_numpy()), obstacle=obstacle) for size, column in table.items()
        } or missing()
        if not table.empty:  # pandas takes the mean of what there is, NaN where a launch has no size
            affected[line.name] = pd.DataFrame(held_out(table)).mean(axis="columns").to_numpy()
    all_measured = all(np.isfinite(values).any() for values in affected.values())
    fewest = min(map(len, affected.values()), default=0)
    for line in LINES[collective]:
        others = {one: affected[one.name] for one in LINES[collective] if one != line and one.name in affected}
        more: Measured = missing(TOO_FEW)
        if line.name not in affected or not others:
            more = missing()
        elif all_measured:
            own = affected[line.name][:fewest]
            more = {
                f"than {one.label}": Measure(own - values[:fewest], signed=True, obstacle=alike)
                for one, values in others.items()
            }
        found[f"more_affected.{line.name}"] = more
    return found


def latency_measures(cells: pd.DataFrame, collective: str, position: str, obstacle: str = "") -> dict[str, Measured]:
    """Returns latencies in us of each line after either synchronizer, e.g. `linear.barrier`, at each position."""
    unit = "ranks" if position == "ranks" else "bytes"
    found: dict[str, Measured] = {}
    for line in LINES[collective]:
        for synchronizer, short in SHORT.items():
            part = cells[(cells["line"] == line.label) & (cells["synchronizer"] == synchronizer)]
            found[f"{line.name}.{short}"] = {
                f"{place} {unit}": Measure(rows.set_index("launch")[LATENCY] * MICROSECONDS, " us", obstacle=obstacle)
                for place, rows in part.groupby(position)
            } or missing(f"{NOT_MEASURED}: it takes both MPI libraries, and ranks with a core each")
    return found


AXES = Panel((), "message size [bytes]", "", x_scale="bytes", y_scale="log")
SIMULATED_SIZES = "4,64,1K,16K,256K"  # each takes minutes
SIZES = "4,16,64,256,1K,4K,16K,64K,256K,1M"


@dataclass(frozen=True)
class MessageScaling:
    """Latency over message sizes, absolute and as ratio delta.

    Attributes:
        collectives: operations; claims on several have the collective in their names, e.g. `scatter.default`.
        all_nodes: whether all ranks take part, or those of one node.
    """

    collectives: tuple[str, ...]
    all_nodes: bool = False

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.most if self.all_nodes else site.node
        sizes = "4,1K" if site.quick else SIMULATED_SIZES if site.simulated else SIZES
        several = len(self.collectives) > 1
        return tuple(
            run for one in self.collectives for run in line_runs(site, one, ranks, sizes, f"-{one}" if several else "")
        )

    def facts(self, results: Results) -> Facts:
        ranks = results.runs[0].ranks
        measures: dict[str, Measured] = {}
        for collective in self.collectives:
            cells = with_lines(results.cells, collective)
            frame = deltas(cells)
            means = frame.groupby(["line", "size"])["delta"].mean()
            alike = SAME_MESSAGE if ranks == 2 and collective == "bcast" else ""
            found: dict[str, Measured] = {
                "delta": Found(None, between(means)),
                **delta_measures(frame, collective, ranks),
                **latency_measures(cells, collective, "size", alike),
            }
            if crowding := results.crowding(ranks):
                found = {name: undecided(one, crowding) for name, one in found.items()}
            prefix = f"{collective}." if len(self.collectives) > 1 else ""
            measures |= {f"{prefix}{name}": one for name, one in found.items()}
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        drawn = []
        for collective in self.collectives:
            cells = with_lines(results.cells, collective)
            own = f"{name}-{collective}" if len(self.collectives) > 1 else name
            title = f"MPI_{collective.capitalize()}, message scaling, {results.runs[0].ranks} ranks"
            absolute = replace(AXES, y="latency [us]")
            relative = replace(AXES, y="delta = barrier / harmonize", y_at=1.0)
            ratios, of_medians = deltas(cells), deltas(cells, MEDIAN)
            of_a = f"{POINT}Latency, mean over ranks. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize."
            of_b = (
                f"{POINT}Latency after MPI_Barrier / latency from the common start, of the same launch. Above 1 the "
                "barrier makes the operation look slower."
            )
            a = panels_of(collective, cells, cells, (LATENCY, MEDIAN), absolute, MICROSECONDS)
            b = panels_of(collective, ratios, of_medians, ("delta", "delta"), relative, 1.0)
            simulated = SIMULATED_ALGORITHMS if results.site.simulated else ""
            drawn += [
                make_picture(f"{own}a", f"{title}: absolute values", of_a + simulated, a),
                make_picture(f"{own}b", f"{title}: ratio", of_b, b),
            ]
        return tuple(drawn)


OSU_MAXIMUM = "max_of_means"  # of a cell: what OSU's benchmarks report as the maximum
COLUMNS = {"average": (LATENCY, MEDIAN), "maximum": (OSU_MAXIMUM, "latency_max_median")}  # and their medians
MEANING = {
    "average": "mean over ranks",
    "maximum": "largest over ranks, of means over calls; the median is of each call's largest",
}


def unevenness(cells: pd.DataFrame, synchronizer: str) -> dict[str, np.ndarray]:
    """Returns how uneven each line over processes is, one number for every other launch.

    That is the mean second difference of its logarithms over the (logarithmic) number of processes, counted from 0 in
    the direction in which the other half of the launches lies: of its absolute value noise alone makes something. Lines
    with fewer than four numbers of ranks are left out.
    """
    part = cells[cells["synchronizer"] == synchronizer]
    wide = part.pivot(index="launch", columns=["line", "ranks"], values=LATENCY).sort_index(axis="columns")
    lines = {}
    for name in wide.columns.unique("line"):
        logs = np.log(wide[name].to_numpy(dtype=float))
        if logs.shape[1] > 3:
            lines[str(name)] = np.nanmean(held_out(np.diff(logs, 2, axis=1)), axis=1)
    return lines


def unevenness_measures(cells: pd.DataFrame, collective: str) -> dict[str, Measured]:
    """Returns how uneven lines are after either synchronizer, and how much more a line is than all others."""
    after, common = (unevenness(cells, synchronizer) for synchronizer in (BARRIER, HARMONIZE))
    few = missing(f"numbers of ranks with a core each: {cells['ranks'].nunique()}, and oscillations take four")
    found: dict[str, Measured] = {"uneven_after_the_barrier": few, "uneven_from_the_common_start": few}
    if after and common:
        fewest = min(map(len, (*after.values(), *common.values())))
        for name, lines in zip(found, (after, common), strict=True):
            values = np.mean([line[:fewest] for line in lines.values()], axis=0)
            found[name] = Measure(values, signed=True, note="mean second differences of log latency")
    for line in LINES[collective]:
        found[f"more_uneven.{line.name}"] = few
        if line.label in after and line.label in common and len(after) > 1:
            others = {"than from the common start": common[line.label]}
            others |= {f"than {name}": values for name, values in after.items() if name != line.label}
            fewest = min(map(len, (*after.values(), common[line.label])))
            found[f"more_uneven.{line.name}"] = {
                name: Measure(after[line.label][:fewest] - values[:fewest], signed=True)
                for name, values in others.items()
            }
    return found


@dataclass(frozen=True)
class ProcessScaling:
    """Latency of 4 bytes over numbers of processes; that of reduce also has the largest latency."""

    collective: str

    def runs(self, site: Site) -> tuple[Run, ...]:
        return tuple(run for ranks in site.counts for run in line_runs(site, self.collective, ranks, "4"))

    def facts(self, results: Results) -> Facts:
        cells = with_lines(results.cells, self.collective)
        # All claims are about ranks with a core each.
        judged = cells[[not results.site.crowded(int(ranks)) for ranks in cells["ranks"]]]
        measures = unevenness_measures(judged, self.collective)
        measures |= latency_measures(judged, self.collective, "ranks")
        part = judged[judged["synchronizer"] == HARMONIZE]
        for line in LINES[self.collective]:
            rows = part[part["line"] == line.label]
            for kind, (column, _) in COLUMNS.items():
                if column not in rows:
                    continue
                for end, count in (("fewest", rows["ranks"].min()), ("most", rows["ranks"].max())):
                    measures[f"{line.name}.{kind}_on_{end}"] = (
                        Measure(rows[rows["ranks"] == count][column].to_numpy() * MICROSECONDS, " us")
                        if rows["ranks"].nunique() > 1
                        else missing("it takes two numbers of ranks with a core each")
                    )
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        cells, site = with_lines(results.cells, self.collective), results.site
        more = SIMULATED_ALGORITHMS if site.simulated else ""
        if not site.simulated and site.crowded(site.most):
            more = f" Above {site.full} ranks they share cores."
        drawn = []
        for letter, kind in (
            {"a": "average", "b": "maximum"}.items() if self.collective == "reduce" else [("", "average")]
        ):
            title = f"MPI_{self.collective.capitalize()}, process scaling, 4 bytes: {kind} latency"
            caption = f"{POINT}Latency: {MEANING[kind]}. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize.{more}"
            axes = Panel((), "number of processes", f"{kind} latency [us]", x_scale="positions", y_scale="log")
            panels = panels_of(self.collective, cells, cells, COLUMNS[kind], axes, MICROSECONDS)
            drawn.append(make_picture(f"{name}{letter}", title, caption, panels))
        return tuple(drawn)
