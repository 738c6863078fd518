"""The figures of Niethammer et al.: Impact of the Entering Time on the Performance of MPI Collective Operations (2016).

The paper draws two machines of Cray, Hornet and Hazel Hen; one machine stands for both here, and the figures of the
second are drawn from the launches of the first. Global times are the smallest of 100 samples (section IV).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import experiment_run, operation_run
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels
from downbeat.reproduce.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat.reproduce.figure import Drawn, Figure, Finding, Run
from downbeat.reproduce.results import NoSamplesError, Results, over_launches
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import between, microseconds

CRAY = "Cray MPI; the smallest global time, first entry to last exit, of 100 measurements"
HORNET = f"Hornet (Cray XE6, Gemini), up to 16384 processes, {CRAY}"
HAZEL_HEN = f"Hazel Hen (Cray XC40, Aries), {CRAY}"
NEAR_ZERO = 0.05  # overlap benefit that is called none
# Percentage points: below, benefits are differences of long times within the error of the clocks.
TELLING = 1.0
POINT = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "


# Table II: clock offsets.

OFFSETS = 100


def offset_runs(site: Site) -> tuple[Run, ...]:
    duration = 0.05 if site.quick else 1.0
    return tuple(
        experiment_run(
            f"n{ranks}",
            site.main(),
            ranks,
            "drift",
            # An exchange at a time, so that their spread is seen.
            {
                "pairs": ",".join(f"0:{rank}" for rank in range(1, min(ranks, 12))),
                "duration": f"{duration:g}",
                "interval": f"{duration / (OFFSETS - 1):.6f}",
                "estimator": "cristian(exchanges=1)",
            },
            seconds=2.0,
            most_launches=1,
        )
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_offset_table(results: Results) -> Drawn:
    panels: list[Panel] = []
    tables = []
    findings = []
    for label in results.have():
        run = results.run(label)
        data = results.datasets(label)[0]
        offsets = data["offset"].to_numpy()
        ranks = [0, *(int(rank) for rank in data["answerer"].to_numpy())]
        means = np.array([0.0, *offsets.mean(axis=1)])
        deviations = np.array([0.0, *offsets.std(axis=1, ddof=1)])
        low, high = (means - deviations) * MICROSECONDS, (means + deviations) * MICROSECONDS
        series = Series("", ranks, means * MICROSECONDS, low, high, len(panels), "", 0)
        panels.append(Panel([series], "rank", "mean offset [us]", f"{run.ranks} ranks"))
        tables.append(
            pd.DataFrame(
                {"ranks": run.ranks, "rank": ranks, "mean_offset_s": means, "standard_deviation_s": deviations}
            )
        )
        findings.append(
            Finding(
                f"offsets on one node are measured with a standard deviation of at most 2 us ({run.ranks} ranks)",
                "0 to 2 us",
                f"{between(deviations[1:] * MICROSECONDS, ' us')}",
                results.told_on(run.ranks, bool((deviations * MICROSECONDS <= 2).all())),
            )
        )
    findings.append(
        Finding(
            "ranks of a node have the same offset, nodes differ by milliseconds",
            "0 within the first node; -17.258 and -11.140 ms of the two others, the same for the four ranks of each",
            "each rank's clock counts from when the rank began, so that offsets are differences of these instants",
            None,
        )
    )
    picture = draw_panels(
        "niethammer2016-tab2",
        "Clock offset of each rank to rank 0",
        f"The table as a picture, its numbers below: mean of {OFFSETS} measurements, bars of one standard deviation on "
        "either side. All ranks read one clock, each from its own beginning.",
        panels,
    )
    return Drawn((replace(picture, numbers=pd.concat(tables, ignore_index=True)),), tuple(findings))


# Figures 2 and 3: timelines.


def timeline_runs(site: Site) -> tuple[Run, ...]:
    return tuple(
        operation_run(site, f"n{ranks}", site.main(), ranks, ["bcast"], usual=200, options={"sizes": "8"})
        for ranks in dict.fromkeys((site.node, site.most))
    )


def draw_timeline(name: str, synchronizers: Sequence[str]) -> Callable[[Results], Drawn]:
    def draw(results: Results) -> Drawn:
        lines: list[Timeline] = []
        skews: dict[tuple[str, int], float] = {}
        for label in results.have():
            data = results.datasets(label)[0]
            ranks = results.run(label).ranks
            names = [str(one) for one in data["synchronizer"].to_numpy()]
            for synchronizer in synchronizers:
                line = median_sample(data, names.index(synchronizer), "", "exit_skew")
                if line is None:
                    continue
                title = f"{synchronizer}, {ranks} ranks: exits {line.spread:.3g} us apart"
                lines.append(Timeline(title, line.begin, line.entry, line.exit))
                medians = over_launches(results.cells.query("label == @label"), ("synchronizer",), "exit_skew_median")
                skews[synchronizer, ranks] = float(medians.set_index("synchronizer")["median"][synchronizer])
        picture = draw_timelines(
            name,
            "Ranks between the synchronizer and the operation",
            "One sample of the first launch for each timeline, that with the median exit skew; the operation is a "
            "broadcast of 8 "
            "bytes. Stamps are on the global clock; the paper's timelines also show the calls of the timer.",
            lines,
        )
        node = results.site.node
        barrier = skews.get(("mpi_barrier", node), np.nan)
        told = ", ".join(f"{one} on {ranks} ranks {microseconds(value)}" for (one, ranks), value in skews.items())
        if len(synchronizers) == 1:
            finding = Finding(
                "processes leave a barrier one after another, in a pattern that is that of a tree",
                "about 4 us between 32 processes on two nodes",
                f"median exit skew: {told}",
                None,
            )
        else:
            common = skews.get(("harmonize", node), np.nan)
            finding = Finding(
                "a start by the clock is much flatter than a barrier's end",
                "visibly, for 24 processes of one node of Hazel Hen, with gettimeofday as clock",
                f"median exit skew: {told}",
                bool(common < 0.8 * barrier) if np.isfinite(common) and np.isfinite(barrier) else None,
            )
        return Drawn((picture,), (finding,))

    return draw


# Figures 5 to 16: late arrivals.

SIZES = (8, 128, 1024)


def delay_runs(operation: str, delays: str, sizes: bool) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        options = {"pattern": "one_late", "delay": delays}
        if sizes:
            options["sizes"] = ",".join(map(str, SIZES))
        factors = (2 + delays.count(",")) * (len(SIZES) if sizes else 1)
        return tuple(
            operation_run(
                site,
                f"n{ranks}",
                site.main(),
                ranks,
                [operation, f"i{operation}"],
                usual=100,
                sync="harmonize",
                options=options,
                factors=2 * factors,
            )
            for ranks in site.counts
        )

    return runs


def name_of(operation: str) -> str:
    """Returns an operation as the paper's legends call it."""
    return operation.capitalize()


def delay_us(cells: pd.DataFrame) -> pd.Series:
    """Returns the delay of cells as it was asked for, in us; 0 without."""
    return (cells["largest_delay"].fillna(0.0) * MICROSECONDS).round(3)


def global_series(
    table: pd.DataFrame, operation: str, size: int, delay: float, label: str, colour: int | str, style: str, marker: int
) -> Series | None:
    """Returns the line of global times over processes of an operation, size and delay."""
    part = table[(table["operation"] == operation) & (table["size"] == size) & (table["delay"] == delay)]
    if part.empty:
        return None
    return Series(label, part["ranks"], part["median"], part["low"], part["high"], colour, style, marker)


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
    plain = table[(table["delay"] == 0) & (table["operation"] == "barrier")].set_index("ranks")["median"]
    counts = len(plain)
    findings = [
        Finding(
            "without delay the time grows with the logarithm of the number of processes, up to 2048",
            "nearly logarithmic to about 2048 processes, then linear",
            ", ".join(f"{ranks} ranks {microseconds(value)}" for ranks, value in plain.items()),
            None if counts < 3 or results.site.crowded(results.site.most) else bool(plain.is_monotonic_increasing),
        ),
        delay_finding(table, results),
    ]
    return Drawn((picture,), tuple(findings))


def delay_finding(table: pd.DataFrame, results: Results) -> Finding:
    """Holds against the data that a delay that is longer than the operation just adds to it, on ranks with cores."""
    part = table[(table["ranks"] == results.site.node) & (table["delay"] == table["delay"].max())]
    plain = table[(table["ranks"] == results.site.node) & (table["delay"] == 0)]
    joined = part.merge(plain, on=["operation", "size"], suffixes=("", "_plain"))
    extra = joined["median"] - joined["delay"] - joined["median_plain"]
    return Finding(
        "with a delay the global time is that without plus the delay, less what overlaps",
        "the curves with a delay lie above those without by somewhat less than the delay",
        f"time - delay - time without: {between(extra, ' us')} on {results.site.node} ranks, delay "
        f"{joined['delay'].max():g} us",
        bool((extra.abs() < 0.1 * joined["delay"]).all()) if len(joined) else None,
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
        plain = table[(table["delay"] == 0) & (table["size"] == 8)]
        told = "; ".join(
            f"{kind} "
            + ", ".join(
                f"{ranks} ranks {microseconds(value)}"
                for ranks, value in zip(part["ranks"], part["median"], strict=True)
            )
            for kind, part in plain.groupby("operation")
        )
        scaling = Finding(
            "times without delay, for scaling",
            SCALING[name],
            told,
            None,
            is_claim=False,
        )
        return Drawn((picture,), (scaling, delay_finding(table[table["size"] == 8], results)))

    return draw


SCALING = {
    "niethammer2016-fig7": "logarithmic to 1024 processes, less than 5 us per doubling; then up to 100 us per doubling",
    "niethammer2016-fig9": "good scaling to over 1000 processes",
    "niethammer2016-fig11": "nearly linear to 16384 processes",
    "niethammer2016-fig13": "linear as on Hornet; blocking faster than nonblocking",
    "niethammer2016-fig15": "scales well",
}


def draw_benefits(
    name: str, operation: str, lines: Sequence[tuple[int, float]], claims: Sequence[str]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of overlap benefits over processes.

    Args:
        name: of the picture.
        operation: the blocking one.
        lines: size and delay in us of each pair of lines.
        claims: names out of `CLAIMS`.
    """

    def draw(results: Results) -> Drawn:
        cells = results.cells.assign(delay=delay_us(results.cells))
        delayed = cells[cells["delay"] > 0]
        table = over_launches(delayed, ("operation", "size", "delay", "ranks"), "overlap_benefit_min", 100.0)
        table = table.sort_values("ranks")
        if not {operation, f"i{operation}"} <= set(on_cores(table, results)["operation"]):
            raise NoSamplesError(f"not both of {operation} and i{operation} have valid samples with a delay")
        series = []
        for position, (size, delay) in enumerate(lines):
            for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1)):
                text = f"{name_of(kind)} {size} B" if size else f"{name_of(kind)} {delay:g} us"
                line = global_series(table, kind, size, delay, text, position, style, marker)
                if line:
                    series.append(line)
        picture = draw_panels(
            name,
            f"Delay overlap benefit of MPI_{name_of(operation)}",
            "(t0 + delay - t) / t (Eq. 5), t0 and t the smallest global times without and with delay, delay as it "
            "was achieved; "
            "median over launches, bars: smallest to largest launch. 0: the delay just adds. Solid: blocking; "
            "dashed: nonblocking.",
            [Panel(series, "number of processes", "delay overlap benefit [%]", log_x=True, line_at=0.0)],
        )
        return Drawn((picture,), tuple(CLAIMS[claim](on_cores(table, results)) for claim in claims))

    return draw


def on_cores(table: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Keeps numbers of processes that have a core each, where there are such."""
    kept = table[table["ranks"] <= results.site.node]
    return kept if len(kept) else table


def told(values: pd.Series) -> bool | None:
    """Whether values are above 0 in most cases; None where all are too near to it to tell."""
    return bool((values > 0).mean() > 0.5) if (values.abs() > TELLING).any() else None


def mostly_positive(table: pd.DataFrame) -> Finding:
    values = table["median"]
    return Finding(
        "the benefit is positive in most cases: a part of the delay is hidden",
        "mostly (barrier), slight at small numbers of processes (allreduce on Hornet), nearly always (Hazel Hen)",
        f"{int((values > 0).sum())} of {len(values)} benefits above 0, {between(values, ' %')}",
        told(values),
    )


def near_zero(table: pd.DataFrame) -> Finding:
    values = table.loc[table["size"] == 8, "median"] / 100
    return Finding(
        "there is no benefit for small messages (8 bytes)",
        "zero effect",
        f"benefits {between(100 * values, ' %')}",
        bool((values.abs() < NEAR_ZERO).all()) if len(values) else None,
    )


def size_matters_not(table: pd.DataFrame) -> Finding:
    spread = table.groupby(["operation", "ranks"])["median"].agg(lambda values: float(np.ptp(values)))
    return Finding(
        "the size does not matter for the benefit, from 8 to 1024 bytes",
        "no influence",
        f"benefits of the three sizes differ by {between(spread, ' percentage points')}",
        bool((spread < 100 * NEAR_ZERO).all()),
    )


def more_by(table: pd.DataFrame, nonblocking: bool) -> pd.Series:
    """Returns by how many percentage points one form has more benefit than the other."""
    forms = table.assign(form=table["operation"].str.startswith("i"))
    wide = forms.pivot_table(index=["size", "delay", "ranks"], columns="form", values="median")
    return wide[nonblocking] - wide[not nonblocking]


def nonblocking_better(table: pd.DataFrame) -> Finding:
    more = more_by(table, nonblocking=True)
    return Finding(
        "the nonblocking form has slightly more benefit",
        "slightly",
        f"by {between(more, ' percentage points')}",
        told(more),
    )


def blocking_better(table: pd.DataFrame) -> Finding:
    more = more_by(table, nonblocking=False)
    return Finding(
        "the blocking form has more benefit than the nonblocking one",
        "so on Hazel Hen",
        f"by {between(more, ' percentage points')}",
        told(more),
    )


def order_of_delays(table: pd.DataFrame) -> Finding:
    means = table.groupby("delay")["median"].mean()
    return Finding(
        "below 1024 processes short delays have more benefit than long ones",
        "so up to 1024 processes, then the other way round",
        ", ".join(f"{delay:g} us {value:.2g} %" for delay, value in means.items()),
        bool(means.is_monotonic_decreasing) if np.ptp(means) > TELLING else None,
    )


CLAIMS: dict[str, Callable[[pd.DataFrame], Finding]] = {
    "mostly_positive": mostly_positive,
    "near_zero": near_zero,
    "size_matters_not": size_matters_not,
    "nonblocking_better": nonblocking_better,
    "blocking_better": blocking_better,
    "order_of_delays": order_of_delays,
}


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{', '.join(map(str, site.counts))} ranks on {site.cores} cores: {what}"

    return shows


ONE_MACHINE = "one machine stands for both of the paper's"


def times_figure(
    number: int, operation: str, machine: str, reports: tuple[str, ...], data: str, in_seconds: bool
) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        name=name,
        title=f"Global time of MPI_{name_of(operation)} and MPI_I{operation} over numbers of processes, "
        f"{machine.partition(' (')[0]}",
        setup=f"{machine}; 8 bytes, rank 0 50 us late or not at all.",
        reports=reports,
        needs=f"up to {'16384' if 'Hornet' in machine else 'some thousand'} ranks on many nodes",
        shows=counts_of(f"whether the delay just adds; {ONE_MACHINE}"),
        runs=delay_runs(operation, "50us", True),
        draw=draw_times(name, operation, in_seconds),
        data=data,
    )


def benefit_figure(
    number: int, operation: str, machine: str, reports: tuple[str, ...], data: str, claims: Sequence[str]
) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        name=name,
        title=f"Delay overlap benefit of MPI_{name_of(operation)} and MPI_I{operation}, {machine.partition(' (')[0]}",
        setup=f"{machine}; 8, 128 and 1024 bytes, rank 0 50 us late.",
        reports=reports,
        needs=f"up to {'16384' if 'Hornet' in machine else 'some thousand'} ranks on many nodes",
        shows=counts_of(f"the benefit where next to nothing can overlap; {ONE_MACHINE}"),
        runs=delay_runs(operation, "50us", True),
        draw=draw_benefits(name, operation, [(size, 50.0) for size in SIZES], claims),
        data=data,
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="niethammer2016-tab2",
        title="Mean and standard deviation of clock offsets",
        setup="Hermit (Cray XE6), 12 processes, 4 per node; 100 measurements of the offset of each process's clock "
        "to rank 0's by "
        "Cristian's algorithm.",
        reports=(
            "Processes of a node have the same offset with a standard deviation of at most 2 us.",
            "Clocks of different nodes differ by more than 10 ms: -17.258 and -11.140 ms against the first node.",
        ),
        needs="3 nodes with 4 ranks each",
        shows=lambda site: (
            f"{site.node} and {site.most} ranks of one node, which read the same clock: the spread of "
            "measurements, not the offsets of nodes"
        ),
        runs=offset_runs,
        draw=draw_offset_table,
    ),
    Figure(
        name="niethammer2016-fig2",
        title="Timelines of the barrier before the benchmark",
        setup="Score-P and Vampir; 32 processes on 2 nodes of Hornet (a), 48 on 2 nodes of Hazel Hen (b); "
        "MPI_Barrier, timer, benchmark.",
        reports=(
            "Processes leave the barrier at different times, about 4 us apart for 32 processes, in the pattern of a "
            "tree.",
        ),
        needs="2 nodes with 16 and 24 ranks",
        shows=lambda site: f"{site.worth(site.node)}; {site.worth(site.most)}",
        runs=timeline_runs,
        draw=draw_timeline("niethammer2016-fig2", ("mpi_barrier",)),
    ),
    Figure(
        name="niethammer2016-fig3",
        title="Timelines of clock-based and barrier synchronization",
        setup="Score-P and Vampir; 24 processes on one node of Hazel Hen, start by the clock (busy waiting on "
        "gettimeofday for a "
        "broadcast instant) against MPI_Barrier.",
        reports=("Processes start together much better by the clock than behind the newest barrier of the Cray XC40.",),
        needs="24 ranks on one node",
        shows=lambda site: f"{site.worth(site.node)}; {site.worth(site.most)}; harmonize is the start by the clock",
        runs=timeline_runs,
        draw=draw_timeline("niethammer2016-fig3", ("mpi_barrier", "harmonize")),
        data="niethammer2016-fig2",
    ),
    Figure(
        name="niethammer2016-fig5",
        title="Global time of MPI_Barrier and MPI_Ibarrier with one late process, Hornet",
        setup=f"{HORNET}; rank 0 is 0, 10, 20 or 50 us late.",
        reports=(
            "The time grows nearly with the logarithm of the number of processes up to 2048, beyond that linearly.",
        ),
        needs="up to 16384 ranks on many nodes",
        shows=counts_of("whether the delay just adds"),
        runs=delay_runs("barrier", "10us,20us,50us", False),
        draw=draw_barrier_times,
    ),
    Figure(
        name="niethammer2016-fig6",
        title="Delay overlap benefit of MPI_Barrier and MPI_Ibarrier, Hornet",
        setup=f"{HORNET}; rank 0 is 10, 20 or 50 us late; benefit by Eq. 5.",
        reports=(
            "The benefit is mostly positive; the nonblocking form has slightly more.",
            "Below 1024 processes shorter delays have more benefit, above longer ones.",
        ),
        needs="up to 16384 ranks on many nodes",
        shows=counts_of("the benefit where next to nothing can overlap"),
        runs=delay_runs("barrier", "10us,20us,50us", False),
        draw=draw_benefits(
            "niethammer2016-fig6",
            "barrier",
            [(0, 10.0), (0, 20.0), (0, 50.0)],
            ("mostly_positive", "nonblocking_better", "order_of_delays"),
        ),
        data="niethammer2016-fig5",
    ),
    times_figure(
        7,
        "allreduce",
        HORNET,
        (
            "Perfectly logarithmic up to 1024 processes, less than 5 us for each doubling; worse beyond, up to 100 us.",
            "The point without delay at 4096 processes is an outlier: that job was disturbed.",
        ),
        "",
        False,
    ),
    benefit_figure(
        8,
        "allreduce",
        HORNET,
        (
            "Slight overlap for few processes; beyond 1024 the delay costs more than itself. The size has no "
            "influence.",
            "The peak at 4096 processes comes from the disturbed job of Fig. 7.",
        ),
        "niethammer2016-fig7",
        ("mostly_positive", "size_matters_not"),
    ),
    times_figure(9, "allreduce", HAZEL_HEN, ("Good scaling up to over 1000 processes.",), "niethammer2016-fig7", False),
    benefit_figure(
        10,
        "allreduce",
        HAZEL_HEN,
        ("The benefit is positive in nearly all cases.",),
        "niethammer2016-fig7",
        ("mostly_positive",),
    ),
    times_figure(
        11,
        "alltoall",
        HORNET,
        (
            "Nearly perfectly linear in the number of processes up to 16384; the size changes the time, not the "
            "scaling.",
        ),
        "",
        True,
    ),
    benefit_figure(
        12,
        "alltoall",
        HORNET,
        (
            "No effect for small messages; for larger ones inconclusive, slight losses as well as large gains, since "
            "the minimum is "
            "not always found.",
        ),
        "niethammer2016-fig11",
        ("near_zero",),
    ),
    times_figure(
        13,
        "alltoall",
        HAZEL_HEN,
        ("The blocking form is faster than the nonblocking one.",),
        "niethammer2016-fig11",
        True,
    ),
    benefit_figure(
        14,
        "alltoall",
        HAZEL_HEN,
        (
            "Nearly no benefit for small messages; the blocking form has more than the nonblocking one. (The text "
            "says allreduce; "
            "figure and section are on alltoall.)",
        ),
        "niethammer2016-fig11",
        ("near_zero", "blocking_better"),
    ),
    times_figure(15, "bcast", HAZEL_HEN, ("The broadcast scales well.",), "", True),
    benefit_figure(
        16,
        "bcast",
        HAZEL_HEN,
        ("No effect for small messages; for larger ones inconclusive, slight losses as well as large gains.",),
        "niethammer2016-fig15",
        ("near_zero",),
    ),
)
