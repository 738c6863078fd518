"""Executes an experiment: launches one after another, each in its directory, until all are complete."""

from __future__ import annotations

import dataclasses
import datetime
import math
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.files import HOLDER, LOCK, locked, write_checked_json
from downbeat.run import directory as layout
from downbeat.run.bench_launch import Ended, launch
from downbeat.run.bench_launch import launch_command as launch_command
from downbeat.run.estimates import Estimates
from downbeat.run.job import end_marked, job_of, ranks_on_a_node
from downbeat.run.machine import Finding
from downbeat.run.plan import LaunchKey, Plan
from downbeat.run.rounds import rounds_expected, rounds_needed
from downbeat.run.trial import check_choices
from downbeat.text import duration_word

ATTEMPTS = 3  # per launch; failed launches are retried after all others
# A configuration with this many failed and no complete launches is skipped, which saves time for the others.
HOPELESS = 3
# Fields of a plan that may change when an experiment continues; any other change is refused.
MAY_CHANGE = ("launches", "most_rounds", "interval", "width", "max_launches", "timeout")


class Watcher:
    """Receives the progress of an experiment; this base class ignores it."""

    def begins(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        """The run begins; `complete` of the `total` launches exist already."""

    def doubts(self, findings: Sequence[Finding]) -> None:
        """Choices of algorithms whose effect counting messages could not confirm."""

    def launches(self, key: LaunchKey) -> None:
        """A launch begins."""

    def waits(self, until: float, left: int) -> None:
        """The next round begins at `until`, s since 1970; `left` rounds remain, including it."""

    def crowded(self, seconds: float, rounds: int) -> None:
        """A round takes `seconds`, so `rounds` of them do not fit into the time of the plan."""

    def tick(self) -> float | None:
        """Called while a launch runs or a round is due; returns the seconds until the next call, None for no more."""
        return None

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        """A launch has ended."""

    def ends(self) -> None:
        """No more launches."""


@dataclass
class Outcome:
    """The result of a run."""

    failures: list[Ended] = field(
        default_factory=list
    )  # failed launches of this run, including those whose retry succeeded
    lacking: dict[str, int] = field(default_factory=dict)  # configuration -> number of missing launches
    refused: str = ""  # reason, if downbeat-bench refused every configuration
    too_wide: float = 0.0  # relative width of the widest interval if it exceeds the requested width, else 0
    estimates: Estimates = field(default_factory=Estimates)


def execute(plan: Plan, directory: Path, watcher: Watcher | None = None, any_seed: bool = False) -> Outcome:
    """Executes the launches of an experiment that are not complete.

    A failed launch is kept with its output and retried after the others. If every configuration of a new experiment is
    refused, its directory is removed, so that the next attempt can use it with other arguments.

    Args:
        plan: the experiment; may differ from the plan in the directory only in `MAY_CHANGE`.
        directory: of the experiment; created if missing.
        watcher: receives the progress.
        any_seed: the user gave no seed, so an existing experiment keeps its seed.

    Raises:
        UsageError: the directory holds another experiment or a link of another user, or an algorithm has no effect.
        DownbeatError: another run is using the directory.
    """
    adopt(plan, directory, any_seed)
    if directory.is_dir():
        layout.refuse_links_of_others(directory)
    with locked(directory) as lock:
        plan = adopt(plan, directory, any_seed)  # the previous holder of the lock may have written another plan
        begins = not (directory / layout.PLAN).is_file()
        try:
            unknown = check_choices(plan.on_machine)
        except UsageError:
            if begins:
                layout.remove(directory)
            raise
        layout.write_plan(directory, plan)
        for partial in (directory / layout.PARTIAL).glob("*"):
            end_marked(str(partial.resolve()))  # ranks left by a run that was killed together with its launch process
        shutil.rmtree(directory / layout.PARTIAL, ignore_errors=True)
        record_machine(ranks_here(plan.on_machine), directory, unknown)
        watcher = watcher or Watcher()
        watcher.doubts(unknown)
        try:
            outcome = Execution(plan, directory, watcher, lock).run()
            if outcome.refused and begins:
                layout.remove(directory)
            return outcome
        finally:
            shutil.rmtree(directory / layout.PARTIAL, ignore_errors=True)


def adopt(plan: Plan, directory: Path, any_seed: bool = False) -> Plan:
    """Checks that a directory is empty or holds this experiment; returns the plan, with the stored seed if `any_seed`.

    Raises:
        UsageError: the directory holds something else; the line names the difference.
    """
    if not (directory / layout.PLAN).is_file():
        if directory.exists() and (
            not directory.is_dir()
            or any(path.name not in (LOCK, HOLDER, f"{layout.PLAN}.new") for path in directory.iterdir())
        ):
            raise UsageError(f"'{directory}' exists and is not the directory of an experiment; give another one (-o)")
        return plan
    stored = layout.read_plan(directory)
    if any_seed:
        plan = dataclasses.replace(plan, seed=stored.seed)
    for name, before, now in differences(stored, plan):
        raise UsageError(
            f"'{directory}' holds another experiment: its {name} is {before}, not {now}; give another directory (-o)"
        )
    return plan


def differences(stored: Plan, new: Plan) -> Iterable[tuple[str, object, object]]:
    """Yields the differences between two plans except those in `MAY_CHANGE`: name, stored and new value."""
    for declared in dataclasses.fields(Plan):
        before, now = getattr(stored, declared.name), getattr(new, declared.name)
        if declared.name in MAY_CHANGE or before == now:
            continue
        if declared.name == "measurement":
            if before.operations != now.operations:
                yield "operations", " ".join(before.operations), " ".join(now.operations)
            for option in sorted({*before.options, *now.options}):
                texts = [f"'{each.options[option]}'" if option in each.options else "none" for each in (before, now)]
                if texts[0] != texts[1]:
                    yield option, texts[0], texts[1]
        elif declared.name in ("libraries", "environments", "variants"):
            yield declared.name, in_words(before), in_words(now)
        elif declared.name == "over":
            yield declared.name, duration_word(before) if before else "none", duration_word(now) if now else "none"
        else:
            yield declared.name, before, now


def in_words(values: Iterable[object]) -> str:
    """Libraries, environments or variants as text: `a (launcher srun) and b`."""
    words = []
    for value in values:
        content = {name: set_to for name, set_to in vars(value).items() if set_to and name != "name"}
        inside = ", ".join(
            f"{name} {dict(setting) if isinstance(setting, dict) else setting}" for name, setting in content.items()
        )
        words.append(f"{vars(value)['name']}{f' ({inside})' if inside else ''}")
    return " and ".join(words)


def ranks_here(plan: Plan) -> int:
    """The number of ranks on the fullest node, as far as known, at least 1; 0 without a library."""
    nodes = {library: job_of(library.launcher).nodes for library in plan.libraries}
    return max(
        (ranks_on_a_node(max(plan.ranks), each.ranks_per_node, count) if count else 1 for each, count in nodes.items()),
        default=0,
    )


def record_machine(ranks: int, directory: Path, more: Sequence[Finding]) -> None:
    """Writes the findings of `downbeat doctor` for ranks on this machine, if any, and `more`, before the run."""
    from downbeat.run.doctor import examine

    machine_findings = examine(ranks) if ranks else []
    findings = [dataclasses.asdict(finding) for finding in (*machine_findings, *more)]
    now = datetime.datetime.now(datetime.UTC).isoformat()
    content = {"schema_version": layout.SCHEMA_VERSION, "host": socket.gethostname(), "date": now, "findings": findings}
    write_checked_json(directory / layout.MACHINE, content)


class Execution:
    """A run in progress."""

    def __init__(self, plan: Plan, directory: Path, watcher: Watcher, lock: int) -> None:
        self.plan = plan
        self.directory = directory
        self.watcher = watcher
        self.lock = lock
        self.done = layout.complete(directory)
        self.outcome = Outcome(estimates=Estimates.of(plan, directory))
        self.rounds = plan.launches
        self.most = plan.max_launches if plan.width else max(plan.launches, plan.most_rounds)
        # Complete a round that an earlier run began beyond the launches of the plan.
        while self.rounds < self.most and self.count(plan.round_order(self.rounds + 1)):
            self.rounds += 1
        self.latest, self.began = 0, -math.inf  # latest round, and its start (monotonic clock, s)
        self.first, self.end = 0, math.nan  # rounds spread over a time: the first, and the planned start of the last
        self.failed: Counter[str] = Counter()  # configuration -> failed launches
        self.refused: set[str] = set()  # configurations

    def keys(self, first: int, last: int) -> list[LaunchKey]:
        """The launches of the rounds `first` to `last`, inclusive."""
        return [key for number in range(first, last + 1) for key in self.plan.round_order(number)]

    def run(self) -> Outcome:
        """Runs all launches, and more rounds while they are needed."""
        total = self.keys(1, self.rounds)
        self.watcher.begins(self.plan, self.directory, self.count(total), len(total))
        try:
            self.retry(self.rounds_once(1, self.rounds))
            while self.rounds < self.needed():
                self.rounds += 1
                self.retry(self.rounds_once(self.rounds, self.rounds))
        finally:
            self.watcher.ends()
        for key in self.keys(1, self.rounds):
            if str(key) not in self.done:
                self.outcome.lacking[key.configuration] = self.outcome.lacking.get(key.configuration, 0) + 1
        if not self.done and self.refused and self.refused == self.outcome.lacking.keys():
            failure = self.outcome.failures[0].failure
            self.outcome.refused = failure.partition(": ")[2] or failure
        self.outcome.too_wide = self.outcome.estimates.widest() if self.plan.width and self.wider() else 0.0
        return self.outcome

    def count(self, keys: list[LaunchKey]) -> int:
        """The number of complete launches among `keys`."""
        return sum(str(key) in self.done for key in keys)

    def needed(self) -> int:
        """The number of rounds needed, judged by the launches so far."""
        rounds = rounds_needed(self.plan, self.outcome.estimates)
        if self.plan.width and self.wider():
            rounds = max(rounds, self.rounds + 1)
        return min(rounds, self.most)

    def wait_for(self, number: int) -> None:
        """Waits until a round may begin; returns at once for retries."""
        if number <= self.latest:
            return
        begin = self.spread(number) if self.plan.over else self.began + self.plan.interval
        if begin > time.monotonic():
            self.watcher.waits(time.time() + begin - time.monotonic(), self.incomplete(number))
        while (left := begin - time.monotonic()) > 0:
            time.sleep(min(left, self.watcher.tick() or left))
        self.latest, self.began = number, time.monotonic()

    def spread(self, number: int) -> float:
        """The start of a round (monotonic clock, s) that spreads the remaining rounds evenly over the time left.

        A continued run gives the remaining rounds the time they were planned for. Rounds added later are
        included once expected; otherwise they keep a minimum distance.
        """
        now, left = time.monotonic(), self.incomplete(number)
        if math.isnan(self.end):
            if self.done:
                self.began = now - max(0.0, time.time() - layout.last_start(self.directory, self.done))
            had_begun = self.count(self.plan.round_order(number)) > 0  # such a round continues at once
            self.first, begin = number, now if had_begun else max(now, self.began + self.plan.spacing)
            self.end = begin + self.plan.spacing * (left - 1)
            return begin
        if self.latest == self.first and (now - self.began) * left > self.end - self.began:
            self.watcher.crowded(now - self.began, left + 1)
        return self.began + max((self.end - self.began) / left, self.plan.over / max(self.most, 2 * self.plan.launches))

    def incomplete(self, first: int) -> int:
        """The number of incomplete rounds expected from round `first` on, inclusive."""
        last = max(first, self.expected())
        return sum(self.count(keys) < len(keys) for keys in map(self.plan.round_order, range(first, last + 1)))

    def wider(self) -> bool:
        """Whether an interval is wider than requested, or correlated launches make its width uncertain."""
        estimates = self.outcome.estimates
        return estimates.widest() > self.plan.width or estimates.resemblance() > 0

    def hopeless(self, key: LaunchKey) -> bool:
        """Whether to skip a launch because its configuration never succeeds."""
        name = key.configuration
        if name in self.refused:
            return True
        if self.failed[name] < HOPELESS:
            return False
        launches = [launch for launch in self.keys(1, self.rounds) if launch.configuration == name]
        return self.count(launches) == 0

    def each_once(self, keys: list[LaunchKey]) -> list[LaunchKey]:
        """Runs the incomplete launches among `keys`; returns those that failed."""
        failed = []
        for key in keys:
            if str(key) in self.done or self.hopeless(key):
                continue
            self.wait_for(key.number)
            if not self.launch(key):
                failed.append(key)
        return failed

    def rounds_once(self, first: int, last: int) -> list[LaunchKey]:
        """Runs the incomplete launches of some rounds; returns those that failed, for a retry after all others.

        If rounds are spaced in time, failed launches are retried at the end of their round instead.
        """
        if not self.plan.spacing:
            return self.each_once(self.keys(first, last))
        for number in range(first, last + 1):
            self.retry(self.each_once(self.keys(number, number)))
        return []

    def retry(self, keys: list[LaunchKey]) -> None:
        """Retries failed launches, up to `ATTEMPTS` in total."""
        for _ in range(ATTEMPTS - 1):
            keys = self.each_once(keys)

    def launch(self, key: LaunchKey) -> bool:
        """Runs a launch; returns whether it is complete."""
        self.watcher.launches(key)
        ended = launch(self.plan, key, self.directory, self.lock, self.watcher.tick)
        if ended.failure:
            self.outcome.failures.append(ended)
            self.failed[key.configuration] += 1
            if ended.refused:
                self.refused.add(key.configuration)
        else:
            self.done.add(str(key))
            self.outcome.estimates.add(key, ended.directory / layout.SAMPLES)
        keys = self.keys(1, self.expected())
        self.watcher.ended(ended, self.count(keys), len(keys), self.outcome.estimates)
        return not ended.failure

    def expected(self) -> int:
        """The expected rounds: as by `rounds_expected`, and widths shrink with the square root of launches."""
        rounds = min(max(self.rounds, rounds_expected(self.plan, self.outcome.estimates)), self.most)
        widest = self.outcome.estimates.widest()
        if not self.plan.width or widest <= self.plan.width:
            return rounds
        if widest == float("inf"):
            return self.plan.max_launches
        known = max(len(medians) for medians in self.outcome.estimates.medians.values())
        needed = math.ceil(known * (widest / self.plan.width) ** 2)
        return max(rounds, min(needed, self.plan.max_launches))
