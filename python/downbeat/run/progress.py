"""Shows the progress of an experiment: a live display on a terminal, else a line per launch.

`Plain` and `Terminal` are watchers: `execute` calls their methods at each event (execute.py).
"""

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
    """The console of standard output or error.

    On a terminal it bypasses `streams.Shown`, which would make its control codes visible, and makes texts printable
    itself.
    """

    def __init__(self, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream) if stream.isatty() else stream, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


CAPTION = "latency in us, mean over ranks: the typical median of n launches; +-: half the 95 % interval"
# Names of columns -> headings of the table.
SHORT = {"barrier_algorithm": "barrier", "largest_delay": "delay", "environment": "environment"}
SHOWN_ALWAYS = ("operation", "size")  # factors that are columns of the table even if they do not vary
START = ("synchronizer", "barrier_algorithm")  # factors side by side in the table; all others distinguish rows
MAX_SYNCHRONIZERS = 3  # synchronizers in the table; `downbeat show` has all


def title_of(key: LaunchKey) -> str:
    """A launch as text for users, e.g. "openmpi, 4 ranks, launch 3"."""
    return f"{key.configuration}, launch {key.number}{f', portion {key.portion}' if key.portion else ''}"


class Pace:
    """The durations of launches so far, and an estimate of the time left.

    Args:
        per_round: number of launches in a round.
        interval: minimum time between starts of rounds, s.
    """

    def __init__(self, per_round: int = 1, interval: float = 0.0) -> None:
        self.seconds: dict[str, list[float]] = {}  # configuration -> durations of launches, s
        self.per_round, self.interval = per_round, interval

    def add(self, ended: Ended) -> None:
        """Adds a launch that has ended."""
        self.seconds.setdefault(ended.key.configuration, []).append(ended.seconds)

    def left(self, launches: int) -> float | None:
        """The time that some launches will take, s, by the mean over configurations; None before the first launch."""
        if not self.seconds:
            return None
        means = [sum(durations) / len(durations) for durations in self.seconds.values()]
        return self.total(launches, sum(means) / len(means))

    def total(self, launches: int, mean: float) -> float:
        """The time that launches of a mean duration take, s, with the pauses between rounds."""
        rounds, remainder = divmod(launches, self.per_round)
        return rounds * max(self.interval, self.per_round * mean) + remainder * mean


def time_left(seconds: float | None, complete: int, total: int) -> str:
    """Text, e.g. ", about 3 min left": the time that the remaining launches take; "" if unknown."""
    return f", about {duration_text(seconds)} left" if seconds and complete < total else ""


def spread_text(plan: Plan) -> str:
    """Text on launches that are spread over a time: "one every 30 s over 10 min"."""
    unit = "one" if len(plan.round_order(1)) == 1 else "a round of them"
    return f"{unit} every {duration_text(plan.spacing)} over {duration_text(plan.over)}"


def clock_time(seconds: float) -> str:
    """The local time of day for s since 1970, with the date if it is not today."""
    moment = time.localtime(seconds)
    is_today = moment[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%H:%M:%S on %d %b", moment)


def progress_table(estimates: Estimates, max_rows: int | None = None) -> Table:
    """The table of the cells' estimates so far, with a pair of columns per synchronizer.

    Args:
        estimates: of the launches so far.
        max_rows: maximum number of rows; None: all rows.
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
    headings = [heading for start in starts[:MAX_SYNCHRONIZERS] for heading in (synchronizer_name(start), "+-")]
    for heading in [*headings, "n"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for key, row in list(rows.items())[:max_rows]:
        factors = [Text(factor_text(name, value)) for name, value in zip(labels, key, strict=True)]
        texts = [text for name in starts[:MAX_SYNCHRONIZERS] for text in interval_texts(row.get(name))]
        count = max(interval.count for interval in row.values())
        table.add_row(*factors, *texts, str(count))
    if max_rows is not None and len(rows) > max_rows:
        table.add_row(Text(f"and {len(rows) - max_rows} more", style="dim"))
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
    """The two columns of an estimate: its value in us, and half the width of its interval as a share of it."""
    if interval is None:
        return ["", ""]
    width = "-" if math.isnan(interval.low) or interval.count < MIN_SHOWN else f"{interval.width / 2:.1%}"
    return [microseconds(interval.estimate), width]


PRINT = functools.partial(print, flush=True)
LINE_SECONDS = 60.0  # between lines about a running launch
# Between updates of the display, the second if ranks use all processors: an update takes milliseconds of CPU.
DRAW_SECONDS, DRAW_SELDOM_SECONDS = 1.0, 5.0


class Plain(Watcher):
    """Prints a line per launch and per minute of a launch, for files, pipes and logs.

    Args:
        say: prints a line.
    """

    def __init__(self, say: Callable[[str], None] = PRINT) -> None:
        self.say = say
        self.pace = Pace()
        self.over = 0.0  # s that launches are spread over; 0: not spread
        self.directory = Path()  # of the experiment
        # The running launch: its title ("": none runs), the file of its standard error, its start (s since 1970).
        self.running = ""
        self.errors = Path()
        self.began = 0.0

    def on_begin(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        self.directory = directory
        self.pace = Pace(len(plan.round_order(1)), plan.spacing)
        self.over = plan.over
        already = f", {complete} of them complete" if complete else ""
        spread = f", {spread_text(plan)}" if plan.over else ""
        self.say(f"{plan.name}: {counted(total, 'launch')}{already}{spread}, into {directory}")

    def on_unconfirmed(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self.say("; ".join(filter(None, (finding.seen, finding.advice))))

    def on_launch(self, key: LaunchKey) -> None:
        self.running, self.began = title_of(key), time.time()
        self.errors = self.directory / PARTIAL / str(key) / ERRORS

    def on_wait(self, until: float, left: int) -> None:
        self.running = ""
        if until - time.time() > LINE_SECONDS / 2:
            self.say(self.next_round(until, left))

    def next_round(self, until: float, left: int) -> str:
        """Text: the start of the next round, and of the last of the `left` rounds."""
        what = "launch" if self.pace.per_round == 1 else "round of launches"
        last = f", the last of {left} at {clock_time(until + (left - 1) * self.pace.interval)}" if left > 1 else ""
        return f"the next {what} begins at {clock_time(until)}{last}"

    def on_crowded(self, seconds: float, rounds: int) -> None:
        what = "launches" if self.pace.per_round == 1 else "rounds of launches"
        self.say(
            f"{what} take {duration_text(seconds)} each, so {rounds} do not fit into {duration_text(self.over)}: they "
            "follow each other at once"
        )

    def tick(self) -> float | None:
        if self.running and time.time() - self.began > LINE_SECONDS / 2:
            self.say(f"{self.running}: {self.status()}")
        return LINE_SECONDS

    def status(self) -> str:
        """The latest progress line of downbeat-bench in the running launch, else the launch's start time."""
        try:
            reports = re.findall(PROGRESS, self.errors.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            reports = []
        return reports[-1] if reports else f"began at {time.strftime('%H:%M:%S', time.localtime(self.began))}"

    def on_ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:  # noqa: ARG002
        self.pace.add(ended)
        left = self.pace.left(total - complete)
        how = f"failed: {ended.failure}" if ended.failure else f"took {duration_text(ended.seconds)}"
        self.say(
            f"{complete} of {total} launches complete{time_left(left, complete, total)}; {title_of(ended.key)} {how}"
        )


class Terminal(Plain):
    """A live display: a progress bar, and a table of the cells' estimates so far.

    It is updated every second, or every 5 s if ranks use all processors. Only failed launches get a line that stays.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(functools.partial(console.print, markup=False, highlight=False))
        self.estimates = Estimates()
        # Numbers of launches.
        self.complete = 0
        self.total = 1
        self.failed = 0
        self.interval = DRAW_SECONDS
        self.awaited = ""  # text: the start of the next round; "" while a launch runs
        self.live = Live(console=console, auto_refresh=False, get_renderable=self.render, transient=True)

    def on_begin(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        self.complete, self.total = complete, total
        super().on_begin(plan, directory, complete, total)
        if len(os.sched_getaffinity(0)) <= max(plan.ranks):
            self.interval = DRAW_SELDOM_SECONDS
        self.live.start()

    def on_launch(self, key: LaunchKey) -> None:
        super().on_launch(key)
        self.awaited = ""

    def on_wait(self, until: float, left: int) -> None:
        self.running, self.awaited = "", self.next_round(until, left)

    def tick(self) -> float | None:
        self.live.refresh()
        return self.interval

    def on_ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        self.pace.add(ended)
        self.complete, self.total, self.estimates, self.running = complete, total, estimates, ""
        if ended.failure:
            self.failed += 1
            self.say(f"{title_of(ended.key)} failed: {ended.failure}")

    def on_end(self) -> None:
        self.live.stop()

    def left(self) -> float | None:
        """The time left, s; during the first launch estimated from its progress."""
        launches = self.total - self.complete
        is_first = self.running and not self.pace.seconds
        measured = re.search(r"(\d+) % of", self.status()) if is_first else None
        percent = int(measured[1]) if measured else 0
        if percent == 0:
            return self.pace.left(launches)
        passed = time.time() - self.began
        return max(0.0, self.pace.total(launches, passed / (percent / 100)) - passed)

    def render(self) -> Group:
        """The current display."""
        left = self.left()
        words = f"launch {min(self.complete + 1, self.total)} of {self.total}"
        words += time_left(left, self.complete, self.total)
        words += f", {self.failed} failed" if self.failed else ""
        head = Table.grid(padding=(0, 2, 0, 0))
        head.add_row(ProgressBar(total=self.total, completed=self.complete, width=24), Text(words))
        launch = f"{self.running}: {self.status()}" if self.running else ""
        launch = self.awaited or launch
        shown: list[Table | Text] = [head, Text(launch, style="dim", no_wrap=True, overflow="ellipsis")]
        if self.estimates.medians:
            shown.append(Text(CAPTION, style="dim"))
            shown.append(progress_table(self.estimates, max(3, self.live.console.height - 8)))
        return Group(*shown)


def watcher(stderr: bool = False, say: Callable[[str], None] = PRINT) -> Watcher:
    """The watcher for standard output or standard error: live on a terminal, else lines through `say`."""
    stream = sys.stderr if stderr else sys.stdout
    can_move_cursor = stream.isatty() and os.environ.get("TERM") != "dumb"
    return Terminal(Screen(stderr)) if can_move_cursor else Plain(say)
