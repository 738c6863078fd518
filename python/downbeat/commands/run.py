"""The commands `downbeat run`, which runs or continues an experiment, and `downbeat tune`, which chooses algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from downbeat.commands.options import (
    LIBRARY_NAMES,
    METRIC_NAMES,
    PASSED,
    WORDS,
    components,
    option,
    request_by_options,
    with_settings,
)
from downbeat.errors import UsageError
from downbeat.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from downbeat.run.execute import Outcome
    from downbeat.run.plan import Plan

EXIT_LACKING = 3  # launches are missing, or intervals are too wide


@with_settings
def run(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT.toml|OPERATION", autocompletion=components("operation"))
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Directory for the results [the name of the experiment]."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the launches in order; start none.", rich_help_panel="Launches"),
    ] = False,
    **settings: object,
) -> None:
    """Run an experiment, or continue one.

    Launches run in random order until all are complete. The same command continues an interrupted run. Keys of the file
    are the long names of the options (docs/experiments.md); options override them. Options after -- go to
    downbeat-bench unchanged (downbeat-bench --help).

    Exit status: 0 all complete, 1 failure, 2 bad arguments, 3 launches are missing or intervals too wide, 130
    interrupted.
    """
    from downbeat.files import is_standard_output
    from downbeat.run import directory as layout
    from downbeat.run.bench import check_arguments
    from downbeat.run.planning import planned
    from downbeat.run.request import overridden, read_request

    files = [word for word in what if word.endswith(".toml")]
    if files and len(what) > 1:
        raise UsageError(f"'{files[0]}' defines an experiment and its operations; give no others")
    words: dict[str, object] = {"options": context.meta[PASSED]} | ({} if files else {"operations": what})
    request = request_by_options(settings | words)
    if files:
        request = overridden(read_request(Path(files[0])), request)
    if is_standard_output(output):
        raise UsageError("--output: an experiment cannot go to standard output; give a directory")

    def stored(name: str) -> Plan | None:
        directory = output or Path(name)
        return layout.read_plan(directory) if (directory / layout.PLAN).is_file() else None

    plan = planned(request, stored)
    for program, *arguments in dict.fromkeys(map(plan.program_of, plan.on_machine.round_order(1))):
        check_arguments(program, arguments)
    if dry_run:
        print_launches(plan)
        return
    command_line = (context.meta[WORDS], context.meta[PASSED])
    run_plan(plan, output or Path(plan.name), request.seed is None, command_line)


def print_launches(plan: Plan) -> None:
    """Prints the launches of a plan in their order, each with its command."""
    import shlex

    from downbeat.run.execute import launch_command
    from downbeat.run.progress import spread_text

    order = plan.launch_order()
    for position, key in enumerate(order, 1):
        words = [f"{name}={shlex.quote(value)}" for name, value in plan.variables_of(key).items()]
        print(f"{position}/{len(order)} {key}: {' '.join([*words, shlex.join(launch_command(plan, key))])}")
    if plan.over:
        print(f"launches: {spread_text(plan)}")
    if plan.most_rounds > plan.launches:
        print(f"then up to {plan.most_rounds} of each, until {plan.launches} found one state of the machine")
    if plan.width:
        print(f"then up to {plan.max_launches} of each, until each interval is at most {plan.width:g} x estimate wide")


def run_plan(
    plan: Plan,
    directory: Path,
    any_seed: bool,
    words: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> None:
    """Executes a plan, and ends the command with the exit status of the outcome.

    Args:
        plan: the experiment.
        directory: of the experiment.
        any_seed: the user gave no seed.
        words: words of the command line before and after `--`.
    """
    import sys

    from downbeat.commands.options import resumable
    from downbeat.run.execute import execute
    from downbeat.run.progress import watcher
    from downbeat.statistics.verdicts import MIN_LAUNCHES

    for warning in crowding(plan.on_machine):
        print(f"warning: {warning}", file=sys.stderr)
    if plan.launches < MIN_LAUNCHES:
        launches = counted(plan.launches, "launch")
        print(f"warning: {launches}; a verdict needs at least {MIN_LAUNCHES} (--launches)", file=sys.stderr)
    with resumable():
        outcome = execute(plan, directory, watcher(), any_seed)
    if outcome.estimates.medians:
        from downbeat.output.blocks import Depth
        from downbeat.output.terminal import view_lines
        from downbeat.views.experiment import closing

        view = closing(plan, directory, outcome.estimates, words)
        print("", *view_lines(view, Depth.SUMMARY), sep="\n")
    report_outcome(plan, directory, outcome)


def crowding(plan: Plan) -> list[str]:
    """One line if ranks share processors, as far as the launcher's processors are known; [] otherwise."""
    from downbeat.run.job import job_of, ranks_on_a_node

    ranks = max(plan.ranks)
    for library in plan.libraries:
        launchers = {variant.launcher or library.launcher for variant in plan.variants}
        for job in map(job_of, sorted(launchers)):
            if job.crowded(ranks, library.ranks_per_node):
                sharing = ranks_on_a_node(ranks, library.ranks_per_node, job.nodes)
                per_node = f" on a node, of {ranks}," if job.nodes > 1 else ""
                limit = f"-n {job.cpus}" if job.nodes == 1 else f"{job.cpus} on each of {job.nodes} nodes"
                return [
                    f"{sharing} ranks{per_node} share {counted(job.cpus, 'processor')}: a rank that "
                    f"waits for a processor starts late or looks slow; use at most {limit}"
                ]
    return []


def report_outcome(plan: Plan, directory: Path, outcome: Outcome) -> None:
    """Reports failed and missing launches; ends with the exit status for them."""
    import sys

    if outcome.refused:
        raise UsageError(outcome.refused)
    for ended in outcome.failures:
        print(f"failed: {ended.key}: {ended.failure}; see {ended.directory}", file=sys.stderr)
    if outcome.too_wide:
        correlation = outcome.estimates.launch_correlation()
        if outcome.too_wide > plan.width:
            reason = f"wider than --width {plan.width:g}; continue with a larger --max-launches"
        else:
            reason = (
                f"but launches resemble the one before (correlation {correlation:.1f}), and it may not hold; measure "
                "over a longer time"
            )
        widest = f"the widest interval is {outcome.too_wide:.3g} x estimate"
        print(f"downbeat: after {plan.max_launches} launches {widest}, {reason}", file=sys.stderr)
    print(f"written: {directory}")
    if outcome.lacking:
        lacking = "; ".join(f"{name}: {count}" for name, count in outcome.lacking.items())
        print(f"downbeat: launches are missing ({lacking}); run the same command again to retry them", file=sys.stderr)
    if outcome.lacking or outcome.too_wide:
        raise typer.Exit(EXIT_LACKING)


EXIT_OBJECTIONS = 3  # a check of the rules failed
CHOICES_FILE = "choices.json"  # in the directory of `downbeat tune --from`


def tune(
    context: typer.Context,
    collectives: Annotated[
        list[str] | None,
        typer.Argument(help="E.g. bcast reduce.", metavar="COLLECTIVE", autocompletion=components("operation")),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for rules and data.", metavar="DIR")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Measure nothing, choose from results of other tools.", metavar="RESULTS"),
    ] = None,
    mpi: Annotated[str, typer.Option(help="MPI library.", metavar="NAME", autocompletion=LIBRARY_NAMES)] = "openmpi",
    sizes: Annotated[str, typer.Option("--sizes", "-m", help="Message sizes.", metavar="SIZES")] = "8:64K",
    ranks: Annotated[
        str, typer.Option("--ranks", "-n", help="Numbers of ranks [the job's, else one per core].", metavar="P,P..")
    ] = "",
    ranks_per_node: Annotated[int | None, option("ranks_per_node", minimum=1)] = None,
    launches: Annotated[int, typer.Option(min=1, help="Launches of each configuration.", metavar="N")] = 10,
    repetitions: Annotated[
        int, typer.Option("--repetitions", "-r", min=1, help="Valid samples per cell and launch.", metavar="N")
    ] = 100,
    margin: Annotated[float, typer.Option(help="Smallest gain that is worth a rule.", metavar="SHARE")] = 0.05,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals and tests.", metavar="SHARE")] = 0.95,
    metric: Annotated[
        str,
        typer.Option(
            help="Metric that is compared [latency_avg; with a pattern after_last_entry].",
            metavar="NAME",
            autocompletion=METRIC_NAMES,
        ),
    ] = "",
    pattern: Annotated[
        str,
        typer.Option(
            help="Arrival pattern that the rules are for [none].", metavar="NAME", autocompletion=components("pattern")
        ),
    ] = "",
    delay: Annotated[str, typer.Option(help="Largest delay of the arrival pattern.", metavar="DELAY")] = "",
    bench: Annotated[str, typer.Option(help="Path of downbeat-bench [the build].", metavar="PATH")] = "",
    launcher: Annotated[str, option("launcher")] = "",
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which a launch is ended [by its size].", metavar="S")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order of launches.", metavar="N")] = 0,
) -> None:
    """Choose algorithms of an MPI library, write rules, prove that they work.

    Options after -- go to downbeat-bench unchanged, in every measurement (downbeat-bench --help).

    Exit status: 0 rules are written and no check failed, 1 failure, 2 bad arguments, 3 the library does not obey some
    rules, or they are slower than the defaults, cannot be measured, or were removed because of wrong results.
    """
    import shlex
    import sys

    from downbeat.commands.options import resumable
    from downbeat.output.blocks import Depth
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import view_lines
    from downbeat.run.bench import find_bench
    from downbeat.run.bench_options import launcher_at
    from downbeat.run.job import job_of
    from downbeat.run.planning import default_ranks, planned_library
    from downbeat.tune.record import record_of
    from downbeat.tune.sweep import Effort
    from downbeat.tune.target import one_pattern, parse_ranks, parse_share, passed_by_user, valid_metric
    from downbeat.tune.tuning import ENVIRONMENT_FILE, RECORD_FILE, Question, tune
    from downbeat.views.tuning import tuning_view

    per_node = ranks_per_node or 0
    if source:
        refuse_measuring(context, output)
        tune_from(source, collectives or [], output, mpi, bench, launcher, metric, margin, confidence)
        return
    if not collectives:
        raise UsageError("tune needs a collective, e.g. downbeat tune bcast -o rules, or --from RESULTS")
    if output is None:
        raise UsageError("tune needs a directory for rules and data: -o DIR")
    pattern, delay = one_pattern(pattern, delay)
    tuned = planned_library(mpi, bench or find_bench(mpi), launcher_at(launcher, Path()) if launcher else "", per_node)
    question = Question(
        library=tuned,
        collectives=tuple(dict.fromkeys(collectives)),
        sizes=sizes,
        ranks=parse_ranks(ranks) if ranks else (default_ranks(job_of(tuned.launcher), per_node),),
        effort=Effort(
            launches,
            repetitions,
            timeout or 0.0,
            seed,
            valid_metric(metric, pattern),
            pattern,
            delay,
            passed_by_user(context.meta[PASSED]),
        ),
        margin=parse_share("margin", margin, 0.0),
        confidence=parse_share("confidence", confidence, 0.5),
    )
    with resumable():
        tuning = tune(question, output, lambda line: print(f"downbeat: {line}", file=sys.stderr, flush=True))
    view = tuning_view(record_of(tuning, output), Depth.TEXT)
    write_record(view_record(view), output / RECORD_FILE)
    print("\n".join(view_lines(view)))
    files = (*tuning.written.files, ENVIRONMENT_FILE, RECORD_FILE)
    print(f"\nwritten: {', '.join(str(output / name) for name in files)}")
    print(f"next: downbeat report {shlex.quote(str(output))}")
    if tuning.objections():
        raise typer.Exit(EXIT_OBJECTIONS)


# Options of `downbeat tune` that concern measurements, and that concern written rules.
MEASURING = ("sizes", "ranks", "ranks_per_node", "launches", "repetitions", "pattern", "delay", "timeout", "seed")
WRITING = ("mpi", "bench", "launcher")


def refuse_measuring(context: typer.Context, output: Path | None) -> None:
    """Refuses options that have no effect with --from; `output`: None if no rules are written.

    Raises:
        UsageError: the command line has such an option.
    """
    if context.meta[PASSED]:
        raise UsageError("options after -- are of measurements, and --from measures nothing; leave them out")
    for name in (*MEASURING, *(WRITING if output is None else ())):
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            reason = "rules alone; give -o DIR, too" if name in WRITING else "measurements, and --from measures nothing"
            raise UsageError(f"--{name.replace('_', '-')} is of {reason}")


def tune_from(
    paths: Sequence[Path],
    collectives: Sequence[str],
    output: Path | None,
    mpi: str,
    bench: str,
    launcher: str,
    metric: str,
    margin: float,
    confidence: float,
) -> None:
    """Chooses algorithms from results of other tools; writes rules for the library `mpi` if `output` is a directory."""
    from downbeat.data.readers import read_results
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import view_lines
    from downbeat.run.bench import find_bench
    from downbeat.run.bench_options import launcher_at
    from downbeat.run.planning import planned_library
    from downbeat.run.tool_results import progress_for
    from downbeat.tune.from_results import choose_from, make_rules, origin_lines, with_origin
    from downbeat.tune.target import find_target, parse_share
    from downbeat.tune.tuning import ENVIRONMENT_FILE, PROBE, check_directory, switching, write_files
    from downbeat.views.choices import choices_view

    choices = choose_from(
        read_results(paths, progress_for(paths)),
        collectives,
        metric,
        parse_share("margin", margin, 0.0),
        parse_share("confidence", confidence, 0.5),
    )
    switch_on: tuple[str, ...] = ()
    files: list[str] = []
    if output is not None:
        check_directory(output)
        if any(choices.faster.values()):
            tuned = planned_library(mpi, bench or find_bench(mpi), launcher_at(launcher, Path()) if launcher else "", 0)
            target = find_target(tuned, output / PROBE)
            make_rules(choices, target)
            origin = origin_lines(choices, paths)
            written = with_origin(target.form.write(choices.rules), origin)
            variables = write_files(target, written, output, origin)
            switch_on = tuple(filter(None, switching(target, variables, output)))
            files += [*written.files, ENVIRONMENT_FILE]
    view = choices_view(choices, margin, switch_on)
    print("\n".join(view_lines(view)))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_record(view_record(view), output / CHOICES_FILE)
        print(f"\nwritten: {', '.join(str(output / name) for name in (*files, CHOICES_FILE))}")
