"""Executes an experiment: launches one after another, each in its directory, until all are complete.

Launches of the same number, one per configuration, form a round. An experiment that was interrupted continues with its
incomplete launches. More rounds follow if the plan asks for narrower intervals, or if the machine changed its state.
"""

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

MAX_ATTEMPTS = 3  # per launch; failed launches are retried after all others
# A configuration with this many failed and no complete launches is skipped, which saves time for the others.
MAX_FAILURES = 3
# Fields of a plan that may change when an experiment continues; any other change is refused.
MAY_CHANGE = ("launches", "most_rounds", "interval", "width", "max_launches", "timeout")


class Watcher:
    """Is called at the events of an experiment, to show its progress; this base class does nothing."""

    def on_begin(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        """The run begins; `complete` of its `total` launches are complete already."""

    def on_unconfirmed(self, findings: Sequence[Finding]) -> None:
        """Before the first launch: counting messages could not confirm that some chosen algorithms take effect."""

    def on_launch(self, key: LaunchKey) -> None:
        """The launch `key` begins."""

    def on_wait(self, until: float, left: int) -> None:
        """The run waits for the next round, which begins at `until`, s since 1970; with it, `left` rounds remain."""

    def on_crowded(self, seconds: float, rounds: int) -> None:
        """A round takes `seconds`, so `rounds` of them do not fit into the time of the plan."""

    def tick(self) -> float | None:
        """Called while a launch runs or a round is due; returns the seconds until the next call, None for no more."""
        return None

    def on_ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        """A launch has ended; `complete` of the `total` launches expected now are complete."""

    def on_end(self) -> None:
        """The run ends: there are no more launches."""


@dataclass
class Outcome:
    """The result of a run."""

    # Failed launches of this run, including those whose retry succeeded.
    failures: list[Ended] = field(default_factory=list)
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
        watcher.on_unconfirmed(unknown)
        try:
            outcome = Execution(plan, directory, watcher, lock).run()
            if outcome.refused and begins:
                layout.remove(directory)
            return outcome
        finally:
            shutil.rmtree(directory / layout.PARTIAL, ignore_errors=True)


def adopt(plan: Plan, directory: Path, any_seed: bool = False) -> Plan:
    """Checks that a directory is empty or holds this experiment; returns the plan.

    If `any_seed`, the plan gets the seed of the stored plan.

    Raises:
        UsageError: the directory holds something else; the line names the difference.
    """
    if not (directory / layout.PLAN).is_file():
        # A run that ended at once may have left these files.
        allowed = (LOCK, HOLDER, f"{layout.PLAN}.new")
        is_file = directory.exists() and not directory.is_dir()
        if is_file or (directory.is_dir() and any(path.name not in allowed for path in directory.iterdir())):
            raise UsageError(f"'{directory}' exists and is not the directory of an experiment; give another one (-o)")
        return plan
    stored = layout.read_plan(directory)
    if any_seed:
        plan = dataclasses.replace(plan, seed=stored.seed)
    for name, before, now in differences(stored, plan):  # the first difference
        raise UsageError(
            f"'{directory}' holds another experiment: its {name} is {before}, not {now}; give another directory (-o)"
        )
    return plan


def differences(stored: Plan, new: Plan) -> Iterable[tuple[str, object, object]]:
    """Yields the differences between two plans except those in `MAY_CHANGE`: name, stored and new value."""
    for name in (declared.name for declared in dataclasses.fields(Plan)):
        before, now = getattr(stored, name), getattr(new, name)
        if name in MAY_CHANGE or before == now:
            continue
        if name == "measurement":
            if before.operations != now.operations:
                yield "operations", " ".join(before.operations), " ".join(now.operations)
            for option in sorted({*before.options, *now.options}):
                old_value, new_value = (
                    f"'{measurement.options[option]}'" if option in measurement.options else "none"
                    for measurement in (before, now)
                )
                if old_value != new_value:
                    yield option, old_value, new_value
        elif name in ("libraries", "environments", "variants"):
            yield name, in_words(before), in_words(now)
        elif name == "over":
            yield name, duration_word(before) if before else "none", duration_word(now) if now else "none"
        else:
            yield name, before, now


def in_words(values: Iterable[object]) -> str:
    """Libraries, environments or variants as text: `a (launcher srun) and b`."""
    words = []
    for value in values:
        settings = dict(vars(value))
        name = settings.pop("name")
        settings_text = ", ".join(f"{key} {setting}" for key, setting in settings.items() if setting)
        words.append(f"{name} ({settings_text})" if settings_text else name)
    return " and ".join(words)


def ranks_here(plan: Plan) -> int:
    """The number of ranks on the fullest node, as far as known, at least 1; 0 without a library."""
    ranks = []
    for library in plan.libraries:
        nodes = job_of(library.launcher).nodes
        ranks.append(ranks_on_a_node(max(plan.ranks), library.ranks_per_node, nodes) if nodes else 1)
    return max(ranks, default=0)


def record_machine(ranks: int, directory: Path, more: Sequence[Finding]) -> None:
    """Writes the findings of `downbeat doctor` before the run, and `more` findings.

    Args:
        ranks: number of ranks on this machine; 0: the run is simulated, so the machine is not examined.
        directory: of the experiment.
        more: further findings.
    """
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
        self.done = layout.complete(directory)  # keys of complete launches, as text
        self.outcome = Outcome(estimates=Estimates.of(plan, directory))
        self.rounds = plan.launches  # rounds to execute; grows
        self.max_rounds = plan.max_launches if plan.width else max(plan.launches, plan.most_rounds)
        # Complete a round that an earlier run began beyond the launches of the plan.
        while self.rounds < self.max_rounds and self.count(plan.round_order(self.rounds + 1)):
            self.rounds += 1
        # Times of this class are of the monotonic clock, s.
        self.latest, self.latest_begin = 0, -math.inf  # the latest round that this run began, and its start
        # If rounds are spread over a time: the first round of this run, and the planned start of the last round.
        self.first, self.last_begin = 0, math.nan
        self.failed: Counter[str] = Counter()  # configuration -> failed launches
        self.refused: set[str] = set()  # configurations

    def keys(self, first: int, last: int) -> list[LaunchKey]:
        """The launches of the rounds `first` to `last`, inclusive."""
        return [key for number in range(first, last + 1) for key in self.plan.round_order(number)]

    def run(self) -> Outcome:
        """Runs all launches, and more rounds while they are needed."""
        total = self.keys(1, self.rounds)
        self.watcher.on_begin(self.plan, self.directory, self.count(total), len(total))
        try:
            self.retry(self.rounds_once(1, self.rounds))
            while self.rounds < self.needed():
                self.rounds += 1
                self.retry(self.rounds_once(self.rounds, self.rounds))
        finally:
            self.watcher.on_end()
        for key in self.keys(1, self.rounds):
            if str(key) not in self.done:
                self.outcome.lacking[key.configuration] = self.outcome.lacking.get(key.configuration, 0) + 1
        if not self.done and self.refused and self.refused == self.outcome.lacking.keys():
            failure = self.outcome.failures[0].failure
            self.outcome.refused = failure.partition(": ")[2] or failure
        if self.plan.width and self.too_wide():
            self.outcome.too_wide = self.outcome.estimates.widest()
        return self.outcome

    def count(self, keys: list[LaunchKey]) -> int:
        """The number of complete launches among `keys`."""
        return sum(str(key) in self.done for key in keys)

    def needed(self) -> int:
        """The number of rounds needed, judged by the launches so far."""
        rounds = rounds_needed(self.plan, self.outcome.estimates)
        if self.plan.width and self.too_wide():
            rounds = max(rounds, self.rounds + 1)
        return min(rounds, self.max_rounds)

    def wait_for(self, number: int) -> None:
        """Waits until a round may begin; returns at once for retries."""
        if number <= self.latest:
            return
        begin = self.spread_begin(number) if self.plan.over else self.latest_begin + self.plan.interval
        if begin > time.monotonic():
            self.watcher.on_wait(time.time() + begin - time.monotonic(), self.incomplete(number))
        while (left := begin - time.monotonic()) > 0:
            time.sleep(min(left, self.watcher.tick() or left))
        self.latest, self.latest_begin = number, time.monotonic()

    def spread_begin(self, number: int) -> float:
        """The start of a round that spreads the remaining rounds evenly over the time left.

        A continued run gives the remaining rounds the time they were planned for. Rounds added later are
        included once expected; otherwise they keep a minimum distance.
        """
        now, left = time.monotonic(), self.incomplete(number)
        if math.isnan(self.last_begin):
            if self.done:
                self.latest_begin = now - max(0.0, time.time() - layout.last_start(self.directory, self.done))
            had_begun = self.count(self.plan.round_order(number)) > 0  # in an earlier run: it continues at once
            begin = now if had_begun else max(now, self.latest_begin + self.plan.spacing)
            self.first = number
            self.last_begin = begin + self.plan.spacing * (left - 1)
            return begin
        if self.latest == self.first and (now - self.latest_begin) * left > self.last_begin - self.latest_begin:
            self.watcher.on_crowded(now - self.latest_begin, left + 1)
        min_distance = self.plan.over / max(self.max_rounds, 2 * self.plan.launches)
        return self.latest_begin + max((self.last_begin - self.latest_begin) / left, min_distance)

    def incomplete(self, first: int) -> int:
        """The number of incomplete rounds from round `first` to the last expected one, inclusive."""
        last = max(first, self.expected())
        rounds = map(self.plan.round_order, range(first, last + 1))
        return sum(self.count(keys) < len(keys) for keys in rounds)

    def too_wide(self) -> bool:
        """Whether an interval is wider than requested, or correlated launches make its width uncertain."""
        estimates = self.outcome.estimates
        return estimates.widest() > self.plan.width or estimates.launch_correlation() > 0

    def hopeless(self, key: LaunchKey) -> bool:
        """Whether to skip a launch because its configuration never succeeds."""
        name = key.configuration
        if name in self.refused:
            return True
        if self.failed[name] < MAX_FAILURES:
            return False
        launches = [launch for launch in self.keys(1, self.rounds) if launch.configuration == name]
        return self.count(launches) == 0

    def each_once(self, keys: list[LaunchKey]) -> list[LaunchKey]:
        """Runs the incomplete launches among `keys`, each once; returns the failed launches."""
        failed = []
        for key in keys:
            if str(key) in self.done or self.hopeless(key):
                continue
            self.wait_for(key.number)
            if not self.launch(key):
                failed.append(key)
        return failed

    def rounds_once(self, first: int, last: int) -> list[LaunchKey]:
        """Runs the incomplete launches of the rounds `first` to `last`; returns the failed ones, for a later retry.

        If rounds are spaced in time, failed launches are retried at the end of their round; then none are returned.
        """
        if not self.plan.spacing:
            return self.each_once(self.keys(first, last))
        for number in range(first, last + 1):
            self.retry(self.each_once(self.keys(number, number)))
        return []

    def retry(self, keys: list[LaunchKey]) -> None:
        """Retries failed launches, until each has had `MAX_ATTEMPTS` attempts."""
        for _ in range(MAX_ATTEMPTS - 1):
            keys = self.each_once(keys)

    def launch(self, key: LaunchKey) -> bool:
        """Runs a launch; returns whether it is complete."""
        self.watcher.on_launch(key)
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
        self.watcher.on_ended(ended, self.count(keys), len(keys), self.outcome.estimates)
        return not ended.failure

    def expected(self) -> int:
        """The expected number of rounds: of `rounds_expected`, or more until the intervals are narrow enough.

        The width of an interval shrinks with the square root of the number of launches.
        """
        rounds = min(max(self.rounds, rounds_expected(self.plan, self.outcome.estimates)), self.max_rounds)
        widest = self.outcome.estimates.widest()
        if not self.plan.width or widest <= self.plan.width:
            return rounds
        if widest == math.inf:
            return self.plan.max_launches
        launches = max(len(medians) for medians in self.outcome.estimates.medians.values())
        needed = math.ceil(launches * (widest / self.plan.width) ** 2)
        return max(rounds, min(needed, self.plan.max_launches))
