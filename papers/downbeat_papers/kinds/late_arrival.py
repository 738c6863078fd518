"""Operations that one process enters late: global times, and how much of the delay is hidden.

Niethammer 2016, Figs 5 to 16. Global times are the smallest of 100 samples (section IV). The paper gives no sizes of
benefits. Its axes span 30 to 80 points, on which 5 points are what one sees: smaller benefits and differences count as
none, and an effect that is called positive or better has to be above half of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.text import MICROSECONDS, PERCENT

from downbeat_papers.claims import Facts, Measure, Measured, Places, between, each, missing
from downbeat_papers.evidence import finite
from downbeat_papers.results import Results, median_and_range
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import Site

JUDGED = "harmonize"  # verdicts are on samples after it
LEAD_MS = 1
# Verdicts are from harmonize; beside it are the paper's two ways.
SYNCHRONIZERS = {
    JUDGED: JUDGED,
    "mpi_barrier": "MPI_Barrier (Listing 1)",
    f"roundtime(lead={LEAD_MS}ms)": "roundtime (Listing 2)",
}
SMALL = 8  # bytes; the smallest messages; the text says "zero effect"
# The paper delays rank 0; its outlook asks for others.
FIRST_LATE, LAST_LATE = "one_late", "one_late(rank="
HOW_HERE = (
    "Ranks are synchronized by harmonize, which the verdicts are from, and in both of the paper's ways: by MPI_Barrier "
    "with a busy loop for the delay after it (Listing 1), and by an instant that rank 0 broadcasts, "
    f"{LEAD_MS} ms ahead (Listing 2; 10 ms there)."
)
EFFECT = 5.0  # points of benefit, in per cent
# A benefit of so many points must fit under the ceiling; else "none" could not be wrong, and "some" not be right.
ROOM = 2 * EFFECT
MANY = 1024  # processes, from which on the order of delays turns round, and a benefit becomes a loss
FEW_COUNTS = 4  # numbers of ranks, with fewer a logarithm and a line fit equally well
POINTS = " points"
SHARED = ["ranks", "synchronizer", "operation", "size", "launch"]  # of a cell with a delay and that without
CELL = ["operation", "size", "delay", "ranks"]


def with_delay(cells: pd.DataFrame, last: bool = False) -> pd.DataFrame:
    """Returns cells without a delay and those in which rank 0 is late, or the last rank; `delay` and `t` are in us."""
    late = cells["pattern"].astype(str)
    cells = cells[~((late == FIRST_LATE) if last else late.str.startswith(LAST_LATE))]
    delay = (cells["largest_delay"].fillna(0.0) * MICROSECONDS).round(3)
    return cells.assign(delay=delay, t=cells["global_time_min"] * MICROSECONDS)


@dataclass(frozen=True)
class LateArrival:
    """The launches of an operation: its blocking and its nonblocking form, with delays.

    Attributes:
        operation: the blocking one.
        late: the paper's delays, us, some 10 to 100 times as long as an operation takes here.
        shorter: delays of which more can overlap where the operation takes less than 1 us, next to nothing of the rest.
        sizes: of messages, bytes; none: a barrier.
    """

    operation: str
    late: tuple[float, ...] = (50.0,)
    shorter: tuple[float, ...] = (1.0,)
    sizes: tuple[int, ...] = (8, 128, 1024)

    @property
    def forms(self) -> tuple[str, str]:
        return self.operation, f"i{self.operation}"

    def runs(self, site: Site) -> tuple[Run, ...]:
        delays = (*self.shorter, *self.late)
        options = {"delay": ",".join(f"{delay:g}us" for delay in delays)}
        if self.sizes:
            options["sizes"] = ",".join(map(str, self.sizes))
        cells, runs = (1 + 2 * len(delays)) * max(1, len(self.sizes)), []
        for ranks in site.counts:
            late = {"pattern": f"one_late,{LAST_LATE}{ranks - 1})"}
            run = operation_run(
                site,
                f"n{ranks}",
                site.main(),
                ranks,
                self.forms,
                usual=100,
                sync=",".join(SYNCHRONIZERS),
                options=options | late,
                factors=cells,
            )
            # Half of the cells of roundtime wait for their instants.
            waits = 2 * cells * int(run.options["repetitions"]) * LEAD_MS / 1000
            runs.append(replace(run, seconds=run.seconds + waits))
        return tuple(runs)

    def label(self, form: str, size: int, delay: float | None) -> str:
        """Returns the label of a line; barriers have panels of their own by form."""
        words = [f"{size} B"] * bool(self.sizes) + ([] if delay is None else [f"{delay:g} us"])
        return ", ".join(words) if not self.sizes else f"{form.capitalize()} {', '.join(words)}"

    def form_lines(
        self, table: pd.DataFrame, forms: Sequence[str], wanted: Iterable[tuple[int, float, int | str]], delays: bool
    ) -> list[Line]:
        """Returns lines over processes, of some sizes and delays; two forms differ by style and marker.

        Args:
            table: as of `median_and_range`.
            forms: of the operation.
            wanted: sizes, delays and colors.
            delays: whether labels have the delay.
        """
        lines = []
        for size, delay, color in wanted:
            for place, form in enumerate(forms):
                part = table[(table["operation"] == form) & (table["size"] == size) & (table["delay"] == delay)]
                part = part.sort_values("ranks")
                values = (part["ranks"], part["median"], part["low"], part["high"])
                marker = place if len(forms) > 1 else int(color)
                label = self.label(form, size, delay if delays else None)
                lines.append(Line(label, *values, color, ("-", "--")[place], marker))
        return lines


@dataclass(frozen=True)
class GlobalTime(LateArrival):
    """Global times over processes, with and without a delay."""

    in_seconds: bool = False  # whether times are drawn in seconds, on a logarithmic axis
    up_to: int = 0  # ranks, which claims on growth are about
    step_us: float = 0.0  # that doubling the ranks is claimed not to add; operations that take less decide nothing

    def facts(self, results: Results) -> Facts:
        """Returns times without delay, on ranks with cores, and by how much a delay prolongs the operation."""
        cells, site = with_delay(results.cells), results.site
        judged = cells[(cells["synchronizer"] == JUDGED) & cells["size"].isin((0, SMALL))]
        measures: dict[str, Measured] = {}
        of_blocking: dict[int, np.ndarray] = {}
        for name, form in zip(("blocking", "nonblocking"), self.forms, strict=True):
            rows = judged[(judged["operation"] == form) & (judged["delay"] == 0)]
            every = {int(str(ranks)): part.set_index("launch")["t"] for ranks, part in rows.groupby("ranks")}
            kept = {ranks: values for ranks, values in every.items() if not site.crowded(ranks)}
            measures[f"all_{name}"], measures[name] = (each(some, " us") or missing() for some in (every, kept))
            if name == "blocking":
                of_blocking = {ranks: values.to_numpy() for ranks, values in kept.items() if ranks <= self.up_to}
        measures |= growth(of_blocking, self.step_us)
        measures["time_less_delay_and_operation"] = beyond_the_delay(judged[judged["ranks"] == site.full])
        return Facts(measures, {"up_to": self.up_to})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        unit, scale = ("s", 1.0) if self.in_seconds else ("us", MICROSECONDS)
        table = median_and_range(with_delay(results.cells), (*CELL, "synchronizer"), "global_time_min", scale)
        wanted: list[tuple[int, float, int | str]] = [(0, delay, at) for at, delay in enumerate((0.0, *self.late))]
        if self.sizes:
            wanted = [(SMALL, delay, "#0072B2" if delay else "#000000") for delay in (*self.late, 0.0)]
        panels = []
        for synchronizer, words in SYNCHRONIZERS.items():
            part = table[table["synchronizer"] == synchronizer]
            forms = (
                {words: self.forms} if self.sizes else {f"{one.capitalize()}, {words}": (one,) for one in self.forms}
            )
            for title, some in forms.items():
                lines = self.form_lines(part, some, wanted, delays=True)
                scales = ("positions", "log" if self.in_seconds else "linear")
                panels.append(Panel(lines, "number of processes", f"global time [{unit}]", title, *scales))
        point = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "
        title = f"Global time of MPI_{self.operation.capitalize()} with one late process"
        shown = (
            "Blue: rank 0 enters 50 us later; black: all together. Circles: blocking; squares: nonblocking, with its "
            "MPI_Wait."
            if self.sizes
            else "Rank 0 enters so much later than all others."
        )
        return (make_picture(name, title, f"{point}{shown} {HOW_HERE}", panels),)


def beyond_the_delay(cells: pd.DataFrame) -> Places:
    """Returns the time of a delayed operation beyond delay and operation, by its form."""
    table = median_and_range(cells, CELL, "t", 1.0)
    late = table[table["delay"] == table["delay"].max()]
    joined = late.merge(table[table["delay"] == 0], on=["operation"], suffixes=("", "_plain"))
    extra = joined["median"] - joined["delay"] - joined["median_plain"]
    notes = [f"on {row.ranks} ranks, {row.delay:g} us late" for row in joined.itertuples()]
    measures = [Measure([one], " us", note=note) for one, note in zip(extra, notes, strict=True)]
    return dict(zip(joined["operation"], measures, strict=True))


def growth(by_ranks: Mapping[int, np.ndarray], step_us: float) -> dict[str, Measured]:
    """Returns the growth of times in us from the fewest to the most ranks, and how much of it is logarithmic.

    A least squares fit per launch splits it. Launches on different numbers of ranks are not paired; combined in any
    order they are as many independent estimates of the parameters of a curve.
    """
    kept = {ranks: finite(by_ranks[ranks]) for ranks in sorted(by_ranks)}
    launches = min(map(len, kept.values()), default=0)
    counts, times = np.array(list(kept), float), np.array([values[:launches] for values in kept.values()]).T
    few = missing(
        f"a logarithm and a line fit equally well on fewer than {FEW_COUNTS} numbers of ranks with a core each; here "
        f"there are {len(counts)}"
    )
    found: dict[str, Measured] = {
        "growth": few,
        "logarithmic_less_linear_growth": few,
        "per_doubling": missing("it takes two numbers of ranks with a core each"),
    }
    if len(counts) > 1:
        longest = float(np.median(times, axis=0).max())
        short = f"the operation takes {longest:.3g} us at most here, so that no step could be of {step_us:g} us"
        slopes = np.polyfit(np.log2(counts), times.T, 1)[0]
        found["per_doubling"] = Measure(slopes, " us", signed=True, obstacle=short if longest < step_us else "")
    if len(counts) >= FEW_COUNTS:
        shapes = [(scale - scale[0]) / (scale[-1] - scale[0]) for scale in (np.log2(counts), counts)]
        fit = np.linalg.lstsq(np.stack([*shapes, np.ones_like(counts)], axis=1), times.T, rcond=None)[0]
        found["growth"] = Measure(fit[0] + fit[1], " us", signed=True)
        found["logarithmic_less_linear_growth"] = Measure(fit[0] - fit[1], " us", signed=True)
    return found


def benefit_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Computes delay overlap benefits, in per cent.

    Args:
        cells: those of `with_delay`.

    Returns:
        A row per launch and cell with a delay: `SHARED`, `delay` and `t0` in us, and
        `equation_5`: (t0 + delay - t) / t, of the smallest global times and the delay that was asked for;
        `by_stamps`: (t0 - u) / t with u the smallest time from the last entry to the last exit. That is Eq. 5 with the
        delay that each sample really had, so a rank that comes late in addition to the delayed one does not add to it;
        `ceiling`: the benefit that is left of all that is hidden, t = max(t0, delay).
    """
    without = cells.loc[cells["delay"] == 0, [*SHARED, "t"]].rename(columns={"t": "t0"})
    table = cells[cells["delay"] > 0].merge(without, on=SHARED)
    t0, t, delay = table["t0"], table["t"], table["delay"]
    table["equation_5"] = PERCENT * (t0 + delay - t) / t
    table["by_stamps"] = PERCENT * table["overlap_benefit_min"]
    table["ceiling"] = PERCENT * np.minimum(t0, delay) / np.maximum(t0, delay)
    return table[[*SHARED, "delay", "t0", "equation_5", "by_stamps", "ceiling"]]


def with_room(table: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per cell that has room for `ROOM` points, a column per launch: benefits in per cent."""
    wide = table.set_index([*CELL, "launch"])["equation_5"].unstack("launch")
    return wide[table.groupby(CELL)["ceiling"].median().reindex(wide.index) >= ROOM]


def no_room(table: pd.DataFrame) -> Measure:
    """Says what limits the benefit here."""
    if table.empty:
        return missing("no ranks with a core each were measured with and without a delay")
    medians = table.groupby(CELL)[["ceiling", "t0"]].median()
    return missing(
        f"all that can be hidden would be a benefit of {between(medians['ceiling'], ' %')} here, since the operation "
        f"takes {between(medians['t0'], ' us')}, and too few cells have room for {ROOM:g} %"
    )


def over_cells(wide: pd.DataFrame, note: str = "") -> Measure:
    """Returns the median over cells of each launch."""
    return Measure(wide.median(axis="index").to_numpy(), POINTS, signed=True, note=note)


def benefit_measures(table: pd.DataFrame, forms: tuple[str, str], sizes: Sequence[int]) -> dict[str, Measured]:
    """Returns the measures of benefits, from a table on ranks with a core each.

    Differences between sizes, forms and delays are taken within launches and cells.
    """
    wide, room = with_room(table), no_room(table)
    small, many = table[table["size"] == SMALL], table[table["ranks"] > MANY]
    too_few = missing(f"it takes more than {MANY} ranks with a core each")
    found: dict[str, Measured] = {
        name: over_cells(part, f"median of {len(part)} cells with room for it") if len(part) else lacking
        for name, part, lacking in (
            ("benefit", wide, room),
            ("benefit_of_few", with_room(table[table["ranks"] <= MANY]), room),
            ("benefit_of_many", with_room(many), no_room(many) if len(many) else too_few),
        )
    }
    of_small = {str(form): over_cells(part) for form, part in with_room(small).groupby("operation")}
    found["benefit_of_small_messages"] = of_small or no_room(small)

    def at(part: pd.DataFrame, level: str, key: object) -> pd.DataFrame:
        return part[part.index.get_level_values(level) == key].droplevel(level)

    def less(part: pd.DataFrame, level: str, key: object, other: object) -> pd.DataFrame:
        one = at(part, level, key)
        return (one - at(part, level, other).reindex(one.index)).dropna(how="all")

    larger = pd.concat({size: less(wide, "size", size, SMALL) for size in sizes if size != SMALL}, names=["size"])
    found["more_than_of_small_messages"] = {
        f"{form}, {size} bytes": over_cells(part) for (form, size), part in larger.groupby(["operation", "size"])
    } or room
    for name, own, other in (("blocking", *forms), ("nonblocking", *reversed(forms))):
        step = less(wide, "operation", own, other)
        found[f"more_of_the_{name}_form"] = over_cells(step) if len(step) else room
    few = table[table["ranks"] < MANY]
    for name, part, order in (("more_than", few, 1), ("less_than", many, -1)):
        cells = with_room(part)
        delays = sorted(set(cells.index.get_level_values("delay")))
        found[f"{name}_of_the_next_longer_delay"] = {
            f"{short:g} us": over_cells(order * step)
            for short, long in pairwise(delays)
            if len(step := less(cells, "delay", short, long))
        } or (no_room(part) if len(part) or part is few else too_few)
    return found


@dataclass(frozen=True)
class Benefit(LateArrival):
    """Delay overlap benefits over processes."""

    def label(self, form: str, size: int, delay: float | None) -> str:
        """Returns the label of a line: of each size, or of each delay where there are no sizes."""
        return f"{form.capitalize()} {f'{size} B' if self.sizes else f'{delay:g} us'}"

    def facts(self, results: Results) -> Facts:
        table = benefit_table(with_delay(results.cells))
        on_cores = table["ranks"].map(lambda ranks: not results.site.crowded(int(ranks))).astype(bool)
        judged = table[on_cores & (table["synchronizer"] == JUDGED)]
        return Facts(benefit_measures(judged, self.forms, self.sizes or (0, SMALL)))

    def panel(self, table: pd.DataFrame, synchronizer: str, metric: str, delays: Sequence[float], title: str) -> Panel:
        """Returns lines of each size, or of each delay where there are no sizes."""
        part = median_and_range(table[table["synchronizer"] == synchronizer], CELL, metric, 1.0)
        cells = [(size, delay) for size in self.sizes or (0,) for delay in delays]
        lines = self.form_lines(part, self.forms, [(*cell, place) for place, cell in enumerate(cells)], delays=True)
        axes = ("number of processes", "delay overlap benefit [%]")
        return Panel(lines, *axes, title, x_scale="positions", y_at=0.0)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        table, last = (benefit_table(with_delay(results.cells, one)) for one in (False, True))
        late, shorter = self.late, self.shorter
        far, near = (f"{', '.join(f'{delay:g}' for delay in some)} us late" for some in (late, shorter))
        listings = [(table, one, "equation_5", late, f"{words}, {far}") for one, words in SYNCHRONIZERS.items()][1:]
        shown = [
            (table, JUDGED, "equation_5", late, f"Eq. 5, {JUDGED}, {far}"),
            (table, JUDGED, "equation_5", shorter, f"Eq. 5, {JUDGED}, {near}"),
            (table, JUDGED, "by_stamps", late, f"by stamps, {JUDGED}, {far}"),
            (table, JUDGED, "by_stamps", shorter, f"by stamps, {JUDGED}, {near}"),
            *listings,
            (last, JUDGED, "equation_5", late, f"Eq. 5, the last rank {far}"),
            (last, JUDGED, "by_stamps", late, f"by stamps, the last rank {far}"),
        ]
        caption = (
            "Eq. 5, unless a title says otherwise: (t0 + delay - t) / t, with t0 and t the smallest global times "
            "without and with the delay that was asked for. By stamps: (t0 - u) / t, with u the smallest time from the "
            "last entry to the last exit, so that the delay of each sample is the one that it had. Median over "
            "launches, bars: smallest to largest launch. 0: the delay just adds. Rank 0 is late as in the paper, the "
            f"last rank as its outlook asks for. Solid: blocking; dashed: nonblocking. {HOW_HERE}"
        )
        title = f"Delay overlap benefit of MPI_{self.operation.capitalize()}"
        return (make_picture(name, title, caption, [self.panel(*one) for one in shown]),)
