"""Executes an experiment: one launch after the other, each in a directory of its own, until all are complete."""

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
from downbeat.run import directory as places
from downbeat.run.bench_launch import Ended, launch
from downbeat.run.bench_launch import launch_command as launch_command
from downbeat.run.estimates import Estimates
from downbeat.run.job import end_marked, job_of, ranks_on_a_node
from downbeat.run.machine import Finding
from downbeat.run.plan import LaunchKey, Plan
from downbeat.run.rounds import rounds_expected, rounds_wanted
from downbeat.run.trial import check_choices
from downbeat.text import duration_word

ATTEMPTS = 3  # at a launch: what fails is tried twice more, after all others
# A configuration with this many failed launches and no complete one is given up, to spend the time on the others.
HOPELESS = 3
# Values of a plan that may change when an experiment continues; any other change makes it another experiment.
MAY_CHANGE = ("launches", "most_rounds", "interval", "width", "max_launches", "timeout")


class Watcher:
    """Receives the progress of an experiment. This one ignores it."""

    def begins(self, plan: Plan, directory: Path, complete: int, total: int) -> None:
        """The run begins; some of the planned launches may be complete already."""

    def doubts(self, findings: Sequence[Finding]) -> None:
        """Choices of algorithms may have no effect: counting does not show it."""

    def launches(self, key: LaunchKey) -> None:
        """A launch begins."""

    def waits(self, until: float, left: int) -> None:
        """The next round begins at that time, s since 1970; so many are left, that one included."""

    def crowded(self, seconds: float, rounds: int) -> None:
        """Rounds take so many seconds each, so that these cannot be spread over the time of the plan."""

    def tick(self) -> float | None:
        """A launch runs, or a round is waited for; returns the seconds until the next call, None if there is none."""
        return None

    def ended(self, ended: Ended, complete: int, total: int, estimates: Estimates) -> None:
        """A launch has ended."""

    def ends(self) -> None:
        """No more launches."""


@dataclass
class Outcome:
    """The outcome of a run."""

    failures: list[Ended] = field(default_factory=list)  # launches that failed in this run, even if a retry succeeded
    lacking: dict[str, int] = field(default_factory=dict)  # configuration -> launches that it lacks, if any
    refused: str = ""  # why every configuration is, where nothing ran
    too_wide: float = 0.0  # relative width of the widest interval where it is wider than asked for, else 0
    estimates: Estimates = field(default_factory=Estimates)


def execute(plan: Plan, directory: Path, watcher: Watcher | None = None, any_seed: bool = False) -> Outcome:
    """Executes the launches of an experiment that are not complete.

    A launch that fails is filed with its output and tried again after the others. If every configuration of a new
    experiment is refused, nothing is left, so that other arguments may go to the same directory.

    Args:
        plan: the experiment; may differ from the one in the directory in `MAY_CHANGE` alone.
        directory: of the experiment; made if there is none.
        watcher: receives the progress.
        any_seed: the user gave no seed, so an existing experiment keeps its own.

    Raises:
        UsageError: the directory holds another experiment, or a link that another user has made, or a choice of an
            algorithm would have no effect.
        DownbeatError: another run is at work in it.
    """
    adopt(plan, directory, any_seed)
    if directory.is_dir():
        places.refuse_links_of_others(directory)
    with locked(directory) as lock:
        plan = adopt(plan, directory, any_seed)  # the last holder of the lock may have written another
        begins = not (directory / places.PLAN).is_file()
        try:
            unknown = check_choices(plan)
        except UsageError:
            if begins:
                places.remove(directory)
            raise
        places.write_plan(directory, plan)
        for left in (directory / places.PARTIAL).glob("*"):
            end_marked(str(left.resolve()))  # of a run that was killed together with what would have ended its ranks
        shutil.rmtree(directory / places.PARTIAL, ignore_errors=True)
        record_machine(plan, directory, unknown)
        watcher = watcher or Watcher()
        watcher.doubts(unknown)
        try:
            outcome = Execution(plan, directory, watcher, lock).run()
            if outcome.refused and begins:
                places.remove(directory)
            return outcome
        finally:
            shutil.rmtree(directory / places.PARTIAL, ignore_errors=True)


def adopt(plan: Plan, directory: Path, any_seed: bool = False) -> Plan:
    """Checks that a directory is empty or holds this experiment; returns the plan, with the seed that it has there.

    Raises:
        UsageError: it holds something else; the line names what differs.
    """
    if not (directory / places.PLAN).is_file():
        if directory.exists() and (
            not directory.is_dir()
            or any(path.name not in (LOCK, HOLDER, f"{places.PLAN}.new") for path in directory.iterdir())
        ):
            raise UsageError(f"'{directory}' exists and is not the directory of an experiment; give another one (-o)")
        return plan
    there = places.read_plan(directory)
    if any_seed:
        plan = dataclasses.replace(plan, seed=there.seed)
    for name, before, now in differences(there, plan):
        raise UsageError(
            f"'{directory}' holds another experiment: its {name} is {before}, not {now}; give another directory (-o)"
        )
    return plan


def differences(there: Plan, here: Plan) -> Iterable[tuple[str, object, object]]:
    """Returns the differences between two plans beyond `MAY_CHANGE`: name, and both values."""
    for one in dataclasses.fields(Plan):
        before, now = getattr(there, one.name), getattr(here, one.name)
        if one.name in MAY_CHANGE or before == now:
            continue
        if one.name == "measurement":
            if before.operations != now.operations:
                yield "operations", " ".join(before.operations), " ".join(now.operations)
            for option in sorted({*before.options, *now.options}):
                texts = [f"'{each.options[option]}'" if option in each.options else "none" for each in (before, now)]
                if texts[0] != texts[1]:
                    yield option, texts[0], texts[1]
        elif one.name in ("libraries", "environments", "variants"):
            yield one.name, in_words(before), in_words(now)
        elif one.name == "over":
            yield one.name, duration_word(before) if before else "none", duration_word(now) if now else "none"
        else:
            yield one.name, before, now


def in_words(values: Iterable[object]) -> str:
    """Returns libraries or environments in words."""
    words = []
    for value in values:
        content = {name: set_to for name, set_to in vars(value).items() if set_to and name != "name"}
        inside = ", ".join(f"{name} {dict(one) if isinstance(one, dict) else one}" for name, one in content.items())
        words.append(f"{vars(value)['name']}{f' ({inside})' if inside else ''}")
    return " and ".join(words)


def ranks_here(plan: Plan) -> int:
    """Returns how many ranks a machine like this one gets; where they go is not always known."""
    most = 1
    for one in plan.libraries:
        job = job_of(one.launcher)
        if job.nodes:
            most = max(most, ranks_on_a_node(max(plan.ranks), one.ranks_per_node, job.nodes))
    return most


def record_machine(plan: Plan, directory: Path, others: Sequence[Finding]) -> None:
    """Writes the findings of `downbeat doctor` before the run, and others."""
    from downbeat.run.doctor import examine

    here = all(library.runs for library in plan.libraries)  # else this machine changes no number
    found = examine(ranks_here(plan)) if here else []
    findings = [dataclasses.asdict(finding) for finding in (*found, *others)]
    now = datetime.datetime.now(datetime.UTC).isoformat()
    content = {"schema_version": places.SCHEMA_VERSION, "host": socket.gethostname(), "date": now, "findings": findings}
    write_checked_json(directory / places.MACHINE, content)


class Execution:
    """A run in progress."""

    def __init__(self, plan: Plan, directory: Path, watcher: Watcher, lock: int) -> None:
        self.plan = plan
        self.directory = directory
        self.watcher = watcher
        self.lock = lock
        self.done = places.complete(directory)
        self.outcome = Outcome(estimates=Estimates.of(plan, directory))
        self.rounds = plan.launches
        self.most = plan.max_launches if plan.width else max(plan.launches, plan.most_rounds)
        # A round that was begun for the sake of a state or a width is completed.
        while self.rounds < self.most and self.count(plan.round_order(self.rounds + 1)):
            self.rounds += 1
        self.latest, self.began = 0, -math.inf  # the round that was begun last, and when
        self.first, self.end = 0, math.nan  # where they are spread over a time: the first, and when the last begins
        self.failed: Counter[str] = Counter()  # by configuration
        self.refused: set[str] = set()  # configurations

    def keys(self, first: int, last: int) -> list[LaunchKey]:
        """Returns the launches of some rounds, both included."""
        return [key for number in range(first, last + 1) for key in self.plan.round_order(number)]

    def run(self) -> Outcome:
        """Launches all that is wanted."""
        total = self.keys(1, self.rounds)
        self.watcher.begins(self.plan, self.directory, self.count(total), len(total))
        try:
            self.retry(self.rounds_once(1, self.rounds))
            while self.rounds < self.wanted():
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
        """Returns how many of some launches are complete."""
        return sum(str(key) in self.done for key in keys)

    def wanted(self) -> int:
        """Returns how many rounds are wanted by the launches so far."""
        rounds = rounds_wanted(self.plan, self.outcome.estimates.states())
        if self.plan.width and self.wider():
            rounds = max(rounds, self.rounds + 1)
        return min(rounds, self.most)

    def wait_for(self, number: int) -> None:
        """Waits until a round may begin; one that is retried has begun."""
        if number <= self.latest:
            return
        begin = self.spread(number) if self.plan.over else self.began + self.plan.interval
        if begin > time.monotonic():
            self.watcher.waits(time.time() + begin - time.monotonic(), self.incomplete(number))
        while (left := begin - time.monotonic()) > 0:
            time.sleep(min(left, self.watcher.tick() or left))
        self.latest, self.began = number, time.monotonic()

    def spread(self, number: int) -> float:
        """Returns when a round may begin, so that those that are left begin evenly over the time that is left.

        A run that continues an interrupted one gives them the time that they had. Rounds that are added on account of a
        state or a width are expected as early as possible, and keep a distance where they were not.
        """
        now, left = time.monotonic(), self.incomplete(number)
        if math.isnan(self.end):
            if self.done:
                self.began = now - max(0.0, time.time() - places.last_start(self.directory, self.done))
            had_begun = self.count(self.plan.round_order(number)) > 0  # and is completed at once
            self.first, begin = number, now if had_begun else max(now, self.began + self.plan.spacing)
            self.end = begin + self.plan.spacing * (left - 1)
            return begin
        if self.latest == self.first and (now - self.began) * left > self.end - self.began:
            self.watcher.crowded(now - self.began, left + 1)
        return self.began + max((self.end - self.began) / left, self.plan.over / max(self.most, 2 * self.plan.launches))

    def incomplete(self, first: int) -> int:
        """Returns how many rounds from one on are expected to begin, that one included."""
        last = max(first, self.expected())
        return sum(self.count(keys) < len(keys) for keys in map(self.plan.round_order, range(first, last + 1)))

    def wider(self) -> bool:
        """Whether a cell's interval is wider than asked for, or launches resemble the one before, so that it may be."""
        estimates = self.outcome.estimates
        return estimates.widest() > self.plan.width or estimates.resemblance() > 0

    def hopeless(self, key: LaunchKey) -> bool:
        """Whether a launch need not be tried because its configuration never succeeds."""
        name = key.configuration
        if name in self.refused:
            return True
        if self.failed[name] < HOPELESS:
            return False
        mine = [one for one in self.keys(1, self.rounds) if one.configuration == name]
        return self.count(mine) == 0

    def each_once(self, keys: list[LaunchKey]) -> list[LaunchKey]:
        """Launches the incomplete ones; returns those that failed."""
        failed = []
        for key in keys:
            if str(key) in self.done or self.hopeless(key):
                continue
            self.wait_for(key.number)
            if not self.launch(key):
                failed.append(key)
        return failed

    def rounds_once(self, first: int, last: int) -> list[LaunchKey]:
        """Launches the incomplete ones of some rounds; returns those that failed, to be tried after all others.

        Where rounds are apart in time, what fails is tried at the end of its own.
        """
        if not self.plan.spacing:
            return self.each_once(self.keys(first, last))
        for number in range(first, last + 1):
            self.retry(self.each_once(self.keys(number, number)))
        return []

    def retry(self, keys: list[LaunchKey]) -> None:
        """Launches again what failed, as often as a launch may be tried."""
        for _ in range(ATTEMPTS - 1):
            keys = self.each_once(keys)

    def launch(self, key: LaunchKey) -> bool:
        """Launches; returns whether it is complete."""
        self.watcher.launches(key)
        ended = launch(self.plan, key, self.directory, self.lock, self.watcher.tick)
        if ended.failure:
            self.outcome.failures.append(ended)
            self.failed[key.configuration] += 1
            if ended.refused:
                self.refused.add(key.configuration)
        else:
            self.done.add(str(key))
            self.outcome.estimates.add(key, ended.directory / places.SAMPLES)
        keys = self.keys(1, self.expected())
        self.watcher.ended(ended, self.count(keys), len(keys), self.outcome.estimates)
        return not ended.failure

    def expected(self) -> int:
        """Estimates the number of rounds: states are as frequent, intervals narrow with the square root of launches."""
        rounds = min(max(self.rounds, rounds_expected(self.plan, self.outcome.estimates.states())), self.most)
        widest = self.outcome.estimates.widest()
        if not self.plan.width or widest <= self.plan.width:
            return rounds
        if widest == float("inf"):
            return self.plan.max_launches
        known = max(len(medians) for medians in self.outcome.estimates.medians.values())
        needed = math.ceil(known * (widest / self.plan.width) ** 2)
        return max(rounds, min(needed, self.plan.max_launches))
