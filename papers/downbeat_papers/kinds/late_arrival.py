"""Measures operations that one process enters late: their global times, and the share of the delay that they hide.

The global time of a sample is the time from the first entry of a rank to the last exit; as in the paper, results are
the smallest of 100 samples (section IV). The delay overlap benefit is the share of the delay that does not prolong the
operation. Niethammer 2016, Figs 5 to 16.

The paper gives no sizes of benefits. Its axes span 30 to 80 percentage points, on which 5 points are visible: smaller
benefits and differences count as none, and an effect that the paper calls positive or better must exceed half of that.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
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

from downbeat_papers.claims import ByPosition, Facts, Measure, Measured, between, measures_by_position, missing
from downbeat_papers.evidence import finite
from downbeat_papers.results import LaunchCells, Results, medians_and_ranges
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import Site

JUDGED = COMMON_START  # synchronizer whose samples decide the claims
LEAD_MS = 1  # time from the broadcast of a start to the start, with synchronizer roundtime
# Synchronizer -> its name; the second and the third are the paper's.
SYNCHRONIZERS = {
    JUDGED: SYNCHRONIZER_NAMES[JUDGED],
    "mpi_barrier": "MPI_Barrier (Listing 1)",
    f"roundtime(lead={LEAD_MS}ms)": "roundtime (Listing 2)",
}
SMALL = 8  # bytes, the smallest messages, for which the paper reports "zero effect"
# Arrival patterns of downbeat-bench: rank 0 is late, as in the paper, or the last rank, as its outlook proposes.
FIRST_LATE, LAST_LATE = "one_late", "one_late(rank="
HOW_HERE = (
    "Ranks are synchronized by harmonize, which the verdicts are from, and in both of the paper's ways: by MPI_Barrier "
    "with a busy loop for the delay after it (Listing 1), and by an instant that rank 0 broadcasts, "
    f"{LEAD_MS} ms ahead (Listing 2; 10 ms there)."
)
EFFECT = 5.0  # percentage points of benefit that are visible in the paper
# Cells decide claims only if their largest possible benefit is at least this many points; else neither "no benefit" nor
# "some benefit" could be decided.
ROOM = 2 * EFFECT
MANY = 1024  # with more processes, the paper reports a loss in place of a benefit, and a reversed order of delays
MIN_COUNTS = 4  # numbers of ranks; with fewer, a logarithm and a line fit equally well
POINTS = " points"  # unit


class Cells(Table):
    """One row per launch and cell."""

    ranks: Ints = column("processes of the launch", "1")
    synchronizer: Texts = column("what puts processes at the start")
    operation: Texts = column("operation, blocking or not")
    size: Ints = column("message size; 0 of a barrier", "B")
    launch: Ints = column("number of the launch, from 1")


class Times(Cells):
    """Cells without a delay, and cells in which a certain rank is late."""

    delay: Floats = column("delay of the late rank; 0: none", "us")
    time_s: Floats = column("smallest global time", "s")
    benefit_by_stamps: Floats = column("largest benefit by the stamps of a sample; NaN without a delay", "1")

    @property
    def t(self) -> Floats:
        """The smallest global time, us; named as in the paper's equation 5."""
        return self.time_s * MICROSECONDS


class Benefits(Cells):
    """Delay overlap benefits of cells with a delay."""

    delay: Floats = column("delay of the late rank", "us")
    t0: Floats = column("smallest global time without the delay", "us")
    equation_5: Floats = column(
        "(t0 + delay - t) / t, with t the smallest global time and the delay that the pattern plans", "%"
    )
    # Equation 5 with the measured delay of each sample, which does not count the lateness of other ranks.
    by_stamps: Floats = column("(t0 - u) / t, with u the smallest time from the last entry to the last exit", "%")
    ceiling: Floats = column("largest possible benefit: all is hidden, so that t = max(t0, delay)", "%")

    def cells(self) -> list[tuple[Cell, Benefits]]:
        """Returns each cell with the rows of its launches, sorted by operation, size, delay and ranks."""
        groups = self.groups(self.operation, self.size, self.delay, self.ranks)
        return sorted(((Cell(*key), launches) for key, launches in groups), key=lambda group: group[0])


class Cell(NamedTuple):
    """A cell with a delay."""

    operation: str
    size: int
    delay: float
    ranks: int


def times_of(cells: LaunchCells, last: bool = False) -> Times:
    """Returns the times of cells without a delay, and of cells in which rank 0 is late (`last`: the last rank)."""
    left_out = [pattern == FIRST_LATE if last else str(pattern).startswith(LAST_LATE) for pattern in cells.pattern]
    cells = cells[~np.array(left_out, bool)]
    return Times(
        **{column.name: getattr(cells, column.name) for column in Cells.columns()},
        delay=np.round(np.nan_to_num(cells.largest_delay) * MICROSECONDS, 3),
        time_s=cells.values("global_time_min"),
        benefit_by_stamps=cells.values("overlap_benefit_min"),
    )


@dataclass(frozen=True)
class LateArrival:
    """The launches of an operation: its blocking and its nonblocking form, with delays.

    Attributes:
        operation: the blocking operation.
        late: the paper's delays, us, which are some 10 to 100 times as long as an operation takes here.
        shorter: shorter delays, us; an operation of less than 1 us can hide a larger share of them.
        sizes: of messages, bytes; empty: a barrier.
    """

    operation: str
    late: tuple[float, ...] = (50.0,)
    shorter: tuple[float, ...] = (1.0,)
    sizes: tuple[int, ...] = (8, 128, 1024)

    @property
    def forms(self) -> tuple[str, str]:
        """The blocking and the nonblocking operation."""
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
        """Returns the label of a line; without the form for barriers, whose forms have separate panels."""
        return f"{form.capitalize()} {size} B, {delay:g} us" if self.sizes else f"{delay:g} us"

    def form_lines(
        self,
        cells: Times | Benefits,
        column: str,
        scale: float,
        forms: Sequence[str],
        styles: Iterable[tuple[int, float, int | str]],
    ) -> list[Line]:
        """Returns lines over numbers of processes; two forms of the operation differ by style and marker.

        Args:
            cells: of one synchronizer.
            column: of the values.
            scale: factor for values.
            forms: of the operation.
            styles: size, delay and color of each line.
        """
        lines = []
        for size, delay, color in styles:
            for index, form in enumerate(forms):
                chosen = cells[(cells.operation == form) & (cells.size == size) & (cells.delay == delay)]
                points = medians_and_ranges(chosen.ranks, getattr(chosen, column), scale)
                label, style = self.label(form, size, delay), ("-", "--")[index]
                marker = index if len(forms) > 1 else int(color)
                lines.append(Line(label, points.x, points.middle, points.low, points.high, color, style, marker))
        return lines


@dataclass(frozen=True)
class GlobalTime(LateArrival):
    """Global times over processes, with and without a delay."""

    in_seconds: bool = False  # True: times are drawn in seconds, on a logarithmic axis
    up_to: int = 0  # largest number of ranks in claims on growth
    # The claim: doubling the ranks adds less than this time. Operations that take less in total cannot decide it.
    step_us: float = 0.0

    def facts(self, results: Results) -> Facts:
        """Returns times without a delay, their growth with the ranks, and the time that a delay adds."""
        cells, site = times_of(results.launch_cells), results.site
        judged = cells[(cells.synchronizer == JUDGED) & np.isin(cells.size, (0, SMALL))]
        measures: dict[str, Measured] = {}
        of_blocking: dict[int, np.ndarray] = {}
        for name, form in zip(("blocking", "nonblocking"), self.forms, strict=True):
            plain = judged[(judged.operation == form) & (judged.delay == 0)]
            times = {
                int(ranks): pd.Series(plain.t[plain.ranks == ranks], plain.launch[plain.ranks == ranks])
                for ranks in np.unique(plain.ranks)
            }
            on_cores = {ranks: values for ranks, values in times.items() if not site.crowded(ranks)}
            measures[f"all_{name}"] = measures_by_position(times, " us") or missing()
            measures[name] = measures_by_position(on_cores, " us") or missing()
            if name == "blocking":
                of_blocking = {ranks: values.to_numpy() for ranks, values in on_cores.items() if ranks <= self.up_to}
        measures |= growth(of_blocking, self.step_us)
        measures["time_less_delay_and_operation"] = beyond_the_delay(judged[judged.ranks == site.full])
        return Facts(measures, {"up_to": self.up_to})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        unit, scale = ("s", 1.0) if self.in_seconds else ("us", MICROSECONDS)
        times = times_of(results.launch_cells)
        scales = ("positions", "log" if self.in_seconds else "linear")
        styles: list[tuple[int, float, int | str]]  # size, delay and color of each line
        if self.sizes:
            styles = [(SMALL, delay, "#0072B2" if delay else "#000000") for delay in (*self.late, 0.0)]
            shown = (
                "Blue: rank 0 enters 50 us later; black: all together. Circles: blocking; squares: nonblocking, with "
                "its MPI_Wait."
            )
        else:
            styles = [(0, delay, color) for color, delay in enumerate((0.0, *self.late))]
            shown = "Rank 0 enters so much later than all others."
        panels = []
        for synchronizer, words in SYNCHRONIZERS.items():
            cells = times[times.synchronizer == synchronizer]
            forms_by_title: dict[str, tuple[str, ...]] = {words: self.forms}
            if not self.sizes:  # a barrier has a panel per form
                forms_by_title = {f"{form.capitalize()}, {words}": (form,) for form in self.forms}
            for title, forms in forms_by_title.items():
                lines = self.form_lines(cells, "time_s", scale, forms, styles)
                panels.append(Panel(lines, "number of processes", f"global time [{unit}]", title, *scales))
        points = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "
        title = f"Global time of MPI_{self.operation.capitalize()} with one late process"
        return (make_picture(name, title, f"{points}{shown} {HOW_HERE}", panels),)


def beyond_the_delay(cells: Times) -> ByPosition:
    """Returns for each form the time of the delayed operation, less the delay and less its time without a delay.

    The delay is the longest one.
    """
    longest = cells.delay.max(initial=0.0)
    measures: dict[str, Measure] = {}
    for form in dict.fromkeys(cells.operation[cells.delay == longest]):
        late, plain = (cells[(cells.operation == form) & (cells.delay == delay)] for delay in (longest, 0.0))
        if len(plain) and longest:
            extra = np.median(late.t) - longest - np.median(plain.t)
            measures[form] = Measure([extra], " us", note=f"on {late.ranks[0]} ranks, {longest:g} us late")
    return measures


def growth(by_ranks: Mapping[int, np.ndarray], step_us: float) -> dict[str, Measured]:
    """Returns measures of the growth of times with the number of ranks, in us.

    The growth from the smallest to the largest number of ranks is split into a logarithmic and a linear term by a least
    squares fit. Launches on different numbers of ranks are not paired; the first launches of all numbers are fitted
    together, then the second ones, and so on, which gives independent estimates of the terms.

    Args:
        by_ranks: number of ranks -> time of each launch, us.
        step_us: as in `GlobalTime`.
    """
    times_by_ranks = {ranks: finite(by_ranks[ranks]) for ranks in sorted(by_ranks)}
    launches = min(map(len, times_by_ranks.values()), default=0)
    counts = np.array(list(times_by_ranks), float)
    times = np.array([values[:launches] for values in times_by_ranks.values()]).T
    few = missing(
        f"a logarithm and a line fit equally well on fewer than {MIN_COUNTS} numbers of ranks with a core each; here "
        f"there are {len(counts)}"
    )
    total = logarithmic = few
    per_doubling = missing("it takes two numbers of ranks with a core each")
    if len(counts) > 1:
        longest = float(np.median(times, axis=0).max())
        short = f"the operation takes {longest:.3g} us at most here, so that no step could be of {step_us:g} us"
        slopes = np.polyfit(np.log2(counts), times.T, 1)[0]
        per_doubling = Measure(slopes, " us", signed=True, obstacle=short if longest < step_us else "")
    if len(counts) >= MIN_COUNTS:
        terms = [(x - x[0]) / (x[-1] - x[0]) for x in (np.log2(counts), counts)]  # both rise from 0 to 1
        fit = np.linalg.lstsq(np.stack([*terms, np.ones_like(counts)], axis=1), times.T, rcond=None)[0]
        total = Measure(fit[0] + fit[1], " us", signed=True)
        logarithmic = Measure(fit[0] - fit[1], " us", signed=True)
    return {"growth": total, "logarithmic_less_linear_growth": logarithmic, "per_doubling": per_doubling}


def benefits_of(times: Times) -> Benefits:
    """Computes delay overlap benefits; each compares a cell with the cell of the same launch without a delay."""
    shared = [column.name for column in Cells.columns()]
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
    """Benefits of cells whose largest possible benefit is at least `ROOM`.

    Attributes:
        cells: sorted.
        percent: their benefits, shape (cells, launches); NaN where a launch lacks a cell.
    """

    cells: tuple[Cell, ...]
    percent: Floats

    def of_form(self, form: str) -> RoomyCells:
        """Returns the cells of a form of the operation."""
        rows = [row for row, cell in enumerate(self.cells) if cell.operation == form]
        return RoomyCells(tuple(self.cells[row] for row in rows), self.percent[rows])

    def differences(self, field: str, value: Any, other: Any) -> RoomyCells:  # noqa: ANN401
        """Returns benefits of cells whose `field` is `value`, less those of cells that differ only in that field.

        There, the field is `other`. Cells without such a twin, or without a launch that measured both, are left out.
        """
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
        """Returns for each launch the median over cells."""
        return Measure(pd.DataFrame(self.percent).median().to_numpy(), POINTS, signed=True, note=note)


def with_room(table: Benefits) -> RoomyCells:
    """Chooses the cells whose largest possible benefit is at least `ROOM`."""
    launches = np.unique(table.launch)
    cells = {cell: benefits for cell, benefits in table.cells() if np.median(benefits.ceiling) >= ROOM}
    percent = np.full((len(cells), len(launches)), np.nan)
    for row, benefits in enumerate(cells.values()):
        percent[row, np.searchsorted(launches, benefits.launch)] = benefits.equation_5
    return RoomyCells(tuple(cells), percent)


def no_room(table: Benefits) -> Measure:
    """Returns a missing measure whose reason names the largest possible benefits here."""
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
    """Returns the measures of benefits.

    Differences between sizes, forms and delays are between cells of the same launch that differ in nothing else.

    Args:
        table: benefits on ranks with a core each.
        forms: the blocking and the nonblocking operation.
        sizes: of messages.
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
    for name, form, other_form in (("blocking", *forms), ("nonblocking", *reversed(forms))):
        differences = cells.differences("operation", form, other_form)
        measures[f"more_of_the_{name}_form"] = differences.median() if differences.cells else room
    for name, benefits, sign in (("more_than", few, 1), ("less_than", many, -1)):
        roomy = with_room(benefits)
        delays = sorted({cell.delay for cell in roomy.cells})
        by_delay: dict[str, Measure] = {}
        for short, long in itertools.pairwise(delays):
            differences = roomy.differences("delay", short, long)
            if differences.cells:
                by_delay[f"{short:g} us"] = replace(differences, percent=sign * differences.percent).median()
        lacking = no_room(benefits) if len(benefits) or benefits is few else too_few
        measures[f"{name}_of_the_next_longer_delay"] = by_delay or lacking
    return measures


@dataclass(frozen=True)
class Benefit(LateArrival):
    """Delay overlap benefits over processes."""

    def label(self, form: str, size: int, delay: float) -> str:
        """Returns the label of a line: form and size, or form and delay of a barrier."""
        return f"{form.capitalize()} {f'{size} B' if self.sizes else f'{delay:g} us'}"

    def facts(self, results: Results) -> Facts:
        table = benefits_of(times_of(results.launch_cells))
        on_cores = np.array([not results.site.crowded(int(ranks)) for ranks in table.ranks], bool)
        judged = table[on_cores & (table.synchronizer == JUDGED)]
        return Facts(benefit_measures(judged, self.forms, self.sizes or (0, SMALL)))

    def panel(self, table: Benefits, synchronizer: str, column: str, delays: Sequence[float], title: str) -> Panel:
        """Returns a panel of benefits after one synchronizer, with a line per size and delay, and form.

        Args:
            table: benefits.
            synchronizer: before the samples.
            column: of `Benefits`.
            delays: us.
            title: of the panel.
        """
        cells = [(size, delay) for size in self.sizes or (0,) for delay in delays]
        styles = [(*cell, color) for color, cell in enumerate(cells)]
        lines = self.form_lines(table[table.synchronizer == synchronizer], column, 1.0, self.forms, styles)
        axes = ("number of processes", "delay overlap benefit [%]")
        return Panel(lines, *axes, title, x_scale="positions", y_at=0.0)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        table, last = (benefits_of(times_of(results.launch_cells, late)) for late in (False, True))
        late, shorter = self.late, self.shorter
        far, near = (f"{', '.join(f'{delay:g}' for delay in delays)} us late" for delays in (late, shorter))
        listings = [(name, words) for name, words in SYNCHRONIZERS.items() if name != JUDGED]
        panels = [  # arguments of `panel`
            (table, JUDGED, "equation_5", late, f"Eq. 5, {SYNCHRONIZERS[JUDGED]}, {far}"),
            (table, JUDGED, "equation_5", shorter, f"Eq. 5, {SYNCHRONIZERS[JUDGED]}, {near}"),
            (table, JUDGED, "by_stamps", late, f"by stamps, {SYNCHRONIZERS[JUDGED]}, {far}"),
            (table, JUDGED, "by_stamps", shorter, f"by stamps, {SYNCHRONIZERS[JUDGED]}, {near}"),
            *((table, name, "equation_5", late, f"{words}, {far}") for name, words in listings),
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
        return (make_picture(name, title, caption, [self.panel(*arguments) for arguments in panels]),)
