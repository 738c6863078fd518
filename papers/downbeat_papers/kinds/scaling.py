"""Measures the latency of a collective's algorithms over message sizes or numbers of processes.

Each is measured after MPI_Barrier and from the common start (MPIX_Harmonize). A line of a figure is an algorithm of
Open MPI, or MPICH. Schuchart 2023, Figs 6 to 14 and section 6.6.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pandas as pd
from downbeat.output.blocks import Picture
from downbeat.output.fields import BARRIER, COMMON_START, SYNCHRONIZER_NAMES
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import MICROSECONDS

from downbeat_papers.claims import (
    NOT_MEASURED,
    Facts,
    Measure,
    Measured,
    Outcome,
    between,
    measures_by_position,
    missing,
    undecided,
)
from downbeat_papers.evidence import held_out
from downbeat_papers.results import (
    LATENCY,
    MEDIAN,
    SAME_MESSAGE,
    LaunchCells,
    Results,
    means_and_deviations,
    medians_and_ranges,
)
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import MPICH, OPEN_MPI, Site

POINT = (
    "Points: mean over launches (the paper: ten) of what OSU's benchmarks report, bars: standard deviation. Second "
    "panel: median over launches of the launches' medians, bars: smallest to largest launch. "
)
# The datatypes that downbeat-bench chooses (docs/operations.md), for captions.
DATATYPES = " Reductions of 4 bytes are of one MPI_FLOAT, longer ones of MPI_DOUBLE."
# Synchronizer -> its name in labels of lines, and in names of measures, which claims in TOML use.
SHORT = {BARRIER: "barrier", COMMON_START: SYNCHRONIZER_NAMES[COMMON_START]}
IN_CLAIMS = {BARRIER: "barrier", COMMON_START: COMMON_START}
# With --published, MPIX_Harmonize is also measured as configured in the paper: suffix of the labels of these runs, and
# the variable that configures the library.
PUBLISHED, AS_PUBLISHED = "-published", {"DOWNBEAT_PUBLISHED": "schuchart2023"}
# Configuration, as a suffix of labels -> its description in captions, and in titles.
IN_CAPTIONS = {"": "as Downbeat has it", PUBLISHED: "as the paper has it"}
IN_TITLES = {"": "", PUBLISHED: ", MPIX_Harmonize as published"}
STYLES = {BARRIER: ":", COMMON_START: "--"}  # as in the paper
SMALL = 1024  # bytes, largest small message; the paper gives no number
# The first two lines of all figures, in the paper's blue and red.
DEFAULTS = {"mpich": "MPICH (for MVAPICH2)", "default": "Open MPI default"}
MVAPICH = "mvapich2"  # an algorithm that some sites have in addition to Open MPI's
OSU_MAXIMUM = "max_of_means"  # statistic of a cell: the maximum that OSU's benchmarks report
# Kind of latency -> OSU's statistic, and the statistic whose medians are drawn beside it.
STATISTICS = {"average": (LATENCY, MEDIAN), "maximum": (OSU_MAXIMUM, "latency_max_median")}
MEANING = {
    "average": "mean over ranks",
    "maximum": "largest over ranks, of means over calls; the median is of each call's largest",
}
AXES = {"size": ("message size [bytes]", "bytes"), "ranks": ("number of processes", "positions")}


def synchronizer_labels(configuration: str) -> dict[str, str]:
    """Returns synchronizer -> its name in labels of lines; the paper's configuration is "published"."""
    return SHORT | ({COMMON_START: configuration.removeprefix("-")} if configuration else {})


class LineCells(LaunchCells):
    """The cells of a collective, with the names of their lines."""

    line: Texts = column('"mpich", or the algorithm of Open MPI')


def line_names(labels: Iterable[object], algorithms: Iterable[object]) -> Texts:
    """Returns the names of the lines of cells, given the labels of their runs and their algorithms."""
    return np.array(
        [
            "mpich" if str(label).startswith("mpich") or algorithm == MVAPICH else str(algorithm)
            for label, algorithm in zip(labels, algorithms, strict=True)
        ],
        dtype=object,
    )


def with_lines(cells: LaunchCells, collective: str) -> LineCells:
    """Returns the cells of a collective with the names of their lines."""
    cells = cells[cells.operation == collective]
    return cells.extended(LineCells, source=cells.source, line=line_names(cells.label, cells.algorithm))


class LinePoints(Table):
    """Values of launches, by line and position."""

    line: Texts = column("name of the line")
    synchronizer: Texts = column("start of the samples; empty for a ratio of two synchronizers")
    position: Ints = column("message size in bytes, or number of ranks")
    launch: Ints = column("number of the launch, from 1")
    value: Floats = column("latency in s, or ratio of two")


def latency_points(cells: LineCells, x: str, statistic: str) -> LinePoints:
    """Returns the latencies of cells over positions `x`, "size" or "ranks"; `statistic` is a column of cells."""
    return LinePoints(
        line=cells.line,
        synchronizer=cells.synchronizer,
        position=getattr(cells, x),
        launch=cells.launch,
        value=cells.values(statistic),
    )


def deltas(cells: LineCells, statistic: str = LATENCY) -> LinePoints:
    """Returns latency after the barrier / latency from the common start over sizes (Schuchart 2023, section 6.1).

    Both are of the same launch; launches that lack one are left out.
    """
    frame = latency_points(cells, "size", statistic).frame()
    keys = ["line", "position", "launch"]
    wide = frame.pivot_table(index=keys, columns="synchronizer", values="value").reindex(
        columns=[BARRIER, COMMON_START]
    )
    ratios = (wide[BARRIER] / wide[COMMON_START])[wide.notna().all(axis="columns")].rename("value").reset_index()
    return LinePoints.of_frame(ratios.assign(synchronizer=""))


@dataclass(frozen=True)
class Scaling:
    """Latency over message sizes or numbers of processes.

    Attributes:
        collectives: operations; with several, measures are by collective, so that claims are on each.
        algorithms: algorithm of Open MPI -> its label; these lines are drawn in addition to `DEFAULTS`.
    """

    collectives: tuple[str, ...]
    algorithms: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> dict[str, str]:
        """Name of a line -> its label."""
        return DEFAULTS | dict(self.algorithms)

    def measured_lines(self, results: Results) -> list[str]:
        """Returns the names of the lines that the launches measured."""
        runs = [results.run(label) for label in results.labels()]
        names = []
        if any(run.label.startswith("mpich") or MVAPICH in str(run.options) for run in runs):
            names.append("mpich")
        if any(run.label.startswith("openmpi") for run in runs):
            has_algorithms = any("algorithm" in run.options for run in runs)
            names += [name for name in self.lines if name != "mpich"] if has_algorithms else ["default"]
        return names

    def configured(self, site: Site) -> str:
        """Returns a sentence on the configuration of MPIX_Harmonize; see `Configured`."""
        ours = "MPIX_Harmonize is Downbeat's (slack=auto, sync=disciplined)"
        if not site.published:
            return f"{ours}, not the paper's; --published measures both."
        return (
            f"{ours}, and in runs and pictures of their own the paper's: Alg. 1, HCA3 without drift, the flag decided "
            "before the wait, so that late starts with flag 1 count. Claims are judged by the paper's."
        )

    def configurations(self, results: Results) -> dict[str, LaunchCells]:
        """Returns configuration ("" is Downbeat's, `PUBLISHED` is the paper's) -> its cells, if it was measured."""
        cells = results.launch_cells
        is_published = np.array([str(label).endswith(PUBLISHED) for label in cells.label], bool)
        measured = dict.fromkeys(PUBLISHED if label.endswith(PUBLISHED) else "" for label in results.labels())
        return {configuration: cells[is_published if configuration else ~is_published] for configuration in measured}

    def judged(self, results: Results) -> LaunchCells:
        """Returns the cells that claims are judged by: the paper's configuration if it was measured."""
        cells = results.launch_cells
        return cells if not results.site.published else self.configurations(results).get(PUBLISHED, cells[:0])

    def line_runs(self, site: Site, collective: str, ranks: int, sizes: str, suffix: str = "") -> list[Run]:
        """Returns the runs that measure the lines of a collective: a run under each available MPI library.

        Args:
            site: the machine.
            collective: the operation.
            ranks: of each launch.
            sizes: message sizes, separated by commas.
            suffix: of the label.
        """
        open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
        algorithms = site.choices(collective, [name for name in self.lines if name != "mpich"])
        # MPICH 4 takes some 10 ms per collective if ranks share cores.
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
                run = operation_run(
                    site, label, library, ranks, [collective], usual=500, options=options, factors=factors
                )
                runs.append(run)
                if site.published:
                    # As in the paper, late starts whose flag is 1 count as valid.
                    options = {**run.options, "late": "flags"}
                    runs.append(replace(run, label=label + PUBLISHED, options=options, variables=AS_PUBLISHED))
        return runs

    def panels(
        self,
        names: Iterable[str],
        values: Iterable[LinePoints],
        x: str,
        y: str,
        scale: float,
        synchronizers: Mapping[str, str],
    ) -> list[Panel]:
        """Returns two panels: the paper's, with means and standard deviations over launches, and one with medians.

        Args:
            names: of the lines.
            values: those of the first panel, and those of the second.
            x: the position, "size" or "ranks".
            y: label of the axis.
            scale: factor for values.
            synchronizers: synchronizer -> its name in labels; empty: values are ratios of two synchronizers.
        """
        panels, summaries = [], (means_and_deviations, medians_and_ranges)
        titles = ("mean of means, as in the paper", "medians")
        for title, points, summarize in zip(titles, values, summaries, strict=True):
            lines = []
            for name in names:
                color, words = list(self.lines).index(name), self.lines[name]
                for synchronizer, short in (synchronizers or {"": ""}).items():
                    chosen = points[(points.line == name) & (points.synchronizer == synchronizer)]
                    summary = summarize(chosen.position, chosen.value, scale)
                    label = f"{words}, {short}" if short else words
                    style = STYLES.get(synchronizer, "-")
                    lines.append(Line(label, summary.x, summary.middle, summary.low, summary.high, color, style))
            label, x_scale = AXES[x]
            # Ratios have a horizontal line at 1.
            panels.append(Panel(lines, label, y, title, x_scale, "log", y_at=None if synchronizers else 1.0))
        return panels

    def latencies(self, cells: LineCells, x: str, obstacle: str = "") -> dict[str, Measured]:
        """Returns the latencies of each line after each synchronizer, e.g. `linear.barrier`, by position, in us."""
        unit = "ranks" if x == "ranks" else "bytes"
        few = missing(f"{NOT_MEASURED}: it takes both MPI libraries, and ranks with a core each")
        measures: dict[str, Measured] = {}
        points = latency_points(cells, x, LATENCY)
        for name, (synchronizer, short) in product(self.lines, IN_CLAIMS.items()):
            chosen = points[(points.line == name) & (points.synchronizer == synchronizer)]
            times = {
                position: pd.Series(launches.value * MICROSECONDS, launches.launch)
                for position, launches in sorted(chosen.groups(chosen.position), key=lambda group: group[0])
            }
            measures[f"{name}.{short}"] = measures_by_position(times, " us", f"{{}} {unit}", obstacle=obstacle) or few
        return measures


@dataclass(frozen=True)
class MessageScaling(Scaling):
    """Latency over message sizes, absolute and as ratio delta.

    Attributes:
        all_nodes: True: all ranks take part; False: those of one node.
    """

    all_nodes: bool = False

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.most if self.all_nodes else site.node
        sizes = "4,1K" if site.quick else site.sizes
        several = len(self.collectives) > 1
        return tuple(
            run
            for collective in self.collectives
            for run in self.line_runs(site, collective, ranks, sizes, f"-{collective}" if several else "")
        )

    def facts(self, results: Results) -> Facts:
        ranks, measures = results.runs[0].ranks, dict[str, dict[str, Measured]]()
        for collective in self.collectives:
            cells = with_lines(self.judged(results), collective)
            ratios = deltas(cells)
            means = [launches.value.mean() for _, launches in ratios.groups(ratios.line, ratios.position)]
            obstacle = SAME_MESSAGE if ranks == 2 and collective == "bcast" else ""
            of_collective: dict[str, Measured] = {
                "delta": Outcome(None, between(means)),
                **self.delta_measures(ratios, ranks),
                **self.latencies(cells, "size", obstacle),
            }
            if crowding := results.crowding(ranks):
                of_collective = {name: undecided(measure, crowding) for name, measure in of_collective.items()}
            for name, measure in of_collective.items():
                measures.setdefault(name, {})[f"MPI_{collective.capitalize()}"] = measure
        return Facts(measures if len(self.collectives) > 1 else of_collective)

    def delta_measures(self, ratios: LinePoints, ranks: int) -> dict[str, Measured]:
        """Returns measures of delta, the ratio of latencies after the two synchronizers.

        For a line "linear": `linear` is the mean over sizes, `linear.small` the mean over small sizes, and
        `linear.sizes` has delta at each size. `more_affected.linear` compares the line with each other line: the
        difference of the mean logarithms of delta, with the sign that the other half of the launches chooses
        (`held_out`), since an absolute value is above 0 by noise alone.
        """
        measures: dict[str, Measured] = {}
        affected: dict[str, np.ndarray] = {}
        for name in self.lines:
            obstacle = SAME_MESSAGE if ranks == 2 and name not in DEFAULTS else ""
            of_line = ratios[ratios.line == name].frame("launch", "position", "value")
            table = of_line.pivot(index="launch", columns="position", values="value").apply(np.log)
            small = table[[size for size in table if int(str(size)) <= SMALL]]
            for suffix, logs in (("", table), (".small", small)):
                values = np.exp(logs.mean(axis="columns").to_numpy())
                measures[name + suffix] = Measure(values, obstacle=obstacle) if logs.size else missing()
            of_sizes = {size: np.exp(column.to_numpy()) for size, column in table.items()}
            measures[f"{name}.sizes"] = measures_by_position(of_sizes, words="{} bytes", obstacle=obstacle) or missing()
            if not table.empty:  # pandas' mean skips the sizes that a launch lacks; NaN if it lacks all
                affected[name] = pd.DataFrame(held_out(table)).mean(axis="columns").to_numpy()
        all_measured = all(np.isfinite(values).any() for values in affected.values())
        fewest = min(map(len, affected.values()), default=0)
        for name in self.lines:
            compared = {other: values for other, values in affected.items() if other != name}
            difference: Measured = missing("too few launches measured all")
            if name not in affected or not compared:
                difference = missing()
            elif all_measured:
                obstacle = SAME_MESSAGE if ranks == 2 else ""
                difference = {
                    f"than {self.lines[other]}": Measure(affected[name][:fewest] - values[:fewest], "", True, obstacle)
                    for other, values in compared.items()
                }
            measures[f"more_affected.{name}"] = difference
        return measures

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        drawn, names = [], self.measured_lines(results)
        caption_of_a = f"{POINT}Latency, mean over ranks. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize, "
        caption_of_b = (
            f"{POINT}Latency after MPI_Barrier / latency from the common start, of the same launch. Above 1 the "
            "barrier makes the operation look slower. MPIX_Harmonize is "
        )
        configurations = reversed(self.configurations(results).items())
        for (configuration, measured), collective in product(configurations, self.collectives):
            cells, labels = with_lines(measured, collective), synchronizer_labels(configuration)
            stem = f"{name}-{collective}" if len(self.collectives) > 1 else name
            title = f"MPI_{collective.capitalize()}, message scaling, {results.runs[0].ranks} ranks"
            title += IN_TITLES[configuration]
            latencies = (latency_points(cells, "size", statistic) for statistic in (LATENCY, MEDIAN))
            panels_a = self.panels(names, latencies, "size", "latency [us]", MICROSECONDS, labels)
            ratios = (deltas(cells, statistic) for statistic in (LATENCY, MEDIAN))
            panels_b = self.panels(names, ratios, "size", f"delta = barrier / {labels[COMMON_START]}", 1.0, {})
            end = f"{IN_CAPTIONS[configuration]}."
            end += DATATYPES if "reduce" in collective else ""
            end += results.site.remark_on_lines
            for letter, subject, caption, panels in (
                ("a", "absolute values", caption_of_a, panels_a),
                ("b", "ratio", caption_of_b, panels_b),
            ):
                file_name = f"{stem}{letter}{configuration}"
                drawn.append(make_picture(file_name, f"{title}: {subject}", caption + end, panels, share_y=True))
        return tuple(drawn)


def unevenness(points: LinePoints) -> dict[str, Floats]:
    """Returns line -> its unevenness over numbers of processes, a number for every other launch.

    The unevenness is the mean second difference of the logarithms of latencies over the (logarithmic) number of
    processes, with the sign that the other half of the launches chooses (`held_out`), since absolute values are above 0
    by noise alone. Lines with fewer than four numbers of ranks are left out.
    """
    wide = points.frame().pivot(index="launch", columns=["line", "position"], values="value").sort_index(axis="columns")
    lines = {}
    for name in wide.columns.unique("line"):
        logs = np.log(wide[name].to_numpy(dtype=float))
        if logs.shape[1] > 3:
            lines[str(name)] = np.nanmean(held_out(np.diff(logs, 2, axis=1)), axis=1)
    return lines


@dataclass(frozen=True)
class ProcessScaling(Scaling):
    """Latency of 4 bytes over numbers of processes.

    Attributes:
        shown: letter of the picture -> kind of latency, "average" or "maximum".
    """

    shown: Mapping[str, str] = field(default_factory=lambda: {"": "average"})

    def runs(self, site: Site) -> tuple[Run, ...]:
        (collective,) = self.collectives
        return tuple(run for ranks in site.counts for run in self.line_runs(site, collective, ranks, "4"))

    def facts(self, results: Results) -> Facts:
        cells = with_lines(self.judged(results), self.collectives[0])
        # All claims are about ranks with a core each.
        judged = cells[np.array([not results.site.crowded(int(ranks)) for ranks in cells.ranks], bool)]
        measures = self.unevenness_measures(judged) | self.latencies(judged, "ranks")
        few = missing("it takes two numbers of ranks with a core each")
        common = judged[judged.synchronizer == COMMON_START]
        for name, (kind, (statistic, _)) in product(self.lines, STATISTICS.items()):
            if statistic not in common.source:
                continue
            points = latency_points(common[common.line == name], "ranks", statistic)
            counts = np.unique(points.position)
            for end, count in (("fewest", counts[:1]), ("most", counts[-1:])):
                times = points.value[np.isin(points.position, count)] * MICROSECONDS
                measures[f"{name}.{kind}_on_{end}"] = Measure(times, " us") if len(counts) > 1 else few
        return Facts(measures)

    def unevenness_measures(self, cells: LineCells) -> dict[str, Measured]:
        """Returns the unevenness of lines after each synchronizer, and the differences to the other lines.

        `more_uneven` compares a line after the barrier with every other line, and with itself from the common start.
        """
        few = missing(f"numbers of ranks with a core each: {len(np.unique(cells.ranks))}, and oscillations take four")
        measures: dict[str, Measured] = {}
        note = "mean second differences of log latency"
        # The average comes last, because lines are compared by it below: `sides` and `fewest` are then its values.
        for suffix, statistic in ((".maximum", OSU_MAXIMUM), ("", LATENCY)):
            sides = [
                unevenness(latency_points(cells[cells.synchronizer == synchronizer], "ranks", statistic))
                if statistic in cells.source
                else {}
                for synchronizer in (BARRIER, COMMON_START)
            ]
            fewest = min((len(line) for lines in sides for line in lines.values()), default=0)
            for name, lines in zip(("uneven_after_the_barrier", "uneven_from_the_common_start"), sides, strict=True):
                values = [line[:fewest] for line in lines.values()]
                measures[name + suffix] = (
                    Measure(np.mean(values, axis=0), signed=True, note=note) if all(sides) else few
                )
        after, common = sides
        for name in self.lines:
            measures[f"more_uneven.{name}"] = few
            if name in after and name in common and len(after) > 1:
                compared = {"than from the common start": common[name]}
                compared |= {f"than {self.lines[other]}": values for other, values in after.items() if other != name}
                measures[f"more_uneven.{name}"] = {
                    words: Measure(after[name][:fewest] - values[:fewest], signed=True)
                    for words, values in compared.items()
                }
        return measures

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        (collective,), site = self.collectives, results.site
        remark = site.remark_on_lines
        if site.crowded(site.most):
            remark = f" Above {site.full} ranks they share cores."
        drawn, names = [], self.measured_lines(results)
        configurations = reversed(self.configurations(results).items())
        for (configuration, measured), (letter, kind) in product(configurations, self.shown.items()):
            cells, labels = with_lines(measured, collective), synchronizer_labels(configuration)
            title = f"MPI_{collective.capitalize()}, process scaling, 4 bytes{IN_TITLES[configuration]}: {kind} latency"
            caption = (
                f"{POINT}Latency: {MEANING[kind]}. Dotted: after MPI_Barrier; dashed: MPIX_Harmonize, "
                f"{IN_CAPTIONS[configuration]}.{remark}"
            )
            latencies = (latency_points(cells, "ranks", statistic) for statistic in STATISTICS[kind])
            panels = self.panels(names, latencies, "ranks", f"{kind} latency [us]", MICROSECONDS, labels)
            drawn.append(make_picture(f"{name}{letter}{configuration}", title, caption, panels, share_y=True))
        return tuple(drawn)
