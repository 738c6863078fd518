"""Progress of an experiment: on a terminal a live display, elsewhere a line for each launch."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from downbeat.data.states import state_text
from downbeat.run.bench_launch import ERRORS, Ended
from downbeat.run.directory import PARTIAL
from downbeat.run.estimates import CELL_NAMES, CellKey, Estimates
from downbeat.run.execute import Watcher
from downbeat.run.libraries import PROGRESS
from downbeat.run.machine import Finding
from downbeat.run.plan import LaunchKey, Plan
from downbeat.statistics.location import FEWEST_SHOWN, Interval
from downbeat.text import MICROSECONDS, counted, duration_text, microseconds, printable


class Screen(Console):
    """The console of a stream, which may be `streams.Shown`: on a terminal it writes to the stream below."""

    def __init__(self, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream) if stream.isatty() else stream, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


CAPTION = "latency in us, mean over ranks: the typical median of n launches; +-: half the 95 % interval"
# Of a table, by their names in frames, in the order of its columns; where a factor does not vary, it needs no column.
SHORT = {"barrier_algorithm": "barrier", "largest_delay": "delay", "environment": "environment"}
SHOWN_ALWAYS = ("operation", "size")
START = ("synchronizer", "barrier_algorithm")
MOST_BESIDE = 3  # synchronizers; downbeat show has all


def title_of(key: LaunchKey) -> str:
    """Returns a launch in words."""
    return f"{key.configuration}, launch {key.number}{f', portion {key.portion}' if key.portion else ''}"


class Pace:
    """The durations of launches so far, and when the others will be done.

    Args:
        per_round: launches in a round.
        interval: s, from the start of a round to that of the next, at least.
    """

    def __init__(self, per_round: int = 1, interval: float = 0.0) -> None:
        self.seconds: dict[str, list[float]] = {}  # by configuration
        self.per_round, self.interval = per_round, interval

    def add(self, ended: Ended) -> None:
        self.seconds.setdefault(ended.key.configuration, []).append(ended.seconds)

    def left(self, launches: int) -> float | None:
        """Returns the seconds that so many launches will take: the mean over configurations; None if none is known."""
        if not self.seconds:
            return None
        return self.of(launches, sum(sum(each) / len(each) for each in self.seconds.values()) / len(self.seconds))

    def of(self, launches: int, mean: float) -> float:
        """Returns the seconds that so many launches take, of so many each."""
        rounds, others = divmod(launches, self.per_round)
        return rounds * max(self.interval, self.per_round * mean) + others * mean


def time_left(seconds: float | None, complete: int, total: int) -> str:
    """Returns how long the remaining launches take, after a comma; "" if that is not known."""
    return f", about {duration_text(seconds)} left" if seconds and complete < total else ""


def spread_text(plan: Plan) -> str:
    """Returns how launches are spread over a time, in words."""
    each = "one" if len(plan.round_order(1)) == 1 else "a round of them"
    return f"{each} every {duration_text(plan.spacing)} over {duration_text(plan.over)}"


def clock_time(seconds: float) -> str:
    """Returns a time of the day, of s since 1970; with the date if it is another one."""
    at, now = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M:%S" if at[:3] == now[:3] else "%H:%M:%S on %d %b", at)


def in_one_state(estimates: Estimates) -> str:
    """Returns how many launches are in the state that most are in, after a comma; "" if all are."""
    counts = Counter(estimates.states().values())
    if len(counts) < 2:
        return ""
    state, most = counts.most_common(1)[0]
    return f", {most} in the state {state_text(state)}"


def progress_table(estimates: Estimates, most: int | None = None) -> Table:
    """Returns the table of the cells' estimates so far, synchronizers side by side, as all tables have them.

    Args:
        estimates: of the launches so far.
        most: rows.
    """
    labels = [*SHOWN_ALWAYS, *(name for name in estimates.varying() if name not in (*SHOWN_ALWAYS, *START))]
    rows: dict[tuple[object, ...], dict[str, Interval]] = {}
    for cell, interval in sorted_cells(estimates.intervals()):
        values = dict(zip(CELL_NAMES, cell, strict=True))
        start, barrier = (str(values[name]) for name in START)
        name = f"{start}[{barrier}]" if barrier not in ("default", "") else start
        rows.setdefault(tuple(values[one] for one in labels), {})[name] = interval
    starts = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in labels:
        table.add_column(SHORT.get(name, name), justify="right" if name in ("size", "ranks") else "left", no_wrap=True)
    for name in [*(head for start in starts[:MOST_BESIDE] for head in (start, "+-")), "n"]:
        table.add_column(name, justify="right", no_wrap=True)
    for key, row in list(rows.items())[:most]:
        texts = [text for name in starts[:MOST_BESIDE] for text in interval_texts(row.get(name))]
        count = max(interval.count for interval in row.values())
        table.add_row(*(Text(factor_text(*one)) for one in zip(labels, key, strict=True)), *texts, str(count))
    if most is not None and len(rows) > most:
        table.add_row(Text(f"and {len(rows) - most} more", style="dim"))
    return table


def sorted_cells(intervals: dict[CellKey, Interval]) -> list[tuple[CellKey, Interval]]:
    """Returns cells with those to be compared side by side: operations in their order, then sizes."""
    operations = list(dict.fromkeys(cell[CELL_NAMES.index("operation")] for cell in intervals))

    def place(cell: CellKey) -> tuple[object, ...]:
        values = dict(zip(CELL_NAMES, cell, strict=True))
        rest = [str(value) for name, value in values.items() if name not in ("operation", "size", "ranks")]
        return operations.index(values["operation"]), int(str(values["size"])), values["ranks"], rest

    return sorted(intervals.items(), key=lambda each: place(each[0]))


def factor_text(factor: str, value: object) -> str:
    """Returns the value of a factor for people."""
    if factor == "largest_delay" and isinstance(value, float):
        return f"{value * MICROSECONDS:g} us"
    return str(value)


def interval_texts(interval: Interval | None) -> list[str]:
    """Returns the columns of an estimate: microseconds, half of its interval beside the estimate."""
    if interval is None:
        return ["", ""]
    width = "-" if math.isnan(interval.low) or interval.count < FEWEST_SHOWN else f"{interval.width / 2:.1%}"
    return [microseconds(interval.estimate), width]


SAY = functools.partial(print, flush=True)
QUIET_SECONDS = 60.0  # between lines about a launch
DRAW_SECONDS, DRAW_SELDOM_SECONDS = 1.0, 5.0  # between pictures; drawing one takes milliseconds of a processor


class Plain(Watcher):
    """A line for each launch, and for each minute of one, for files, pipes and logs."""

    def __init__(self, say: Callable[[str], None] = SAY) -> None:
        self.pace, self.over = Pace(), 0.0
        self.say = say
        self.directory = Path()
        self.running, self.errors, self.began = "", Path(), 0.0  # the launch that runs

    def begins(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        self.directory = directory
        self.pace = Pace(len(plan.round_order(1)), plan.spacing)
        self.over = plan.over
        already = f", {complete} of them complete" if complete else ""
        spread = f", {spread_text(plan)}" if plan.over else ""
        self.say(f"{plan.name}: {counted(total, 'launch')}{already}{spread}, into {directory}")

    def doubts(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self.say("; ".join(filter(None, (finding.seen, finding.advice))))

    def launches(self, key: LaunchKey) -> None:
        self.running, self.began = title_of(key), time.time()
        self.errors = self.directory / PARTIAL / str(key) / ERRORS

    def waits(self, until: float, left: int) -> None:
        self.running = ""
        if until - time.time() > QUIET_SECONDS / 2:
            self.say(self.next_round(until, left))

    def next_round(self, until: float, left: int) -> str:
        """Says when the next round begins, and the last of those that are left."""
        what = "launch" if self.pace.per_round == 1 else "round of launches"
        last = f", the last of {left} at {clock_time(until + (left - 1) * self.pace.interval)}" if left > 1 else ""
        return f"the next {what} begins at {clock_time(until)}{last}"

    def crowded(self, seconds: float, rounds: int) -> None:
        what = "launches" if self.pace.per_round == 1 else "rounds of launches"
        self.say(
            f"{what} take {duration_text(seconds)} each, so {rounds} do not fit into {duration_text(self.over)}: they "
            "follow each other at once"
        )

    def tick(self) -> float | None:
        if self.running and time.time() - self.began > QUIET_SECONDS / 2:
            self.say(f"{self.running}: {self.within()}")
        return QUIET_SECONDS

    def within(self) -> str:
        """Returns how far the launch is, in its own words if it has any."""
        try:
            said = re.findall(PROGRESS, self.errors.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            said = []
        return said[-1] if said else f"began at {time.strftime('%H:%M:%S', time.localtime(self.began))}"

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        self.pace.add(ended)
        left = self.pace.left(total - complete)
        how = f"failed: {ended.failure}" if ended.failure else f"took {duration_text(ended.seconds)}"
        self.say(
            f"{complete} of {total} launches complete{time_left(left, complete, total)}{in_one_state(estimates)}; "
            f"{title_of(ended.key)} {how}"
        )


class Terminal(Plain):
    """A bar, and a table of the cells that grows more certain launch by launch.

    It changes every second, and more seldom where launches use all processors.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(functools.partial(console.print, markup=False, highlight=False))
        self.estimates = Estimates()
        self.complete = 0
        self.total = 1
        self.failed = 0
        self.interval = DRAW_SECONDS
        self.awaited = ""  # when the next round begins
        self.live = Live(console=console, auto_refresh=False, get_renderable=self.render, transient=True)

    def begins(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        self.complete, self.total = complete, total
        super().begins(plan, directory, complete, total)
        if len(os.sched_getaffinity(0)) <= max(plan.ranks):
            self.interval = DRAW_SELDOM_SECONDS
        self.live.start()

    def launches(self, key: LaunchKey) -> None:
        super().launches(key)
        self.awaited = ""

    def waits(self, until: float, left: int) -> None:
        self.running, self.awaited = "", self.next_round(until, left)

    def tick(self) -> float | None:
        self.live.refresh()
        return self.interval

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        self.pace.add(ended)
        self.complete, self.total, self.estimates, self.running = complete, total, estimates, ""
        if ended.failure:
            self.failed += 1
            self.say(f"{title_of(ended.key)} failed: {ended.failure}")

    def ends(self) -> None:
        self.live.stop()

    def left(self) -> float | None:
        """Returns the seconds that are left; while the first launch runs, by how much of it is measured."""
        measured = re.search(r"(\d+) % of", self.within()) if self.running and not self.pace.seconds else None
        if not measured or not int(measured[1]):
            return self.pace.left(self.total - self.complete)
        passed = time.time() - self.began
        return max(0.0, self.pace.of(self.total - self.complete, passed / (int(measured[1]) / 100)) - passed)

    def render(self) -> Group:
        """Returns the display of this moment."""
        left = self.left()
        words = f"launch {min(self.complete + 1, self.total)} of {self.total}"
        words += time_left(left, self.complete, self.total) + (f", {self.failed} failed" if self.failed else "")
        words += in_one_state(self.estimates)
        head = Table.grid(padding=(0, 2, 0, 0))
        head.add_row(ProgressBar(total=self.total, completed=self.complete, width=24), Text(words))
        launch = f"{self.running}: {self.within()}" if self.running else ""
        launch = self.awaited or launch
        shown: list[Table | Text] = [head, Text(launch, style="dim", no_wrap=True, overflow="ellipsis")]
        if self.estimates.medians:
            shown.append(Text(CAPTION, style="dim"))
            shown.append(progress_table(self.estimates, max(3, self.live.console.height - 8)))
        return Group(*shown)


def watcher(stderr: bool = False, say: Callable[[str], None] = SAY) -> Watcher:
    """Returns what suits standard output, or standard error; `say` takes the lines where it is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    # TERM=dumb cannot move its cursor.
    return Terminal(Screen(stderr)) if stream.isatty() and os.environ.get("TERM") != "dumb" else Plain(say)
