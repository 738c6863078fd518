"""Operations that one process enters late: global times, and how much of the delay is hidden.

Niethammer 2016, Figs 5 to 16. Global times are the smallest of 100 samples (section IV). The paper gives no sizes of
benefits. Its axes span 30 to 80 points, on which 5 points are what one sees: smaller benefits and differences count as
none, and an effect that is called positive or better has to be above half of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from downbeat.output.blocks import Picture
from downbeat.output.fields import COMMON_START, SYNCHRONIZER_NAMES
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import MICROSECONDS, PERCENT

from downbeat_papers.claims import Facts, Measure, Measured, Places, between, each, missing
from downbeat_papers.evidence import finite
from downbeat_papers.results import LaunchCells, Results, medians_and_ranges
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import Site

JUDGED = COMMON_START  # verdicts are on samples after it
LEAD_MS = 1
# Verdicts are from harmonize; beside it are the paper's two ways.
SYNCHRONIZERS = {
    JUDGED: SYNCHRONIZER_NAMES[JUDGED],
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


class Cells(Table):
    """One row per launch and cell."""

    ranks: Ints = column("processes of the launch", "1")
    synchronizer: Texts = column("what puts processes at the start")
    operation: Texts = column("operation, blocking or not")
    size: Ints = column("message size; 0 of a barrier", "B")
    launch: Ints = column("number of the launch, from 1")


class Times(Cells):
    """Cells without a delay, and those in which the same rank is late."""

    delay: Floats = column("delay of the late rank; 0: none", "us")
    time_s: Floats = column("smallest global time", "s")
    benefit_by_stamps: Floats = column("largest benefit by the stamps of a sample; NaN without a delay", "1")

    @property
    def t(self) -> Floats:
        """The smallest global time, us."""
        return self.time_s * MICROSECONDS


class Benefits(Cells):
    """Delay overlap benefits of cells with a delay."""

    delay: Floats = column("delay of the late rank", "us")
    t0: Floats = column("smallest global time without the delay", "us")
    equation_5: Floats = column(
        "(t0 + delay - t) / t, with t the smallest global time and the delay that the pattern plans", "%"
    )
    # Eq. 5 with the delay that each sample really has: a rank that is late in addition to the delayed one does not add
    # to it.
    by_stamps: Floats = column("(t0 - u) / t, with u the smallest time from the last entry to the last exit", "%")
    ceiling: Floats = column("benefit if all is hidden, t = max(t0, delay)", "%")

    def cells(self) -> list[tuple[Cell, Benefits]]:
        """Returns the launches of each cell, by operation, size, delay and ranks, rising."""
        groups = self.groups(self.operation, self.size, self.delay, self.ranks)
        return sorted(((Cell(*key), launches) for key, launches in groups), key=lambda group: group[0])


class Cell(NamedTuple):
    """A cell with a delay."""

    operation: str
    size: int
    delay: float
    ranks: int


def times_of(cells: LaunchCells, last: bool = False) -> Times:
    """Returns the times of cells without a delay and of those in which rank 0 is late, or the last rank."""
    left_out = [pattern == FIRST_LATE if last else str(pattern).startswith(LAST_LATE) for pattern in cells.pattern]
    cells = cells[~np.array(left_out, bool)]
    return Times(
        **{each.name: getattr(cells, each.name) for each in Cells.columns()},
        delay=np.round(np.nan_to_num(cells.largest_delay) * MICROSECONDS, 3),
        time_s=cells.values("global_time_min"),
        benefit_by_stamps=cells.values("overlap_benefit_min"),
    )


@dataclass(frozen=True)
class LateArrival:
    """The launches of an operation: its blocking and its nonblocking form, with delays.

    Attributes:
        operation: the blocking one.
        late: the paper's delays, us, some 10 to 100 times as long as an operation takes here.
        shorter: delays that overlap more with an operation of less than 1 us; longer ones hardly do.
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

    def label(self, form: str, size: int, delay: float) -> str:
        """Returns the label of a line; barriers have panels of their own by form."""
        words = [f"{size} B"] * bool(self.sizes) + [f"{delay:g} us"]
        return ", ".join(words) if not self.sizes else f"{form.capitalize()} {', '.join(words)}"

    def form_lines(
        self,
        cells: Times | Benefits,
        column: str,
        scale: float,
        forms: Sequence[str],
        styles: Iterable[tuple[int, float, int | str]],
    ) -> list[Line]:
        """Lines over processes, of some sizes and delays; two forms differ by style and marker.

        Args:
            cells: those of one synchronizer.
            column: of the values.
            scale: factor for values.
            forms: of the operation.
            styles: sizes, delays and colors.
        """
        lines = []
        for size, delay, color in styles:
            for index, form in enumerate(forms):
                chosen = cells[(cells.operation == form) & (cells.size == size) & (cells.delay == delay)]
                medians = medians_and_ranges(chosen.ranks, getattr(chosen, column), scale)
                values = (medians.x, medians.middle, medians.low, medians.high)
                marker = index if len(forms) > 1 else int(color)
                lines.append(Line(self.label(form, size, delay), *values, color, ("-", "--")[index], marker))
        return lines


@dataclass(frozen=True)
class GlobalTime(LateArrival):
    """Global times over processes, with and without a delay."""

    in_seconds: bool = False  # whether times are drawn in seconds, on a logarithmic axis
    up_to: int = 0  # ranks, which claims on growth are about
    step_us: float = 0.0  # that doubling the ranks is claimed not to add; operations that take less decide nothing

    def facts(self, results: Results) -> Facts:
        """Returns times without delay, on ranks with cores, and by how much a delay prolongs the operation."""
        cells, site = times_of(results.launch_cells), results.site
        judged = cells[(cells.synchronizer == JUDGED) & np.isin(cells.size, (0, SMALL))]
        measures: dict[str, Measured] = {}
        of_blocking: dict[int, np.ndarray] = {}
        for name, form in zip(("blocking", "nonblocking"), self.forms, strict=True):
            plain = judged[(judged.operation == form) & (judged.delay == 0)]
            every = {
                int(ranks): pd.Series(plain.t[plain.ranks == ranks], plain.launch[plain.ranks == ranks])
                for ranks in np.unique(plain.ranks)
            }
            kept = {ranks: values for ranks, values in every.items() if not site.crowded(ranks)}
            measures[f"all_{name}"], measures[name] = (each(some, " us") or missing() for some in (every, kept))
            if name == "blocking":
                of_blocking = {ranks: values.to_numpy() for ranks, values in kept.items() if ranks <= self.up_to}
        measures |= growth(of_blocking, self.step_us)
        measures["time_less_delay_and_operation"] = beyond_the_delay(judged[judged.ranks == site.full])
        return Facts(measures, {"up_to": self.up_to})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        unit, scale = ("s", 1.0) if self.in_seconds else ("us", MICROSECONDS)
        times = times_of(results.launch_cells)
        styles: list[tuple[int, float, int | str]] = [(0, delay, at) for at, delay in enumerate((0.0, *self.late))]
        if self.sizes:
            styles = [(SMALL, delay, "#0072B2" if delay else "#000000") for delay in (*self.late, 0.0)]
        panels = []
        for synchronizer, words in SYNCHRONIZERS.items():
            cells = times[times.synchronizer == synchronizer]
            forms = (
                {words: self.forms} if self.sizes else {f"{form.capitalize()}, {words}": (form,) for form in self.forms}
            )
            for title, some in forms.items():
                lines = self.form_lines(cells, "time_s", scale, some, styles)
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


def beyond_the_delay(cells: Times) -> Places:
    """Returns the time of a delayed operation beyond delay and operation, by its form."""
    longest = cells.delay.max(initial=0.0)
    measures: dict[str, Measure] = {}
    for form in dict.fromkeys(cells.operation[cells.delay == longest]):
        late, plain = (cells[(cells.operation == form) & (cells.delay == delay)] for delay in (longest, 0.0))
        if len(plain) and longest:
            extra = np.median(late.t) - longest - np.median(plain.t)
            measures[form] = Measure([extra], " us", note=f"on {late.ranks[0]} ranks, {longest:g} us late")
    return measures


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
    total = logarithmic = few
    per_doubling = missing("it takes two numbers of ranks with a core each")
    if len(counts) > 1:
        longest = float(np.median(times, axis=0).max())
        short = f"the operation takes {longest:.3g} us at most here, so that no step could be of {step_us:g} us"
        slopes = np.polyfit(np.log2(counts), times.T, 1)[0]
        per_doubling = Measure(slopes, " us", signed=True, obstacle=short if longest < step_us else "")
    if len(counts) >= FEW_COUNTS:
        shapes = [(scale - scale[0]) / (scale[-1] - scale[0]) for scale in (np.log2(counts), counts)]
        fit = np.linalg.lstsq(np.stack([*shapes, np.ones_like(counts)], axis=1), times.T, rcond=None)[0]
        total = Measure(fit[0] + fit[1], " us", signed=True)
        logarithmic = Measure(fit[0] - fit[1], " us", signed=True)
    return {"growth": total, "logarithmic_less_linear_growth": logarithmic, "per_doubling": per_doubling}


def benefits_of(times: Times) -> Benefits:
    """Delay overlap benefits, each against the cell of the same launch without a delay."""
    shared = [each.name for each in Cells.columns()]
    plain = times[times.delay == 0].frame(*shared, "time_s").rename(columns={"time_s": "plain_s"})
    pairs = times[times.delay > 0].frame().merge(plain, on=shared)
    late, t0 = Times.of_frame(pairs), pairs.plain_s.to_numpy() * MICROSECONDS
    return Benefits(
        **{name: getattr(late, name) for name in shared},
        delay=late.delay,
        t0=t0,
        equation_5=PERCENT * (t0 + late.delay - late.t) / late.t,
        by_stamps=PERCENT * late.benefit_by_stamps,
        ceiling=PERCENT * np.minimum(t0, late.delay) / np.maximum(t0, late.delay),
    )


@dataclass(frozen=True)
class RoomyCells:
    """Benefits of cells that have room for `ROOM` points.

    Attributes:
        cells: rising.
        percent: their benefits, shape (cells, launches); NaN where a launch lacks a cell.
    """

    cells: tuple[Cell, ...]
    percent: Floats

    def of_form(self, form: str) -> RoomyCells:
        rows = [row for row, cell in enumerate(self.cells) if cell.operation == form]
        return RoomyCells(tuple(self.cells[row] for row in rows), self.percent[rows])

    def differences(self, field: str, value: Any, other: Any) -> RoomyCells:  # noqa: ANN401
        """Returns the benefits of cells with a value of a field, less those of the cells that differ in it alone."""
        rows = {cell: row for row, cell in enumerate(self.cells)}
        pairs = {
            cell: (row, rows[twin])
            for cell, row in rows.items()
            if getattr(cell, field) == value and (twin := cell._replace(**{field: other})) in rows
        }
        first, second = np.array(list(pairs.values()), int).reshape(-1, 2).T
        percent = self.percent[first] - self.percent[second]
        known = np.isfinite(percent).any(axis=1)
        return RoomyCells(tuple(itertools.compress(pairs, known)), percent[known])

    def median(self, note: str = "") -> Measure:
        """Returns the median over cells of each launch."""
        return Measure(pd.DataFrame(self.percent).median().to_numpy(), POINTS, signed=True, note=note)


def with_room(table: Benefits) -> RoomyCells:
    """Returns the cells that have room for `ROOM` points."""
    launches = np.unique(table.launch)
    cells = {cell: benefits for cell, benefits in table.cells() if np.median(benefits.ceiling) >= ROOM}
    percent = np.full((len(cells), len(launches)), np.nan)
    for row, benefits in enumerate(cells.values()):
        percent[row, np.searchsorted(launches, benefits.launch)] = benefits.equation_5
    return RoomyCells(tuple(cells), percent)


def no_room(table: Benefits) -> Measure:
    """Returns a missing measure, with the limits of the benefit here."""
    if not len(table):
        return missing("no ranks with a core each were measured with and without a delay")
    ceilings, times = (
        [float(np.median(getattr(benefits, name))) for _, benefits in table.cells()] for name in ("ceiling", "t0")
    )
    return missing(
        f"all that can be hidden would be a benefit of {between(ceilings, ' %')} here, since the operation "
        f"takes {between(times, ' us')}, and too few cells have room for {ROOM:g} %"
    )


def benefit_measures(table: Benefits, forms: tuple[str, str], sizes: Sequence[int]) -> dict[str, Measured]:
    """Returns the measures of benefits, from a table on ranks with a core each.

    Differences between sizes, forms and delays are taken within launches and cells.
    """
    cells, room = with_room(table), no_room(table)
    small, many, few = table[table.size == SMALL], table[table.ranks > MANY], table[table.ranks < MANY]
    too_few = missing(f"it takes more than {MANY} ranks with a core each")
    measures: dict[str, Measured] = {
        name: roomy.median(f"median of {len(roomy.cells)} cells with room for it") if roomy.cells else lacking
        for name, roomy, lacking in (
            ("benefit", cells, room),
            ("benefit_of_few", with_room(table[table.ranks <= MANY]), room),
            ("benefit_of_many", with_room(many), no_room(many) if len(many) else too_few),
        )
    }
    forms_of_small = {form: with_room(small).of_form(form) for form in sorted(forms)}
    measures["benefit_of_small_messages"] = {
        form: roomy.median() for form, roomy in forms_of_small.items() if roomy.cells
    } or no_room(small)
    larger = {size: cells.differences("size", size, SMALL) for size in sorted(sizes) if size != SMALL}
    measures["more_than_of_small_messages"] = {
        f"{form}, {size} bytes": of_form.median()
        for form in sorted(forms)
        for size, differences in larger.items()
        if (of_form := differences.of_form(form)).cells
    } or room
    for name, form, other in (("blocking", *forms), ("nonblocking", *reversed(forms))):
        step = cells.differences("operation", form, other)
        measures[f"more_of_the_{name}_form"] = step.median() if step.cells else room
    for name, benefits, sign in (("more_than", few, 1), ("less_than", many, -1)):
        roomy = with_room(benefits)
        delays = sorted({cell.delay for cell in roomy.cells})
        measures[f"{name}_of_the_next_longer_delay"] = {
            f"{short:g} us": replace(step, percent=sign * step.percent).median()
            for short, long in itertools.pairwise(delays)
            if (step := roomy.differences("delay", short, long)).cells
        } or (no_room(benefits) if len(benefits) or benefits is few else too_few)
    return measures


@dataclass(frozen=True)
class Benefit(LateArrival):
    """Delay overlap benefits over processes."""

    def label(self, form: str, size: int, delay: float) -> str:
        """Returns the label of a line: of each size, or of each delay where there are no sizes."""
        return f"{form.capitalize()} {f'{size} B' if self.sizes else f'{delay:g} us'}"

    def facts(self, results: Results) -> Facts:
        table = benefits_of(times_of(results.launch_cells))
        on_cores = np.array([not results.site.crowded(int(ranks)) for ranks in table.ranks], bool)
        judged = table[on_cores & (table.synchronizer == JUDGED)]
        return Facts(benefit_measures(judged, self.forms, self.sizes or (0, SMALL)))

    def panel(self, table: Benefits, synchronizer: str, column: str, delays: Sequence[float], title: str) -> Panel:
        """Lines of each size, or of each delay where there are no sizes."""
        cells = [(size, delay) for size in self.sizes or (0,) for delay in delays]
        styles = [(*cell, color) for color, cell in enumerate(cells)]
        lines = self.form_lines(table[table.synchronizer == synchronizer], column, 1.0, self.forms, styles)
        axes = ("number of processes", "delay overlap benefit [%]")
        return Panel(lines, *axes, title, x_scale="positions", y_at=0.0)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        table, last = (benefits_of(times_of(results.launch_cells, late)) for late in (False, True))
        late, shorter = self.late, self.shorter
        far, near = (f"{', '.join(f'{delay:g}' for delay in some)} us late" for some in (late, shorter))
        listings = [(table, name, "equation_5", late, f"{words}, {far}") for name, words in SYNCHRONIZERS.items()][1:]
        shown = [
            (table, JUDGED, "equation_5", late, f"Eq. 5, {SYNCHRONIZERS[JUDGED]}, {far}"),
            (table, JUDGED, "equation_5", shorter, f"Eq. 5, {SYNCHRONIZERS[JUDGED]}, {near}"),
            (table, JUDGED, "by_stamps", late, f"by stamps, {SYNCHRONIZERS[JUDGED]}, {far}"),
            (table, JUDGED, "by_stamps", shorter, f"by stamps, {SYNCHRONIZERS[JUDGED]}, {near}"),
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
        return (make_picture(name, title, caption, [self.panel(*each) for each in shown]),)
