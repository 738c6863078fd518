"""Progress of an experiment: a live display on a terminal, else a line per launch."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from downbeat.output.fields import synchronizer_name
from downbeat.run.bench_launch import ERRORS, Ended
from downbeat.run.directory import PARTIAL
from downbeat.run.estimates import CELL_NAMES, CellKey, Estimates
from downbeat.run.execute import Watcher
from downbeat.run.libraries import PROGRESS
from downbeat.run.machine import Finding
from downbeat.run.plan import LaunchKey, Plan
from downbeat.statistics.location import MIN_SHOWN, Interval
from downbeat.text import MICROSECONDS, counted, duration_text, microseconds, printable


class Screen(Console):
    """The console of standard output or error; on a terminal it bypasses `streams.Shown`."""

    def __init__(self, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream) if stream.isatty() else stream, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


CAPTION = "latency in us, mean over ranks: the typical median of n launches; +-: half the 95 % interval"
# Names of columns -> headings of the table.
SHORT = {"barrier_algorithm": "barrier", "largest_delay": "delay", "environment": "environment"}
SHOWN_ALWAYS = ("operation", "size")
START = ("synchronizer", "barrier_algorithm")
MAX_SYNCHRONIZERS = 3  # synchronizers in the table; `downbeat show` has all


def title_of(key: LaunchKey) -> str:
    """A launch as text for users."""
    return f"{key.configuration}, launch {key.number}{f', portion {key.portion}' if key.portion else ''}"


class Pace:
    """The durations of launches so far, and an estimate of the time left.

    Args:
        per_round: launches in a round.
        interval: minimum time between starts of rounds, s.
    """

    def __init__(self, per_round: int = 1, interval: float = 0.0) -> None:
        self.seconds: dict[str, list[float]] = {}  # configuration -> durations
        self.per_round, self.interval = per_round, interval

    def add(self, ended: Ended) -> None:
        self.seconds.setdefault(ended.key.configuration, []).append(ended.seconds)

    def left(self, launches: int) -> float | None:
        """The time that launches will take, s, by the mean over configurations; None if unknown."""
        if not self.seconds:
            return None
        return self.of(launches, sum(sum(each) / len(each) for each in self.seconds.values()) / len(self.seconds))

    def of(self, launches: int, mean: float) -> float:
        """The time that launches of a mean duration take, pauses between rounds included; s."""
        rounds, remainder = divmod(launches, self.per_round)
        return rounds * max(self.interval, self.per_round * mean) + remainder * mean


def time_left(seconds: float | None, complete: int, total: int) -> str:
    """Text after a comma: the time that remaining launches take; "" if unknown."""
    return f", about {duration_text(seconds)} left" if seconds and complete < total else ""


def spread_text(plan: Plan) -> str:
    """Text: the spacing of launches that are spread over a time."""
    each = "one" if len(plan.round_order(1)) == 1 else "a round of them"
    return f"{each} every {duration_text(plan.spacing)} over {duration_text(plan.over)}"


def clock_time(seconds: float) -> str:
    """The time of day for s since 1970, with the date if it is not today."""
    at, now = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M:%S" if at[:3] == now[:3] else "%H:%M:%S on %d %b", at)


def progress_table(estimates: Estimates, most: int | None = None) -> Table:
    """The table of the cells' estimates so far, synchronizers side by side.

    Args:
        estimates: of the launches so far.
        most: most rows; None: all.
    """
    labels = [*SHOWN_ALWAYS, *(name for name in estimates.varying() if name not in (*SHOWN_ALWAYS, *START))]
    rows: dict[tuple[object, ...], dict[str, Interval]] = {}
    for cell, interval in sorted_cells(estimates.intervals()):
        values = dict(zip(CELL_NAMES, cell, strict=True))
        start, barrier = (str(values[name]) for name in START)
        name = f"{start}[{barrier}]" if barrier not in ("default", "") else start
        rows.setdefault(tuple(values[name] for name in labels), {})[name] = interval
    starts = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in labels:
        table.add_column(SHORT.get(name, name), justify="right" if name in ("size", "ranks") else "left", no_wrap=True)
    for name in [*(head for start in starts[:MAX_SYNCHRONIZERS] for head in (synchronizer_name(start), "+-")), "n"]:
        table.add_column(name, justify="right", no_wrap=True)
    for key, row in list(rows.items())[:most]:
        texts = [text for name in starts[:MAX_SYNCHRONIZERS] for text in interval_texts(row.get(name))]
        count = max(interval.count for interval in row.values())
        table.add_row(*(Text(factor_text(*pair)) for pair in zip(labels, key, strict=True)), *texts, str(count))
    if most is not None and len(rows) > most:
        table.add_row(Text(f"and {len(rows) - most} more", style="dim"))
    return table


def sorted_cells(intervals: dict[CellKey, Interval]) -> list[tuple[CellKey, Interval]]:
    """Cells sorted for comparison: by operation in order of occurrence, then size, ranks and other factors."""
    operations = list(dict.fromkeys(cell[CELL_NAMES.index("operation")] for cell in intervals))

    def position(cell: CellKey) -> tuple[object, ...]:
        values = dict(zip(CELL_NAMES, cell, strict=True))
        other_factors = [str(value) for name, value in values.items() if name not in ("operation", "size", "ranks")]
        return operations.index(values["operation"]), int(str(values["size"])), values["ranks"], other_factors

    return sorted(intervals.items(), key=lambda each: position(each[0]))


def factor_text(factor: str, value: object) -> str:
    """The value of a factor as text for users."""
    if factor == "largest_delay" and isinstance(value, float):
        return f"{value * MICROSECONDS:g} us"
    return str(value)


def interval_texts(interval: Interval | None) -> list[str]:
    """The columns of an estimate: its value in us, and half the interval as a share of it."""
    if interval is None:
        return ["", ""]
    width = "-" if math.isnan(interval.low) or interval.count < MIN_SHOWN else f"{interval.width / 2:.1%}"
    return [microseconds(interval.estimate), width]


SAY = functools.partial(print, flush=True)
QUIET_SECONDS = 60.0  # between lines about a running launch
DRAW_SECONDS, DRAW_SELDOM_SECONDS = 1.0, 5.0  # between updates of the display; an update takes milliseconds of CPU


class Plain(Watcher):
    """Prints a line per launch and per minute of a launch, for files, pipes and logs."""

    def __init__(self, say: Callable[[str], None] = SAY) -> None:
        self.pace, self.over = Pace(), 0.0
        self.say = say
        self.directory = Path()
        self.running, self.errors, self.began = (
            "",
            Path(),
            0.0,
        )  # the running launch: title, stderr, start (s since 1970)

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
        """Text: the start of the next round, and of the last of the `left` rounds."""
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
        """The latest progress line of downbeat-bench in the running launch, else the launch's start time."""
        try:
            reports = re.findall(PROGRESS, self.errors.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            reports = []
        return reports[-1] if reports else f"began at {time.strftime('%H:%M:%S', time.localtime(self.began))}"

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:  # noqa: ARG002
        self.pace.add(ended)
        left = self.pace.left(total - complete)
        how = f"failed: {ended.failure}" if ended.failure else f"took {duration_text(ended.seconds)}"
        self.say(
            f"{complete} of {total} launches complete{time_left(left, complete, total)}; {title_of(ended.key)} {how}"
        )


class Terminal(Plain):
    """A progress bar and a table of the cells' estimates so far.

    It is updated every second, or every 5 s if launches use all processors.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(functools.partial(console.print, markup=False, highlight=False))
        self.estimates = Estimates()
        self.complete = 0
        self.total = 1
        self.failed = 0
        self.interval = DRAW_SECONDS
        self.awaited = ""  # text: the start of the next round
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
        """The time left, s; during the first launch estimated from its progress."""
        measured = re.search(r"(\d+) % of", self.within()) if self.running and not self.pace.seconds else None
        if not measured or not int(measured[1]):
            return self.pace.left(self.total - self.complete)
        passed = time.time() - self.began
        return max(0.0, self.pace.of(self.total - self.complete, passed / (int(measured[1]) / 100)) - passed)

    def render(self) -> Group:
        """The current display."""
        left = self.left()
        words = f"launch {min(self.complete + 1, self.total)} of {self.total}"
        words += time_left(left, self.complete, self.total) + (f", {self.failed} failed" if self.failed else "")
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
    """The watcher for standard output or standard error: live on a terminal, else lines through `say`."""
    stream = sys.stderr if stderr else sys.stdout
    # TERM=dumb cannot move the cursor.
    return Terminal(Screen(stderr)) if stream.isatty() and os.environ.get("TERM") != "dumb" else Plain(say)
