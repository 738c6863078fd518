"""Tunes an MPI library in six steps: probe, sweep, choose, write rules, measure their gain, prove that they are obeyed.

`tune` is the entry point; the other functions are its steps, and fill in `Tuning`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.files import write_text
from downbeat.output.facts.tuning import RuleRemoved, UncountedCells
from downbeat.output.fields import COMMON_START
from downbeat.run.bench import check_arguments
from downbeat.run.open_mpi_settings import FILENAME
from downbeat.run.plan import Environment, Library, Measurement, Plan
from downbeat.run.progress import watcher
from downbeat.text import counted
from downbeat.tune import mpich, open_mpi
from downbeat.tune.choosing import (
    Decision,
    OtherChoice,
    Prices,
    TimedComparison,
    choose,
    compare_choices,
    find_left_out,
    kinds_of_choice,
    other_choices,
    price_plans,
    wrong_results,
)
from downbeat.tune.proving import (
    RULES,
    Proof,
    compare_cells,
    compare_rules,
    kinds_of_gain,
    lost_cells,
    prove,
    rules_name,
    wrong_cells,
    wrong_under,
)
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written, algorithm_for, rules_of, sizeless_rules
from downbeat.tune.sweep import (
    Effort,
    LaunchMedians,
    Probe,
    Usable,
    measure,
    sweep_plan,
)
from downbeat.tune.target import Target, find_target


@dataclass(frozen=True)
class Question:
    """The library, collectives, sizes and numbers of ranks to tune, and the effort."""

    library: Library
    collectives: tuple[str, ...]
    sizes: str  # as downbeat-bench takes them
    ranks: tuple[int, ...]
    effort: Effort
    margin: float  # smallest relative gain of a rule
    confidence: float  # of intervals

    @property
    def otherwise(self) -> str:
        """The other measurement in words; its choices are compared with those of the tuning."""
        return "without the arrival pattern" if self.effort.pattern else "after MPI_Barrier"

    @property
    def arrivals(self) -> str:
        """The arrival pattern in words; empty if ranks arrive together."""
        delay = f", delay {self.effort.delay}" if self.effort.delay else ""
        return f"{self.effort.pattern}{delay}" if self.effort.pattern else ""


@dataclass
class Tuning:
    """The outcome of a tuning, filled in step by step."""

    question: Question
    target: Target
    usable: list[Usable] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # sentences on choices that rules cannot express
    written: Written = field(default_factory=lambda: Written({}, {}, ()))
    proofs: Mapping[Cell, Proof] = field(default_factory=dict)
    gains: Mapping[Cell, TimedComparison] = field(default_factory=dict)
    rule_gains: Mapping[Rule, TimedComparison] = field(default_factory=dict)
    withdrawn: list[Rule] = field(default_factory=list)  # rules without a significant gain in the new launches
    lost: Sequence[Cell] = ()  # cells that were measured without rules, but in no launch under them
    removed: list[RuleRemoved] = field(default_factory=list)  # rules removed because of wrong results
    wrong_defaults: list[Cell] = field(default_factory=list)  # cells whose default computes wrong results
    left_out: list[UncountedCells] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # lines on slow and on correlated launches behind the verdicts
    other_choices: list[OtherChoice] = field(default_factory=list)
    prices: Prices = field(default_factory=lambda: Prices({}, None))

    def in_rules(self, cell: Cell) -> str:
        """Returns the algorithm that the rules name for a cell; `DEFAULT`: none."""
        return algorithm_for(self.rules, cell)

    def remove(self, rule: Rule, reason: str) -> None:
        """Records that a rule is removed because of wrong results; the caller takes it out of `rules`."""
        self.removed.append(RuleRemoved(rule.collective, rule.ranks, rule.sizes, rule.algorithm, reason))

    def disobeyed(self) -> Sequence[Cell]:
        """Returns the cells in which another algorithm ran than the rules name."""
        return [cell for cell, proof in self.proofs.items() if proof.verdict == "failed"]

    def objections(self) -> bool:
        """Returns true if there is evidence against the rules, or results were wrong."""
        return bool(self.disobeyed() or self.lost or self.slower() or self.removed or self.wrong_defaults)

    def slower(self) -> list[Cell]:
        """Returns the cells that are slower under the rules than without, except those of withdrawn rules."""
        slower = [cell for cell, comparison in self.gains.items() if comparison.verdict == "slower"]
        return [cell for cell in slower if not any(rule.holds(cell) for rule in self.withdrawn)]


ENVIRONMENT_FILE = "rules.env"
RECORD_FILE = "rules.json"
PROBE = "probe"  # subdirectory of the probe, by which a directory of a tuning is recognized
RULES_FILES = (open_mpi.RULES_FILE, open_mpi.JSON_FILE, *mpich.VARIABLES)


def check_directory(directory: Path) -> None:
    """Checks that a directory is missing, empty, or the directory of a tuning, whose files may be replaced.

    Raises:
        UsageError: the directory has other files.
    """
    if directory.is_dir() and not (directory / PROBE).is_dir() and any(directory.iterdir()):
        raise UsageError(f"'{directory}' exists and is not the directory of a tuning; give another one (-o)")


def write_files(target: Target, written: Written, directory: Path, about: Sequence[str] = ()) -> dict[str, str]:
    """Writes the files of rules and `rules.env` into a directory; returns the environment that switches the rules on.

    Paths in the environment are absolute: change them if you move the files. Files of earlier rules and their record
    are removed.

    Args:
        target: the library.
        written: the rules.
        directory: for the files.
        about: comments on the origin of the rules.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in (RECORD_FILE, ENVIRONMENT_FILE, *RULES_FILES):
        (directory / name).unlink(missing_ok=True)
    for name, content in written.files.items():
        write_text(directory / name, content)
    variables = written.environment(directory.resolve())
    write_text(directory / ENVIRONMENT_FILE, environment_text(target, written, variables, directory, about))
    return variables


def environment_text(
    target: Target, written: Written, variables: dict[str, str], directory: Path, about: Sequence[str]
) -> str:
    """Returns the content of `rules.env`, for a shell to source: a line per variable."""
    lines = [f"# Rules for {target.version}, written by downbeat tune.", *(f"# {line}" for line in about)]
    if not variables:
        return "\n".join(
            [*lines, "# No algorithm was better than the library's own choice: there is nothing to set.", ""]
        )
    shell, arguments = switching(target, variables, directory)
    lines += [
        f"# To switch them on: {shell}",
        f"# or as arguments of mpirun: {arguments}",
        *(f"# {note}" for note in written.notes),
        *(f"{name}={shlex.quote(value)}" for name, value in variables.items()),
    ]
    return "\n".join([*lines, ""])


def switching(target: Target, variables: Mapping[str, str], directory: Path) -> tuple[str, str]:
    """Returns a shell command, and alternatively launcher arguments, that switch the rules on; empty: no rules."""
    if not variables:
        return "", ""
    file = shlex.quote(str(directory.resolve() / ENVIRONMENT_FILE))
    return f"set -a; . {file}; set +a", shlex.join(target.form.launcher_arguments(variables))


# Subdirectories of the tuning.
PROOF = "proof"
GAIN = "gain"


def settle_rules(
    tuning: Tuning, medians: LaunchMedians, directory: Path, say: Callable[[str], None]
) -> dict[tuple[str, int, str], list[int]]:
    """Chooses algorithms, writes rules, measures their gain, and proves that they are obeyed.

    If an algorithm computes wrong results under the rules, chooses again without it.

    Returns:
        The algorithms with wrong results, as `WrongResults` for `choose`.
    """
    question = tuning.question
    wrong = wrong_results(medians)
    while True:
        tuning.decisions = choose(medians.decisive, wrong, question.margin, question.confidence)
        make_rules(tuning)
        variables = write_rules(tuning, directory)
        gains = measure_rules(tuning, variables, directory, say)
        by_default = wrong_cells(gains, DEFAULT)
        under_rules = wrong_cells(gains, RULES)
        wrong_algorithms = wrong_under(tuning.rules, under_rules)
        if not wrong_algorithms:
            break
        for rule in tuning.rules:
            sizes = wrong_algorithms.get((rule.collective, rule.ranks, rule.algorithm))
            if sizes:
                tuning.remove(rule, f"wrong results at {', '.join(map(str, sizes))} bytes")
        say(f"wrong results under the rules: choosing again without {', '.join(name for *_, name in wrong_algorithms)}")
        wrong |= wrong_algorithms
    if set(under_rules) - set(by_default):
        # Wrong results in cells without a rule, where the default is right without rules: any rule may be the cause.
        for rule in tuning.rules:
            tuning.remove(rule, "wrong results in cells without a rule")
        tuning.rules = []
        write_rules(tuning, directory)
    elif tuning.rules:
        kinds = kinds_of_choice(medians.decisive, tuning.decisions, question.margin, question.confidence)
        tuning.kinds = [f"choice: {line}" for line in kinds]
        judge_rules(tuning, gains, variables, directory, say)
    cells = [decision.cell for decision in tuning.decisions]
    in_sweep = [cell for cell in cells if cell.size in wrong.get((cell.collective, cell.ranks, DEFAULT), ())]
    tuning.wrong_defaults = sorted({*in_sweep, *by_default})
    return wrong


def make_rules(tuning: Tuning) -> None:
    """Turns decisions into rules, as far as the library's format can express them; the rest are `losses`."""
    tuning.rules, tuning.losses = [], []
    for collective in tuning.question.collectives:
        choices = {
            decision.cell: decision.algorithm for decision in tuning.decisions if decision.cell.collective == collective
        }
        if tuning.target.form.has_sizes(collective):
            tuning.rules += rules_of(choices)
        else:
            rules, losses = sizeless_rules(choices)
            tuning.rules += rules
            tuning.losses += losses
    tuning.rules, losses = tuning.target.form.expressible(tuning.rules, tuning.question.ranks)
    tuning.losses += losses


def write_rules(tuning: Tuning, directory: Path) -> dict[str, str]:
    """Writes the rules in place of earlier ones; returns the environment that switches them on."""
    form = tuning.target.form
    unchanged = [f"{name} was put aside for the tuning alone, and stays as it is" for name in form.set_aside()]
    tuning.written = form.write(tuning.rules) if tuning.rules else Written({}, {}, unchanged)
    replaced = [
        f"{name}={value} ({file or 'environment'}) is replaced by these rules"
        for name, (value, file) in tuning.target.settings.items()
        if value
        and name in tuning.written.variables
        and name != FILENAME
        and value not in (tuning.written.variables[name], "true")
    ]
    tuning.written = dataclasses.replace(tuning.written, notes=[*tuning.written.notes, *replaced])
    return write_files(tuning.target, tuning.written, directory, origin_lines(tuning.question))


def measure_rules(
    tuning: Tuning, variables: Mapping[str, str], directory: Path, say: Callable[[str], None]
) -> LaunchMedians:
    """Measures all cells without and under the rules; an empty table if there are no rules."""
    question, effort = tuning.question, tuning.question.effort
    if not tuning.rules:
        return LaunchMedians.of_rows([])
    options = {"sync": COMMON_START, **effort.options(question.collectives, question.sizes)}
    plan = Plan(
        name=GAIN,
        measurement=Measurement(question.collectives, options),
        libraries=(tuning.target.library,),
        ranks=question.ranks,
        environments=(Environment(), Environment(RULES, dict(variables))),
        launches=effort.launches,
        timeout=effort.timeout,
        seed=effort.seed + 1,  # another order of cells than in the sweep
    )
    say(f"measuring {counted(len(tuning.rules), 'rule')} against the library's own choice")
    experiment = directory / GAIN / rules_name(tuning.written)
    return measure(plan, experiment, effort.metric, watcher(stderr=True, say=say))


def judge_rules(
    tuning: Tuning, gains: LaunchMedians, variables: Mapping[str, str], directory: Path, say: Callable[[str], None]
) -> None:
    """Judges the gain of the rules, withdraws rules without a significant gain, and tries to prove the others.

    The chosen algorithm is the luckiest of many, so the gain must be significant in launches that had no part in the
    choice (`gains`). A rule with too few launches for a test stays.
    """
    question = tuning.question
    gains = gains.decisive
    tuning.left_out += find_left_out(GAIN, gains)
    tuning.lost = lost_cells(gains)
    tuning.gains = compare_cells(gains, question.margin, question.confidence)
    tuning.rule_gains = compare_rules(gains, tuning.rules, question.margin, question.confidence)
    kinds = kinds_of_gain(gains, tuning.rules, question.margin, question.confidence)
    tuning.kinds += [f"{GAIN}: {line}" for line in kinds]
    tuning.withdrawn = [rule for rule, gain in tuning.rule_gains.items() if gain.tested and gain.verdict != "faster"]
    if tuning.withdrawn:
        tuning.rules = [rule for rule in tuning.rules if rule not in tuning.withdrawn]
        variables = write_rules(tuning, directory)
    if not tuning.rules:
        return
    choices = {decision.cell: tuning.in_rules(decision.cell) for decision in tuning.decisions}
    say(f"proving {counted(len(tuning.rules), 'rule')} in {len(choices)} cells")
    tuning.proofs = prove(tuning.target, choices, tuning.usable, variables, directory / PROOF)


def origin_lines(question: Question) -> list[str]:
    """Returns comments on the origin of the rules for their files."""
    today = datetime.datetime.now(datetime.UTC).date()
    ranks = ", ".join(map(str, question.ranks))
    return [
        f"Chosen on {socket.gethostname()}, {today}: {' '.join(question.collectives)}; sizes {question.sizes}; "
        f"ranks {ranks}; {question.effort.launches} launches, margin {question.margin:g}.",
        *([f"For ranks that arrive so: {question.arrivals}."] if question.arrivals else []),
        f"Whether they are obeyed and what they gain: {RECORD_FILE} beside this file, once that is proven.",
    ]


# Subdirectories of the tuning.
SWEEP = "sweep"
PRICE = "price"


def tune(question: Question, directory: Path, say: Callable[[str], None]) -> Tuning:
    """Tunes an MPI library.

    Args:
        question: the library and cells to tune, and the effort.
        directory: for the rules, their proof, and all measurements.
        say: receives lines of progress.

    Raises:
        UsageError: a collective cannot be tuned, an option is not valid, or the directory has other files.
        DownbeatError: the library does not run.
    """
    check_directory(directory)
    for collective in question.collectives:
        options = {"sync": question.effort.synchronizers(collective)}
        options |= question.effort.options((collective,), question.sizes)
        check_arguments(question.library.bench, Measurement((collective,), options).arguments())
    target = find_target(question.library, directory / PROBE)
    target.check(question.collectives)
    tuning = Tuning(question, target)
    switched_off = target.form.set_aside()
    for name in switched_off:
        value, source = target.settings[name]
        setting = f"{name}={value} ({source or 'environment'})"
        say(f"put aside for all that is measured here, because it comes before any choice: {setting}")
    with environment_of(switched_off):
        run_steps(tuning, directory, say)
    return tuning


@contextlib.contextmanager
def environment_of(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for this process and its children until the end of the scope."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def run_steps(tuning: Tuning, directory: Path, say: Callable[[str], None]) -> None:
    """Runs the sweep, settles the rules, and measures the price of the choices of the other measurement."""
    question, target = tuning.question, tuning.target
    medians = sweep_all(tuning, directory, say)
    tuning.left_out += find_left_out(SWEEP, medians)
    wrong = settle_rules(tuning, medians, directory, say)
    tuning.other_choices = other_choices(
        medians.alternative, tuning.decisions, wrong, question.margin, question.confidence
    )
    if tuning.other_choices:
        say(f"{len(tuning.other_choices)} cells in which measuring {question.otherwise} leads to another choice")
        effort = question.effort
        plans = price_plans(target, tuning.other_choices, effort)
        new_medians = LaunchMedians.joined(
            measure(plan, directory / PRICE / plan.name, effort.metric, watcher(stderr=True, say=say)) for plan in plans
        )
        tuning.prices = compare_choices(
            new_medians.decisive, tuning.other_choices, question.margin, question.confidence
        )


def sweep_all(tuning: Tuning, directory: Path, say: Callable[[str], None]) -> LaunchMedians:
    """Probes and measures the algorithms of every collective on every number of ranks; fills in `usable`."""
    question, effort = tuning.question, tuning.question.effort
    measured: list[LaunchMedians] = []
    sweeps = len(question.collectives) * len(question.ranks)
    for collective in question.collectives:
        for ranks in question.ranks:
            options = effort.options((collective,), question.sizes)
            limit = effort.timeout or Measurement((collective,), options).time_limit(ranks)
            usable = Probe(tuning.target, collective, ranks, options, directory / PROBE, limit).usable()
            tuning.usable.append(usable)
            plan = sweep_plan(tuning.target, usable, question.sizes, effort, effort.synchronizers(collective))
            number = f"sweep {len(measured) + 1} of {sweeps}: " if sweeps > 1 else ""
            say(f"{number}{collective} on {ranks} ranks: {len(usable.algorithms)} algorithms beside the default")
            experiment = directory / SWEEP / plan.name
            measured.append(measure(plan, experiment, effort.metric, watcher(stderr=True, say=say)))
    return LaunchMedians.joined(measured)
