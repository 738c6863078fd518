"""The figures of Schuchart, Hunold, Bosilca: MPI Process Synchronization in Space and Time. EuroMPI 2023.

The setup of all: Hawk, an HPE Apollo 9000 at HLRS, two AMD EPYC 7702 of 64 cores per node, InfiniBand HDR200;
Open MPI 4.1.4 and MVAPICH2; OSU benchmarks 7.0.1, the mean of ten runs with their standard deviation (section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from downbeat.pictures.picture import Picture
from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import experiment_run, operation_run
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.drawing.matrix import draw_matrix
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat.reproduce.figure import Drawn, Figure, Finding, Run
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.site import CROWDED_TOLERANCE, MPICH, OPEN_MPI, Site
from downbeat.reproduce.wording import above, below, between, microseconds

HAWK = "Hawk (two 64-core AMD EPYC per node, InfiniBand HDR200), Open MPI 4.1.4 and MVAPICH2, OSU benchmarks"
SIZES = "4,16,64,256,1K,4K,16K,64K,256K,1M"
SMALL = 1024  # bytes; the text calls messages small without saying where that ends
POINT = "Points: median over launches of the launches' medians; bars: smallest to largest launch. "
LATENCY = "latency_avg_median"
HARMONIZE, BARRIER = "harmonize", "mpi_barrier"
SHORT = {BARRIER: "barrier", HARMONIZE: "harmonize"}
STYLES = {BARRIER: ":", HARMONIZE: "--"}  # as in the paper
NEEDS_OPEN_MPI = "Open MPI, whose algorithms it compares"


@dataclass(frozen=True)
class Line:
    """An algorithm in the figures on scaling: how the paper and downbeat-bench call it."""

    label: str
    family: str  # run it belongs to
    algorithm: str
    colour: int


MVAPICH = Line("MPICH (for MVAPICH2)", "mpich", "default", 0)
DEFAULT = Line("Open MPI default", "openmpi", "default", 1)


def open_mpi_lines(*algorithms: str) -> tuple[Line, ...]:
    """Returns the lines of a figure: MPICH's default, Open MPI's, and some of its algorithms."""
    chosen = (Line(f"Open MPI {name}", "openmpi", name, 2 + i) for i, name in enumerate(algorithms))
    return (MVAPICH, DEFAULT, *chosen)


LINES = {
    "reduce": open_mpi_lines("linear", "binomial"),
    "bcast": open_mpi_lines("knomial", "binomial"),
    "allreduce": open_mpi_lines("nonoverlapping", "recursive_doubling"),
}


# Figure 1: timelines.


def timeline_runs(site: Site) -> tuple[Run, ...]:
    library = site.first_of(OPEN_MPI)
    if not library:
        return ()
    return tuple(
        operation_run(
            site,
            f"n{ranks}",
            library,
            ranks,
            ["reduce(type=int8)"],
            usual=200,
            sync=BARRIER,
            options={"sizes": "1", "barrier-algorithm": "linear,double_ring"},
            factors=2,
        )
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_timeline(results: Results) -> Drawn:
    timelines: list[Timeline] = []
    findings = []
    for label in results.have():
        data = results.datasets(label)[0]
        ranks = results.run(label).ranks
        medians = {}
        for cell, algorithm in enumerate(data["barrier_algorithm"].to_numpy()):
            line = median_sample(data, cell, "", "latency_avg")
            if line is None:
                continue
            mean = float((line.exit - line.entry).mean())
            timelines.append(
                Timeline(
                    f"barrier {algorithm}, {ranks} ranks: mean time in the reduction {mean:.2f} us",
                    line.begin,
                    line.entry,
                    line.exit,
                )
            )
        for algorithm, group in results.cells.query("label == @label").groupby("barrier_algorithm"):
            medians[str(algorithm)] = group.set_index("launch")[LATENCY]
        ratios = medians["double_ring"] / medians["linear"]
        findings.append(
            Finding(
                f"the same reduction looks slower behind double_ring than behind linear ({ranks} ranks)",
                "2.78 us behind linear, 9.98 us behind double_ring: 3.6 times as slow (3.5 in the text)",
                f"{microseconds(medians['linear'].median() * MICROSECONDS)} and "
                f"{microseconds(medians['double_ring'].median() * MICROSECONDS)}: {ratios.median():.2f} times "
                f"(launches {between(ratios)})",
                results.told_on(ranks, above(ratios.min(), ratios.max(), 1.0)),
            )
        )
    picture = draw_timelines(
        "schuchart2023-fig1",
        "A reduction of 1 byte behind two barrier algorithms",
        "One sample of the first launch for each barrier algorithm: that with the median latency. What the barrier "
        "leaves "
        "behind, the right ends of the blue bars, is the arrival pattern of the reduction.",
        timelines,
    )
    return Drawn((picture,), tuple(findings))


# Figure 2: the matrix.

REDUCE_ROWS = ("linear", "binary", "binomial", "in_order_binary")
BARRIER_COLUMNS = ("default", "linear", "double_ring", "recursive_doubling", "bruck", "tree")
# The paper's figure, us.
MATRIX = pd.DataFrame(
    [
        [7.68, 16.35, 0.24, 8.10, 7.59, 8.29],
        [1.58, 9.53, 22.39, 1.55, 1.59, 1.41],
        [1.03, 1.41, 1.89, 0.95, 1.04, 0.74],
        [1.07, 1.79, 3.18, 1.07, 1.07, 0.75],
    ],
    index=list(REDUCE_ROWS),
    columns=list(BARRIER_COLUMNS),
)


def matrix_runs(site: Site) -> tuple[Run, ...]:
    library = site.first_of(OPEN_MPI)
    if not library:
        return ()
    options = {
        "sizes": "4",
        "algorithm": "reduce=" + ",".join(REDUCE_ROWS),
        "barrier-algorithm": ",".join(BARRIER_COLUMNS),
    }
    cells = len(REDUCE_ROWS) * len(BARRIER_COLUMNS)
    return (operation_run(site, "matrix", library, site.node, ["reduce"], usual=500, options=options, factors=cells),)


def draw_reduce_matrix(results: Results) -> Drawn:
    cells = results.cells
    table = over_launches(cells, ("algorithm", "synchronizer", "barrier_algorithm"), LATENCY)
    barrier = table[table["synchronizer"] == BARRIER].pivot(
        index="algorithm", columns="barrier_algorithm", values="median"
    )
    frame = barrier.reindex(index=list(REDUCE_ROWS), columns=list(BARRIER_COLUMNS))
    harmonized = table[table["synchronizer"] == HARMONIZE].set_index("algorithm")["median"]
    drawn = frame.assign(**{HARMONIZE: harmonized.reindex(list(REDUCE_ROWS))})
    ranks = results.runs[0].ranks
    picture = draw_matrix(
        "schuchart2023-fig2",
        f"Latency of reductions of 4 bytes behind barriers, {ranks} ranks [us]",
        "Median over launches of the launches' medians; latency as OSU reports it, mean over ranks. The column "
        "harmonize is not in the paper: what the algorithms take from a common start.",
        drawn,
        "reduce algorithm",
        "barrier algorithm",
    )
    spread = {str(name): float(row.max() / row.min()) for name, row in frame.iterrows()}
    paper = {str(name): float(row.max() / row.min()) for name, row in MATRIX.iterrows()}
    across = frame.max() / frame.min()
    paper_across = MATRIX.max() / MATRIX.min()
    best = frame.idxmin()
    rows = [
        Finding(
            f"the barrier changes what {name.replace('_', ' ')} seems to take",
            f"largest / smallest over barriers {paper[name]:.1f}",
            f"{spread[name]:.2f}",
            # Below this, launches differ by as much from each other.
            spread[name] > 1.1,
        )
        for name in REDUCE_ROWS
    ]
    rows += [
        Finding(
            "the barrier matters as much as the reduction's algorithm",
            f"over algorithms {between(paper_across)}, over barriers {between(paper.values())}",
            f"over algorithms {between(across)}, over barriers {between(spread.values())}",
            max(spread.values()) >= across.median(),
        ),
        Finding(
            "which algorithm looks fastest depends on the barrier",
            "linear behind double_ring, binomial behind all others",
            ", ".join(f"{best[name]} behind {name}" for name in BARRIER_COLUMNS),
            best.nunique() > 1,
        ),
    ]
    return Drawn((picture,), tuple(rows))


# Figure 3: how processes leave a barrier.


def skew_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            f"n{ranks}",
            site.main(),
            ranks,
            "skew",
            {"sync": f"{BARRIER},{HARMONIZE}", "repetitions": str(site.repetitions(50)), "seed": "1"},
            seconds=1 if site.crowded(ranks) else 0.2,
            variables={"DOWNBEAT_TOLERANCE": CROWDED_TOLERANCE} if site.crowded(ranks) else {},
        )
        for ranks in site.counts
    )


def draw_skew(results: Results) -> Drawn:
    boxes = []
    medians: dict[tuple[str, int], float] = {}
    for label in results.have():
        ranks = results.run(label).ranks
        for synchronizer in (BARRIER, HARMONIZE):
            parts = []
            for data in results.datasets(label):
                one = data.isel(synchronizer=list(data["synchronizer"].to_numpy()).index(synchronizer))
                exits = one["exit"].to_numpy()[one["valid"].to_numpy() == 1]
                parts.append(np.ptp(exits, axis=1) * MICROSECONDS)
            values = np.concatenate(parts)
            if len(values):
                boxes.append(Box(str(ranks), synchronizer, values))
                medians[synchronizer, ranks] = float(np.median(values))
    picture = draw_boxes(
        "schuchart2023-fig3",
        "Exit skew of the barrier",
        "Time from the first rank's leaving the synchronizer to the last one's, 50 calls in each launch, all launches "
        "together. The paper's figure has the barrier alone; harmonize stands beside it as on the authors' slides. The "
        "axis is logarithmic, for the one lies far below the other where ranks have cores of their own.",
        [BoxPanel(boxes, "number of ranks on this node", "exit skew [us]", log_y=True)],
    )
    node = results.site.node
    growth = [medians[BARRIER, count] for count in results.site.counts if (BARRIER, count) in medians]
    findings = [
        Finding(
            "skew grows with the number of ranks",
            "single digits of us at one process per node; mean 60 us, outliers above 100 us at 16k processes",
            "medians " + ", ".join(microseconds(value) for value in growth),
            results.told_on(results.site.most, growth == sorted(growth) if len(growth) > 1 else None),
        )
    ]
    if (BARRIER, node) in medians and (HARMONIZE, node) in medians:
        ratio = medians[BARRIER, node] / max(medians[HARMONIZE, node], 1e-3)
        findings.append(
            Finding(
                "a common start has far less skew (slides)",
                "mostly below 0.5 us, outliers below 2 us, about 1/100 of the barrier's",
                f"median {microseconds(medians[HARMONIZE, node])}, the barrier's is {ratio:.1f} times that "
                f"on {node} ranks",
                ratio > 2,
            )
        )
    return Drawn((picture,), tuple(findings))


# Figures 6 to 14: scaling over sizes and over processes.


def line_runs(site: Site, collective: str, ranks: int, sizes: str, usual: int) -> list[Run]:
    """Returns the runs behind the lines of a collective: one under each MPI library that there is."""
    runs = []
    algorithms = [line.algorithm for line in LINES[collective] if line.family == "openmpi"]
    open_mpi, mpich = site.first_of(OPEN_MPI), site.first_of(MPICH)
    count = 1 + sizes.count(",")
    if open_mpi:
        options = {"sizes": sizes, "algorithm": f"{collective}={','.join(algorithms)}"}
        factors = count * len(algorithms)
        runs.append(
            operation_run(
                site, f"openmpi-n{ranks}", open_mpi, ranks, [collective], usual=usual, options=options, factors=factors
            )
        )
    # MPICH 4 takes some 10 ms per collective where ranks share cores.
    if mpich and not (site.crowded(ranks) and mpich == "mpich"):
        runs.append(
            operation_run(
                site,
                f"mpich-n{ranks}",
                mpich,
                ranks,
                [collective],
                usual=usual,
                options={"sizes": sizes},
                factors=count,
            )
        )
    return runs


def message_runs(collective: str, all_nodes: bool) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        ranks = site.most if all_nodes else site.node
        return tuple(line_runs(site, collective, ranks, "4,1K" if site.quick else SIZES, 200))

    return runs


def process_runs(collective: str) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        return tuple(run for ranks in site.counts for run in line_runs(site, collective, ranks, "4", 500))

    return runs


def with_lines(cells: pd.DataFrame, collective: str) -> pd.DataFrame:
    """Adds to cells the label of their line."""
    names = {(line.family, line.algorithm): line.label for line in LINES[collective]}
    lines = [
        names.get((str(label).partition("-")[0], str(algorithm)))
        for label, algorithm in zip(cells["label"], cells["algorithm"], strict=True)
    ]
    return cells.assign(line=pd.Series(lines, index=cells.index, dtype=object))


def deltas(cells: pd.DataFrame, position: str) -> pd.DataFrame:
    """Returns latency under the barrier / latency under harmonize, launch by launch (Schuchart 2023, section 6.1).

    The columns are `line`, the position, `launch` and `delta`.
    """
    wide = cells.pivot_table(index=["line", position, "launch"], columns="synchronizer", values=LATENCY)
    if not {BARRIER, HARMONIZE} <= set(wide.columns):
        return pd.DataFrame(columns=["line", position, "launch", "delta"])
    wide["delta"] = wide[BARRIER] / wide[HARMONIZE]
    return wide.dropna().reset_index()[["line", position, "launch", "delta"]]


def latency_series(cells: pd.DataFrame, collective: str, position: str, column: str) -> list[Series]:
    """Returns the lines of a panel of absolute times: dotted under the barrier, dashed under harmonize."""
    table = over_launches(cells, ("line", "synchronizer", position), column).sort_values(position)
    return [
        Series(
            f"{line.label}, {SHORT[synchronizer]}",
            part[position],
            part["median"],
            part["low"],
            part["high"],
            line.colour,
            STYLES[synchronizer],
            line.colour,
        )
        for line in LINES[collective]
        for synchronizer in (BARRIER, HARMONIZE)
        if len(part := table[(table["line"] == line.label) & (table["synchronizer"] == synchronizer)])
    ]


def delta_summary(frame: pd.DataFrame, line: str) -> tuple[float, float, float] | None:
    """Returns the geometric mean of a line's ratios over what is there, in the median, smallest and largest launch."""
    part = frame[frame["line"] == line]
    if part.empty:
        return None
    means = part.groupby("launch")["delta"].agg(lambda values: float(np.exp(np.log(values).mean())))
    return float(means.median()), float(means.min()), float(means.max())


@dataclass(frozen=True)
class Claim:
    """What the paper says of one line: whether the barrier makes it look slower (+1), faster (-1), no different (0)."""

    line: str
    direction: int
    paper: str
    small: bool = True  # of small messages alone


def claim_findings(frame: pd.DataFrame, claims: Sequence[Claim], ranks: int) -> list[Finding]:
    """Holds claims on the ratio against the data on so many ranks; two send the same one message by most algorithms."""
    words = {1: "looks slower behind the barrier", -1: "looks faster behind the barrier", 0: "is hardly affected"}
    findings = []
    for claim in claims:
        part = frame[frame["size"] <= SMALL] if claim.small and "size" in frame else frame
        summary = delta_summary(part, claim.line)
        if summary is None:
            findings.append(Finding(f"{claim.line} {words[claim.direction]}", claim.paper, "not measured here", None))
            continue
        middle, low, high = summary
        if claim.direction == 0:
            agrees: bool | None = low > 0.8 and high < 1.25
        else:
            agrees = above(low, high, 1.0) if claim.direction > 0 else below(low, high, 1.0)
        if ranks == 2 and claim.line not in (MVAPICH.label, DEFAULT.label):
            agrees = None
        where = f", sizes up to {SMALL} bytes" if claim.small and "size" in frame else ""
        findings.append(
            Finding(
                f"{claim.line} {words[claim.direction]}",
                claim.paper,
                f"delta {middle:.2f} (launches {low:.2f} to {high:.2f}{where})",
                agrees,
            )
        )
    return findings


def draw_messages(
    name: str, collective: str, reported_range: str, claims: Sequence[Claim], orders: bool = False
) -> Callable[[Results], Drawn]:
    """Returns the drawer of a figure on message sizes: absolute values and ratio."""

    def draw(results: Results) -> Drawn:
        cells = with_lines(results.cells, collective)
        frame = deltas(cells, "size")
        ranks = results.runs[0].ranks
        ratio = over_launches(frame, ("line", "size"), "delta", 1.0).sort_values("size")
        ratio_series = [
            Series(line.label, part["size"], part["median"], part["low"], part["high"], line.colour, "-", line.colour)
            for line in LINES[collective]
            if len(part := ratio[ratio["line"] == line.label])
        ]
        absolute = draw_panels(
            f"{name}a",
            f"MPI_{collective.capitalize()}, message scaling, {ranks} ranks: absolute values",
            POINT + "Latency as OSU reports it, mean over ranks. Dotted: behind MPI_Barrier; dashed: MPIX_Harmonize.",
            [
                Panel(
                    latency_series(cells, collective, "size", LATENCY),
                    "message size [bytes]",
                    "latency [us]",
                    log_x=True,
                    log_y=True,
                    bytes_x=True,
                )
            ],
        )
        relative = draw_panels(
            f"{name}b",
            f"MPI_{collective.capitalize()}, message scaling, {ranks} ranks: ratio",
            POINT
            + "Latency behind MPI_Barrier / latency from the common start, of the same launch. Above 1 the barrier "
            "makes the operation look slower.",
            [
                Panel(
                    ratio_series,
                    "message size [bytes]",
                    "delta = barrier / harmonize",
                    log_x=True,
                    log_y=True,
                    bytes_x=True,
                    line_at=1.0,
                )
            ],
        )
        findings = [
            Finding(
                "range of delta over algorithms and sizes",
                reported_range,
                between(ratio["median"]),
                None,
                is_claim=False,
            ),
            *claim_findings(frame, claims, ranks),
        ]
        if orders:
            findings.append(order_finding(cells, collective))
        judged = (replace(one, agrees=results.told_on(ranks, one.agrees)) for one in findings)
        return Drawn((absolute, relative), tuple(judged))

    return draw


def order_finding(cells: pd.DataFrame, collective: str) -> Finding:
    """Holds against the data that the order of Open MPI's algorithms is the same under both synchronizers."""
    claim, paper = "the order of Open MPI's algorithms does not depend on the synchronizer", "the same at all sizes"
    chosen = [line.label for line in LINES[collective] if line.family == "openmpi" and line.algorithm != "default"]
    table = over_launches(cells[cells["line"].isin(chosen)], ("line", "synchronizer", "size"), LATENCY)
    if table.empty:
        return Finding(claim, paper, "not measured here", None)
    fastest = table.loc[table.groupby(["synchronizer", "size"])["median"].idxmin()]
    wide = fastest.pivot(index="size", columns="synchronizer", values="line").dropna()
    if not {BARRIER, HARMONIZE} <= set(wide.columns) or wide.empty:
        return Finding(claim, paper, "not measured here", None)
    same = int((wide[BARRIER] == wide[HARMONIZE]).sum())
    return Finding(claim, paper, f"the same at {same} of {len(wide)} sizes ({' and '.join(chosen)})", same == len(wide))


def draw_processes(
    name: str, collective: str, findings_of: Callable[[pd.DataFrame], list[Finding]]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of a figure on numbers of processes; that of reduce has the largest latency besides."""

    def draw(results: Results) -> Drawn:
        cells = with_lines(results.cells, collective)
        pictures: list[Picture] = []
        kinds = [("", "average", LATENCY)]
        if collective == "reduce":
            kinds = [("a", "average", LATENCY), ("b", "maximum", "latency_max_median")]
        for letter, kind, column in kinds:
            pictures.append(
                draw_panels(
                    f"{name}{letter}",
                    f"MPI_{collective.capitalize()}, process scaling, 4 bytes: {kind} latency",
                    POINT + f"Latency: {kind} over ranks. Dotted: behind MPI_Barrier; dashed: MPIX_Harmonize. "
                    f"Above {results.site.cores} ranks they share cores.",
                    [
                        Panel(
                            latency_series(cells, collective, "ranks", column),
                            "number of processes",
                            f"{kind} latency [us]",
                            log_x=True,
                            log_y=True,
                        )
                    ],
                )
            )
        # All claims are about ranks with a core each.
        judged = cells[cells["ranks"] <= results.site.node]
        findings = (*stability(judged), *findings_of(judged))
        return Drawn(tuple(pictures), findings)

    return draw


def stability(cells: pd.DataFrame) -> list[Finding]:
    """Compares how uneven lines over processes are: the mean second difference of their logarithms."""
    claim = "lines over processes are smoother from the common start"
    paper = "pronounced oscillations behind the barrier, stable with MPIX_Harmonize"
    table = over_launches(cells, ("line", "synchronizer", "ranks"), LATENCY).sort_values("ranks")
    uneven = {}
    for synchronizer, part in table.groupby("synchronizer"):
        lines = [np.log(line["median"].to_numpy()) for _, line in part.groupby("line") if len(line) > 3]
        if lines:
            uneven[str(synchronizer)] = float(np.mean([np.abs(np.diff(line, 2)).mean() for line in lines]))
    if len(uneven) < 2:
        count = table["ranks"].nunique()
        return [Finding(claim, paper, f"{count} numbers of ranks are too few to see oscillations", None)]
    return [
        Finding(
            claim,
            paper,
            f"mean second difference of log latency {uneven[BARRIER]:.2f} behind the barrier, {uneven[HARMONIZE]:.2f} "
            "from the common start",
            uneven[HARMONIZE] < uneven[BARRIER],
        )
    ]


def metric_finding(cells: pd.DataFrame) -> list[Finding]:
    """The paper's note on the choice of metric: linear's average falls while its maximum rises."""
    line = "Open MPI linear"
    part = cells[(cells["line"] == line) & (cells["synchronizer"] == HARMONIZE)]
    claim = "linear: the average falls with the number of processes, the maximum does not"
    paper = "most processes leave at once and bring the mean down; the maximum tells what an application waits for"
    if part["ranks"].nunique() < 2:
        return [Finding(claim, paper, "one number of ranks alone", None)]
    ends = []
    for column in (LATENCY, "latency_max_median"):
        table = over_launches(part, ("ranks",), column).sort_values("ranks")["median"].to_numpy()
        ends.append((table[0], table[-1]))
    (first, last), (first_max, last_max) = ends
    return [
        Finding(
            claim,
            paper,
            f"average {first:.2f} to {last:.2f} us, maximum {first_max:.2f} to {last_max:.2f} us, from "
            f"{part['ranks'].min()} to {part['ranks'].max()} ranks",
            bool(last < first and last_max >= first_max),
        )
    ]


def knomial_finding(cells: pd.DataFrame) -> list[Finding]:
    frame = deltas(cells, "ranks")
    part = frame[frame["line"] == "Open MPI knomial"].groupby("ranks")["delta"].median()
    return [
        Finding(
            "knomial suffers most from the barrier's choice",
            "its latency varies over processes behind the barrier, and is stable with MPIX_Harmonize",
            "delta " + ", ".join(f"{value:.2f} on {ranks} ranks" for ranks, value in part.items()),
            None,
        )
    ]


def library_finding(cells: pd.DataFrame) -> list[Finding]:
    """Fig. 14: whether the synchronizer decides which library looks faster."""
    claim = "at either end of the range MVAPICH2 looks faster behind the barrier, Open MPI from the common start"
    paper = "the comparison tips in favour of Open MPI with MPIX_Harmonize"
    part = cells[cells["line"].isin([MVAPICH.label, DEFAULT.label])]
    wide = part.pivot_table(index=["ranks", "synchronizer"], columns="line", values=LATENCY, aggfunc="median").dropna()
    if not {MVAPICH.label, DEFAULT.label} <= set(wide.columns) or wide.empty:
        return [Finding(claim, paper, "two MPI libraries are needed", None)]
    ratio = (wide[DEFAULT.label] / wide[MVAPICH.label]).unstack()
    told = "; ".join(
        f"{ranks} ranks: {row[BARRIER]:.2f} behind the barrier, {row[HARMONIZE]:.2f} from the common start"
        for ranks, row in ratio.dropna().iterrows()
    )
    tips = ((ratio[BARRIER] > 1) & (ratio[HARMONIZE] < 1)).any()
    return [Finding(claim, paper, f"Open MPI / MPICH: {told}", bool(tips))]


# Figures 15 and 16: the clocks.

CLOCK_VARIABLES = {"DOWNBEAT_VALIDATION": "offset=1e-3,skew=8e-6,wander=20e-9,seed=8"}


def clock_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        experiment_run(
            f"n{ranks}",
            site.main(),
            ranks,
            "clock",
            {"schemes": "hca3_offset", "waits": "0", "repetitions": str(site.repetitions(50)), "seed": "1"},
            seconds=3 if site.crowded(ranks) else 0.5,
            variables=CLOCK_VARIABLES,
        )
        for ranks in site.counts
    )


def draw_clock_duration(results: Results) -> Drawn:
    boxes = []
    medians = []
    for label in results.have():
        values = np.concatenate([data["duration"].to_numpy().ravel() for data in results.datasets(label)]) * 1e3
        boxes.append(Box(str(results.run(label).ranks), "hca3_offset", values))
        medians.append(float(np.median(values)))
    picture = draw_boxes(
        "schuchart2023-fig15",
        "Duration of clock synchronization",
        "50 synchronizations in each launch by hca3_offset, the paper's scheme, all launches together; largest over "
        "ranks. "
        "Every rank has a clock of its own, as if it were a node. The first synchronization of a launch, which sets up "
        "connections, is not among them; in the paper it is, and is the outlier.",
        [BoxPanel(boxes, "number of processes", "duration [ms]")],
    )
    share = max(medians) / 1e3
    findings = [
        Finding(
            "it takes hundreds of us at small scale and grows into milliseconds",
            "a few hundred us, some ms at 16k processes (below 2 % of the second between synchronizations)",
            ", ".join(f"{box.group} ranks {value * 1e3:.3g} us" for box, value in zip(boxes, medians, strict=True)),
            results.told_on(results.site.most, medians == sorted(medians) if len(medians) > 1 else None),
        ),
        Finding("one per second costs below 2 %", "less than 2 % at 16k processes", f"{share:.2%}", share < 0.02),
    ]
    return Drawn((picture,), tuple(findings))


def draw_clock_accuracy(results: Results) -> Drawn:
    boxes = []
    largest: dict[int, float] = {}
    means: dict[int, float] = {}
    outside = 0
    for label in results.have():
        ranks = results.run(label).ranks
        files = results.datasets(label)
        measured = np.concatenate([np.abs(data["offset"].to_numpy()[..., 1:]).ravel() for data in files]) * MICROSECONDS
        true = np.concatenate([np.abs(data["true_error"].to_numpy()[..., 1:]).ravel() for data in files]) * MICROSECONDS
        bounds = np.concatenate([data["error_bound"].to_numpy()[..., 1:].ravel() for data in files]) * MICROSECONDS
        boxes += [Box(str(ranks), "measured, as in the paper", measured), Box(str(ranks), "true error", true)]
        largest[ranks] = float(true.max())
        means[ranks] = float(true.mean())
        outside += int((true > bounds).sum())
    # An exchange of ranks that share a core takes as long as they wait for it.
    judged = [ranks for ranks in largest if not results.site.crowded(ranks)] or list(largest)
    picture = draw_boxes(
        "schuchart2023-fig16",
        "Synchronization accuracy",
        "Absolute offset of every rank's global clock to rank 0's directly after each of 50 synchronizations, all "
        "launches "
        "together: measured by ping-pong, the smallest of ten as the papers do, and computed from the clocks' known "
        "errors. The paper checks 1 % of the processes in 20 repetitions.",
        [BoxPanel(boxes, "number of processes", "offset [us]")],
    )
    findings = [
        Finding(
            "the mean error stays well below 1 us",
            "below 1 us at all numbers of processes",
            "true errors: means " + ", ".join(f"{value:.3g} us on {ranks} ranks" for ranks, value in means.items()),
            results.told_on(results.site.node, max(means[ranks] for ranks in judged) < 1),
        ),
        Finding(
            "outliers stay below 2 us",
            "below 2 us",
            "largest true errors " + ", ".join(f"{value:.3g} us on {ranks} ranks" for ranks, value in largest.items()),
            results.told_on(results.site.node, max(largest[ranks] for ranks in judged) < 2),
        ),
        Finding(
            "the library's bound holds (not in the paper)",
            "no bound is known there",
            f"{outside} true errors beyond it",
            outside == 0,
        ),
    ]
    return Drawn((picture,), tuple(findings))


def full_node(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        alike = "; on 2 ranks most algorithms are the same one message" if site.node == 2 else ""
        return f"{site.node} ranks of 128 on one node: {what}{alike}"

    return shows


def many_nodes(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{site.worth(site.most)}; no network, 1 node of 128: {what}"

    return shows


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{', '.join(map(str, site.counts))} ranks of 16384 on 1 node of 128, {site.cores} cores: {what}"

    return shows


def message_figure(
    number: int, collective: str, all_nodes: bool, reports: tuple[str, ...], reported: str, claims: Sequence[Claim]
) -> Figure:
    name = f"schuchart2023-fig{number}"
    where = "16k processes, 128 per node" if all_nodes else "128 processes, one node"
    shown = (
        "what a barrier does when ranks wait for cores, not the network"
        if all_nodes
        else "the direction of delta, not its size"
    )
    return Figure(
        name=name,
        title=f"MPI_{collective.capitalize()} over message sizes on {'16k' if all_nodes else '128'} processes",
        setup=f"{HAWK}; {where}; MPI_Barrier against MPIX_Harmonize, absolute (a) and as ratio (b).",
        reports=reports,
        needs=f"{'16384 ranks on 128 nodes' if all_nodes else '128 ranks on one node'}, Open MPI and MVAPICH2",
        shows=many_nodes(shown) if all_nodes else full_node(shown),
        runs=message_runs(collective, all_nodes),
        draw=draw_messages(name, collective, reported, claims, orders=collective == "bcast" and all_nodes),
    )


def process_figure(
    number: int,
    collective: str,
    reports: tuple[str, ...],
    findings_of: Callable[[pd.DataFrame], list[Finding]],
) -> Figure:
    name = f"schuchart2023-fig{number}"
    return Figure(
        name=name,
        title=f"MPI_{collective.capitalize()} of 4 bytes over numbers of processes",
        setup=f"{HAWK}; 128 (one node) to 16k processes (128 nodes), messages of 4 bytes.",
        reports=reports,
        needs="128 to 16384 ranks on 1 to 128 nodes, Open MPI and MVAPICH2",
        shows=counts_of("both synchronizers at each count; oscillations need more counts"),
        runs=process_runs(collective),
        draw=draw_processes(name, collective, findings_of),
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="schuchart2023-fig1",
        title="Timelines of MPI_Reduce behind two barrier algorithms",
        setup="OSU's benchmark of MPI_Reduce with 1 byte on 16 processes, Open MPI, traced with Score-P; barrier "
        "algorithms linear (a) and double_ring (b).",
        reports=(
            "The same reduction is reported as 2.78 us behind linear and as 9.98 us behind double_ring.",
            "Behind double_ring ranks 1 to 7 leave before the root and wait for it; ranks 8 to 15 leave late and spend "
            "almost no time in the reduction. The barrier's exit pattern is the reduction's arrival pattern.",
        ),
        needs="16 ranks with a core each, Open MPI",
        shows=lambda site: f"{site.worth(site.node)}, and {site.worth(site.most)}: the pattern's beginning",
        runs=timeline_runs,
        draw=draw_timeline,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        name="schuchart2023-fig2",
        title="Latency of reduce algorithms behind barrier algorithms, a matrix",
        setup=f"{HAWK}; MPI_Reduce with 4 bytes on 128 processes of one node, every algorithm of Open MPI behind each "
        "of "
        "its barriers.",
        reports=(
            "The barrier changes the reported latency as much as the choice of the reduction's algorithm does: "
            "linear takes "
            "0.24 us behind double_ring, the lowest of all, and 16.35 us behind linear, the second highest.",
            "Behind every barrier but double_ring, binomial looks fastest (0.74 to 1.41 us).",
        ),
        needs="128 ranks on one node, Open MPI",
        shows=full_node("that the barrier matters, and in which order; not the scale"),
        runs=matrix_runs,
        draw=draw_reduce_matrix,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        name="schuchart2023-fig3",
        title="Exit skew of MPI_Barrier over numbers of nodes",
        setup="Hawk; 50 calls of MPI_Barrier for each configuration, up to 128 nodes, with 1 (a) and 128 (b) "
        "processes per "
        "node. Skew: time between the first and the last process leaving.",
        reports=(
            "With one process per node (a) mostly single digits of us, widely spread, outliers up to 14 us.",
            "With 128 per node (b) much more: a mean of 60 us and outliers above 100 us at 16k processes, where a "
            "reduction "
            "of 4 bytes is reported to take 30 us.",
        ),
        needs="128 nodes with 128 ranks each",
        shows=lambda site: (
            f"part (b) for 1 node of 128, {', '.join(map(str, site.counts))} ranks of 128; not (a), which "
            "needs several nodes"
        ),
        runs=skew_runs,
        draw=draw_skew,
    ),
    message_figure(
        6,
        "reduce",
        False,
        (
            "The ratio delta, latency behind MPI_Barrier over latency with MPIX_Harmonize, lies between 0.6 and 1.8.",
            "Linear looks slower with MPIX_Harmonize than behind the barrier, binomial looks faster at all sizes.",
        ),
        "0.6 to 1.8",
        (
            Claim("Open MPI linear", -1, "higher latency with MPIX_Harmonize: delta below 1", small=False),
            Claim("Open MPI binomial", 1, "consistently lower latency with MPIX_Harmonize: delta above 1", small=False),
        ),
    ),
    message_figure(
        7,
        "reduce",
        True,
        (
            "Binomial has up to 10 times lower latency with MPIX_Harmonize, linear more than 10 times higher.",
            "MVAPICH2 is affected less: half the latency for small messages.",
        ),
        "below 0.1 to 10",
        (
            Claim("Open MPI linear", -1, "more than 10 times higher with MPIX_Harmonize", small=False),
            Claim("Open MPI binomial", 1, "up to 10 times lower with MPIX_Harmonize", small=False),
            Claim(MVAPICH.label, 1, "2 times lower with MPIX_Harmonize for small messages"),
        ),
    ),
    process_figure(
        8,
        "reduce",
        (
            "Average (a) and maximum latency (b) oscillate behind the barrier; with MPIX_Harmonize the curves are "
            "smooth.",
            "The average latency of linear falls as processes are added, since most of them send eagerly and leave "
            "at once; the "
            "maximum tells more of what an application waits for.",
        ),
        metric_finding,
    ),
    message_figure(
        9,
        "bcast",
        False,
        (
            "MVAPICH2 has 9 times higher latency for small messages with MPIX_Harmonize than behind MPI_Barrier.",
            "Open MPI, and MVAPICH2 in the middle of the range, mostly have lower latency with MPIX_Harmonize.",
        ),
        "about 0.11 (MVAPICH2) to above 1",
        (
            Claim(MVAPICH.label, -1, "9 times higher with MPIX_Harmonize for small messages: delta 0.11"),
            Claim(DEFAULT.label, 1, "mostly lower with MPIX_Harmonize", small=False),
            Claim("Open MPI knomial", 1, "mostly lower with MPIX_Harmonize", small=False),
        ),
    ),
    message_figure(
        10,
        "bcast",
        True,
        (
            "MVAPICH2 behaves as on one node; Open MPI's differences are smaller.",
            "The order of the two algorithms shown for Open MPI does not change with the synchronizer.",
        ),
        "as Fig. 9 for MVAPICH2, nearer to 1 for Open MPI",
        (Claim(MVAPICH.label, -1, "higher with MPIX_Harmonize for small messages"),),
    ),
    process_figure(
        11,
        "bcast",
        (
            "Most implementations vary considerably over the numbers of processes behind MPI_Barrier, knomial of "
            "Open MPI "
            "most of all; with MPIX_Harmonize they are stable.",
        ),
        knomial_finding,
    ),
    message_figure(
        12,
        "allreduce",
        False,
        (
            "The barrier distorts MPI_Allreduce less than the rooted operations.",
            "Nonoverlapping, which is a reduction and a broadcast, is affected most of what is shown.",
        ),
        "near 1, except nonoverlapping",
        (
            Claim(DEFAULT.label, 0, "less significant than for rooted operations", small=False),
            Claim(MVAPICH.label, 0, "less significant than for rooted operations", small=False),
        ),
    ),
    message_figure(
        13,
        "allreduce",
        True,
        (
            "MVAPICH2 and nonoverlapping each have, at some sizes, 5 times higher latency with MPIX_Harmonize (ratio "
            "0.2).",
            "Behind MPI_Barrier MVAPICH2 looks faster than Open MPI's default, with MPIX_Harmonize it is the other "
            "way round.",
        ),
        "down to 0.2",
        (
            Claim(MVAPICH.label, -1, "down to 0.2", small=False),
            Claim("Open MPI nonoverlapping", -1, "down to 0.2", small=False),
        ),
    ),
    process_figure(
        14,
        "allreduce",
        (
            "At the lower and the higher end of the range the comparison of Open MPI and MVAPICH2 tips in favour of "
            "Open MPI when "
            "MPIX_Harmonize takes the place of MPI_Barrier.",
        ),
        library_finding,
    ),
    Figure(
        name="schuchart2023-fig15",
        title="Duration of clock synchronization over numbers of processes",
        setup="Hawk, 128 processes per node; HCA3 without drift model, 50 repetitions at each number of processes.",
        reports=(
            "Some hundred us at small scale, milliseconds at large; below 2 % of the time at 16k processes where "
            "clocks are "
            "synchronized every second.",
            "Outliers are the first repetition at each point, which sets up connections.",
        ),
        needs="128 to 16384 ranks on 1 to 128 nodes",
        shows=counts_of("growth with the tree's depth over shared memory; clocks are made different"),
        runs=clock_runs,
        draw=draw_clock_duration,
    ),
    Figure(
        name="schuchart2023-fig16",
        title="Accuracy of clock synchronization over numbers of processes",
        setup="Hawk, 128 processes per node; after a synchronization the offset of 1 % of the processes to the root is "
        "measured, 20 times; processes from the middle and upper range, which are farthest from the root.",
        reports=(
            "The mean stays well below 1 us at all numbers of processes; outliers at larger scale stay below 2 us.",
        ),
        needs="128 to 16384 ranks on 1 to 128 nodes",
        shows=counts_of("measured and true error over shared memory; clocks are made different"),
        runs=clock_runs,
        draw=draw_clock_accuracy,
        data="schuchart2023-fig15",
    ),
)
